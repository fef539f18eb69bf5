"""A rain file's rain as readings of a gauge: the same row is the same reading, however often it is imported."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from headwall.clock import from_us
from headwall.errors import InputError
from headwall.hydrology.rain_file import RainFile
from headwall.ledger import log_book, schema
from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger
from headwall.ledger.reads import readings_of
from headwall.registry import Registry
from headwall.rules.duties import Duty, of_storms
from headwall.rules.facts import HistoricalSummary, StormDuty
from headwall.rules.tell import tell, to_be_told
from headwall.units import parse_depth

_BATCH = 5000
_NOT_EVALUATED = 2


@dataclass(frozen=True)
class Stored:
    """How many readings of a file were new, and how many the ledger held already."""

    new: int
    known: int


def readings_of_file(registry: Registry, file: RainFile, datastream: str, received_us: int) -> list[NewReading]:
    """The file's rain as readings of a gauge, in tips of its bucket.

    Raises:
        InputError: the registry has no such gauge at a row's time, or the row is no whole number of its tips.
    """
    node, _, stream = datastream.partition("/")
    jid, repeats = journal_id(datastream), Counter[tuple[int, int]]()
    found = []
    for time_us, amount in file.rain:
        tips = _tips(registry, file, datastream, time_us, amount)
        repeats[time_us, tips] += 1
        seq = _number(time_us, tips, repeats[time_us, tips])
        found.append(
            NewReading(
                node=node,
                jid=jid,
                seq=seq,
                stream=stream,
                time_us=time_us,
                boot=None,
                uptime_ms=None,
                value=float(tips),
                total=None,
                null_reason=None,
                quality=_NOT_EVALUATED,
                quarantine=None,
                source="import",
                received_us=received_us,
            )
        )
    return found


def journal_id(datastream: str) -> str:
    """The journal under which a gauge's imported readings are kept."""
    return hashlib.sha256(f"import:{datastream}".encode()).hexdigest()[:16]


def _number(time_us: int, tips: int, repetition: int) -> int:
    """63 bits of what a row says: its number, the same in every import of it."""
    digest = hashlib.sha256(f"{time_us}:{tips}:{repetition}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _tips(registry: Registry, file: RainFile, datastream: str, time_us: int, amount: int) -> int:
    setup = registry.datastream(datastream, time_us)
    if setup is None or setup.tip is None:
        raise InputError(
            f"{file.source}: {datastream} is no gauge of the registry at {_utc(time_us)}; "
            f"set `from` of the datastream to when it stood there"
        )
    tips = file.quantum.mm * amount / parse_depth(setup.tip).mm
    if tips.denominator != 1:
        raise InputError(
            f"{file.source}: {file.quantum * amount} at {_utc(time_us)} is no whole number of tips of {setup.tip}; "
            f"import it into a datastream whose `tip` divides it, or correct `tip`"
        )
    return int(tips)


def _utc(time_us: int) -> str:
    return f"{from_us(time_us):%Y-%m-%d %H:%M} UTC"


def store(
    ledger: Ledger, registry: Registry, file: RainFile, datastream: str, *, by: str, now_us: int, overlap: bool = False
) -> Stored:
    """Put a file's rain into the ledger; nothing at all if a row cannot be taken."""
    readings = readings_of_file(registry, file, datastream, now_us)
    new = known = 0
    with ledger.begin() as conn:
        if not overlap:
            _refuse_overlap(conn, file, datastream)
        for first in range(0, len(readings), _BATCH):
            result = append_readings(ledger, conn, readings[first : first + _BATCH])
            new, known = new + result.stored, known + result.duplicates
        if new:
            body = {"datastream": datastream, "source": file.source, "readings": new}
            log_book.append(conn, "imported", by, body, now_us)
    ledger.announce()
    return Stored(new, known)


def _refuse_overlap(conn: sa.Connection, file: RainFile, datastream: str) -> None:
    node, _, stream = datastream.partition("/")
    first_us, last_us = file.rain[0].time_us, file.rain[-1].time_us
    held = [r for r in readings_of(conn, node, stream, first_us, last_us + 1) if r.source != "import" and r.value]
    if held:
        raise InputError(
            f"{file.source}: the node itself reported {len(held)} readings of rain between {_utc(first_us)} and "
            f"{_utc(last_us)}; the same rain would count twice. Cut the file, or give --overlap where it is other rain"
        )


def newest_duty(ledger: Ledger) -> int:
    """The highest number of a duty so far; 0 without one."""
    with ledger.read() as conn:
        return int(conn.execute(sa.select(sa.func.max(schema.duties.c.id))).scalar() or 0)


def duties_learned(ledger: Ledger, datastream: str, after: int) -> list[Duty[StormDuty]]:
    """Historical duties of a gauge with numbers above `after`, by due time."""
    with ledger.read() as conn:
        found = of_storms(conn)
    return [duty for duty in found if duty.id > after and duty.historical and duty.body.datastream == datastream]


def tell_summary(
    ledger: Ledger, registry: Registry, datastream: str, source: str, learned: Sequence[Duty[StormDuty]], now_us: int
) -> None:
    """One line in the digest for each municipality with duties learned from a file."""
    with ledger.begin() as conn:
        for municipality in registry.municipalities:
            of_it = [duty.body for duty in learned if duty.body.municipality == municipality.id]
            if not of_it:
                continue
            key = f"import/{municipality.id}/{datastream}/{of_it[0].duty}"
            told = to_be_told(conn, registry, datastream, municipality.id, now_us)
            tell(conn, key, HistoricalSummary(datastream, source, of_it), told, "digest", now_us)
    ledger.announce()
