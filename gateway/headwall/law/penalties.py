"""The range of a penalty: which tier, how many offences a continuing violation makes, and what that comes to.

For the officer's eyes alone. It is an exposure by the words of the code, never a finding of guilt and never a fine: a
court sets that. What the code leaves open is read as the municipality has chosen (A24, A25, A26).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Literal

from headwall.law import localtime
from headwall.law.provisions import Penalty, Tier

#: A24: what a fine with one amount is: that amount, or up to it
DailyFine = Literal["fixed", "maximum"]
#: A25: how units of a continuing violation are counted
Rounding = Literal["range", "whole", "started"]
#: A26: whether an offence of before counts by its conviction alone
RepeatNeeds = Literal["conviction", "commission"]

_UNIT_US: Final = {"day": 24 * localtime.HOUR_US, "week": 7 * 24 * localtime.HOUR_US}


@dataclass(frozen=True)
class Prior:
    """An offence of the same person before this one.

    Attributes:
        convicted_us: None: nobody has entered a conviction.
        reference: by which it is found.
    """

    committed_us: int
    convicted_us: int | None
    reference: str


@dataclass(frozen=True)
class Exposure:
    """What the code's words come to.

    Attributes:
        counted: the offences of before that raise the tier.
        units_min, units_max: offences, the first of them and those that its going on adds.
        fine_min, fine_max: dollars for one of them.
    """

    tier: Tier
    counted: tuple[Prior, ...]
    units_min: int
    units_max: int
    fine_min: int
    fine_max: int

    @property
    def total_min(self) -> int:
        return self.units_min * self.fine_min

    @property
    def total_max(self) -> int:
        return self.units_max * self.fine_max


def exposure(
    clause: Penalty,
    priors: Sequence[Prior],
    committed_us: int,
    seen_until_us: int,
    may_until_us: int,
    where: tzinfo,
    *,
    daily_fine: DailyFine,
    rounding: Rounding,
    repeat_needs: RepeatNeeds,
) -> Exposure:
    """The range for a violation.

    Args:
        priors: offences of the same person that the tier may look at, by article or by provision.
        seen_until_us: until when it is known to have gone on.
        may_until_us: until when it may have.
    """
    counted = tuple(each for each in priors if _counts(clause, each, committed_us, where, repeat_needs))
    tier = clause.tiers[min(len(counted), len(clause.tiers) - 1)]
    least, most = units(seen_until_us - committed_us, may_until_us - committed_us, clause.continues_by, rounding)
    one_amount = tier.fine_min == tier.fine_max
    fine_min = 0 if one_amount and daily_fine == "maximum" else tier.fine_min
    return Exposure(tier, counted, least, most, fine_min, tier.fine_max)


def units(seen_us: int, may_us: int, by: Literal["day", "week"], rounding: Rounding) -> tuple[int, int]:
    """How many offences it makes that a violation went on: the first, and each whole or each started unit more."""

    def counted(lasted_us: int, started: bool) -> int:
        whole, rest = divmod(max(lasted_us, 0), _UNIT_US[by])
        return 1 + whole + (started and rest > 0)

    return counted(seen_us, rounding == "started"), counted(max(seen_us, may_us), rounding != "whole")


def _counts(clause: Penalty, prior: Prior, committed_us: int, where: tzinfo, needs: RepeatNeeds) -> bool:
    """Committed before, and so near that all lie within the window; the window's last day counts."""
    if needs == "conviction" and prior.convicted_us is None:
        return False
    if clause.window_years is None or prior.committed_us >= committed_us:
        return False
    ends = localtime.after_months(localtime.day_of(prior.committed_us, where), 12 * clause.window_years)
    return localtime.day_of(committed_us, where) <= ends
