"""A local SMTP receiver with STARTTLS and AUTH that keeps every mail as an .eml file, and refuses by script.

    with Mailbox(folder, certificate=issue_server(...), script=[refuse("454 4.3.0 try later")] * 3) as mailbox:
        ...  # three refusals, then the mail is taken
        assert [mail.message["Subject"] for mail in mailbox.mails()] == ["..."]

It is aiosmtpd in a thread of its own, on loopback. With a certificate it insists on STARTTLS and on the account
before it takes a mail; without one it takes plain, anonymous mail. Files are numbered in the order of arrival
and the numbering goes on over restarts; Return-Path and Delivered-To stand before the mail's own headers, as a
mail server would put them, and lines end with a line feed, as mail folders on Unix have them.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from headwall_board.certs import ServerCertificate

#: aiosmtpd warns here of its own use of a name that it has deprecated
logging.getLogger("mail.log").setLevel(logging.ERROR)

HOST = "127.0.0.1"
_TAKEN = "250 2.0.0 taken"
Stage = Literal["auth", "mail", "rcpt", "data"]


@dataclass(frozen=True)
class Step:
    """What the mailbox does the next time a sender reaches a stage, once; then the following step is next.

    Attributes:
        at: the stage; mails that do not reach it are treated as usual.
        reply: the SMTP reply, code first; one that begins with 2 takes the mail.
        store: keep the mail, whatever the reply says (only at "data").
        drop: cut the connection instead of replying.
        call: called in the mailbox's thread before the reply, for instance to kill the sender.
    """

    at: Stage = "data"
    reply: str = _TAKEN
    store: bool = False
    drop: bool = False
    call: Callable[[], None] | None = None


def refuse(reply: str, at: Stage = "data") -> Step:
    """Answer once with `reply`, e.g. "454 4.3.0 try later" or "550 5.1.1 no such mailbox"."""
    return Step(at=at, reply=reply)


def drop_before_reply(*, store: bool = True) -> Step:
    """Take the mail but cut the connection when the 250 is due: the sender cannot know that it arrived."""
    return Step(store=store, drop=True)


def call_before_reply(call: Callable[[], None]) -> Step:
    """Keep the mail, run `call`, then answer 250: a kill in `call` falls between acceptance and its record."""
    return Step(store=True, call=call)


@dataclass(frozen=True)
class Mail:
    """A kept mail.

    Attributes:
        path: its .eml file.
        sender, recipients: of the envelope.
        message: the parsed mail.
    """

    path: Path
    sender: str
    recipients: tuple[str, ...]
    message: EmailMessage


class Mailbox:
    """The receiver. `port` is fixed at the first start, so that a restarted mailbox is found again.

    Args:
        folder: where the .eml files go; made if absent.
        port: 0 takes a free one.
        certificate: for STARTTLS; None speaks plain SMTP without accounts.
        username, password: the account that may send, where there is a certificate.
        script: what to do at the next deliveries; `then()` adds to it while it runs.
    """

    host = HOST

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        certificate: ServerCertificate | None = None,
        *,
        username: str = "headwall",
        password: str = "let-me-mail",
        script: Iterable[Step] = (),
    ) -> None:
        self.folder = folder
        self.port = port
        self.username = username
        self.password = password
        self.attempts = 0  # mails offered up to the end of DATA, refused ones too
        self._certificate = certificate
        self._script = list(script)
        self._script_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()
        self._sessions: set[_Session] = set()

    def __enter__(self) -> Mailbox:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; returns when connections are taken. OSError where the port is in use."""
        if self._thread is not None:
            raise RuntimeError(f"the mailbox on port {self.port} already runs; stop() it first")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._end = asyncio.Event()
        ready = threading.Event()
        fault: list[OSError] = []
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready, fault)), name="mailbox", daemon=True
        )
        self._thread.start()
        ready.wait()
        if fault:
            self._thread.join()
            self._thread = None
            raise fault[0]

    def stop(self) -> None:
        """Cut all connections and stop listening; the mails stay."""
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        loop.call_soon_threadsafe(self._end.set)
        thread.join()
        self._thread = None

    def mails(self) -> list[Mail]:
        """Every kept mail, in the order of arrival."""
        return [_read(path) for path in sorted(self.folder.glob("*.eml"))]

    def then(self, *steps: Step) -> None:
        """Add steps to the script."""
        with self._script_lock:
            self._script.extend(steps)

    # what follows runs in the mailbox's thread

    async def _serve(self, ready: threading.Event, fault: list[OSError]) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            server = await self._loop.create_server(self._new_session, HOST, self.port)
        except OSError as error:
            fault.append(error)
            return
        else:
            self.port = server.sockets[0].getsockname()[1]
        finally:
            ready.set()
        await self._end.wait()
        server.close()
        for session in list(self._sessions):
            session.cut()

    def _new_session(self) -> _Session:
        return _Session(self, self._certificate, self._loop)

    def _next_step(self, stage: Stage) -> Step | None:
        with self._script_lock:
            if self._script and self._script[0].at == stage:
                return self._script.pop(0)
        return None

    def _keep(self, envelope: Envelope) -> None:
        """Write the mail under the next free number; visible only whole."""
        number = 1 + max((int(path.stem) for path in self.folder.glob("*.eml")), default=0)
        trace = [f"Return-Path: <{envelope.mail_from}>", *(f"Delivered-To: {rcpt}" for rcpt in envelope.rcpt_tos)]
        content = envelope.original_content
        assert isinstance(content, bytes)
        partial = self.folder / f"{number:04d}.part"
        head = "".join(f"{line}\n" for line in trace)
        partial.write_bytes(head.encode() + content.replace(b"\r\n", b"\n"))
        partial.rename(partial.with_suffix(".eml"))


class _Session(SMTP):
    """One connection; it asks the mailbox's script at each stage."""

    def __init__(
        self, mailbox: Mailbox, certificate: ServerCertificate | None, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self._mailbox = mailbox
        super().__init__(
            self,
            hostname="mailbox.example",
            tls_context=_tls_context(certificate),
            require_starttls=certificate is not None,
            auth_required=certificate is not None,
            auth_exclude_mechanism=["LOGIN"],  # with one mechanism a refusal is one step of the script
            authenticator=self._check_account,
            loop=loop,
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._mailbox._sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._mailbox._sessions.discard(self)
        super().connection_lost(error)

    def cut(self) -> None:
        """Drop the connection at once, without a farewell."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    def _check_account(
        self, server: Any, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        del server, session, envelope, mechanism
        step = self._mailbox._next_step("auth")
        if step is not None and not step.reply.startswith("2"):
            return AuthResult(success=False, handled=False, message=step.reply)
        expected = LoginPassword(self._mailbox.username.encode(), self._mailbox.password.encode())
        return AuthResult(success=data == expected, handled=False)

    async def handle_MAIL(  # noqa: N802 - aiosmtpd finds its hooks by these names
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session
        step = self._mailbox._next_step("mail")
        if step is None or step.reply.startswith("2"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return self._answer(step, "250 2.1.0 sender taken")

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        step = self._mailbox._next_step("rcpt")
        if step is None or step.reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return self._answer(step, "250 2.1.5 recipient taken")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        del server, session
        self._mailbox.attempts += 1
        step = self._mailbox._next_step("data")
        if step is None or step.store or (step.reply.startswith("2") and not step.drop):
            self._mailbox._keep(envelope)
        return self._answer(step, _TAKEN)

    def _answer(self, step: Step | None, usual: str) -> str:
        if step is None:
            return usual
        if step.call is not None:
            step.call()
        if step.drop:
            self.cut()
        return step.reply


def _tls_context(certificate: ServerCertificate | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    return context


def _read(path: Path) -> Mail:
    message = message_from_bytes(path.read_bytes(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    recipients = tuple(str(value) for value in message.get_all("Delivered-To", []))
    return Mail(path, str(message["Return-Path"] or "").strip("<>"), recipients, message)
