"""Cases of suspected discharges: from readings to the clocks of two codes, late data, and who may bring about what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headwall.cases import steps
from headwall.cases.kinds import KINDS
from headwall.cases.running import clocks_of
from headwall.cases.states import ENDED, MOVES, STATES, WITHOUT_A_PERSON
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import cases, log_book
from headwall.ledger.cases import Case
from headwall.registry import Registry
from hypothesis import given, settings
from hypothesis import strategies as st
from support.case_town import local, shown
from support.outfall_house import DAY, PULSE, SITE, START, OutfallHouse, outfall_registry, quiet
from support.rules_house import HOUR, MINUTE, at


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return outfall_registry(tmp_path)


@pytest.fixture
def house(registry: Registry) -> Iterator[OutfallHouse]:
    made = OutfallHouse(registry)
    yield made
    made.close()


def found(house: OutfallHouse) -> list[Case]:
    with house.ledger.read() as conn:
        return cases.listed(conn)


def take(house: OutfallHouse, action: str, when: str = "", number: int = 1, by: str = "Olive", **given_: Any) -> Case:
    done_us = local(when) if when else house.clock.now
    with house.ledger.begin() as conn:
        told = steps.Told(by, done_us, **given_)
        return steps.take(conn, house.registry, number, action, told, now_us=house.clock.now)


def timeline(house: OutfallHouse, case: Case) -> dict[str, tuple[str, str, str]]:
    """clause and clock → (strict, lenient, what counts)"""
    with house.ledger.read() as conn:
        running = clocks_of(steps.code_of(conn, house.registry, case), case)
    return {
        f"{each.clock.provision} {each.clock.name}": (
            shown(each.clock.strict_us),
            shown(each.clock.lenient_us),
            shown(each.clock.taken_us),
        )
        for each in running
    }


def records(house: OutfallHouse) -> list[log_book.Row]:
    with house.ledger.read() as conn:
        assert log_book.verify(conn) is None
        return [row for row in log_book.rows(conn) if row.kind.startswith("case_")]


# --- what readings do ---


def test_a_suspicion_makes_one_case_that_nobody_has_judged(house: OutfallHouse) -> None:
    house.feed(quiet(10, [PULSE]), every=500)
    (case,) = found(house)
    (notice,) = house.notices("suspected_discharge")
    assert (case.state, case.site, case.municipality, case.notice) == ("suspected", SITE, "elmsford", notice.key)
    assert (case.from_us, case.until_us, case.historical) == (PULSE[0], PULSE[1], False)
    assert [(step.action, step.by) for step in case.steps] == [("open", "headwall")]
    assert [(row.kind, row.by, row.body["case"]) for row in records(house)] == [("case_open", "headwall", 1)]


def test_quiet_flow_makes_no_case(house: OutfallHouse) -> None:
    house.feed(quiet(10))
    assert found(house) == []


def test_an_episode_that_grows_and_a_restart_keep_their_one_case(registry: Registry) -> None:
    house = OutfallHouse(registry)
    readings = quiet(11, [(PULSE[0], PULSE[0] + 30 * HOUR, 0.012)])
    half = next(n for n, each in enumerate(readings) if each[2] > PULSE[0] + 4 * HOUR)
    house.feed(readings[:half])
    (before,) = found(house)
    house.new_engine()
    house.feed(readings[half:])
    (after,) = found(house)
    assert (after.id, after.notice) == (before.id, before.notice)
    assert after.until_us > before.until_us
    assert len(after.steps) == 1
    house.close()


def test_late_and_shuffled_readings_leave_the_cases_that_those_on_time_do(registry: Registry) -> None:
    readings = quiet(11, [PULSE, (START + 9 * DAY + 14 * HOUR, START + 9 * DAY + 15 * HOUR, 0.02)])
    ends = []
    for seed in range(3):
        house = OutfallHouse(registry)
        house.feed_late(readings, seed)
        open_ = [each for each in found(house) if each.state not in ENDED]
        ends.append(sorted((each.state, each.from_us, each.until_us) for each in open_))
        house.close()
    assert len(ends[0]) == 2
    assert ends[1:] == [ends[0]] * 2


def rain_before(pulse_us: int) -> list[tuple[str, str, int, float]]:
    return [("board-a", "rain.tips", pulse_us - HOUR + n * MINUTE, 1.0) for n in range(30)]


def test_a_suspicion_taken_back_before_anybody_looked_ends_its_case(house: OutfallHouse) -> None:
    house.feed(quiet(10, [PULSE]))
    house.feed(rain_before(PULSE[0]))
    (case,) = found(house)
    assert case.state == "taken_back"
    assert [(step.action, step.by) for step in case.steps][-1] == ("take_back", "headwall")


@pytest.mark.parametrize(
    ("action", "note", "state"),
    [("note", "called the owner", "suspected"), ("review", "", "under_review"), ("confirm", "dye seen", "confirmed")],
)
def test_late_data_closes_no_case_that_a_person_has_looked_at(
    house: OutfallHouse, action: str, note: str, state: str
) -> None:
    house.feed(quiet(10, [PULSE]))
    take(house, action, note=note)
    house.feed(rain_before(PULSE[0]))
    (case,) = found(house)
    assert case.state == state
    assert (case.steps[-1].action, case.steps[-1].to_state) == ("say_taken_back", state)


def test_what_is_found_again_is_the_same_case(house: OutfallHouse) -> None:
    """Rain explains it until the gauge's tips are found to be a test of the gauge."""
    house.feed(quiet(10, [PULSE]))
    rain = rain_before(PULSE[0])
    house.feed(rain)
    house.flag(rain[0][2], rain[-1][2] + 1, 4)
    house.judge()
    (case,) = found(house)
    assert case.state == "suspected"
    assert [step.action for step in case.steps] == ["open", "take_back", "find_again"]


def test_a_case_that_a_person_opened_is_the_one_of_the_suspicion_that_comes_later(house: OutfallHouse) -> None:
    readings = quiet(10, [PULSE])
    house.feed([each for each in readings if each[2] < PULSE[0]])
    house.clock.now = PULSE[0] + HOUR
    with house.ledger.begin() as conn:
        seen = {"kind": "suspected_discharge", "by": "Olive", "seen_us": house.clock.now, "note": "grey water"}
        steps.open_by_person(conn, house.registry, SITE, **seen, now_us=house.clock.now)
    house.feed([each for each in readings if each[2] >= PULSE[0]])
    (case,) = found(house)
    assert case.notice is not None
    assert [step.action for step in case.steps] == ["open", "say_found_again"]


# --- the codes' clocks ---

_OF_BOTH = [
    ("confirm", "06-09 14:00", {"note": "grey water, dye test"}),
    ("serve", "06-10 11:00", {"means": "certified mail"}),
    ("appeal", "06-12 10:00", {}),
    ("hear", "06-16 10:00", {}),
    ("decide", "06-16 15:00", {"outcome": "upheld", "times": {"copied": local("06-17 10:00")}}),
    ("abate", "06-25 12:00", {"outcome": "municipality"}),
    ("cost", "06-26 10:00", {"times": {"cost_received": local("07-01 12:00")}}),
]
#: what is told of the notice and of the appeal, which both codes need in part
_TOLD = {
    "serve": {"dated": local("06-09 15:00"), "issued": local("06-10 09:00"), "correct_by": local("06-30 16:30")},
    "appeal": {"received": local("06-15 09:30")},
}
#: June 19 (a Friday) is a holiday, June 21, July 5 and 12 are Sundays, July 4 is a Saturday
_CLOCKS = {
    "elmsford": {
        "elmsford-288-28-appeal file": ("06-19 16:30", "06-23 00:00", "06-23 00:00"),
        "elmsford-288-28-appeal hear": ("06-30 16:30", "07-01 00:00", "06-30 16:30"),
        "elmsford-288-29-corrective correct": ("06-26 16:30", "06-27 00:00", "06-27 00:00"),
        "elmsford-288-29-corrective request_from": ("06-27 00:00", "06-27 00:00", "06-27 00:00"),
        "elmsford-288-30-costs lien": ("06-23 00:00", "07-14 00:00", "07-14 00:00"),
        "elmsford-288-30-costs tell": ("07-05 16:30", "07-07 00:00", "07-05 16:30"),
        "elmsford-288-30-costs protest": ("07-05 16:30", "07-14 00:00", "07-14 00:00"),
        "elmsford-288-30-costs interest": ("06-19 00:00", "07-11 00:00", "07-11 00:00"),
    },
    "hillburn": {
        "hillburn-192-21-appeal file": ("06-25 16:30", "06-26 00:00", "06-26 00:00"),
        "hillburn-192-21-appeal hear": ("07-12 16:30", "07-14 00:00", "07-12 16:30"),
        "hillburn-192-21-appeal serve": ("06-21 16:30", "06-23 00:00", "06-21 16:30"),
        "hillburn-192-22-corrective correct": ("06-24 16:30", "06-25 00:00", "06-25 00:00"),
        "hillburn-192-22-corrective request_from": ("06-25 00:00", "06-25 00:00", "06-25 00:00"),
    },
}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request: pytest.FixtureRequest) -> str:
    return "sqlite://" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.mark.parametrize("code", _CLOCKS)
def test_the_same_events_run_the_clocks_of_each_code(tmp_path: Path, url: str, code: str) -> None:
    house = OutfallHouse(outfall_registry(tmp_path, code), url=url)
    house.feed(quiet(10, [PULSE]))
    house.clock.now = local("07-20 09:00")
    (case,) = found(house)
    for action, when, more in _OF_BOTH:
        told = {**more, "times": {**more.get("times", {}), **_TOLD.get(action, {})}}
        case = take(house, action, when, **told)
    assert case.state == "abated"
    assert timeline(house, case) == _CLOCKS[code]
    assert take(house, "close", "07-20 08:00", note="paid").state == "closed"
    kinds = ["open", "confirm", "serve", "appeal", "hear", "decide", "abate", "cost", "close"]
    assert [row.kind for row in records(house)] == [f"case_{each}" for each in kinds]
    assert [row.by for row in records(house)] == ["headwall", *["Olive"] * 8]
    house.close()


def confirmed(house: OutfallHouse) -> None:
    house.feed(quiet(10, [PULSE]))
    house.clock.now = local("07-20 09:00")
    take(house, "confirm", "06-09 14:00", note="dye test")


def test_nothing_runs_before_the_notice_is_served(house: OutfallHouse) -> None:
    confirmed(house)
    assert timeline(house, found(house)[0]) == {}


@pytest.mark.parametrize(("code", "wants", "other"), [("elmsford", "dated", "issued"), ("hillburn", "issued", "dated")])
def test_a_code_asks_for_the_instant_that_it_counts_from(tmp_path: Path, code: str, wants: str, other: str) -> None:
    house = OutfallHouse(outfall_registry(tmp_path, code))
    confirmed(house)
    told = {wants: local("06-10 09:00"), other: local("06-10 09:00")}
    with pytest.raises(InputError, match=f"counts from when it was {wants}; write --{wants}"):
        take(house, "serve", "06-10 11:00", means="mail", times={other: told[other]})
    case = take(house, "serve", "06-10 11:00", means="mail", times={wants: told[wants]})
    assert case.state == "notice_served"
    house.close()


def test_a_step_entered_again_moves_the_clocks_that_it_had_set(house: OutfallHouse) -> None:
    confirmed(house)
    take(house, "serve", "06-10 11:00", times={"dated": local("06-10 09:00"), "correct_by": local("07-01 09:00")})
    case = take(house, "serve", "06-11 11:00", note="a wrong date", times={"dated": local("06-11 09:00")})
    assert timeline(house, case) == {"elmsford-288-28-appeal file": ("06-21 16:30", "06-23 00:00", "06-23 00:00")}
    over = {each.name: each.taken_us is None for each in case.steps[-1].clocks}
    assert over == {"file": False, "correct_by": True, "request_from": True}


def test_a_notice_that_was_set_aside_leaves_nothing_to_correct(house: OutfallHouse) -> None:
    confirmed(house)
    take(house, "serve", "06-10 11:00", times={"dated": local("06-10 09:00")})
    take(house, "appeal", "06-12 10:00", times={"received": local("06-12 10:00")})
    case = take(house, "decide", "06-16 15:00", outcome="upheld")
    assert "elmsford-288-29-corrective correct" in timeline(house, case)
    case = take(house, "decide", "06-16 15:00", outcome="set_aside", note="entered wrongly")
    assert "elmsford-288-29-corrective correct" not in timeline(house, case)
    for action, outcome in (("abate", "owner"), ("correct", "")):
        with pytest.raises(InputError, match="set aside"):
            take(house, action, "06-20 10:00", outcome=outcome)
    take(house, "hear", "06-16 14:00")  # entered after the decision; till then it is owed
    assert take(house, "close", "06-20 10:00", note="set aside").state == "closed"


def test_an_owner_who_abates_owes_no_cost(house: OutfallHouse) -> None:
    confirmed(house)
    take(house, "serve", "06-10 11:00", times={"dated": local("06-10 09:00")})
    case = take(house, "abate", "06-15 11:00", outcome="owner")
    assert list(timeline(house, case)) == ["elmsford-288-28-appeal file"]


# --- who may bring about what ---


def test_a_note_never_changes_a_state(house: OutfallHouse) -> None:
    house.feed(quiet(10, [PULSE]))
    assert take(house, "note", note="seen").state == "suspected"


@pytest.mark.parametrize("by", ["", "  ", "headwall", "Headwall "])
@pytest.mark.parametrize("action", [name for name, move in MOVES.items() if move.by_person])
def test_a_step_of_a_person_needs_a_name(registry: Registry, action: str, by: str) -> None:
    house = OutfallHouse(registry)
    with house.ledger.begin() as conn:
        opened_ = {"kind": "suspected_discharge", "by": "Olive", "seen_us": START, "note": "x", "now_us": START}
        steps.open_by_person(conn, registry, SITE, **opened_)
    with pytest.raises(InputError, match="name of the person"):
        take(house, action, note="x", by=by)
    assert len(found(house)[0].steps) == 1
    house.close()


def test_nobody_opens_a_case_without_a_name_or_at_no_site(house: OutfallHouse) -> None:
    opened_ = {"kind": "suspected_discharge", "seen_us": START, "note": "x", "now_us": START}
    with house.ledger.begin() as conn:
        with pytest.raises(InputError, match="name of the person"):
            steps.open_by_person(conn, house.registry, SITE, by=" ", **opened_)
        with pytest.raises(UnknownThingError):
            steps.open_by_person(conn, house.registry, "nowhere", by="Olive", **opened_)
    assert found(house) == []


@pytest.mark.parametrize(
    ("action", "given_", "says"),
    [
        ("confirm", {}, "needs its reason"),
        ("dismiss", {"note": " "}, "needs its reason"),
        ("note", {}, "needs its reason"),
        ("serve", {}, "is a step from confirmed, notice served, in correction"),
        ("decide", {"outcome": "upheld"}, "is a step from appealed, decided"),
        ("close", {"note": "done"}, "is a step from confirmed"),
        ("review", {"times": {"issued": START}}, "review tells no issued"),
        ("review", {"when": "12-31 09:00"}, "in the future"),
        ("take_back", {}, "no step of a person"),
    ],
)
def test_a_step_that_cannot_be_taken_says_why(
    house: OutfallHouse, action: str, given_: dict[str, Any], says: str
) -> None:
    house.feed(quiet(10, [PULSE]))
    with pytest.raises(InputError, match=says):
        take(house, action, **given_)
    assert len(found(house)[0].steps) == 1


def test_a_step_comes_not_before_the_one_it_follows(house: OutfallHouse) -> None:
    confirmed(house)
    with pytest.raises(InputError, match="cannot have been done before"):
        take(house, "serve", "06-09 13:59", times={"dated": local("06-09 13:00")})


def test_a_decision_and_an_abatement_need_their_outcome(house: OutfallHouse) -> None:
    confirmed(house)
    take(house, "serve", "06-10 11:00", times={"dated": local("06-10 09:00")})
    with pytest.raises(InputError, match="one of owner, municipality"):
        take(house, "abate", outcome="upheld")


def test_every_state_is_reached_and_every_step_leads_to_one() -> None:
    assert {move.to for move in MOVES.values()} - {None} == set(STATES)
    for name, move in MOVES.items():
        assert move.after <= set(STATES), name
        assert move.by_person or move.to is None or move.to in WITHOUT_A_PERSON, name


_DETAILS = {"to": "dispatch", "step": "2", "payments": "3"}
_WHO = st.sampled_from(["", " ", "headwall", "Olive"])
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(sorted(MOVES)),
        _WHO,
        st.sampled_from(sorted({"", *(outcome for move in MOVES.values() for outcome in move.outcomes)})),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutfallHouse]:
    made = OutfallHouse(outfall_registry(tmp_path_factory.mktemp("walked")))
    yield made
    made.close()


@settings(max_examples=150)
@given(kind=st.sampled_from(sorted(KINDS)), walk=_STEPS)
def test_no_way_leads_to_a_persons_state_without_a_name(
    walked: OutfallHouse, kind: str, walk: list[tuple[Any, ...]]
) -> None:
    house, now_us = walked, START
    with house.ledger.begin() as conn:
        opened_ = {"kind": kind, "municipality": "elmsford", "site": SITE, "notice": None}
        opened_ |= {"historical": False, "span": (now_us, now_us), "now_us": now_us}
        number = steps.opened(conn, **opened_).id
        for action, by, outcome, told in walk:
            times = {"serve": {"dated": now_us}, "appeal": {"received": now_us}}.get(action, {}) if told else {}
            times |= {"first_payment": now_us} if action == "instalments" else {}
            details = {name: _DETAILS[name] for name in MOVES[action].needs} if told else {}
            given_ = {"note": "because", "means": "telephone", "outcome": outcome, "details": details}
            given_ |= {"times": times, "done_us": now_us}
            try:
                if by == "headwall":
                    steps.by_gateway(conn, cases.case(conn, number), action, note="", now_us=now_us)
                else:
                    steps.take(conn, house.registry, number, action, steps.Told(by, **given_), now_us=now_us)
            except InputError:
                continue
        case = cases.case(conn, number)
        assert log_book.verify(conn) is None
    state = ""
    for step in case.steps:
        assert step.from_state == state
        state = step.to_state
        if step.to_state != step.from_state and step.to_state not in WITHOUT_A_PERSON:
            assert step.by == "Olive", step
    assert case.state == state


def test_the_book_of_cases_names_who_wrote_and_hides_notes_apart(house: OutfallHouse) -> None:
    house.feed(quiet(10, [PULSE]))
    take(house, "note", note="Mr. Smith was there")
    row = records(house)[-1]
    assert (row.by, row.personal) == ("Olive", {"note": "Mr. Smith was there"})
    assert "Smith" not in str(row.body)
    assert at("2026-06-01 04:00") == START
