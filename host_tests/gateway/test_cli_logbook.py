"""`headwall logbook`: looking, verifying, exporting, attaching, redacting, holding, disposing, on SQLite."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from headwall.errors import HeadwallError, InputError
from headwall.ledger import attachments, cases, log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.reports.log_book import Line, as_csv
from support.desk import Desk
from support.docs_house import CHECKOUT
from support.rules_house import GAUGE
from support.septic_house import SITE, septic_registry

GOLDEN = Path(__file__).parent / "golden" / "log_book.csv"
BY = ("--by", "Ruth Adler")
PNG = b"\x89PNG\r\n\x1a\n" + b"a culvert"
SPILL = "hillburn-192-19-spill"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    septic_registry(tmp_path)
    (tmp_path / "culvert.png").write_bytes(PNG)
    return Desk(tmp_path)


def attach(desk: Desk, *more: str, name: str = "culvert.png") -> str:
    return desk.run("logbook", "attach", str(desk.folder / name), "--site", SITE, *BY, *more)


def change(desk: Desk, what: Callable[[log_book.sa.Connection], object]) -> None:
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        what(conn)
    ledger.close()


def files(desk: Desk) -> list[Path]:
    return sorted((desk.folder / "attachments").glob("*"))


def test_rows_are_shown_by_site_municipality_and_time(desk: Desk) -> None:
    attach(desk, "--about", "outlet of the tank")
    desk.run("maintenance", "basin-3", "--for", "1h", *BY)
    desk.run("law", "confirm", "hillburn-192-12a3-dye-test", *BY)
    assert [row["kind"] for row in json.loads(desk.run("logbook", "show", "--json"))] == [
        "attachment",
        "maintenance",
        "citation_confirmed",
    ]
    (one,) = json.loads(desk.run("logbook", "show", "--site", SITE, "--json"))
    assert (one["kind"], one["sites"], one["municipalities"]) == ("attachment", SITE, "hillburn")
    assert len(json.loads(desk.run("logbook", "show", "--municipality", "hillburn", "--json"))) == 3
    assert "no such row" in desk.run("logbook", "show", "--to", "2020-01-01 00:00")
    assert "no such row" in desk.run("logbook", "show", "--from", "2099-01-01 00:00")
    assert "outlet of the tank" in " ".join(desk.run("logbook", "show").split())


def test_the_export_as_csv_is_the_golden_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, salts and so the hashes are set; everything else is as the commands write it."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "ab" * 16)

    def rows(conn: log_book.sa.Connection) -> None:
        entry = {"entry": 1, "kind": "pump_out", "subject": SITE, "done_us": 1_750_000_000_000_000, "replaces": None}
        log_book.append(conn, "entry", "Ruth Adler", entry, 1_750_000_060_000_000)
        edit = {"edit": 1, "datastream": GAUGE, "reason": '=HYPERLINK("x"), "quoted"\nsecond line', "flag": 4}
        log_book.append(conn, "quality_edit", "=Ruth", edit, 1_750_000_120_000_000)
        photo = {"site": SITE, "municipality": "hillburn", "digest": "0" * 64, "size": 3}
        personal = {"name": "tank.png", "about": "with Sam Okafor"}
        log_book.append(conn, "attachment", "Ruth Adler", photo, 1_750_000_180_000_000, personal)
        log_book.append(conn, "tips_lost", log_book.HEADWALL, {"node": "board-a", "tips": 3}, 1_750_000_240_000_000)

    change(desk, rows)
    target = desk.folder / "out.csv"
    assert "4 rows of 4." in desk.run("logbook", "export", str(target))
    if os.environ.get("HEADWALL_UPDATE_GOLDEN"):
        GOLDEN.write_bytes(target.read_bytes())
    assert target.read_bytes().decode() == GOLDEN.read_bytes().decode()
    read = list(csv.DictReader(io.StringIO(target.read_text("utf-8"), newline="")))
    assert [row["by"] for row in read] == ["Ruth Adler", "'=Ruth", "Ruth Adler", "headwall"]


def test_a_cell_that_a_spreadsheet_would_compute_is_text() -> None:
    line = Line(1, "2025-06-02", "k", "@SUM(A1)", "", "", "+1", "h")
    assert "'@SUM(A1)" in as_csv([line])
    assert "'+1" in as_csv([line])


def test_the_export_as_pdf_is_a_pdf_whatever_stands_in_the_rows(desk: Desk) -> None:
    attach(desk, "--about", '#panic("x") $ \\ [sic] *bold* <label> @ref')
    target = desk.folder / "out.pdf"
    told = desk.run("logbook", "export", str(target))
    assert "1 rows of 1." in told
    assert target.read_bytes().startswith(b"%PDF-")
    empty = desk.folder / "none.pdf"
    desk.run("logbook", "export", str(empty), "--to", "2020-01-01 00:00")
    assert empty.read_bytes().startswith(b"%PDF-")
    with pytest.raises(InputError, match=r"must end in \.csv or \.pdf"):
        desk.run("logbook", "export", "out.xls")


def test_an_export_for_a_records_request_names_nobody(desk: Desk) -> None:
    attach(desk, "--about", "Sam Okafor in the manhole")
    desk.run("quality", "flag", GAUGE, *_span(), "--flag", "fail", "--reason", "ruth adler saw it", "--by", "Hal Ward")
    said = desk.run("logbook", "export", "-", "--without-persons")
    rows = list(csv.DictReader(io.StringIO(said, newline="")))
    for name in ("adler", "ward", "okafor", "culvert.png"):
        assert name not in said.lower()
    assert rows[0]["by"] != rows[1]["by"]
    assert f"reason {rows[0]['by']} saw it" in rows[1]["what"]


def _span() -> tuple[str, ...]:
    return ("2026-01-03 07:00", "2026-01-03 08:00")


# ---- verify


def test_verify_names_the_first_row_that_does_not_hold_and_the_last_good_one(desk: Desk) -> None:
    for n in range(4):
        desk.run("maintenance", "basin-3", "--for", f"{n + 1}h", *BY)
    told = desk.run("logbook", "verify")
    assert told.startswith("4 rows, each follows from the one before")
    c = schema.records.c
    change(desk, lambda conn: conn.execute(schema.records.update().where(c.n == 3).values(at_us=c.at_us - 1)))
    with pytest.raises(HeadwallError, match=r"row 3 was changed after it was written; rows 1 to 2 hold"):
        desk.run("logbook", "verify")
    with pytest.raises(HeadwallError, match="row 3 was changed"):
        desk.run("logbook", "export", "-")


def test_a_noted_head_shows_a_book_that_was_written_anew_as_a_whole(desk: Desk) -> None:
    desk.run("maintenance", "basin-3", "--for", "1h", *BY)
    desk.run("maintenance", "basin-3", "--for", "2h", *BY)
    noted = json.loads(desk.run("logbook", "verify", "--json"))["head"]
    desk.run("maintenance", "basin-3", "--for", "3h", *BY)
    assert "Row 2 is the one that was noted" in desk.run("logbook", "verify", "--noted", noted)

    def anew(conn: log_book.sa.Connection, count: int) -> None:
        kept = list(log_book.rows(conn))[:count]
        conn.execute(schema.records.delete())
        conn.execute(schema.meta.delete().where(schema.meta.c.key == "log_book_head"))
        for row in kept:
            log_book.append(conn, row.kind, "Somebody Else", row.body, row.at_us)

    change(desk, lambda conn: anew(conn, 2))
    assert desk.run("logbook", "verify").startswith("2 rows")  # the chain alone cannot know
    with pytest.raises(HeadwallError, match="row 2 is not the row that was noted"):
        desk.run("logbook", "verify", "--noted", noted)
    change(desk, lambda conn: anew(conn, 1))
    with pytest.raises(HeadwallError, match="row 2 is missing at the end: row 2 was noted"):
        desk.run("logbook", "verify", "--noted", noted)
    with pytest.raises(InputError, match="is no head of a log book"):
        desk.run("logbook", "verify", "--noted", "2")


def test_rows_cut_off_the_end_show(desk: Desk) -> None:
    for n in range(3):
        desk.run("maintenance", "basin-3", "--for", f"{n + 1}h", *BY)
    change(desk, lambda conn: conn.execute(schema.records.delete().where(schema.records.c.n > 1)))
    with pytest.raises(HeadwallError, match="row 2 is missing at the end: the book once went to row 3"):
        desk.run("logbook", "verify")


# ---- attachments


def test_an_attachment_stands_outside_the_chain_and_is_verified(desk: Desk) -> None:
    attach(desk)
    (file,) = files(desk)
    assert file.read_bytes() == PNG
    assert "attachments as they were: 1" in desk.run("logbook", "verify")
    file.write_bytes(PNG + b"!")
    with pytest.raises(HeadwallError, match="row 1 has an attachment that was changed"):
        desk.run("logbook", "verify")
    file.unlink()
    with pytest.raises(HeadwallError, match="row 1 has lost its attachment"):
        desk.run("logbook", "verify")


@pytest.mark.parametrize(
    ("data", "says"), [(b"MZ\x90", "is no JPEG, PNG or PDF"), (None, "cannot be read: No such file")]
)
def test_what_cannot_be_attached_is_told(desk: Desk, data: bytes | None, says: str) -> None:
    if data is not None:
        (desk.folder / "other").write_bytes(data)
    with pytest.raises(InputError, match=says):
        attach(desk, name="other")
    assert desk.rows(schema.records) == []


def test_a_pipe_is_not_waited_for(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe.png")
    with pytest.raises(InputError, match="is no file"):
        attach(desk, name="pipe.png")


@pytest.mark.parametrize("year", ["0001-01-01T00:00+14:00", "1899-12-31 23:59", "2200-01-01 00:00", "9999-12-31 23:59"])
def test_a_slip_in_the_year_stays_out_of_the_book_where_it_could_not_be_shown(desk: Desk, year: str) -> None:
    for option in ("--at", "--counts-from"):
        with pytest.raises(InputError, match=r"the year must be from 1900 to 2199"):
            attach(desk, option, year)
    assert desk.rows(schema.records) == []
    assert "no such row" in desk.run("logbook", "show")


def test_what_a_picture_shows_is_told_in_so_many_characters(desk: Desk) -> None:
    with pytest.raises(InputError, match="2,001 characters"):
        attach(desk, "--about", "x" * 2001)


def test_a_row_that_cannot_be_read_is_said_without_a_traceback(desk: Desk) -> None:
    attach(desk)
    change(desk, lambda conn: conn.exec_driver_sql("UPDATE records SET body = '{' WHERE n = 1"))
    for command in ("show", "verify"):
        with pytest.raises(HeadwallError, match="log book: "):
            desk.run("logbook", command)


def test_a_file_that_is_too_large_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "_MOST_BYTES", len(PNG) - 1)
    with pytest.raises(InputError, match="more than the"):
        attach(desk)


def test_the_same_file_twice_is_one_file_and_two_rows(desk: Desk) -> None:
    attach(desk)
    attach(desk)
    assert len(files(desk)) == 1
    assert len(desk.rows(schema.records)) == 2


# ---- redaction


def test_a_redaction_takes_a_name_out_and_the_chain_holds(desk: Desk) -> None:
    attach(desk, "--about", "Hal Ward's garden")
    told = desk.run("logbook", "redact", "1", "--reason", "court order 7", "--by", "Olive Officer")
    assert "yours to delete" in told
    first, second = desk.rows(schema.records)
    assert (first.by, first.personal, first.salt) == ("(redacted)", None, None)
    assert (second.kind, second.by, second.body) == (
        "redaction",
        "Olive Officer",
        {"row": 1, "reason": "court order 7"},
    )
    desk.run("logbook", "verify")
    files(desk)[0].unlink()
    desk.run("logbook", "verify")  # the file of a redacted row may go
    with pytest.raises(InputError, match="row 1 was redacted before"):
        desk.run("logbook", "redact", "1", "--reason", "again", *BY)
    with pytest.raises(InputError, match="has no row 9"):
        desk.run("logbook", "redact", "9", "--reason", "x", *BY)


def test_a_redaction_reaches_the_name_in_what_was_acknowledged(desk: Desk) -> None:
    town = {"municipality": "hillburn", "site": SITE, "state": "suspected", "historical": False}
    span = {"from_us": 1, "until_us": 1, "at_us": 1, "notice": None}
    change(desk, lambda conn: cases.add(conn, kind="suspected_discharge", provision="", **town, **span))
    for name in ("Fay Deputy", "Gus Deputy"):
        desk.run("mail", "seen", "case/1", "--by", name)
    desk.run("logbook", "redact", "1", "--reason", "order 8", "--by", "Olive Officer")
    assert [row.by for row in desk.rows(schema.acknowledgements)] == ["(redacted) in row 1", "Gus Deputy"]
    desk.run("logbook", "redact", "2", "--reason", "order 8", "--by", "Olive Officer")
    assert "Deputy" not in str(desk.rows(schema.acknowledgements))
    desk.run("logbook", "verify")


def test_an_export_without_persons_hides_names_that_only_other_tables_know(desk: Desk) -> None:
    change(
        desk, lambda conn: conn.execute(schema.acknowledgements.insert().values(matter="case/1", by="Fay D.", at_us=1))
    )
    desk.run("logbook", "hold", "--site", SITE, "--reason", "Fay D. asked for it", *BY)
    told = desk.run("logbook", "export", "-", "--without-persons")
    assert "Fay" not in told
    assert "asked for it" in told


def test_a_name_taken_out_without_a_redaction_shows(desk: Desk) -> None:
    attach(desk)
    gone = {"by": log_book.REDACTED, "personal": None, "salt": None}
    change(desk, lambda conn: conn.execute(schema.records.update().values(**gone)))
    with pytest.raises(HeadwallError, match="row 1 has lost its name, and no row says that it was redacted"):
        desk.run("logbook", "verify")


def test_a_row_that_names_nobody_has_nothing_to_redact(desk: Desk) -> None:
    change(desk, lambda conn: log_book.append(conn, "tips_lost", log_book.HEADWALL, {"node": "board-a"}, 5))
    with pytest.raises(InputError, match="row 1 names no person"):
        desk.run("logbook", "redact", "1", "--reason", "x", *BY)


# ---- how long


def due(desk: Desk) -> list[tuple[str | None, str]]:
    return [(row["until"], row["state"]) for row in json.loads(desk.run("logbook", "due", "--json"))]


def test_without_a_named_period_an_attachment_is_kept_for_good(desk: Desk) -> None:
    attach(desk, "--at", "2001-01-01 09:00")
    assert due(desk) == [(None, "keep")]
    with pytest.raises(InputError, match="row 1 is kept for good: no period is named"):
        desk.run("logbook", "dispose", "1", "--reason", "old", *BY)


def test_the_longest_of_the_codes_period_and_the_records_officers_own_counts(desk: Desk) -> None:
    attach(desk, "--at", "2019-02-28 09:00", "--under", SPILL, "--counts-from", "2020-02-29 12:00")
    assert due(desk) == [("2023-02-28", "may go")]
    keep = ("logbook", "keep", "--municipality", "hillburn", "--reference", "LGS-1 item", "--by", "Rita Records")
    desk.run(*keep, "2")
    assert due(desk) == [("2023-02-28", "may go")]
    desk.run(*keep, "100", "--under", SPILL)
    assert due(desk) == [("2120-02-29", "keep")]
    with pytest.raises(InputError, match="must be kept until 2120-02-29"):
        desk.run("logbook", "dispose", "1", "--reason", "old", *BY)
    desk.run(*keep, "1", "--under", SPILL)
    assert due(desk) == [("2023-02-28", "may go")]
    desk.run(*keep, "90", "--under", SPILL, "--permit")
    desk.run(*keep, "2", "--under", SPILL)
    assert due(desk) == [("2110-02-28", "keep")]


def test_a_code_that_counts_from_the_closing_is_asked_for_it(desk: Desk) -> None:
    attach(desk, "--at", "2019-06-02 09:00", "--under", SPILL)
    assert due(desk) == [("2022-06-02", "may go once --counts-from is told")]
    dispose = ("logbook", "dispose", "1", "--reason", "time is over", *BY)
    with pytest.raises(InputError, match="say in --counts-from"):
        desk.run(*dispose)
    with pytest.raises(InputError, match="must be kept until 2099"):
        desk.run(*dispose, "--counts-from", "2096-01-01 00:00")
    assert len(files(desk)) == 1
    desk.run(*dispose, "--counts-from", "2019-09-01 00:00")
    assert len(files(desk)) == 1  # the program deletes nothing
    files(desk)[0].unlink()
    desk.run("logbook", "verify")
    assert due(desk) == [("2022-06-02", "disposed of, row 2")]
    with pytest.raises(InputError, match="was disposed of by row 2"):
        desk.run(*dispose)


def test_a_legal_hold_stands_above_every_period_until_it_is_released(desk: Desk) -> None:
    attach(desk, "--at", "2019-06-02 09:00", "--under", SPILL, "--counts-from", "2019-06-02 10:00")
    desk.run("logbook", "hold", "--municipality", "hillburn", "--reason", "suit 12", "--by", "Town Attorney")
    assert due(desk) == [("2022-06-02", "legal hold")]
    for verb in ("dispose", "redact"):
        with pytest.raises(InputError, match=r"row 1 is under legal hold \(row 2\)"):
            desk.run("logbook", verb, "1", "--reason", "x", *BY)
    desk.run("logbook", "release", "2", "--reason", "settled", "--by", "Town Attorney")
    with pytest.raises(InputError, match="row 2 is no legal hold that stands"):
        desk.run("logbook", "release", "2", "--reason", "settled", *BY)
    desk.run("logbook", "dispose", "1", "--reason", "time is over", *BY)


def test_a_hold_of_another_site_holds_nothing_here(desk: Desk) -> None:
    attach(desk, "--at", "2019-06-02 09:00", "--under", SPILL, "--counts-from", "2019-06-02 10:00")
    desk.run("logbook", "hold", "--site", "basin-3", "--reason", "suit 12", *BY)
    assert due(desk) == [("2022-06-02", "may go")]


def test_a_period_of_the_states_permit_and_of_a_municipalitys_own_profile_is_known(desk: Desk) -> None:
    kept = '\nretention = { count = 4, of = "the reports", starts = ["record"] }\n'
    permit = desk.folder / "permit.toml"
    text = (CHECKOUT / "docs/templates/state-permit.toml").read_text("utf-8")
    permit.write_text(text.replace('owed_by = "the owner"\n', f'owed_by = "the owner"{kept}', 1), "utf-8")
    with pytest.raises(InputError, match="'state-2-storm' is no clause of Village of Hillburn"):
        attach(desk, "--under", "state-2-storm")
    desk.run("law", "permit", "enter", "hillburn", str(permit), *BY)
    attach(desk, "--under", "state-2-storm")
    own = desk.folder / "own.toml"
    shipped = resources.files("headwall.law").joinpath("profiles", "hillburn.toml").read_text("utf-8")
    own.write_text(shipped.replace(SPILL, "own-spill"), "utf-8")
    registry = desk.folder / "registry.toml"
    registry.write_text(registry.read_text().replace('profile = "hillburn"', f'profile = "{own}"'))
    attach(desk, "--under", "own-spill", "--about", "a record")
    years = [row["why"][:7] for row in json.loads(desk.run("logbook", "due", "--json"))]
    assert years == ["4 years", "3 years"]


def test_a_clause_that_names_no_period_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match="is no clause of Village of Hillburn that says how long"):
        attach(desk, "--under", "hillburn-192-12a3-dye-test")
    assert files(desk) == []
