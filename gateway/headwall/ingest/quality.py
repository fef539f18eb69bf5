"""QARTOD flags that a reading gets on arrival, from the reading alone."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Final

NOT_EVALUATED: Final = 2
FAIL: Final = 4
MISSING: Final = 9

#: what a quantity cannot be, whatever the place: its definition, not a sensor's range
_POSSIBLE: Final[dict[str, tuple[float, float]]] = {
    "tips": (0, 1),  # of the contract: 1 a tip, 0 for a report that none fell
    "distance": (0, inf),
    "temperature": (-273.15, inf),
    "pressure": (0, inf),
    "humidity": (0, 100),
    "turbidity": (0, inf),
    "conductivity": (0, inf),
    "ph": (0, 14),
    "battery": (0, 100),
    "frequency": (0, inf),
    "pulses": (0, inf),
    "volume": (0, inf),
    "uncertainty": (0, inf),
    "confidence": (0, 1),
}


def quality_of(stream: str, value: float | None) -> int:
    """9 for a null, 4 for a value that its quantity cannot have, else 2: the gross range test of QARTOD."""
    if value is None:
        return MISSING
    low, high = _range(stream)
    return NOT_EVALUATED if low <= value <= high else FAIL


@lru_cache(maxsize=4096)
def _range(stream: str) -> tuple[float, float]:
    return _POSSIBLE.get(stream.partition(".")[2], (-inf, inf))
