"""What the sections of `headwall site show` have in common: values for scripts and for people, clauses of a code."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

from headwall.cli.common import wrapped
from headwall.cli.opened import Opened, minute
from headwall.derive.explanation import FLAG_TEXT
from headwall.hydrology.derived import Derived
from headwall.law import localtime
from headwall.law.provision import CONFIDENCE_TEXT, Provision
from headwall.officer_units import shown, shown_derived
from headwall.registry.model import Site
from headwall.units import parse_quantity

#: readings older than this are not shown as what stands now
WITHIN_DAYS: Final = 30
WITHIN_US: Final = WITHIN_DAYS * 86_400_000_000
Found = dict[str, Any]


def value_data(derived: Derived, unit: str) -> Found:
    """A derived value for scripts: infinite where a look found no such layer."""
    nothing = derived.value is not None and not isfinite(derived.value)
    return {
        "value": None if nothing else derived.value,
        "unit": unit,
        "nothing": nothing,
        "why_none": derived.flag,
        "limit": derived.limit,
        "shown": "none found" if nothing else shown_derived(derived, unit),
    }


def read_text(found: Found, at: Opened) -> str:
    """When it was read, and its flag."""
    why = f": {found['flag_why']}" if found.get("flag_why") else ""
    return f"{minute(found['time_us'], at.zone)} ({FLAG_TEXT[found['flag']]}{why})"


def row(head: str, text: str) -> str:
    return wrapped(f"  {head:16}  ", text)


def clause_of(at: Opened, site: Site, kind: type[Any], at_us: int) -> Any:
    """The clause of a kind in the code of the site's municipality that is in force; None without one."""
    profile = at.code_of(site.municipality)
    day = localtime.day_of(at_us, at.registry.zone(site.municipality))
    return next(iter(profile.in_force(kind, day)), None)


def cited(clause: Provision) -> Found:
    return {"id": clause.id, "citation": clause.citation, "confidence": clause.confidence}


def clause_lines(found: Found | None, none: str) -> Iterator[str]:
    if found is None:
        yield row("the code", none)
        return
    yield row("the code", f"{found['citation']} ({CONFIDENCE_TEXT[found['confidence']]}){_only_if(found)}")


def _only_if(found: Found) -> str:
    """On what a clause hangs that holds where a person has declared something."""
    if not found.get("only_if"):
        return ""
    declared = found.get("declared")
    return f"; it holds as declared: {declared}" if declared else f"; holds if {found['only_if']}"


def entered_text(found: Found, at: Opened) -> str:
    return f"{minute(found['done_us'], at.zone)}, by {found['by']}: {found['said']}"


def day_text(instant_us: int, at: Opened) -> str:
    return localtime.day_of(instant_us, at.zone).isoformat()


def length(value_m: float) -> str:
    return shown(value_m, "m")


def metres(text: str) -> float:
    return float(parse_quantity(text, "m"))
