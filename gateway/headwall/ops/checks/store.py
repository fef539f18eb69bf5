"""Trying the ledger: open, commit, log book, disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from headwall.errors import HeadwallError
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger, LedgerUnavailableError, why
from headwall.ops.checks.finding import Finding, fails, works

#: below this a failure: SQLite needs room for its write-ahead log, and a full disk stops custody
_LEAST_FREE_MB = 500


def check_ledger(url: str) -> Iterator[Finding]:
    """Open the ledger (its tables are made or upgraded), commit something that leaves no trace, follow the log book.

    A last look goes to the free disk.
    """
    mend = "correct ledger.url; the account of headwall must be able to write there"
    try:
        ledger = Ledger.open(url)
    except LedgerUnavailableError as error:
        yield fails("ledger", f"{error.where} cannot be opened: {error.reason}", mend)
        return
    except (HeadwallError, OSError) as error:
        yield fails("ledger", f"cannot be opened: {error}", mend)
        return
    shown = sa.make_url(url).render_as_string(hide_password=True)
    try:
        yield _commit(ledger, shown)
        yield _log_book(ledger)
    finally:
        ledger.close()
    file = sa.make_url(url).database
    if url.startswith("sqlite") and file and file != ":memory:":
        yield _disk(Path(file).resolve().parent)


def _commit(ledger: Ledger, shown: str) -> Finding:
    try:
        with ledger.begin() as conn:
            conn.execute(schema.meta.insert().values(key="check", value="written and removed by headwall check"))
            conn.execute(schema.meta.delete().where(schema.meta.c.key == "check"))
    except sa.exc.SQLAlchemyError as error:
        return fails("ledger", f"{shown} cannot be written: {why(error)}", "let headwall's account write it")
    return works("ledger", f"{shown} opened and written, id {ledger.id}")


def _log_book(ledger: Ledger) -> Finding:
    with ledger.read() as conn:
        broken = log_book.verify(conn)
        rows = conn.execute(sa.select(sa.func.count()).select_from(schema.records)).scalar_one()
    if broken is not None:
        mend = "find out who wrote to the database, and compare with a backup; the rows are evidence, change none"
        return fails("log book", f"row {broken.n} {broken.why}", mend)
    return works("log book", f"{rows} rows, each follows from the one before")


def _disk(folder: Path) -> Finding:
    free_mb = shutil.disk_usage(folder).free // 1_000_000
    if free_mb < _LEAST_FREE_MB:
        mend = f"make room: at least {_LEAST_FREE_MB} MB; a full disk stops custody, and boards then fill up"
        return fails("ledger disk", f"{free_mb} MB free in {folder}", mend)
    return works("ledger disk", f"{free_mb:,} MB free in {folder}")
