"""Reminders, overdue mails and escalation: for every duty with a due time, and for the clocks of cases.

Which message comes when is worked out by `rules.reminding` from the ledger as it is; each is a row of the outbox whose
key names the matter, its due time and the message, so that restarts and replays tell each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import sqlalchemy as sa

from headwall.cases.running import clocks_of
from headwall.cases.states import ENDED
from headwall.cases.steps import code_of
from headwall.errors import UnknownThingError
from headwall.law.localtime import HOUR_US
from headwall.ledger import acknowledgements, cases, log_book, schema
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.rules import duties as duty_book
from headwall.rules.base import Step
from headwall.rules.duty_words import asked
from headwall.rules.facts import Reminder, StormDuty
from headwall.rules.layers import Stretch
from headwall.rules.reminding import Due, Message, come, messages, next_us
from headwall.rules.tell import accepted, keys_of, tell, to_be_told
from headwall.rules.wakes import Wakes
from headwall.settings import NotifySettings

_SECOND_US: Final = 1_000_000
_MINUTE_US: Final = 60_000_000
_RETRY_US: Final = _MINUTE_US
_OWED_BY: Final = {"person": "the responsible person", "municipality": "the municipality"}
_R = schema.records.c


@dataclass(frozen=True)
class _Matter:
    """A duty, or a clock of a case, that is to be met.

    Attributes:
        fact: what is told of it, but for the stage.
        gauge: whose readings made it due; "" where no gauge did.
        at_once_us: of what is due at once: how long after it the next persons are told, see `reminding.Due`.
    """

    key: str
    fact: Reminder
    told_us: int
    gauge: str = ""
    at_once_us: tuple[int, ...] = ()
    not_before: bool = False
    moved: bool = False
    remind_us: int | None = None


class ReminderRule:
    """Follows the log book, in which every change of a duty or a case stands, and the instants that it named."""

    name = "reminders"

    def __init__(self, registry: Registry, settings: NotifySettings) -> None:
        self._registry = registry
        self._leads_us = sorted({round(hours * HOUR_US) for hours in settings.remind_h})
        self._escalate_us = round(settings.escalate_h * HOUR_US)
        self._wakes = Wakes()
        self._read: int | None = None

    def next_us(self) -> int | None:
        return self._wakes.next_us()

    def forget(self) -> None:
        self._wakes.clear()
        self._read = None

    def judge(self, step: Step) -> None:
        through = log_book.head(step.conn).n
        keys = set(self._everything(step.conn) if self._read is None else self._changed(step.conn, self._read, through))
        keys.update(self._wakes.take(step.now_us))
        for key in sorted(keys):
            self._wakes.set(key, step.now_us + _RETRY_US)
            with step.guarded(f"reminders of {key}", Stretch("", step.now_us, step.now_us)):
                self._follow(step, key)
        self._read = through

    def _everything(self, conn: sa.Connection) -> Iterator[str]:
        duties, all_cases = schema.duties.c, schema.cases.c
        for number in conn.execute(sa.select(duties.id).where(duties.state == "open")).scalars():
            yield acknowledgements.matter("duty", number)
        for number in conn.execute(sa.select(all_cases.id).where(all_cases.state.not_in(ENDED))).scalars():
            yield acknowledgements.matter("case", number)

    def _changed(self, conn: sa.Connection, after: int, through: int) -> Iterator[str]:
        """The duties and cases that rows of the log book are about."""
        if after == through:
            return
        for body in conn.execute(sa.select(_R.body).where(_R.n > after, _R.n <= through)).scalars():
            for kind in ("duty", "case"):
                if isinstance(body.get(kind), int):
                    yield acknowledgements.matter(kind, body[kind])

    def _follow(self, step: Step, key: str) -> None:
        """Tell what has come of a duty or a case, and note when the next comes."""
        kind, number = acknowledgements.parse(key)
        seen = key in acknowledgements.of(step.conn, [key])
        found = self._duty(step.conn, number) if kind == "duty" else self._case(step.conn, number)
        coming = []
        for matter in found:
            line = self._line(step, matter)
            due = Due(
                due_us=matter.fact.due_us,
                told_us=matter.told_us,
                acknowledged=seen,
                line=len(line),
                at_once_us=matter.at_once_us,
                remind_us=matter.remind_us,
                moved=matter.moved,
                not_before=matter.not_before,
            )
            planned = messages(due, self._leads_us, self._escalate_us)
            for message in come(planned, step.now_us):
                self._tell(step, matter, message, line)
            coming += [instant for instant in [next_us(planned, step.now_us)] if instant is not None]
        self._wakes.set(key, min(coming, default=None))

    def _tell(self, step: Step, matter: _Matter, message: Message, line: list[list[Person]]) -> None:
        before_us = matter.fact.previous_due_us if message.stage == "moved" else None
        earlier = [person.name for group in line[: message.group] for person in group]
        fact = msgspec.structs.replace(matter.fact, stage=message.stage, told=earlier, previous_due_us=before_us)
        key = f"reminder/{matter.key}/{matter.fact.due_us // 1_000_000}/{message.name}"
        tell(step.conn, key, fact, line[message.group] if line else [], "now", step.now_us)

    def _line(self, step: Step, matter: _Matter) -> list[list[Person]]:
        """Who is told, one group after the other; while a gauge is in commissioning its installer alone."""
        municipality = matter.fact.municipality
        if matter.gauge and not accepted(step.conn, matter.gauge):
            return [to_be_told(step.conn, self._registry, matter.gauge, municipality, step.now_us)]
        return self._registry.line(municipality, step.now_us)

    # --- what is due ---

    def _duty(self, conn: sa.Connection, number: int) -> Iterator[_Matter]:
        try:
            duty = duty_book.get(conn, number)
        except UnknownThingError:
            return
        fact = duty.body
        told = duty.state == "open" and not duty.historical and not fact.trigger_gone
        if fact.due_us is None or not told or (not isinstance(fact, StormDuty) and fact.advice):
            return
        reminder = Reminder(
            stage="before",
            duty=number,
            municipality=fact.municipality,
            site=fact.site,
            provision=fact.provision,
            asks=asked(fact, self._registry.zone(fact.municipality)),
            owed_by="" if isinstance(fact, StormDuty) else fact.owed_by,
            due_us=fact.due_us,
            answer="" if isinstance(fact, StormDuty) else fact.answer,
        )
        gauge = fact.datastream if isinstance(fact, StormDuty) else ""
        key, told_us = acknowledgements.matter("duty", number), _told_us(conn, duty)
        if isinstance(fact, StormDuty):
            yield _Matter(key, reminder, told_us, gauge)
        else:
            yield _Matter(key, reminder, told_us, gauge, not_before=fact.not_before, remind_us=fact.remind_us)

    def _case(self, conn: sa.Connection, number: int) -> Iterator[_Matter]:
        """The clocks of a case that run, that somebody has to meet, and that are not met."""
        case = cases.case(conn, number)
        if case.state in ENDED or case.historical:
            return
        code = code_of(conn, self._registry, case)
        at_once_us = tuple(minutes * _MINUTE_US for minutes in code.choice("immediate.escalation_min"))
        for running in clocks_of(code, case):
            clock = running.clock
            if running.met_us is not None or clock.taken_us is None or not running.owed_by:
                continue
            told_us, by = max(
                ((step.at_us, step.by) for step in case.steps for each in step.clocks if each == clock),
                default=(case.at_us, ""),
            )
            key = f"{acknowledgements.matter('case', number)}/{clock.provision}/{clock.name}"
            anew = by == log_book.HEADWALL  # read again, after a choice: what a person sets is no correction
            said_us = _said_us(conn, key) if anew else None
            late = said_us is None and clock.taken_us <= told_us
            reminder = Reminder(
                stage="before",
                case=number,
                case_kind=case.kind,
                municipality=case.municipality,
                site=case.site,
                provision=clock.provision,
                asks=running.asks,
                owed_by=_OWED_BY[running.owed_by],
                due_us=clock.taken_us,
                previous_due_us=said_us,
            )
            moved = anew and (late or (said_us is not None and said_us != _SECOND_US * (clock.taken_us // _SECOND_US)))
            yield _Matter(key, reminder, told_us, at_once_us=at_once_us if running.at_once else (), moved=moved)


def _said_us(conn: sa.Connection, key: str) -> int | None:
    """What the last mail about a clock of a case said of its time, to the second; None: none was told of it."""
    c = schema.outbox.c
    rows = sa.select(c.fact).where(c.fact.startswith(f"reminder/{key}/", autoescape=True)).order_by(c.id.desc())
    fact = conn.execute(rows.limit(1)).scalar()
    return None if fact is None else _SECOND_US * int(fact.split("/")[-2])


def _told_us(conn: sa.Connection, duty: duty_book.AnyDuty) -> int:
    """When a duty was last told or corrected; when it was learned, where nobody was told."""
    c = schema.outbox.c
    told: int | None = conn.execute(sa.select(sa.func.max(c.at_us)).where(c.fact.in_(keys_of(duty.body)))).scalar()
    return duty.body.learned_us if told is None else told
