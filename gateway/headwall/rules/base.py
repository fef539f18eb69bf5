"""What a rule is, and what it is handed at each step.

A rule is a function of the ledger, the dated registry and the dated profiles. What it keeps between steps is a
cache, which `forget` drops; all it decides goes into the ledger, in the transaction that moves the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

import sqlalchemy as sa
import structlog

from headwall.ledger.newest import Newest
from headwall.rules.layers import Layers, Stretch
from headwall.rules.rain import RainReading

log = structlog.get_logger("rules")


@dataclass
class Step:
    """One pass of the engine over new rows of the ledger.

    Attributes:
        conn: the write transaction; it commits with the cursor.
        now_us: the gateway's present instant.
        through: the append position up to which the ledger is read; nothing behind it counts yet.
        newest: the numbers of the newest rows when the step began.
        layers: what persons and the registry lay over the readings of gauges, as of now.
        rain: new valid readings of rain gauges by datastream, in append order.
        measured: other datastreams with new readings, and the time of the earliest.
        sensors: other datastreams that gave a null, or whose fault may be over.
        decided_since: the day since which something holds that a person has now decided about a code; None: nothing.
        again: stretches to judge again (a layer that has changed, a gauge that fell silent, a failed site).
        failures: what raised, by subject; the engine keeps these for the next step and says so.
        careful: each subject has a savepoint of its own; else whatever raises ends the step, which is then done again
            with care. Nearly no step has anything that raises, and savepoints cost more than many a judgement.
    """

    conn: sa.Connection
    now_us: int
    through: int
    newest: Newest
    layers: Layers
    rain: dict[str, list[RainReading]] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    sensors: set[str] = field(default_factory=set)
    decided_since: date | None = None
    again: list[Stretch] = field(default_factory=list)
    failures: dict[str, tuple[Stretch, str]] = field(default_factory=dict)
    careful: bool = True

    @contextmanager
    def guarded(self, subject: str, stretch: Stretch) -> Iterator[None]:
        """Undo and note what raises inside, so that the other subjects are judged all the same.

        A failure of the database itself is not a rule's fault and ends the step.
        """
        if not self.careful:
            yield
            return
        try:
            with self.conn.begin_nested():
                yield
        except (sa.exc.OperationalError, sa.exc.InterfaceError):
            raise
        except Exception as error:
            log.exception("rule failed", subject=subject, datastream=stretch.datastream)
            self.failures[subject] = (stretch, f"{type(error).__name__}: {error}")


class Rule(Protocol):
    """One kind of judgement. Called by one thread."""

    name: str

    def judge(self, step: Step) -> None:
        """Judge what the step brings; also called when an instant named by `next_us` has come."""

    def next_us(self) -> int | None:
        """When the rule must be called although no reading has come; None: not at all."""

    def forget(self) -> None:
        """Drop every cache: the step it was built in was rolled back, or another engine has moved the cursor."""
