"""How a flow runs through the day: sewage has a rhythm, ground water has none.

Sanitary flow peaks at 7 to 9 and 18 to 21 local time and is least from 2 to 5, with a night flow of 0.3 to 0.5 of the
mean; steady ground water has a ratio near 1. What a ratio means is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import Final, NamedTuple

from headwall.hydrology.derived import is_number

#: local hours that begin in the time from 2 to 5
NIGHT: Final = (2, 3, 4)


class DayPattern(NamedTuple):
    """Mean flow of each local hour of the day, None for an hour without a sample, and how many samples it has."""

    means: tuple[float | None, ...]
    counts: tuple[int, ...]

    @property
    def complete(self) -> bool:
        return None not in self.means

    @property
    def highest_hour(self) -> int | None:
        """The (first) local hour of the greatest flow; None for an incomplete day."""
        means = [mean for mean in self.means if mean is not None]
        return means.index(max(means)) if self.complete else None

    def ratio(self, hours: Sequence[int] = NIGHT) -> float | None:
        """Mean of some hours over the mean of the day, night over mean, from 0 to 24.

        None for an incomplete day, one of no flow, and one with an hour of backflow: then it is no rhythm of a flow.

        Each hour weighs the same, however many samples it has.
        """
        means = [mean for mean in self.means if mean is not None]
        mean = fsum(means) / 24
        if not self.complete or mean <= 0 or min(means) < 0:
            return None
        return fsum(means[hour] for hour in hours) / len(hours) / mean


def day_pattern(samples: Iterable[tuple[int, float]], hour_of: Callable[[int], int]) -> DayPattern:
    """The mean day of a flow in dry weather.

    Args:
        samples: (time in µs, flow in m³/s); what is no number is left out, and the caller leaves out storms and their
            recession.
        hour_of: local hour of the day, 0 to 23, of an instant.
    """
    hours: list[list[float]] = [[] for _ in range(24)]
    for time_us, flow in samples:
        if is_number(flow):
            hours[hour_of(time_us)].append(flow)
    means = (fsum(flows) / len(flows) if flows else None for flows in hours)
    return DayPattern(tuple(means), tuple(len(flows) for flows in hours))
