"""What a mail needs to know beside its facts: zones, provisions, people, gauges, readings. Never raises for what is
unknown in the registry: a fact about a site that somebody has removed must still reach its reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, tzinfo
from functools import cached_property

import sqlalchemy as sa

from headwall.codes import Codes
from headwall.derive.tip_depth import Tip, tip_at
from headwall.hydrology.rain_doubt import Suspicion
from headwall.law.localtime import day_of
from headwall.law.profile import Profile, Provision, StormReport
from headwall.law.state_spill import state_spill
from headwall.ledger import schema
from headwall.ledger.calibrations import last_calibration
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.rules.citations import with_confirmation
from headwall.rules.facts import Fact, HistoricalSummary, NodeFault, StormDuty, StormSummary
from headwall.rules.gauge_set import Member, sets_of_site
from headwall.rules.layers import FOREVER_US, gauge_layers
from headwall.rules.lost_tips import LostTips, lost_between
from headwall.rules.rain import EVERYTHING
from headwall.rules.rain_doubts import of_storm
from headwall.rules.rain_heard import Gauge, hear, quantum_of
from headwall.rules.tell import accepted
from headwall.units import Depth

_D = schema.duties.c
_CLOSED = sa.select(_D.state, _D.closed_by, _D.closed_us).where(
    _D.id == sa.bindparam("duty"), _D.closed_us.is_not(None)
)
_BESIDE_US = 3_600_000_000  # what lies so far from a storm is looked at too


def rain_of(conn: sa.Connection, registry: Registry, duty: StormDuty) -> tuple[list[tuple[int, int]], Depth] | None:
    """The rain of a duty's storm as it counts, of all gauges and by hand: (instant in µs, quanta), and the quantum.

    None where nothing is on record, or the gauge is none.
    """
    site, storm = registry.site(duty.site), duty.storm
    sets = sets_of_site(registry, site) if site else []
    known = [each.members for each in sets if each.primary == duty.datastream]
    members = known[0] if known else (Member(duty.datastream, 0, FOREVER_US),)
    if not registry.datastream_spans(duty.datastream):
        return None
    gauges = [
        Gauge(each, gauge_layers(conn, registry, each.datastream), registry.silent_after_us(each.datastream))
        for each in members
    ]
    heard = hear(conn, gauges, storm.start_us, storm.end_us, EVERYTHING, _BESIDE_US)
    falls = [fall for fall in heard.falls if storm.start_us <= fall.time_us <= storm.end_us]
    if not falls:
        return None
    quantum = quantum_of(gauges, storm.start_us)
    return [(fall.time_us, int(fall.unit.mm * (fall.tips or 1) / quantum.mm)) for fall in falls], quantum


class Lookup:
    """Registry, profiles and ledger as one mail sees them at the instant it is composed."""

    def __init__(self, registry: Registry, profiles: Mapping[str, Profile], ledger: Ledger, now_us: int) -> None:
        self.registry = registry
        self.now_us = now_us
        self.ledger = ledger
        self._shipped = profiles

    @cached_property
    def _profiles(self) -> Codes:
        """The codes as they are in force now; who looks often hands over `Codes` of his own, which are kept."""
        codes = self._shipped if isinstance(self._shipped, Codes) else Codes(self._shipped)
        with self.ledger.read() as conn:
            codes.follow(conn)
        return codes

    # --- municipality ---

    def municipality_name(self, municipality: str) -> str:
        found = {entry.id: entry for entry in self.registry.municipalities}.get(municipality)
        return found.name if found else municipality

    def profile(self, municipality: str) -> Profile | None:
        found = {entry.id: entry for entry in self.registry.municipalities}.get(municipality)
        return self._profiles.get(found.profile) if found else None

    def ask(self, municipality: str, owed_by: str) -> str:
        """What an officer does about something owed; what is his own he is not told to ask for."""
        profile = self.profile(municipality)
        own = profile is not None and owed_by.removeprefix("the ").casefold() == profile.officer.casefold()
        return "See that it is done." if own else f"Ask {owed_by} for it, or see that it is done."

    def provision(self, municipality: str, provision: str) -> Provision | None:
        """A provision by its id, with who confirmed its section number."""
        profile = self.profile(municipality)
        asked = (*profile.provisions, state_spill()) if profile else ()
        found = next((each for each in asked if each.id == provision), None)
        if profile is None or found is None:
            return None
        with self.ledger.read() as conn:
            return with_confirmation(conn, profile, found, self.zone(municipality))

    def storm_report(self, municipality: str, provision: str) -> StormReport | None:
        found = self.provision(municipality, provision)
        return found if isinstance(found, StormReport) else None

    def zone(self, municipality: str) -> tzinfo:
        return self.registry.zone(municipality)

    def municipality_of(self, fact: Fact) -> str:
        """Where it happened; "" for a board that no municipality is named for."""
        if isinstance(fact, NodeFault | HistoricalSummary):
            name = fact.node if isinstance(fact, NodeFault) else fact.datastream.partition("/")[0]
            found = self.registry.node(name)
            return (found.municipality or "") if found else ""
        return fact.municipality

    def zone_of(self, fact: Fact) -> tzinfo:
        """Whose local time a fact is told in."""
        if isinstance(fact, NodeFault):
            return self.zone_of_node(fact.node)
        if isinstance(fact, HistoricalSummary):
            return self.zone_of_node(fact.datastream.partition("/")[0])
        return self.zone(fact.municipality)

    def zone_of_node(self, node: str) -> tzinfo:
        found = self.registry.node(node)
        return self.registry.zone_of_node(found) if found else self.zone("")

    # --- places ---

    def site_name(self, site: str) -> str:
        found = self.registry.site(site)
        return found.name if found else site

    def people(self, site: str, role: str, at_us: int) -> list[Person]:
        """Who had a role at the site at the instant; nobody for a site that the registry does not have."""
        return self.registry.people_at(site, role, at_us) if self.registry.site(site) else []

    def people_of_site(self, site: str, at_us: int) -> list[tuple[str, Person]]:
        """Every person with a part at the site at the instant, with the part."""
        return self.registry.parts_of_site(site, at_us) if self.registry.site(site) else []

    def gauge_place(self, datastream: str) -> str:
        return self.registry.place_of(datastream, self.now_us) or "place not in the registry"

    def tip(self, datastream: str, at_us: int) -> Tip | None:
        """What a tip stands for at an instant, as calibrations have it; None for what is no gauge then."""
        with self.ledger.read() as conn:
            return tip_at(conn, self.registry, datastream, at_us)

    # --- ledger ---

    def rain(self, duty: StormDuty) -> tuple[list[tuple[int, int]], Depth] | None:
        """The rain of a duty's storm, see `rain_of`."""
        with self.ledger.read() as conn:
            return rain_of(conn, self.registry, duty)

    def doubts(self, datastream: str, storm: StormSummary) -> list[Suspicion]:
        """Why a storm's depth may be wrong: of each gauge that gave a part of it."""
        parts = [(part.datastream, part.first_us, part.last_us) for part in storm.parts]
        with self.ledger.read() as conn:
            return [
                doubt
                for name, start_us, end_us in parts or [(datastream, storm.start_us, storm.end_us)]
                for doubt in of_storm(conn, self.registry, name, start_us, end_us)
            ]

    def lost_tips(self, datastream: str, start_us: int, end_us: int) -> list[LostTips]:
        """Tips that its board counted between two instants and that never came."""
        with self.ledger.read() as conn:
            return lost_between(conn, datastream, start_us, end_us)

    def last_calibration(self, datastream: str, at_us: int) -> str | None:
        """The newest calibration on or before the instant's local day, in a line, wherever it is on record."""
        zone = self.zone_of_node(datastream.partition("/")[0])
        by_day: list[tuple[date, str]] = []
        listed = self.registry.last_calibration(datastream, at_us)
        if listed is not None:
            by_day.append((listed.on, f"by {listed.by}" + (f": {listed.note}" if listed.note else "")))
        with self.ledger.read() as conn:
            done = last_calibration(conn, datastream, at_us)
        if done is not None:
            by_day.append((day_of(done.done_us, zone), done.summary))
        if not by_day:
            return None
        day, said = max(by_day, key=lambda each: each[0])
        return f"{day.isoformat()} {said}"

    def accepted(self, datastream: str) -> bool:
        with self.ledger.read() as conn:
            return accepted(conn, datastream)

    def closed(self, duty: int) -> tuple[str, str, int] | None:
        """State, name and instant, where a person has closed the duty in the meantime."""
        with self.ledger.read() as conn:
            found = conn.execute(_CLOSED, {"duty": duty}).first()
        return (found.state, found.closed_by or "", found.closed_us) if found else None
