"""How a value is shown to an officer: inches, feet, gallons, gpm, cfs, °F. The one table; SI everywhere inside.

Factors are those of `units`; a temperature is 1.8 T + 32 (NIST SP 811). Quantities that officers read in the unit they
are measured in (NTU, pH, V, %) stay.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from headwall.hydrology.derived import Derived
from headwall.units import convert

#: SI unit → officer's units, each with the least amount of the unit from which it is used; the first from 0
_SHOWN: Final[dict[str, tuple[tuple[str, float], ...]]] = {
    "m": (("in", 0.0), ("ft", 10.0)),
    "m3": (("gal", 0.0),),
    "m3/s": (("gpm", 0.0), ("cfs", 1.0)),
    "m/s": (("ft/s", 0.0),),
}
_S_M_IN_US_CM: Final = 10_000
_WHY: Final[dict[str, str]] = {
    "below_range": "below its range",
    "above_range": "above its range",
    "submerged": "the tailwater reaches the control",
    "surcharged": "the pipe runs full",
    "missing": "no value",
    "rejected": "not to be used",
    "uncompensated": "no reading to compensate it with",
    "not_set_up": "not set up",
}


def shown(value: float, unit: str) -> str:
    """A value of an SI unit in the officer's unit, three figures, e.g. "12.3 gpm". K: a difference in temperature."""
    if unit == "Cel":
        return f"{_figures(1.8 * value + 32)} °F"
    if unit == "K":
        return f"{1.8 * value:.1f} °F"
    if unit == "S/m":
        return f"{_figures(value * _S_M_IN_US_CM)} µS/cm"
    best = ""
    for name, least in _SHOWN.get(unit, ()):
        amount = float(convert(Fraction(value), unit, name))
        if not best or abs(amount) >= least:
            best = f"{_figures(amount)} {name}"
    return best or f"{_figures(value)} {unit}"


def shown_derived(derived: Derived, unit: str) -> str:
    """A derived value, or its limit and why there is none: "< 0.62 gpm (below its range)"."""
    if derived.value is not None:
        return shown(derived.value, unit)
    why = _WHY.get(derived.flag or "missing", derived.flag or "")
    if derived.censored and derived.limit is not None:
        return f"{derived.censored} {shown(derived.limit, unit)} ({why})"
    return why


def _figures(amount: float) -> str:
    text = f"{amount:.3g}"
    return f"{float(text):,.0f}" if "e+" in text else "0" if amount == 0 else text
