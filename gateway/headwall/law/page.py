"""Pages in Markdown, made from the profiles: one for each code, and one of how far the rules go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date

from headwall.law.coverage import Covered, coverage
from headwall.law.profile import Profile
from headwall.law.provision import CONFIDENCE_TEXT, Provision
from headwall.law.words import doubt_rows, head_rows, matter_rows

_MADE = "<!-- Made by `headwall law page {name}`; a test holds it equal. Change the profile, not this page. -->"


def code_page(name: str, profile: Profile) -> str:
    """The page of one code: each of its provisions with all that the profile says of it."""
    lines = [
        _MADE.format(name=name),
        f"# {profile.municipality}: {profile.code}",
        "",
        f"{profile.disclaimer} {profile.source}.",
        "",
        *(f"- {mark}: {text}" for mark, text in CONFIDENCE_TEXT.items()),
        "",
        f"A last day ends at {profile.office_closes:%H:%M} under the strict reading, else at midnight.",
        "",
        f"**State permit.** {profile.state_permit_notice(date.max)}",
    ]
    articles = dict.fromkeys(each.article for each in profile.provisions)
    for article in articles:
        told = profile.articles.get(article)
        lines += ["", f"## {told.title}" if told else "## Provisions"]
        for provision in (each for each in profile.provisions if each.article == article):
            lines += ["", *_section(provision)]
    return "\n".join(lines) + "\n"


def coverage_page(profiles: Iterable[Profile], judged: Collection[str]) -> str:
    """Every row of the analysis, what stands for it, and whether a rule judges it."""
    lines = [
        _MADE.format(name="coverage"),
        "# How far the rules go",
        "",
        "Each row of the clause-by-clause analysis of the five codes, and what stands for it here. Implemented: a rule",
        "judges it; where a sensor or a clock decides, a scenario of `host_tests/scenarios` cites the row and fails",
        "without its clause. Information: shown to people, nothing to judge. Out of reach: for the reason given. Not",
        "yet: the profile has its numbers and clocks, no rule reads them so far.",
    ]
    for profile in profiles:
        rows = coverage([profile], judged)
        counts = ", ".join(f"{count} {state}" for state, count in _counted(rows).items())
        lines += ["", f"## {profile.municipality}", "", f"{len(rows)} rows: {counts}.", ""]
        lines += ["| row | what | section | decided by | state |", "|---|---|---|---|---|", *map(_covered, rows)]
    return "\n".join(lines) + "\n"


def _section(provision: Provision) -> list[str]:
    rows = [*head_rows(provision), *matter_rows(provision), *doubt_rows(provision)]
    return [
        f"### {provision.citation}: {provision.subject}",
        "",
        provision.requirement,
        "",
        "| | |",
        "|---|---|",
        *(f"| {label} | {_cell(text)} |" for label, text in rows),
    ]


def _covered(row: Covered) -> str:
    section = ", ".join(dict.fromkeys(each.citation for each in row.provisions))
    state = f"{row.state}: {row.why}" if row.why else row.state
    return f"| {row.row} | {_cell(row.told)} | {_cell(section)} | {', '.join(row.decided_by)} | {state} |"


def _counted(rows: list[Covered]) -> dict[str, int]:
    states = [row.state for row in rows]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
