"""Devices of an order that nobody minds: a case for a person to judge, which ends with the fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.ledger import cases, schema
from headwall.ledger.cases import Case
from headwall.registry import load_registry
from support.outfall_house import DAY, SITE, START, OutfallHouse, outfall_registry, quiet


@pytest.fixture(params=["order"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OutfallHouse]:
    outfall_registry(tmp_path)
    path = tmp_path / "registry.toml"
    head, _, tail = path.read_text("utf-8").partition('id = "node-7"')
    tail = tail.replace('legal_basis = "municipal_land"', f'legal_basis = "{request.param}"', 1)
    path.write_text(f'{head}id = "node-7"{tail}', "utf-8")
    made = OutfallHouse(load_registry(path))
    made.feed(quiet(1), every=500)
    yield made
    made.close()


def after(house: OutfallHouse, days: float) -> list[Case]:
    """The cases so many days after the board fell silent."""
    house.clock.now = START + DAY + round(days * DAY)
    house.judge()
    with house.ledger.read() as conn:
        return [each for each in cases.listed(conn) if each.kind == "device"]


def test_a_board_that_stays_silent_for_weeks_is_proposed_to_the_officer(house: OutfallHouse) -> None:
    assert after(house, 1) == []
    assert after(house, 13) == []
    (case,) = after(house, 16)  # one, however many sensors the board has
    assert (case.kind, case.site, case.state) == ("device", SITE, "suspected")
    assert after(house, 17) == [case]


@pytest.mark.parametrize("house", ["municipal_land"], indirect=True)
def test_the_municipalitys_own_device_is_nobodys_neglect(house: OutfallHouse) -> None:
    after(house, 1)
    assert after(house, 16) == []


def test_a_board_that_speaks_again_takes_the_proposal_back(house: OutfallHouse) -> None:
    after(house, 1)
    after(house, 16)
    said = {"status": "online", "body": {}, "received_us": house.clock.now, "last_data_us": house.clock.now}
    with house.ledger.begin() as conn:
        conn.execute(schema.node_states.insert().values(node="node-7", **said))
    after(house, 16.01)  # the fault is over; devices are looked at each hour
    (case,) = after(house, 16.1)
    assert case.state == "taken_back"
