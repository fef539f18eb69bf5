"""Flow outside of what the register allows: by the spans of its rows, by the hours of an outfall, and to the case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from headwall.hydrology.dry_weather import HOUR_US, Hour, Judgement
from headwall.hydrology.dry_weather.judgement import Evidence
from headwall.law import localtime
from headwall.law.profile import load_profile
from headwall.ledger import approvals, cases
from headwall.ledger.approvals import Approval, Followed
from headwall.rules.approval_spans import BARRED, WHY, Book, Outside, first_difference_us
from headwall.rules.approvals import checked
from headwall.rules.facts import OutsideApproval, SuspectedDischarge, from_body
from headwall.rules.outside_approvals import barred
from hypothesis import given, settings
from hypothesis import strategies as st
from support.outfall_house import DAY, PULSE, SITE, START, OutfallHouse, outfall_registry, quiet
from support.rules_house import HOUR

WHERE = localtime.zone("America/New_York")
WHO = {"holder": "Brook Water Co.", "granted_by": "Olive Officer", "reference": "letter 12"}
WEEK = 7 * DAY


class Town:
    """An outfall under a code, with readings and a register."""

    def __init__(self, folder: Path, code: str) -> None:
        self.registry = outfall_registry(folder, code)
        self.code = code
        self.house = OutfallHouse(self.registry)

    def add(self, kind: str, from_us: int, to_us: int | None = None, *, site: str | None = SITE, **fields: Any) -> int:
        found = checked(load_profile(self.code), WHERE, kind, {**WHO, **fields}, from_us, to_us)
        span = {"from_us": from_us, "to_us": to_us, "municipality": "elmsford", "site": site}
        with self.house.ledger.begin() as conn:
            made = approvals.add_approval(conn, found.body, **span, by="R", now_us=self.house.clock.now)
        assert made is not None
        return made.id

    def step(self, number: int, name: str, at_us: int, **more: str) -> int:
        with self.house.ledger.begin() as conn:
            followed = Followed(step=name, at_us=at_us, by="Olive Officer", **more)
            return approvals.add_step(conn, number, followed, by="R", now_us=self.house.clock.now).id

    def end(self, number: int, at_us: int) -> None:
        said = {"at_us": at_us, "reason": "mended", "ended_by": "Olive Officer", "by": "R"}
        with self.house.ledger.begin() as conn:
            approvals.end_approval(conn, number, **said, now_us=self.house.clock.now)

    def outside(self) -> list[tuple[str, int, int]]:
        rows = [row for row in self.house.notices("outside_approval") if row.closed_us is None]
        return sorted((row.body["why"], row.body["start_us"], row.body["end_us"]) for row in rows)

    def suspected(self) -> list[tuple[int, int]]:
        rows = [row for row in self.house.notices("suspected_discharge") if row.closed_us is None]
        return sorted((row.body["start_us"], row.body["end_us"]) for row in rows)

    def cases(self) -> list[tuple[str, str, str]]:
        with self.house.ledger.read() as conn:
            return [(each.kind, each.state, each.provision) for each in cases.listed(conn)]


@pytest.fixture
def towns(tmp_path: Path) -> Iterator[Any]:
    made: list[Town] = []

    def make(code: str) -> Town:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Town(folder, code))
        return made[-1]

    yield make
    for each in made:
        each.house.close()


def test_flow_after_the_end_of_its_approval_is_told_as_that_and_not_twice(towns: Any) -> None:
    """Entered before the readings or long after them, the outcome is the same."""
    ends = []
    for late in (False, True):
        town = towns("hillburn")
        span = (PULSE[0] - 3 * DAY, PULSE[0] - 2 * DAY)
        discharge = {"what": "flushed main", "means": "in writing"}
        if not late:
            town.add("discharge", *span, **discharge)
        town.house.feed(quiet(10, [PULSE]))
        if late:
            assert town.outside() == []
            assert len(town.suspected()) == 1
            town.add("discharge", *span, **discharge)
            town.house.judge()
        assert town.suspected() == []
        mailed = [fact for _, _, _, fact in town.house.outbox() if isinstance(fact, OutsideApproval)]
        assert [(fact.why, fact.reference) for fact in mailed] == [("after_end", "letter 12")]
        assert not [fact for _, _, _, fact in town.house.outbox() if isinstance(fact, SuspectedDischarge)]
        open_cases = [each for each in town.cases() if each[1] == "suspected"]
        assert open_cases == [("outside_approval", "suspected", "hillburn-192-12a2-approval")]
        ends.append(town.outside())
    assert ends == [[("after_end", PULSE[0], PULSE[1])]] * 2


def test_a_copy_filed_in_time_but_entered_late_takes_the_suspicion_of_it_back(towns: Any) -> None:
    town = towns("hillburn")
    number = town.add("state_permit", PULSE[0] - 30 * DAY, permit="NY0012345")
    town.house.feed(quiet(10, [PULSE]))
    assert [why for why, _, _ in town.outside()] == ["not_filed"]
    town.step(number, "filed", PULSE[0] - 20 * DAY, means="a written copy")
    town.house.judge()
    assert town.outside() == []
    assert [state for kind, state, _ in town.cases() if kind == "outside_approval"] == ["taken_back"]
    ((start_us, _),) = town.suspected()  # it stays flow in dry weather; the permit is told beside it
    assert start_us == PULSE[0]


def test_any_flow_is_told_while_access_is_cut_in_rain_too_until_it_is_given_back(towns: Any) -> None:
    town = towns("bayville")
    cut = (START + 8 * DAY + 6 * HOUR, START + 8 * DAY + 18 * HOUR)
    number = town.add("termination", cut[0] - DAY, reason="sewage, twice")
    readings = quiet(9)
    rain = [("board-a", "rain.tips", cut[0] + n * HOUR // 4, 1.0) for n in range(8)]
    town.house.feed(sorted([*readings, *rain], key=lambda each: each[2]))
    assert town.outside() == []  # proposed, not done
    number = town.step(number, "terminated", cut[0])
    town.house.judge()
    ((why, start_us, end_us),) = town.outside()
    assert (why, start_us) == ("terminated", cut[0])
    assert end_us > cut[1]
    (row,) = town.house.notices("outside_approval")
    assert row.body["evidence"]["rain_driven_h"] > 0
    town.end(number, cut[1])
    town.house.judge()
    assert town.outside() == [("terminated", cut[0], cut[1])]
    assert from_body(row.body).provision == "bayville-63a-10-termination"


# ---- spans


def approval(
    kind: str, from_us: int, to_us: int | None, *, code: str, site: str | None = SITE, **more: Any
) -> Approval:
    followed = more.pop("followed", [])
    body = checked(load_profile(code), WHERE, kind, {**WHO, **more}, from_us, to_us).body
    body = type(body)(**{**{n: getattr(body, n) for n in body.__struct_fields__}, "followed": followed})
    return Approval(1, "", "elmsford", site, from_us, to_us, "R", 0, None, body)


def done(name: str, at_us: int) -> list[Followed]:
    return [Followed(step=name, at_us=at_us, by="Olive Officer")]


def outside(code: str, *rows: Approval) -> list[tuple[int, int, str]]:
    return [(each.start_us, each.end_us, each.why) for each in Book(rows, load_profile(code), WHERE, SITE).outside()]


FOREVER = 2**62
FROM, TO = START, START + DAY


def test_around_an_approved_time_a_week_is_outside_and_another_approval_in_it_is_not() -> None:
    rain = {"what": "flood water", "means": "in writing", "code": "hillburn"}
    first = approval("discharge", FROM, TO, **rain)
    assert outside("hillburn", first) == [(FROM - WEEK, FROM, "before_start"), (TO, TO + WEEK, "after_end")]
    second = approval("discharge", TO + DAY, TO + 2 * DAY, **rain)
    assert (TO, TO + DAY, "after_end") in outside("hillburn", first, second)
    assert outside("hillburn", approval("discharge", FROM, TO, site=None, **rain)) == []


def test_a_dye_test_without_notice_before_it_is_outside_itself() -> None:
    test = {"dye": "fluorescein", "code": "bayville"}
    told = approval("dye_test", FROM, TO, followed=done("told", FROM - 1), **test)
    late = approval("dye_test", FROM, TO, followed=done("told", FROM + 1), **test)
    assert "not_told" not in [why for _, _, why in outside("bayville", told)]
    assert (FROM, TO, "not_told") in outside("bayville", late)


def test_a_lost_exemption_is_outside_from_the_determination_on() -> None:
    spring = approval("exempt", FROM - 90 * DAY, None, source="springs", plan="plan 4", code="horseheads")
    lost = approval("determination", FROM, None, source="springs", finding="ammonia", code="horseheads")
    other = approval("determination", FROM, None, source="irrigation water", finding="x", code="horseheads")
    assert outside("horseheads", spring) == []
    assert outside("horseheads", spring, other) == []
    assert outside("horseheads", lost, spring) == outside("horseheads", spring, lost)
    assert outside("horseheads", spring, lost) == [(FROM, FOREVER, "exemption_lost")]


def test_a_connection_is_outside_from_the_end_of_its_permit_to_the_next() -> None:
    form = {"type": "permitted discharge", "means": "the officer's form", "code": "bayville"}
    first = approval("connection_permit", FROM, None, state_permit_until_us=TO, **form)
    again = approval("connection_permit", TO + DAY, None, state_permit_until_us=TO + 90 * DAY, **form)
    assert outside("bayville", first) == [(TO, FOREVER, "permit_ended")]
    assert outside("bayville", first, again) == [
        (TO, TO + DAY, "permit_ended"),
        (TO + 90 * DAY, FOREVER, "permit_ended"),
    ]


def test_proof_that_is_asked_for_opens_the_gate() -> None:
    permit = {"permit": "NY1", "activity": "industrial", "proof_asked": True, "code": "north_castle"}
    assert outside("north_castle", approval("state_permit", FROM, None, **permit)) == [(FROM, FOREVER, "no_proof")]
    proven = approval("state_permit", FROM, None, followed=done("proof", TO), **permit)
    assert outside("north_castle", proven) == [(FROM, TO, "no_proof")]


_SPANS = st.lists(
    st.tuples(st.sampled_from(["discharge", "dye_test", "suspension"]), st.integers(0, 40), st.integers(1, 20)),
    max_size=5,
)


@settings(max_examples=60)
@given(spans=_SPANS, order=st.randoms(use_true_random=False))
def test_what_is_covered_is_never_outside_and_the_order_of_rows_says_nothing(spans: Any, order: Any) -> None:
    fields = {
        "discharge": {"what": "x", "means": "in writing"},
        "dye_test": {"dye": "x", "followed": done("told", 0)},
        "suspension": {"reason": "x"},
    }
    rows = [
        approval(kind, FROM + start * DAY, FROM + (start + length) * DAY, code="hillburn", **fields[kind])
        for kind, start, length in spans
    ]
    book = Book(rows, load_profile("hillburn"), WHERE, SITE)
    shuffled = list(rows)
    order.shuffle(shuffled)
    again = Book(shuffled, load_profile("hillburn"), WHERE, SITE)
    assert (book.allowed(), book.outside()) == (again.allowed(), again.outside())
    for one in book.outside():
        assert one.why in WHY
        covered = [each for each in book.allowed() if each.start_us < one.end_us and one.start_us < each.end_us]
        assert not covered  # nothing is covered while barred, nor is what is covered outside


def test_the_first_instant_that_marks_differ_is_found() -> None:
    before = [((0, 10), "a"), ((20, 30), "b")]
    assert first_difference_us(before, before) is None
    assert first_difference_us(before, [((0, 12), "a"), ((20, 30), "b")]) == 10
    assert first_difference_us(before, [*before, ((5, 8), "c")]) == 5
    assert first_difference_us([], before) == 0


# ---- hours


def seen(flows: Sequence[float | None]) -> tuple[list[Hour], list[Judgement]]:
    hours = [Hour(n * HOUR_US, samples=12, flow_m3_s=flow, high_m3_s=flow) for n, flow in enumerate(flows)]
    evidence = Evidence(80, True, 0, 0.0)
    return hours, [Judgement(hour.start_us, "base_flow", 1.0, evidence) for hour in hours]


def test_hours_without_readings_or_without_water_are_no_flow_and_only_whole_hours_count() -> None:
    one = Outside(HOUR_US // 2, 7 * HOUR_US, "suspended", "x", "order 3")
    (found,) = barred(*seen([0.01, None, 0.01, 0.0, 0.00001, 0.02, 0.01, 0.01]), [one])
    assert (found.start_us, found.end_us, found.hours) == (2 * HOUR_US, 7 * HOUR_US, 3)
    assert found.high_m3_s == 0.02
    assert list(barred(*seen([0.01] * 8), [one._replace(why="after_end")])) == []
    assert {"suspended", "terminated"} == set(BARRED)


def test_flow_a_day_apart_is_another_matter() -> None:
    one = Outside(0, 90 * HOUR_US, "suspended", "x", "order 3")
    flows = [0.01] + [0.0] * 23 + [0.01] + [0.0] * 24 + [0.01]
    assert [found.hours for found in barred(*seen(flows), [one])] == [2, 1]
