"""`headwall case`: what an officer reads and enters, over a ledger in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.errors import InputError, UnknownThingError
from support.desk import Desk
from support.outfall_house import SITE, folder_with_a_suspicion

BY = ("--by", "Olive Officer")


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose ledger holds one suspicion."""
    return folder_with_a_suspicion(tmp_path_factory.mktemp("fed"))


@pytest.fixture
def desk(fed: Path, tmp_path: Path) -> Iterator[Desk]:
    for name in ("headwall.db", "registry.toml"):
        (tmp_path / name).write_bytes((fed / name).read_bytes())
    yield Desk(tmp_path)


def case(desk: Desk, *arguments: str) -> str:
    return desk.run("case", *arguments)


def serve(desk: Desk) -> str:
    case(desk, "confirm", "1", *BY, "--reason", "dye test", "--at", "2026-06-09 14:00")
    return case(
        desk, "serve", "1", *BY, "--at", "2026-06-10 11:00", "--dated", "2026-06-09 15:00", "--means", "certified mail"
    )


def test_list_and_show_tell_what_was_seen_and_that_a_person_decides(desk: Desk) -> None:
    listed = case(desk, "list")
    assert SITE in listed
    assert "2026-06-09 10:00" in listed
    assert "suspected" in listed
    shown = " ".join(case(desk, "show", "1").split())
    assert "Case 1: suspected discharge at outfall-7, Village of Elmsford" in shown
    assert "Looks like tap water let go at once, as from a hydrant; confidence" in shown
    assert "Dry for: at least" in shown
    assert "§ 288-20A(1)" in shown
    assert "Clocks: none runs yet" in shown
    assert shown.endswith("not a finding and not legal advice. A person decides.")
    assert "911" not in shown  # no spill: the line of one has no place here


def test_a_served_notice_tells_the_clocks_under_both_readings(desk: Desk) -> None:
    told = " ".join(serve(desk).split())
    assert told.startswith("Case 1 (outfall-7): notice served; serve by Olive Officer.")
    assert (
        "notice of appeal: 2026-06-23 00:00 (strict 2026-06-19 16:30, lenient 2026-06-23 00:00; the later counts); "
        "within 10 days from the date of the notice; § 288-28" in told
    )
    listed = " ".join(case(desk, "list").replace("│", " ").split())
    assert "2026-06-23 00:00" in listed
    assert "(passed)" in listed
    assert "notice of appeal" in listed
    told = case(desk, "appeal", "1", *BY, "--at", "2026-06-12 10:00", "--received", "2026-06-23 00:01")
    assert "hear the appeal: " in told
    shown = " ".join(case(desk, "show", "1").split())
    assert "done 2026-06-23 00:01, after its time" in shown


def test_every_step_can_be_entered_and_read_by_scripts(desk: Desk) -> None:
    case(desk, "review", "1", *BY, "--at", "2026-06-09 13:00")
    serve(desk)
    case(desk, "correct", "1", *BY, "--at", "2026-06-11 09:00")
    case(desk, "appeal", "1", *BY, "--at", "2026-06-12 10:00", "--received", "2026-06-12 10:00")
    case(desk, "hear", "1", *BY, "--at", "2026-06-16 10:00")
    case(desk, "decide", "1", "set-aside", *BY, "--at", "2026-06-16 15:00")
    case(desk, "decide", "1", "changed", *BY, "--at", "2026-06-16 15:00", "--copied", "2026-06-17 10:00")
    case(desk, "abate", "1", "municipality", *BY, "--at", "2026-06-25 12:00")
    case(desk, "cost", "1", *BY, "--at", "2026-06-26 10:00", "--received", "2026-07-01 12:00")
    case(desk, "protest", "1", *BY, "--at", "2026-07-02 09:00")
    case(desk, "note", "1", "paid in full", *BY)
    body = json.loads(case(desk, "close", "1", *BY, "--reason", "paid", "--leaves", "settle", "--json"))
    assert body["steps"][-1]["details"] == {"leaves": "settle"}
    assert body["state"] == "closed"
    assert [step["to_state"] for step in body["steps"]] == [
        "suspected", "under_review", "confirmed", "notice_served", "in_correction", "appealed", "appealed", "decided",
        "decided", "abated", "abated", "abated", "abated", "closed",
    ]  # fmt: skip
    met = {each["name"] for each in body["clocks"] if each["met_us"] is not None}
    assert met == {"file", "hear", "correct", "tell", "protest"}
    assert {each["name"] for each in body["clocks"]} - met == {"request_from", "interest"}
    assert json.loads(case(desk, "list", "--json")) == []
    assert [each["id"] for each in json.loads(case(desk, "list", "--all", "--json"))] == [1]
    assert "No case is open" in case(desk, "list")
    book = json.loads(desk.run("logbook", "show", "--site", SITE, "--json"))
    kinds = [row["kind"] for row in book if row["kind"].startswith("case_")]
    assert kinds[0] == "case_open"
    assert kinds[-2:] == ["case_note", "case_close"]
    assert "rows, each follows" in desk.run("logbook", "verify")


def test_a_person_opens_a_case_and_dismisses_it(desk: Desk) -> None:
    told = case(desk, "open", "--site", SITE, "--reason", "foam", "--at", "2026-07-01 09:00", *BY)
    assert told.startswith("Case 2 (outfall-7): suspected; open by Olive Officer.")
    told = case(desk, "dismiss", "2", "--reason", "a hydrant", "--at", "2026-07-01 10:00", *BY)
    assert told.startswith("Case 2 (outfall-7): dismissed")
    shown = json.loads(case(desk, "show", "2", "--json"))
    assert (shown["notice"], shown["seen"]) == (None, None)
    assert [each["id"] for each in json.loads(case(desk, "list", "--site", SITE, "--json"))] == [1]


def test_what_cannot_be_is_refused_with_what_to_do(desk: Desk) -> None:
    with pytest.raises(UnknownThingError, match="no case 9"):
        case(desk, "show", "9")
    with pytest.raises(InputError, match="name of the person"):
        case(desk, "review", "1", "--by", " ")
    with pytest.raises(InputError, match="write --dated"):
        case(desk, "confirm", "1", *BY, "--reason", "dye test", "--at", "2026-06-09 14:00")
        case(desk, "serve", "1", *BY, "--means", "mail")
    with pytest.raises(UnknownThingError):
        case(desk, "list", "--site", "nowhere")


@pytest.mark.parametrize(
    ("given", "over"),
    [("2026-11-01", "2026-11-02 00:00"), ("2026-06-30", "2026-07-01 00:00"), ("2026-06-30 12:00", "2026-06-30 12:00")],
)
def test_a_day_by_which_a_notice_wants_it_corrected_is_over_with_its_end(desk: Desk, given: str, over: str) -> None:
    serve(desk)
    again = ("--at", "2026-06-10 11:00", "--dated", "2026-06-09 15:00", "--means", "posting", "--correct-by", given)
    told = " ".join(case(desk, "serve", "1", *BY, *again).split())
    assert f"correct what the notice orders: {over};" in told
