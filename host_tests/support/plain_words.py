"""What no mail and no letter shows: names and values of the program instead of words for people."""

from __future__ import annotations

import html
import re
from email import message_from_bytes, policy
from typing import Final

#: what it would be → how it looks
_RAW: Final = {
    "a key or state": r"(?<![\w/.-])[a-z]+(?:_[a-z]+)+(?![\w@])",
    "a value of Python": r"\b(?:None|True|False|nan)\b",
    "an instant for machines": r"\d{4}-\d\d-\d\dT\d|\+00:00|\bUTC\b|\b\d{13,}\b",
    "a float": r"\d\.\d{6,}",
    "two full stops": r"(?<!\.)\.\.(?!\.)",
    "a sentence without its end": r"\b(?:to|by|and|of) \.|\(\)|“”",
}
_COMMAND: Final = re.compile(r'<code class="cmd">.*?</code>', re.DOTALL)
_TAG: Final = re.compile(r"<(?:style|head)\b.*?</(?:style|head)>|<[^>]+>", re.DOTALL)


def raw_in(text: str) -> list[str]:
    """What is raw in a text, each with what it would be."""
    return [f"{what}: {found[0]!r}" for what, pattern in _RAW.items() for found in re.finditer(pattern, text)]


def raw_in_mail(eml: bytes) -> list[str]:
    """The same of a whole mail, but for the commands in it and its link: they are copied, not read."""
    message = message_from_bytes(eml, policy=policy.default)
    part = message.get_body(("html",))
    assert part is not None
    shown = html.unescape(_TAG.sub("\n", _COMMAND.sub("", part.get_content())))
    return raw_in(f"{message['Subject']}\n{shown}")
