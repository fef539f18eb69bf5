"""Entries and quality edits in the ledger: kept as told, never changed, and what stands of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from headwall.errors import InputError
from headwall.ledger.entries import (
    Body,
    FieldSample,
    PumpOut,
    SedimentSurvey,
    SepticMeasurement,
    SewerRun,
    SewerTest,
    SnowWater,
    Withdrawal,
    add_entry,
    checked,
    entry,
    listed,
    replaced_by,
    standing,
)
from headwall.ledger.ledger import Ledger
from headwall.ledger.quality_edits import QualityEdit, add_edit, edit_at, edits_of
from hypothesis import given
from hypothesis import strategies as st

GAUGE = "gauge-a/rain.tips"
SNOW = SnowWater(depth="0.42 in", start_us=100, end_us=200)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def put(
    ledger: Ledger, body: Body, subject: str = GAUGE, done_us: int = 200, replaces: int | None = None
) -> int | None:
    with ledger.begin() as conn:
        made = add_entry(conn, body, subject=subject, done_us=done_us, by="Ruth", now_us=999, replaces=replaces)
    return None if made is None else made.id


@pytest.mark.parametrize(
    "body",
    [
        SNOW,
        PumpOut(hauler="Brook Septic", volume="1000 gal", note="lid cracked"),
        SepticMeasurement(scum_clearance="-0.5 in", sludge="12 in", liquid="-1 in"),
        SepticMeasurement(no_scum=True),
        SedimentSurvey(depth="0.3 m"),
        FieldSample(ammonia="<0.05", potassium="4", ph="7.2", turbidity=">1000"),
        SewerTest(
            method="exfiltration",
            pipes=[SewerRun("8", "5280")],
            hours="24",
            leaked_gal="799.9",
            allowance="100",
            allowed_gal="800",
            passed=True,
            certified_by="P. Engineer",
        ),
    ],
)
def test_an_entry_comes_out_as_it_went_in(ledger: Ledger, body: Body) -> None:
    number = put(ledger, body)
    with ledger.read() as conn:
        (found,) = standing(conn, type(body))
        assert entry(conn, number or 0) == found
    assert (found.body, found.subject, found.done_us, found.by, found.at_us) == (body, GAUGE, 200, "Ruth", 999)


def test_the_same_entry_is_kept_once(ledger: Ledger) -> None:
    assert put(ledger, SNOW) == 1
    assert put(ledger, SNOW) is None
    assert put(ledger, SNOW, subject="gauge-b/rain.tips") == 2


def test_what_was_replaced_stands_no_more_but_is_still_there(ledger: Ledger) -> None:
    put(ledger, SNOW)
    better = SnowWater(depth="0.45 in", start_us=100, end_us=200)
    put(ledger, better, replaces=1)
    with ledger.read() as conn:
        assert [(each.id, each.body) for each in standing(conn, SnowWater)] == [(2, better)]
        assert [each.id for each in listed(conn, everything=True)] == [1, 2]
        assert (replaced_by(conn, 1), replaced_by(conn, 2)) == (2, None)


def test_an_entry_is_not_replaced_twice_nor_by_one_of_another_kind_or_place(ledger: Ledger) -> None:
    put(ledger, SNOW)
    with pytest.raises(InputError, match=r"is of gauge-a/rain\.tips, not of gauge-b/rain\.tips"):
        put(ledger, SNOW, subject="gauge-b/rain.tips", replaces=1)
    with pytest.raises(InputError, match="is a snow water, not a pump out"):
        put(ledger, PumpOut(), replaces=1)
    with pytest.raises(InputError, match="no entry 7"):
        put(ledger, SNOW, replaces=7)
    put(ledger, SNOW, done_us=210, replaces=1)
    with pytest.raises(InputError, match="2 replaced it"):
        put(ledger, SNOW, done_us=220, replaces=1)


def test_an_entry_that_was_withdrawn_can_be_made_again(ledger: Ledger) -> None:
    put(ledger, SNOW)
    put(ledger, Withdrawal(reason="other gauge"), done_us=300, replaces=1)
    with ledger.read() as conn:
        assert standing(conn, SnowWater) == []
    with pytest.raises(InputError, match="entered as 1, for which 2 stands now"):
        put(ledger, SNOW)
    assert put(ledger, SNOW, replaces=2) == 3
    with ledger.read() as conn:
        assert [each.id for each in standing(conn, SnowWater)] == [3]
        assert standing(conn, Withdrawal) == []


def test_entries_stand_in_order_of_what_was_done_and_within_the_time_asked(ledger: Ledger) -> None:
    for done_us in (300, 100, 200):
        put(ledger, PumpOut(), subject="brook-lane-12", done_us=done_us)
    put(ledger, PumpOut(), subject="other")
    with ledger.read() as conn:
        assert [each.done_us for each in standing(conn, PumpOut, "brook-lane-12")] == [100, 200, 300]
        assert [each.done_us for each in standing(conn, PumpOut, "brook-lane-12", until_us=200)] == [100, 200]
        assert [each.done_us for each in standing(conn, PumpOut, "brook-lane-12", from_us=200)] == [200, 300]


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        (SnowWater, {"depth": "0.42", "start_us": 1, "end_us": 2}, "depth"),
        (SnowWater, {"depth": "0.42 in", "start_us": 2, "end_us": 2}, "end after it begins"),
        (SepticMeasurement, {}, "needs scum, sludge or liquid"),
        (SepticMeasurement, {"no_scum": True, "scum_bottom": "3 in"}, "scum is told once"),
        (SepticMeasurement, {"sludge": "some"}, "sludge"),
        (PumpOut, {"colour": "blue"}, "colour"),
        (Withdrawal, {"reason": ""}, "reason"),
    ],
)
def test_a_body_that_does_not_hold_is_refused_by_its_field(
    kind: type[Body], fields: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        checked(kind, **fields)


# ---- quality edits


def flag(ledger: Ledger, start_us: int, end_us: int, value: int | None, reason: str = "boat") -> None:
    with ledger.begin() as conn:
        add_edit(
            conn,
            node="outfall-7",
            stream="stage.level",
            start_us=start_us,
            end_us=end_us,
            flag=value,
            by="Ruth",
            reason=reason,
            now_us=5,
        )


def test_the_newest_edit_that_covers_a_reading_counts_and_none_takes_back(ledger: Ledger) -> None:
    flag(ledger, 0, 100, 4)
    flag(ledger, 50, 80, 1)
    flag(ledger, 60, 70, None)
    with ledger.read() as conn:
        edits = edits_of(conn, "outfall-7", "stage.level")
        assert edits_of(conn, "outfall-7", "other.level") == []
        assert [edit.id for edit in edits_of(conn, start_us=70, end_us=200)] == [1, 2]
    found = [edit_at(edits, time_us) for time_us in (0, 49, 50, 59, 60, 69, 70, 80, 99, 100)]
    assert [edit and edit.flag for edit in found] == [4, 4, 1, 1, None, None, 1, 4, 4, None]


@pytest.mark.parametrize(
    ("start_us", "end_us", "value", "reason", "says"),
    [(5, 5, 4, "x", "end after"), (0, 5, 9, "x", "no flag"), (0, 5, 4, "  ", "needs its reason")],
)
def test_an_edit_that_says_nothing_is_refused(
    ledger: Ledger, start_us: int, end_us: int, value: int, reason: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        flag(ledger, start_us, end_us, value, reason)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.sampled_from([1, 3, 4, None])), max_size=8))
def test_edits_lie_over_each_other_like_paint(strokes: list[tuple[int, int, int | None]]) -> None:
    wall: list[int | None] = [None] * 40
    for start_us, length, value in strokes:
        wall[start_us : start_us + length] = [value] * length
    edits = [
        QualityEdit(n, "outfall-7", "stage.level", start_us, start_us + length, value, "Ruth", "boat", 5)
        for n, (start_us, length, value) in enumerate(strokes)
    ]
    assert [(edit := edit_at(edits, at_us)) and edit.flag for at_us in range(40)] == wall
