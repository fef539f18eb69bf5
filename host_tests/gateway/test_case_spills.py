"""Spills: who is to be told under each code, by when, what starts the clocks, and what a logged call answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from headwall.errors import InputError
from hypothesis import given, settings
from hypothesis import strategies as st
from support.case_town import CaseTown, shown

#: a Friday after the office has closed; the Monday after it is Columbus Day
KNOWN = "10-09 17:30"
Make = Callable[[str], CaseTown]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(code: str) -> CaseTown:
        town = CaseTown(tmp_path, code)
        town.open("spill", KNOWN)
        return town

    return made


AT_ONCE = {"hazardous_call": "10-09 17:30", "hotline": "10-09 19:30"}
NEXT_DAY = "10-13 16:30"
#: code → clocks of a hazardous release, and whom the last of them still wants told
HAZARDOUS = {
    "hillburn": (AT_ONCE, {"hazardous_call": ["dispatch", "municipality", "ms4"]}),
    "bayville": (AT_ONCE, {"hazardous_call": ["dispatch", "smo", "police", "clerk"]}),
    "elmsford": (AT_ONCE, {"hazardous_call": ["dispatch"]}),
    "north_castle": (AT_ONCE, {"hazardous_call": ["dispatch"]}),
    "horseheads": (
        AT_ONCE | {"hazardous_notice": NEXT_DAY},
        {"hazardous_call": ["dispatch"], "hazardous_notice": ["village"]},
    ),
}
NONHAZARDOUS = {
    "hillburn": ["municipality", "ms4"],
    "bayville": ["smo"],
    "elmsford": ["agency"],
    "north_castle": ["town"],
    "horseheads": ["village"],
}


@pytest.mark.parametrize("code", HAZARDOUS)
def test_a_hazardous_release_is_told_to_whom_the_code_names_and_to_the_hotline(make: Make, code: str) -> None:
    town, (due, to_tell) = make(code), HAZARDOUS[code]
    town.take("classify", KNOWN, outcome="hazardous")
    assert town.due() == due
    told = {name: [party.id for party in each.to_tell] for name, each in town.running().items()}
    assert told == {**to_tell, "hotline": ["hotline"]}
    for party in {party for parties in told.values() for party in parties}:
        town.call(party, "10-09 17:40")
    assert {name for name, each in town.running().items() if each.met_us is None} <= {"confirmation"}


@pytest.mark.parametrize("code", NONHAZARDOUS)
def test_another_release_is_told_by_the_next_business_day_and_confirmed_within_three(make: Make, code: str) -> None:
    town, parties = make(code), NONHAZARDOUS[code]
    town.take("classify", KNOWN, outcome="nonhazardous")
    assert town.due() == {"hotline": "10-09 19:30", "notice": NEXT_DAY}
    for party in parties:
        assert town.running()["notice"].met_us is None
        town.call(party, "10-13 09:00")
    assert shown(town.running()["notice"].met_us) == "10-13 09:00"
    assert town.due()["confirmation"] == "10-16 16:30"
    town.take("confirm_written", "10-15 12:00", means="mail")
    assert shown(town.running()["confirmation"].met_us) == "10-15 12:00"


def test_until_a_person_says_what_it_is_both_ways_are_timed(make: Make) -> None:
    town = make("horseheads")
    assert set(town.due()) == {"hazardous_call", "hazardous_notice", "notice", "hotline"}
    assert "Nobody has said whether it is hazardous" in town.advice()


def test_knowledge_that_was_earlier_than_what_was_entered_moves_every_clock(make: Make) -> None:
    town = make("bayville")
    town.call("smo", "10-09 18:00")
    assert (town.due()["notice"], town.due()["hotline"]) == (NEXT_DAY, "10-09 19:30")
    town.take("know", "10-08 23:50")
    assert (town.due()["notice"], town.due()["hotline"]) == ("10-09 16:30", "10-09 01:50")
    assert town.due()["confirmation"] == "10-15 16:30"  # of the call, which has not moved


def test_the_municipality_may_let_the_alarm_or_the_confirmation_start_the_clocks(tmp_path: Path) -> None:
    dues = {}
    for reading in ("acknowledged", "alarm", "confirmed"):
        folder = tmp_path / reading
        folder.mkdir()
        town = CaseTown(folder, "elmsford")
        town.choose("spill.knowledge", reading)
        town.open("suspected_discharge", "10-07 09:00")
        town.now += 1
        town.open("spill", KNOWN, alarm="1")
        dues[reading, "before"] = town.due(2).get("hotline", "")
        town.take("confirm", "10-10 08:00", number=2)
        dues[reading, "after"] = town.due(2)["hotline"]
    assert dues == {
        ("acknowledged", "before"): "10-07 11:00",  # who opened the alarm's case knew of it
        ("acknowledged", "after"): "10-07 11:00",
        ("alarm", "before"): "10-07 11:00",
        ("alarm", "after"): "10-07 11:00",
        ("confirmed", "before"): "",
        ("confirmed", "after"): "10-10 10:00",
    }


def test_an_alarm_nobody_acknowledged_starts_nothing_unless_the_municipality_reads_it_so(tmp_path: Path) -> None:
    """The alarm came an hour before a person opened anything."""
    for reading, due in (("acknowledged", "10-09 19:30"), ("alarm", "10-09 10:00")):
        folder = tmp_path / reading
        folder.mkdir()
        town = CaseTown(folder, "elmsford")
        town.choose("spill.knowledge", reading)
        town.alarm("10-09 08:00")
        town.open("spill", KNOWN, alarm="1")
        assert town.due(2)["hotline"] == due


def test_a_fax_needs_no_confirmation_and_one_is_advised(make: Make) -> None:
    town = make("elmsford")
    town.take("classify", KNOWN, outcome="nonhazardous")
    town.call("agency", "10-13 09:00", means="fax")
    assert "confirmation" not in town.due()
    assert "needs no confirmation by the text; one to the Building Inspector is advised" in town.advice()


@pytest.mark.parametrize(
    ("reading", "due"), [("first_notice", "10-16 16:30"), ("telephone_notice", "")], ids=["any", "telephone"]
)
def test_a_notice_in_person_starts_the_confirmation_as_the_municipality_reads_it(
    make: Make, reading: str, due: str
) -> None:
    town = make("north_castle")
    town.choose("spill.confirm_from", reading)
    town.call("town", "10-13 09:00", means="in_person")
    assert town.due().get("confirmation", "") == due


def test_a_call_to_dispatch_or_to_the_hotline_is_no_notice_to_the_municipality(make: Make) -> None:
    town = make("bayville")
    town.call("dispatch", "10-09 17:31")
    town.call("hotline", "10-09 17:40", number="1-800-457-7362")
    assert "confirmation" not in town.due()


@pytest.mark.parametrize(("advised", "told"), [(True, True), (False, False)])
def test_a_local_notice_the_text_does_not_ask_for_is_advised_as_such(make: Make, advised: bool, told: bool) -> None:
    town = make("elmsford")
    town.choose("spill.advise_local_notice", advised)
    town.take("classify", KNOWN, outcome="hazardous")
    line = "Advised, not asked for by the text: tell the authorized enforcement agency too."
    assert (line in town.advice()) is told
    town.call("agency", "10-09 18:00")
    assert line not in town.advice()


def test_where_the_text_asks_for_the_local_notice_it_is_no_advice(make: Make) -> None:
    town = make("horseheads")
    town.take("classify", KNOWN, outcome="hazardous")
    assert "Advised, not asked for" not in town.advice()


@pytest.mark.parametrize(("premises", "asked"), [("commercial", True), ("industrial", True), ("other", False)])
def test_a_commercial_place_keeps_a_record(make: Make, premises: str, asked: bool) -> None:
    town = make("hillburn")
    town.take("classify", KNOWN, outcome="nonhazardous", details={"premises": premises})
    assert ("keeps a record" in town.advice()) is asked
    town.take("site_record", "10-12 09:00")
    assert "keeps a record" not in town.advice()
    assert "is kept at least 3 years" in town.advice()


def test_a_call_stands_in_the_book_and_who_was_reached_beside_it(make: Make) -> None:
    town = make("elmsford")
    town.take(
        "call", "10-09 17:31", means="telephone", details={"to": "dispatch", "reached": "R. Doe", "number": "911"}
    )
    row = town.records()[-1]
    assert (row.kind, row.by, row.body["to"], row.body["means"]) == ("case_call", "Olive", "dispatch", "telephone")
    assert (row.personal or {})["reached"] == "R. Doe"
    assert "R. Doe" not in str(row.body)
    assert "911" not in str(row.body)


def test_a_call_that_nobody_made_is_struck_and_asked_for_again(make: Make) -> None:
    town = make("elmsford")
    town.take("classify", KNOWN, outcome="hazardous")
    case = town.call("dispatch", "10-09 17:35")
    assert town.running()["hazardous_call"].met_us is not None
    town.take("strike", "10-09 18:00", details={"step": str(case.steps[-1].id)})
    assert town.running()["hazardous_call"].met_us is None


@pytest.mark.parametrize(
    ("action", "given_", "says"),
    [
        ("call", {"means": "telephone", "details": {"to": "mayor"}}, "knows no 'mayor' to be told"),
        ("call", {"means": "pigeon", "details": {"to": "dispatch"}}, "a call needs its means"),
        ("call", {"means": "telephone"}, "needs its to"),
        ("classify", {"outcome": "harmless"}, "one of hazardous, nonhazardous"),
        ("strike", {"details": {"step": "99"}}, "has no step 99"),
        ("strike", {"details": {"step": "1"}}, "cannot be struck"),
        ("notify", {}, "notify is a step of a contaminating activity and failing system"),
    ],
)
def test_what_cannot_be_entered_of_a_spill_says_why(
    make: Make, action: str, given_: dict[str, object], says: str
) -> None:
    town = make("elmsford")
    with pytest.raises(InputError, match=says):
        town.take(action, KNOWN, **given_)
    assert len(town.case().steps) == 1


def test_a_spill_closes_by_a_persons_finding_alone(make: Make) -> None:
    town = make("elmsford")
    for party in ("dispatch", "hotline", "agency"):
        town.call(party, "10-09 17:40")
    assert town.case().state == "suspected"
    town.take("confirm", "10-09 18:00", details={"breaks": "elmsford-288-20a1-illicit-discharge"})
    assert town.case().provision == "elmsford-288-20a1-illicit-discharge"
    assert "hotline" in town.due()  # whichever clause is broken, a spill stays one
    with pytest.raises(InputError, match="cannot break 'elmsford-288-34-penalty'"):
        town.take("confirm", "10-09 18:00", details={"breaks": "elmsford-288-34-penalty"})


_CALLS = [
    ("call", "10-09 18:10", {"means": "telephone", "details": {"to": "smo"}}),
    ("call", "10-09 17:50", {"means": "in_person", "details": {"to": "smo"}}),
    ("call", "10-09 18:20", {"means": "telephone", "details": {"to": "police"}}),
    ("call", "10-12 09:00", {"means": "fax", "details": {"to": "clerk"}}),
    ("know", "10-09 09:00", {}),
    ("classify", "10-09 19:00", {"outcome": "hazardous"}),
]


@pytest.fixture(scope="module")
def bayville(tmp_path_factory: pytest.TempPathFactory) -> CaseTown:
    return CaseTown(tmp_path_factory.mktemp("bayville"), "bayville")


@settings(max_examples=25)
@given(order=st.permutations(_CALLS))
def test_in_whatever_order_calls_are_entered_the_clocks_end_alike(
    bayville: CaseTown, order: list[tuple[str, str, dict[str, object]]]
) -> None:
    number = bayville.open("spill", KNOWN).id
    for action, when, given_ in order:
        bayville.take(action, when, number=number, **given_)
    assert {
        name: (shown(each.clock.taken_us), shown(each.met_us)) for name, each in bayville.running(number).items()
    } == {
        "hazardous_call": ("10-09 09:00", ""),  # dispatch was never called
        "hotline": ("10-09 11:00", ""),
        "confirmation": ("10-15 16:30", ""),
    }


def test_whom_the_code_still_wants_told_is_named_as_a_call_is_entered(make: Make) -> None:
    town = make("hillburn")
    town.open("spill", "10-09 17:30")
    assert "(--to hotline)" in town.advice()
    for to in re.findall(r"--to (\w+)", town.advice()):
        town.call(to, "10-09 17:35")
    town.take("classify", "10-09 17:40", outcome="hazardous")
    assert "--to" not in town.advice()
