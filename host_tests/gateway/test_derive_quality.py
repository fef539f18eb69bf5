"""Quality over the ledger: a stretch is judged as in the whole series, and a person's word lies on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from headwall.derive import quality
from headwall.derive.quality import Judged, judged
from headwall.hydrology.qartod import (
    FlatLine,
    GrossRange,
    Neighbour,
    Settings,
    Stuck,
    Thresholds,
    Verdict,
    judge,
    settings_for,
)
from headwall.ledger import schema
from headwall.ledger.append import append_readings
from headwall.ledger.ledger import Ledger
from headwall.ledger.quality_edits import add_edit
from headwall.ledger.resolve import add_anchor
from headwall.registry import Registry
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.readings import reading
from support.registry_text import node, site
from support.rules_house import GAUGE, at, make_registry

S = 1_000_000
STREAM = "board-a/tank.level"
_NUMBERS = count()
SMALL = Settings(
    gross_range=GrossRange(fail=(-5, 5), suspect=(-3, 3)),
    spike=Thresholds(suspect=2, fail=3),
    rate_of_change=Thresholds(suspect=0.5, fail=2),
    flat_line=FlatLine(tolerance=0.5, suspect_s=5, fail_s=9),
    stuck=Stuck(suspect=2, fail=4),
    gap=Thresholds(suspect=3, fail=6),
    neighbour=Neighbour(within_s=2, suspect=1, fail=3),
)
TESTS = ("gross_range", "spike", "rate_of_change", "flat_line", "stuck", "gap", "neighbour")
Row = tuple[int, float | None, str | None]  # seconds, value, quarantine


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return make_registry(tmp_path_factory.mktemp("registry"))


@pytest.fixture(scope="module")
def shared() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
    yield opened
    opened.close()


def fill(
    ledger: Ledger,
    rows: Sequence[Row],
    stream: str = "tank.level",
    *,
    node: str = "board-a",
    base_us: int = 0,
    first_seq: int = 1,
) -> None:
    """Readings, every third one with a time that comes from an anchor."""
    untimed = {seq for seq in range(first_seq, first_seq + len(rows)) if seq % 3 == 0}
    with ledger.begin() as conn:
        if untimed:
            add_anchor(ledger, conn, node=node, boot="0000000a", uptime_ms=0, time_us=base_us, received_us=base_us)
        new = [
            reading(
                seq,
                None if seq in untimed else base_us + seconds * S,
                value,
                node=node,
                stream=stream,
                boot="0000000a" if seq in untimed else None,
                uptime_ms=seconds * 1000 if seq in untimed else None,
                quality=2,
                quarantine=quarantine,
                received_us=base_us + 1_000_000 * S,
            )
            for seq, (seconds, value, quarantine) in enumerate(rows, first_seq)
        ]
        append_readings(ledger, conn, new)


def verdicts(found: Sequence[Judged]) -> list[tuple[int, Verdict]]:
    return [((each.reading.time_us or 0) // S, each.verdict) for each in found]


ROW = st.tuples(
    st.integers(0, 3),
    st.one_of(st.none(), st.sampled_from([0.0, 0.0, 0.25, 1.0, 2.5, 4.0, 6.0])),
    st.sampled_from([None, None, None, None, "clock_future"]),
)


@given(
    names=st.sampled_from([TESTS, *((name,) for name in TESTS)]),
    steps=st.lists(ROW, min_size=1, max_size=24),
    others=st.lists(st.tuples(st.integers(0, 40), st.sampled_from([0.0, 2.0, 4.0])), max_size=6),
    cut=st.tuples(st.integers(0, 23), st.integers(0, 23)),
    window=st.one_of(st.none(), st.tuples(st.integers(0, 30), st.integers(1, 5))),
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_stretch_is_judged_as_in_the_whole_series(
    registry: Registry,
    shared: Ledger,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    steps: list[Row],
    others: list[tuple[int, float]],
    cut: tuple[int, int],
    window: tuple[int, int] | None,
) -> None:
    small = Settings(**{name: getattr(SMALL, name) for name in names})
    monkeypatch.setattr(quality, "settings_for", lambda *_: small)
    now, rows = 0, []
    for step, value, quarantine in steps:
        now += step
        rows.append((now, value, quarantine))
    node = f"board-{next(_NUMBERS)}"
    fill(shared, rows, node=node)
    fill(shared, [(seconds, value, None) for seconds, value in sorted(others)], "other.level", node=node, first_seq=500)
    if window is not None:
        with shared.begin() as conn:
            edges = {"start_us": window[0] * S, "end_us": sum(window) * S}
            conn.execute(schema.maintenance.insert().values(node=node, by="Ruth", at_us=0, **edges))
    start, end = (rows[each % len(rows)][0] for each in sorted(cut, key=lambda each: each % len(rows)))
    with shared.read() as conn:
        whole = judged(conn, registry, f"{node}/tank.level", 0, 1000 * S, neighbour=f"{node}/other.level")
        part = judged(conn, registry, f"{node}/tank.level", start * S, (end + 1) * S, neighbour=f"{node}/other.level")
    assert verdicts(part) == [each for each in verdicts(whole) if start <= each[0] <= end]
    kept = [row for row in rows if row[2] is None and not (window and window[0] <= row[0] < sum(window))]
    assert [each.reading.value for each in whole] == [value for _, value, _ in kept]
    beside = [(s, v) for s, v in sorted(others) if not (window and window[0] <= s < sum(window))]
    direct = judge(
        small,
        [s * S for s, _, _ in kept],
        [v for _, v, _ in kept],
        ([s * S for s, _ in beside], [v for _, v in beside]),
    )
    assert [each.verdict for each in whole] == direct


def test_shipped_settings_need_days_before_a_stretch_and_get_them(registry: Registry) -> None:
    """A level that has stood still for a week fails; half an hour of it alone would not be evaluated."""
    ledger = Ledger.open("sqlite://")
    base_us = at("2026-05-01 00:00")
    fill(ledger, [(n * 3600, 0.5, None) for n in range(24 * 8)], base_us=base_us)
    with ledger.read() as conn:
        (found,) = judged(conn, registry, STREAM, base_us + 180 * 3600 * S, base_us + 181 * 3600 * S)
        (early,) = judged(conn, registry, STREAM, base_us + 60 * 3600 * S, base_us + 61 * 3600 * S)
        (first,) = judged(conn, registry, STREAM, base_us, base_us + S)
    ledger.close()
    assert found.verdict == Verdict(4, ("flat_line",))
    assert early.verdict == Verdict(3, ("flat_line",))
    assert first.verdict.flag == 1  # its range alone


def test_a_spike_is_found_at_either_end_of_a_stretch(registry: Registry) -> None:
    ledger = Ledger.open("sqlite://")
    fill(ledger, [(n * 600, 1.0 if n == 2 else 0.0, None) for n in range(5)])
    with ledger.read() as conn:
        for start, end in ((600, 601), (1200, 1201), (1800, 1801)):
            (found,) = judged(conn, registry, STREAM, start * S, end * S)
            assert "spike" in found.verdict.reasons
    ledger.close()


def test_a_sensor_that_is_stuck_is_found_by_its_last_reading_alone(registry: Registry) -> None:
    """144 equal temperatures in a row are suspect: 143 of them lie before the stretch."""
    ledger = Ledger.open("sqlite://")
    fill(ledger, [(n * 600, 11.5 if n else 10.0, None) for n in range(145)], "air.temperature")
    with ledger.read() as conn:
        for n, flag in ((143, 1), (144, 3)):
            (found,) = judged(conn, registry, "board-a/air.temperature", n * 600 * S, n * 600 * S + 1)
            assert found.verdict == Verdict(flag, ("stuck",) if flag == 3 else ())
    ledger.close()


def test_the_kind_of_site_chooses_the_tests_from_the_day_it_changes(tmp_path: Path) -> None:
    """In a tank a level stands still for weeks; the same sensor at an outfall must not."""
    board = node("board-t", "240ac40000ff", "tank.level")
    sensor = '{ datastream = "board-t/tank.level", from = 2020-01-01, to = 2026-05-10 }'
    registry = make_registry(tmp_path, more=board + site("tank", "septic", f"sensors = [{sensor}]"))
    moved_us = at("2026-05-10 04:00")
    found = list(quality._settings(registry, "board-t/tank.level", moved_us - S, moved_us + S))
    assert [(since_us, until_us) for since_us, until_us, _ in found] == [
        (moved_us - S, moved_us),
        (moved_us, moved_us + S),
    ]
    assert [settings for _, _, settings in found] == [settings_for("level", "septic"), settings_for("level")]


def test_a_gap_begins_no_sooner_than_the_registry_lets_a_sensor_be_silent(tmp_path: Path) -> None:
    patient = make_registry(tmp_path, gauge="silent_after_min = 1500")
    ledger = Ledger.open("sqlite://")
    start_us = at("2026-05-01 00:00")
    rows: list[Row] = [(seconds, 0.0, None) for seconds in (0, 86_400, 172_800, 300_000)]
    fill(ledger, rows, "rain.tips", base_us=start_us)
    end_us = start_us + 400_000 * S
    with ledger.read() as conn:
        flags = [each.flag for each in judged(conn, patient, GAUGE, start_us, end_us)]
        strict = [each.flag for each in judged(conn, make_registry(tmp_path), GAUGE, start_us, end_us)]
    ledger.close()
    assert (flags, strict) == ([1, 1, 1, 3], [1, 3, 3, 3])


def test_a_persons_word_lies_over_the_tests_and_never_over_a_null(registry: Registry) -> None:
    ledger = Ledger.open("sqlite://")
    fill(ledger, [(0, 0.5, None), (600, 99.0, None), (1200, None, None), (1800, 0.5, None)])
    with ledger.begin() as conn:
        for start, end, flag in ((0, 1500, 1), (1500, 3000, 4), (1800, 1900, None)):
            given = {"node": "board-a", "stream": "tank.level", "by": "Ruth", "reason": "looked", "now_us": 9}
            add_edit(conn, start_us=start * S, end_us=end * S, flag=flag, **given)
    with ledger.read() as conn:
        found = judged(conn, registry, STREAM, 0, 3000 * S)
    ledger.close()
    assert [each.verdict.flag for each in found] == [1, 4, 9, 1]
    assert [each.flag for each in found] == [1, 1, 9, 1]
    assert [each.edit and each.edit.by for each in found] == ["Ruth", "Ruth", "Ruth", None]
    assert found[1].reading.value == 99.0


def test_a_stretch_without_readings_has_no_flags(registry: Registry) -> None:
    ledger = Ledger.open("sqlite://")
    with ledger.read() as conn:
        assert judged(conn, registry, STREAM, 0, at("2026-01-01 00:00")) == []
    ledger.close()
