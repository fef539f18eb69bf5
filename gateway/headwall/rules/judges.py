"""What judges the clauses of the codes: kind of provision → the parts of the gateway that act on it.

Read off the tables in which those parts stand, so that nobody keeps a list. A row of the analysis counts as implemented
where its provisions are of such a kind; that something really comes of it is for the scenarios to show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final

from headwall.cases.code import STARTS
from headwall.cases.kinds import KINDS
from headwall.rules.approvals import CLAUSES
from headwall.rules.clauses import PLANNERS

#: what stands in no table of its own
_ALONE: Final = {
    "applicability": "construction: whether the clauses on it hold for a project",
    "site_conditions": "construction: which conditions of a site make a qualified inspector's visits due",
    "variance": "sewers: another number than the code's, by record",
    "storm_report": "storms: a report after each that is deep enough",
    "penalty": "penalty sheet: the range for the section violated",
    "alternative_remedies": "record of a remedy instead of a penalty",
}


@cache
def judges() -> Mapping[str, list[str]]:
    """Kind of provision → what judges it, in words."""
    found: dict[str, list[str]] = defaultdict(list)
    for kind, what in _ALONE.items():
        found[kind].append(what)
    for kind in PLANNERS:
        found[kind].append("duties: what it makes due at a site")
    for case in KINDS.values():
        for kind in case.breaks:
            found[kind].append(f"cases: a {case.words} may break it")
    for kind in STARTS:
        found[kind].append("cases: the clocks between the steps")
    for approval, kinds in CLAUSES.items():
        for kind in kinds:
            found[kind].append(f"approvals: what a {approval.replace('_', ' ')} needs")
    return dict(found)
