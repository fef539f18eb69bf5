"""The local mailbox: what it keeps, whom it takes mail from, and how it refuses by script."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from headwall_board.certs import Authority, ServerCertificate, issue_server, make_ca
from headwall_sim.mailbox import Mailbox, call_before_reply, drop_before_reply, refuse

_WINDOW = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2049, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_ca(tmp_path_factory.mktemp("ca"), "ca", *_WINDOW)


@pytest.fixture(scope="module")
def certificate(ca: Authority) -> ServerCertificate:
    return issue_server(ca.cert.parent, ca, ["localhost", "127.0.0.1"], *_WINDOW)


@pytest.fixture
def mailbox(tmp_path: Path, certificate: ServerCertificate) -> Iterator[Mailbox]:
    with Mailbox(tmp_path / "mails", certificate=certificate) as box:
        yield box


def _mail(subject: str = "Duty") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "headwall@example.org"
    message["To"] = "officer@example.org"
    message.set_content(".a line that begins with a dot, and ½ inch\n")
    return message


def _send(mailbox: Mailbox, ca: Authority, message: EmailMessage, *, password: str | None = None) -> None:
    with smtplib.SMTP(mailbox.host, mailbox.port, timeout=10) as client:
        client.starttls(context=ssl.create_default_context(cafile=str(ca.cert)))
        client.login(mailbox.username, password or mailbox.password)
        client.send_message(message)


def test_mail_sent_with_tls_and_account_is_kept_whole(mailbox: Mailbox, ca: Authority) -> None:
    _send(mailbox, ca, _mail("60 % — due Jun 10"))
    (mail,) = mailbox.mails()
    assert (mail.sender, mail.recipients) == ("headwall@example.org", ("officer@example.org",))
    assert mail.message["Subject"] == "60 % — due Jun 10"
    assert mail.message.get_content() == ".a line that begins with a dot, and ½ inch\n"


def test_wrong_password_is_refused(mailbox: Mailbox, ca: Authority) -> None:
    with pytest.raises(smtplib.SMTPAuthenticationError):
        _send(mailbox, ca, _mail(), password="wrong")
    assert mailbox.mails() == []


def test_mail_without_tls_is_refused(mailbox: Mailbox) -> None:
    with smtplib.SMTP(mailbox.host, mailbox.port, timeout=10) as client, pytest.raises(smtplib.SMTPException):
        client.send_message(_mail())
    assert mailbox.mails() == []


@pytest.mark.parametrize("stage", ["auth", "mail", "rcpt", "data"])
def test_scripted_refusals_come_in_order_then_mail_is_taken(mailbox: Mailbox, ca: Authority, stage: str) -> None:
    mailbox.then(*[refuse("454 4.3.0 try later", at=stage)] * 3)  # type: ignore[arg-type]
    for _ in range(3):
        with pytest.raises(smtplib.SMTPException) as caught:
            _send(mailbox, ca, _mail())
        assert "454" in str(caught.value)
    _send(mailbox, ca, _mail())
    assert len(mailbox.mails()) == 1


def test_connection_dropped_when_250_is_due_leaves_the_mail_kept(mailbox: Mailbox, ca: Authority) -> None:
    mailbox.then(drop_before_reply())
    with pytest.raises((smtplib.SMTPServerDisconnected, ssl.SSLError, ConnectionError)):
        _send(mailbox, ca, _mail())
    assert len(mailbox.mails()) == 1


def test_call_before_reply_sees_the_mail_already_kept(mailbox: Mailbox, ca: Authority) -> None:
    seen: list[int] = []
    mailbox.then(call_before_reply(lambda: seen.append(len(mailbox.mails()))))
    _send(mailbox, ca, _mail())
    assert seen == [1]


def test_restart_keeps_port_and_goes_on_counting(mailbox: Mailbox, ca: Authority) -> None:
    _send(mailbox, ca, _mail("one"))
    port = mailbox.port
    mailbox.stop()
    with pytest.raises(ConnectionRefusedError):
        _send(mailbox, ca, _mail("lost"))
    mailbox.start()
    assert mailbox.port == port
    _send(mailbox, ca, _mail("two"))
    assert [(mail.path.name, mail.message["Subject"]) for mail in mailbox.mails()] == [
        ("0001.eml", "one"),
        ("0002.eml", "two"),
    ]
