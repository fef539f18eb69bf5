"""Who and what stands where, and since when: the dated registry (registry.toml).

Every entry that can change carries `from` and `to`; what was in force at an event's time counts.
A date without a time means local midnight of the municipality. `to` is exclusive; absent means open.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
StreamName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$", max_length=32)]
DatastreamId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}/[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$")]
#: a text that says something
Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
#: why a sensor may stand where it stands: the municipality's own land, an order, or the recorded consent of the owner
LegalBasis = Literal["municipal_land", "order", "consent"]
#: construction site, outfall of a storm sewer, septic system, sediment basin, gateway station with its own sensors
SiteKind = Literal["construction", "outfall", "septic", "basin", "station"]
TipDepth = Annotated[str, Field(pattern=r"^(0\.\d*[1-9]\d*|[1-9]\d*(\.\d+)?) (in|mm)$", description='e.g. "0.01 in"')]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Dated(_Entry):
    """Something in force from an instant to (not including) another."""

    valid_from: datetime | date = Field(alias="from")
    valid_to: datetime | date | None = Field(default=None, alias="to")


class Municipality(_Entry):
    id: Slug
    name: str
    profile: str  # file name in headwall/law/profiles, without .toml
    time_zone: str = "America/New_York"


class PersonRole(Dated):
    """A role in a municipality: smo (the officer), installer (of nodes), operator (of the gateway)."""

    role: Literal["smo", "installer", "operator"]
    municipality: Slug | None = None


class Person(_Entry):
    id: Slug
    name: str
    email: str
    phone: str = ""
    firm: str = ""
    roles: list[PersonRole] = []


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
    """A datastream that measures at the site; `of` says what, where a site has several alike, e.g. "scum"."""

    datastream: DatastreamId
    of: str = ""


class Site(_Entry):
    """A place that a code asks something of. Rules follow the gauges of construction sites."""

    id: Slug
    kind: SiteKind
    name: str
    place: str
    municipality: Slug
    permit: str = ""
    status: list[SiteStatus]
    people: list[SitePerson] = []
    gauges: list[SiteGauge] = []
    sensors: list[SiteSensor] = []


class Calibration(_Entry):
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
    calibrations: list[Calibration] = []
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


class RegistryFile(_Entry):
    """The whole of registry.toml by shape alone; `load_registry` checks how it hangs together."""

    municipalities: list[Municipality]
    people: list[Person]
    nodes: list[Node]
    sites: list[Site]
