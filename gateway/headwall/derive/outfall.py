"""What passed an outfall in a stretch of time, and what turbidity was added on the way, from the ledger.

Readings of the stage that failed a test, or that a person flagged as failed, give no flow.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from headwall.derive.derivation import Derivation
from headwall.derive.heights import tested
from headwall.hydrology.derived import Derived
from headwall.hydrology.flow_volume import FlowVolume, Sample, volume
from headwall.hydrology.turbidity import added_between
from headwall.registry import Registry

#: flows further apart have a gap between them
LONGEST_STEP_US: Final = 3_600_000_000
#: an upstream reading further away in time is none
_WITHIN_US: Final = 15 * 60_000_000


def flows(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> list[Sample]:
    """Flow of a site with start_us <= time < end_us, in order of time. UnknownThingError for a site without flow."""
    return [Sample(each.time_us, each.derived) for each in tested(conn, registry, f"{site}/flow", start_us, end_us)]


def passed(conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int) -> FlowVolume:
    """Volume and peak of a stretch, such as a storm or a day, with what was not measured."""
    samples = flows(conn, registry, site, start_us - LONGEST_STEP_US, end_us + LONGEST_STEP_US)
    return volume(samples, (start_us, end_us), longest_step_us=LONGEST_STEP_US)


def turbidity_added(
    conn: sa.Connection, registry: Registry, site: str, start_us: int, end_us: int, *, travel_us: int = 0
) -> list[tuple[int, Derived]]:
    """Downstream less upstream turbidity in NTU at each downstream reading, `travel_us` the water's way between."""
    derivation = Derivation(conn, registry)
    down, up = (
        [(each.time_us, each.derived) for each in derivation.series(f"{site}/{role}", start_us - back_us, end_us)]
        for role, back_us in (("turbidity", 0), ("upstream_turbidity", travel_us + _WITHIN_US))
    )
    return added_between(down, up, travel_us=travel_us, within_us=_WITHIN_US)
