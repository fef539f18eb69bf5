"""Who and what stands where, and since when: the dated registry (registry.toml).

Every entry that can change carries `from` and `to`; what was in force at an event's time counts.
A date without a time means local midnight of the municipality. `to` is exclusive; absent means open.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from headwall.registry.dated import MOST_MIN, Dated, Entry, Said
from headwall.registry.measures import Basin, Correction, DesignFlow, Level, Rating, Role, SizeM, Tank
from headwall.registry.project import Project

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
    """A role in a municipality: smo (the officer), installer (of nodes), operator (of the gateway).

    Officers of `order` 1 are written to; those of a higher one, the deputies, when nothing was done in time, or while
    nobody of a lower one is in office.
    """

    role: Literal["smo", "installer", "operator"]
    municipality: Slug | None = None
    order: int = Field(default=1, ge=1, le=9)


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
    role: Literal[
        "applicant", "developer", "owner", "site_contact", "trained_contractor", "qualified_inspector", "engineer"
    ]


class SiteGauge(Dated):
    """A rain gauge that counts for a site. A backup counts where the primaries do not speak."""

    datastream: DatastreamId
    distance_m: float = Field(ge=0)
    role: Literal["primary", "backup"] = "primary"


class SiteSensor(Dated):
    """A datastream that measures at the site; `of` says what for. One without `of` is kept and not computed with."""

    datastream: DatastreamId
    of: Role | None = None


class NotTributary(Dated):
    """A time in which the ground of a site does not drain to the municipality's storm sewer, as the officer says."""

    by: Said
    reason: Said


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
    design_flows: tuple[DesignFlow, ...] = ()
    not_tributary: tuple[NotTributary, ...] = ()
    projects: tuple[Project, ...] = ()


class Calibration(Entry):
    on: date
    by: str
    note: str = ""


class DoubtLimits(Entry):
    """From when on the rain of a gauge is doubted: Headwall's own numbers, to be set by what a gauge has shown.

    Attributes:
        liquid_c: below it an unheated gauge shows liquid only; for melt_h after such cold its rain may be melting snow.
        temperature_min: so near in time an air temperature counts.
        frost_months: in these, an air temperature that is missing is a doubt.
        neighbour: another gauge of the same place has had so much rain while this one shows none.
        stage_rise: the stage of the same place has risen by so much while the gauge shows none.
        tail_tips, tail_evenness, tail_slower_min: a storm that ends in so many tips, as even as this (0 is a clock) and
            longer than this apart, is water that seeps through a clogged funnel.
        backup_percent: a backup that caught a storm by so much more or less, and by more than two tips, disagrees.
    """

    liquid_c: float = Field(default=2.0, ge=-5, le=10)
    melt_h: float = Field(default=24, ge=0, le=240)
    temperature_min: int = Field(default=60, gt=0, le=1440)
    frost_months: tuple[Annotated[int, Field(ge=1, le=12)], ...] = (11, 12, 1, 2, 3, 4)
    neighbour: TipDepth = "0.2 in"
    stage_rise: SizeM = 0.15
    tail_tips: int = Field(default=10, ge=3, le=100)
    tail_evenness: float = Field(default=0.15, gt=0, lt=1)
    tail_slower_min: float = Field(default=5, gt=0)
    backup_percent: int = Field(default=25, ge=1, le=100)


class OffTime(Dated):
    """A time in which a sensor is known not to measure, as a rain gauge without heater in winter."""

    reason: Said


class Datastream(Dated):
    """One quantity of one sensor of a node. For tips, `tip` is the depth of one tip, e.g. "0.01 in".

    It stands where its node stands, by the same right, unless it has a place and a legal basis of its own, as a probe
    in a septic tank has whose board hangs on a pole. `null_limit` nulls in a row are a fault that is told. A gauge that
    is `heated` melts what falls; `most_tips` is what one reading of a logger's counter can show at most. Readings in
    its times `off` are kept and not judged, and its silence then is no fault. It is to be calibrated
    `calibrate_every_days` after the last time.
    """

    name: StreamName
    quantity: str
    tip: TipDepth | None = None
    place: Said | None = None
    legal_basis: LegalBasis | None = None
    legal_reference: Said | None = None
    null_limit: int = Field(default=5, gt=0, le=1000)
    calibrations: tuple[Calibration, ...] = ()
    calibrate_every_days: int | None = Field(default=None, gt=0, le=3660)
    silent_after_min: int = Field(default=60, gt=0, le=MOST_MIN)
    off: tuple[OffTime, ...] = ()
    heated: bool = False
    most_tips: int | None = Field(default=None, gt=0)
    doubts: DoubtLimits = DoubtLimits()


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
