"""What the code of a construction site wants on record before or after something, and what is there: a line each."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from headwall.cli.entry_text import as_data, said
from headwall.cli.opened import Opened
from headwall.cli.site_parts import Found, entered_text, row
from headwall.registry.project import SiteProject
from headwall.rules.clauses import Look
from headwall.rules.clauses.milestones import STEPS, steps
from headwall.rules.clauses.money import moves

_HEADS = {
    "plan_before_review": "plan, review",
    "easement": "easement",
    "as_built": "as-built plans",
    "occupancy": "occupancy",
    "guarantee": "guarantee",
}


def gathered(look: Look, project: SiteProject | None) -> Found:
    """The last step of each kind that the code has, and what is left in the escrow of a project."""
    kinds = {each.kind for each in look.profile.provisions if each.in_force(look.day(look.now_us))}
    last = {kind: steps(look, *STEPS[kind])[-1:] for kind in _HEADS if kind in kinds}
    found = {kind: {**as_data(each[0]), "said": said(each[0].body)} if each else None for kind, each in last.items()}
    return {"steps": found, "escrow": _escrow(look, project) if "escrow" in kinds else None}


def _escrow(look: Look, project: SiteProject | None) -> Found | None:
    if project is None or project.entry.escrow is None:
        return None
    first = Decimal(project.entry.escrow)
    moved = moves(look, project, first)
    return {"first": str(first), "balance": str(moved[-1][1] if moved else first)}


def lines(found: Found, at: Opened) -> Iterator[str]:
    """One for each, also where nothing is there."""
    for kind, entry in found["steps"].items():
        yield row(_HEADS[kind], "nothing on record" if entry is None else entered_text(entry, at))
    if found["escrow"] is not None:
        yield row("review escrow", f"${found['escrow']['balance']} of ${found['escrow']['first']}")
