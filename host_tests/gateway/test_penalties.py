"""The range of a penalty: tiers by offences of before, and how a violation that goes on is counted."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

import pytest
from headwall.law import localtime
from headwall.law.penalties import DailyFine, Exposure, Prior, RepeatNeeds, Rounding, exposure, units
from headwall.law.profile import load_profile, profile_names
from headwall.law.provisions import Penalty
from hypothesis import given
from hypothesis import strategies as st

NEW_YORK = localtime.zone("America/New_York")
DAY = 24 * 3_600_000_000
WEEK = 7 * DAY
HILLBURN, BAYVILLE = "hillburn-192-20b-penalty", "bayville-63a-15-penalty"
ELMSFORD_I, ELMSFORD_II = "elmsford-288-11d-penalty", "elmsford-288-34-penalty"


def local(text: str) -> int:
    return localtime.from_local(datetime.fromisoformat(text), NEW_YORK)


def clause(name: str) -> Penalty:
    found = [each for code in profile_names() for each in load_profile(code).of(Penalty) if each.id == name]
    return found[0]


def exposed(
    name: str,
    *priors: Prior,
    lasted: int = 0,
    may: int = 0,
    daily_fine: DailyFine = "fixed",
    rounding: Rounding = "range",
    repeat_needs: RepeatNeeds = "conviction",
) -> Exposure:
    at = local("2026-06-09 10:00")
    return exposure(
        clause(name),
        priors,
        at,
        at + lasted,
        at + max(may, lasted),
        NEW_YORK,
        daily_fine=daily_fine,
        rounding=rounding,
        repeat_needs=repeat_needs,
    )


def convicted(day: str) -> Prior:
    at = local(f"{day} 09:00")
    return Prior(at, at + WEEK, day)


@pytest.mark.parametrize(
    ("name", "before", "fines"),
    [
        (HILLBURN, 0, (0, 1000)),
        (HILLBURN, 1, (1000, 2500)),
        (HILLBURN, 2, (2500, 5000)),
        (HILLBURN, 5, (2500, 5000)),
        (BAYVILLE, 1, (0, 5000)),
        (ELMSFORD_I, 2, (700, 1000)),
        (ELMSFORD_II, 3, (250, 250)),
        ("north-castle-267-8c4-penalty", 1, (350, 700)),
        ("north-castle-267-19b-penalty", 2, (0, 1000)),
        ("horseheads-216-13b-penalty", 0, (50, 350)),
        ("horseheads-216-13b-penalty", 1, (350, 700)),
    ],
)
def test_convictions_raise_the_tier_where_the_code_has_tiers(name: str, before: int, fines: tuple[int, int]) -> None:
    found = exposed(name, *(convicted(f"2025-0{n + 1}-02") for n in range(before)))
    assert (found.fine_min, found.fine_max) == fines


@pytest.mark.parametrize(
    ("committed", "counts"),
    [
        ("2021-06-08", False),
        ("2021-06-09", True),  # five years ago to the day
        ("2026-06-08", True),
        ("2026-06-10", False),  # committed after this one
    ],
)
def test_only_offences_within_the_window_count(committed: str, counts: bool) -> None:
    assert (exposed(HILLBURN, convicted(committed)).tier.offence == 2) is counts


def test_an_offence_without_conviction_counts_only_where_the_municipality_reads_it_so() -> None:
    prior = Prior(local("2025-01-02 09:00"), None, "ticket 4")
    assert exposed(HILLBURN, prior).tier.offence == 1
    assert exposed(HILLBURN, prior, repeat_needs="commission").tier.offence == 2


@pytest.mark.parametrize(
    ("lasted", "rounding", "count"),
    [
        (0, "range", (1, 1)),
        (10 * DAY, "range", (2, 3)),
        (14 * DAY, "range", (3, 3)),
        (10 * DAY, "whole", (2, 2)),
        (10 * DAY, "started", (3, 3)),
        (1, "range", (1, 2)),
    ],
)
def test_weeks_are_counted_both_ways(lasted: int, rounding: Rounding, count: tuple[int, int]) -> None:
    found = exposed(HILLBURN, lasted=lasted, rounding=rounding)
    assert (found.units_min, found.units_max) == count
    assert (found.total_min, found.total_max) == (0, 1000 * count[1])


def test_what_was_seen_gives_the_least_and_what_may_be_the_most() -> None:
    found = exposed(ELMSFORD_II, lasted=2 * DAY, may=30 * DAY)
    assert (found.units_min, found.units_max) == (3, 31)
    assert (found.total_min, found.total_max) == (750, 7750)


def test_one_amount_a_day_is_that_amount_or_up_to_it() -> None:
    assert exposed(ELMSFORD_II).fine_min == 250
    assert exposed(ELMSFORD_II, daily_fine="maximum").fine_min == 0
    assert exposed(HILLBURN, convicted("2025-01-02"), daily_fine="maximum").fine_min == 1000


@given(
    seen=st.integers(0, 400 * DAY),
    more=st.integers(0, 400 * DAY),
    by=st.sampled_from(["day", "week"]),
    rounding=st.sampled_from(get_args(Rounding)),
)
def test_a_violation_that_goes_on_never_counts_less(seen: int, more: int, by: str, rounding: Rounding) -> None:
    least, most = units(seen, seen + more, "week" if by == "week" else "day", rounding)
    longer = units(seen + more, seen + more + DAY, "week" if by == "week" else "day", rounding)
    assert 1 <= least <= most
    assert longer[0] >= least
    assert longer[1] >= most
    assert most - least <= 1 + more // (WEEK if by == "week" else DAY) + 1
