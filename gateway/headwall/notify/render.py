"""Laying out a mail's content: plain text of at most 78 columns, and HTML, by the templates beside this file."""

from __future__ import annotations

import re
import textwrap
from functools import lru_cache
from itertools import zip_longest

import jinja2
from markupsafe import Markup, escape

from headwall.notify.content import Content, Row

_WIDTH = 78  # RFC 5322, 2.1.1: lines should be no more than 78 characters
_LABEL = 20
_KEPT = 4096  # lines laid out before: many stand in every mail, and a mail to two persons says the same
_SEEN = (
    "Say by name that you have seen this, and it is told to nobody else. It closes nothing and decides nothing. The "
    "link shows what the mail is about as it stands when you open it."
)
_LINKS = re.compile(
    r"(?P<url>https?://[^\s<>&]+[^\s<>&.,;:)])"
    r"|(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<phone>(?<![\d-])(?:1-)?\d{3}-\d{3}-\d{4}(?![\d-]))"
    r"|(?P<section>§ [\w-]+(?:\([\w]+\))*)"
)


def render_text(content: Content) -> str:
    return _tidy(_TEMPLATES.get_template("mail.txt.j2").render(mail=content))


def render_html(content: Content) -> str:
    return _TEMPLATES.get_template("mail.html.j2").render(mail=content)


def is_command(line: str) -> bool:
    return line.startswith("headwall ")


@lru_cache(_KEPT)
def wrap(text: str, first: str = "", rest: str = "") -> str:
    """Text at most 78 columns wide; commands and links are never broken, since they are copied."""
    if is_command(text):
        return first + text
    kept = text.replace("§ ", "§\0")  # a section number stays beside its sign
    filled = textwrap.fill(
        kept,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest or " " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("§\0", "§ ")


@lru_cache(_KEPT)
def row_text(entry: Row) -> str:
    """A row with its label in a column of its own; above its lines where a command is too long to stand beside it."""
    above = any(is_command(line) and len(line) > _WIDTH - _LABEL for line in entry.lines)
    if above:
        return "\n".join([entry.label, *(wrap(line, "    ") for line in entry.lines)])
    labels = textwrap.wrap(entry.label, _LABEL - 1)
    beside = [part for line in entry.lines for part in _column(line)]
    return "\n".join(f"{label:<{_LABEL}}{text}".rstrip() for label, text in zip_longest(labels, beside, fillvalue=""))


def _column(line: str) -> list[str]:
    return [part[_LABEL:] for part in wrap(line, " " * _LABEL).split("\n")]


def underline(text: str, mark: str) -> str:
    wrapped = wrap(text)
    return f"{wrapped}\n{mark * max(len(line) for line in wrapped.splitlines())}"


@lru_cache(_KEPT)
def line_html(line: str) -> Markup:
    """One line, escaped, with commands set as such and addresses, links and phone numbers to touch."""
    if is_command(line):
        words = Markup(" ").join(Markup("<span>{}</span>").format(word) for word in line.split(" "))
        return Markup('<code class="cmd">{}</code>').format(words)
    return Markup(_LINKS.sub(_link, str(escape(line))))  # the pattern meets no character that escape() writes


def _link(found: re.Match[str]) -> str:
    text = found[0]
    if found.lastgroup == "section":
        return f'<span class="kept">{text}</span>'
    target = {"url": text, "mail": f"mailto:{text}", "phone": f"tel:+1-{text.removeprefix('1-')}"}[
        found.lastgroup or "url"
    ]
    return f'<a href="{target}">{text}</a>'


def _tidy(text: str) -> str:
    """No space at line ends, never two empty lines, one line feed at the end."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n"


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("headwall.notify"),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(seen_text=_SEEN)
    made.filters.update(wrap=wrap, row_text=row_text, underline=underline, line_html=line_html)
    return made


_TEMPLATES = _environment()
