"""What must hold between the entries of a registry. Each check adds one line a fault; none stops at the first."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headwall.errors import ConfigurationError, InputError
from headwall.law.profile import Profile, load_profile
from headwall.registry.dated import Dated
from headwall.registry.measures import NEEDED_BY, QUANTITIES_OF, Level
from headwall.registry.model import Municipality, Node, Person, RegistryFile, Site
from headwall.registry.project import dated_parts, faults_by_code
from headwall.registry.spans import span_of
from headwall.wire.contract import UNIT_OF

#: one plain address (RFC 5321, 4.1.2, without quoted names, literal addresses and non-ASCII), as long as one may be
_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", re.ASCII)
_ADDRESS_CHARS = 254


def faults_of(file: RegistryFile) -> list[str]:
    """Every fault of a registry that is right by shape; empty when it holds together."""
    faults: list[str] = []
    if not file.municipalities:
        return ["municipalities: at least one [[municipalities]] is needed"]
    _check_duplicates(file, faults)
    zones = _zones(file.municipalities, faults)
    for municipality in file.municipalities:
        try:
            load_profile(municipality.profile)
        except ConfigurationError as error:
            faults.extend(f"municipality {municipality.id}, {error.source}: {fault}" for fault in error.faults)
    context = _Context(file, zones, faults)
    for person in file.people:
        context.check_person(person)
    for node in file.nodes:
        context.check_node(node)
    for site in file.sites:
        context.check_site(site)
    return faults


def _faults_of_level(level: Level, site: Site) -> Iterable[str]:
    """What a level needs of the site's sensors and lacks."""
    quantity = {"level": "level", "pressure": "pressure"}.get(level.method, "distance")
    own = [sensor for sensor in site.sensors if sensor.of == level.of]
    if not own:
        yield f"no sensor of this site has of = {level.of!r}"
    for sensor in own:
        if sensor.datastream.rpartition(".")[2] != quantity:
            yield f"method {level.method} takes a {quantity}, and {sensor.datastream} is none"
    needed = {
        "air_pressure": (level.method == "pressure", "method pressure, whose readings hold the air's"),
        "air_temperature": (
            level.assumed_air_c is not None,
            "assumed_air_c; leave that out where the range corrects itself",
        ),
        "water_temperature": (level.assumed_sound_m_s is not None, "assumed_sound_m_s"),
    }
    for role, (is_needed, why) in needed.items():
        if is_needed and not any(sensor.of == role for sensor in site.sensors):
            yield f"needs a sensor with of = {role!r}, for {why}"


def _check_duplicates(file: RegistryFile, faults: list[str]) -> None:
    groups: dict[str, Iterable[str]] = {
        "municipality id": (entry.id for entry in file.municipalities),
        "person id": (entry.id for entry in file.people),
        "node id": (entry.id for entry in file.nodes),
        "site id": (entry.id for entry in file.sites),
        "node mac": (entry.mac for entry in file.nodes),
    }
    for what, values in groups.items():
        faults.extend(f"{what} {value!r} stands {n} times" for value, n in Counter(values).items() if n > 1)


def _zones(municipalities: Sequence[Municipality], faults: list[str]) -> dict[str, ZoneInfo]:
    zones = {}
    for entry in municipalities:
        try:
            zones[entry.id] = ZoneInfo(entry.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            faults.append(
                f"municipality {entry.id}: unknown time zone {entry.time_zone!r}; write a name such as America/New_York"
            )
            zones[entry.id] = ZoneInfo("UTC")  # so that the other checks can go on
    return zones


class _Context:
    """The whole file, while its entries are checked against it."""

    def __init__(self, file: RegistryFile, zones: dict[str, ZoneInfo], faults: list[str]) -> None:
        self._zones = zones
        self._faults = faults
        self._profiles = {entry.id: entry.profile for entry in file.municipalities}
        self._people = {entry.id for entry in file.people}
        self._streams = {f"{node.id}/{stream.name}" for node in file.nodes for stream in node.datastreams}
        self._one_zone = len({entry.time_zone for entry in file.municipalities}) == 1
        self._default_zone = zones[file.municipalities[0].id]

    def check_person(self, person: Person) -> None:
        self._check_reachable(person)
        groups: dict[tuple[str, str | None], list[Dated]] = defaultdict(list)
        for role in person.roles:
            if role.role == "smo" and role.municipality is None:
                self._faults.append(f"person {person.id}, role smo: needs `municipality`")
            groups[role.role, role.municipality].append(role)
        for (name, municipality), roles in groups.items():
            where = f"person {person.id}, role {name}" + (f" in {municipality}" if municipality else "")
            self._check_periods(roles, self._zone(municipality, where), where)

    def _check_reachable(self, person: Person) -> None:
        """A name and an address that mail can carry as they are: an address is ASCII, its domain in punycode."""
        if not person.name.strip() or not person.name.isprintable():
            self._faults.append(f"person {person.id}, name: {person.name!r} is no name; write one line of text")
        if not _ADDRESS.fullmatch(person.email) or len(person.email) > _ADDRESS_CHARS:
            said = f"{person.email!r} is no address; write one, such as smo@village.example"
            self._faults.append(f"person {person.id}, email: {said}")

    def check_node(self, node: Node) -> None:
        where = f"node {node.id}"
        zone = self._zone(node.municipality, where)
        self._check_person_exists(node.installer, f"{where}, installer")
        self._check_periods([node], zone, where)
        groups: dict[str, list[Dated]] = defaultdict(list)
        for stream in node.datastreams:
            name = f"{where}, datastream {stream.name}"
            groups[name].append(stream)
            self._check_periods(stream.off, zone, f"{name}, off")
            if stream.quantity == "tips" and stream.tip is None:
                self._faults.append(f'{name}: needs `tip`, the depth of one tip, e.g. tip = "0.01 in"')
            if stream.quantity not in UNIT_OF:
                self._faults.append(f"{name}: no quantity {stream.quantity!r}; there are {', '.join(sorted(UNIT_OF))}")
            own = (stream.place, stream.legal_basis, stream.legal_reference)
            if any(own) and not all(own):
                self._faults.append(
                    f"{name}: a place of its own needs `place`, `legal_basis` and `legal_reference`, all three"
                )
            if not stream.name.endswith(f".{stream.quantity}"):
                self._faults.append(f"{name}: the name must end in its quantity, .{stream.quantity}")
        self._check_groups(groups, zone)

    def check_site(self, site: Site) -> None:
        where = f"site {site.id}"
        zone = self._zone(site.municipality, where)
        if not site.status:
            self._faults.append(f"{where}: needs at least one status with `from` and `by`")
        self._check_periods(site.status, zone, f"{where}, status")
        groups: dict[str, list[Dated]] = defaultdict(list)
        for part in site.people:
            self._check_person_exists(part.person, f"{where}, {part.role}")
            groups[f"{where}, {part.role} {part.person}"].append(part)
        self._check_measures(site, groups, where)
        for what, entries in (("gauge", site.gauges), ("sensor", site.sensors)):
            for entry in entries:
                if entry.datastream not in self._streams:
                    self._faults.append(f"{where}: no datastream {entry.datastream!r} on any node")
                groups[f"{where}, {what} {entry.datastream}"].append(entry)
        self._check_groups(groups, zone)
        for gauge in site.gauges:
            if gauge.role == "backup" and not any(other.role == "primary" for other in site.gauges):
                self._faults.append(f"{where}, gauge {gauge.datastream}: a backup needs a primary gauge at the site")

    def _check_measures(self, site: Site, groups: dict[str, list[Dated]], where: str) -> None:
        """What is computed of a site's sensors: one way at a time, from sensors that give what it needs."""
        roles = {sensor.of for sensor in site.sensors}
        for sensor in site.sensors:
            quantity = sensor.datastream.rpartition(".")[2]
            if sensor.of is not None:
                groups[f"{where}, sensor of {sensor.of}"].append(sensor)
                if quantity not in QUANTITIES_OF[sensor.of]:
                    fitting = " or ".join(QUANTITIES_OF[sensor.of])
                    self._faults.append(f"{where}: {sensor.datastream} cannot be its {sensor.of}, which is a {fitting}")
        for level in site.levels:
            groups[f"{where}, level of {level.of}"].append(level)
            self._faults.extend(f"{where}, level of {level.of}: {fault}" for fault in _faults_of_level(level, site))
        for rating in site.ratings:
            missing = NEEDED_BY.get(rating.method, "stage")
            if missing not in roles:
                self._faults.append(f"{where}, rating {rating.method}: no sensor of this site has of = {missing!r}")
            if missing == "stage" and not any(level.of == "stage" for level in site.levels):
                self._faults.append(f"{where}, rating {rating.method}: needs [[sites.levels]] with of = 'stage'")
        groups[f"{where}, rating"] += site.ratings
        groups[f"{where}, tank"] += site.tanks
        groups[f"{where}, basin"] += site.basins
        groups[f"{where}, not tributary"] += site.not_tributary
        groups[f"{where}, design flow"] += site.design_flows
        if site.design_flows and not (site.ratings or "flow" in roles):
            self._faults.append(f"{where}: a design flow needs a flow to compare: `ratings`, or a sensor of flow")
        self._check_projects(site, groups, where)
        for correction in site.corrections:
            self._check_periods(
                [correction], self._zones.get(site.municipality, self._default_zone), f"{where}, correction"
            )
        for kind, entries in (("septic", site.tanks), ("basin", site.basins)):
            if entries and site.kind != kind:
                self._faults.append(f"{where}: {'`tanks`' if kind == 'septic' else '`basins`'} are of {kind} sites")

    def _check_projects(self, site: Site, groups: dict[str, list[Dated]], where: str) -> None:
        """What a project says in the words of its code has to be there, and its dated parts must not overlap."""
        groups[f"{where}, project"] += site.projects
        if site.projects and site.kind != "construction":
            self._faults.append(f"{where}: `projects` are of construction sites")
        for project in site.projects:
            name = f"{where}, project {project.name!r}"
            for part, entries in dated_parts(project).items():
                groups[f"{name}, {part}"] += entries
            for guarantee in project.guarantees:
                groups[f"{name}, guarantee {guarantee.reference}"].append(guarantee)
            self._faults.extend(f"{name}, {fault}" for fault in faults_by_code(project, self._profile(site)))

    def _profile(self, site: Site) -> Profile | None:
        """The code of a site; None where it cannot be read, which is told elsewhere."""
        try:
            return load_profile(self._profiles[site.municipality])
        except (KeyError, ConfigurationError):
            return None

    def _zone(self, municipality: str | None, where: str) -> ZoneInfo:
        if municipality is None:
            if not self._one_zone:
                self._faults.append(f"{where}: needs `municipality`, since the municipalities differ in time zone")
            return self._default_zone
        if municipality not in self._zones:
            self._faults.append(f"{where}: no municipality {municipality!r}")
        return self._zones.get(municipality, self._default_zone)

    def _check_person_exists(self, person: str, where: str) -> None:
        if person not in self._people:
            self._faults.append(f"{where}: no person {person!r} under [[people]]")

    def _check_groups(self, groups: Mapping[str, Sequence[Dated]], zone: ZoneInfo) -> None:
        for where, entries in groups.items():
            self._check_periods(entries, zone, where)

    def _check_periods(self, entries: Sequence[Dated], zone: ZoneInfo, where: str) -> None:
        """Each period must have a length, and no two may overlap."""
        spans = []
        for entry in entries:
            try:
                span = span_of(entry, zone)
            except InputError as error:
                self._faults.append(f"{where}: {error}")
                continue
            if span.end_us is not None and span.end_us <= span.start_us:
                self._faults.append(f"{where}: `to` {entry.valid_to} is not after `from` {entry.valid_from}")
            spans.append(span)
        for one, other in combinations(spans, 2):
            if one.overlaps(other):
                self._faults.append(
                    f"{where}: the periods from {one.entry.valid_from} and from {other.entry.valid_from} overlap"
                )
