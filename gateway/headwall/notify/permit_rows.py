"""That no numbers of the State's permit for construction are entered, in what a mail says of a construction site."""

from __future__ import annotations

from headwall.law.localtime import day_of
from headwall.notify.content import Row, row
from headwall.notify.lookup import Lookup


def permit_rows(look: Lookup, municipality: str, site: str, at_us: int) -> list[Row]:
    """A row while they are absent on the day of an instant; none once they are there, or for another kind of site."""
    profile, place = look.profile(municipality), look.registry.site(site)
    if profile is None or place is None or place.kind != "construction":
        return []
    absent = profile.state_permit_notice(day_of(at_us, look.zone(municipality)))
    return [row("State permit", absent)] if absent else []
