"""Rain from a counter that only ought to rise: what to make of one that falls.

    wrap      it passed its modulus (16 bits: 65534, 3 is 5 tips): the step is booked.
    reset     it began anew, after a power cut or by hand: what it shows first is the new base and is not booked,
              because nobody knows what fell in between. A fall to less than half is a reset.
    glitch    one to three readings that the ones after contradict (193.6, 52.5, 193.6), or a dip to no less than half:
              nothing is booked until the counter passes where it stood.
    saturated it stands at its largest value: rain can no longer be seen.

So a fault gives neither negative nor sudden rain, and each is told by a flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

_LOOK_AHEAD: Final = 3  # readings that may be wrong in a row
_WRAP_PART: Final = 4  # a wrap is believed if it means at most a quarter of the modulus

FlagKind = Literal["reset", "glitch", "saturated"]


class CounterFlag(NamedTuple):
    """What was found at which reading."""

    at: int
    kind: FlagKind


class Counted(NamedTuple):
    """The amount booked at each reading (0 at the first, whose past is unknown), and the faults."""

    amounts: list[int]
    flags: list[CounterFlag]


def count(readings: Sequence[int], *, modulus: int | None = None) -> Counted:
    """Amounts from a counter's readings in order of time, in the counter's own steps.

    Args:
        readings: whole numbers of the counter's smallest step, 0 or more.
        modulus: the number of steps after which it shows 0 again, e.g. 65536; None if it has none.
    """
    return _Counting(readings, modulus).run()


class _Counting:
    def __init__(self, readings: Sequence[int], modulus: int | None) -> None:
        self.readings = readings
        self.modulus = modulus
        self.amounts = [0] * len(readings)
        self.flags: list[CounterFlag] = []
        self.stood = readings[0] if readings else 0  # the last reading that was believed
        self.dipped = False

    def run(self) -> Counted:
        n = 1
        while n < len(self.readings):
            wrong = self._contradicted(n)
            if wrong:
                self._flag(n, "glitch")
            else:
                self._take(n)
            n += wrong or 1
        return Counted(self.amounts, self.flags)

    def _contradicted(self, n: int) -> int:
        """How many readings from n on do not fit between the one before them and the one after; 0 if they do."""
        for length in range(1, min(_LOOK_AHEAD, len(self.readings) - 1 - n) + 1):
            after = self.readings[n + length]
            run = self.readings[n : n + length]
            dip = all(value < self.stood for value in run)
            spike = all(value > after for value in run) and after > 0  # a fall to 0 is how a reset looks
            if after >= self.stood and (dip or spike) and not self._is_wrap(run[0]):
                return length
        return 0

    def _is_wrap(self, value: int) -> bool:
        if self.modulus is None or value >= self.stood:
            return False
        return (value - self.stood) % self.modulus <= self.modulus // _WRAP_PART

    def _take(self, n: int) -> None:
        value = self.readings[n]
        if self._is_wrap(value):
            self._believe(n, (value - self.stood) % (self.modulus or 1))
        elif value >= self.stood:
            self._see_saturation(n)
            self._believe(n, value - self.stood)
        elif 2 * value >= self.stood:
            if not self.dipped:
                self._flag(n, "glitch")
            self.dipped = True
        else:
            self._flag(n, "reset")
            self._believe(n, 0)

    def _believe(self, n: int, amount: int) -> None:
        self.amounts[n] = amount
        self.stood = self.readings[n]
        self.dipped = False

    def _see_saturation(self, n: int) -> None:
        stands = self.modulus is not None and self.readings[n] == self.stood == self.modulus - 1
        if stands and (n < 2 or self.readings[n - 2] != self.stood):
            self._flag(n, "saturated")

    def _flag(self, n: int, kind: FlagKind) -> None:
        self.flags.append(CounterFlag(n, kind))
