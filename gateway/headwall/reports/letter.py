"""A letter before it is laid out: its text in blocks, and the blanks that the software cannot fill.

PDF and word-processor file are both made from this, so they say the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from headwall.errors import InputError

#: a label, and what stands beside it, one entry a line
Row = tuple[str, tuple[str, ...]]
#: what stands where a person has to write
BLANK: Final = "______________________"
#: what no page shows and no word processor takes (XML 1.0, 2.2); ends of lines and tabs it does
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Rows:
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Items:
    """A list, each with a mark: a letter, or a box to tick."""

    items: tuple[str, ...]
    boxes: bool = False


@dataclass(frozen=True)
class Picture:
    png: bytes
    says: str  # the same in words


Piece = Heading | Paragraph | Rows | Items | Picture


@dataclass(frozen=True)
class Blank:
    """A place that a person fills.

    Attributes:
        key: by which it is filled.
        says: what is to stand there.
        demanded: a letter without it is not signed.
    """

    key: str
    says: str
    filled: bool
    demanded: bool


@dataclass(frozen=True)
class Letter:
    """A whole letter.

    Attributes:
        kind: notice, spill-confirmation, …
        provision: id of the clause under which it is written.
        warning: stands above the text of each draft.
        left: what is to be seen to before it is signed; on the last page of a draft, never of a signed letter.
        unconfirmed: ids of clauses it cites whose section number nobody has looked up.
        letter: whether it is one, and can be signed; else a sheet for counsel.
    """

    kind: str
    title: str
    sender: tuple[str, ...]
    provision: str
    pieces: tuple[Piece, ...]
    blanks: tuple[Blank, ...]
    warning: tuple[str, ...]
    left: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    letter: bool = True

    def with_left(self, more: Sequence[str]) -> Letter:
        """With more to be seen to, before the rest."""
        return replace(self, left=(*more, *self.left))


def without_unseen(letter: Letter) -> Letter:
    """With a space in the stead of each control character that somebody typed."""
    made: Letter = _seen(letter)
    return made


def _seen(part: Any) -> Any:
    if isinstance(part, str):
        return _UNSEEN.sub(" ", part)
    if isinstance(part, tuple):
        return tuple(map(_seen, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{each.name: _seen(getattr(part, each.name)) for each in fields(part)})
    return part


def finished(letter: Letter) -> Letter:
    """As it is signed: what nobody has written is struck out, down to the line, and what is known stays."""

    def struck(piece: Piece) -> Piece:
        if not isinstance(piece, Rows):
            return piece
        rows = ((label, tuple(line for line in map(_written, lines) if line)) for label, lines in piece.rows)
        return Rows(tuple(row for row in rows if row[1]))

    return replace(letter, pieces=tuple(map(struck, letter.pieces)))


def _written(line: str) -> str:
    """A line of a row without its blank; empty where it says what should have stood there, or nothing."""
    if not line.endswith(BLANK):
        return line
    known = line.removesuffix(BLANK)
    return known.removesuffix(", ") if known.endswith(", ") else ""


@dataclass
class Form:
    """Gathers the blanks of a letter while it is written.

    Attributes:
        given: what the officer has said, by key.
    """

    given: Mapping[str, str]
    blanks: list[Blank] = field(default_factory=list)

    def blank(self, key: str, says: str, *, demanded: bool = False, known: str = "", hint: str = "") -> str:
        """What the officer has given, else what is known, else a line to write on, after a part that is known."""
        text = self.given.get(key, "").strip() or known
        self.blanks.append(Blank(key, says, bool(text), demanded))
        return text or (f"{hint}, {BLANK}" if hint else BLANK)

    def check_given(self) -> None:
        """InputError for a key that the letter has no place for."""
        known = [each.key for each in self.blanks]
        if unknown := sorted(set(self.given) - set(known)):
            raise InputError(f"this letter has no blank {', '.join(unknown)}; it has {', '.join(known)}")
