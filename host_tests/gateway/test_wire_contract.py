"""The gateway's half of wire/contract.json; firmware/test_contract.py looks at the node's."""

from __future__ import annotations

import msgspec
from headwall.ledger import schema
from headwall.wire.contract import contract
from headwall.wire.custody import Custody
from headwall.wire.state import JournalState


def test_structs_of_the_gateway_are_those_of_the_contract() -> None:
    assert [field.name for field in msgspec.structs.fields(Custody)] == contract()["custody"]["fields"]
    assert [field.name for field in msgspec.structs.fields(JournalState)] == contract()["state"]["journal"]


def test_names_of_the_contract_fit_the_ledgers_columns() -> None:
    limits = contract()["limits"]
    assert schema.readings.c.node.type.length == limits["node_id_chars"]
    assert schema.readings.c.stream.type.length == limits["name_chars"]
