"""What whole-path tests share: a village's registry, and what flash, ledger and InfluxDB hold of the same readings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa
from headwall.influx.history import InfluxHistory
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.settings import InfluxSettings
from headwall_sim.influx_server import InfluxServer
from headwall_sim.journal_reader import JournalRecord
from headwall_sim.village import Village

FIRMWARE = Path(__file__).parents[2] / "firmware"
OFFICER = "smo@elmsford.example"
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

#: journal id and number
Identity = tuple[str, int]
#: stream, time in us, value, total, reason of a null
Content = tuple[str, int | None, float | None, int | None, str | None]

_HEAD = f"""
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "elmsford"
[[people]]
id = "ruth-adler"
name = "Ruth Adler"
email = "{OFFICER}"
roles = [{{ role = "smo", municipality = "elmsford", from = 2025-01-01 }}]
[[people]]
id = "sam-okafor"
name = "Sam Okafor"
email = "sam@gauges.example"
roles = [
  {{ role = "installer", from = 2025-01-01 }},
  {{ role = "operator", municipality = "elmsford", from = 2025-01-01 }},
]
"""


def registry(macs: Mapping[str, str], streams: Sequence[str] = ("rain.tips",)) -> str:
    """A registry.toml of boards with these gauges; the first of each stands on a construction site of its own."""
    return _HEAD + "".join(_node(node, mac, streams) + _site(node, streams[0]) for node, mac in macs.items())


def _node(node: str, mac: str, streams: Sequence[str]) -> str:
    head = f"""
[[nodes]]
id = "{node}"
mac = "{mac}"
place = "by the shed"
legal_basis = "municipal_land"
legal_reference = "Village yard"
installer = "sam-okafor"
from = 2026-01-01
"""
    return head + "".join(
        f'[[nodes.datastreams]]\nname = "{stream}"\nquantity = "tips"\ntip = "0.01 in"\nfrom = 2026-01-01\n'
        for stream in streams
    )


def _site(node: str, stream: str) -> str:
    return f"""
[[sites]]
id = "site-of-{node}"
kind = "construction"
name = "Site of {node}"
place = "1 Main Street"
municipality = "elmsford"
status = [{{ status = "active", from = 2026-01-01, by = "Ruth Adler" }}]
gauges = [{{ datastream = "{node}/{stream}", distance_m = 10, from = 2026-01-01 }}]
"""


@contextmanager
def open_ledger(village: Village) -> Iterator[Ledger]:
    """The gateway's ledger, beside the gateway."""
    with closing(Ledger.open(f"sqlite:///{village.ledger_file}")) as ledger:
        yield ledger


def copy_ledger(source: Path, target: Path) -> None:
    """A consistent copy of an SQLite ledger that may be in use, as `sqlite3 .backup` makes it."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def on_flash(records: Iterable[JournalRecord], jid: str) -> dict[Identity, Content]:
    """What a board's journal holds."""
    return {
        (jid, r.seq): (
            r.stream,
            None if r.time_ms is None else r.time_ms * 1000,
            None if r.value is None else float(r.value),
            r.total,
            r.reason,
        )
        for r in records
    }


def in_ledger(village: Village, node: str, *, resolved: bool = False) -> dict[Identity, Content]:
    """What the ledger holds of a node; an identity cannot be there twice (unique).

    Args:
        resolved: a reading taken before the board knew the time has the one that an anchor gave it later.
    """
    r, later = schema.readings.c, schema.resolutions.c
    time_us = sa.func.coalesce(r.time_us, later.time_us) if resolved else r.time_us
    query = (
        sa.select(r.jid, r.seq, r.stream, time_us, r.value, r.total, r.null_reason)
        .outerjoin_from(schema.readings, schema.resolutions, later.reading_pos == r.pos)
        .where(r.node == node)
    )
    with open_ledger(village) as ledger, ledger.read() as conn:
        return {(row[0], row[1]): tuple(row[2:]) for row in conn.execute(query)}


def count_in_ledger(village: Village) -> int:
    """How many readings the ledger holds. Quick, for those who wait for a number."""
    with closing(sqlite3.connect(village.ledger_file)) as db:
        (count,) = db.execute("SELECT count(*) FROM readings").fetchone()
    return int(count)


def in_influx(
    server: InfluxServer, node: str, streams: Iterable[str], start_us: int, end_us: int
) -> list[tuple[Identity, Content]]:
    """What InfluxDB holds of a node's streams; a list, so that a reading that stands twice shows."""
    settings = {"url": server.url, "org": server.org, "bucket": server.bucket, "token": server.token}
    with closing(InfluxHistory(InfluxSettings.model_validate(settings))) as history:
        return [
            ((past.jid, past.seq), (stream, past.time_us, past.value, past.total, past.null_reason))
            for stream in streams
            for past in history.readings(node, stream, start_us, end_us)
        ]
