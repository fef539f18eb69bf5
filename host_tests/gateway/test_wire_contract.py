"""The contract itself: both sides' tables come from, or equal, wire/contract.json."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from headwall.ledger import schema
from headwall.wire.contract import contract
from headwall.wire.custody import Custody
from headwall.wire.state import JournalState

FIRMWARE = Path(__file__).parents[2] / "firmware" / "lib" / "headwall_node" / "contract.py"


@pytest.fixture(scope="module")
def node() -> dict[str, Any]:
    """The node's tables; the file is plain Python and runs here as it does on the board."""
    return runpy.run_path(str(FIRMWARE))


def test_node_and_gateway_agree_on_topics(node: dict[str, Any]) -> None:
    assert node["TOPIC_ROOT"] == contract()["topic_root"]
    assert node["TOPICS"] == {kind: spec["retained"] for kind, spec in contract()["topics"].items()}
    assert all(spec["qos"] == 1 for spec in contract()["topics"].values())


def test_node_and_gateway_agree_on_units_and_reasons(node: dict[str, Any]) -> None:
    assert node["UNITS"] == {name: spec["unit"] for name, spec in contract()["quantities"].items()}
    assert list(node["NULL_REASONS"]) == contract()["null_reasons"]
    assert set(node["RESETS"]) == set(contract()["state"]["reset"])


def test_node_and_gateway_agree_on_limits(node: dict[str, Any]) -> None:
    assert {name.lower(): node[name.upper()] for name in contract()["limits"]} == contract()["limits"]


def test_structs_of_the_gateway_are_those_of_the_contract() -> None:
    assert [field.name for field in msgspec.structs.fields(Custody)] == contract()["custody"]["fields"]
    assert [field.name for field in msgspec.structs.fields(JournalState)] == contract()["state"]["journal"]


def test_names_of_the_contract_fit_the_ledgers_columns() -> None:
    limits = contract()["limits"]
    assert schema.readings.c.node.type.length == limits["node_id_chars"]
    assert schema.readings.c.stream.type.length == limits["name_chars"]
