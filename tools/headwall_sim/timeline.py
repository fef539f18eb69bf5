"""The levels of a board's pins over time, in the file that the simulated board reads as time goes by.

An edge is (instant in us, pin, level). The file has 16 bytes an edge: the instant, then pin << 48 | the levels of
all pins after the edge (one bit a pin), both little-endian. board/_pins.py reads it.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_EDGE = struct.Struct("<qq")
_PIN_SHIFT = 48


@dataclass(frozen=True, order=True)
class Edge:
    """One change of one pin's level (0 or 1) at a simulated instant."""

    at_us: int
    pin: int
    level: int


class Timeline:
    """All edges of a board, sorted.

    Args:
        edges: in any order; an edge that changes nothing is left out.
        resting: level of each pin before its first edge; pins not named rest low.
    """

    def __init__(self, edges: Iterable[Edge] = (), resting: Mapping[int, int] | None = None) -> None:
        self.resting_levels = sum(1 << pin for pin, level in (resting or {}).items() if level)
        self.edges: list[Edge] = []
        self._levels: list[int] = []  # of all pins after each edge
        levels = self.resting_levels
        for edge in sorted(edges):
            if not 0 <= edge.pin < _PIN_SHIFT:
                raise ValueError(f"pin {edge.pin}: there are pins 0 to {_PIN_SHIFT - 1}")
            if levels >> edge.pin & 1 != edge.level:
                levels ^= 1 << edge.pin
                self.edges.append(edge)
                self._levels.append(levels)
        self._instants = [edge.at_us for edge in self.edges]

    def write(self, path: Path) -> None:
        """Write the file that the board reads."""
        with path.open("wb") as file:
            for edge, levels in zip(self.edges, self._levels, strict=True):
                file.write(_EDGE.pack(edge.at_us, edge.pin << _PIN_SHIFT | levels))

    def level(self, pin: int, at_us: int) -> int:
        """The pin's level at an instant; an edge at that very instant has happened."""
        count = bisect_right(self._instants, at_us)
        levels = self._levels[count - 1] if count else self.resting_levels
        return levels >> pin & 1

    def first_with_level(self, pin: int, level: int, from_us: int) -> int | None:
        """The first instant from `from_us` on at which the pin has `level`: `from_us` itself if it has it then."""
        if self.level(pin, from_us) == level:
            return from_us
        for edge in self.edges[bisect_right(self._instants, from_us) :]:
            if edge.pin == pin and edge.level == level:
                return edge.at_us
        return None

    def first_all_low(self, pins: Iterable[int], from_us: int) -> int | None:
        """The first instant from `from_us` on at which every one of the pins is low."""
        mask = sum(1 << pin for pin in pins)
        count = bisect_right(self._instants, from_us)
        if not (self._levels[count - 1] if count else self.resting_levels) & mask:
            return from_us
        for at_us, levels in zip(self._instants[count:], self._levels[count:], strict=True):
            if not levels & mask:
                return at_us
        return None
