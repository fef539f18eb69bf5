"""Looking things up in the registry, by instant where it matters: what was in force at an event's time counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from headwall.errors import UnknownThingError
from headwall.registry.measures import Basin, Correction, DesignFlow, Level, Rating, Role, Tank
from headwall.registry.model import (
    Calibration,
    Datastream,
    Municipality,
    Node,
    OffTime,
    Person,
    PersonRole,
    RegistryFile,
    Site,
    SiteGauge,
    SitePerson,
    SiteSensor,
    SiteStatus,
)
from headwall.registry.project import SiteProject, site_project
from headwall.registry.spans import Span, in_force, instant_us, span_of


@dataclass(frozen=True)
class SiteMeasures:
    """What is measured at a site and how it is computed with: every entry with its period."""

    sensors: tuple[Span[SiteSensor], ...]
    levels: tuple[Span[Level], ...]
    corrections: tuple[Span[Correction], ...]
    ratings: tuple[Span[Rating], ...]
    tanks: tuple[Span[Tank], ...]
    basins: tuple[Span[Basin], ...]
    design_flows: tuple[Span[DesignFlow], ...]

    def sensor(self, role: Role, at_us: int) -> SiteSensor | None:
        """The sensor of a role at an instant."""
        return next((entry for entry in in_force(self.sensors, at_us) if entry.of == role), None)

    def level(self, role: Role, at_us: int) -> Level | None:
        """How its readings become a height."""
        return next((entry for entry in in_force(self.levels, at_us) if entry.of == role), None)

    def corrections_of(self, role: Role, at_us: int) -> tuple[Correction, ...]:
        """The shifts in force, which add up."""
        return tuple(entry for entry in in_force(self.corrections, at_us) if entry.of == role)

    def has(self, role: Role) -> bool:
        """Whether some sensor has the role at some time."""
        return any(span.entry.of == role for span in self.sensors)


class Registry:
    """A registry that holds together (see `load_registry`). Immutable; instants are microseconds UTC.

    Identifiers of datastreams are NODE/STREAM, e.g. "board-a/rain.tips". Lookups by an identifier give None
    where it is unknown; those named `require_…` raise UnknownThingError and say what exists.
    """

    def __init__(self, file: RegistryFile) -> None:
        self.municipalities = tuple(file.municipalities)
        self.people = tuple(file.people)
        self.nodes = tuple(file.nodes)
        self.sites = tuple(file.sites)
        self._municipality = {entry.id: entry for entry in file.municipalities}
        self._person = {entry.id: entry for entry in file.people}
        self._node = {entry.id: entry for entry in file.nodes}
        self._site = {entry.id: entry for entry in file.sites}
        self._zone = {entry.id: ZoneInfo(entry.time_zone) for entry in file.municipalities}
        self._streams: dict[str, list[Span[Datastream]]] = defaultdict(list)
        self._status: dict[str, list[Span[SiteStatus]]] = {}
        self._site_people: dict[str, list[Span[SitePerson]]] = {}
        self._site_gauges: dict[str, list[Span[SiteGauge]]] = {}
        self._gauge_places: dict[str, list[tuple[Site, Span[SiteGauge]]]] = defaultdict(list)
        self._gauge_sites: dict[str, list[tuple[Site, Span[SiteGauge]]]] = defaultdict(list)
        self._roles: list[tuple[Person, Span[PersonRole]]] = []
        self._measures: dict[str, SiteMeasures] = {}
        self._projects: dict[str, list[SiteProject]] = {}
        self._index()

    def _index(self) -> None:
        for node in self.nodes:
            for stream in node.datastreams:
                self._streams[f"{node.id}/{stream.name}"].append(span_of(stream, self.zone_of_node(node)))
        for site in self.sites:
            zone = self._zone[site.municipality]
            self._status[site.id] = [span_of(entry, zone) for entry in site.status]
            self._site_people[site.id] = [span_of(entry, zone) for entry in site.people]
            self._projects[site.id] = [site_project(entry, zone) for entry in site.projects]
            self._site_gauges[site.id] = [span_of(entry, zone) for entry in site.gauges]
            for span in self._site_gauges[site.id]:
                self._gauge_places[span.entry.datastream].append((site, span))
                if site.kind == "construction":
                    self._gauge_sites[span.entry.datastream].append((site, span))
        for person in self.people:
            self._roles += [(person, span_of(role, self._zone_for(role.municipality))) for role in person.roles]

    def _zone_for(self, municipality: str | None) -> ZoneInfo:
        return self._zone[municipality or self.municipalities[0].id]

    # --- by identifier ---

    def municipality(self, identifier: str) -> Municipality:
        return self._municipality[identifier]

    def person(self, identifier: str) -> Person | None:
        return self._person.get(identifier)

    def node(self, identifier: str) -> Node | None:
        return self._node.get(identifier)

    def site(self, identifier: str) -> Site | None:
        return self._site.get(identifier)

    def require_node(self, identifier: str) -> Node:
        """The node, or an UnknownThingError that lists the nodes there are."""
        found = self._node.get(identifier)
        if found is None:
            raise UnknownThingError(f"no node {identifier!r} in the registry; it has {_listed(self._node)}")
        return found

    def require_site(self, identifier: str) -> Site:
        """The site, or an UnknownThingError that lists the sites there are."""
        found = self._site.get(identifier)
        if found is None:
            raise UnknownThingError(f"no site {identifier!r} in the registry; it has {_listed(self._site)}")
        return found

    def require_datastream(self, identifier: str) -> None:
        """UnknownThingError, with the datastreams there are, unless NODE/STREAM exists at any time."""
        if identifier not in self._streams:
            raise UnknownThingError(
                f"no datastream {identifier!r} in the registry; it has {_listed(self._streams)} (write NODE/STREAM)"
            )

    def datastream_ids(self) -> Iterator[str]:
        """Every NODE/STREAM of the registry, whenever in force."""
        return iter(self._streams)

    # --- zones ---

    def zone(self, municipality: str) -> ZoneInfo:
        """Its time zone; the first municipality's where the registry has it no more, as an old duty may name one."""
        return self._zone.get(municipality) or self._zone[self.municipalities[0].id]

    def zone_of_node(self, node: Node) -> ZoneInfo:
        """Whose local midnight the node's dates mean."""
        return self._zone_for(node.municipality)

    # --- in force at an instant ---

    def datastream(self, identifier: str, at_us: int) -> Datastream | None:
        """The datastream as it was set up at the instant; None if unknown or not in force then."""
        return next(in_force(self._streams.get(identifier, ()), at_us), None)

    def place_of(self, datastream: str, at_us: int) -> str | None:
        """Where a datastream is measured at the instant: its own place, else its node's; None for an unknown node."""
        node = self._node.get(datastream.partition("/")[0])
        stream = self.datastream(datastream, at_us)
        return stream.place if stream and stream.place else node.place if node else None

    def datastream_spans(self, identifier: str) -> list[Span[Datastream]]:
        """Every set-up of a datastream with its period, in order of time."""
        return sorted(self._streams.get(identifier, ()), key=lambda span: span.start_us)

    def measures(self, site: str) -> SiteMeasures:
        """The sensors of a site and what is computed from them. KeyError for an unknown site."""
        if site not in self._measures:
            found, zone = self._site[site], self._zone[self._site[site].municipality]
            self._measures[site] = SiteMeasures(
                tuple(span_of(entry, zone) for entry in found.sensors),
                tuple(span_of(entry, zone) for entry in found.levels),
                tuple(span_of(entry, zone) for entry in found.corrections),
                tuple(span_of(entry, zone) for entry in found.ratings),
                tuple(span_of(entry, zone) for entry in found.tanks),
                tuple(span_of(entry, zone) for entry in found.basins),
                tuple(span_of(entry, zone) for entry in found.design_flows),
            )
        return self._measures[site]

    def silent_after_us(self, identifier: str) -> int:
        """How long a datastream may say nothing, by the most patient of its set-ups. ValueError where it has none."""
        return max(span.entry.silent_after_min for span in self.datastream_spans(identifier)) * 60_000_000

    def off_times(self, identifier: str) -> list[Span[OffTime]]:
        """When a datastream is known not to measure, in the order of the file."""
        node = self._node.get(identifier.partition("/")[0])
        zone = self._zone_for(None) if node is None else self.zone_of_node(node)
        return [span_of(off, zone) for span in self._streams.get(identifier, ()) for off in span.entry.off]

    def sites_of_gauge(self, datastream: str, at_us: int) -> list[Site]:
        """Construction sites that have the gauge at the instant: those whose storms are judged by it."""
        return [site for site, span in self._gauge_sites.get(datastream, ()) if span.holds(at_us)]

    def places_of_gauge(self, datastream: str, at_us: int) -> list[Site]:
        """Sites of every kind that have the gauge at the instant."""
        return [site for site, span in self._gauge_places.get(datastream, ()) if span.holds(at_us)]

    def gauge_spans(self, site: str) -> list[Span[SiteGauge]]:
        """Every gauge that a site has at some time, with its period, in the order of the file."""
        return list(self._site_gauges[site])

    def gauges_of_site(self, site: str, at_us: int) -> list[SiteGauge]:
        return list(in_force(self._site_gauges[site], at_us))

    def status_spans(self, site: str) -> list[Span[SiteStatus]]:
        """Every status of a site with its period, in the order of the file."""
        return list(self._status[site])

    def projects(self, site: str) -> list[SiteProject]:
        """Every project of a site, in the order of the file."""
        return list(self._projects[site])

    def project_at(self, site: str, at_us: int) -> SiteProject | None:
        """The project of a site at the instant."""
        return next((each for each in self._projects[site] if each.span.holds(at_us)), None)

    def status_of(self, site: str, at_us: int) -> SiteStatus | None:
        """The site's status at the instant; None before its first one or in a hole between two."""
        return next(in_force(self._status[site], at_us), None)

    def is_tributary(self, site: str, at_us: int) -> bool:
        """Whether the site's ground drains to the storm sewer at the instant: it does unless the officer said not."""
        found, zone = self._site[site], self._zone[self._site[site].municipality]
        return not any(span_of(entry, zone).holds(at_us) for entry in found.not_tributary)

    def people_at(self, site: str, role: str, at_us: int) -> list[Person]:
        """Who had a role (developer, trained_contractor, …) at the site at the instant."""
        return [self._person[e.person] for e in in_force(self._site_people[site], at_us) if e.role == role]

    def parts(self, site: str) -> list[tuple[Person, Span[SitePerson]]]:
        """Everybody who has a part in the site at any time."""
        return [(self._person[each.entry.person], each) for each in self._site_people[site]]

    def parts_of_site(self, site: str, at_us: int) -> list[tuple[str, Person]]:
        """Who had which part at the site at the instant, in the order of the file."""
        return [(e.role, self._person[e.person]) for e in in_force(self._site_people[site], at_us)]

    def officers(self, municipality: str, at_us: int) -> list[Person]:
        """The Stormwater Management Officers of a municipality at the instant, without deputies of one in office."""
        return next(iter(self._officers_by_order(municipality, at_us)), [])

    def operators(self, municipality: str, at_us: int) -> list[Person]:
        return list({person.id: person for person, _ in self._holders("operator", municipality, at_us)}.values())

    def in_roles(self, municipality: str, roles: Iterable[str], at_us: int) -> list[Person]:
        """Who holds one of some roles at the instant, in their order; of the officers those who are written to."""
        found: list[Person] = []
        for role in roles:
            held = [person for person, _ in self._holders(role, municipality, at_us)]
            found += self.officers(municipality, at_us) if role == "smo" else held
        return list({person.id: person for person in found}.values())

    def line(self, municipality: str, at_us: int) -> list[list[Person]]:
        """Who is written to first, and who next when nothing was done: officers by their order, then the operators."""
        found: list[list[Person]] = []
        for group in (*self._officers_by_order(municipality, at_us), self.operators(municipality, at_us)):
            known = {person.id for earlier in found for person in earlier}
            if fresh := [person for person in group if person.id not in known]:
                found.append(fresh)
        return found

    def _officers_by_order(self, municipality: str, at_us: int) -> list[list[Person]]:
        held = self._holders("smo", municipality, at_us)
        groups = ({person.id: person for person, order in held if order == each} for each in range(1, 10))
        return [list(group.values()) for group in groups if group]

    def _holders(self, role: str, municipality: str, at_us: int) -> list[tuple[Person, int]]:
        """Who holds a role at the instant, each with the order."""
        return [
            (person, span.entry.order)
            for person, span in self._roles
            if span.holds(at_us) and span.entry.role == role and span.entry.municipality in (None, municipality)
        ]

    def installer_of(self, node: str) -> Person | None:
        found = self._node.get(node)
        return None if found is None else self._person[found.installer]

    def last_calibration(self, datastream: str, at_us: int) -> Calibration | None:
        """The newest calibration on or before the instant's local day."""
        found = self._node.get(datastream.partition("/")[0])
        if found is None:
            return None
        zone = self.zone_of_node(found)
        done = [
            calibration
            for span in self._streams.get(datastream, ())
            for calibration in span.entry.calibrations
            if instant_us(calibration.on, zone) <= at_us
        ]
        return max(done, key=lambda calibration: calibration.on, default=None)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
