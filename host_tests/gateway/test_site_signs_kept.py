"""What the watches of a site keep between steps changes nothing: neither what they find, nor what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from headwall.ledger import cases
from headwall.rules import watch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.long import LONG
from support.rules_house import HOUR, MINUTE, House, at
from support.septic_house import IN, Probe, septic_registry

START = at("2026-06-01 04:00")
#: a stream, minutes after the reading before, whether it comes late, and inches
_READING = st.tuples(
    st.sampled_from(["liquid", "liquid", "scum", "sludge"]),
    st.sampled_from([5, 20, 45, 70, 200, 1500]),
    st.sampled_from([0, 0, 0, 0, 30, 90, 600, 2000]),
    st.sampled_from([-15.0, -13.2, -2.0, -1.0, -0.2, 0.3, 0.6, 1.0, 3.0]),
)
_BEGINS = ("liquid", 5, 0, 0.0)
_ABOVE = [("liquid", 45, 0, 1.0)] * 8
_LEVELS = {"sludge": 36.0}  # above the floor, so that it comes near the baffle


def _ends(folder: Any, readings: list[tuple[str, int, int, float]], *, forgets: bool) -> Any:
    house = House(septic_registry(folder), START)
    probe, newest_us = Probe(house.ledger), START
    for stream, after, late, inches in readings:
        newest_us += after * MINUTE
        height = max(0.0, inches + _LEVELS[stream]) if stream in _LEVELS else inches
        probe.put(f"{stream}.level", (newest_us - late * MINUTE, height * IN))
        if forgets:
            house.engine._forget()
        house.judge(newest_us)
    with house.ledger.read() as conn:
        found = [(each.from_us, each.until_us, each.state) for each in cases.listed(conn)]
    signs = [(row.key, row.body, row.opened_us, row.closed_us) for row in house.notices("site_sign")]
    told = house.outbox()
    house.close()
    return found, signs, told


@settings(max_examples=40 if LONG else 3)
@given(st.lists(_READING, min_size=4, max_size=24))
@example([_BEGINS, *_ABOVE, ("liquid", 5, 600, -1.0), *_ABOVE])
@example([_BEGINS, *_ABOVE, ("liquid", 200, 0, 3.0), ("liquid", 1500, 0, -1.0), *_ABOVE, ("liquid", 5, 2000, 0.0)])
@example([_BEGINS, *_ABOVE, *[("scum", 20, 0, -13.2)] * 3, ("liquid", 5, 90, 3.0), ("liquid", 5, 0, -1.0)])
def test_a_rule_that_keeps_nothing_finds_the_same(
    tmp_path_factory: pytest.TempPathFactory, readings: list[tuple[str, int, int, float]]
) -> None:
    kept, anew = (_ends(tmp_path_factory.mktemp("tank"), readings, forgets=forgets) for forgets in (False, True))
    assert kept == anew


def test_a_reading_costs_the_same_however_long_the_liquid_has_stood_above_the_invert(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in the heights that its watches read."""
    read: list[int] = []
    whole = watch.heights

    def counted(conn: Any, registry: Any, site: str, role: Any, start_us: int, end_us: int) -> Any:
        found = whole(conn, registry, site, role, start_us, end_us)
        read.append(len(found))
        return found

    monkeypatch.setattr(watch, "heights", counted)
    house = House(septic_registry(tmp_path_factory.mktemp("tank")), START)
    probe = Probe(house.ledger)
    costs = []
    for day in (1, 10, 60):
        newest_us = START + day * 24 * HOUR
        probe.put("liquid.level", *((time_us, IN) for time_us in range(house.clock.now, newest_us, HOUR)))
        house.judge(newest_us)
        for minutes in (5, 10, 15):
            read.clear()
            probe.put("liquid.level", (newest_us + minutes * MINUTE, IN))
            house.judge(newest_us + minutes * MINUTE)
        costs.append(sum(read))
    assert max(costs) < 10, costs
    house.close()
