"""A backlog of tens of thousands of readings comes through while live rain goes ahead of them and is mailed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall_sim.backlog import NODE, Backlog
from support.long import LONG
from support.village import FIRMWARE, in_ledger, on_flash

pytestmark = [pytest.mark.mosquitto, pytest.mark.slow]

_COUNT = 50_000 if LONG else 20_000


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Backlog]:
    made = Backlog(tmp_path, FIRMWARE, _COUNT)
    yield made
    made.close()


@pytest.mark.timeout(900)
def test_backlog_drains_whole_and_a_live_crossing_is_mailed_before_it_is_through(
    scene: Backlog,
) -> None:
    done = scene.drain()
    scene.proxy.set_mode("cut")
    print(f"{done.rate:.0f} readings/s; mail {done.mail_after_s:.1f} s after the crossing, {done.left_at_mail} to come")
    assert done.left_at_mail > 0
    journal, rows = scene.board.journal(), in_ledger(scene.village, NODE)
    held = on_flash(journal.records, journal.jid)
    assert journal.floor == 1
    assert rows.items() <= held.items()
    assert set(range(1, _COUNT + 1)) <= {seq for _, seq in rows}
    assert sum(value == 1 for _, _, value, _, _ in rows.values()) == len(scene.board.tips_driven())
    assert len(scene.village.mailbox.mails()) >= 1
    assert "memory allocation failed" not in scene.board.console.read_text()
