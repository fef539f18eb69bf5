"""Dry weather at an outfall in `headwall site show`: how long it has been dry, and how the outfall runs then."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Final

import sqlalchemy as sa

from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import Found, row, value_data
from headwall.derive.outfall import base_share, dry_pattern, dry_spans, flows, turbidity_over_background
from headwall.hydrology.dry_weather import HOUR_US, Settings
from headwall.hydrology.gauges import Span, dry_before, rain_within
from headwall.law import localtime
from headwall.registry.model import Site
from headwall.rules.layers import FOREVER_US, gauge_layers
from headwall.rules.site_rain import QUANTA_PER_MM, SiteRain, rain_of_site
from headwall.units import Depth

_DAY_US: Final = 24 * HOUR_US
_DAYS: Final = 14
_WINDOW_H: Final = Settings().dry_hours


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int, there: list[str]) -> Found:
    start_us = at_us - _DAYS * _DAY_US
    since_us = start_us - _WINDOW_H * HOUR_US
    layers_of = partial(gauge_layers, conn, at.registry)
    rain = rain_of_site(conn, at.registry, layers_of, site, since_us, at_us, FOREVER_US)
    dry = dry_spans(rain.rain, rain.gaps, (start_us, at_us), quanta_per_mm=QUANTA_PER_MM)
    return {
        "days": _DAYS,
        "dry_hours": sum(end - start for start, end in dry) // HOUR_US,
        "rain": _rain(rain, since_us, at_us),
        "flow": _flow(conn, at, site, (start_us, at_us), dry) if "flow" in there else None,
        "turbidity_over_background": _turbidity(conn, at, site, (start_us, at_us), dry)
        if "turbidity" in there and "upstream_turbidity" not in there
        else None,
    }


def _rain(found: SiteRain, since_us: int, at_us: int) -> Found | None:
    """As of the newest word of a gauge: what fell since is not known. None where none has spoken."""
    if found.heard_us is None or found.heard_us <= since_us:
        return None
    until_us = min(at_us, found.heard_us)
    dry = dry_before(found.rain, found.gaps, until_us, since_us)
    fell = rain_within(found.rain, found.gaps, until_us - _WINDOW_H * HOUR_US, until_us)
    depth = Depth(Fraction(fell.amount, QUANTA_PER_MM))
    return {
        "until_us": until_us,
        "dry_us": dry.dry_us,
        "dry_since_rain": dry.known,
        "window_h": _WINDOW_H,
        "depth_mm": depth.text_mm,
        "depth_in": depth.text_in,
        "unknown_us": fell.unknown_us,
    }


def _flow(conn: sa.Connection, at: Opened, site: Site, span: Span, dry: list[Span]) -> Found:
    samples = flows(conn, at.registry, site.id, *span)
    base = base_share(samples, *span)
    where = at.registry.zone(site.municipality)
    pattern = dry_pattern(samples, dry, partial(localtime.hour_of, where=where))
    return {
        "base_share": base.share,
        "base_days": base.days,
        "night_over_mean": pattern.ratio(),
        "highest_hour": pattern.highest_hour,
        "hourly_m3_s": pattern.means,
    }


def _turbidity(conn: sa.Connection, at: Opened, site: Site, span: Span, dry: list[Span]) -> Found | None:
    found = turbidity_over_background(conn, at.registry, site.id, span[0], span[1] + 1, dry)
    return {"time_us": found[-1][0], **value_data(found[-1][1], "NTU")} if found else None


def lines(found: Found, at: Opened) -> Iterator[str]:
    yield row("dry", _dry_text(found["rain"], at))
    rain = found["rain"]
    if rain is not None:
        least = "at least " if rain["unknown_us"] else ""
        yield row("rain", f"{least}{rain['depth_in']} in within the {rain['window_h']} hours before")
    if found["flow"] is not None:
        yield row("base flow", _base_text(found["flow"], found["days"]))
        yield row("pattern of day", _pattern_text(found["flow"], found["days"], found["dry_hours"]))
    over = found["turbidity_over_background"]
    if over is not None:
        natural = f"dry weather of {found['days']} days"
        yield row("turbidity", f"over that of {natural}: {over['shown']}, {minute(over['time_us'], at.zone)}")


def _dry_text(rain: Found | None, at: Opened) -> str:
    if rain is None:
        return "not known: no rain gauge of the site has spoken"
    before = "since the last rain" if rain["dry_since_rain"] else "nothing is known of the time before"
    return f"for {rain['dry_us'] / _DAY_US:.1f} days up to {minute(rain['until_us'], at.zone)}, {before}"


def _base_text(flow: Found, days: int) -> str:
    if flow["base_share"] is None:
        return f"not known: nothing flowed, or little was measured, in {days} days"
    of = f"{flow['base_share']:.0%} of what flowed in {flow['base_days']} of {days} days"
    return f"{of}; an index of what flows steadily, be it ground water or a constant discharge"


def _pattern_text(flow: Found, days: int, dry_hours: int) -> str:
    of = f"{dry_hours} of {days * 24} hours are known to be dry"
    if flow["night_over_mean"] is None:
        return f"not known: {of}, and show no flow at every hour of a day"
    night, highest = flow["night_over_mean"], flow["highest_hour"]
    return f"from 2 to 5 {night:.2f} of the mean flow, greatest from {highest}:00 on; {of}"
