"""Which known duty belongs to which storm, so that a duty keeps its identity when late data changes its storm.

A pure function. First, a duty belongs to the storm that its own storm overlaps (of several, the one that holds its
crossing). Of two duties that come to one storm the survivor is the open one, then the older; the other is its twin.
A duty whose storm triggers no more looks among the storms whose rain its trigger had counted: rain that moved the
trigger to an earlier storm moves the duty with it. A duty that finds none has nothing left to stand on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class StormSpan(Protocol):
    @property
    def start_us(self) -> int: ...

    @property
    def end_us(self) -> int: ...


S = TypeVar("S", bound=StormSpan)


@dataclass(frozen=True)
class KnownSpan:
    """What is matched of a known duty: the rain it counted, its storm, its crossing."""

    duty: int
    open: bool
    counted_from_us: int
    start_us: int
    end_us: int
    crossing_us: int


@dataclass
class Matched(Generic[S]):
    """Attributes:
    kept: duty number and its storm.
    new: storms without a duty.
    twins: duty number and the number of the duty that stands for both.
    gone: duties whose trigger no longer stands.
    """

    kept: list[tuple[int, S]] = field(default_factory=list)
    new: list[S] = field(default_factory=list)
    twins: list[tuple[int, int]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


def match(known: Sequence[KnownSpan], storms: Sequence[S]) -> Matched[S]:
    """Match known duties with the storms that ask for one; see the head of this module."""
    claims: dict[int, list[KnownSpan]] = {index: [] for index in range(len(storms))}
    homeless = []
    for duty in known:
        index = _own_storm(duty, storms)
        if index is None:
            homeless.append(duty)
        else:
            claims[index].append(duty)
    matched: Matched[S] = Matched()
    survivors: dict[int, int] = {}
    for index, claimants in claims.items():
        if claimants:
            _settle(matched, survivors, index, storms[index], claimants)
    for duty in sorted(homeless, key=lambda each: (not each.open, each.duty)):
        _house(matched, survivors, storms, duty)
    matched.new = [storm for index, storm in enumerate(storms) if index not in survivors]
    return matched


def _own_storm(duty: KnownSpan, storms: Sequence[S]) -> int | None:
    overlapping = [i for i, s in enumerate(storms) if s.start_us <= duty.end_us and duty.start_us <= s.end_us]
    holds_crossing = [i for i in overlapping if storms[i].start_us <= duty.crossing_us <= storms[i].end_us]
    return next(iter(holds_crossing or overlapping), None)


def _settle(
    matched: Matched[S], survivors: dict[int, int], index: int, storm: S, claimants: Sequence[KnownSpan]
) -> None:
    first, *others = sorted(claimants, key=lambda each: (not each.open, each.duty))
    survivors[index] = first.duty
    matched.kept.append((first.duty, storm))
    matched.twins += [(other.duty, first.duty) for other in others]


def _house(matched: Matched[S], survivors: dict[int, int], storms: Sequence[S], duty: KnownSpan) -> None:
    counted = [i for i, s in enumerate(storms) if s.start_us <= duty.end_us and duty.counted_from_us <= s.end_us]
    free = [i for i in counted if i not in survivors]
    if free:
        survivors[free[0]] = duty.duty
        matched.kept.append((duty.duty, storms[free[0]]))
    elif counted:
        matched.twins.append((duty.duty, survivors[counted[0]]))
    else:
        matched.gone.append(duty.duty)
