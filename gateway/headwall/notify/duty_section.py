"""A duty of either kind as a section: what a mail would say of it now, for the page and the command line."""

from __future__ import annotations

from headwall.notify.clause_section import clause_duty
from headwall.notify.content import Section
from headwall.notify.lookup import Lookup
from headwall.notify.storm_section import StormSection
from headwall.registry.model import Person
from headwall.rules.facts import DutyFact, StormDuty

_ANYBODY = Person(id="anybody", name="NAME", email="")


def duty_section(look: Lookup, fact: DutyFact, late_us: int, *, page: str = "", cid: str | None = None) -> Section:
    """The section.

    Args:
        late_us: learned later than this after a storm's crossing, the section says so.
        page: where the page is; "" on the page itself.
        cid: of a storm's picture; None: without one.
    """
    if isinstance(fact, StormDuty):
        return StormSection(look, [fact], _ANYBODY, page, late_us).build(cid)
    return clause_duty(look, fact, _ANYBODY)
