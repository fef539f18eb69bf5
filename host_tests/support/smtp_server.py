"""A real SMTP server (aiosmtpd) with STARTTLS and AUTH that keeps what it takes and refuses when told to."""

from __future__ import annotations

import ssl
from collections import deque
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from headwall_board.certs import ServerCertificate
from headwall_sim.server_process import HOST, free_port


@dataclass
class SmtpServer:
    """A server on loopback.

    Attributes:
        answers: given to the next DATA commands in place of "250", first in first out, e.g. "454 try later".
        raw: bodies of the mails that were taken, as they came.
    """

    certificate: ServerCertificate
    username: str = "headwall"
    password: str = "smtp secret"
    answers: deque[str] = field(default_factory=deque)
    raw: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate.cert, self.certificate.key)
        self.host, self.port = HOST, free_port()
        self._controller = Controller(
            self,
            hostname=HOST,
            port=self.port,
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=self._authenticate,
        )

    @property
    def mails(self) -> list[EmailMessage]:
        """The mails that were taken, parsed."""
        return [message_from_bytes(raw, policy=policy.default) for raw in self.raw]  # type: ignore[misc]

    def start(self) -> None:
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop(no_assert=True)

    def _authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        wanted = LoginPassword(self.username.encode(), self.password.encode())
        return AuthResult(success=isinstance(data, LoginPassword) and data == wanted, handled=False)

    async def handle_DATA(self, _server: Any, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        if self.answers:
            return self.answers.popleft()
        assert isinstance(envelope.content, bytes)
        self.raw.append(envelope.content)
        return "250 OK"
