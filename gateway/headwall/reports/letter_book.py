"""Letters on record: each draft and each signed letter is a row of the log book, which says of what state of the case.

So a draft that the case has moved away from can say so. A signed letter is an attachment, and the row holds its hash.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import attachments, log_book
from headwall.ledger.cases import Case
from headwall.notify.wording import full_time
from headwall.reports.letter import Letter

#: a draft was made, by whom
DRAFT: Final = "letter_draft"
#: a named person signed one off
SIGNED: Final = "letter_signed"
#: by which the state of a case is told from a later one
State = Mapping[str, str | int]


@dataclass(frozen=True)
class Kept:
    """A letter on record.

    Attributes:
        changed: what has changed in the case since then, in words; empty: nothing.
    """

    row: log_book.Row
    kind: str
    signed: bool
    changed: tuple[str, ...]

    def told(self, where: tzinfo) -> str:
        """In a line: what it is, by whom and when, and whether the case has changed since."""
        made = f"{'signed' if self.signed else 'draft'} by {self.row.by}, {full_time(self.row.at_us, where)}"
        since = f"; the case has changed since: {'; '.join(self.changed)}" if self.changed else ""
        return f"{self.kind}, {made}{since}"


def state_of(case: Case) -> State:
    """By which a later change of a case is known: its last step, its clause, and the time that it is about."""
    last = max((each.id for each in case.steps), default=0)
    return {"step": last, "clause": case.provision, "from_us": case.from_us, "until_us": case.until_us}


def kept(conn: sa.Connection, case: Case, where: tzinfo, kind: str | None = None) -> Iterator[Kept]:
    """The letters of a case in order, of one kind if one is given."""
    for row in log_book.rows(conn, (DRAFT, SIGNED)):
        if row.body["case"] == case.id and kind in (None, row.body["letter"]):
            changed = tuple(_changes(row.body["state"], case, where))
            yield Kept(row, row.body["letter"], row.kind == SIGNED, changed)


def changes_since(conn: sa.Connection, case: Case, kind: str, where: tzinfo) -> list[str]:
    """What has changed in a case since the last letter of a kind was made, for a new draft to say."""
    before = list(kept(conn, case, where, kind))
    if not before or not before[-1].changed:
        return []
    last = before[-1]
    when, what = full_time(last.row.at_us, where), "signed letter" if last.signed else "draft"
    return [f"The case has changed since the {what} of {when}: {'; '.join(last.changed)}."]


def _changes(state: State, case: Case, where: tzinfo) -> Iterator[str]:
    if (state["from_us"], state["until_us"]) != (case.from_us, case.until_us):
        yield "what was seen, or for how long"
    if state["clause"] != case.provision:
        yield "the clause that it may break"
    for step in case.steps:
        if step.id > int(state["step"]):
            yield f"{step.action.replace('_', ' ')} by {step.by}, {full_time(step.done_us, where)}"


def note_draft(conn: sa.Connection, case: Case, letter: Letter, pdf: bytes, *, by: str, now_us: int) -> int:
    """A draft was made; returns the row."""
    digest = hashlib.sha256(pdf).hexdigest()
    open_ = sum(not each.filled for each in letter.blanks)
    return log_book.append(conn, DRAFT, by, {**_body(case, letter), "digest": digest, "blanks": open_}, now_us)


def check_is_letter(letter: Letter) -> None:
    """InputError for a sheet for counsel."""
    if not letter.letter:
        raise InputError(f"{letter.kind} is a sheet of facts for counsel: there is nothing to sign")


def check_ready(letter: Letter) -> None:
    """InputError for what no named person can sign off yet."""
    check_is_letter(letter)
    if letter.unconfirmed:
        told = "; ".join(f"headwall law confirm {each} --by NAME" for each in letter.unconfirmed)
        raise InputError(f"section numbers that it cites were not looked up in the code: {told}")
    if missing := [f"{each.key} ({each.says})" for each in letter.blanks if each.demanded and not each.filled]:
        raise InputError(f"blanks that must be filled first, by --fill KEY=TEXT: {'; '.join(missing)}")


def check_unchanged(conn: sa.Connection, case: Case, kind: str, where: tzinfo) -> None:
    """InputError where nobody has made a draft of this letter, or the case has changed since then."""
    drafts = [each for each in kept(conn, case, where, kind) if not each.signed]
    again = f"make a draft, read it, then sign: headwall case letter {case.id} --kind {kind}"
    if not drafts:
        raise InputError(f"case {case.id} has no draft of this letter; {again}")
    if drafts[-1].changed:
        raise InputError(f"case {case.id} has changed since its draft: {'; '.join(drafts[-1].changed)}; {again}")


def keep_signed(
    conn: sa.Connection, folder: Path, case: Case, letter: Letter, pdf: bytes, *, by: str, finished: bool, now_us: int
) -> int:
    """The signed letter as an attachment, and the row that says who signed it; returns that row.

    Args:
        finished: it is a file that the person finished in a word processor.
    """
    with tempfile.TemporaryDirectory() as made:
        file = Path(made, f"case-{case.id}-{letter.kind}.pdf")
        file.write_bytes(pdf)
        stored = attachments.store(folder, file)
    body: dict[str, Any] = {"site": case.site, "municipality": case.municipality, "digest": stored.digest}
    body |= {"type": stored.type, "size": stored.size, "of_us": now_us, "under": letter.provision, "case": case.id}
    about = {"name": f"case-{case.id}-{letter.kind}.pdf", "about": f"{letter.title}, signed by {by}"}
    row = log_book.append(conn, attachments.KIND, by, {**body, "counts_from_us": None}, now_us, about)
    more = {"digest": stored.digest, "attachment": row, "finished_by_hand": finished}
    return log_book.append(conn, SIGNED, by, {**_body(case, letter), **more}, now_us)


def _body(case: Case, letter: Letter) -> dict[str, Any]:
    what = {"case": case.id, "municipality": case.municipality, "site": case.site, "letter": letter.kind}
    return {**what, "provision": letter.provision, "state": dict(state_of(case))}
