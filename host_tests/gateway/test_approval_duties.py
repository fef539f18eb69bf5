"""What the register makes due under each code: by when, answered by which step, and the same in whatever order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from headwall.law.profile import Profile, load_profile, parse_profile
from headwall.ledger import approvals, entries
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.rules.approvals import checked
from headwall.rules.clauses import PLANNERS, Expected, Look
from hypothesis import given, settings
from hypothesis import strategies as st
from support.place_house import place
from support.profile_text import profile_text
from support.rules_house import HOUR, at

SITE = "outfall-7"
START = at("2026-06-12 12:00")  # a Friday, 8 in the morning
END = at("2026-06-16 20:00")
DAY = 24 * HOUR
WHO = {"holder": "Brook Water Co.", "granted_by": "Olive Officer", "reference": "letter 12"}


class Desk:
    """A register under one code, and what it makes due."""

    def __init__(self, registry: Registry, profile: Profile) -> None:
        self.registry, self.profile = registry, profile
        self.where = registry.zone("elmsford")
        self.ledger = Ledger.open("sqlite://")
        self.now_us = START

    def add(
        self, kind: str, from_us: int = START, to_us: int | None = None, *, site: str | None = SITE, **f: Any
    ) -> int:
        found = checked(self.profile, self.where, kind, {**WHO, **f}, from_us, to_us)
        span = {"from_us": from_us, "to_us": to_us}
        with self.ledger.begin() as conn:
            made = approvals.add_approval(
                conn, found.body, municipality="elmsford", site=site, **span, by="R", now_us=self.now_us
            )
        assert made is not None
        return made.id

    def step(self, name: str, at_us: int, by: str = "Brook Water Co.", *, kind: str = "", **more: str) -> int:
        """Of the newest row that has such a step, of a kind if told."""
        followed = approvals.Followed(step=name, at_us=at_us, by=by, **more)
        with self.ledger.begin() as conn:
            number = self._newest(
                conn, lambda row: row.kind == kind or (not kind and name in approvals.STEPS.get(row.kind, {}))
            )
            return approvals.add_step(conn, number, followed, by="R", now_us=self.now_us).id

    def end(self, at_us: int, kind: str, by: str = "Olive Officer") -> int:
        with self.ledger.begin() as conn:
            number = self._newest(conn, lambda row: row.kind == kind)
            said = {"at_us": at_us, "reason": "over", "ended_by": by, "by": "R", "now_us": self.now_us}
            return approvals.end_approval(conn, number, **said).id

    def _newest(self, conn: Any, wanted: Callable[[approvals.Approval], bool]) -> int:
        rows = approvals.of_site(conn, "elmsford", SITE)
        return max(row.id for row in rows if wanted(row))

    def expected(self, now_us: int | None = None) -> list[Expected]:
        with self.ledger.read() as conn:
            site = self.registry.require_site(SITE)
            look = Look(conn, self.registry, self.profile, site, self.now_us if now_us is None else now_us)
            return [
                each
                for provision in self.profile.provisions
                if provision.kind in approvals_kinds()
                for each in PLANNERS[provision.kind](look, provision)
            ]

    def due(self, **query: Any) -> dict[str, int | None]:
        """Name of the clock (or kind of the clause) → when it is due, of what is open."""
        found = {}
        for each in self.expected(**query):
            if each.done is None and not each.gone and not each.advice:
                due_us = None
                if each.name:
                    deadline = each.provision.deadline(each.name)
                    due_us = self.profile.due(each.provision, deadline, each.starts, self.where).taken_us
                found[each.name or each.provision.kind] = due_us
        return found


def approvals_kinds() -> set[str]:
    return {kind for kind, planner in PLANNERS.items() if planner.__module__.endswith("clauses.approvals")}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return place(tmp_path_factory.mktemp("place"), "stage.level", "")


@pytest.fixture
def under(registry: Registry) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(code: str, choice: str = "") -> Desk:
        profile = load_profile(code) if not choice else parse_profile(profile_text(code) + choice, code)
        made.append(Desk(registry, profile))
        return made[-1]

    yield make
    for each in made:
        each.ledger.close()


CODES = ("bayville", "elmsford", "hillburn", "horseheads", "north_castle")


@pytest.mark.parametrize("code", CODES)
def test_notice_of_a_dye_test_is_due_at_its_beginning_and_answered_by_the_call(
    under: Callable[..., Desk], code: str
) -> None:
    desk = under(code)
    desk.add("dye_test", START, END, dye="fluorescein")
    assert desk.due() == {"notice": START}
    assert desk.due(now_us=END + DAY) == {"notice": START}  # a test that nobody told stays shown
    desk.step("told", START - HOUR)
    (notice,) = [each for each in desk.expected() if each.name == "notice"]
    assert notice.done is not None
    assert (notice.done.at_us, notice.done.by) == (START - HOUR, "Brook Water Co.")


@pytest.mark.parametrize(
    ("hours", "choice", "advised"), [(23, 24, True), (24, 24, False), (23, 12, False), (1, 0, False)]
)
def test_a_longer_lead_of_a_dye_test_is_advice_by_the_municipalitys_choice(
    under: Callable[..., Desk], hours: int, choice: int, advised: bool
) -> None:
    entry = f'\n[[choice]]\nkey = "dye.lead_h"\nvalue = {choice}\nfrom = 2026-01-01\nby = "O"\nreason = "r"\n'
    desk = under("hillburn", entry)
    desk.add("dye_test", START, END, dye="fluorescein")
    desk.step("told", START - hours * HOUR)
    told = [each for each in desk.expected(now_us=START - HOUR // 2) if each.advice]
    assert bool(told) == advised
    assert all(not each.gone for each in told)
    assert all(each.gone for each in desk.expected(now_us=START) if each.advice)


@pytest.mark.parametrize("code", CODES)
def test_the_end_of_an_approved_time_is_told_two_days_ahead_where_there_is_one(
    under: Callable[..., Desk], code: str
) -> None:
    desk = under(code)
    desk.add("discharge", START, END, what="flood water", means="in writing")
    ahead = [each for each in desk.expected(now_us=END - 49 * HOUR) if each.name == "end"]
    near = [each for each in desk.expected(now_us=END - 48 * HOUR) if each.name == "end"]
    assert ahead == []
    assert [(each.starts, each.advice, each.done) for each in near] == (
        [] if code == "elmsford" else [({"expiry": END}, True, None)]
    )


@pytest.mark.parametrize(
    ("code", "what"),
    [("hillburn", {"file": START, "proof_of_compliance": None}), ("bayville", {}), ("north_castle", {})],
)
def test_a_copy_is_filed_and_proof_given_before_a_permitted_discharge_in_hillburn(
    under: Callable[..., Desk], code: str, what: dict[str, int | None]
) -> None:
    desk = under(code)
    means = {"bayville": "in writing"}.get(code, "")
    desk.add("state_permit", permit="NY0012345", activity="construction", means=means)
    assert desk.due() == what
    if what:
        desk.step("filed", START - HOUR, means="a written copy")
        assert desk.due() == {"proof_of_compliance": None}
        desk.step("proof", START)
        assert desk.due() == {}


def test_proof_is_asked_elsewhere_where_the_officer_has_asked(under: Callable[..., Desk]) -> None:
    desk = under("horseheads")
    desk.add("state_permit", permit="NY0012345", activity="industrial", proof_asked=True)
    (asked,) = desk.expected()
    assert "in a form that the Village accepts" in asked.asks


@pytest.mark.parametrize("code", CODES)
def test_reasons_of_a_suspension_are_due_after_business_days_where_a_code_wants_them(
    under: Callable[..., Desk], code: str
) -> None:
    desk = under(code)
    desk.add("suspension", START, reason="solvent")
    if code == "elmsford":
        assert desk.due() == {}
        return
    assert desk.due() == {"reasons": at("2026-06-17 20:30")}  # three business days, the Wednesday, 16:30
    (reasons,) = desk.expected()
    deadline = reasons.provision.deadline("reasons")
    both = desk.profile.due(reasons.provision, deadline, reasons.starts, desk.where)
    assert both.lenient_us == at("2026-06-18 04:00")  # three business days: Wednesday to its end
    desk.step("reasons", START + DAY, by="Olive Officer", means="in writing")
    assert desk.due() == {}


def test_a_lien_comes_not_before_ten_days_after_its_hearing_and_only_in_hillburn(under: Callable[..., Desk]) -> None:
    for code in ("hillburn", "bayville"):
        desk = under(code)
        desk.add("suspension", START, reason="solvent")
        desk.step("hearing", START + 5 * DAY, by="Olive Officer")
        liens = [each for each in desk.expected() if each.name == "lien"]
        assert [each.starts for each in liens] == ([{"hearing": START + 5 * DAY}] if code == "hillburn" else [])
        assert all(each.advice for each in liens)


@pytest.mark.parametrize("code", CODES)
def test_a_termination_wants_its_reasons_in_writing_and_an_answer_to_a_petition(
    under: Callable[..., Desk], code: str
) -> None:
    desk = under(code)
    desk.add("termination", START, reason="sewage, twice")
    asked = [each.owed_by for each in desk.expected()]
    assert bool(asked) == (code != "elmsford")  # which speaks of neither writing nor reasons
    desk.step("petition", START + DAY)
    petitions = [each for each in desk.expected() if each.occurrence.startswith("petition")]
    assert [each.done for each in petitions] == [None]
    desk.step("denied", START + 2 * DAY, by="Olive Officer")
    (petition,) = [each for each in desk.expected() if each.occurrence.startswith("petition")]
    assert petition.done is not None


def test_connection_work_is_told_two_days_before_its_start_and_before_its_restoration(
    under: Callable[..., Desk],
) -> None:
    desk = under("bayville")
    back = at("2026-11-02 14:00")  # the clocks went back the day before: elapsed hours all the same
    desk.add("connection_work", START, back, what="12 in lateral")
    assert desk.due() == {"start": START - 48 * HOUR, "restoration": back - 48 * HOUR}
    desk.step("start_told", START - 47 * HOUR)
    assert desk.due() == {"restoration": back - 48 * HOUR}


PERMIT = {"type": "permitted discharge", "means": "the officer's form", "state_permit_until_us": END}


def test_a_connection_permit_is_renewed_before_its_earliest_end(under: Callable[..., Desk]) -> None:
    desk = under("bayville")
    desk.add("connection_permit", START, END + DAY, **PERMIT)
    assert desk.due() == {"renew": END}
    desk.add("premises_change", END - DAY, what="owner")
    assert desk.due() == {"renew": END - DAY}
    desk.add("connection_permit", END - 2 * DAY, END + 90 * DAY, **{**PERMIT, "reference": "permit 13"})
    assert "renew" not in {each.name for each in desk.expected() if each.done is None and "letter" in each.occurrence}


@pytest.mark.parametrize("code", ["elmsford", "north_castle"])
def test_a_hold_and_an_order_stand_apart_until_a_named_person_lifts_each(under: Callable[..., Desk], code: str) -> None:
    desk = under(code)
    desk.add("work_hold", reason="no silt fence", correct="set it", means="in writing")
    desk.add("stop_work", reason="no silt fence", correct="set it")
    assert desk.due() == {"work_hold": None, "stop_work": None}
    desk.end(START + DAY, "work_hold")
    assert desk.due() == {"stop_work": None}
    desk.step("work_seen", START + 2 * DAY, by="Otto Operator", kind="stop_work", note="excavator at the north slope")
    seen = [each for each in desk.expected() if each.occurrence.startswith("seen")]
    assert [each.evidence["seen"] for each in seen] == ["excavator at the north slope"]
    for day, work in (("2026-06-13", True), ("2026-06-14", False), ("2026-06-11", True)):
        body = entries.checked(entries.Presence, day=day, work=work)
        with desk.ledger.begin() as conn:
            entries.add_entry(conn, body, subject=SITE, done_us=START, by="Ivan", now_us=START)
    days = [each.occurrence[:18] for each in desk.expected(now_us=START + 3 * DAY) if "work on" in each.occurrence]
    assert days == ["work on 2026-06-13"]
    desk.end(START + 3 * DAY, "stop_work")
    assert {each.done.by for each in desk.expected() if each.done is not None} == {"Olive Officer"}


@pytest.mark.parametrize("code", ["hillburn", "north_castle", "horseheads"])
def test_the_program_is_changed_within_six_months_of_a_tmdl(under: Callable[..., Desk], code: str) -> None:
    desk = under(code)
    desk.add("tmdl", at("2025-08-31 16:00"), site=None, water="Mahwah River", pollutant="phosphorus")
    assert desk.due() == {"change": at("2026-02-28 21:30")}  # the last of February; strictly no Saturday puts it off
    desk.step("met", START, by="Olive Officer")
    assert desk.due() == {}


@pytest.mark.parametrize(
    ("code", "source"), [("elmsford", "irrigation water"), ("bayville", "foundation or footing drains")]
)
def test_a_source_that_is_not_listed_waits_for_a_ruling(under: Callable[..., Desk], code: str, source: str) -> None:
    desk = under(code)
    desk.add("exempt", source=source, condition="sampled")
    assert desk.due() == {"exemptions": None}
    desk.add("exempt", source="springs", condition="sampled")
    assert desk.due() == {"exemptions": None}


STEPS = (
    ("told", START - HOUR, {"means": "in writing"}),
    ("filed", START + HOUR, {"means": "a written copy"}),
    ("proof", START + DAY, {}),
    ("reasons", START + 2 * DAY, {"means": "in writing"}),
    ("cost", START + 2 * DAY, {"note": "120 dollars"}),
    ("cost", START + 3 * DAY, {"note": "80 dollars"}),
    ("hearing", START + 4 * DAY, {}),
)


def plain(found: Sequence[Expected]) -> list[tuple[Any, ...]]:
    """Without the numbers under which rows came to stand."""
    return sorted(
        (
            each.provision.id,
            each.name,
            each.occurrence,
            sorted(each.starts.items()),
            each.asks,
            each.advice,
            each.gone,
            (each.done.at_us, each.done.by) if each.done else (),
        )
        for each in found
    )


@settings(max_examples=15)
@given(order=st.integers(0, 10**6), steps=st.sets(st.integers(0, len(STEPS) - 1)), ends=st.booleans())
def test_entered_in_any_order_the_same_is_due(registry: Registry, order: int, steps: set[int], ends: bool) -> None:
    def entered(shuffle: bool) -> list[tuple[Any, ...]]:
        desk = Desk(registry, load_profile("hillburn"))
        rows: list[Callable[[], int]] = [
            lambda: desk.add("dye_test", START, END, dye="fluorescein"),
            lambda: desk.add("state_permit", permit="NY0012345", activity="industrial"),
            lambda: desk.add("suspension", START, reason="solvent"),
        ]
        after = [lambda n=n: desk.step(STEPS[n][0], STEPS[n][1], **STEPS[n][2]) for n in sorted(steps)]
        after += [lambda: desk.end(START + 5 * DAY, "suspension")] if ends else []
        if shuffle:
            random.Random(order).shuffle(rows)
            random.Random(order + 1).shuffle(after)
        for each in (*rows, *after):
            each()
        found = plain(desk.expected(now_us=END + 30 * DAY))
        desk.ledger.close()
        return found

    assert entered(shuffle=True) == entered(shuffle=False)
