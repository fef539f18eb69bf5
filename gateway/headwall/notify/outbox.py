"""The outbox and mail tables: what waits, what is queued, and every change of a mail's state.

    fact written by a rule -> queued -> sent
                                     -> failed   (refused for good, or given up) -> composed anew, if a person says so

A mail and the outbox rows that it carries are linked in one transaction, so a fact is in one mail at most.
`handing_over` is committed before the SMTP dialogue and cleared with its result. Found set when a mail's turn
comes, the earlier try may have succeeded: it is sent once more under the same Message-ID and counted.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headwall.ledger import schema
from headwall.ledger.ledger import Ledger

#: a mail is tried again at least so often
LONGEST_RETRY_US = 3_600_000_000
_OUTBOX = schema.outbox
_MAILS = schema.mails
_NEWEST_WAITING = sa.select(sa.func.max(_OUTBOX.c.id), sa.func.count()).where(_OUTBOX.c.mail.is_(None))
_MAILS_SINCE = sa.select(_MAILS.c.id, _MAILS.c.at_us).where(_MAILS.c.at_us >= sa.bindparam("since_us"))
_URGENT_IN = (
    sa.select(_OUTBOX.c.person, _OUTBOX.c.mail)
    .where(_OUTBOX.c.mail.in_(sa.bindparam("mails", expanding=True)), _OUTBOX.c.how == "now")
    .distinct()
)
_ADD_MAIL = _MAILS.insert()
_CARRY = (
    _OUTBOX.update()
    .where(_OUTBOX.c.id == sa.bindparam("row"))
    .values({name: sa.bindparam(name) for name in ("mail", "how", "body")})
)
_ROW = (_OUTBOX.c.id, _OUTBOX.c.fact, _OUTBOX.c.person, _OUTBOX.c.how, _OUTBOX.c.body, _OUTBOX.c.at_us)


@dataclass(frozen=True)
class Waiting:
    """An outbox row that no mail carries yet."""

    id: int
    fact: str
    person: str
    how: str  # now | digest
    body: dict[str, Any]
    at_us: int

    @property
    def kind(self) -> str:
        """The tag of the fact; "" for a row that is none, which fails when it is composed."""
        return str(self.body.get("type", ""))


@dataclass(frozen=True)
class NewMail:
    """A composed mail. `undeliverable` is the reason why it cannot even be tried."""

    message_id: str
    recipient: str
    subject: str
    eml: bytes
    undeliverable: str | None = None


@dataclass(frozen=True)
class Queued:
    """A mail whose turn has come."""

    id: int
    message_id: str
    recipient: str
    eml: bytes
    tries: int
    maybe_sent: bool
    at_us: int


def waiting(conn: sa.Connection) -> list[Waiting]:
    """Every row that no mail carries, oldest first."""
    return [Waiting(*row) for row in conn.execute(sa.select(*_ROW).where(_OUTBOX.c.mail.is_(None)).order_by("id"))]


def newest_waiting(conn: sa.Connection) -> tuple[int | None, int]:
    """The number of the newest row that no mail carries, and how many there are: other rows make other numbers."""
    newest, count = conn.execute(_NEWEST_WAITING).one()
    return newest, count


def carried(conn: sa.Connection, message: str) -> list[Waiting]:
    """The rows that a mail carries, oldest first; none for a mail that is not known.

    Args:
        message: how its Message-ID begins.
    """
    query = sa.select(*_ROW).join(_MAILS, _MAILS.c.id == _OUTBOX.c.mail)
    query = query.where(_MAILS.c.message_id.startswith(f"<{message}", autoescape=True)).order_by(_OUTBOX.c.id)
    return [Waiting(*row) for row in conn.execute(query)]


def last_urgent_us(conn: sa.Connection, since_us: int) -> dict[str, int]:
    """When each person was last written to outside the digest, of those who were since an instant."""
    mails: dict[int, int] = {row.id: row.at_us for row in conn.execute(_MAILS_SINCE, {"since_us": since_us})}
    found: dict[str, int] = {}
    for row in conn.execute(_URGENT_IN, {"mails": list(mails)}) if mails else ():
        found[row.person] = max(mails[row.mail], found.get(row.person, 0))
    return found


def storm_mails_us(conn: sa.Connection, people: Iterable[str], since_us: int) -> dict[str, list[int]]:
    """When mails about storms were made for each person outside the digest, of what was written since an instant."""
    query = (
        sa.select(_OUTBOX.c.person, _MAILS.c.at_us)
        .join(_MAILS, _MAILS.c.id == _OUTBOX.c.mail)
        .where(_OUTBOX.c.person.in_(list(people)), _OUTBOX.c.how == "now", _OUTBOX.c.kind == "storm_duty")
        .where(_OUTBOX.c.at_us >= since_us)
        .distinct()
    )
    found: dict[str, list[int]] = defaultdict(list)
    for row in conn.execute(query):
        found[row.person].append(row.at_us)
    return found


def written_us(
    conn: sa.Connection, people: Iterable[str], kinds: Iterable[str], since_us: int
) -> list[tuple[str, str, int]]:
    """Person, key and instant of every row for some persons of some kinds since an instant."""
    c = _OUTBOX.c
    query = sa.select(c.person, c.fact, c.at_us).where(c.person.in_(list(people)), c.at_us >= since_us)
    query = query.where(c.kind.in_(list(kinds)))
    return [(row.person, row.fact, row.at_us) for row in conn.execute(query)]


def queue(ledger: Ledger, mail: NewMail, rows: Sequence[Waiting], now_us: int) -> bool:
    """Store a mail and link its rows, in one transaction. False if a row was taken back or replaced: compose anew.

    A row that got new details under the same fact goes with what the mail says, and says the same from then on:
    a backlog changes details faster than a mail can be composed.
    """
    with ledger.begin() as conn:
        if not _stand(conn, rows):
            return False
        inserted = conn.execute(
            _ADD_MAIL,
            {
                "message_id": mail.message_id,
                "recipient": mail.recipient,
                "subject": mail.subject,
                "eml": mail.eml,
                "state": "failed" if mail.undeliverable else "queued",
                "tries": 0,
                "next_try_us": now_us,
                "handing_over": False,
                "repeats": 0,
                "last_error": mail.undeliverable,
                "at_us": now_us,
            },
        )
        (mail_id,) = inserted.inserted_primary_key or (None,)
        conn.execute(_CARRY, [{"row": row.id, "mail": mail_id, "how": row.how, "body": row.body} for row in rows])
    return True


def _stand(conn: sa.Connection, rows: Sequence[Waiting]) -> bool:
    """Whether every row still waits with its fact; a fact that asks for something else has another key."""
    ids = [row.id for row in rows]
    query = sa.select(_OUTBOX.c.id, _OUTBOX.c.fact).where(_OUTBOX.c.id.in_(ids), _OUTBOX.c.mail.is_(None))
    return {row.id: row.fact for row in conn.execute(query)} == {row.id: row.fact for row in rows}


def due_mails(conn: sa.Connection, now_us: int, limit: int = 100) -> list[Queued]:
    """Queued mails whose next try has come, oldest first.

    One whose next try is farther off than any can be comes from before this machine's clock was set back.
    """
    c = _MAILS.c
    due = sa.or_(c.next_try_us <= now_us, c.next_try_us > now_us + LONGEST_RETRY_US)
    query = (
        sa.select(c.id, c.message_id, c.recipient, c.eml, c.tries, c.handing_over, c.at_us)
        .where(c.state == "queued", due)
        .order_by(c.id)
        .limit(limit)
    )
    return [Queued(*row) for row in conn.execute(query)]


def next_try_us(conn: sa.Connection) -> int | None:
    """When the next queued mail is to be tried; None when there is none."""
    return conn.execute(sa.select(sa.func.min(_MAILS.c.next_try_us)).where(_MAILS.c.state == "queued")).scalar()


def begin_hand_over(ledger: Ledger, mail: Queued) -> None:
    """Commit that the SMTP dialogue is about to begin; a try that may have succeeded before counts as a repeat."""
    _set(ledger, mail.id, handing_over=True, tries=mail.tries + 1, repeats=_MAILS.c.repeats + int(mail.maybe_sent))


def mark_sent(ledger: Ledger, mail: Queued, now_us: int) -> None:
    _set(ledger, mail.id, state="sent", handing_over=False, sent_us=now_us, last_error=None)


def mark_failed(ledger: Ledger, mail: Queued, reason: str) -> None:
    _set(ledger, mail.id, state="failed", handing_over=False, last_error=reason)


def mark_later(ledger: Ledger, mail: Queued, reason: str, next_us: int, *, maybe_sent: bool) -> None:
    """Keep a mail queued. `maybe_sent`: whether this or an earlier try may have succeeded."""
    _set(ledger, mail.id, handing_over=maybe_sent, next_try_us=next_us, last_error=reason)


def count_try(ledger: Ledger, mail: Queued, reason: str, next_us: int) -> None:
    """A try that did not come to a dialogue: no connection."""
    _set(ledger, mail.id, tries=mail.tries + 1, next_try_us=next_us, last_error=reason)


def failed(conn: sa.Connection) -> list[sa.Row[Any]]:
    """Mails that were given up, oldest first."""
    c = _MAILS.c
    columns = (c.id, c.message_id, c.recipient, c.subject, c.last_error, c.at_us)
    return list(conn.execute(sa.select(*columns).where(c.state == "failed").order_by(c.id)))


def compose_anew(conn: sa.Connection, mail_id: int) -> None:
    """Let what a failed mail carried wait for a mail again; the same facts get the same Message-ID again."""
    conn.execute(_OUTBOX.update().where(_OUTBOX.c.mail == mail_id).values(mail=None))
    conn.execute(_MAILS.delete().where(_MAILS.c.id == mail_id, _MAILS.c.state == "failed"))


def _set(ledger: Ledger, mail_id: int, **values: Any) -> None:
    with ledger.begin() as conn:
        conn.execute(_MAILS.update().where(_MAILS.c.id == mail_id).values(**values))


def message_id(ledger_id: str, recipient: str, facts: Iterable[str], sender: str) -> str:
    """The Message-ID of the mail that tells a person these facts: the same whenever it is composed."""
    text = "\n".join([ledger_id, recipient, *sorted(facts)])
    domain = sender.rpartition("@")[2].strip("> ") or "headwall.invalid"
    return f"<{hashlib.sha256(text.encode()).hexdigest()[:32]}@{domain}>"
