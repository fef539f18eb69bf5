"""`headwall storms` against USGS Rainmaker's published storms of one year (skipped where the data is absent)."""

from __future__ import annotations

import csv
import random
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from support.rainmaker import STANDARD_TIME, folder, published_storms
from support.storms_command import events_of, run_json

CAUTIOUS = [
    ("2013-10-05 02:20", "rolling24h"),  # exactly 0.500 in, with both storms around it below
    ("2013-10-05 15:33", "event"),
    ("2013-11-05 23:03", "event"),
    ("2014-03-27 22:34", "event"),
    ("2014-04-12 13:36", "event"),
    ("2014-04-13 05:04", "event"),
    ("2014-04-13 21:09", "event"),
    ("2014-04-29 05:25", "event"),
    ("2014-05-12 05:21", "rolling24h"),  # at a storm total of 0.252 in
    ("2014-05-19 21:33", "event"),
    ("2014-06-01 16:12", "event"),
    ("2014-06-17 02:09", "event"),
    ("2014-06-18 03:32", "event"),
    ("2014-08-12 08:07", "event"),
    ("2014-08-18 17:34", "event"),
    ("2014-08-25 08:34", "event"),
    ("2014-09-04 21:28", "event"),
    ("2014-09-05 05:54", "event"),
    ("2014-09-20 04:34", "event"),
]

HALF = Decimal("0.5")


def storms(path: Path, *options: str) -> dict[str, Any]:
    return run_json(path, "--unit", "in", "--tz", "UTC-6", *options)


def year(*options: str) -> dict[str, Any]:
    return storms(folder() / "rain.test.csv", *options)


def rain_of_the_year() -> list[tuple[datetime, Decimal]]:
    with (folder() / "rain.test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    times = [datetime.strptime(row["date"], "%m/%d/%Y %H:%M").replace(tzinfo=STANDARD_TIME) for row in rows]
    return [(at, amount) for at, row in zip(times, rows, strict=True) if (amount := Decimal(row["gage01"]))]


def day_of(at: datetime) -> date:
    """The day in which a total of one minute fell."""
    return (at - timedelta(minutes=1)).date()


def trigger_times(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f"{datetime.fromisoformat(t['time']):%Y-%m-%d %H:%M}", t["reading"]) for t in found["triggers"]]


def test_published_storms_are_found_each_with_start_end_and_depth() -> None:
    found = events_of(year("--mit", "2h"))
    published = published_storms()
    assert len(published) == 158
    assert [(e.start, e.end, e.depth_in) for e in found] == [(p.start, p.end, p.depth_in) for p in published]


def test_published_peak_intensities_are_found() -> None:
    compared: Counter[str] = Counter()
    for event, published in zip(events_of(year("--mit", "2h")), published_storms(), strict=True):
        for minutes, rate in published.peak_in_h.items():
            found = event.peak_mm_h[minutes]
            assert (found is None) == (rate is None)
            if found is not None and rate is not None:
                assert float(found) / 25.4 == pytest.approx(rate, abs=0.006)
                compared[minutes] += 1
    assert len(compared) == 5
    assert min(compared.values()) > 50


@pytest.mark.parametrize(
    ("mit", "events", "reached"),
    [("1h", 205, 16), ("2h", 158, 16), ("4h", 121, 18), ("6h", 104, 18), ("12h", 79, 16), ("24h", 57, 16)],
)
def test_longer_dry_gap_makes_fewer_storms(mit: str, events: int, reached: int) -> None:
    found = year("--mit", mit, "--window", "event")
    assert len(found["events"]) == events
    assert sum(event["triggered"] for event in found["events"]) == reached
    assert len(found["triggers"]) == reached


def test_largest_storm_at_two_hours_is_that_of_june() -> None:
    largest = max(events_of(year("--mit", "2h")), key=lambda event: event.depth_in)
    assert (f"{largest.start:%m-%d %H:%M}", f"{largest.end:%m-%d %H:%M}") == ("06-01 15:56", "06-02 03:24")
    assert largest.depth_in == Decimal("2.637")


def test_rolling_sum_crosses_17_times_twice_on_one_day() -> None:
    found = trigger_times(year("--window", "rolling24h"))
    assert len(found) == 17
    assert [time for time, _ in found if time.startswith("2014-04-29")] == ["2014-04-29 05:25", "2014-04-29 19:00"]
    assert ("2013-10-05 02:20", "rolling24h") in found


@pytest.mark.parametrize(("depth", "days"), [("0.5in", 17), ("0.25in", 33)])
def test_days_that_reach_the_depth(depth: str, days: int) -> None:
    found = trigger_times(year("--window", "day", "--depth", depth))
    assert len({time[:10] for time, _ in found}) == len(found) == days


def test_cautious_reading_opens_19_duties_at_these_times() -> None:
    assert trigger_times(year()) == CAUTIOUS


def test_without_setting_answered_rain_aside_there_would_be_24_duties() -> None:
    """The definition without that exclusion, read out of plain windows; 18 of them are the events of half an inch."""
    opened = 0
    own = 0
    storms: list[list[tuple[datetime, Decimal]]] = []
    rain = rain_of_the_year()
    for at, amount in rain:
        if not storms or at - storms[-1][-1][0] >= timedelta(hours=6):
            storms.append([])
        storms[-1].append((at, amount))
    for storm in storms:
        own += sum(amount for _, amount in storm) >= HALF
        for n, (at, _) in enumerate(storm):
            event = sum(amount for _, amount in storm[: n + 1])
            rolling = sum(amount for other, amount in rain if at - timedelta(hours=24) < other <= at)
            day = sum(amount for other, amount in rain if other <= at and day_of(other) == day_of(at))
            if max(event, rolling, day) >= HALF:
                opened += 1
                break
    assert (len(storms), own, opened) == (104, 18, 24)


def test_rolling_sum_of_october_is_exactly_half_an_inch_and_floats_miss_it() -> None:
    end = datetime(2013, 10, 5, 2, 20, tzinfo=STANDARD_TIME)
    amounts = [amount for at, amount in rain_of_the_year() if end - timedelta(hours=24) < at <= end]
    assert (len(amounts), sum(amounts)) == (37, HALF)
    assert list(accumulate(float(amount) for amount in amounts))[-1] == 0.5000000000000002
    ends = [
        event.depth_in for event in events_of(year()) if event.start < end and event.end > end - timedelta(hours=24)
    ]
    assert ends == [Decimal("0.419"), Decimal("0.090")]


def test_duty_of_may_fires_by_the_rolling_sum_at_a_quarter_inch_of_its_own_storm() -> None:
    at = datetime(2014, 5, 12, 5, 21, tzinfo=STANDARD_TIME)
    (event,) = [event for event in events_of(year()) if event.start <= at <= event.end]
    assert sum(amount for other, amount in rain_of_the_year() if event.start < other <= at) == Decimal("0.252")


def test_events_below_half_an_inch_are_not_triggered_though_a_duty_opened_in_them() -> None:
    found = events_of(year())
    (event,) = [event for event in found if f"{event.start:%Y-%m-%d %H:%M}" == "2013-10-05 01:49"]
    assert (event.depth_in, event.triggered) == (Decimal("0.090"), False)
    assert sum(event.depth_in for event in found) == Decimal("27.071")


def test_shuffled_rows_give_the_same_events(tmp_path: Path) -> None:
    header, *rows = (folder() / "rain.test.csv").read_text().splitlines()
    random.Random(7).shuffle(rows)
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join([header, *rows]))
    assert storms(shuffled, "--mit", "2h") == year("--mit", "2h")


def test_zero_rows_change_no_event() -> None:
    without, with_zeros = (storms(folder() / f"test_data_{name}.csv") for name in ("ones", "zeroes"))
    assert without == with_zeros
    assert len(without["events"]) == 6


def test_zero_rows_added_to_the_year_change_no_event(tmp_path: Path) -> None:
    with (folder() / "rain.test.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    have = {time for time, _ in rows}
    dry = [f"{month}/1/2014 {hour}:00" for month in range(1, 10) for hour in range(24)]
    padded = tmp_path / "padded.csv"
    with padded.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows, *([time, "0"] for time in dry if time not in have)])
    assert storms(padded) == year()
