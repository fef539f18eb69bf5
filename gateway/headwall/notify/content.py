"""What a mail says, before it is laid out. Text part and HTML part are both made from this, so they tell the same.

A line that begins with "headwall " is a command; addresses, links and phone numbers are found by the HTML layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["due", "late", "change", "notice"]


@dataclass(frozen=True)
class Row:
    """A label and what stands beside it, one entry a line."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Rows under a title."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Picture:
    """A PNG shown inside the mail, drawn when it is asked for. `alt` says in words what it shows."""

    cid: str
    draw: Callable[[], bytes]
    alt: str


@dataclass(frozen=True)
class Section:
    """One matter: a storm, a silent gauge, … `steps` is what to do now."""

    heading: str
    tone: Tone
    lead: tuple[str, ...]
    steps: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    picture: Picture | None = None
    picture_after: int = 0  # how many blocks stand before the picture


@dataclass(frozen=True)
class Content:
    """A whole mail, not yet laid out."""

    subject: str
    title: str
    greeting: str
    sections: tuple[Section, ...]
    closing: tuple[str, ...] = field(default=())
    first: tuple[str, ...] = ()  # what comes before everything else: the calls of a spill
    link: str = ""  # where a named person says that it was seen

    @property
    def pictures(self) -> list[Picture]:
        return [section.picture for section in self.sections if section.picture is not None]


def row(label: str, *lines: str) -> Row:
    return Row(label, lines)
