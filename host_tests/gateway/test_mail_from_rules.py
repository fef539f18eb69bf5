"""Readings in, mails out: the real rules, the real mailer, a real SMTP server; only broker and board are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from headwall.law.localtime import short
from headwall.ledger.append import append_readings
from headwall.ledger.ledger import Ledger
from headwall.notify.mailer import Mailer
from headwall.rules.engine import RuleEngine
from headwall.settings import NotifySettings
from headwall_board.certs import Authority
from headwall_sim.mailbox import Mailbox
from support import mail_facts
from support.mail_facts import CROSSING_US, HOUR_US, MINUTE_US, ZONE, open_ledger, storm_tips
from support.readings import tip
from support.set_clock import SetClock
from support.smtp_rig import settings_for


class Gateway:
    """Rules and mailer on one ledger, stepped by hand."""

    def __init__(self, folder: Path, mailbox: Mailbox, ca: Authority) -> None:
        self.mailbox = mailbox
        self.ledger: Ledger = open_ledger(folder)
        self.clock = SetClock(CROSSING_US - 24 * HOUR_US)
        common = self.ledger, mail_facts.registry(), mail_facts.profiles(), self.clock
        self.rules = RuleEngine(*common)
        self.mailer = Mailer(settings_for(mailbox, ca), NotifySettings(), *common)
        self._seq = 0

    def take(self, instants: Sequence[int], now_us: int, value: float = 1.0) -> None:
        """Readings of both gauges' boards arrive, are judged, and what is due is mailed."""
        self.clock.now = now_us
        rows = []
        for instant in instants:
            self._seq += 1
            rows.append(tip(self._seq, time_us=instant, received_us=now_us, value=value))
        with self.ledger.begin() as conn:
            append_readings(self.ledger, conn, rows)
        self.pass_at(now_us)

    def pass_at(self, now_us: int) -> None:
        self.clock.now = now_us
        self.rules.step()
        self.mailer.step()

    def subjects(self) -> list[str]:
        return [
            str(mail.message["Subject"])
            for mail in self.mailbox.mails()
            if "silent" not in str(mail.message["Subject"])
        ]


@pytest.fixture
def gateway(tmp_path: Path, mailbox: Mailbox, ca: Authority) -> Iterator[Gateway]:
    gateway = Gateway(tmp_path, mailbox, ca)
    yield gateway
    gateway.ledger.close()


def test_fiftieth_tip_mails_the_officer_once_and_the_fifty_first_does_not(gateway: Gateway) -> None:
    tips = storm_tips(55)
    gateway.take(tips[:49], tips[48] + 1_000_000)
    assert gateway.subjects() == []
    for instant in tips[49:]:
        gateway.take([instant], instant + 1_000_000)
    gateway.pass_at(tips[-1] + 12 * HOUR_US)

    assert gateway.subjects() == ["Saw Mill North: 0.50 in of rain, report due Jun 11 15:42 EDT"]


def test_storm_learned_after_its_due_time_says_so(gateway: Gateway) -> None:
    tips = storm_tips(60)
    gateway.take(tips, CROSSING_US + 30 * HOUR_US)
    assert gateway.subjects() == []  # the rest of the backlog may be seconds behind
    gateway.pass_at(CROSSING_US + 30 * HOUR_US + 10_000_000)

    (subject,) = gateway.subjects()
    wanted = "Saw Mill North: 0.60 in of rain, report was due Jun 11 15:42 EDT (learned Jun 11 21:42)"
    assert subject == f"{wanted}, and 1 more matter"  # the gauge has been silent since
    text = gateway.mailbox.mails()[-1].message.get_body(("plain",)).get_content()
    assert "Learned Jun 11 21:42, was due Jun 11 15:42 (EDT)" in text


def test_duty_out_of_a_backlog_is_mailed_with_all_that_came_until_then(gateway: Gateway) -> None:
    tips = storm_tips(60)
    late_us = CROSSING_US + 2 * HOUR_US
    gateway.take(tips[:52], late_us)
    gateway.take(tips[52:], late_us + 3_000_000)
    gateway.pass_at(late_us + 10_000_000)

    (subject,) = gateway.subjects()
    assert subject.startswith("Saw Mill North: 0.60 in of rain, report due Jun 11 15:42 EDT")


def test_late_tips_that_move_a_mailed_due_time_make_one_correction(gateway: Gateway) -> None:
    tips = storm_tips(60)
    held_back, early = tips[20:25], [*tips[:20], *tips[25:55]]
    gateway.take(early, early[-1] + 1_000_000)
    gateway.take(held_back, early[-1] + 20 * MINUTE_US)
    gateway.take(tips[55:], tips[-1] + 20 * MINUTE_US)
    gateway.pass_at(tips[-1] + 2 * HOUR_US)

    first, correction = gateway.subjects()
    assert first == f"Saw Mill North: 0.50 in of rain, report due {short(early[49] + 24 * HOUR_US, ZONE)}"
    assert correction == "Correction: Saw Mill North: 0.55 in of rain, report due Jun 11 15:42 EDT"
    text = " ".join(gateway.mailbox.mails()[1].message.get_body(("plain",)).get_content().split())
    assert "Due: was Thu Jun 11 2026, 16:10 EDT; now Thu Jun 11 2026, 15:42 EDT." in text
