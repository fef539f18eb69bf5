"""The node's tables against the contract that the gateway reads."""

from __future__ import annotations

import json
from typing import Any

import mp
import pytest

CONTRACT: dict[str, Any] = json.loads((mp.ROOT / "gateway/headwall/wire/contract.json").read_text())


@pytest.fixture(scope="module")
def node() -> dict[str, Any]:
    said = mp.run(
        """
        import json
        from headwall_node import contract
        print(json.dumps({k: getattr(contract, k) for k in dir(contract) if k[0].isupper()}))
        """
    )
    tables: dict[str, Any] = json.loads(said)
    return tables


def test_topics_equal_the_contract(node: dict[str, Any]) -> None:
    assert node["TOPIC_ROOT"] == CONTRACT["topic_root"]
    assert node["TOPICS"] == {name: topic["retained"] for name, topic in CONTRACT["topics"].items()}
    assert {topic["qos"] for topic in CONTRACT["topics"].values()} == {1}


def test_limits_equal_the_contract(node: dict[str, Any]) -> None:
    assert {name: node[name.upper()] for name in CONTRACT["limits"]} == CONTRACT["limits"]


def test_senml_names_equal_the_contract(node: dict[str, Any]) -> None:
    assert node["BASE_NAME"] + "{mac}:" == CONTRACT["senml"]["base_name"]
    assert node["NULL_SUFFIX"] == CONTRACT["senml"]["null_suffix"]
    assert node["RAW_NAME"] == CONTRACT["senml"]["raw_name"]


def test_units_and_reasons_equal_the_contract(node: dict[str, Any]) -> None:
    assert node["UNITS"] == {name: quantity["unit"] for name, quantity in CONTRACT["quantities"].items()}
    assert node["NULL_REASONS"] == CONTRACT["null_reasons"]
    assert node["RESETS"] == CONTRACT["state"]["reset"]


def test_topic_of_an_unknown_kind_is_an_error() -> None:
    said = mp.run(
        """
        from headwall_node import contract
        print(contract.topic("n1", "tele"), contract.unit("rain.tips"))
        try: contract.topic("n1", "telemetry")
        except KeyError: print("no such kind")
        """
    )
    assert said == "headwall/v1/n1/tele count\nno such kind\n"
