"""The SMTP dialogue against a real server: what each answer means for the mail."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from headwall.clock import UTC
from headwall.notify.smtp import Outcome, SmtpSender, SmtpUnavailableError
from headwall.settings import SmtpSettings
from headwall_board.certs import Authority, issue_server, make_ca
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE
from headwall_sim.mailbox import Mailbox, Stage, Step, drop_before_reply, refuse
from support.smtp_rig import SENDER, mute_server, settings_for

TO = "smo@village.example"
MESSAGE = (
    b"From: headwall@village.example\r\nTo: smo@village.example\r\nSubject: rain\r\n\r\n.a line\r\nand one more\r\n"
)


@pytest.fixture
def settings(mailbox: Mailbox, ca: Authority) -> SmtpSettings:
    return settings_for(mailbox, ca)


def send(settings: SmtpSettings, count: int = 1) -> list[Outcome]:
    """Hand over some mails on one opening after the other, as the mailer does."""
    sender = SmtpSender(settings)
    outcomes = []
    for _ in range(count):
        sender.open()
        outcomes.append(sender.send(SENDER, TO, MESSAGE))
    sender.close()
    return outcomes


def changed(settings: SmtpSettings, **changes: Any) -> SmtpSettings:
    return settings.model_copy(update=changes)


def test_mail_over_starttls_and_auth_arrives_as_it_was(mailbox: Mailbox, settings: SmtpSettings) -> None:
    assert send(settings) == [Outcome("sent")]
    (mail,) = mailbox.mails()
    assert mail.sender == SENDER
    assert mail.recipients == (TO,)
    assert mail.message.get_content() == ".a line\nand one more\n"


def test_several_mails_share_one_login(mailbox: Mailbox, settings: SmtpSettings) -> None:
    sender = SmtpSender(settings)
    sender.open()
    mailbox.then(refuse("535 5.7.8 no second login", at="auth"))
    for _ in range(3):
        sender.open()
        assert sender.send(SENDER, TO, MESSAGE) == Outcome("sent")
    sender.close()
    assert len(mailbox.mails()) == 3


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
def test_temporary_refusal_at_any_stage_means_later(mailbox: Mailbox, settings: SmtpSettings, stage: Stage) -> None:
    mailbox.then(refuse("454 4.3.0 try later", at=stage))
    first, second = send(settings, 2)
    assert first.result == "later"
    assert "454 4.3.0 try later" in first.reason
    assert second == Outcome("sent")
    assert len(mailbox.mails()) == 1


@pytest.mark.parametrize("stage", ["rcpt", "data"])
def test_refusal_of_the_recipient_or_the_content_is_final(
    mailbox: Mailbox, settings: SmtpSettings, stage: Stage
) -> None:
    mailbox.then(refuse("550 5.1.1 no such mailbox", at=stage))
    first, second = send(settings, 2)
    assert first.result == "refused"
    assert "550 5.1.1 no such mailbox" in first.reason
    assert second == Outcome("sent")


def test_refusal_of_the_sender_is_about_us_and_not_final(mailbox: Mailbox, settings: SmtpSettings) -> None:
    mailbox.then(refuse("550 5.7.1 sender not allowed", at="mail"))
    assert send(settings)[0].result == "later"


def test_421_closes_the_connection_and_the_next_mail_opens_another(mailbox: Mailbox, settings: SmtpSettings) -> None:
    mailbox.then(refuse("421 4.3.2 shutting down"))
    first, second = send(settings, 2)
    assert first.result == "later"
    assert second == Outcome("sent")


@pytest.mark.parametrize("store", [True, False])
def test_connection_lost_instead_of_the_answer_is_unknown(
    mailbox: Mailbox, settings: SmtpSettings, store: bool
) -> None:
    mailbox.then(drop_before_reply(store=store))
    first, second = send(settings, 2)
    assert first.result == "unknown"
    assert second == Outcome("sent")


def test_connection_lost_before_the_content_is_not_unknown(mailbox: Mailbox, settings: SmtpSettings) -> None:
    mailbox.then(Step(at="rcpt", drop=True))
    assert send(settings)[0].result == "later"
    assert mailbox.mails() == []


def test_address_that_cannot_be_written_is_refused_with_the_remedy(mailbox: Mailbox, settings: SmtpSettings) -> None:
    sender = SmtpSender(settings)
    sender.open()
    outcome = sender.send(SENDER, "smö@village.example", MESSAGE)
    sender.close()
    assert outcome.result == "refused"
    assert "correct it in the registry" in outcome.reason
    assert mailbox.mails() == []


def test_wrong_authority_is_refused_and_names_the_setting(
    tmp_path: Path, mailbox: Mailbox, settings: SmtpSettings
) -> None:
    other = make_ca(tmp_path, "other", NOT_BEFORE, NOT_AFTER)
    with pytest.raises(SmtpUnavailableError, match=r"smtp\.ca_file"):
        send(changed(settings, ca_file=other.cert))
    assert mailbox.attempts == 0


def test_wrong_host_name_is_refused(tmp_path: Path, ca: Authority) -> None:
    certificate = issue_server(tmp_path, ca, ["mail.village.example"], NOT_BEFORE, NOT_AFTER)
    with Mailbox(tmp_path / "mails", certificate=certificate) as mailbox:
        with pytest.raises(SmtpUnavailableError, match=r"smtp\.host"):
            send(settings_for(mailbox, ca))
        assert mailbox.attempts == 0


def test_expired_certificate_is_refused(tmp_path: Path, ca: Authority) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC)
    certificate = issue_server(tmp_path, ca, ["127.0.0.1"], *past)
    with Mailbox(tmp_path / "mails", certificate=certificate) as mailbox:
        with pytest.raises(SmtpUnavailableError, match="expired"):
            send(settings_for(mailbox, ca))
        assert mailbox.attempts == 0


def test_wrong_password_names_the_account(settings: SmtpSettings) -> None:
    wrong = SmtpSettings(**{**settings.model_dump(), "password": "wrong"})
    with pytest.raises(SmtpUnavailableError, match="login as 'headwall' refused"):
        send(wrong)


def test_username_without_password_says_what_to_set(settings: SmtpSettings) -> None:
    with pytest.raises(SmtpUnavailableError, match=r"smtp\.password_file"):
        send(changed(settings, password=None))


def test_server_without_starttls_gets_no_password(tmp_path: Path, ca: Authority) -> None:
    with Mailbox(tmp_path / "mails") as mailbox:
        with pytest.raises(SmtpUnavailableError, match=r"smtp\.security"):
            send(settings_for(mailbox, ca))
        assert mailbox.attempts == 0


def test_absent_server_says_where_it_was_looked_for(mailbox: Mailbox, settings: SmtpSettings) -> None:
    mailbox.stop()
    with pytest.raises(SmtpUnavailableError, match=rf"127\.0\.0\.1:{mailbox.port}"):
        send(settings)


def test_abort_frees_a_sender_from_a_server_that_never_greets(settings: SmtpSettings) -> None:
    with mute_server() as (port, connected):
        sender = SmtpSender(changed(settings, port=port, timeout_s=300))
        failed = threading.Event()

        def open_it() -> None:
            with pytest.raises(SmtpUnavailableError):
                sender.open()
            failed.set()

        thread = threading.Thread(target=open_it, daemon=True)
        thread.start()
        assert connected.wait(30)
        while not failed.wait(0.05):
            sender.abort()
        thread.join(30)
        assert not thread.is_alive()
