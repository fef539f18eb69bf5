"""Who and what stands where, and since when: the dated registry (registry.toml).

Every entry that can change carries `from` and `to`; what was in force at an event's time counts.
A date without a time means local midnight of the municipality. `to` is exclusive; absent means open.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
StreamName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$", max_length=32)]
DatastreamId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}/[a-z0-9][a-z0-9_]*\.[a-z0-9_]+$")]
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


class Site(_Entry):
    id: Slug
    kind: Literal["construction"]
    name: str
    place: str
    municipality: Slug
    permit: str = ""
    status: list[SiteStatus]
    people: list[SitePerson] = []
    gauges: list[SiteGauge] = []


class Calibration(_Entry):
    on: date
    by: str
    note: str = ""


class Datastream(Dated):
    """One quantity of one sensor of a node. For tips, `tip` is the depth of one tip, e.g. "0.01 in"."""

    name: StreamName
    quantity: str
    tip: TipDepth | None = None
    calibrations: list[Calibration] = []
    silent_after_min: int = Field(default=60, gt=0)


class Node(Dated):
    """A board and its place. `legal_basis` says why it may stand there."""

    id: Slug
    mac: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    place: str
    legal_basis: Literal["municipal_land", "order", "consent"]
    legal_reference: str
    installer: Slug
    municipality: Slug | None = None  # whose local midnight its dates mean; needed where time zones differ
    datastreams: list[Datastream]


class RegistryFile(_Entry):
    """The whole of registry.toml by shape alone; `load_registry` checks how it hangs together."""

    municipalities: list[Municipality]
    people: list[Person]
    nodes: list[Node]
    sites: list[Site]
