"""Handing one mail after the other to an SMTP server, over a connection that is kept for a pass.

What an answer means for the mail, by where in the dialogue it came:

| where | answer | outcome |
|---|---|---|
| connect, TLS, AUTH, MAIL | anything but success | `later`: about us or the server, not about the recipient |
| RCPT, DATA | 4xx | `later` |
| RCPT, DATA | 5xx | `refused`: for good |
| after the content was sent | connection lost, no answer | `unknown`: it may have been taken |
"""

from __future__ import annotations

import smtplib
import socket
import ssl
from dataclasses import dataclass
from typing import Literal, NoReturn

from headwall.errors import HeadwallError
from headwall.settings import SmtpSettings

Result = Literal["sent", "later", "refused", "unknown"]


class SmtpUnavailableError(HeadwallError):
    """No usable connection to the SMTP server; nothing was handed over."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mail. `reason` is the server's answer, empty when sent."""

    result: Result
    reason: str = ""


class SmtpSender:
    """One connection at a time: `open`, `send` any number of mails, `close`. Used by one thread, but for `abort`."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        self._server: smtplib.SMTP | None = None
        self._where = f"SMTP server {settings.host}:{settings.port}"

    def open(self) -> None:
        """Connect, secure and log in, unless the kept connection still answers.

        Raises:
            SmtpUnavailableError: with the reason and what to look at.
        """
        if self._server is not None and self._still_answers():
            return
        self.close()
        try:
            self._log_in(self._connect())
        except ssl.SSLCertVerificationError as error:
            self._fail(f"its certificate is not accepted: {error.verify_message}; check smtp.ca_file and smtp.host")
        except smtplib.SMTPNotSupportedError as error:
            self._fail(f"{error}; check smtp.security and smtp.port")
        except smtplib.SMTPAuthenticationError as error:
            self._fail(f"login as {self._settings.username!r} refused: {_said(error.smtp_code, error.smtp_error)}")
        except smtplib.SMTPResponseException as error:
            self._fail(f"it answered {_said(error.smtp_code, error.smtp_error)}")
        except (smtplib.SMTPException, OSError) as error:
            self._fail(f"{_plain(error)}; check smtp.host, smtp.port and the network")

    def send(self, sender: str, recipient: str, message: bytes) -> Outcome:
        """Hand one message over on the open connection."""
        server = self._server
        if server is None:
            raise RuntimeError("SmtpSender.send before open")
        try:
            outcome = self._envelope(server, sender, recipient)
        except ValueError as error:  # an address that cannot be written into the dialogue
            return Outcome("refused", f"address {recipient!r} cannot be used: {error}; correct it in the registry")
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            return Outcome("later", f"{self._where}: {_plain(error)}")
        return outcome or self._content(server, message)

    def close(self) -> None:
        """Say goodbye where the server still listens, and drop the connection."""
        server, self._server = self._server, None
        if server is None:
            return
        try:
            server.quit()
        except (smtplib.SMTPException, OSError):
            server.close()  # it was gone already

    def abort(self) -> None:
        """From another thread: break a dialogue that hangs, so that its thread comes back at once."""
        server = self._server
        if server is None or server.sock is None:
            return
        try:
            server.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed by the other thread in the meantime

    def _connect(self) -> smtplib.SMTP:
        s = self._settings
        if s.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(timeout=s.timeout_s, context=self._trust())
        else:
            server = smtplib.SMTP(timeout=s.timeout_s)
        # smtplib checks the certificate against this name, and sets it only where the constructor connects;
        # we connect afterwards, so that `abort` finds a server that never greets
        server._host = s.host  # type: ignore[attr-defined]
        self._server = server
        code, text = server.connect(s.host, s.port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)
        if s.security == "starttls":
            server.starttls(context=self._trust())
        return server

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.ca_file)

    def _log_in(self, server: smtplib.SMTP) -> None:
        server.ehlo_or_helo_if_needed()
        if self._settings.username is None:
            return
        if self._settings.password is None:
            self._fail("smtp.username is set without a password: set smtp.password_file")
        server.login(self._settings.username, self._settings.password.get_secret_value())

    def _still_answers(self) -> bool:
        assert self._server is not None
        try:
            return self._server.noop()[0] == 250
        except (smtplib.SMTPException, OSError):
            return False

    def _envelope(self, server: smtplib.SMTP, sender: str, recipient: str) -> Outcome | None:
        """MAIL and RCPT; None when both were taken."""
        code, text = server.mail(sender)
        if code != 250:
            self._reset(code)
            return Outcome("later", f"{self._where} does not take mail from {sender}: {_said(code, text)}")
        code, text = server.rcpt(recipient)
        if code not in (250, 251):
            self._reset(code)
            return self._judged(code, text)
        return None

    def _content(self, server: smtplib.SMTP, message: bytes) -> Outcome:
        try:
            code, text = server.data(message)
        except smtplib.SMTPDataError as error:
            self._reset(error.smtp_code)
            return self._judged(error.smtp_code, error.smtp_error)
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            return Outcome("unknown", f"{self._where}: no answer after the content was sent: {_plain(error)}")
        if code != 250:
            self._reset(code)
            return self._judged(code, text)
        return Outcome("sent")

    def _judged(self, code: int, text: bytes | str) -> Outcome:
        return Outcome("refused" if 500 <= code < 600 else "later", f"{self._where} answered {_said(code, text)}")

    def _reset(self, code: int) -> None:
        """Make the connection ready for the next mail; 421 means that the server is closing it."""
        if self._server is None:
            return
        try:
            if code != 421:
                self._server.rset()
                return
        except (smtplib.SMTPException, OSError):
            pass  # as good as 421
        self.close()

    def _fail(self, why: str) -> NoReturn:
        self.close()
        raise SmtpUnavailableError(f"{self._where}: {why}")


def _said(code: int, text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())}".strip()


def _plain(error: Exception) -> str:
    return str(error) or type(error).__name__
