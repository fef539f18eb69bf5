"""The picture in a storm's mail: rain by quarter hour as bars, the running total as a line, the depth that triggers.

Drawn with matplotlib's objects (no pyplot: that keeps figures in a global and is not safe in a thread).
"""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from headwall.hydrology.intensity import MINUTE_US, hyetograph
from headwall.law import localtime
from headwall.law.profile import StormReport
from headwall.notify import wording
from headwall.rules.facts import Gap, StormDuty, StormSummary
from headwall.units import Depth, parse_depth

_QUARTER_US = 15 * MINUTE_US
_HOUR_US = 60 * MINUTE_US
_DAY_US = 24 * _HOUR_US
_LONG_US = 36 * _HOUR_US  # above this, bars of an hour
_TICK_STEPS_US = [minutes * MINUTE_US for minutes in (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)]
_BAR, _TOTAL, _TRIGGER, _INK, _GAP = "#7fb2d9", "#0b3d66", "#b3261e", "#333333", "#d9d4c7"

#: mailer and page draw in threads of their own, and matplotlib promises nothing about threads
_DRAWING = threading.Lock()


@dataclass(frozen=True)
class StormPicture:
    """What is drawn.

    Attributes:
        rain: (instant in µs, quanta), in order of time; the storm's only.
        quantum: the depth of one, a tip's where one gauge caught it all.
        trigger: the depth that the code asks about.
        crossing_us: when it was reached, None where it was not.
        until_us: the right edge: the last rain, or now while the storm goes on.
    """

    rain: Sequence[tuple[int, int]]
    quantum: Depth
    trigger: Depth
    crossing_us: int | None
    until_us: int
    gaps: Sequence[Gap]
    zone: tzinfo
    title: str


def of_storm(
    duty: StormDuty,
    rain: tuple[Sequence[tuple[int, int]], Depth],
    clause: StormReport,
    place: str,
    zone: tzinfo,
    now_us: int,
) -> StormPicture:
    """What is drawn of the storm of a duty: its rain, with the depth that its clause asks about.

    Args:
        place: where the gauge is.
        now_us: the right edge while the storm goes on.
    """
    storm = duty.storm
    return StormPicture(
        rain=rain[0],
        quantum=rain[1],
        trigger=parse_depth(clause.storm_on(localtime.day_of(duty.crossing_us, zone)).depth),
        crossing_us=duty.crossing_us,
        until_us=storm.end_us if storm.ended else max(storm.end_us, now_us),
        gaps=duty.gaps,
        zone=zone,
        title="Rain at the site's gauges" if storm.parts else f"Rain at the gauge {place}",
    )


def in_words(drawn: StormPicture, storm: StormSummary) -> str:
    """What the picture of a storm shows."""
    start, end = (localtime.short(each, drawn.zone) for each in (storm.start_us, storm.end_us))
    reached = "" if drawn.crossing_us is None else f" was reached {localtime.short(drawn.crossing_us, drawn.zone)}"
    return (
        f"Hyetograph: rain by {step_words(bar_step_us(drawn))} and its running total, {wording.inches(storm.depth_in)} "
        f"from {start} to {end}; the trigger line of {wording.inches(drawn.trigger.text_in)}{reached}."
    )


def draw(storm: StormPicture) -> bytes:
    """The picture as PNG, 1024 px wide: sharp at 512 to 640 on a phone or a desk."""
    with _DRAWING:
        return _draw(storm)


def _draw(storm: StormPicture) -> bytes:
    figure = Figure(figsize=(6.4, 3.3), dpi=160, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    bars = figure.add_subplot()
    step_us = bar_step_us(storm)
    _draw_bars(bars, storm, step_us)
    total = bars.twinx()
    _draw_total(total, storm)
    _draw_gaps(total, storm)
    _label_time(bars, storm, step_us)
    bars.set_title(storm.title, fontsize=9.5, color=_INK, loc="left", parse_math=False)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def bar_step_us(storm: StormPicture) -> int:
    """A quarter of an hour, or an hour for a storm of more than a day and a half."""
    if not storm.rain:
        return _QUARTER_US
    return _QUARTER_US if storm.until_us - storm.rain[0][0] <= _LONG_US else _HOUR_US


def step_words(step_us: int) -> str:
    return "15 min" if step_us == _QUARTER_US else "1 h"


def _draw_bars(axes: Axes, storm: StormPicture, step_us: int) -> None:
    found = hyetograph(storm.rain, step_us)
    starts = [_x(start_us) for start_us, _ in found]
    heights = [_inches(storm.quantum * amount) for _, amount in found]
    axes.bar(starts, heights, width=0.94 * step_us / _DAY_US, align="edge", color=_BAR, label="rain")
    axes.set_ylabel(f"rain in {step_words(step_us)} (in)", fontsize=8.5, color=_INK)
    axes.set_ylim(0, max([*heights, 0.02]) * 1.35)
    _quieten(axes)


def _draw_total(axes: Axes, storm: StormPicture) -> None:
    times, sums, running = [], [0.0], 0
    for instant, amount in storm.rain:
        running += amount
        times.append(_x(instant))
        sums.append(_inches(storm.quantum * running))
    edges = [times[0], *times, _x(storm.until_us)] if times else []
    axes.step(edges, [*sums, sums[-1]][: len(edges)], where="post", color=_TOTAL, linewidth=1.8)
    trigger = _inches(storm.trigger)
    axes.axhline(trigger, color=_TRIGGER, linewidth=1.3, linestyle="--")
    axes.annotate(
        f"trigger {wording.inches(str(_decimal(storm.trigger)))}",
        (0.005, trigger),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2.5),
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=8,
        color=_TRIGGER,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )
    if storm.crossing_us is not None:
        axes.axvline(_x(storm.crossing_us), color=_TRIGGER, linewidth=0.9, linestyle=":")
    axes.set_ylabel("running total (in)", fontsize=8.5, color=_TOTAL)
    axes.set_ylim(0, max(sums[-1], trigger) * 1.22)
    _quieten(axes)


def _draw_gaps(axes: Axes, storm: StormPicture) -> None:
    for gap in storm.gaps:
        end_us = storm.until_us if gap.end_us is None else min(gap.end_us, storm.until_us)
        left, right = _x(gap.start_us), _x(end_us)
        if right <= left:
            continue
        axes.axvspan(left, right, color=_GAP, alpha=0.75, zorder=0.4, linewidth=0)
        middle = (left + right) / 2
        axes.annotate(
            "no data",
            (middle, 0.5),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="center",
            fontsize=8,
            color=_INK,
            rotation=90,
            clip_on=True,
        )


def _label_time(axes: Axes, storm: StormPicture, step_us: int) -> None:
    left_us = (storm.rain[0][0] if storm.rain else storm.until_us - _HOUR_US) // step_us * step_us
    margin_us = max((storm.until_us - left_us) // 60, MINUTE_US)
    axes.set_xlim(_x(left_us - margin_us), _x(storm.until_us + margin_us))
    ticks = _ticks(left_us, storm.until_us, storm.zone)
    axes.set_xticks([_x(tick) for tick in ticks], [_tick_label(tick, storm.zone) for tick in ticks])
    first, last = (localtime.short(instant, storm.zone).split() for instant in (left_us, storm.until_us))
    days = " ".join(first[:2]) if first[:2] == last[:2] else f"{' '.join(first[:2])} to {' '.join(last[:2])}"
    axes.set_xlabel(f"local time ({last[3]}), {days}", fontsize=8.5, color=_INK)


def _ticks(start_us: int, end_us: int, zone: tzinfo) -> list[int]:
    """Four to nine round local times within a span, as instants."""
    step_us = next((step for step in _TICK_STEPS_US if end_us - start_us <= 8 * step), _TICK_STEPS_US[-1])
    first_us = localtime.day_bounds(start_us, zone)[0]
    first_us += -(-(start_us - first_us) // step_us) * step_us
    return list(range(first_us, end_us + 1, step_us))


def _tick_label(instant_us: int, zone: tzinfo) -> str:
    local = localtime.to_local(instant_us, zone)
    return f"{local:%H:%M}" if local.hour or local.minute else f"{local:%b} {local.day}"


def _quieten(axes: Axes) -> None:
    axes.spines["top"].set_visible(False)
    axes.tick_params(labelsize=8, colors=_INK, length=3)


def _x(instant_us: int) -> float:
    """An instant as matplotlib's date number: days since 1970-01-01 UTC."""
    return instant_us / _DAY_US


def _decimal(depth: Depth) -> Decimal:
    return Decimal(depth.text_in)


def _inches(depth: Depth) -> float:
    return float(depth.inches)
