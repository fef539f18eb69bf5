"""Who and what stands where, and since when: the dated registry (registry.toml).

Every entry that can change carries `from` and `to`; what was in force at an event's time counts.
A date without a time means local midnight of the municipality. `to` is exclusive; absent means open.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from headwall.registry.dated import Dated, Entry, Said
from headwall.registry.measures import Basin, Correction, Level, Rating, Role, Tank

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
StreamName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$", max_length=32)]
DatastreamId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}/[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$")]
#: why a sensor may stand where it stands: the municipality's own land, an order, or the recorded consent of the owner
LegalBasis = Literal["municipal_land", "order", "consent"]
#: construction site, outfall of a storm sewer, septic system, sediment basin, gateway station with its own sensors
SiteKind = Literal["construction", "outfall", "septic", "basin", "station"]
TipDepth = Annotated[str, Field(pattern=r"^(0\.\d*[1-9]\d*|[1-9]\d*(\.\d+)?) (in|mm)$", description='e.g. "0.01 in"')]


class Municipality(Entry):
    id: Slug
    name: str
    profile: str  # file name in headwall/law/profiles, without .toml
    time_zone: str = "America/New_York"


class PersonRole(Dated):
    """A role in a municipality: smo (the officer), installer (of nodes), operator (of the gateway)."""

    role: Literal["smo", "installer", "operator"]
    municipality: Slug | None = None


class Person(Entry):
    id: Slug
    name: str
    email: str
    phone: str = ""
    firm: str = ""
    roles: tuple[PersonRole, ...] = ()


class SiteStatus(Dated):
    status: Literal["active", "shut_down", "stabilised", "closed"]
    by: str


class SitePerson(Dated):
    """A person's part in a site, e.g. developer or trained_contractor."""

    person: Slug
    role: Literal["developer", "trained_contractor", "owner", "site_contact"]


class SiteGauge(Dated):
    datastream: DatastreamId
    distance_m: float = Field(ge=0)


class SiteSensor(Dated):
    """A datastream that measures at the site; `of` says what for. One without `of` is kept and not computed with."""

    datastream: DatastreamId
    of: Role | None = None


class Site(Entry):
    """A place that a code asks something of. Storm reports follow the gauges of construction sites alone."""

    id: Slug
    kind: SiteKind
    name: str
    place: str
    municipality: Slug
    permit: str = ""
    status: list[SiteStatus]
    people: tuple[SitePerson, ...] = ()
    gauges: tuple[SiteGauge, ...] = ()
    sensors: tuple[SiteSensor, ...] = ()
    levels: tuple[Level, ...] = ()
    corrections: tuple[Correction, ...] = ()
    ratings: tuple[Rating, ...] = ()
    tanks: tuple[Tank, ...] = ()
    basins: tuple[Basin, ...] = ()


class Calibration(Entry):
    on: date
    by: str
    note: str = ""


class Datastream(Dated):
    """One quantity of one sensor of a node. For tips, `tip` is the depth of one tip, e.g. "0.01 in".

    It stands where its node stands, by the same right, unless it has a place and a legal basis of its own, as a probe
    in a septic tank has whose board hangs on a pole. `null_limit` nulls in a row are a fault that is told.
    """

    name: StreamName
    quantity: str
    tip: TipDepth | None = None
    place: Said | None = None
    legal_basis: LegalBasis | None = None
    legal_reference: Said | None = None
    null_limit: int = Field(default=5, gt=0, le=1000)
    calibrations: tuple[Calibration, ...] = ()
    silent_after_min: int = Field(default=60, gt=0)


class Node(Dated):
    """A board and its place. `legal_basis` says why it may stand there."""

    id: Slug
    mac: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    place: Said
    legal_basis: LegalBasis
    legal_reference: Said
    installer: Slug
    municipality: Slug | None = None  # whose local midnight its dates mean; needed where time zones differ
    datastreams: list[Datastream]


class RegistryFile(Entry):
    """The whole of registry.toml by shape alone; `load_registry` checks how it hangs together."""

    municipalities: list[Municipality]
    people: list[Person]
    nodes: list[Node]
    sites: list[Site]
