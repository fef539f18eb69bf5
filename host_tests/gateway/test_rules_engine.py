"""The engine itself: its thread, its cursor, another process on the same ledger, and the state kept between steps."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall.hydrology.intensity import MINUTE_US, peak_mm_h
from headwall.ledger import schema
from headwall.rules.engine import CURSOR
from headwall.rules.rain_line import Peak
from headwall.rules.storm import StormReportRule
from headwall.units import Depth
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.registry_text import ACTIVE, site
from support.rules_house import HOUR, MINUTE, PRIMARY, House, at, make_registry

NOON = at("2026-06-10 12:00")


def test_the_thread_judges_what_is_announced_and_wakes_who_mails(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON, url=f"sqlite:///{tmp_path / 'ledger.db'}")
    mailer = house.ledger.listen()
    house.engine.start()
    try:
        house.clock.now = house.rain(NOON, 50)
        mailer.clear()
        house.ledger.announce()
        assert _until(lambda: len(house.outbox()) == 1)
        assert mailer.wait(10)
        assert house.engine.healthy() is None
    finally:
        house.engine.stop()
    assert house.duties()[0].body.storm.depth_in == "0.5"
    house.close()


def _until(holds: object) -> bool:
    assert callable(holds)
    pause = threading.Event()
    return any(holds() or pause.wait(0.05) for _ in range(400))


def test_two_engines_on_one_ledger_count_each_tip_once(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON, url=f"sqlite:///{tmp_path / 'ledger.db'}")
    one, other = house.engine, house.new_engine()
    for n in range(50):
        house.put((NOON + n * MINUTE, 1))
        house.clock.now = NOON + n * MINUTE
        (one if n % 3 else other).step()
    (duty,) = house.duties()
    assert duty.body.crossing_us == NOON + 49 * MINUTE
    assert duty.body.storm.depth_in == "0.5"
    house.close()


def test_a_step_that_cannot_commit_changes_nothing_and_is_done_again(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON)
    last = house.rain(NOON, 30)
    house.judge(last)
    last = house.rain(last + MINUTE, 30)
    with house.full_disk(), pytest.raises(sa.exc.OperationalError):
        house.engine.step()
    with house.ledger.read() as conn:
        assert house.ledger.cursor(conn, CURSOR) == 30
    assert house.duties() == []
    house.judge(last + HOUR)
    (duty,) = house.duties()
    assert duty.body.storm.depth_in == "0.6"
    house.close()


def test_a_row_that_nobody_can_read_stops_its_own_site_alone_and_is_said(tmp_path: Path) -> None:
    builder, wet = 'people = [{ person = "builder", role = "developer", from = 2020-01-01 }]', f"gauges = [{PRIMARY}]"
    house = House(make_registry(tmp_path, more=site("aaa", "construction", builder, wet, status=ACTIVE)), NOON)
    row = {"kind": "near_threshold", "subject": "aaa", "key": "near_threshold/aaa/1/x", "body": {"nonsense": 1}}
    with house.ledger.begin() as conn:
        conn.execute(schema.notices.insert().values(**row, opened_us=1))
    last = house.rain(NOON, 70)
    for n in range(3):
        house.judge(last + n * 61_000_000)
    assert [duty.body.site for duty in house.duties()] == ["yard"]
    assert "aaa" in (house.engine.healthy() or "")
    with house.ledger.begin() as conn:
        conn.execute(schema.notices.delete().where(schema.notices.c.subject == "aaa"))
    house.judge(last + 5 * 61_000_000)
    assert sorted(duty.body.site for duty in house.duties()) == ["aaa", "yard"]
    assert house.engine.healthy() is None
    house.close()


def test_rain_on_which_a_rule_failed_as_a_whole_is_judged_once_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(make_registry(tmp_path), NOON)
    last = house.rain(NOON, 70)
    with monkeypatch.context() as patched:
        patched.setattr(StormReportRule, "judge", lambda *_: int("x"))
        for n in range(3):
            house.judge(last + n * 61_000_000)
            assert "rule storm" in (house.engine.healthy() or "")
    house.judge(last + 5 * 61_000_000)
    assert [duty.body.site for duty in house.duties()] == ["yard"]
    assert house.engine.healthy() is None
    house.close()


def test_two_engines_that_take_turns_tell_a_report_once(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON)
    engines = [house.engine, house.new_engine()]
    engines[0].report_fault("board-a", "mac_mismatch", "the pack is of another board")
    for hours in range(0, 96, 6):
        house.rain(NOON + hours * HOUR, 1)
        house.engine = engines[hours // 6 % 2]
        house.judge(NOON + hours * HOUR)
    assert len(house.notices("node_fault")) == 1
    house.close()


def test_an_empty_step_leaves_the_ledger_as_it_is(tmp_path: Path) -> None:
    house = House(make_registry(tmp_path), NOON)
    house.judge(house.rain(NOON, 50))
    with house.ledger.read() as conn:
        before = conn.exec_driver_sql("SELECT total_changes()").scalar()
    house.judge()
    with house.ledger.read() as conn:
        assert conn.exec_driver_sql("SELECT total_changes()").scalar() == before
    house.close()


@settings(deadline=None)
@example(
    gaps=[0, 1, 900, 0], looks=[False, False, True, False]
)  # the newest tip shares its instant with one seen before
@given(
    gaps=st.lists(st.integers(0, 900), min_size=1, max_size=60),
    looks=st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_the_peak_kept_up_to_date_is_the_peak_of_the_whole_storm(gaps: list[int], looks: list[bool]) -> None:
    tip = Depth(Fraction(254, 1000))
    peak, rain, now_us = Peak(), [], 0
    for gap, look in zip(gaps, looks, strict=False):
        now_us += gap * 1_000_000
        rain.append((now_us, 1))
        peak.add(now_us, 1)
        if look:
            peak.amount()
    whole = peak_mm_h(rain, 15 * MINUTE_US, tip)
    kept = peak.amount()
    assert (None if kept is None else kept * tip.mm * 4) == whole
