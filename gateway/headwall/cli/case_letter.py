"""`headwall case letter|letters|penalty|remedy`: drafts, signed letters, the range of penalties, other remedies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headwall.cli.common import DEFAULT_CONFIG, AsJson, ConfigOption, Note, print_json, wrapped
from headwall.cli.opened import Opened, named, opened
from headwall.errors import InputError
from headwall.law.provisions import AlternativeRemedies
from headwall.ledger import cases, entries, log_book
from headwall.ledger.ledger import Ledger
from headwall.reports import letter_book
from headwall.reports.letter import Letter, finished
from headwall.reports.letter_text import as_text
from headwall.reports.letters import KINDS, draft
from headwall.reports.matter import Matter
from headwall.reports.penalty_sheet import PenaltySheet, convictions, penalty_sheet

Number = Annotated[int, typer.Argument(metavar="CASE", min=1, help="see headwall case list")]
Violator = Annotated[str, typer.Option("--violator", help="whose offences count, as the register names him")]
_MOST_BYTES = 64 * 1024 * 1024


def register(case: typer.Typer) -> None:
    """Adds them to the commands of cases."""
    case.command("letter")(letter)
    case.command("letters")(letters)
    case.command("penalty")(penalty)
    case.command("remedy")(remedy)


def letter(
    number: Number,
    by: Annotated[str | None, typer.Option("--by", help="who makes the draft, or signs; not with --text")] = None,
    kind: Annotated[str, typer.Option("--kind", help=", ".join(KINDS))] = "notice",
    fill: Annotated[
        list[str] | None,
        typer.Option("--fill", metavar="KEY=TEXT", help="what stands in a blank; the draft lists them"),
    ] = None,
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="where the files go")] = Path(),
    text: Annotated[bool, typer.Option("--text", help="only show the draft: no file, nothing on record")] = False,
    sign: Annotated[bool, typer.Option("--sign", help="you sign it off: it is kept, and no draft any more")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="PDF", help="with --sign: the letter as you finished it yourself")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A draft as PDF and for a word processor; with --sign the letter that you sign off, as PDF."""
    if file is not None and not sign:
        raise InputError("--file goes with --sign: it is the letter that is signed")
    if text and sign:
        raise InputError("--text shows a draft; --sign makes a letter: one of the two")
    if by is None and not text:
        raise InputError("write --by: the name of who makes the draft, or signs; only --text does without one")
    given = dict(map(_filled, fill or []))
    with opened(config) as at:
        who, now_us = "" if by is None else named(by), at.clock.now_us()
        with at.ledger.read() as conn:
            matter = Matter(conn, at.registry, cases.case(conn, number), now_us)
            made = draft(matter, kind, given)
            changed = letter_book.changes_since(conn, matter.case, kind, matter.where)
            if sign:
                letter_book.check_unchanged(conn, matter.case, kind, matter.where)
        if text:
            _show(matter, made.with_left(changed), as_json)
        elif sign:
            _sign(at, matter, made, who, into, file, as_json)
        else:
            _draft(at, matter, made.with_left(changed), who, into, as_json)


def _show(matter: Matter, made: Letter, as_json: bool) -> None:
    if as_json:
        body = {"case": matter.case.id, "kind": made.kind, "provision": made.provision, "title": made.title}
        print_json({**body, "text": as_text(made), "blanks": _open(made)})
    else:
        print(as_text(made), end="")


def _open(made: Letter) -> list[dict[str, object]]:
    """The blanks that nobody has filled."""
    return [{"key": each.key, "says": each.says, "demanded": each.demanded} for each in made.blanks if not each.filled]


def _draft(at: Opened, matter: Matter, made: Letter, who: str, into: Path, as_json: bool) -> None:
    from headwall.reports.letter_docx import as_docx
    from headwall.reports.letter_pdf import as_pdf

    case, now_us = matter.case, matter.now_us
    foot = f"Case {case.id}, as of {matter.time(now_us)}. Whether it has changed since: headwall case letters {case.id}"
    pdf = as_pdf(made, draft=True, foot=foot)
    files = {".pdf": pdf, ".docx": as_docx(made, foot=foot)}
    names = [_write(into / f"case-{case.id}-{made.kind}-draft{suffix}", data) for suffix, data in files.items()]
    with at.ledger.begin() as conn:
        row = letter_book.note_draft(conn, case, made, pdf, by=who, now_us=now_us)
    if as_json:
        body = {"case": case.id, "kind": made.kind, "provision": made.provision, "row": row, "signed": False}
        print_json({**body, "files": names, "blanks": _open(made), "unconfirmed": made.unconfirmed})
        return
    print(f"Case {case.id}: draft, {made.title.lower()}, by {who}: {' and '.join(names)}")
    for line in made.left:
        print(wrapped("  - ", line))


def _sign(at: Opened, matter: Matter, made: Letter, who: str, into: Path, file: Path | None, as_json: bool) -> None:
    from headwall.reports.letter_pdf import as_pdf

    case, now_us = matter.case, matter.now_us
    if file is None:
        letter_book.check_ready(made)
        signed = f"Signed off by {who}, {matter.time(now_us)}"
        pdf = as_pdf(finished(made), draft=False, foot=f"Case {case.id}", signed=signed)
    else:
        letter_book.check_is_letter(made)
        pdf = _read(file)
    with at.ledger.begin() as conn:
        row = letter_book.keep_signed(
            conn,
            at.settings.ledger.attachments,
            case,
            made,
            pdf,
            by=who,
            finished=file is not None,
            now_us=now_us,
        )
    name = _write(into / f"case-{case.id}-{made.kind}.pdf", pdf)
    if as_json:
        body = {"case": case.id, "kind": made.kind, "provision": made.provision, "row": row, "signed": True}
        print_json({**body, "files": [name]})
        return
    print(f"Case {case.id}: {made.title.lower()} signed off by {who}, row {row} of the log book: {name}")
    print("It is yours to have served; then enter that: headwall case serve.")


def letters(number: Number, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """The drafts and signed letters of a case, and whether it has changed since each."""
    with opened(config) as at:
        with at.ledger.read() as conn:
            case = cases.case(conn, number)
            zone = at.registry.zone(case.municipality)
            found = list(letter_book.kept(conn, case, zone))
        if as_json:
            rows = [
                {
                    "row": each.row.n,
                    "kind": each.kind,
                    "signed": each.signed,
                    "by": each.row.by,
                    "at_us": each.row.at_us,
                    "digest": each.row.body["digest"],
                    "changed": each.changed,
                }
                for each in found
            ]
            print_json(rows)
            return
        if not found:
            print(f"Case {number} has no letter.")
        for each in found:
            print(wrapped(f"{each.row.n:>5}  ", each.told(zone)))


def penalty(number: Number, violator: Violator, config: ConfigOption = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """The range that the code's words come to, for your eyes: no finding of guilt, and in no letter."""
    with opened(config) as at, at.ledger.read() as conn:
        matter = Matter(conn, at.registry, cases.case(conn, number), at.clock.now_us())
        found = penalty_sheet(matter, violator)
        if as_json:
            print_json(_penalty_data(found))
            return
        _print_penalty(matter, found, violator)


def _print_penalty(matter: Matter, found: PenaltySheet, violator: str) -> None:
    clause, exposed = found.clause, found.exposure
    seen, may = (matter.time(each) for each in found.until)
    print(f"Case {matter.case.id}: range of penalties of {violator}, for the officer alone, never in a letter")
    jail = f"up to {exposed.tier.jail_max} in jail" if exposed.tier.jail_max else "no jail"
    rows = (
        ("Under", f"{found.cited}; {clause.subject}"),
        ("Label", clause.label),
        (
            "Tier",
            f"{exposed.tier.offence} of {len(clause.tiers)}: {_dollars(exposed.fine_min, exposed.fine_max)}, {jail}",
        ),
        (
            "Before",
            "; ".join(_prior(matter, each.reference, each.committed_us) for each in exposed.counted) or "none counts",
        ),
        ("Went on", f"from {matter.time(matter.case.from_us)} to {seen} as seen, to {may} at most"),
        ("Offences", f"{_span(exposed.units_min, exposed.units_max)}, one more each {clause.continues_by}"),
        ("Fines", _dollars(exposed.total_min, exposed.total_max)),
        ("Read by", "; ".join(f"{key} {value}" for key, value in found.read.items())),
    )
    for label, text in rows:
        print(wrapped(f"{label:<10}", text))
    if found.others:
        print(wrapped(f"{'Register':<10}", f"{found.others} offences of others stand in it and do not count"))
    print(wrapped("", f"{matter.profile.disclaimer} A court finds guilt and sets a penalty."))


def _prior(matter: Matter, reference: str, committed_us: int) -> str:
    return f"{reference}, committed {matter.time(committed_us)}"


def _span(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _dollars(least: int, most: int) -> str:
    return f"${least:,}" if least == most else f"${least:,} to ${most:,}"


def _penalty_data(found: PenaltySheet) -> dict[str, object]:
    exposed = found.exposure
    return {
        "provision": found.clause.id,
        "section": found.cited,
        "label": found.clause.label,
        "tier": exposed.tier.offence,
        "fine": [exposed.fine_min, exposed.fine_max],
        "jail_max": exposed.tier.jail_max,
        "counted": [each.reference for each in exposed.counted],
        "units": [exposed.units_min, exposed.units_max],
        "continues_by": found.clause.continues_by,
        "fines": [exposed.total_min, exposed.total_max],
        "until_us": list(found.until),
        "read": found.read,
    }


def remedy(
    number: Number,
    violator: Violator,
    what: Annotated[str, typer.Option("--remedy", help="what is done in the stead of a penalty")],
    agreed_by: Annotated[str, typer.Option("--agreed-by", help="who agreed, with office")],
    by: Annotated[str, typer.Option("--by", help="who enters it")],
    recommended_by: Annotated[str, typer.Option("--recommended-by", help="who recommended it, with office")] = "",
    condition: Annotated[
        list[str] | None,
        typer.Option("--condition", help="how the code's conditions were found to be met, in its order, one each"),
    ] = None,
    note: Note = "",
    config: ConfigOption = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """A remedy in the stead of a penalty is on record, with who recommended it and who agreed."""
    with opened(config) as at:
        who, now_us = named(by), at.clock.now_us()
        with at.ledger.read() as conn:
            matter = Matter(conn, at.registry, cases.case(conn, number), now_us)
            clause = _remedies(matter, recommended_by, condition or [], note)
            before, cited = convictions(conn, matter.case.municipality, violator), matter.cite(clause)
        body = entries.checked(
            entries.AlternativeRemedy,
            case=number,
            violator=named(violator, "--violator"),
            provision=clause.id,
            remedy=what.strip(),
            recommended_by=recommended_by.strip(),
            agreed_by=named(agreed_by, "--agreed-by"),
            conditions=[each.strip() for each in condition or []],
            note=note,
        )
        entry = _enter(at.ledger, body, matter, who)
        if as_json:
            print_json({"entry": entry, **msgspec.to_builtins(body)})
            return
        print(f"Case {number}: {body.remedy}, in the stead of a penalty, under {cited}; entry {entry}.")
        if before:
            print(
                wrapped(
                    "", f"The register has convictions of {violator}: {', '.join(e.body.reference for e in before)}."
                )
            )
        if clause.remedies and what.strip() not in clause.remedies:
            print(wrapped("", f"The code lists {'; '.join(clause.remedies)}."))


def _remedies(matter: Matter, recommended_by: str, found: list[str], note: str) -> AlternativeRemedies:
    clause = matter.clause(AlternativeRemedies)
    if clause is None:
        raise InputError(f"{matter.profile.municipality} has no clause of other remedies that goes with this case")
    if clause.recommended_by and not recommended_by.strip():
        raise InputError(f"{clause.citation}: {clause.recommended_by} recommends it; write --recommended-by")
    if len(found) != len(clause.conditions):
        asked = "; ".join(f"{n}. {each}" for n, each in enumerate(clause.conditions, 1)) or "none"
        raise InputError(
            f"{clause.citation}: write a --condition for each of the code's conditions, in their order: {asked}"
        )
    if clause.incomplete and not note.strip():
        raise InputError(f"{clause.citation}: {clause.incomplete} Look them up, and write by --note what was found")
    return clause


def _enter(ledger: Ledger, body: entries.AlternativeRemedy, matter: Matter, who: str) -> int:
    case, now_us = matter.case, matter.now_us
    with ledger.begin() as conn:
        made = entries.add_entry(conn, body, subject=case.site, done_us=now_us, by=who, now_us=now_us)
        if made is None:
            raise InputError("the ledger has this already; nothing was added")
        what = {"entry": made.id, "kind": made.kind, "subject": case.site, "case": case.id, "done_us": now_us}
        log_book.append(conn, "entry", who, {**what, "provision": body.provision, "digest": made.digest}, now_us)
    return made.id


def _filled(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise InputError(f"--fill {text!r} must be KEY=TEXT; the draft names the keys")
    return key.strip(), value.strip()


def _write(file: Path, data: bytes) -> str:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}; choose another folder by --into") from None
    return str(file)


def _read(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"--file {file} cannot be read: {error.strerror}") from None
    if not data.startswith(b"%PDF-") or len(data) > _MOST_BYTES:
        raise InputError(f"--file {file} is no PDF of at most {_MOST_BYTES:,} bytes; save the letter as PDF")
    return data
