"""Design storms: the Type III curve, exact numbers of tips, contact closures."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import pytest
from headwall.clock import to_us
from headwall_sim.storms import TYPE_III, contact_edges, rain, tip_count, type_iii_tips
from headwall_sim.timeline import Edge, Timeline
from hypothesis import given
from hypothesis import strategies as st

_START = to_us(datetime(2026, 6, 9, 4, tzinfo=UTC))
_MINUTE = 60_000_000


def test_type_iii_curve_has_its_published_ordinates() -> None:
    curve = dict(TYPE_III)
    published = {0: 0, 120: 200, 360: 720, 480: 1140, 660: 2500, 690: 2980, 720: 5000, 750: 7020, 780: 7500}
    published |= {990: 8984, 1020: 9095, 1200: 9570, 1440: 10000}
    # City of Austin, Drainage Criteria Manual, table 2-6: 0.8984 at 16:30 and 0.9095 at 17:00
    assert {minute: curve[minute] for minute in published} == {
        minute: pytest.approx(ratio, abs=1) for minute, ratio in published.items()
    }
    assert [ratio for _, ratio in TYPE_III] == sorted({ratio for _, ratio in TYPE_III})


@given(count=st.integers(1, 700), seed=st.integers(0, 1000))
def test_storm_has_exactly_its_tips_in_order_and_off_the_minute(count: int, seed: int) -> None:
    tips = type_iii_tips(count, _START, seed=seed)
    assert len(tips) == count
    assert all(later - earlier >= 1_000_000 for earlier, later in pairwise(tips))
    assert all(2_000_000 <= tip % _MINUTE <= 58_000_000 for tip in tips)
    assert tips == type_iii_tips(count, _START, seed=seed)


def test_half_of_the_rain_falls_by_noon() -> None:
    tips = type_iii_tips(120, _START)
    noon = _START + 12 * 60 * _MINUTE
    assert sum(tip < noon for tip in tips) == 60


@pytest.mark.parametrize(("depth", "tip", "count"), [("1.2", "0.01", 120), ("0.49", "0.01", 49), ("12.7", "0.254", 50)])
def test_depth_in_whole_tips_gives_their_number(depth: str, tip: str, count: int) -> None:
    assert tip_count(Decimal(depth), Decimal(tip)) == count


def test_depth_that_is_no_whole_number_of_tips_is_refused() -> None:
    with pytest.raises(ValueError, match=r"take 12\.6 or 12\.8"):
        tip_count(Decimal("12.7"), Decimal("0.2"))


def test_contact_closes_once_a_tip_and_bounces_only_for_milliseconds() -> None:
    edges = contact_edges([_START + i * 5_000_000 for i in range(200)], pin=4)
    assert [edge.level for edge in edges] == [0, 1] * (len(edges) // 2)
    assert len(edges) > 400  # some bounce
    for i in range(200):
        tip = _START + i * 5_000_000
        offsets = [edge.at_us - tip for edge in edges if tip <= edge.at_us < tip + 5_000_000]
        assert offsets[0] == 0
        assert 50_000 <= offsets[-1] < 160_000
        assert all(offset < 10_000 or offset >= 50_000 for offset in offsets)


def test_rain_rests_at_the_open_level() -> None:
    gauge = rain([_START], pin=4, closed=1)
    assert gauge.timeline.level(4, _START - 1) == 0
    assert gauge.timeline.level(4, _START + 20_000) == 1


def test_timeline_leaves_out_edges_that_change_nothing() -> None:
    timeline = Timeline([Edge(3, 5, 1), Edge(1, 4, 0), Edge(2, 4, 0), Edge(4, 4, 1)], {4: 1})
    assert timeline.edges == [Edge(1, 4, 0), Edge(3, 5, 1), Edge(4, 4, 1)]


def test_timeline_finds_the_next_level() -> None:
    timeline = Timeline([Edge(10, 4, 0), Edge(20, 4, 1), Edge(30, 5, 1), Edge(40, 4, 0), Edge(50, 5, 0)], {4: 1})
    assert timeline.first_with_level(4, 1, 5) == 5
    assert timeline.first_with_level(4, 0, 5) == 10
    assert timeline.first_with_level(4, 0, 20) == 40
    assert timeline.first_with_level(5, 1, 31) == 31
    assert timeline.first_with_level(5, 1, 50) is None
    assert timeline.first_all_low([4, 5], 25) == 50
    assert timeline.first_all_low([4, 5], 12) == 12
