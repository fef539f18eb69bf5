"""A sample taken by hand at an outfall: which action levels it reaches, and what a flow chart makes of it.

Results are in the units in which test kits and tables give them (UNITS); nothing is converted. A result below what a
test detects is told as "<0.05" and stays "below 0.05": it is neither 0 nor 0.05, and decides only where every number
below 0.05 would decide alike; so with ">" above. What comes out is a proposal with its evidence, never a finding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, NamedTuple

from headwall.errors import InputError
from headwall.hydrology.derived import MISSING, Derived, is_number, is_size

#: ammonia is nitrogen of ammonia, NH3-N
Parameter = Literal["ammonia", "potassium", "fluoride", "detergents", "ph", "conductivity", "turbidity"]
UNITS: Final[dict[Parameter, str]] = {
    "ammonia": "mg/L",
    "potassium": "mg/L",
    "fluoride": "mg/L",
    "detergents": "mg/L",
    "ph": "",
    "conductivity": "µS/cm",
    "turbidity": "NTU",
}
#: results of what was tested; what was not is left out
Sample = Mapping[Parameter, Derived]
_RESULT = re.compile(r"\s*([<>]?)\s*(\d{1,9}(?:\.\d{1,12})?)\s*")
_HIGHEST_PH: Final = 14


def result(of: Parameter, text: str) -> Derived:
    """A result as it was told, "3.2", "<0.05" or ">10"; InputError for anything else and for a pH above 14."""
    match = _RESULT.fullmatch(text)
    if match is None:
        raise InputError(f'{text!r} is no result; write a number, "<0.05" for a non-detect, ">10" beyond the test')
    number = float(match[2])
    if of == "ph" and number > _HIGHEST_PH:
        raise InputError(f"a pH of {text.strip()} cannot be; the scale ends at {_HIGHEST_PH}")
    if match[1] == "<" and number == 0:
        raise InputError(f"{text!r} cannot be; write the least that the test detects, such as <0.05")
    flags: dict[str, Derived] = {
        "": Derived(number),
        "<": Derived(None, "below_range", number),
        ">": Derived(None, "above_range", number),
    }
    return flags[match[1]]


# ---- action levels


@dataclass(frozen=True)
class ActionLevel:
    """A level from which, or down to which, a result points to an industrial discharge; equal reaches it."""

    of: Parameter
    sense: Literal["at_least", "at_most"]
    value: float


#: LaMotte, StormWatch MS4 test kit, manual, table of test factors; it also has color and hardness, not entered here
INDUSTRIAL: Final = (
    ActionLevel("ammonia", "at_least", 50),
    ActionLevel("conductivity", "at_least", 2000),
    ActionLevel("ph", "at_most", 5),
    ActionLevel("ph", "at_least", 9),
    ActionLevel("potassium", "at_least", 20),
    ActionLevel("turbidity", "at_least", 1000),
)
INDUSTRIAL_SOURCE: Final = "LaMotte StormWatch manual"


class Judged(NamedTuple):
    """Whether a result reaches a level; None where it cannot be told, as "<60" against 50."""

    level: ActionLevel
    reached: bool | None


def action_levels(sample: Sample, levels: Sequence[ActionLevel] = INDUSTRIAL) -> list[Judged]:
    """Each level of what was tested."""
    return [Judged(each, _reached(sample[each.of], each)) for each in levels if each.of in sample]


def _reached(value: Derived, level: ActionLevel) -> bool | None:
    if level.sense == "at_least":
        return _over(value, level.value, equal=True)
    above = _over(value, level.value)
    return None if above is None else not above


def _over(value: Derived, level: float, *, equal: bool = False) -> bool | None:
    """Whether a value lies above a level, or at it with `equal`; None where that cannot be told."""
    if value.value is not None:
        return (value.value >= level if equal else value.value > level) if is_number(value.value) else None
    if value.censored == "<" and value.limit is not None and value.limit <= level:
        return False
    if value.censored == ">" and value.limit is not None and value.limit >= level:
        return True
    return None


# ---- flow chart


@dataclass(frozen=True)
class FlowChart:
    """Where a sample from a residential area divides; all by "more than".

    Attributes:
        detergents: mg/L: above, sewage or wash water; else tap or ground water.
        ratio: of ammonia to potassium: above, sewage; else wash water.
        fluoride: mg/L: above, tap water; else ground water.
        confirmed: whether the numbers were compared with the source.
    """

    detergents: float
    ratio: float
    fluoride: float
    source: str
    confirmed: bool


RESIDENTIAL: Final = FlowChart(
    detergents=0.25,
    ratio=1.0,
    fluoride=0.25,
    source="Center for Watershed Protection and R. Pitt, Illicit Discharge Detection and Elimination, 2004",
    confirmed=False,
)
Likeness = Literal["sewage", "wash_water", "tap_water", "ground_water", "not_told"]


class Step(NamedTuple):
    """A question of the chart and its answer; `over` None: the sample does not answer it, and the chart ends here."""

    of: Literal["detergents", "ammonia_to_potassium", "fluoride"]
    value: Derived
    limit: float
    over: bool | None


class Proposal(NamedTuple):
    """What the water looks like by the chart, with the steps that led there."""

    likeness: Likeness
    steps: tuple[Step, ...]


def propose(sample: Sample, chart: FlowChart = RESIDENTIAL) -> Proposal:
    """The chart followed as far as the sample goes."""
    first = _step("detergents", sample.get("detergents", MISSING), chart.detergents)
    if first.over is None:
        return Proposal("not_told", (first,))
    if first.over:
        second = _step("ammonia_to_potassium", ammonia_to_potassium(sample), chart.ratio)
        likeness: tuple[Likeness, Likeness] = ("sewage", "wash_water")
    else:
        second = _step("fluoride", sample.get("fluoride", MISSING), chart.fluoride)
        likeness = ("tap_water", "ground_water")
    found = "not_told" if second.over is None else likeness[0] if second.over else likeness[1]
    return Proposal(found, (first, second))


def _step(of: Literal["detergents", "ammonia_to_potassium", "fluoride"], value: Derived, limit: float) -> Step:
    return Step(of, value, limit, _over(value, limit))


def ammonia_to_potassium(sample: Sample) -> Derived:
    """The ratio, censored where one of the two is; missing without one of them, or where potassium may be 0 or is.

    Of ammonia 3 and potassium "<2" is known that the ratio is more than 1.5; of "<3" and 2 that it is less than 1.5.
    """
    ammonia, potassium = _ends(sample.get("ammonia", MISSING)), _ends(sample.get("potassium", MISSING))
    if ammonia is None or potassium is None or not (is_size(potassium[1]) or potassium[1] == inf):
        return MISSING
    low = ammonia[0] / potassium[1]
    high = ammonia[1] / potassium[0] if is_size(potassium[0]) else inf
    if not all(is_number(each) or each == inf for each in (low, high)):
        return MISSING
    if low == high:
        return Derived(low)
    if high < inf:
        return Derived(None, "below_range", high)
    return Derived(None, "above_range", low) if low > 0 else MISSING


def _ends(value: Derived) -> tuple[float, float] | None:
    """Between what an amount lies, 0 and infinity where nothing is known; None where it is no amount."""
    if value.value is not None:
        return (value.value, value.value) if is_number(value.value) and value.value >= 0 else None
    if value.limit is None or not is_number(value.limit) or value.limit <= 0:
        return None
    return {"<": (0.0, value.limit), ">": (value.limit, inf)}.get(value.censored)
