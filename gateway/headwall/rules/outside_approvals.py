"""Flow outside of what the register allows, by the hours of an outfall that `rules.outfalls` has judged.

Flow that looks like a discharge and begins shortly before or after its approved time, before a copy is filed or proof
is there, after an exemption was lost or a connection's permit ended, is flow outside an approval: the same episode is
not told twice. Flow that rain drives is stormwater, which every code lets in, and is told of nobody. While access
itself is suspended or cut, any flow is told, in rain too: there the codes make no such exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from headwall.hydrology.dry_weather import HOUR_US, Episode, Hour, Judgement, Settings
from headwall.rules.approval_spans import BARRED, Outside

_SETTINGS: Final = Settings()
_RAIN_DRIVEN: Final = ("wet", "recession")


class Found(NamedTuple):
    """Flow of an outfall outside of what is allowed.

    Attributes:
        episode: of suspected hours, or None where access is barred and any flow counts.
        hours: how many of the hours flow was seen in, `rain_hours` of them after rain.
        outside: what it is outside of; the first where it is several things.
    """

    start_us: int
    end_us: int
    outside: Outside
    episode: Episode | None
    hours: int
    rain_hours: int
    high_m3_s: float | None


def split(episodes: Sequence[Episode], outside: Sequence[Outside]) -> tuple[list[Episode], list[Found]]:
    """Episodes that are just suspected, and those that begin outside of an approval; of barred access neither."""
    left, found = [], []
    for each in episodes:
        around = [one for one in outside if one.start_us < each.start_us + HOUR_US and each.start_us < one.end_us]
        if any(one.why in BARRED for one in around):
            continue
        if around:
            high = each.evidence.get("high_m3_s")
            found.append(
                Found(
                    each.start_us,
                    each.end_us,
                    around[0],
                    each,
                    each.hours,
                    0,
                    float(high) if isinstance(high, int | float) else None,
                )
            )
        else:
            left.append(each)
    return left, found


def barred(hours: Sequence[Hour], judgements: Sequence[Judgement], outside: Sequence[Outside]) -> Iterator[Found]:
    """Flow while access is barred: whole hours in it in which water ran, those near to each other together."""
    for each in outside:
        if each.why not in BARRED:
            continue
        run: list[tuple[Hour, Judgement]] = []
        for hour, judgement in zip(hours, judgements, strict=True):
            inside = each.start_us <= hour.start_us and hour.start_us + HOUR_US <= each.end_us
            if not inside or not _runs(hour, judgement):
                continue
            if run and hour.start_us - run[-1][0].start_us > _SETTINGS.apart_hours * HOUR_US:
                yield _found(run, each)
                run = []
            run.append((hour, judgement))
        if run:
            yield _found(run, each)


def _runs(hour: Hour, judgement: Judgement) -> bool:
    """Whether water ran, and not only by the noise of the sensor."""
    if hour.flow_m3_s is None:
        return False
    noise = max(3 * (hour.noise_m3_s or 0.0), _SETTINGS.least_m3_s)
    return judgement.state == "suspected" or hour.flow_m3_s > noise


def _found(run: Sequence[tuple[Hour, Judgement]], outside: Outside) -> Found:
    highs = [hour.high_m3_s for hour, _ in run if hour.high_m3_s is not None]
    return Found(
        run[0][0].start_us,
        run[-1][0].start_us + HOUR_US,
        outside,
        None,
        len(run),
        sum(judgement.state in _RAIN_DRIVEN for _, judgement in run),
        max(highs, default=None),
    )
