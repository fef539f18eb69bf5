"""What rules tell the rest: facts, as plain structs that survive JSON. Rules write them into the outbox
(and duty_versions, notices); notify, web and CLI read them. A fact's key is stable: the same fact found
again by replay, import or restart has the same key and so is mailed once.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec


class Gap(msgspec.Struct, frozen=True):
    """A stretch without valid data from a gauge."""

    start_us: int
    end_us: int | None  # None: still silent


class StormSummary(msgspec.Struct, frozen=True):
    """One storm event at one gauge. Depths are exact decimals as text, so that JSON keeps them."""

    start_us: int  # first tip
    end_us: int  # last tip so far
    ended: bool  # True once the minimum inter-event time has passed without rain
    depth_mm: str
    depth_in: str
    peak_15min_mm_h: float | None


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
    #: "" while the trigger stands; else why it no longer does: "rain" (what counts no longer reaches the depth),
    #: "site" (the site was not active, or had not this gauge, at the crossing), "merged" (see duty `merged_into`).
    #: The duty stays open all the same: a person closes it.
    trigger_gone: str = ""
    merged_into: int | None = None


class NearThreshold(msgspec.Struct, frozen=True, tag="near_threshold"):
    """A storm that ended just below the threshold: the officer's call."""

    municipality: str
    site: str
    provision: str
    datastream: str
    storm: StormSummary
    threshold_in: str
    gaps: list[Gap] = []


class InactiveSiteStorm(msgspec.Struct, frozen=True, tag="inactive_site_storm"):
    """A storm that reached the depth while the site was not active: no duty was opened. Told in the digest."""

    municipality: str
    site: str
    provision: str
    datastream: str
    storm: StormSummary
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


Fact = StormDuty | NearThreshold | InactiveSiteStorm | GaugeSilent | NodeFault | HistoricalSummary
_F = TypeVar("_F", bound=Fact)


def to_body(fact: Fact) -> dict[str, Any]:
    """A fact as JSON-ready data for a `body` column (its class under "type")."""
    built: dict[str, Any] = msgspec.to_builtins(fact)
    return built


def from_body(body: dict[str, Any]) -> Fact:
    """The fact in a `body` column; msgspec.ValidationError if it is none."""
    return msgspec.convert(body, Fact)  # type: ignore[no-any-return]
