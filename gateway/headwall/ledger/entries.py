"""Entries: what a person measured or did at a place, beside the readings. A dated layer, kept as it was told.

The body is a struct of this module by its kind. Lengths and volumes are decimal text with a unit, such as "3 in", so
that they stay as they were read; `headwall.units` turns them into numbers where they are used. An entry is never
changed: a later one that names it in `replaces` stands in its stead, and a Withdrawal stands for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import replacing, schema
from headwall.ledger.unreadable import Unreadable, read_rows

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Text = Annotated[str, msgspec.Meta(max_length=2000)]
#: by which entries about the same thing find each other
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=44)]
_Decimal = Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}(\.\d{1,12})?$")]
#: money: "120" or "120.50"
Dollars = Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}(\.\d{2})?$")]
#: a result of a test: a number, "<0.05" below what the test detects, ">10" beyond it
_Result = Annotated[str, msgspec.Meta(pattern=r"^[<>]?\d{1,9}(\.\d{1,12})?$")]
#: a number, below 0 where the thing may be, and a unit of headwall.units
Measure = Annotated[str, msgspec.Meta(pattern=r"^-?\d{1,9}(\.\d{1,12})? [A-Za-z][A-Za-z0-9]{0,3}$")]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What an entry says; the tag is its kind."""

    note: _Text = ""


class SnowWater(Body, frozen=True, kw_only=True, tag="snow_water"):
    """Water of snow or of its melt, measured by hand at a gauge that cannot: subject NODE/STREAM, done at its end.

    Attributes:
        depth: water, not snow: "0.42 in".
        start_us, end_us: over what time it came.
    """

    depth: Measure
    start_us: int
    end_us: int

    def __post_init__(self) -> None:
        if not self.start_us < self.end_us:
            raise ValueError("snow water must end after it begins")


class PumpOut(Body, frozen=True, kw_only=True, tag="pump_out"):
    """A septic tank was emptied: subject a site. Scum and sludge begin anew.

    Attributes:
        found: cracks, leaks, blockages, as the hauler saw the empty tank.
    """

    hauler: _Text = ""
    volume: Measure | None = None
    found: _Text = ""


class SepticMeasurement(Body, frozen=True, kw_only=True, tag="septic_measurement"):
    """What a stick found in a septic tank: subject a site; any of it, but something.

    Attributes:
        scum_clearance: from the bottom of the scum down to the end of the outlet baffle, below 0 under it.
        scum_bottom: the same as depth of the scum's bottom below the outlet invert; one of the two.
        no_scum: the look found none.
        sludge: its thickness.
        liquid: its level above the outlet invert, below 0 under it.
    """

    scum_clearance: Measure | None = None
    scum_bottom: Measure | None = None
    no_scum: bool = False
    sludge: Measure | None = None
    liquid: Measure | None = None

    def __post_init__(self) -> None:
        scum = (self.scum_clearance is not None) + (self.scum_bottom is not None) + self.no_scum
        if scum > 1:
            raise ValueError("scum is told once: its clearance, its bottom, or that there is none")
        if not scum and self.sludge is None and self.liquid is None:
            raise ValueError("a measurement of a septic tank needs scum, sludge or liquid")


class SepticRepair(Body, frozen=True, kw_only=True, tag="septic_repair"):
    """A septic system was repaired or replaced: subject a site, done at its completion.

    Attributes:
        designer: the design professional.
    """

    work: Literal["repair", "replacement"]
    designer: _Text = ""


class SepticCertificate(Body, frozen=True, kw_only=True, tag="septic_certificate"):
    """A certificate for the repair or replacement before it came in: subject a site, done when it came.

    Attributes:
        certificate: which one, by its name in the clause.
        reference: by which it is found.
    """

    certificate: _Line
    issued_by: _Line
    reference: _Line


class SedimentRemoved(Body, frozen=True, kw_only=True, tag="sediment_removed"):
    """Sediment was taken out of a trap or basin: subject a site. It fills anew."""

    volume: Measure | None = None
    taken_to: _Text = ""


class SedimentSurvey(Body, frozen=True, kw_only=True, tag="sediment_survey"):
    """Sediment of a basin, surveyed by hand: subject a site.

    Attributes:
        depth: of the sediment above the basin's floor, a mean over its area.
    """

    depth: Measure


class FieldSample(Body, frozen=True, kw_only=True, tag="field_sample"):
    """Water of an outfall, taken and tested by hand: subject a site; any of it, but something.

    Attributes:
        ammonia: as nitrogen, mg/L; as are potassium, fluoride and detergents.
        conductivity: µS/cm.
        turbidity: NTU.
    """

    ammonia: _Result | None = None
    potassium: _Result | None = None
    fluoride: _Result | None = None
    detergents: _Result | None = None
    ph: _Result | None = None
    conductivity: _Result | None = None
    turbidity: _Result | None = None

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in self.__struct_fields__ if name != "note"):
            raise ValueError("a sample needs one result or more")


class SewerRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run of pipe in a leakage test, main or house connection: inner diameter in inches, length in feet."""

    diameter_in: _Decimal
    length_ft: _Decimal


class SewerTest(Body, frozen=True, kw_only=True, tag="sewer_test"):
    """The leakage test of a new sewer, with its result as it was computed: subject its site, or else its name.

    Attributes:
        sewer: its name, where the subject is a site.
        method: which way the water went.
        allowance: gallons per inch of diameter, mile and day: the code's number.
        hours, leaked_gal, allowed_gal: of the test.
        certified_by: the licensed engineer.
    """

    method: Literal["infiltration", "exfiltration"]
    pipes: Annotated[list[SewerRun], msgspec.Meta(min_length=1, max_length=500)]
    hours: _Decimal
    leaked_gal: _Decimal
    allowance: _Decimal
    allowed_gal: _Decimal
    passed: bool
    certified_by: _Line
    sewer: Annotated[str, msgspec.Meta(max_length=44)] = ""


class Offence(Body, frozen=True, kw_only=True, tag="offence"):
    """An offence in the register of a municipality: subject the municipality, done when it was committed.

    Attributes:
        provision: id of the clause that was broken.
        convicted_us: None: nobody was convicted of it.
    """

    violator: _Line
    provision: _Line
    reference: _Line
    convicted_us: int | None = None


class AlternativeRemedy(Body, frozen=True, kw_only=True, tag="alternative_remedy"):
    """A remedy in the stead of a penalty: subject a site. Persons have recommended it and agreed to it.

    Attributes:
        provision: id of the clause that allows it.
        recommended_by: empty where the code asks for nobody's recommendation.
        conditions: of the code's, in its order, how each was found to be met.
    """

    case: int
    violator: _Line
    provision: _Line
    remedy: _Line
    agreed_by: _Line
    recommended_by: _Text = ""
    conditions: list[_Line] = []


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who has signed a report, and as what."""

    name: _Line
    role: Literal["trained_contractor", "qualified_inspector", "applicant", "developer", "representative"]


class SiteReport(Body, frozen=True, kw_only=True, tag="site_report"):
    """The report of an inspection of a construction site's controls: subject a site, done when it was completed.

    Attributes:
        visited_us: when the site was looked at.
        signed: by whom and as what, who visited first.
        found: what was found of the controls.
        delivered_us, delivered_to, means, delivery_by: of its delivery to the officer, and who says so; absent: not
            yet, or not asked for.
        in_log_book: a copy is in the log book at the site.
        attachments: files of the log book, by SHA-256.
    """

    visited_us: int
    signed: Annotated[list[Signature], msgspec.Meta(min_length=1, max_length=5)]
    found: _Text = ""
    delivered_us: int | None = None
    delivered_to: _Text = ""
    means: _Text = ""
    delivery_by: _Text = ""
    in_log_book: bool = False
    attachments: list[_Line] = []

    def __post_init__(self) -> None:
        if (self.delivered_us is None) != (not self.delivered_to):
            raise ValueError("a delivery has a time and who got it, both")
        if len({each.role for each in self.signed}) != len(self.signed):
            raise ValueError("a report is signed once as one and the same")


class Presence(Body, frozen=True, kw_only=True, tag="presence"):
    """Who was at a construction site on a day: subject a site, done on that day.

    Attributes:
        day: local, as ISO has it.
        work: there was construction, grading or other disturbance of soil.
        contractors: trained contractors who were there.
    """

    day: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    work: bool
    contractors: list[_Line] = []


class PlanSeen(Body, frozen=True, kw_only=True, tag="plan_seen"):
    """Whether a copy of the SWPPP was found at a construction site: subject a site, done when it was looked for."""

    there: bool


class Connection(Body, frozen=True, kw_only=True, tag="connection"):
    """A connection to the storm sewer as it was found, also one of long ago: subject a site.

    Attributes:
        name: which one, the same in each entry about it.
        what: sewage, or a drain: `commercial_drain` of commercial or industrial use.
        documented: on a plan, map or like record that the municipality has approved.
        approved: by which permit or plan; empty: not.
        since: when it was made, as far as anybody knows.
        removed: it is there no longer.
    """

    name: _Line
    what: Literal["sewage", "indoor_drain", "interior_floor_drain", "trench_drain", "commercial_drain", "other"]
    documented: bool = False
    approved: _Text = ""
    since: _Text = ""
    removed: bool = False


class Maintenance(Body, frozen=True, kw_only=True, tag="maintenance"):
    """Monitoring equipment was maintained: subject NODE/STREAM."""

    work: _Line


class Obstruction(Body, frozen=True, kw_only=True, tag="obstruction"):
    """Something is in the way of whoever inspects or samples: subject a site.

    Attributes:
        what: which, the same in each entry about it.
        step: its removal was asked for, or it was removed.
        means: in writing, by word of mouth.
    """

    what: _Line
    step: Literal["asked", "removed"]
    means: _Text = ""


class Training(Body, frozen=True, kw_only=True, tag="training"):
    """Training in erosion and sediment control: subject a person of the registry, done when it was had.

    Attributes:
        hours: of training.
        endorsed_by: who endorsed it.
        credential: who qualifies as a qualified inspector by himself needs no training; names it, "" else.
    """

    hours: _Decimal
    endorsed_by: _Text = ""
    credential: _Text = ""
    reference: _Line


class Certification(Body, frozen=True, kw_only=True, tag="certification"):
    """A contractor has signed the certification of a site's SWPPP: subject a site, done when it was signed.

    Attributes:
        person: who signed, a person of the registry, or a name.
        title, firm: with address and telephone.
    """

    person: _Line
    title: _Line
    firm: _Line


class StageTold(Body, frozen=True, kw_only=True, tag="stage_told"):
    """Notice of a stage of work: subject a site, done when it was given.

    Attributes:
        stage: in the words of the code.
        told_to: who got it.
    """

    stage: _Line
    told_to: _Line
    means: _Text = ""


class Milestone(Body, frozen=True, kw_only=True, tag="milestone"):
    """A step of a project or of premises that a clause looks for: subject a site, done when it was taken.

    Attributes:
        step: one of `rules.clauses.milestones.STEPS`.
        reference: by which it is found: a letter, a plan, recording data.
        certified_by: who certified or decided it, where that is not who enters it.
    """

    step: _Line
    reference: _Line
    certified_by: _Text = ""


class Escrow(Body, frozen=True, kw_only=True, tag="escrow"):
    """Money goes into a review escrow or out of it: subject a site.

    Attributes:
        move: the first deposit stands in the registry.
    """

    move: Literal["deposit", "withdrawal", "refund"]
    amount: Dollars
    reference: _Line


class CostStatement(Body, frozen=True, kw_only=True, tag="cost_statement"):
    """Statements of what the municipality's maintenance cost went to the lots: subject a site, done when issued.

    Attributes:
        amount: of all bills.
        lots: which bear it, in equal shares.
        means: how they went.
    """

    amount: Dollars
    lots: Annotated[list[_Name], msgspec.Meta(min_length=1, max_length=500)]
    reference: _Name
    means: _Text = ""

    def __post_init__(self) -> None:
        if len(set(self.lots)) != len(self.lots):
            raise ValueError("lots: each stands once")


class CostPayment(Body, frozen=True, kw_only=True, tag="cost_payment"):
    """A lot has paid: subject a site.

    Attributes:
        statement: reference of the statement.
    """

    statement: _Name
    lot: _Name
    amount: Dollars


class SewerJob(Body, frozen=True, kw_only=True, tag="sewer_job"):
    """The job of a new sanitary sewer: subject a site, done when it was planned.

    Attributes:
        sewer: which, the same in its steps, tests and variances; of several entries the last counts.
        starts_us: when it is to start.
    """

    sewer: _Name
    starts_us: int


class SewerStep(Body, frozen=True, kw_only=True, tag="sewer_step"):
    """What comes before a sewer job: subject a site, done when it came.

    Attributes:
        to: who got it.
    """

    sewer: _Name
    step: Literal["notice", "cut_sheets"]
    to: _Line
    means: _Text = ""


class Variance(Body, frozen=True, kw_only=True, tag="variance"):
    """A number of a code that was varied for one case: subject a site, done when it was decided.

    Attributes:
        provision: id of the clause whose number it is.
        sewer: for which sewer job.
        value: the number in the stead of the code's, in its unit.
        decided_by: by the code's own body.
    """

    provision: _Line
    sewer: _Name
    value: _Decimal
    decided_by: _Line
    reference: _Line


class MonitoringOrder(Body, frozen=True, kw_only=True, tag="monitoring_order"):
    """The officer asks for monitoring and reports: subject a site, done when it was ordered.

    Attributes:
        what: is monitored.
        every_days: a report is due so often.
        until_us: when it ends.
        order: by which it is found.
    """

    what: _Line
    order: _Name
    every_days: Annotated[int, msgspec.Meta(ge=1, le=3660)]
    until_us: int | None = None


class MonitoringReport(Body, frozen=True, kw_only=True, tag="monitoring_report"):
    """A report that an order asks for: subject a site, done when it came."""

    order: _Name
    reference: _Line


class Withdrawal(Body, frozen=True, kw_only=True, tag="withdrawal"):
    """An entry was a mistake: what it replaces stands no more."""

    reason: _Line


AnyBody = (
    SnowWater
    | PumpOut
    | SepticMeasurement
    | SepticRepair
    | SepticCertificate
    | SedimentRemoved
    | SedimentSurvey
    | FieldSample
    | SewerTest
    | Offence
    | AlternativeRemedy
    | SiteReport
    | Presence
    | PlanSeen
    | Connection
    | Maintenance
    | Obstruction
    | Training
    | Certification
    | StageTold
    | Milestone
    | Escrow
    | CostStatement
    | CostPayment
    | SewerJob
    | SewerStep
    | Variance
    | MonitoringOrder
    | MonitoringReport
    | Withdrawal
)
B = TypeVar("B", bound=Body)
_E = schema.entries.c


@dataclass(frozen=True)
class Entry(Generic[B]):
    """An entry in the ledger.

    Attributes:
        subject: a site, or a datastream NODE/STREAM.
        done_us: when it was measured or done.
        at_us: when it came into the ledger.
        replaces: number of the entry for which it stands.
        digest: SHA-256 of kind, subject, time, `replaces` and body, by which the log book names it.
    """

    id: int
    digest: str
    subject: str
    done_us: int
    by: str
    at_us: int
    replaces: int | None
    body: B

    @property
    def kind(self) -> str:
        return kind_of(type(self.body))


def kind_of(body: type[Body]) -> str:
    """The word under which the ledger keeps such entries."""
    return str(body.__struct_config__.tag)


def checked(kind: type[B], **fields: Any) -> B:
    """A body from its fields; InputError that names the field for one that does not hold."""
    try:
        return msgspec.convert({"kind": kind_of(kind), **fields}, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"this cannot be entered as {kind_of(kind).replace('_', ' ')}: {error}") from None


def add_entry(
    conn: sa.Connection,
    body: Body,
    *,
    subject: str,
    done_us: int,
    by: str,
    now_us: int,
    replaces: int | None = None,
) -> Entry[Body] | None:
    """Put an entry into the ledger; None where the ledger has the same already and it stands.

    Raises:
        InputError: what it is to replace is not there, of another kind or subject, or was replaced before; or the same
            was entered before and does not stand any more.
    """
    kind, content = kind_of(type(body)), msgspec.to_builtins(body)
    what = {"kind": kind, "subject": subject, "done_us": done_us, "replaces": replaces, "body": content}
    digest = replacing.digest_of(what)
    if replacing.stands_already(conn, schema.entries, digest, "if {} is wrong, replace that"):
        return None
    if replaces is not None:
        _check_replaced(conn, replaces, kind, subject)
    number = replacing.add(conn, schema.entries, digest, what, by, now_us)
    return Entry(number, digest, subject, done_us, by, now_us, replaces, body)


def _check_replaced(conn: sa.Connection, number: int, kind: str, subject: str) -> None:
    found = entry(conn, number)
    if found is None:
        raise InputError(f"there is no entry {number} to replace; `headwall record list` shows them")
    if found.subject != subject:
        raise InputError(
            f"entry {number} is of {found.subject}, not of {subject}; withdraw it and enter this one as new"
        )
    if kind != found.kind and "withdrawal" not in (kind, found.kind):
        raise InputError(f"entry {number} is a {found.kind.replace('_', ' ')}, not a {kind.replace('_', ' ')}")
    instead = replaced_by(conn, number)
    if instead is not None:
        raise InputError(f"entry {number} stands no more: {instead} replaced it; replace {instead}")


def entry(conn: sa.Connection, number: int) -> Entry[Body] | None:
    """One entry, whether it stands or not."""
    found = read_rows(conn, sa.select(schema.entries).where(_E.id == number), _E.id, "entry", _entry)
    return next(iter(found), None)


def replaced_by(conn: sa.Connection, number: int) -> int | None:
    """The number of the entry that names this one in `replaces`; None: it stands."""
    return replacing.replaced_by(conn, schema.entries, number)


def standing(
    conn: sa.Connection,
    kind: type[B],
    subject: str | None = None,
    *,
    from_us: int | None = None,
    until_us: int | None = None,
) -> list[Entry[B]]:
    """Entries of a kind that nothing has replaced, by the time at which they were done.

    Args:
        subject: only of this site or datastream.
        from_us, until_us: only done at or after, and only at or before.
    """
    c = schema.entries.c
    query = sa.select(schema.entries).where(c.kind == kind_of(kind), replacing.stands(schema.entries))
    if subject is not None:
        query = query.where(c.subject == subject)
    if from_us is not None:
        query = query.where(c.done_us >= from_us)
    if until_us is not None:
        query = query.where(c.done_us <= until_us)
    found = _read(conn, query.order_by(c.done_us, c.id))
    return [each for each in found if isinstance(each.body, kind)]


_STANDING_OF = (
    sa.select(schema.entries)
    .where(_E.subject == sa.bindparam("subject"), _E.done_us <= sa.bindparam("until_us"))
    .where(replacing.stands(schema.entries))
    .order_by(_E.done_us, _E.id)
)


def standing_of(conn: sa.Connection, subject: str, until_us: int) -> list[Entry[Any]]:
    """What stands of a site or datastream, of every kind, done by an instant, by the time at which it was."""
    return list(_read(conn, _STANDING_OF, {"subject": subject, "until_us": until_us}))


def listed(
    conn: sa.Connection,
    subject: str | None = None,
    *,
    everything: bool = False,
    last: int | None = None,
    unreadable: list[Unreadable] | None = None,
) -> list[Entry[Body]]:
    """Entries by the time at which they were done.

    Args:
        subject: only of this one.
        everything: those that stand no more too, and what took them back.
        last: at most so many, the last ones.
        unreadable: takes those that cannot be read; without it they are an UnreadableRowError.
    """
    query = _chosen(sa.select(schema.entries), subject, everything)
    query = query.order_by(_E.done_us.desc(), _E.id.desc()).limit(last)
    return read_rows(conn, query, _E.id, "entry", _entry, unreadable)[::-1]


def count(conn: sa.Connection, subject: str | None = None, *, everything: bool = False) -> int:
    """How many `listed` would find without `last`."""
    query = _chosen(sa.select(sa.func.count()).select_from(schema.entries), subject, everything)
    return int(conn.execute(query).scalar_one())


def _chosen(query: sa.Select[Any], subject: str | None, everything: bool) -> sa.Select[Any]:
    if subject is not None:
        query = query.where(_E.subject == subject)
    return query if everything else query.where(_E.kind != kind_of(Withdrawal), replacing.stands(schema.entries))


def replacements(conn: sa.Connection) -> dict[int, int]:
    """Entry → the one that stands in its stead."""
    return replacing.replacements(conn, schema.entries)


def _read(conn: sa.Connection, query: sa.Select[Any], given: Mapping[str, Any] | None = None) -> Iterator[Entry[Any]]:
    return map(_entry, conn.execute(query, given))


def _entry(row: Any) -> Entry[Any]:
    body = msgspec.convert(row.body, AnyBody)
    return Entry(row.id, row.digest, row.subject, row.done_us, row.by, row.at_us, row.replaces, body)
