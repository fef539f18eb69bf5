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


class SuspectedDischarge(msgspec.Struct, frozen=True, tag="suspected_discharge"):
    """Flow of an outfall in dry weather that looks like a discharge: a proposal, which a person has to look into.

    Attributes:
        end_us: up to when it has been seen; it goes on while `ongoing`.
        likeness: what it looks like (a class of hydrology.dry_weather), never a finding.
        evidence: what was seen, by names that carry their units.
    """

    municipality: str
    site: str
    datastream: str  # whose readings the flow comes from
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
    def about(self) -> tuple[str, str]:
        """What it shares with the same episode found again."""
        return self.site, ""

    @property
    def recorded(self) -> dict[str, str | int]:
        """What the log book keeps of it."""
        return {"datastream": self.datastream, "likeness": self.likeness, "start_us": self.start_us}


class NodeFault(msgspec.Struct, frozen=True, tag="node_fault"):
    """Something that the installer or operator must mend: identity conflict, custody missing, …"""

    node: str
    fault: str
    detail: str
    noticed_us: int


class HistoricalSummary(msgspec.Struct, frozen=True, tag="historical_summary"):
    """What an import of old data would have asked for."""

    datastream: str
    source: str
    duties: list[StormDuty]


Fact = (
    StormDuty
    | NearThreshold
    | InactiveSiteStorm
    | GaugeSilent
    | RainMissing
    | SuspectedDischarge
    | NodeFault
    | HistoricalSummary
)


def to_body(fact: Fact) -> dict[str, Any]:
    """A fact as JSON-ready data for a `body` column (its class under "type")."""
    built: dict[str, Any] = msgspec.to_builtins(fact)
    return built


def from_body(body: dict[str, Any]) -> Fact:
    """The fact in a `body` column; msgspec.ValidationError if it is none."""
    return msgspec.convert(body, Fact)  # type: ignore[no-any-return]
