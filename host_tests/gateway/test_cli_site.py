"""`headwall site show`: what stands at a septic system and at a basin, from the ledger to the page of text."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from headwall.errors import UnknownThingError
from headwall.ledger.ledger import Ledger
from support.desk import Desk
from support.rules_house import HOUR, MINUTE, at
from support.septic_house import IN, SITE, Probe, septic_registry

GOLDEN = Path(__file__).parent / "golden"
DAY = 24 * HOUR
#: the tank was pumped at noon of this day; the page is of 200 days later
PUMPED = at("2025-11-01 17:00")
SHOWN = "2026-05-20 12:00"
BY = ("--by", "Ruth Adler")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("COLUMNS", "100")
    septic_registry(tmp_path)
    return Desk(tmp_path)


def live(desk: Desk) -> None:
    """200 days of a tank in use: sludge 0.08 in a day, scum 0.02 in, the liquid backing up on one day, two looks."""
    ledger = Ledger.open(desk.url)
    probe = Probe(ledger)
    days = [(PUMPED + n * DAY + HOUR, n) for n in range(200)]
    probe.put("sludge.level", *((time_us, (1 + 0.08 * n) * IN) for time_us, n in days))
    probe.put("scum.level", *((time_us, -(6 + 0.02 * n + 0.01 * (n % 2)) * IN) for time_us, n in days))
    backed_up = PUMPED + 190 * DAY
    levels = [0.1, 0.7, 1.3, 3.4, 1.2, 0.6, 0.2, 0.1]
    probe.put("liquid.level", *((backed_up + n * 30 * MINUTE, level * IN) for n, level in enumerate(levels)))
    night = PUMPED + 197 * DAY
    probe.put("liquid.level", *((night + n * HOUR, (-1 - 0.1 * n) * IN) for n in range(9)))
    probe.put("liquid.level", (PUMPED + 199 * DAY, 0.2 * IN))
    ledger.close()
    tank = (SITE, *BY)
    desk.run(
        "record", "pump-out", *tank, "--at", "2025-11-01 12:00", "--hauler", "Brook Septic", "--volume", "1000 gal"
    )
    desk.run("record", "septic", *tank, "--at", "2026-02-01 10:00", "--scum-bottom", "8 in", "--sludge", "9 in")
    desk.run("record", "septic", *tank, "--at", "2026-05-02 10:00", "--scum-clearance", "6 in", "--sludge", "16.5 in")


def golden(name: str, told: str) -> None:
    path = GOLDEN / name
    if os.environ.get("HEADWALL_UPDATE_GOLDEN") == "1":
        path.write_text(told, "utf-8")
    assert told == path.read_text("utf-8"), f"{name}: HEADWALL_UPDATE_GOLDEN=1 writes it anew; read the difference"


def test_a_septic_system_as_an_officer_reads_it(desk: Desk) -> None:
    live(desk)
    told = desk.run("site", "show", SITE, "--at", SHOWN)
    assert "Indication; it takes the place of no inspection and establishes nothing." in told
    golden("site-septic.txt", told)


def test_the_same_for_scripts_in_si_units(desk: Desk) -> None:
    live(desk)
    found = json.loads(desk.run("site", "show", SITE, "--at", SHOWN, "--json"))
    tank = found["septic"]
    sludge = tank["layers"]["sludge"]
    assert sludge["clearance"]["value"] == pytest.approx((48 - 1 - 0.08 * 199 - 16) * IN)
    assert sludge["limit_m"] == pytest.approx(10 * IN)
    assert (sludge["reached"], sludge["forecast"]["values"], sludge["forecast"]["pumped"]) == (False, 200, True)
    # (22 - 1) / 0.08 = 262.5 days of growth, read an hour and half a day off the middle of its day
    assert (sludge["forecast"]["expected_us"] - PUMPED) / DAY == pytest.approx(263, abs=0.1)
    assert [each["dwelt"] for each in tank["liquid"]["above"]] == [True]
    assert len(tank["liquid"]["surges"]) == len(tank["liquid"]["sinkings"]) == 1
    assert tank["last_pump_out"]["hauler"] == "Brook Septic"
    hand = [(each["what"], each["reached"]) for each in tank["by_hand"]]
    assert hand == [("scum_clearance", False), ("sludge", False)] * 2
    assert tank["by_hand"][3]["difference_m"] == pytest.approx((16.5 - 1 - 0.08 * 182) * IN, abs=0.1 * IN)
    assert tank["indication"].startswith("Indication")
    assert tank["provision"]["id"] == "hillburn-192-15b1a-pump-out"


def test_what_was_not_entered_or_read_by_then_is_not_shown(desk: Desk) -> None:
    live(desk)
    found = json.loads(desk.run("site", "show", SITE, "--at", "2025-10-30 12:00", "--json"))["septic"]
    assert found["last_pump_out"] is None
    assert found["by_hand"] == []
    assert found["layers"]["sludge"]["clearance"] is found["layers"]["sludge"]["forecast"] is None
    told = desk.run("site", "show", SITE, "--at", "2025-10-30 12:00")
    assert "none in 30 days" in told
    assert "none on record" in told
    assert "nothing on record" in told


def test_a_tank_within_the_codes_distance_says_so_and_stays_an_indication(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    Probe(ledger).put("sludge.level", (at("2026-05-20 12:00"), 22 * IN))
    Probe(ledger).put("scum.level", (at("2026-05-20 12:00"), None), jid="00000000000000cc")
    ledger.close()
    told = " ".join(desk.run("site", "show", SITE, "--at", SHOWN).split())
    assert "sludge clearance 10 in, 2026-05-20 08:00 (suspect); within the 10 in of the code" in told
    assert "scum clearance none found" in told
    assert "Indication" in told


def test_a_code_without_such_a_clause_is_said_to_have_none(desk: Desk) -> None:
    septic_registry(desk.folder, ('profile = "hillburn"', 'profile = "elmsford"'))
    live(desk)
    told = " ".join(desk.run("site", "show", SITE, "--at", SHOWN).split())
    assert "no clause of this code says at which clearance a tank is pumped" in told
    assert "about 2026" not in told


def test_a_basin_as_an_officer_reads_it(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    Probe(ledger, "basin-3").put("bed.distance", (at("2026-05-20 10:00"), 1.9))
    ledger.close()
    desk.run("record", "sediment", "basin-3", *BY, "--at", "2026-03-01 09:00", "--depth", "3 ft")
    septic_registry(desk.folder, ('profile = "hillburn"', 'profile = "elmsford"'))
    golden("site-basin.txt", desk.run("site", "show", "basin-3", "--at", SHOWN))
    found = json.loads(desk.run("site", "show", "basin-3", "--at", SHOWN, "--json"))["basin"]
    assert found["by_sensor"]["volume_percent"]["value"] == pytest.approx(60)
    assert found["by_sensor"]["reached_by"] == ["volume", "depth"]
    assert (found["surveyed"]["by"], found["surveyed"]["reached_by"]) == ("Ruth Adler", [])


def test_other_sites_show_their_sensors_and_unknown_ones_are_told(desk: Desk) -> None:
    told = desk.run("site", "show", "yard", "--at", SHOWN)
    assert told.startswith(
        "yard: Yard, construction site in Village of Elmsford\n  1 Main Street; active; as of 2026-05-20"
    )
    with pytest.raises(UnknownThingError, match="no site 'lane'"):
        desk.run("site", "show", "lane")
