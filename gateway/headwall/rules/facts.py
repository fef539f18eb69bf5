"""What rules tell the rest: facts, as plain structs that survive JSON. Rules write them into the outbox
(and duty_versions, notices); notify, web and CLI read them. A fact's key is stable: the same fact found
again by replay, import or restart has the same key and so is mailed once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwall.hydrology.rain_doubt import Suspicion


class Gap(msgspec.Struct, frozen=True):
    """A stretch without valid data from a gauge, or of a site with a backup from any of its gauges."""

    start_us: int
    end_us: int | None  # None: still silent
    #: why nothing of it is judged, as a person wrote it: "off: freezes in winter", "maintenance by Ivan",
    #: "flagged as failed by Ada: wasps"; several joined by "; ". "" where the gauge just did not speak
    reason: str = ""


class GaugePart(msgspec.Struct, frozen=True):
    """What one gauge of a site caught of a storm: the backup's rain counts where the primary did not speak."""

    datastream: str
    role: str  # primary | backup
    first_us: int  # its first and last rain that counts
    last_us: int
    depth_mm: str
    depth_in: str


class HandRain(msgspec.Struct, frozen=True):
    """Water of snow that a person measured and entered; it counts as rain at `end_us`."""

    entry: int  # its number among the ledger's entries
    by: str
    datastream: str  # the gauge for which it stands in
    start_us: int
    end_us: int
    depth_mm: str
    depth_in: str


class Disagreement(msgspec.Struct, frozen=True):
    """Two gauges of a site that caught unlike depths of a storm, in the time in which both spoke."""

    primary: str
    backup: str
    primary_mm: str
    primary_in: str
    backup_mm: str
    backup_in: str


class StormSummary(msgspec.Struct, frozen=True):
    """One storm event at one gauge. Depths are exact decimals as text, so that JSON keeps them.

    `depth` is what the gauge counted, under the calibration of the time, and decides. `corrected` is the same with what
    a bucket misses while it tips: shown beside it, never less; "" in facts that are older than it.
    """

    start_us: int  # first tip
    end_us: int  # last tip so far
    ended: bool  # True once the minimum inter-event time has passed without rain
    depth_mm: str
    depth_in: str
    peak_15min_mm_h: float | None
    corrected_mm: str = ""
    corrected_in: str = ""
    #: some of it fell faster than the correction is known for: the corrected depth is a lower bound
    corrected_at_least: bool = False
    parts: list[GaugePart] = []  # which gauge gave which part; [] where all of it is the gauge's that the fact names
    by_hand: list[HandRain] = []  # in the depth
    disagreement: list[Disagreement] = []  # one a backup gauge; known once the storm has ended


class Clocks(msgspec.Struct, frozen=True):
    """The readings of "within 24 hours of any storm event": due instants by where the clock starts."""

    crossing_due_us: int
    first_due_us: int
    end_due_us: int | None  # None while the storm goes on
    chosen: str  # crossing | first | end


class StormDuty(msgspec.Struct, frozen=True, tag="storm_duty"):
    """An inspection report that a storm made due at a construction site."""

    duty: int
    version: int
    municipality: str
    site: str
    provision: str
    datastream: str  # the gauge, NODE/STREAM
    storm: StormSummary
    fired_by: str  # event | rolling24h | day
    crossing_us: int
    clocks: Clocks
    due_us: int
    learned_us: int  # when the gateway first knew
    gaps: list[Gap] = []
    previous_due_us: int | None = None  # in a correction: what an earlier mail said
    previous_depth_in: str | None = None
    #: in a correction: what a person entered that changed the duty, e.g. "calibration of 2026-06-10 by Sam Okafor";
    #: "" where late or other readings did
    because: str = ""
    #: "" while the trigger stands; else why it no longer does: "rain" (what counts no longer reaches the depth),
    #: "site" (the site was not active, or had not this gauge, at the crossing), "merged" (see duty `merged_into`).
    #: The duty stays open all the same: a person closes it.
    trigger_gone: str = ""
    merged_into: int | None = None

    def late(self, now_us: int) -> bool:
        """Whether what is owed was due."""
        return self.due_us < now_us

    @property
    def asked(self) -> str:
        """What it is about, in a few words."""
        return f"{self.storm.depth_in} in of rain"

    @property
    def span(self) -> tuple[int, int]:
        """The time that it is about."""
        return self.storm.start_us, self.storm.end_us

    @property
    def recorded(self) -> dict[str, Any]:
        """What the log book keeps of it: no floats, see `log_book.append`."""
        return {
            "duty": self.duty,
            "version": self.version,
            "site": self.site,
            "provision": self.provision,
            "datastream": self.datastream,
            "crossing_us": self.crossing_us,
            "fired_by": self.fired_by,
            "depth_in": self.storm.depth_in,
            "due_us": self.due_us,
            "trigger_gone": self.trigger_gone,
            "merged_into": self.merged_into,
        }

    @property
    def as_previous(self) -> dict[str, Any]:
        """What a correction of it says that it said."""
        return {"previous_due_us": self.due_us, "previous_depth_in": self.storm.depth_in}

    @property
    def correcting(self) -> dict[str, Any]:
        """What makes it a correction."""
        said = {"previous_due_us": self.previous_due_us, "previous_depth_in": self.previous_depth_in}
        return {**said, "because": self.because}


class Answer(msgspec.Struct, frozen=True):
    """A record that answers a duty, as a named person entered it."""

    at_us: int
    by: str
    reference: str  # "entry 12"


class ClauseDuty(msgspec.Struct, frozen=True, tag="clause_duty"):
    """Something that a clause makes due at a site, whatever it is; storms have a duty of their own.

    Attributes:
        name: of the clause's deadline; "" where the code has no clock.
        occurrence: tells it from the others of site, clause and name.
        starts: instants that its clock starts with, by what they are.
        owed_by: person or firm; as the code has it where the registry knows nobody.
        strict_us, lenient_us, due_us: by both readings of the code, and the one that counts; None: not known, or the
            code gives no number.
        remind_us: when it is asked for again before it is due, where the profile proposes that.
        answer: the command that enters what answers it; "": the duty is closed by its number.
        advice: no duty by the code: never overdue.
        not_before: `due_us` is when something may be done at the earliest: nobody is late after it.
        trigger_gone: why it is asked no longer; "" while it is.
        previous_due_us, because: in a correction, as in StormDuty.
    """

    duty: int
    version: int
    municipality: str
    site: str
    provision: str
    name: str
    occurrence: str
    starts: dict[str, int]
    asks: str
    owed_by: str
    strict_us: int | None
    lenient_us: int | None
    due_us: int | None
    learned_us: int
    remind_us: int | None = None
    evidence: dict[str, str | int | float] = {}
    answer: str = ""
    advice: bool = False
    not_before: bool = False
    done: Answer | None = None
    trigger_gone: str = ""
    previous_due_us: int | None = None
    because: str = ""
    merged_into: None = None  # two of them are never one

    def late(self, now_us: int) -> bool:
        """Whether what is owed was due."""
        owed = not self.advice and not self.not_before
        return owed and self.due_us is not None and self.due_us < now_us

    @property
    def asked(self) -> str:
        """What it is about, in a few words."""
        return f"advice: {self.asks}" if self.advice else self.asks

    @property
    def span(self) -> tuple[int, int]:
        """The time that it is about."""
        known = [*self.starts.values(), *([] if self.due_us is None else [self.due_us])] or [self.learned_us]
        return min(known), max(known)

    @property
    def recorded(self) -> dict[str, Any]:
        """What the log book keeps of it: no floats, see `log_book.append`."""
        return {
            "duty": self.duty,
            "version": self.version,
            "site": self.site,
            "provision": self.provision,
            "name": self.name,
            "occurrence": self.occurrence,
            "starts": self.starts,
            "due_us": self.due_us,
            "advice": self.advice,
            "answer": None if self.done is None else self.done.reference,
            "trigger_gone": self.trigger_gone,
        }

    @property
    def as_previous(self) -> dict[str, Any]:
        """What a correction of it says that it said."""
        return {"previous_due_us": self.due_us}

    @property
    def correcting(self) -> dict[str, Any]:
        """What makes it a correction."""
        return {"previous_due_us": self.previous_due_us, "because": self.because}


DutyFact = StormDuty | ClauseDuty


class _StormNotice(msgspec.Struct, frozen=True):
    """A storm at a site that makes no duty."""

    municipality: str
    site: str
    provision: str
    datastream: str
    storm: StormSummary

    @property
    def span(self) -> tuple[int, int]:
        return self.storm.start_us, self.storm.end_us

    @property
    def about(self) -> tuple[str, str]:
        """What it shares with the same episode found again."""
        return self.provision, self.datastream

    @property
    def recorded(self) -> dict[str, str | int]:
        """What the log book keeps of it."""
        return {
            "provision": self.provision,
            "datastream": self.datastream,
            "depth_in": self.storm.depth_in,
            "storm_start_us": self.storm.start_us,
        }


class NearThreshold(_StormNotice, frozen=True, tag="near_threshold"):
    """A storm that ended just below the threshold, or reached it only by its corrected depth: the officer's call."""

    threshold_in: str
    gaps: list[Gap] = []
    by_correction: bool = False  # what the bucket missed while it tipped would have made it reach the threshold


class InactiveSiteStorm(_StormNotice, frozen=True, tag="inactive_site_storm"):
    """A storm that reached the depth while the site was not active: no duty was opened. Told in the digest."""

    crossing_us: int
    status: str  # shut_down | stabilised | closed | none (the registry has no status for that time)
    gaps: list[Gap] = []


class GaugeSilent(msgspec.Struct, frozen=True, tag="gauge_silent"):
    """No valid data from a gauge: a qualifying storm cannot be ruled out."""

    municipality: str
    sites: list[str]
    datastream: str
    last_valid_us: int | None
    noticed_us: int
    limit_min: int


class RainMissing(msgspec.Struct, frozen=True, tag="rain_missing"):
    """A gauge that shows no rain while others of the same place do, or while the stage there rises."""

    municipality: str
    sites: list[str]
    datastream: str
    doubts: list[Suspicion]
    noticed_us: int


class _OutfallFlow(msgspec.Struct, frozen=True, kw_only=True):
    """Flow of an outfall that a person has to look into: a proposal, and no finding.

    Attributes:
        datastream: whose readings the flow comes from.
        end_us: up to when it has been seen; it goes on while `ongoing`.
        likeness: what it looks like (a class of hydrology.dry_weather); "" where that was not judged.
        evidence: what was seen, by names that carry their units.
    """

    municipality: str
    site: str
    datastream: str
    start_us: int
    end_us: int
    ongoing: bool
    likeness: str
    confidence: float
    evidence: dict[str, float | int | str]

    @property
    def span(self) -> tuple[int, int]:
        return self.start_us, self.end_us

    @property
    def recorded(self) -> dict[str, str | int]:
        """What the log book keeps of it."""
        return {"datastream": self.datastream, "likeness": self.likeness, "start_us": self.start_us}


class SuspectedDischarge(_OutfallFlow, frozen=True, kw_only=True, tag="suspected_discharge"):
    """Flow in dry weather that looks like a discharge."""

    @property
    def about(self) -> tuple[str, str]:
        """What it shares with the same episode found again."""
        return self.site, ""


class OutsideApproval(_OutfallFlow, frozen=True, kw_only=True, tag="outside_approval"):
    """Flow outside of what the register of approvals allows.

    Attributes:
        why: a word of `rules.approval_spans.WHY`.
        provision: the clause under which the approval, permit or order stands, by whose `reference` it is found.
    """

    why: str
    provision: str
    reference: str

    @property
    def about(self) -> tuple[str, str]:
        return self.site, self.why

    @property
    def recorded(self) -> dict[str, str | int]:
        return {**super().recorded, "why": self.why, "provision": self.provision}


class SiteSign(msgspec.Struct, frozen=True, kw_only=True, tag="site_sign"):
    """What sensors of a site show over a stretch of time: an indication, and no finding.

    One of a condition that a clause forbids makes a case, which a person judges. Of the others a duty asks what
    follows, or the digest tells them.

    Attributes:
        what: what it shows, by a word of `rules.septic` or `rules.water_conditions`.
        datastream: whose readings show it.
        end_us: up to when it has been seen; it may go on while `ongoing`.
        evidence: what was seen, by names that carry their units.
        case: kind of the case; "" for none.
        provision: the clause that the condition may break.
        present: the condition has lasted as long as it must; before that it is a suspicion.
    """

    municipality: str
    site: str
    what: str
    datastream: str
    start_us: int
    end_us: int
    ongoing: bool = False
    evidence: dict[str, float | int | str] = {}
    case: str = ""
    provision: str = ""
    present: bool = False

    @property
    def span(self) -> tuple[int, int]:
        return self.start_us, self.end_us

    @property
    def about(self) -> tuple[str, str]:
        """What it shares with the same episode found again."""
        return self.site, self.what

    @property
    def recorded(self) -> dict[str, str | int]:
        """What the log book keeps of it."""
        return {"datastream": self.datastream, "what": self.what, "start_us": self.start_us}


class NodeFault(msgspec.Struct, frozen=True, tag="node_fault"):
    """Something that the installer or operator must mend: identity conflict, custody missing, …"""

    node: str
    fault: str
    detail: str
    noticed_us: int


class ToTell(msgspec.Struct, frozen=True):
    """Whom a clause, or the State, wants told of a release.

    Attributes:
        who: as the clause names them.
        rule: how its time counts, in words.
    """

    who: list[str]
    rule: str
    due_us: int
    provision: str


class SpillReported(msgspec.Struct, frozen=True, tag="spill_reported"):
    """A person has opened a case for a spill: who is to be told, by whom nothing but a person's call can tell.

    Attributes:
        known_us: since when it has been known.
        by: who opened the case.
        what: as that person wrote it.
    """

    case: int
    municipality: str
    site: str
    known_us: int
    by: str
    what: str
    to_tell: list[ToTell]


class Reminder(msgspec.Struct, frozen=True, tag="reminder"):
    """That a duty, or a clock of a case, is due soon, was due, or was left to itself by those who were told first.

    Attributes:
        stage: before | overdue | escalated; open: what may not be done before then may be done now; moved: the code,
            as the municipality reads it now, has another time.
        duty, case: which of the two it is about; the other is None.
        asks: one line: what is to be done.
        told: names of those who were told before, where it goes to the next person.
        answer: the command that enters what answers a duty; "" for `headwall duty received`.
        previous_due_us: in a correction, what an earlier mail said; None: none did.
    """

    stage: str
    municipality: str
    site: str
    provision: str
    asks: str
    owed_by: str
    due_us: int
    duty: int | None = None
    case: int | None = None
    case_kind: str = ""
    told: list[str] = []
    answer: str = ""
    previous_due_us: int | None = None


class OpenDuty(msgspec.Struct, frozen=True):
    """A line of the daily list."""

    duty: int
    site: str
    provision: str
    asks: str
    owed_by: str
    due_us: int | None  # None: it has no time
    seen_by: list[str] = []


class OpenCase(msgspec.Struct, frozen=True):
    """A line of the daily list: a case, and the clock in it that somebody has to meet first, by what it waits for."""

    case: int
    kind: str
    site: str
    state: str
    since_us: int
    clock: str = ""
    due_us: int | None = None
    seen_by: list[str] = []


class OpenMatters(msgspec.Struct, frozen=True, tag="open_matters"):
    """The daily list of a municipality: what was due, what is due soon, which cases are open, as of an instant.

    The lists hold the first of each kind; the counts hold all.
    """

    municipality: str
    at_us: int
    soon_us: int  # what is due by then stands in `soon`
    overdue: list[OpenDuty]
    soon: list[OpenDuty]
    cases: list[OpenCase]
    overdue_count: int
    soon_count: int
    case_count: int
    later_count: int  # open and due later, or without a time


class HistoricalSummary(msgspec.Struct, frozen=True, tag="historical_summary"):
    """What an import of old data would have asked for."""

    datastream: str
    source: str
    duties: list[StormDuty]


Fact = (
    StormDuty
    | ClauseDuty
    | NearThreshold
    | InactiveSiteStorm
    | GaugeSilent
    | RainMissing
    | SuspectedDischarge
    | OutsideApproval
    | SiteSign
    | NodeFault
    | SpillReported
    | Reminder
    | OpenMatters
    | HistoricalSummary
)


def to_body(fact: Fact) -> dict[str, Any]:
    """A fact as JSON-ready data for a `body` column (its class under "type")."""
    built: dict[str, Any] = msgspec.to_builtins(fact)
    return built


def from_body(body: dict[str, Any]) -> Fact:
    """The fact in a `body` column; msgspec.ValidationError if it is none."""
    return msgspec.convert(body, Fact)  # type: ignore[no-any-return]
