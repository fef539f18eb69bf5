"""Several gauges at a site: the backup's rain counts in the primary's gaps, one duty a storm, each part named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from headwall.errors import HeadwallError
from support.registry_text import site
from support.rules_house import BACKUP, BOARD_B, GAUGE, HOUR, MINUTE, NOON, PRIMARY, House, houses, make_registry

_OTHER = "board-b/rain.tips"
#: readings of the second board
B: dict[str, Any] = {"node": "board-b", "jid": "00000000000000bb"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    with houses(tmp_path, gauges=f"{PRIMARY}, {BACKUP}", nodes=BOARD_B) as make:
        yield make


def test_the_backup_makes_no_duty_while_the_primary_speaks(house: Callable[..., House]) -> None:
    h = house()
    h.alive(NOON - HOUR, NOON + 3 * HOUR)
    h.judge(h.rain(NOON, 70, **B))
    assert h.duties() == []


def test_one_storm_that_both_gauges_catch_makes_one_duty(house: Callable[..., House]) -> None:
    h = house()
    h.rain(NOON, 55)
    h.judge(h.rain(NOON, 70, **B))
    (duty,) = h.duties()
    assert (duty.body.datastream, duty.body.storm.parts) == (GAUGE, [])


def test_the_backups_rain_counts_in_the_primarys_gap_and_each_part_is_named(house: Callable[..., House]) -> None:
    """30 tips of 0.01 in, silence, and 40 tips of 0.2 mm in it: 0.3 in and 8 mm."""
    h = house()
    last = h.rain(NOON, 30)
    h.judge(last)
    assert h.duties() == []
    h.alive(NOON, NOON + 5 * HOUR, **B)
    crossing = h.rain(last + 10 * MINUTE, 26, **B)
    h.rain(crossing + MINUTE, 14, **B)
    h.judge(NOON + 5 * HOUR)
    (duty,) = h.duties()
    assert duty.body.crossing_us == crossing  # 7.62 mm + 26 x 0.2 mm = 12.82 mm; 25 are 12.62 mm
    assert duty.body.storm.depth_mm == "15.62"
    parts = [(part.datastream, part.role, part.depth_mm) for part in duty.body.storm.parts]
    assert parts == [(GAUGE, "primary", "7.62"), (_OTHER, "backup", "8")]
    assert duty.body.gaps == []


def test_a_backlog_of_the_primary_takes_the_backups_place(house: Callable[..., House]) -> None:
    h = house()
    h.put((NOON - MINUTE, 0))
    h.alive(NOON, NOON + 3 * HOUR, **B)
    h.judge(h.rain(NOON, 70, **B) + 2 * HOUR)
    assert [duty.body.storm.parts[0].role for duty in h.duties()] == ["backup"]
    h.rain(NOON, 52)
    h.alive(NOON + 52 * MINUTE, NOON + 3 * HOUR)
    h.judge()
    (duty,) = h.duties()
    assert (duty.body.storm.depth_in, duty.body.storm.parts) == ("0.52", [])


def test_a_backup_that_comes_after_the_primary_has_spoken_again_fills_the_gap_all_the_same(
    house: Callable[..., House],
) -> None:
    h = house()
    last = h.rain(NOON, 30)
    h.put((last + 3 * HOUR, 0))
    h.judge(last + 3 * HOUR)
    assert h.duties() == []
    h.alive(last, last + 3 * HOUR, **B)
    h.rain(last + HOUR, 40, **B)
    h.judge(last + 3 * HOUR + 30 * MINUTE)
    (duty,) = h.duties()
    assert (duty.body.storm.depth_mm, duty.body.gaps) == ("15.62", [])


def test_the_backup_counts_while_the_primary_is_in_maintenance(house: Callable[..., House]) -> None:
    h = house()
    h.alive(NOON - HOUR, NOON + 2 * HOUR, every_us=5 * MINUTE)
    h.judge(h.rain(NOON, 70, every_us=20_000_000, **B))
    assert h.duties() == []
    h.maintain(NOON, NOON + 30 * MINUTE)
    h.judge()
    (duty,) = h.duties()
    assert duty.body.storm.depth_mm == "14"
    assert h.told_why() == [("duty_opened", "maintenance of 2026-06-10 entered by Ivan")]


def test_where_both_are_silent_there_is_a_gap(house: Callable[..., House]) -> None:
    h = house()
    h.put((NOON - MINUTE, 0))
    h.put((NOON, 0), **B)
    h.rain(NOON, 30)
    h.put((NOON + 4 * HOUR, 0), **B)
    last = h.rain(NOON + 5 * HOUR, 25)
    h.put((last, 0), **B)
    h.judge(last)
    (duty,) = h.duties()
    gaps = [(gap.start_us, gap.end_us) for gap in duty.body.gaps]
    assert gaps == [(NOON + 29 * MINUTE, NOON + 4 * HOUR), (NOON + 4 * HOUR, NOON + 5 * HOUR)]


def test_gauges_that_caught_unlike_depths_of_a_storm_are_said_to_disagree(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 60)
    h.alive(NOON - HOUR, NOON - MINUTE)
    h.alive(last, last + 7 * HOUR)
    h.rain(NOON, 20, **B)
    h.alive(NOON - HOUR, NOON - MINUTE, **B)
    h.alive(last, last + 7 * HOUR, **B)
    h.judge(last + 7 * HOUR)
    (duty,) = h.duties()
    (found,) = duty.body.storm.disagreement
    assert (found.primary, found.backup, found.primary_in, found.backup_mm) == (GAUGE, _OTHER, "0.6", "4")


def test_a_backup_whose_readings_come_days_later_is_compared_all_the_same(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 60)
    h.alive(last, last + 30 * HOUR)
    h.judge(last + 30 * HOUR)
    assert h.duties()[0].body.storm.disagreement == []
    h.rain(NOON, 20, **B)
    h.alive(NOON - 20 * MINUTE, last + 20 * HOUR, **B)
    h.judge()
    (duty,) = h.duties()
    assert [each.backup_mm for each in duty.body.storm.disagreement] == ["4"]


def test_gauges_that_agree_or_a_backup_that_said_nothing_are_no_disagreement(house: Callable[..., House]) -> None:
    h = house()
    last = h.rain(NOON, 60)
    h.alive(last, last + 7 * HOUR)
    h.judge(last + 7 * HOUR)
    assert h.duties()[0].body.storm.disagreement == []
    h.rain(NOON, 74, every_us=48_000_000, **B)  # 14.8 mm beside 15.24 mm
    h.alive(NOON, last + 7 * HOUR, **B)
    h.judge()
    assert h.duties()[0].body.storm.disagreement == []


def test_two_primaries_are_judged_each_by_itself(house: Callable[..., House]) -> None:
    h = house(gauges=f"{PRIMARY}, {BACKUP.replace('backup', 'primary')}")
    h.rain(NOON, 55)
    h.judge(h.rain(NOON, 70, **B))
    assert sorted(duty.body.datastream for duty in h.duties()) == [GAUGE, _OTHER]


def test_sites_with_the_same_gauges_share_one_fold_and_get_a_duty_each(house: Callable[..., House]) -> None:
    both = f"gauges = [{PRIMARY.replace('5,', '50,')}, {BACKUP}]"
    h = house(more=site("second", "construction", both))
    h.judge(h.rain(NOON, 55))
    assert sorted(duty.body.site for duty in h.duties()) == ["second", "yard"]
    storm_rule = h.engine._rules[1]
    assert len(storm_rule._lines) == 1  # type: ignore[attr-defined]


def test_a_backup_counts_only_in_its_time_at_the_site(house: Callable[..., House]) -> None:
    h = house(gauges=f"{PRIMARY}, {BACKUP.replace('from = 2020-01-01', 'from = 2026-07-01')}")
    h.put((NOON - HOUR, 0))
    h.alive(NOON, NOON + 5 * HOUR, **B)
    h.judge(h.rain(NOON, 70, **B) + 4 * HOUR)
    assert h.duties() == []


def test_a_backup_without_a_primary_is_refused_by_the_registry(tmp_path: Path) -> None:
    with pytest.raises(HeadwallError, match="needs a primary"):
        make_registry(tmp_path, gauges=BACKUP, nodes=BOARD_B)
