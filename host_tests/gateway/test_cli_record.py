"""`headwall record` and `headwall quality`: what persons enter, under their names, and how wrong input is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import log_book, schema
from headwall.ledger.entries import PumpOut, SepticMeasurement, SewerTest, SnowWater, standing
from headwall.ledger.ledger import Ledger
from support.desk import Desk
from support.rules_house import GAUGE, HOUR, MINUTE, at
from support.septic_house import SITE, Probe, septic_registry

SNOW = ("record", "snow", GAUGE, "--depth", "0.42 in", "--from", "2026-02-03 07:00", "--to", "2026-02-03 15:00")
BY = ("--by", "Ruth Adler")
LIQUID = "septic-12/liquid.level"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    septic_registry(tmp_path)
    return Desk(tmp_path)


def records(desk: Desk) -> list[tuple[str, str]]:
    found = [(row.kind, row.by) for row in desk.rows(schema.records)]
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        assert log_book.verify(conn) is None
    ledger.close()
    return found


def stands(desk: Desk, kind: type[SnowWater | PumpOut | SepticMeasurement | SewerTest]) -> list[object]:
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        found = [each.body for each in standing(conn, kind)]
    ledger.close()
    return list(found)


def test_snow_water_is_kept_in_the_unit_it_was_read_in(desk: Desk) -> None:
    told = desk.run(*SNOW, *BY)
    assert told == "Entry 1: board-a/rain.tips, Feb 3 15:00 EST, by Ruth Adler: 0.42 in of water from snow.\n"
    wanted = SnowWater(depth="0.42 in", start_us=at("2026-02-03 12:00"), end_us=at("2026-02-03 20:00"))
    assert stands(desk, SnowWater) == [wanted]
    (row,) = desk.rows(schema.entries)
    assert (row.subject, row.done_us, row.by) == (GAUGE, at("2026-02-03 20:00"), "Ruth Adler")
    assert records(desk) == [("entry", "Ruth Adler")]


def test_the_same_entry_again_adds_nothing(desk: Desk) -> None:
    desk.run(*SNOW, *BY)
    assert "already" in desk.run(*SNOW, *BY)
    assert records(desk) == [("entry", "Ruth Adler")]


def test_entries_of_a_tank_are_listed_and_corrected(desk: Desk) -> None:
    pumped = ("record", "pump-out", SITE, "--hauler", "Brook Septic", "--volume", "1000gal")
    desk.run(*pumped, "--at", "2026-03-01 09:00", *BY)
    found = ("record", "septic", SITE, "--scum-clearance", "4 in", "--sludge", "10.5 in", "--at", "2026-05-01 10:00")
    desk.run(*found, *BY)
    told = desk.run(*found[:4], "-0.5 in", *found[5:], *BY, "--replaces", "2", "--note", "misread [/b]")
    assert told.startswith("Entry 3, in the stead of 2: brook-lane-12, May 1 10:00 EDT, by Ruth Adler: scum clearance")
    listed = json.loads(desk.run("record", "list", SITE, "--json"))
    assert [(each["id"], each["kind"], each["replaces"]) for each in listed] == [
        (1, "pump_out", None),
        (3, "septic_measurement", 2),
    ]
    assert listed[0]["volume"] == "1000 gal"
    whole = " ".join(desk.run("record", "list", "--all").split())
    assert "replaced by 3" in whole
    assert "-0.5 in" in whole
    assert "misread [/b]" in whole


def test_a_withdrawn_entry_stands_no_more_and_stays_on_record(desk: Desk) -> None:
    desk.run(*SNOW, *BY)
    told = desk.run("record", "withdraw", "1", "--reason", "other gauge", "--by", "Olive Officer")
    assert "withdrawn: other gauge" in told
    assert stands(desk, SnowWater) == []
    assert "No entry stands" in desk.run("record", "list")
    assert len(json.loads(desk.run("record", "list", "--all", "--json"))) == 2
    assert records(desk) == [("entry", "Ruth Adler"), ("entry", "Olive Officer")]


TEST = ("record", "sewer-test", "Lot 7 main", "--method", "infiltration", "--pipe", "8x1320", "--hours", "24")
ENGINEER = ("--certified-by", "P. Engineer")


@pytest.mark.parametrize(
    ("leaked", "says", "passed"), [("200 gal", "passed", True), ("200.01 gal", "not passed", False)]
)
def test_a_sewer_test_is_computed_and_kept_whether_it_passed_or_not(
    desk: Desk, leaked: str, says: str, passed: bool
) -> None:
    """8 in over a quarter mile for a day: 2 inch-mile-days, of which Hillburn allows 100 gallons each."""
    told = desk.run(*TEST, "--leaked", leaked, *ENGINEER, *BY)
    assert f"200 gal allowed, {'not ' if passed else ''}exceeded: {says}" in told
    (kept,) = stands(desk, SewerTest)
    assert isinstance(kept, SewerTest)
    assert (kept.allowance, kept.allowed_gal, kept.passed, kept.certified_by) == ("100", "200", passed, "P. Engineer")


def test_the_allowance_of_a_sewer_test_is_the_codes_or_given(desk: Desk) -> None:
    assert "100 gal allowed" in desk.run(*TEST, "--leaked", "90 gal", "--allowance", "50", *ENGINEER, *BY)
    septic_registry(desk.folder, ('profile = "hillburn"', 'profile = "elmsford"'))
    with pytest.raises(InputError, match="--allowance is needed: the codes of the registry name no amounts"):
        desk.run(*TEST, "--leaked", "90 gal", *ENGINEER, *BY)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*SNOW[:4], "0.42", *SNOW[5:]), r"--depth: '0\.42' is no number with a unit"),
        ((*SNOW[:4], "0.42 gal", *SNOW[5:]), "--depth: '0.42 gal': the unit must be one of m, mm, cm, in, ft"),
        ((*SNOW[:4], "0 in", *SNOW[5:]), "--depth '0 in' must be more than 0"),
        ((*SNOW[:6], "2026-02-03 16:00", *SNOW[7:]), "is not before --to"),
        ((*SNOW[:8], "2099-01-01 10:00"), "--to '2099-01-01 10:00' is in the future"),
        ((*SNOW[:8], "yesterday"), "--to 'yesterday' is no time; write 2026-06-10 15:42"),
        ((*SNOW[:2], LIQUID, *SNOW[3:]), "was no rain gauge in force"),
        (("record", "septic", SITE), "needs scum, sludge or liquid"),
        (("record", "septic", SITE, "--no-scum", "--scum-bottom", "3 in"), "scum is told once"),
        (("record", "septic", SITE, "--sludge", "-1 in"), "--sludge '-1 in' must not be below 0"),
        (("record", "septic", SITE, "--sludge", "49 in"), "does not fit a tank"),
        (("record", "septic", "basin-3", "--sludge", "4 in"), "basin-3 is a basin site; this is entered of septic"),
        (("record", "sediment", SITE, "--depth", "4 in"), "is a septic site"),
        (("record", "sample", SITE, "--ph", "7"), "is a septic site; this is entered of outfall sites"),
        (("record", "withdraw", "9", "--reason", "x"), "no entry 9"),
        (("record", "pump-out", SITE, "--replaces", "9"), "no entry 9"),
    ],
)
def test_what_cannot_be_entered_is_told_with_its_option(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        desk.run(*arguments, *BY)
    assert desk.rows(schema.entries) == []
    assert desk.rows(schema.records) == []


def test_unknown_places_are_told_with_those_there_are(desk: Desk) -> None:
    with pytest.raises(UnknownThingError, match=r"no site 'lane'.*brook-lane-12"):
        desk.run("record", "pump-out", "lane", *BY)
    with pytest.raises(UnknownThingError, match="no datastream"):
        desk.run(*SNOW[:2], "board-z/rain.tips", *SNOW[3:], *BY)
    with pytest.raises(InputError, match="--by needs the name"):
        desk.run(*SNOW, "--by", " ")


# ---- quality


def put_a_jump(desk: Desk) -> None:
    """Hourly levels with one that no tank has, and one in maintenance."""
    ledger = Ledger.open(desk.url)
    start_us = at("2026-06-01 12:00")
    levels = [0.0, 0.0, 9.0, 0.0, 0.0]
    Probe(ledger).put("liquid.level", *((start_us + n * HOUR, level) for n, level in enumerate(levels)))
    Probe(ledger, "septic-13").put("liquid.level", (start_us, 0.0))
    with ledger.begin() as conn:
        window = {"node": "septic-12", "start_us": start_us + 4 * HOUR, "end_us": start_us + 5 * HOUR}
        conn.execute(schema.maintenance.insert().values(**window, by="Ruth", at_us=0))
    ledger.close()


DAY = ("2026-06-01", "2026-06-02")


def test_tests_tell_which_readings_they_doubt_and_a_person_decides(desk: Desk) -> None:
    put_a_jump(desk)
    told = " ".join(desk.run("quality", "test", LIQUID, *DAY).split())
    assert "spike" in told
    assert "4 readings: 2 pass, 2 fail. 1 more are quarantined or of a maintenance window" in told
    said = desk.run(
        "quality", "flag", LIQUID, "2026-06-01 09:00", "2026-06-01 09:30", "--flag", "pass", *BY, "--reason", "dipped"
    )
    assert "flagged pass, 1 at present (edit 1, by Ruth Adler)" in said.replace("\n", " ")
    found = json.loads(desk.run("quality", "test", LIQUID, *DAY, "--json"))
    assert found[2]["tests"] == ["gross_range", "spike"]
    assert [(each["flag"], each["tests_flag"]) for each in found] == [(1, 1), (1, 4), (4, 4), (1, 1)]
    desk.run(
        "quality", "flag", LIQUID, "2026-06-01 10:00", "2026-06-01 10:01", "--flag", "suspect", *BY, "--reason", "[/x]"
    )
    found = json.loads(desk.run("quality", "test", LIQUID, *DAY, "--json"))
    assert [each["flag"] for each in found] == [1, 1, 3, 1]
    assert found[2]["value"] == 9.0
    desk.run("quality", "flag", LIQUID, *DAY, "--flag", "none", *BY, "--reason", "mistaken")
    found = json.loads(desk.run("quality", "test", LIQUID, *DAY, "--json"))
    assert [each["flag"] for each in found] == [1, 4, 4, 1]
    listed = json.loads(desk.run("quality", "list", LIQUID, "--json"))
    assert [(each["flag"], each["reason"]) for each in listed] == [(1, "dipped"), (3, "[/x]"), (None, "mistaken")]
    told = desk.run("quality", "list") + desk.run("quality", "test", LIQUID, *DAY, "--all")
    assert "[/x]" in told
    assert records(desk) == [("quality_edit", "Ruth Adler")] * 3


def test_an_empty_stretch_is_said_to_be_empty(desk: Desk) -> None:
    assert desk.run("quality", "test", LIQUID, *DAY) == "0 readings.\n"
    assert "No person has said anything" in desk.run("quality", "list")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((LIQUID, "2026-06-02", "2026-06-01"), "FROM '2026-06-02' is not before TO '2026-06-01'"),
        ((LIQUID, "then", "2026-06-01"), "FROM 'then' is no time"),
        ((LIQUID, *DAY, "--neighbour", LIQUID), "must be another datastream"),
        ((LIQUID, *DAY, "--neighbour", GAUGE), "must be another datastream of the same quantity"),
    ],
)
def test_a_stretch_that_is_none_is_told(desk: Desk, arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        desk.run("quality", "test", *arguments)


def test_a_flag_without_a_reason_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match="needs its reason"):
        desk.run("quality", "flag", LIQUID, *DAY, "--flag", "fail", *BY, "--reason", " ")
    assert desk.rows(schema.records) == []


def test_a_neighbour_is_compared_with(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    start_us, probe = at("2026-06-01 12:00"), Probe(ledger, "basin-3")
    probe.put("pool.level", *((start_us + n * 10 * MINUTE, 0.30) for n in range(3)))
    probe.put("gate.level", *((start_us + n * 10 * MINUTE, 0.30 + n * 0.1) for n in range(3)))
    ledger.close()
    alone = json.loads(desk.run("quality", "test", "basin-3/pool.level", *DAY, "--json"))
    beside = ("--neighbour", "basin-3/gate.level", "--json")
    compared = json.loads(desk.run("quality", "test", "basin-3/pool.level", *DAY, *beside))
    assert [each["flag"] for each in alone] == [1, 1, 1]
    assert [(each["flag"], each["tests"]) for each in compared] == [(1, []), (3, ["neighbour"]), (4, ["neighbour"])]
