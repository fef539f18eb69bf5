"""An outfall in `headwall site show`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headwall.ledger.ledger import Ledger
from headwall.rules.episode_notices import sync
from headwall.rules.facts import SuspectedDischarge
from support.desk import Desk
from support.place_house import Readings, place
from support.rules_house import HOUR, MINUTE, at

_T = at("2026-06-10 12:00")
_REST = """
[[sites.levels]]
of = "stage"
method = "level"
from = 2025-01-01
[[sites.ratings]]
method = "v_notch"
angle_deg = 90
from = 2025-01-01
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    place(tmp_path, "stage.level water.temperature down.turbidity up.turbidity", _REST)
    readings = Readings(made.url)
    readings.put("stage.level", *((_T - n * 15 * MINUTE, 0.1) for n in range(97)))
    readings.put("down.turbidity", (_T, 30.0))
    readings.put("up.turbidity", (_T, 12.0))
    readings.ledger.close()
    return made


def test_an_outfall_shows_its_day_and_says_that_nothing_is_no_dryness(desk: Desk) -> None:
    said = desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00")
    assert "passed            101,000 gal" in said, said
    assert "greatest flow     69.9 gpm" in said
    assert "turbidity added   18 NTU" in said
    assert "hours without readings or after rain are not judged" in " ".join(said.split())


def test_a_suspicion_is_shown_as_none_but_that(desk: Desk) -> None:
    fact = SuspectedDischarge(
        municipality="elmsford", site="outfall-7", datastream="node-7/stage.level", start_us=_T - 9 * HOUR,
        end_us=_T, ongoing=True, likeness="wash_water", confidence=0.8, evidence={}, learned_us=_T,
    )  # fmt: skip
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        sync(conn, SuspectedDischarge, "outfall-7", [fact], _T, lambda _: True)
    ledger.close()
    said = " ".join(desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00").split())
    assert "from 2026-06-09 23:00 still running, looks like wash water (confidence 80%): no finding" in said
    body = json.loads(desk.run("site", "show", "outfall-7", "--at", "2026-06-10 08:00", "--json"))
    assert body["outfall"]["suspected"][0]["likeness"] == "wash_water"
    assert body["outfall"]["last_day"]["low_m3"] == pytest.approx(0.0044126 * 86_400, rel=1e-3)
