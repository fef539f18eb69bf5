"""What readings show of a case: in rows, and as a plot where the site measures what the case is about."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import tzinfo
from fractions import Fraction
from itertools import pairwise
from typing import Final

import sqlalchemy as sa

from headwall.derive.derivation import Derivation, quantities_of
from headwall.law import localtime
from headwall.law.profile import Profile, StormReport
from headwall.ledger import schema
from headwall.ledger.cases import Case
from headwall.notify import hyetograph, sign_section
from headwall.notify.discharge_section import evidence_rows, likeness
from headwall.notify.lookup import rain_of
from headwall.notify.wording import first_upper
from headwall.registry import Registry
from headwall.reports.letter import Picture, Row
from headwall.rules import duties
from headwall.rules.facts import Fact, SiteSign, StormDuty, from_body
from headwall.units import convert

_HOUR_US: Final = 3_600_000_000
_AFTER_STORM_US: Final = 24 * _HOUR_US  # what is seen so long after a storm may come of it
#: kind of case → the quantities that show it, the best first
_SHOWS: Final[dict[str, tuple[str, ...]]] = {
    "suspected_discharge": ("flow", "stage"),
    "outside_approval": ("flow", "stage"),
    "illicit_connection": ("flow", "stage"),
    "spill": ("flow", "turbidity"),
    "design_flow": ("flow", "stage"),
    "turbidity": ("turbidity",),
    "failing_system": ("liquid",),
}
#: quantity → its unit inside, the officer's, and what the axis says
_AXES: Final = {
    "flow": ("m3/s", "gpm", "flow in gallons a minute"),
    "stage": ("m", "in", "stage in inches"),
    "liquid": ("m", "in", "liquid above the outlet invert, in inches"),
    "turbidity": ("", "", "turbidity in NTU"),
}
_LINE, _SPAN, _INK = "#0b3d66", "#f1d9a7", "#333333"


def fact_of(conn: sa.Connection, case: Case) -> Fact | None:
    """What the notice of a case says; None: no rule has seen it."""
    c = schema.notices.c
    body = conn.execute(sa.select(c.body).where(c.key == case.notice)).scalar() if case.notice else None
    return None if body is None else from_body(body)


def rows(fact: Fact | None) -> list[Row]:
    """The evidence that a fact has, in the officer's units."""
    found: list[Row] = []
    if name := getattr(fact, "likeness", ""):
        found.append(("Looks like", (f"{likeness(name)}: what the readings look like, no finding",)))
    if datastream := getattr(fact, "datastream", ""):
        found.append(("Sensor", (datastream,)))
    if isinstance(fact, SiteSign):
        return found + [(each.label, each.lines) for each in sign_section.evidence_rows(fact)]
    return found + [(each.label, each.lines) for each in evidence_rows(dict(getattr(fact, "evidence", {})))]


def picture(conn: sa.Connection, registry: Registry, case: Case, where: tzinfo) -> Picture | None:
    """The readings about the time of a case; None where the site measures nothing that shows it, or has no values."""
    known = quantities_of(registry.measures(case.site)) if registry.site(case.site) else []
    quantity = next((each for each in _SHOWS.get(case.kind, ()) if each in known), None)
    if quantity is None:
        return None
    lasted_us = case.until_us - case.from_us
    around_us = max(6 * _HOUR_US, lasted_us)
    start_us, end_us = case.from_us - around_us, case.until_us + around_us
    series = Derivation(conn, registry).series(f"{case.site}/{quantity}", start_us, end_us)
    points = [
        (each.time_us, each.derived.value) for each in series if each.derived.value is not None and each.flag != 4
    ]
    if not points:
        return None
    says = (
        f"{first_upper(_AXES[quantity][2])}, {localtime.short(start_us, where)} to {localtime.short(end_us, where)}. "
        "The shaded time is that of this case. Where the line is broken there are no values."
    )
    return Picture(_draw(points, (case.from_us, case.until_us), quantity, where), says)


def storm(
    conn: sa.Connection, registry: Registry, profile: Profile, case: Case, where: tzinfo, now_us: int
) -> Picture | None:
    """The rain of the storm in or after which a case was seen; None where no storm made a report due there then."""
    found = [each.body for each in duties.listed(conn, everything=True, site=case.site)]
    near = [
        each
        for each in found
        if isinstance(each, StormDuty)
        and not each.trigger_gone
        and each.storm.start_us <= case.until_us
        and case.from_us <= each.storm.end_us + _AFTER_STORM_US
    ]
    if not near:
        return None
    duty = max(near, key=lambda each: each.storm.start_us)
    clause = next((each for each in profile.provisions if each.id == duty.provision), None)
    rain = rain_of(conn, registry, duty)
    if rain is None or not isinstance(clause, StormReport):
        return None
    place = registry.place_of(duty.datastream, duty.crossing_us) or duty.datastream
    drawn = hyetograph.of_storm(duty, rain, clause, place, where, now_us)
    return Picture(hyetograph.draw(drawn), hyetograph.in_words(drawn, duty.storm))


def _draw(points: Sequence[tuple[int, float]], span: tuple[int, int], quantity: str, where: tzinfo) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # takes long to load, and few commands need it
    from matplotlib.figure import Figure

    unit, shown, says = _AXES[quantity]
    factor = float(convert(Fraction(1), unit, shown)) if unit else 1.0
    figure = Figure(figsize=(6.9, 2.9), dpi=170, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    times, values = [points[0][0] / 1e6], [points[0][1] * factor]
    for before, (time_us, value) in pairwise(points):
        if time_us - before[0] > _HOUR_US:  # a gap is no line
            times.append(time_us / 1e6)
            values.append(float("nan"))
        times.append(time_us / 1e6)
        values.append(value * factor)
    axes.axvspan(span[0] / 1e6, max(span[1], span[0] + 60_000_000) / 1e6, color=_SPAN, lw=0)
    axes.plot(times, values, color=_LINE, lw=1.3)
    axes.set_ylabel(says, fontsize=8, color=_INK)
    axes.set_ylim(bottom=min(0.0, *(value for value in values if value == value)))
    ticks = _ticks(points[0][0], points[-1][0])
    axes.set_xticks([each / 1e6 for each in ticks], [_tick(each, where) for each in ticks], fontsize=8)
    axes.set_xlim(points[0][0] / 1e6, points[-1][0] / 1e6)
    axes.tick_params(colors=_INK, labelsize=8)
    axes.grid(axis="y", lw=0.4, color="#dddddd")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _ticks(start_us: int, end_us: int) -> list[int]:
    """At most seven, at full hours."""
    step_us = next(
        (hours * _HOUR_US for hours in (1, 2, 3, 6, 12, 24, 48, 96) if (end_us - start_us) // (hours * _HOUR_US) < 7),
        max((end_us - start_us) // 6, 1),
    )
    first = -(-start_us // step_us) * step_us
    return list(range(first, end_us + 1, step_us))


def _tick(instant_us: int, where: tzinfo) -> str:
    local = localtime.short(instant_us, where)
    return "\n".join((local[-9:], local[:-10]))
