"""The kinds of provisions, each with the numbers it needs; one class serves all kinds that need the same.

A kind is what a rule asks a profile for. A code may have several provisions of a kind, and a kind that only people act
on is "information": shown, never judged.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from headwall.law.deadlines import Table
from headwall.law.provision import DepthText, Provision
from headwall.law.storm_report import StormReport

#: short name of the emergency agencies among those who are told of a release
DISPATCH: Final = "dispatch"
#: a part of a whole as the code writes it: "1/3", "50 %"
ShareText = Annotated[str, Field(pattern=r"^(\d/\d{1,2}|\d{1,2} %)$")]
AreaText = Annotated[str, Field(pattern=r"^\d{1,6}(\.\d)? (acres?|sq ft)$")]


class Plain(Provision):
    """No number of its own beyond deadlines and retention."""

    kind: Literal[
        "illicit_discharge",  # what may not reach the storm sewer
        "contaminating_activity",
        "dye_test",
        "bmp_order",
        "emergency_suspension",
        "termination",  # of access to the storm sewer, after a proposal
        "watercourse",
        "turbidity",
        "design_flow",  # what leaves a practice, against its design
        "contractor_presence",
        "contractor_certification",
        "plan_before_review",
        "plan_on_site",
        "easement",
        "monitoring_reports",
        "compliance_records",
        "work_hold",
        "stop_work",
        "occupancy",
        "variance",
        "state_permit",  # numbers stand in a permit of the State
        "nuisance",
        "information",
    ]


class DischargeApproval(Provision):
    """A discharge that somebody approves in writing."""

    kind: Literal["emergency_approval"]
    for_a_period: bool  # whether the code has it approved for a stated period


class PermittedDischarge(Provision):
    """A discharge under a State or federal permit, once somebody has approved it for the storm sewer."""

    kind: Literal["permitted_discharge"]
    granted_by: str = ""  # empty: the code does not say


class ProofOfCompliance(Provision):
    """Who has an industrial or construction permit shows that he keeps it before he may discharge."""

    kind: Literal["proof_of_compliance"]
    required: bool  # whether the code asks for it, or lets the officer ask
    accepted_by: str = Field(min_length=1)  # whose form counts


class PermitType(Table):
    name: str = Field(min_length=1)
    ends_with_state_permit: bool = False
    ends_with_change: list[Literal["owner", "use"]] = Field(default=[])  # of the premises
    transfer_by_approval: bool = False  # a new owner needs the officer's approval to keep it


class ConnectionPermit(Provision):
    """A connection to the storm sewer needs a permit of one of some types."""

    kind: Literal["connection_permit"]
    types: list[PermitType] = Field(min_length=1)


class Periodic(Provision):
    """Something that is due again and again."""

    needs: ClassVar[frozenset[str]] = frozenset({"next"})
    kind: Literal[
        "seven_day_report",
        "qualified_inspector",
        "septic_inspection",
        "pump_out_advice",
    ]
    times: int = Field(default=1, ge=1, le=7)  # how often within the period
    at_least: AreaText | None = None  # disturbed area from which on it is due
    area_of: Literal["project", "at_once"] = "project"  # all that is disturbed in its course, or what is open at a time
    only_if: str = ""  # a condition that a person declares


class ContractorTraining(Provision):
    """Training that is had once and again after so long, by those who have a part in a site."""

    needs: ClassVar[frozenset[str]] = frozenset({"next"})
    kind: Literal["trained_contractor"]
    hours: int = Field(gt=0)  # of training each time
    roles: list[Literal["trained_contractor", "qualified_inspector"]] = Field(min_length=1)


class AsBuilt(Provision):
    """Plans of what was built, handed in after final construction."""

    kind: Literal["as_built"]
    certified_by: str = Field(min_length=1)
    officer_inspects: bool = False  # the officer inspects the practices besides


class Timed(Provision):
    """A clock runs, and that is what there is to judge."""

    kind: Literal[
        "sewer_start",
        "connection_work",
        "septic_certificate",
        "project_lapse",
        "tmdl_change",
        "guarantee",
        "unpaid_costs",  # shares of costs that become a lien
        "corrective_measures",
    ]

    @model_validator(mode="after")
    def _has_a_clock(self) -> Timed:
        if not self.deadlines:
            raise ValueError(f"deadlines: {self.kind} needs at least one")
        return self


class Appeal(Provision):
    needs: ClassVar[frozenset[str]] = frozenset({"file"})
    kind: Literal["appeal"]
    heard_by: str  # as the code names it
    filed_with: str = ""  # where a decision goes


class StageNotice(Provision):
    """The officer is told before each of some stages of work."""

    needs: ClassVar[frozenset[str]] = frozenset({"notice"})
    kind: Literal["stage_notice"]
    stages: list[str] = Field(min_length=1)


class BmpLog(Provision):
    """A log of inspections and maintenance that must be kept."""

    kind: Literal["bmp_log"]

    @model_validator(mode="after")
    def _has_retention(self) -> BmpLog:
        if self.retention is None:
            raise ValueError("retention: bmp_log needs one")
        return self


class Area(Provision):
    """A disturbed area from which on something applies, or up to which work may go."""

    kind: Literal["applicability", "disturbance_ceiling"]
    area: AreaText
    #: what is smaller and part of a larger common plan: the clause holds for any; "open": its areas are added if chosen
    common_plan: Literal["", "any", "open"] = ""
    exempt: list[str] = Field(default=[])


class Conditions(Provision):
    """Named conditions of a site under which other provisions hold."""

    kind: Literal["site_conditions"]
    conditions: dict[str, str] = Field(min_length=1)


class SedimentRemoval(Provision):
    kind: Literal["sediment_removal"]
    share: ShareText  # of the design capacity that is lost


class FailingCondition(Table):
    name: Literal["backup", "surface", "connection", "liquid_level", "structure", "groundwater"]
    text: str = Field(min_length=1)


class FailingSystem(Provision):
    """A septic system fails if one of the conditions holds. A level sensor sees one of them."""

    kind: Literal["failing_system"]
    conditions: list[FailingCondition] = Field(min_length=1)
    attribution_required: bool  # whether contamination must be shown to come from the system


class SepticPumpOut(Provision):
    """Pump when scum or sludge has come that near to the bottom of the outlet baffle."""

    kind: Literal["septic_pump_out"]
    scum_clearance: DepthText
    sludge_clearance: DepthText
    only_if: str


class Certificate(Table):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,31}$")]
    text: str = Field(min_length=1)
    issued_by: str = Field(min_length=1)


class DesignCertificate(Provision):
    """Certificates at the completion of a repair or replacement."""

    kind: Literal["design_certificate"]
    certificates: list[Certificate] = Field(min_length=1)
    only_if: str = ""  # a condition that a person declares


class SewerTest(Provision):
    kind: Literal["sewer_test"]
    gallons_per_inch_mile_day: int = Field(gt=0)


class ExemptSource(Table):
    name: str = Field(min_length=1)
    only: str = ""  # the condition that the code puts to this source
    ruling: bool = False  # the code does not list it plainly: it is exempt once the officer has ruled so
    ruled_by: str = ""  # or once the municipality has chosen so: a key of law/ambiguities.toml


class Exemptions(Provision):
    """Discharges that are no illicit ones."""

    kind: Literal["exemptions"]
    sources: list[ExemptSource] = Field(min_length=1)
    condition: str = ""  # that the code puts to all of them
    lost: str = ""  # when an exemption ends, and who says so; empty: the code does not say
    plan: Literal["none", "if_asked", "always"]  # for reducing pollutants


class IllicitConnection(Provision):
    """A connection that may not be there, even if it once could."""

    kind: Literal["illicit_connection"]
    sewage_line: bool  # whether a line with sewage is named as a violation by itself
    never: dict[str, str] = Field(default={})  # connections that no approval covers, by short name


class DeviceCare(Provision):
    """Monitoring equipment that the code lets a municipality require: working, calibrated, within reach."""

    kind: Literal["device_care"]
    facilities: str = ""  # only these; empty: every property under the article


class Party(Table):
    """Somebody who is told of a release; a logged call names it by its short name."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,15}$")]
    name: str = Field(min_length=1)


class Spill(Provision):
    """Who is told of a release, how fast and by what means. The call to emergency dispatch comes first, always."""

    needs: ClassVar[frozenset[str]] = frozenset({"hazardous_call", "notice", "confirmation"})
    kind: Literal["spill_report"]
    hazardous_to: list[Party] = Field(min_length=1)  # at once
    hazardous_notice_to: list[Party] = Field(default=[])  # besides, within the deadline hazardous_notice
    nonhazardous_to: list[Party] = Field(min_length=1)
    confirmed_to: str

    @model_validator(mode="after")
    def _calls_dispatch_first(self) -> Spill:
        if self.hazardous_to[0].id != DISPATCH:
            raise ValueError(f"hazardous_to: the first is {DISPATCH}, whom every code has called at once")
        if bool(self.hazardous_notice_to) != any(each.name == "hazardous_notice" for each in self.deadlines):
            raise ValueError("hazardous_notice_to goes with a deadline named hazardous_notice")
        return self

    @property
    def parties(self) -> dict[str, Party]:
        """Everybody whom it names, by short name."""
        return {each.id: each for each in (*self.hazardous_to, *self.hazardous_notice_to, *self.nonhazardous_to)}

    @property
    def local(self) -> list[Party]:
        """Those whom it has told beside the emergency agencies: what they were told is confirmed in writing."""
        return [each for each in self.parties.values() if each.id != DISPATCH]


#: what a notice of violation may say, whatever a code's own words for it are
NoticeItem = Literal[
    "addressee",  # name and address
    "place",
    "violation",
    "remedy",  # what must be done, with a time schedule
    "penalties",
    "appeal",
    "permit",
    "eliminate",
    "cease",
    "abate",
    "monitor",
    "payment",
    "practices",
]


class Content(Table):
    """One of a notice's contents, with what the code has of it."""

    item: NoticeItem
    text: str = Field(min_length=1)


class Notice(Provision):
    """A written notice of violation."""

    kind: Literal["notice_of_violation"]
    told: list[str] = Field(min_length=1)  # who get it; the first of them must
    contents: list[Content] = Field(min_length=1)
    mandatory: bool  # whether the code demands every one of them, or allows them
    warns: list[str] = Field(default=[])  # what it must say where it sets a time for abatement
    served_by: list[str] = Field(default=[])  # all that the code asks for; empty: it does not say


class Tier(Table):
    offence: Literal[1, 2, 3]  # 3: third or later
    fine_min: int = Field(default=0, ge=0)
    fine_max: int = Field(gt=0)
    jail_max: str = ""  # "15 days"; empty: none


class Penalty(Provision):
    """Ranges by offence. Shown to the officer alone; no finding of guilt."""

    kind: Literal["penalty"]
    tiers: list[Tier] = Field(min_length=1)
    window_years: int | None = Field(default=None, gt=0)  # all offences of a higher tier lie within
    continues_by: Literal["day", "week"]  # each is a further offence
    label: str

    @model_validator(mode="after")
    def _tiers_rise(self) -> Penalty:
        offences = [tier.offence for tier in self.tiers]
        if offences != list(range(1, len(offences) + 1)):
            raise ValueError("tiers: offences must be written from 1 on, in order")
        if any(tier.fine_min > tier.fine_max for tier in self.tiers):
            raise ValueError("tiers: fine_min is more than fine_max")
        if (len(offences) > 1) != (self.window_years is not None):
            raise ValueError("window_years: needed with several tiers, and only with them")
        return self


class AlternativeRemedies(Provision):
    kind: Literal["alternative_remedies"]
    recommended_by: str = ""
    agreed_by: str
    conditions: list[str] = Field(default=[])
    remedies: list[str] = Field(default=[])


class CostRecovery(Provision):
    """What an abatement cost, told to the owner, protested, charged."""

    needs: ClassVar[frozenset[str]] = frozenset({"tell", "protest", "interest"})
    kind: Literal["cost_recovery"]
    payments_max: int = Field(gt=0)
    interest_percent: Annotated[str, Field(pattern=r"^\d{1,2}(\.\d)?$")]  # a year
    interest_cap: str = ""
    lien_after: list[Literal["appeal", "protest"]] = Field(
        min_length=1
    )  # whose time must be over; of two, both readings


class Escrow(Provision):
    needs: ClassVar[frozenset[str]] = frozenset({"restore"})
    kind: Literal["escrow"]
    share: ShareText  # of the first deposit, down to which the balance may fall


AnyProvision = Annotated[
    StormReport
    | Plain
    | DischargeApproval
    | PermittedDischarge
    | ProofOfCompliance
    | ConnectionPermit
    | Periodic
    | ContractorTraining
    | AsBuilt
    | Timed
    | Appeal
    | StageNotice
    | BmpLog
    | Area
    | Conditions
    | SedimentRemoval
    | FailingSystem
    | SepticPumpOut
    | DesignCertificate
    | SewerTest
    | Exemptions
    | IllicitConnection
    | DeviceCare
    | Spill
    | Notice
    | Penalty
    | AlternativeRemedies
    | CostRecovery
    | Escrow,
    Field(discriminator="kind"),
]
