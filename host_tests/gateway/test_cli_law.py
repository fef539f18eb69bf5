"""`headwall law` as a person types it, with a gateway's ledger and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headwall.cli.main import build
from headwall.errors import ConfigurationError, HeadwallError, InputError, UnknownThingError
from headwall.law.ambiguities import settings
from headwall.law.profile import load_profile, profile_names
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.notify.lookup import Lookup
from headwall.rules import citations
from support.desk import Desk
from support.rules_house import make_registry
from typer.testing import CliRunner

STORM = "elmsford-288-8a2-storm"
OWN = Path(__file__).parents[2] / "docs/templates/municipality.toml"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    make_registry(tmp_path)
    yield Desk(tmp_path)


@pytest.fixture
def no_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWALL_CONFIG", raising=False)


def law(*words: str) -> str:
    result = CliRunner().invoke(build("law"), ["law", *words])
    if isinstance(result.exception, HeadwallError):
        raise result.exception
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def law_json(*words: str) -> Any:
    return json.loads(law(*words, "--json"))


def test_profiles_and_their_provisions_are_listed() -> None:
    assert [each["code"] for each in law_json("list")] == profile_names()
    listed = law_json("list", "horseheads")
    assert [each["id"] for each in listed] == [each.id for each in load_profile("horseheads").provisions]
    assert "§ 216-14 (C)" in [each["citation"] for each in listed]


def test_unknown_code_is_told_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match="known are bayville"):
        law("list", "nowhere")


@pytest.mark.usefixtures("no_gateway")
def test_provision_is_shown_without_a_gateway() -> None:
    said = law("show", "hillburn-192-15b1a-pump-out")
    assert "Village of Hillburn: Pump-out by scum and sludge" in said
    for told in ("3 in", "10 in", "section number not confirmed", "A7:", "Only if"):
        assert told in said


@pytest.mark.usefixtures("no_gateway")
def test_provision_as_json_has_its_clocks() -> None:
    shown = law_json("show", "elmsford-288-28-appeal")
    assert shown["municipality"] == "Village of Elmsford"
    assert [(each["name"], each["count"], each["starts"]) for each in shown["deadlines"]] == [
        ("file", 10, "notice_date"),
        ("hear", 15, "receipt"),
    ]
    assert shown["from"] == "2006-04-17"


@pytest.mark.usefixtures("no_gateway")
def test_unknown_provision_is_told_with_where_to_look() -> None:
    with pytest.raises(UnknownThingError, match="headwall law list"):
        law("show", "elmsford-1-1")


@pytest.mark.usefixtures("no_gateway")
def test_clocks_of_a_provision_fall_by_both_readings() -> None:
    (file, hear, serve) = law_json("due", "hillburn-192-21-appeal", "--start", "issuance=2026-06-26 10:00")
    assert file["strict"] == "2026-07-11T16:30:00-04:00"  # a Saturday
    assert file["lenient"] == file["counts"] == "2026-07-14T00:00:00-04:00"  # Monday is over
    assert hear["counts"] is serve["counts"] is None  # not filed, not decided


@pytest.mark.usefixtures("no_gateway")
@pytest.mark.parametrize("start", ["crossing=2026-06-26 10:00", "2026-06-26 10:00", "issuance", "issuance=soon"])
def test_start_that_no_clock_has_or_no_time_is_refused(start: str) -> None:
    with pytest.raises(InputError, match="--start"):
        law("due", "hillburn-192-21-appeal", "--start", start)


@pytest.mark.usefixtures("no_gateway")
def test_provision_without_clocks_says_where_to_look() -> None:
    with pytest.raises(InputError, match="headwall law show"):
        law("due", "hillburn-192-13-failing-system", "--start", "receipt=2026-06-26 10:00")


def test_clocks_are_told_in_the_zone_of_the_registry(desk: Desk) -> None:
    told = json.loads(desk.run("law", "due", "elmsford-288-28-appeal", "--start", "receipt=2026-01-05 09:00", "--json"))
    assert told[1]["strict"] == "2026-01-20T16:30:00-05:00"


def test_differences_of_two_codes_are_told() -> None:
    found = law_json("diff", "elmsford", "north_castle")
    assert {"kind": "applicability", "what": "Area", "first": "1 acre", "second": "5000 sq ft"} in found
    assert any(each["kind"] == "storm_report" and each["second"] == "" for each in found)
    assert law_json("diff", "elmsford", "elmsford") == []


def test_coverage_lists_every_row_with_its_state() -> None:
    rows = {each["row"]: each for each in law_json("coverage")}
    assert len(rows) == 179
    assert rows["ELM-10"]["state"] == "implemented"
    assert STORM in rows["ELM-10"]["provisions"]
    assert rows["HIL-33"]["state"] == "information"


def test_page_of_a_code_of_ones_own_is_made_from_its_file() -> None:
    said = law("page", str(OWN))
    assert "# Village of Nowhere: Village Code, Chapter 1" in said
    assert "| Clock: file | within 20 days from the issuance of the notice; the later reading counts |" in said


# --- confirming ---


def test_confirmed_section_number_is_told_with_the_name_and_stands_in_the_log_book(desk: Desk) -> None:
    assert "inferred by counting" in desk.run("law", "show", STORM)
    said = desk.run("law", "confirm", STORM, "--by", "Ann Example")
    assert said.startswith("Village of Elmsford, § 288-8A(2): section number confirmed by Ann Example on ")
    shown = json.loads(desk.run("law", "show", STORM, "--json"))
    assert shown["confirmed"]["by"] == "Ann Example"
    assert "confirmed by Ann Example" in shown["confidence_text"]
    (row,) = desk.rows(schema.records)
    assert (row.kind, row.by, row.body["citation"]) == ("citation_confirmed", "Ann Example", "§ 288-8A(2)")


def test_confirmation_is_of_that_provision_alone(desk: Desk) -> None:
    desk.run("law", "confirm", STORM, "--by", "Ann Example")
    assert "inferred by counting" in desk.run("law", "show", "elmsford-288-8a2-seven-days")


def test_confirmation_without_a_name_is_refused_and_leaves_no_row(desk: Desk) -> None:
    with pytest.raises(InputError, match="--by"):
        desk.run("law", "confirm", STORM, "--by", " ")
    assert desk.rows(schema.records) == []


def test_confirmation_of_an_unknown_provision_leaves_no_row(desk: Desk) -> None:
    with pytest.raises(UnknownThingError):
        desk.run("law", "confirm", "elmsford-1-1", "--by", "Ann Example")
    assert desk.rows(schema.records) == []


def test_confirmation_no_longer_counts_when_the_profile_cites_another_section(desk: Desk) -> None:
    elmsford = load_profile("elmsford")
    provision = elmsford.provision(STORM)
    renumbered = provision.model_copy(update={"citation": "§ 288-9A(2)"})
    ledger = Ledger.open(desk.url)
    zone = make_registry(desk.folder).zone("elmsford")
    with ledger.begin() as conn:
        citations.confirm(conn, elmsford, provision, "Ann Example", 1_750_000_000_000_000)
        citations.confirm(conn, elmsford, provision, "Sam Okafor", 1_760_000_000_000_000)
        assert log_book.verify(conn) is None
        newest = citations.with_confirmation(conn, elmsford, provision, zone).confirmed
        assert newest is not None
        assert newest.by == "Sam Okafor"
        assert citations.with_confirmation(conn, elmsford, renumbered, zone) == renumbered
    ledger.close()


def test_mails_tell_who_confirmed_a_section_number(desk: Desk) -> None:
    registry, elmsford = make_registry(desk.folder), load_profile("elmsford")
    desk.run("law", "confirm", STORM, "--by", "Ann Example")
    ledger = Ledger.open(desk.url)
    found = Lookup(registry, {"elmsford": elmsford}, ledger, 1_800_000_000_000_000).storm_report("elmsford", STORM)
    ledger.close()
    assert found is not None
    assert "confirmed by Ann Example" in found.confidence_text


def test_clock_without_a_start_is_told_which_starts_there_are() -> None:
    with pytest.raises(InputError, match=r"NAME=TIME; those of hillburn-192-21-appeal start with .*issuance \(the iss"):
        law("due", "hillburn-192-21-appeal")


# --- choices and permits of the State ---

PERMIT = Path(__file__).parents[2] / "docs/templates/state-permit.toml"
CHOSEN = ("choose", "elmsford", "storm.clock_start", "end", "--from", "2026-07-01", "--by", "A. Counsel")


def test_every_key_is_listed_with_its_question_and_default() -> None:
    rows = {each["key"]: each for each in law_json("choices", "hillburn")}
    assert set(rows) == set(settings())
    assert (rows["septic.period"]["question"], rows["septic.period"]["default"]) == ("A8", "from_last")
    assert rows["appeal.heard_by"]["value"] == ""
    assert "appeal.heard_by (A36): as the code has it, by default" in law("choices", "hillburn")


def test_choice_is_written_for_the_municipality_and_listed_with_who_made_it(desk: Desk) -> None:
    said = desk.run("law", *CHOSEN, "--reason", "as it always was")
    assert said.startswith("Village of Elmsford: storm.clock_start is end from 2026-07-01 on, by A. Counsel.")
    later = {"2026-07-01": "2090-01-01", "end": "first"}
    desk.run("law", *(later.get(word, word) for word in CHOSEN), "--reason", "b")
    rows = {each["key"]: each for each in json.loads(desk.run("law", "choices", "elmsford", "--json"))}
    row = rows["storm.clock_start"]
    assert (row["value"], row["since"], row["by"]) == ("end", "2026-07-01", "A. Counsel")
    assert row["later"] == [{"from": "2090-01-01", "value": "first", "by": "A. Counsel"}]
    listed = " ".join(desk.run("law", "choices", "elmsford").split())
    assert "end, from 2026-07-01 by A. Counsel: as it always was (by default crossing) from 2090-01-01: first" in listed
    assert [each.kind for each in desk.rows(schema.records)] == ["choice_made", "choice_made"]


@pytest.mark.parametrize(
    ("word", "instead", "told"),
    [
        ("storm.clock_start", "storm.clock", "no key 'storm.clock'"),
        ("end", "noon", "write crossing or first or end"),
        ("2026-07-01", "July", "--from 'July' is no day"),
        ("A. Counsel", " ", "--by needs the name"),
        ("elmsford", "hillburn", "only elmsford"),
        ("why", " ", "--reason needs words"),
    ],
)
def test_choice_that_cannot_be_taken_leaves_no_row(desk: Desk, word: str, instead: str, told: str) -> None:
    with pytest.raises(HeadwallError, match=told):
        desk.run("law", *(instead if each == word else each for each in (*CHOSEN, "--reason", "why")))
    assert desk.rows(schema.records) == []


def test_permit_of_the_state_is_absent_until_a_named_person_enters_it(desk: Desk) -> None:
    assert "State-permit schedule not entered" in desk.run("law", "permit", "show", "elmsford")
    with pytest.raises(InputError, match="--by"):
        desk.run("law", "permit", "enter", "elmsford", str(PERMIT), "--by", " ")
    said = desk.run("law", "permit", "enter", "elmsford", str(PERMIT), "--by", "Olive Officer")
    assert "is in force from 2026-01-01 on, entered by Olive Officer" in said
    shown = json.loads(desk.run("law", "permit", "show", "elmsford", "--json"))
    assert shown["notice"] is None
    assert shown["permits"][0]["entered_by"] == "Olive Officer"
    assert "Part 2" in desk.run("law", "show", "state-2-storm")


def test_permit_file_that_is_not_there_is_named(desk: Desk) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml cannot be read"):
        desk.run("law", "permit", "enter", "elmsford", "nowhere.toml", "--by", "Olive Officer")
