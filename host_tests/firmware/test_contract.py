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


def test_topic_root_equals_the_contract(node: dict[str, Any]) -> None:
    assert node["TOPIC_ROOT"] == CONTRACT["topic_root"]
    assert {topic["qos"] for topic in CONTRACT["topics"].values()} == {1}


def test_limits_equal_the_contract(node: dict[str, Any]) -> None:
    assert {name: node[name.upper()] for name in CONTRACT["limits"]} == CONTRACT["limits"]


def test_senml_names_equal_the_contract(node: dict[str, Any]) -> None:
    assert node["BASE_NAME"] + "{mac}:" == CONTRACT["senml"]["base_name"]
    assert node["NULL_SUFFIX"] == CONTRACT["senml"]["null_suffix"]
    assert node["RAW_NAME"] == CONTRACT["senml"]["raw_name"]


def test_units_and_reasons_equal_the_contract(node: dict[str, Any]) -> None:
    units = dict(word.split("=") for word in node["UNITS"].split())
    assert units == {name: quantity["unit"] for name, quantity in CONTRACT["quantities"].items()}
    assert node["NULL_REASONS"] == CONTRACT["null_reasons"]


def test_reset_causes_are_words_of_the_contract() -> None:
    said = mp.run(
        """
        import machine
        from headwall_node import sleep
        for name in dir(machine):
            if name.endswith("_RESET"):
                machine.reset_cause = lambda: getattr(machine, name)
                print(sleep.reset_cause())
        """
    )
    assert len(set(said.split())) > 3
    assert set(said.split()) <= set(CONTRACT["state"]["reset"])


def test_unit_of_a_quantity_that_is_not_in_the_contract_is_none() -> None:
    said = mp.run(
        """
        from headwall_node import contract
        print(contract.topic("n1", "tele"))
        print([contract.unit(name) for name in ("rain.tips", "tank.confidence", "stage.lev", "stage.evel", "tips")])
        """
    )
    assert said == "headwall/v1/n1/tele\n['count', '/', None, None, 'count']\n"
