"""Trying SMTP by the very path that duties take, up to a test mail if wanted."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid

from headwall.clock import Clock, from_us
from headwall.notify.smtp import SmtpSender, SmtpUnavailableError
from headwall.ops.checks.finding import Finding, fails, works
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.settings import SmtpSettings


def check_smtp(settings: SmtpSettings, registry: Registry | None, clock: Clock, *, mail: bool) -> Iterator[Finding]:
    """Connect, secure, log in; with `mail`, send a test mail to whoever is operator now."""
    sender = SmtpSender(settings)
    where = f"{settings.host}:{settings.port}"
    try:
        sender.open()
    except SmtpUnavailableError as error:
        yield fails("SMTP", str(error), "correct [smtp]; nobody is told of a duty until this works")
        return
    try:
        as_whom = f"logged in as {settings.username!r}" if settings.username is not None else "without a login"
        yield works("SMTP", f"{where} ({settings.security}), {as_whom}")
        if mail:
            yield from _test_mails(sender, settings, registry, clock)
    finally:
        sender.close()


def _test_mails(
    sender: SmtpSender, settings: SmtpSettings, registry: Registry | None, clock: Clock
) -> Iterator[Finding]:
    operators = _operators(registry, clock.now_us()) if registry is not None else []
    if not operators:
        mend = 'give someone the role "operator" in the registry, in force today'
        yield fails("test mail", "there is no operator to send it to", mend)
    for person in operators:
        outcome = sender.send(settings.sender, person.email, _message(settings, person.email, clock).as_bytes())
        if outcome.result == "sent":
            yield works("test mail", f"handed over for {person.name} <{person.email}>; see that it arrives")
        else:
            mend = "correct smtp.sender or the address in the registry, or ask the mail server's people"
            yield fails("test mail", f"to {person.name} <{person.email}>: {outcome.reason}", mend)


def _operators(registry: Registry, now_us: int) -> list[Person]:
    """The operators of all municipalities, each once."""
    found = [person for town in registry.municipalities for person in registry.operators(town.id, now_us)]
    return list({person.id: person for person in found}.values())


def _message(settings: SmtpSettings, recipient: str, clock: Clock) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = settings.sender, recipient
    message["Subject"] = "Headwall: test mail"
    message["Date"] = format_datetime(from_us(clock.now_us()))
    message["Message-ID"] = make_msgid(domain=settings.sender.rpartition("@")[2] or "localhost")
    message.set_content(
        "This is the test mail of `headwall check --mail`. It came by the way that mails about duties take.\n"
        "It says nothing about rain or inspections.\n"
    )
    return message
