"""From outbox rows to mails on a real SMTP server: each fact once, across refusals, kills and restarts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
import structlog
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox
from headwall.notify.mailer import Mailer, retry_after_us
from headwall.registry import Registry
from headwall.rules.facts import GaugeSilent, NearThreshold, StormDuty, StormSummary, to_body
from headwall.rules.tell import refresh, withdraw
from headwall.settings import NotifySettings, SmtpSettings
from headwall.web.status import build_status
from headwall_board.certs import Authority
from headwall_sim.mailbox import Mailbox, call_before_reply, drop_before_reply, refuse
from support import mail_facts
from support.mail_facts import CROSSING_US, HOUR_US, MINUTE_US, at, duty, open_ledger, site, storm, tell
from support.set_clock import SetClock
from support.smtp_rig import mute_server, settings_for


class Rig:
    """A ledger, a mailbox, a clock, and mailers that come and go."""

    def __init__(self, folder: Path, mailbox: Mailbox, ca: Authority) -> None:
        self.mailbox = mailbox
        self.smtp: SmtpSettings = settings_for(mailbox, ca)
        self.notify = NotifySettings()
        self.clock = SetClock(CROSSING_US)
        self.registry: Registry = mail_facts.registry()
        self.ledger = open_ledger(folder)
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        self.mailer = self.new_mailer()

    def new_mailer(self) -> Mailer:
        return Mailer(self.smtp, self.notify, self.ledger, self.registry, mail_facts.profiles(), self.clock)

    def restart(self) -> None:
        """The gateway again, on the ledger as the disk has it."""
        self.ledger.close()
        self.ledger = Ledger.open(self.url)
        self.mailer = self.new_mailer()

    def step_at(self, now_us: int) -> int | None:
        self.clock.now = now_us
        return self.mailer.step()

    def run_until(self, end_us: int) -> None:
        """All passes until an instant, each at the instant that the one before asked for."""
        next_us = self.mailer.step()
        while next_us is not None and next_us <= end_us:
            assert next_us > self.clock.now
            next_us = self.step_at(next_us)
        self.clock.now = end_us

    def rows(self) -> list[Any]:
        with self.ledger.read() as conn:
            return list(conn.execute(sa.select(schema.mails).order_by("id")))

    def subjects(self) -> list[str]:
        return [str(mail.message["Subject"]) for mail in self.mailbox.mails()]


@pytest.fixture
def rig(tmp_path: Path, mailbox: Mailbox, ca: Authority) -> Iterator[Rig]:
    rig = Rig(tmp_path, mailbox, ca)
    yield rig
    rig.ledger.close()


def silent(gauge: str = mail_facts.GAUGE) -> GaugeSilent:
    return GaugeSilent("elmsford", ["site-1"], gauge, CROSSING_US - HOUR_US, CROSSING_US, 60)


# --- once, across refusals and restarts ---


def test_three_refusals_with_restarts_between_then_taken_is_one_mail(rig: Rig) -> None:
    rig.mailbox.then(*[refuse("454 4.3.0 try later")] * 3)
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    for _ in range(3):
        next_us = rig.mailer.step()
        assert next_us is not None
        rig.restart()
        assert rig.mailer.step() == next_us  # not before its time
        rig.clock.now = next_us
    assert rig.mailer.step() is None

    assert len(rig.mailbox.mails()) == 1
    (row,) = rig.rows()
    assert (row.state, row.tries, row.repeats, row.handing_over, row.last_error) == ("sent", 4, 0, False, None)
    rig.restart()
    rig.run_until(rig.clock.now + 100 * HOUR_US)
    assert len(rig.mailbox.mails()) == 1


def test_mails_of_a_clock_that_was_years_ahead_go_once_it_is_set_right(rig: Rig) -> None:
    right_us, ahead_us = rig.clock.now, rig.clock.now + 10 * 365 * 24 * HOUR_US
    tell(rig.ledger, "silent/1", silent(), ahead_us)
    rig.mailbox.then(refuse("454 4.3.0 try later"))
    rig.step_at(ahead_us)
    tell(rig.ledger, "silent/2", silent(), ahead_us, how="digest")
    rig.step_at(right_us)
    tell(rig.ledger, "silent/3", silent(), right_us)
    rig.step_at(right_us)
    assert len(rig.mailbox.mails()) == 3
    assert {row.state for row in rig.rows()} == {"sent"}


def test_kill_between_250_and_commit_sends_at_most_two_of_one_message_id(rig: Rig) -> None:
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    killed: list[int] = []

    def kill() -> None:
        os.kill(killed[0], signal.SIGKILL)

    rig.mailbox.then(call_before_reply(kill))
    smtp = {**json.loads(rig.smtp.model_dump_json()), "password": rig.mailbox.password}
    script = Path(mail_facts.__file__).with_name("mailer_process.py")
    process = subprocess.Popen([sys.executable, script, rig.url, json.dumps(smtp), str(rig.clock.now)])
    killed.append(process.pid)
    assert process.wait(60) == -signal.SIGKILL

    (row,) = rig.rows()
    assert (row.state, row.handing_over) == ("queued", True)
    rig.restart()
    rig.run_until(rig.clock.now + HOUR_US)
    first, second = rig.mailbox.mails()
    assert first.message["Message-ID"] == second.message["Message-ID"]
    assert first.path.read_bytes() == second.path.read_bytes()
    (row,) = rig.rows()
    assert (row.state, row.tries, row.repeats, row.handing_over) == ("sent", 2, 1, False)


def test_lost_answer_is_tried_again_under_the_same_message_id_and_counted(rig: Rig) -> None:
    rig.mailbox.then(drop_before_reply(), refuse("451 4.3.0 busy"))
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.run_until(rig.clock.now + HOUR_US)

    assert len({mail.message["Message-ID"] for mail in rig.mailbox.mails()}) == 1
    assert len(rig.mailbox.mails()) == 2
    assert [(row.state, row.tries, row.repeats) for row in rig.rows()] == [("sent", 3, 1)]


def test_restarts_make_no_mail(rig: Rig) -> None:
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.mailer.step()
    for _ in range(5):
        rig.restart()
        rig.run_until(rig.clock.now + 24 * HOUR_US)
    assert len(rig.mailbox.mails()) == 1


def test_final_refusal_is_failed_at_once_and_visible(rig: Rig) -> None:
    rig.mailbox.then(refuse("550 5.1.1 no such mailbox", at="rcpt"))
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    with structlog.testing.capture_logs() as logs:
        assert rig.mailer.step() is None

    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("mail failed", "error")]
    status = build_status(rig.ledger, rig.registry, mail_facts.profiles(), rig.clock.now, {})
    assert (status.counts.mails_failed, status.counts.mails_queued) == (1, 0)
    assert status.mails[0].state == "failed"
    assert "550 5.1.1 no such mailbox" in (status.mails[0].last_error or "")
    rig.restart()
    rig.run_until(rig.clock.now + 100 * HOUR_US)
    assert rig.mailbox.attempts == 0


def test_one_refused_recipient_does_not_hold_up_another(rig: Rig) -> None:
    rig.mailbox.then(refuse("550 5.1.1 no such mailbox", at="rcpt"))
    tell(rig.ledger, "silent/1", silent(), rig.clock.now, person="sam-okafor")
    tell(rig.ledger, "silent/1", silent(), rig.clock.now, person="ruth-adler")
    rig.mailer.step()

    assert sorted(row.state for row in rig.rows()) == ["failed", "sent"]


def test_server_that_stays_away_is_given_up_after_the_set_time_and_named_until_then(rig: Rig) -> None:
    rig.mailbox.stop()
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.mailer.step()
    assert "check smtp.host" in (rig.mailer.healthy() or "")
    rig.run_until(CROSSING_US + 47 * HOUR_US)
    assert [row.state for row in rig.rows()] == ["queued"]
    assert rig.rows()[0].repeats == 0
    rig.run_until(CROSSING_US + 50 * HOUR_US)

    (row,) = rig.rows()
    assert row.state == "failed"
    assert row.last_error.startswith("gave up after 48 h; last: ")
    assert 50 < row.tries < 70  # it doubles its waits up to an hour


def test_mails_written_while_the_server_is_away_go_when_it_is_back(rig: Rig) -> None:
    rig.mailbox.stop()
    tell(rig.ledger, "silent/1", silent(), rig.clock.now, person="sam-okafor")
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.mailer.step()
    rig.mailbox.start()
    rig.run_until(rig.clock.now + HOUR_US)

    assert len(rig.mailbox.mails()) == 2
    assert rig.mailer.healthy() is None


def test_waits_double_up_to_an_hour() -> None:
    assert [retry_after_us(tries) // 1_000_000 for tries in (1, 2, 3, 7, 8, 60, 500)] == [
        30, 60, 120, 1920, 3600, 3600, 3600,
    ]  # fmt: skip


# --- grouping ---


def test_storm_over_forty_sites_is_one_mail_an_officer(rig: Rig) -> None:
    rig.registry = mail_facts.registry([site(n, f"Lot {n}", f"{n} Main Street") for n in range(1, 41)])
    rig.mailer = rig.new_mailer()
    for n in range(1, 41):
        tell(rig.ledger, f"duty/{n}/1", duty(duty=n, site=f"site-{n}"), rig.clock.now)
    rig.run_until(rig.clock.now + 24 * HOUR_US)

    (mail,) = rig.mailbox.mails()
    assert mail.message["Subject"] == "40 sites: 0.50 in of rain, reports due Jun 11 15:42 EDT"
    text = mail.message.get_body(("plain",)).get_content()
    assert all(f"Who owes it: Lot {n}\n" in text for n in range(1, 41))
    assert all(f"headwall duty received {n} --by" in text for n in range(1, 41))


def test_first_fact_goes_at_once_and_the_next_wait_for_each_other(rig: Rig) -> None:
    start = rig.clock.now
    tell(rig.ledger, "duty/1/1", duty(), start)
    assert rig.mailer.step() is None
    for n in (2, 3):
        tell(rig.ledger, f"duty/{n}/1", duty(duty=n, due_us=at("06-11 16:00")), start + n * MINUTE_US)
        assert rig.step_at(start + n * MINUTE_US) == start + 15 * MINUTE_US
    assert len(rig.mailbox.mails()) == 1
    rig.step_at(start + 15 * MINUTE_US)

    assert len(rig.mailbox.mails()) == 2
    tell(rig.ledger, "duty/4/1", duty(duty=4), start + 45 * MINUTE_US)
    rig.step_at(start + 45 * MINUTE_US)
    assert len(rig.mailbox.mails()) == 3


def test_a_long_storm_is_three_mails_at_once_and_one_that_tells_all_the_rest(rig: Rig) -> None:
    """A duty every half hour over nine gauges, restarts between; then the storm is over."""
    start_us = rig.clock.now
    for n in range(1, 10):
        at_us = start_us + n * 30 * MINUTE_US
        due_us = at_us + 24 * HOUR_US
        told = duty(duty=n, due_us=due_us, crossing_us=at_us, learned_us=at_us, storm=storm_until(at_us))
        tell(rig.ledger, f"duty/{n}/1", told, at_us)
        rig.restart()
        rig.step_at(at_us)
    assert len(rig.mailbox.mails()) == 3
    over_us = start_us + 9 * 30 * MINUTE_US + 6 * HOUR_US
    rig.run_until(over_us - MINUTE_US)
    assert len(rig.mailbox.mails()) == 3
    rig.run_until(over_us)

    mails = [mail.message.get_body(("plain",)).get_content() for mail in rig.mailbox.mails()]
    assert len(mails) == 4
    carried = [[n for n in range(1, 10) if f"headwall duty received {n} --by" in mail] for mail in mails]
    assert carried == [[1], [2], [3], [4, 5, 6, 7, 8, 9]]


def storm_until(at_us: int) -> StormSummary:
    return msgspec.structs.replace(storm(50), start_us=CROSSING_US - HOUR_US, end_us=at_us)


def test_at_night_a_silent_gauge_waits_for_the_morning_and_a_duty_does_not(rig: Rig) -> None:
    night_us = at("06-10 23:30")
    rig.clock.now = night_us
    tell(rig.ledger, "gauge_silent/a/1", silent(), night_us, person="sam-okafor")
    assert rig.mailer.step() == at("06-11 06:00")
    tell(rig.ledger, "duty/1/1", duty(), night_us)
    rig.mailer.step()
    assert len(rig.mailbox.mails()) == 1
    rig.restart()
    rig.run_until(at("06-11 06:00"))
    assert [mail.recipients for mail in rig.mailbox.mails()] == [("smo@village.example",), ("sam@gauges.example",)]


def test_a_gauge_that_flaps_is_one_mail_and_a_line_of_the_digest(rig: Rig) -> None:
    start_us = at("06-10 08:00")
    for n in range(5):
        at_us = start_us + n * 2 * HOUR_US
        tell(rig.ledger, f"gauge_silent/a/{n}", silent(), at_us)
        rig.step_at(at_us)
        rig.restart()
    assert len(rig.mailbox.mails()) == 1
    rig.run_until(at("06-11 07:00"))

    assert len(rig.mailbox.mails()) == 2
    text = rig.mailbox.mails()[-1].message.get_body(("plain",)).get_content()
    assert text.count("Rain gauge silent") == 1
    assert "This came and went 4 times since the last digest." in text


def test_mail_without_a_key_for_its_link_goes_all_the_same(rig: Rig, tmp_path: Path) -> None:
    rig.notify = NotifySettings(link_key=tmp_path)  # a folder
    rig.mailer = rig.new_mailer()
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.mailer.step()
    (mail,) = rig.mailbox.mails()
    assert "/seen/" not in mail.message.get_body(("plain",)).get_content()


def test_people_are_written_to_apart(rig: Rig) -> None:
    for person in ("ruth-adler", "sam-okafor"):
        tell(rig.ledger, "silent/1", silent(), rig.clock.now, person=person)
    rig.mailer.step()

    mails = rig.mailbox.mails()
    assert sorted(mail.recipients for mail in mails) == [("sam@gauges.example",), ("smo@village.example",)]
    assert mails[0].message["Message-ID"] != mails[1].message["Message-ID"]


def test_digest_waits_for_its_local_time_and_does_not_hold_up_what_is_urgent(rig: Rig) -> None:
    near = NearThreshold(
        "elmsford", "site-2", "elmsford-288-8a2-storm", "gauge-b/rain.tips", storm(49, ended=True), "0.5"
    )
    tell(rig.ledger, "near/1", near, rig.clock.now, how="digest")
    assert rig.mailer.step() == at("06-11 07:00")
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    assert rig.mailer.step() == at("06-11 07:00")
    rig.restart()
    rig.run_until(at("06-11 07:00"))

    assert rig.subjects() == [
        "Saw Mill North: 0.50 in of rain, report due Jun 11 15:42 EDT",
        "Digest Jun 11: Main Street Lofts: 0.49 in, near threshold, your call",
    ]


def test_a_fact_that_takes_the_place_of_one_that_waited_does_not_wait_for_the_digest(rig: Rig) -> None:
    """As many rows wait as before, and none has a greater number than there was once."""
    tell(rig.ledger, "silent/1", silent(), rig.clock.now, how="digest")
    assert rig.mailer.step() == at("06-11 07:00")
    with rig.ledger.begin() as conn:
        withdraw(conn, "silent/1")
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.mailer.step()
    assert rig.subjects() == ["Saw Mill North: 0.50 in of rain, report due Jun 11 15:42 EDT"]


def test_a_pass_that_has_nothing_new_to_look_at_does_not_read_what_waits(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(rig.ledger, "silent/1", silent(), rig.clock.now, how="digest")
    first = rig.mailer.step()
    with monkeypatch.context() as patched:
        patched.setattr(outbox, "waiting", lambda _: pytest.fail("read again"))
        assert rig.step_at(rig.clock.now + 50 * MINUTE_US) == first
    rig.run_until(at("06-11 07:00"))
    assert len(rig.subjects()) == 1


def test_correction_taken_back_while_it_waits_is_not_mailed(rig: Rig) -> None:
    """A rule may replace a row that no mail carries; the mail that was being composed from it is dropped."""
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    with rig.ledger.read() as conn:
        rows = outbox.waiting(conn)
    with rig.ledger.begin() as conn:
        later = to_body(duty(due_us=at("06-11 15:12")))
        conn.execute(schema.outbox.update().values(body=later, fact="duty/1/2"))
    mail = outbox.NewMail("<1@x>", "smo@village.example", "old", b"")
    assert not outbox.queue(rig.ledger, mail, rows, rig.clock.now)

    rig.mailer.step()
    assert rig.subjects() == ["Saw Mill North: 0.50 in of rain, report due Jun 11 15:12 EDT"]


def test_duty_whose_details_change_while_it_is_composed_is_mailed_all_the_same(rig: Rig) -> None:
    """A backlog fills the gaps of a duty faster than a mail is composed: waiting for it to rest would be no mail."""
    composed, fuller = duty(storm=storm(50)), duty(storm=storm(52), version=2)
    tell(rig.ledger, "duty/1/1", composed, rig.clock.now)
    with rig.ledger.read() as conn:
        rows = outbox.waiting(conn)
    with rig.ledger.begin() as conn:
        refresh(conn, fuller)
    mail = outbox.NewMail("<1@x>", "smo@village.example", "as it was", b"")
    assert outbox.queue(rig.ledger, mail, rows, rig.clock.now)
    with rig.ledger.read() as conn:
        row = conn.execute(sa.select(schema.outbox.c.body, schema.outbox.c.mail)).one()
    assert row.mail is not None
    assert row.body == to_body(composed), "what the mail says, for a correction to start from"


# --- what cannot be mailed ---


def test_person_who_has_left_the_registry_is_a_failed_mail_not_a_pending_one(rig: Rig) -> None:
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now, person="gone")
    assert rig.mailer.step() is None

    (row,) = rig.rows()
    assert (row.state, row.recipient) == ("failed", "gone")
    assert "no person 'gone'" in row.last_error


def test_row_that_is_no_fact_is_said_and_holds_up_nobody(rig: Rig) -> None:
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now, person="sam-okafor")
    with rig.ledger.begin() as conn:
        conn.execute(schema.outbox.update().values(body={"type": "storm_duty"}))
    tell(rig.ledger, "duty/2/1", duty(duty=2), rig.clock.now)
    next_us = rig.mailer.step()

    assert len(rig.mailbox.mails()) == 1
    assert "duty/1/1" in (rig.mailer.healthy() or "")
    assert next_us is not None
    assert next_us > rig.clock.now


def test_site_and_provision_that_nobody_knows_are_still_mailed(rig: Rig) -> None:
    lost: StormDuty = duty(site="sold", provision="old-rule", datastream="thrown-away/rain.tips", municipality="merged")
    tell(rig.ledger, "duty/1/1", lost, rig.clock.now)
    rig.mailer.step()

    assert rig.subjects() == ["sold: 0.50 in of rain, report due Jun 11 15:42 EDT"]


# --- the thread ---


def test_thread_mails_what_is_announced_and_ends(rig: Rig) -> None:
    arrived = threading.Event()
    rig.mailbox.then(call_before_reply(arrived.set))
    rig.mailer.start()
    tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
    rig.ledger.announce()
    assert arrived.wait(30)
    rig.mailer.stop()

    assert rig.mailer.healthy() is None
    assert [row.state for row in rig.rows()] == ["sent"]
    assert not any(thread.name == "mailer" for thread in threading.enumerate())


def test_stop_does_not_wait_for_a_server_that_is_mute(rig: Rig) -> None:
    with mute_server() as (port, connected):
        rig.smtp = rig.smtp.model_copy(update={"port": port, "timeout_s": 300})
        rig.mailer = rig.new_mailer()
        tell(rig.ledger, "duty/1/1", duty(), rig.clock.now)
        rig.mailer.start()
        assert connected.wait(30)
        rig.mailer.stop()
        assert not any(thread.name == "mailer" for thread in threading.enumerate())
    assert [(row.state, row.repeats) for row in rig.rows()] == [("queued", 0)]


def test_a_fact_that_cannot_be_told_holds_up_no_other_of_its_mail(rig: Rig) -> None:
    """A row of a later version of the program, for one: the rest of the digest goes without it."""
    for number in range(1, 6):
        tell(rig.ledger, f"duty/{number}/1", duty(duty=number), rig.clock.now, how="digest")
    with rig.ledger.begin() as conn:
        bad = schema.outbox.update().where(schema.outbox.c.fact == "duty/3/1")
        conn.execute(bad.values(body={"type": "of another version"}))
    rig.clock.now += 48 * HOUR_US
    rig.mailer.step()
    with rig.ledger.read() as conn:
        assert [each.fact for each in outbox.waiting(conn)] == ["duty/3/1"]
    assert "duty/3/1" in (rig.mailer.healthy() or "")
