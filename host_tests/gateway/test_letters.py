"""Letters of a case under five codes: drafts with what each code lists, signing, and what no letter says."""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import docx
import pytest
import typst
from headwall.cases import steps
from headwall.clock import SystemClock
from headwall.errors import InputError
from headwall.law.profile import load_profile, profile_names
from headwall.law.provisions import Notice, Penalty
from headwall.ledger import attachments, cases, schema
from headwall.ledger.ledger import Ledger
from headwall.registry import load_registry
from headwall.reports.letter import BLANK, Heading, Items, Letter, Paragraph, Picture, Rows, finished
from headwall.reports.letter_docx import as_docx
from headwall.reports.letter_text import as_text
from headwall.reports.letters import KINDS, draft
from headwall.reports.matter import Matter
from support.desk import Desk
from support.mail_facts import (
    CROSSING_US,
    HOUR_US,
    add_tips,
    duty,
    open_duty,
    open_ledger,
    registry,
    storm,
    storm_tips,
)
from support.outfall_house import DAY, PULSE, SITE, OutfallHouse, outfall_registry, quiet
from support.plain_words import raw_in

BY = ("--by", "Olive Officer")
#: kind of case → the article that it is under, where a code has two
CASES = {"suspected_discharge": "illicit", "turbidity": "development"}
TWO_ARTICLES = ("elmsford", "north_castle")
EVERY = [(code, kind) for code in profile_names() for kind in CASES if code in TWO_ARTICLES or kind != "turbidity"]


def _prepared(folder: Path, code: str, kind: str) -> None:
    """Registry and ledger of a municipality under one of the codes, with a confirmed case 1."""
    registry, now_us = outfall_registry(folder, code), SystemClock().now_us()
    ledger = Ledger.open(f"sqlite:///{folder / 'headwall.db'}")
    with ledger.begin() as conn:
        seen_us, note = now_us - 40 * DAY, "brown water at the outfall"
        place = SITE if kind != "turbidity" else "yard"
        made = steps.open_by_person(
            conn, registry, place, kind=kind, by="Olive", seen_us=seen_us, note=note, now_us=now_us
        )
        told = steps.Told("Olive Officer", now_us - 1, "dye of the sink came out")
        steps.take(conn, registry, made.id, "confirm", told, now_us=now_us)
    ledger.close()


class Office(Desk):
    """A desk in a municipality under one of the codes, with a confirmed case 1."""

    _made: ClassVar[dict[tuple[str, str], dict[str, bytes]]] = {}

    def __init__(self, folder: Path, code: str, kind: str = "suspected_discharge") -> None:
        if (code, kind) not in self._made:
            _prepared(folder, code, kind)
            self._made[code, kind] = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
        for name, data in self._made[code, kind].items():
            (folder / name).write_bytes(data)
        super().__init__(folder)
        self.registry, self.code, self.kind = load_registry(folder / "registry.toml"), load_profile(code), kind

    def letter(self, kind: str, **filled: str) -> Letter:
        ledger = Ledger.open(self.url)
        with ledger.read() as conn:
            matter = Matter(conn, self.registry, cases.case(conn, 1), SystemClock().now_us())
            made = draft(matter, kind, filled)
        ledger.close()
        return made

    def notice(self) -> Notice:
        return next(each for each in self.code.of(Notice) if each.article == CASES[self.kind])

    def case(self, *arguments: str) -> str:
        return self.run("case", *arguments)

    def confirm_sections(self, letter: Letter) -> None:
        for each in letter.unconfirmed:
            self.run("law", "confirm", each, *BY)

    def fill_all(self, kind: str) -> list[str]:
        """--fill for each blank that a letter is not signed without."""
        wanted = [each for each in self.letter(kind).blanks if each.demanded and not each.filled]
        return [part for each in wanted for part in ("--fill", f"{each.key}=what stands in {each.key}")]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path, "elmsford")


def plain(letter: Letter) -> str:
    """All that it says, in one line."""
    return " ".join(as_text(letter).split())


def in_word(letter: Letter) -> str:
    """What a word processor shows of it."""
    document = docx.Document(io.BytesIO(as_docx(letter, foot="Case 1")))
    parts: list[str] = []
    for each in document.iter_inner_content():
        if hasattr(each, "rows"):
            parts += [cell.text for row in each.rows for cell in row.cells]
        else:
            parts.append(each.text)
    return " ".join(" ".join(parts).split())


# ---- the notice of violation


@pytest.mark.parametrize(("code", "kind"), EVERY)
def test_a_notice_holds_what_its_code_lists(code: str, kind: str, tmp_path: Path) -> None:
    office = Office(tmp_path, code, kind)
    letter, clause = office.letter("notice"), office.notice()
    said = plain(letter).casefold()
    assert letter.provision == clause.id
    assert clause.citation.casefold() in said
    for text in (*clause.told, *clause.warns, *clause.served_by, *(each.text for each in clause.contents)):
        assert text.casefold() in said, text
    assert "your right to appeal" in said
    assert said.startswith("draft: not signed, not to be sent")
    assert office.code.disclaimer.casefold() in said
    assert BLANK in as_text(letter)
    demanded = {each.key for each in letter.blanks if each.demanded}
    assert ({"remedy", "until", "penalties"} <= demanded) is clause.mandatory
    assert {"to", "date", "violation"} <= demanded


def test_a_notice_for_a_development_goes_to_all_three_and_the_landowner_is_demanded(tmp_path: Path) -> None:
    letter = Office(tmp_path, "elmsford", "turbidity").letter("notice")
    named = {each.key: each for each in letter.blanks if each.key.startswith("to")}
    assert [each.says for each in named.values()] == [
        f"name and address of {who}" for who in ("the landowner", "the developer", "the applicant")
    ]
    assert [each.demanded for each in named.values()] == [True, False, False]
    assert f"Bella Builder, {BLANK}" in plain(letter)  # the registry knows the name, and no address


def test_control_characters_that_somebody_typed_are_in_no_letter(office: Office, tmp_path: Path) -> None:
    said = office.letter("notice", to="Dana\x01\x0bVoss\ufffe\nSaw Mill Road")
    assert f"Dana {' '}Voss" in as_text(said)
    assert "Saw Mill Road" in in_word(said)
    office.case("letter", "1", *BY, "--fill", "to=Dana\x01 Voss", "--into", str(tmp_path))
    assert (tmp_path / "case-1-notice-draft.docx").stat().st_size


def test_a_time_is_demanded_once_something_is_to_be_abated(office: Office) -> None:
    def until(**filled: str) -> bool:
        return next(each.demanded for each in office.letter("notice", **filled).blanks if each.key == "until")

    assert not until(cease="stop pumping")
    assert until(abate="clean the brook")


def written(office: Office) -> list[tuple[str, Letter]]:
    """Every letter that there is of the office's case, two at least, by its name."""
    found = []
    for name in KINDS:
        with suppress(InputError):  # the code has no such clause
            found.append((name, office.letter(name)))
    assert len(found) >= 2
    return found


@pytest.mark.parametrize(("code", "kind"), EVERY)
def test_no_letter_holds_an_amount_of_a_penalty(code: str, kind: str, tmp_path: Path) -> None:
    office = Office(tmp_path, code, kind)
    amounts = {n for each in office.code.of(Penalty) for tier in each.tiers for n in (tier.fine_min, tier.fine_max)}
    told = "|".join(rf"{n:,}|{n}" for n in amounts if n > 99) + "|" + "|".join(rf"\$ ?{n}" for n in amounts)
    for name, letter in written(office):
        assert not re.search(rf"(?<![\d,])(?:{told})(?![\d,])", plain(letter)), name
        assert not re.search(r"\bjail|imprison", plain(letter)), name


@pytest.mark.parametrize(("code", "kind"), EVERY)
def test_no_letter_shows_what_is_for_programs(code: str, kind: str, tmp_path: Path) -> None:
    office = Office(tmp_path, code, kind)
    for name, letter in written(office):
        # what is left to do has commands and keys of blanks
        shown = as_text(replace(letter, left=())).replace("\n", " ")
        assert raw_in(re.sub(r"_{2,}\.?", "", shown)) == [], name
        rows = [row for piece in finished(letter).pieces if isinstance(piece, Rows) for row in piece.rows]
        assert [row for row in rows if any(BLANK in line for line in row[1])] == [], name


@pytest.mark.parametrize("code", TWO_ARTICLES)
def test_where_penalties_are_demanded_the_officer_is_told_by_which_clause_and_where_the_range_is(
    code: str, tmp_path: Path
) -> None:
    office = Office(tmp_path, code, "turbidity")
    letter, clause = office.letter("notice"), office.notice()
    (penalty,) = (each for each in office.code.of(Penalty) if each.article == clause.article)
    (told,) = (each for each in letter.left if "statement of the penalties" in each)
    assert told.startswith(f"{clause.citation} demands a statement of the penalties that shall or may follow.")
    assert penalty.citation in told
    assert "headwall case penalty 1 --violator NAME" in told
    assert not any("statement of the penalties" in each for each in Office(tmp_path, code).letter("notice").left)


def test_what_is_known_stays_in_a_signed_letter_without_its_blank() -> None:
    rows = Rows(
        (("To", (f"Bella Builder, {BLANK}",)), ("Date", (BLANK,)), ("Protest", ("10 days", f"Last day: {BLANK}")))
    )
    letter = Letter("notice", "Notice", (), "x", (rows,), (), (), (), ())
    assert finished(letter).pieces == (Rows((("To", ("Bella Builder",)), ("Protest", ("10 days",)))),)


def test_the_rain_of_the_storm_stands_in_a_notice_about_what_was_seen_in_it(tmp_path: Path) -> None:
    ledger, village = open_ledger(tmp_path), registry()
    add_tips(ledger, storm_tips(63))
    open_duty(ledger, duty(storm=storm(63, ended=True)))
    pictures = {}
    with ledger.begin() as conn:
        for after_us in (HOUR_US, 72 * HOUR_US):
            seen_us = CROSSING_US + after_us
            made = steps.open_by_person(
                conn, village, "site-1", kind="turbidity", by="Olive", seen_us=seen_us, note="brown", now_us=seen_us
            )
            letter = draft(Matter(conn, village, made, seen_us), "notice", {})
            pictures[after_us] = [each.says for each in letter.pieces if isinstance(each, Picture)]
    ledger.close()
    assert [says.partition(":")[0] for says in pictures[HOUR_US]] == ["Hyetograph"]
    assert "0.63 in" in pictures[HOUR_US][0]
    assert pictures[72 * HOUR_US] == []  # the storm was over for more than a day


def test_a_plot_and_the_evidence_stand_in_the_letter(tmp_path: Path) -> None:
    house = OutfallHouse(outfall_registry(tmp_path), url=f"sqlite:///{tmp_path / 'headwall.db'}")
    house.feed(quiet(10, [PULSE]))
    registry = house.registry
    with house.ledger.read() as conn:
        letter = draft(Matter(conn, registry, cases.case(conn, 1), house.clock.now), "notice", {})
    house.close()
    pictures = [each for each in letter.pieces if not isinstance(each, Heading | Paragraph | Rows | Items)]
    assert len(pictures) == 1
    assert pictures[0].png.startswith(b"\x89PNG")
    assert "Jun 9 04:00 EDT" in pictures[0].says
    assert "What stands out" in plain(letter)
    assert "Nobody has confirmed this case" in plain(letter)


def test_the_word_processor_file_says_what_the_pdf_says(office: Office) -> None:
    letter = office.letter("notice", cease="stop the pump")
    assert "stop the pump" in in_word(letter)
    told = in_word(letter)
    for piece in letter.pieces:
        texts = {
            Heading: lambda each: [each.text],
            Paragraph: lambda each: [each.text],
            Rows: lambda each: [text for label, lines in each.rows for text in (label, *lines)],
            Items: lambda each: list(each.items),
        }[type(piece)](piece)
        for text in texts:
            assert " ".join(text.split()) in told


# ---- drafts, signing, and what changes later


def test_a_draft_is_two_files_and_a_row_of_the_log_book(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    given = _compiled(monkeypatch)
    into = office.folder / "letters"
    told = office.case("letter", "1", *BY, "--into", str(into))
    assert "--fill date=…" in told
    assert sorted(each.name for each in into.iterdir()) == ["case-1-notice-draft.docx", "case-1-notice-draft.pdf"]
    assert (into / "case-1-notice-draft.pdf").read_bytes().startswith(b"%PDF-")
    assert given[-1]["draft"] is True
    assert given[-1]["left"]
    rows = [row for row in office.rows(schema.records) if row.kind == "letter_draft"]
    assert [(row.by, row.body["letter"]) for row in rows] == [("Olive Officer", "notice")]


def test_a_letter_is_signed_by_a_name_once_nothing_is_missing(
    office: Office, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = _compiled(monkeypatch)
    into = ("--into", str(tmp_path))
    sign = ("letter", "1", *BY, *into, "--sign")
    with pytest.raises(InputError, match="has no draft of this letter"):
        office.case(*sign)
    office.case("letter", "1", *BY, *into)
    with pytest.raises(InputError, match="law confirm elmsford-288-27-notice"):
        office.case(*sign)
    office.confirm_sections(office.letter("notice"))
    with pytest.raises(InputError, match=r"to \(name and address of the responsible person"):
        office.case(*sign)
    with pytest.raises(InputError, match="name of the person"):
        office.case("letter", "1", "--by", " ", *into, "--sign", *office.fill_all("notice"))
    told = office.case(*sign, *office.fill_all("notice"), "--fill", "cease=stop the pump")
    assert "signed off by Olive Officer" in told
    assert given[-1]["draft"] is False
    assert (given[-1]["left"], given[-1]["warning"]) == ([], [])
    assert given[-1]["signed"].startswith("Signed off by Olive Officer, ")
    rows = [row for piece in given[-1]["pieces"] if piece["is"] == "rows" for row in piece["rows"]]
    assert [row[0] for row in rows if row[1] == [BLANK]] == []  # what was not filled in is struck out
    assert "confirmed" not in json.dumps(rows)

    records = {row.kind: row for row in office.rows(schema.records)}
    digest = records["letter_signed"].body["digest"]
    kept = attachments.place(tmp_path / "attachments", digest, "pdf")
    assert kept.read_bytes() == (tmp_path / "case-1-notice.pdf").read_bytes()
    assert records[attachments.KIND].body["digest"] == digest
    assert "attachments as they were: 1" in office.run("logbook", "verify")


def test_a_letter_finished_by_hand_is_kept_as_it_is(office: Office, tmp_path: Path) -> None:
    mine = tmp_path / "mine.pdf"
    mine.write_bytes(b"%PDF-1.7 finished by hand")
    office.case("letter", "1", *BY, "--into", str(tmp_path))
    told = json.loads(office.case("letter", "1", *BY, "--sign", "--file", str(mine), "--into", str(tmp_path), "--json"))
    assert told["signed"] is True
    assert (tmp_path / "case-1-notice.pdf").read_bytes() == mine.read_bytes()
    (row,) = (row for row in office.rows(schema.records) if row.kind == "letter_signed")
    assert row.body["finished_by_hand"] is True
    mine.write_bytes(b"no pdf")
    with pytest.raises(InputError, match="is no PDF"):
        office.case("letter", "1", *BY, "--sign", "--file", str(mine), "--into", str(tmp_path))


def test_a_later_change_of_the_case_shows_and_stops_a_signature(office: Office, tmp_path: Path) -> None:
    office.case("letter", "1", *BY, "--into", str(tmp_path))
    assert "has changed" not in office.case("letters", "1")
    office.case("note", "1", "the owner has called", *BY)
    assert "the case has changed since: note by Olive Officer" in " ".join(office.case("letters", "1").split())
    with pytest.raises(InputError, match="has changed since its draft: note by Olive Officer"):
        office.case("letter", "1", *BY, "--sign", "--into", str(tmp_path))
    told = office.case("letter", "1", *BY, "--into", str(tmp_path))
    assert "The case has changed since the draft of" in " ".join(told.split())
    listed = json.loads(office.case("letters", "1", "--json"))
    assert [(each["signed"], bool(each["changed"])) for each in listed] == [(False, True), (False, False)]


def test_a_draft_on_the_screen_leaves_nothing_behind(office: Office, tmp_path: Path) -> None:
    before = sorted(each.name for each in tmp_path.iterdir())
    assert office.case("letter", "1", *BY, "--text").startswith("DRAFT: not signed")
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    assert not [row for row in office.rows(schema.records) if row.kind == "letter_draft"]


# ---- confirmations, costs, sheets


@pytest.mark.parametrize("code", profile_names())
def test_a_spill_is_confirmed_to_whom_the_code_names_and_calls_come_first(code: str, tmp_path: Path) -> None:
    letter = Office(tmp_path, code).letter("spill-confirmation")
    assert "911" in letter.warning[0]
    assert "1-800-457-7362" in letter.warning[1]
    assert letter.sender == ()  # whoever owes it writes it
    said = plain(letter)
    assert "This confirms in writing" in said
    assert "business days from" in said


@pytest.mark.parametrize(("code", "terms"), [("elmsford", "12 percent"), ("horseheads", "9 percent"), ("hillburn", "")])
def test_a_statement_of_costs_has_the_terms_of_its_code_and_no_sum_of_its_own(
    code: str, terms: str, tmp_path: Path
) -> None:
    office = Office(tmp_path, code)
    letter = office.letter("costs", total="1,250.00")
    said = plain(letter)
    assert "Total 1,250.00" in said
    assert (f"Interest {terms} a year, simple" in said) is bool(terms)
    assert ("At most 12, equal, one every month" in said) is bool(terms)
    assert ("neither a time to tell it nor a protest" in said) is not terms


@pytest.mark.parametrize(
    ("code", "kind", "sheet"),
    [
        ("elmsford", "turbidity", "stop-work"),
        *((code, "suspected_discharge", "suspension") for code in profile_names()),
    ],
)
def test_a_sheet_for_counsel_is_no_letter_and_is_never_signed(code: str, kind: str, sheet: str, tmp_path: Path) -> None:
    office = Office(tmp_path, code, kind)
    letter = office.letter(sheet)
    assert "for counsel, not a letter and not an order" in plain(letter)
    assert "Stormwater Management Officer and counsel decide whether, when and how." in plain(letter)
    assert "Signature" not in plain(letter)
    office.case("letter", "1", "--kind", sheet, *BY, "--into", str(tmp_path))
    with pytest.raises(InputError, match="nothing to sign"):
        office.case("letter", "1", "--kind", sheet, *BY, "--sign", "--into", str(tmp_path))


def test_what_cannot_be_written_is_refused_with_why(office: Office) -> None:
    with pytest.raises(InputError, match="no clause of a stop-work order"):
        office.letter("stop-work")
    with pytest.raises(InputError, match="there is no letter 'invoice'"):
        office.letter("invoice")
    with pytest.raises(InputError, match="no blank colour; it has to, date"):
        office.letter("notice", colour="green")
    with pytest.raises(InputError, match="must be KEY=TEXT"):
        office.case("letter", "1", *BY, "--fill", "date")


# ---- penalties and other remedies


def penalty(office: Office, who: str = "Brook Water Co.") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(office.case("penalty", "1", "--violator", who, "--json"))
    return found


def offence(office: Office, under: str, day: str, *more: str, who: str = "brook water co.") -> None:
    told = (
        "elmsford",
        "--violator",
        who,
        "--under",
        under,
        "--committed",
        f"{day} 10:00",
        "--reference",
        f"docket {day}",
    )
    office.run("record", "offence", *told, *more, *BY)


def test_convictions_of_the_same_person_and_article_raise_the_tier(tmp_path: Path) -> None:
    office = Office(tmp_path, "hillburn")
    assert penalty(office)["tier"] == 1
    broken = next(each.id for each in office.code.provisions if each.kind == "illicit_connection")
    sanitary = next(each.id for each in office.code.provisions if each.article == "sanitary")
    offence(office, sanitary, "2026-01-02", "--convicted", "2026-02-02 10:00")
    offence(office, broken, "2026-01-03", "--convicted", "2026-02-02 10:00", who="Somebody Else")
    offence(office, broken, "2026-01-04")  # nobody was convicted of it
    assert penalty(office)["tier"] == 1
    offence(office, broken, "2026-01-05", "--convicted", "2026-02-02 10:00")
    found = penalty(office)
    assert (found["tier"], found["fine"], found["counted"]) == (2, [1000, 2500], ["docket 2026-01-05"])
    shown = " ".join(office.case("penalty", "1", "--violator", "Brook Water Co.").split())
    assert "of Brook Water Co., for the officer alone, never in a letter" in shown
    assert "A court finds guilt and sets a penalty." in shown
    assert "1 offences of others stand in it" in shown


@pytest.mark.parametrize(
    ("key", "value", "name", "usual", "chosen"),
    [
        ("penalty.repeat_of", "provision", "tier", 2, 1),
        ("penalty.repeat_needs", "commission", "tier", 2, 3),
        ("penalty.rounding", "whole", "units", [1, 7], [1, 6]),
    ],
)
def test_a_choice_of_the_municipality_changes_the_range(
    key: str, value: str, name: str, usual: object, chosen: object, tmp_path: Path
) -> None:
    office = Office(tmp_path, "hillburn")
    other = next(each.id for each in office.code.provisions if each.kind == "illicit_connection")
    offence(office, other, "2026-01-05", "--convicted", "2026-02-02 10:00")
    offence(office, other, "2026-01-06")
    assert penalty(office)[name] == usual
    office.run("law", "choose", "hillburn", key, value, "--from", "2020-01-01", "--reason", "counsel", *BY)
    assert penalty(office)[name] == chosen


def test_a_fine_with_one_amount_is_that_or_up_to_it(office: Office) -> None:
    assert penalty(office)["fine"] == [250, 250]
    office.run(
        "law", "choose", "elmsford", "penalty.daily_fine", "maximum", "--from", "2020-01-01", "--reason", "counsel", *BY
    )
    assert penalty(office)["fine"] == [0, 250]


def test_another_remedy_needs_who_recommended_it_who_agreed_and_each_condition(tmp_path: Path) -> None:
    office = Office(tmp_path, "north_castle")
    told = ("remedy", "1", "--violator", "Brook Water Co.", "--remedy", "compliance workshops", *BY)
    agreed = ("--agreed-by", "B. Ito, Building Inspector")
    with pytest.raises(InputError, match="the Town Attorney recommends it"):
        office.case(*told, *agreed)
    recommended = ("--recommended-by", "T. Lee, Town Attorney")
    with pytest.raises(InputError, match=r"2\. without a history of violations before"):
        office.case(*told, *agreed, *recommended, "--condition", "a valve stuck")
    conditions = [part for n in range(5) for part in ("--condition", f"found {n}")]
    found = json.loads(office.case(*told, *agreed, *recommended, *conditions, "--json"))
    assert (found["recommended_by"], found["agreed_by"]) == ("T. Lee, Town Attorney", "B. Ito, Building Inspector")
    assert found["conditions"] == [f"found {n}" for n in range(5)]
    (row,) = (row for row in office.rows(schema.records) if row.kind == "entry")
    assert row.by == "Olive Officer"
    assert "Brook" not in json.dumps(row.body)  # names stand outside of the chain
    assert "compliance workshops" in office.run("record", "list", SITE)


def test_where_the_lists_of_the_source_are_lost_a_person_says_what_was_looked_up(tmp_path: Path) -> None:
    office = Office(tmp_path, "hillburn")
    told = ("remedy", "1", "--violator", "Brook Water Co.", "--remedy", "stencils drains", *BY, "--agreed-by", "Olive")
    told = (*told, "--recommended-by", "V. Attorney")
    with pytest.raises(InputError, match="missing from the source text"):
        office.case(*told)
    assert "in the stead of a penalty" in office.case(*told, "--note", "the Village's code, looked up today")


def _compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What typst is given, each time; nothing is laid out."""
    given: list[dict[str, Any]] = []

    def compile_(_source: str, *, sys_inputs: dict[str, str], **_: object) -> bytes:
        given.append(json.loads(sys_inputs["data"]))
        return b"%PDF-1.7 made in a test"

    monkeypatch.setattr(typst, "compile", compile_)
    return given
