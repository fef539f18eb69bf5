"""Rain at a site in a stretch of time, as an outfall is judged by it, and where nothing is known of it.

A gauge's silence before its first and after its last reading is a gap here too: `hear` leaves it open, for the storms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import sqlalchemy as sa

from headwall.hydrology.gauges import Span
from headwall.registry import Registry
from headwall.registry.model import Site
from headwall.rules.gauge_set import Member
from headwall.rules.layers import GaugeLayers
from headwall.rules.rain import neighbour_us
from headwall.rules.rain_heard import Gauge, hear

#: rain in whole numbers of a ten-thousandth of a millimetre, in which every make of tip is one
QUANTA_PER_MM: Final = 10_000


class SiteRain(NamedTuple):
    """What the gauges of a site say of a stretch.

    Attributes:
        rain: (time, quanta), in order of time.
        gaps: where none of them has spoken.
        heard_us: the newest valid reading, which may lie behind the stretch; None without one.
    """

    rain: list[tuple[int, int]]
    gaps: list[Span]
    heard_us: int | None


def rain_of_site(
    conn: sa.Connection,
    registry: Registry,
    layers_of: Callable[[str], GaugeLayers],
    site: Site,
    start_us: int,
    end_us: int,
    through: int,
) -> SiteRain:
    """Rain with start_us <= time < end_us of the gauges that the site has then; without a gauge all of it is a gap.

    Args:
        layers_of: the layers of a gauge by its datastream.
        through: the append position up to which the ledger is read.
    """
    gauges = [
        Gauge(member, layers_of(member.datastream), registry.silent_after_us(member.datastream))
        for member in _members(registry, site)
    ]
    if not gauges:
        return SiteRain([], [(start_us, end_us)], None)
    heard = hear(conn, gauges, start_us, end_us, through, 0)
    if heard.heard_us is None:
        return SiteRain([], [(start_us, end_us)], None)
    rain = [
        (fall.time_us, round(fall.unit.mm * max(fall.tips, 1) * QUANTA_PER_MM))
        for fall in heard.falls
        if start_us <= fall.time_us < end_us
    ]
    gaps = [(gap.start_us, end_us if gap.end_us is None else gap.end_us) for gap in heard.gaps]
    first_us = _first_us(conn, gauges, start_us, through)
    if first_us is not None and first_us > start_us:
        gaps.append((start_us, min(first_us, end_us)))
    if heard.heard_us < end_us:
        gaps.append((max(heard.heard_us, start_us), end_us))
    return SiteRain(rain, gaps, heard.heard_us)


def _members(registry: Registry, site: Site) -> list[Member]:
    """The site's gauges, each while it is the site's: primaries first, one after the other, then their backups."""
    spans = sorted(registry.gauge_spans(site.id), key=lambda span: span.entry.role != "primary")
    return [Member.of(span) for span in spans]


def _first_us(conn: sa.Connection, gauges: list[Gauge], start_us: int, through: int) -> int | None:
    """The first valid reading of all where none lies before the stretch; None where one does.

    What a gauge said before it was the site's, or after, says nothing of the site.
    """
    firsts = []
    for gauge in gauges:
        begun_us, ended_us = gauge.member.start_us, gauge.member.end_us
        before = neighbour_us(conn, gauge.layers, min(start_us, ended_us), through, before=True)
        if before is not None and before >= begun_us:
            return None
        after = neighbour_us(conn, gauge.layers, max(start_us, begun_us) - 1, through, before=False)
        if after is not None and after < ended_us:
            firsts.append(after)
    return min(firsts, default=None)
