"""Derived values with the quality of each, above all heights by the role of a sensor: what places are judged by.

A reading that failed a test, or that a person flagged as failed, gives no value. "no_layer" is no missing reading: the
sensor looked and found no such layer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.derive.derivation import Derivation
from headwall.derive.quality import judged
from headwall.derive.samples import samples_of
from headwall.hydrology.derived import Derived
from headwall.hydrology.qartod import FAIL
from headwall.registry import Registry
from headwall.registry.measures import Role

_NO_LAYER: Final = "null: no layer"
_REJECTED: Final = Derived(None, "rejected")


class Height(NamedTuple):
    """What a sensor saw at an instant.

    Attributes:
        derived: height above the site's zero in m (for scum and liquid the outlet invert, for sludge and sediment the
            floor), or another value in its unit; none with the reason.
        nothing: it found no such layer.
        flag: QARTOD flag: a person's word where there is one, else the tests'.
    """

    time_us: int
    derived: Derived
    nothing: bool
    flag: int


def heights(conn: sa.Connection, registry: Registry, site: str, role: Role, start_us: int, end_us: int) -> list[Height]:
    """Heights with start_us <= time < end_us, in order of time; none where the site has no such sensor."""
    if not registry.measures(site).has(role):
        return []
    return tested(conn, registry, f"{site}/{role}", start_us, end_us)


def tested(conn: sa.Connection, registry: Registry, name: str, start_us: int, end_us: int) -> list[Height]:
    """Values of a derived name (see `derivation`) with start_us <= time < end_us, in order of time.

    A count of a meter is not tested: its flow is that of two readings.
    """
    derivation = Derivation(conn, registry)
    found = []
    for segment in derivation.segments(name, start_us, end_us):
        if segment.datastream is None or segment.meter is not None:
            found += [Height(each.time_us, each.derived, False, each.flag) for each in derivation.values(segment)]
            continue
        samples = samples_of(conn, segment.datastream, segment.start_us, segment.end_us)
        verdicts = judged(conn, registry, segment.datastream, segment.start_us, segment.end_us) if samples else []
        flags = {(each.reading.jid, each.reading.seq): each.flag for each in verdicts}
        for sample, value in zip(samples, derivation.computed(segment, samples), strict=True):
            flag = flags.get((sample.jid, sample.seq), sample.flag)
            derived = _REJECTED if flag == FAIL else value.derived
            found.append(Height(sample.time_us, derived, sample.why == _NO_LAYER, flag))
    return found
