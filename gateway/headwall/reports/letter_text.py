"""A letter as plain text, for a screen."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from headwall.reports.letter import Heading, Items, Letter, Paragraph, Piece, Rows

_COLUMNS: Final = 78
_LABEL: Final = 22


def as_text(letter: Letter) -> str:
    """A draft, with what is left to do at its end."""
    told = "not signed, not to be sent" if letter.letter else "for counsel, not a letter and not an order"
    lines = [f"DRAFT: {told}", "", *letter.sender, "", letter.title.upper(), ""]
    for line in letter.warning:
        lines += _wrapped(line, "! ")
    for piece in letter.pieces:
        lines += ["", *_piece(piece)]
    if letter.letter:
        lines += ["", "", "_" * 36, "Signature, name, title, date"]
    if letter.left:
        lines += ["", "For the officer: what is left to do", ""]
    for line in letter.left:
        lines += _wrapped(line, "[ ] ")
    return "\n".join(lines) + "\n"


def _piece(piece: Piece) -> Iterator[str]:
    match piece:
        case Heading(text):
            yield from (text, "-" * len(text))
        case Paragraph(text):
            yield from _wrapped(text, "")
        case Rows(rows):
            for label, lines in rows:
                yield from _row(label, lines)
        case Items(items, boxes):
            for item in items:
                yield from _wrapped(item, "[ ] " if boxes else "- ")
        case _:
            yield from _wrapped(f"[A plot stands here in the PDF. {piece.says}]", "")


def _row(label: str, lines: tuple[str, ...]) -> Iterator[str]:
    left = wrap(label, _LABEL - 2)
    right = [part for line in lines for part in wrap(line, _COLUMNS - _LABEL, break_long_words=False)]
    for n in range(max(len(left), len(right))):
        yield f"{left[n] if n < len(left) else '':<{_LABEL}}{right[n] if n < len(right) else ''}".rstrip()


def _wrapped(text: str, mark: str) -> list[str]:
    indent = " " * len(mark)
    return wrap(text, _COLUMNS, initial_indent=mark, subsequent_indent=indent, break_long_words=False)
