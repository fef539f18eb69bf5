"""Bringing a ledger's tables to this program's version when it is opened (Alembic, shipped in the package).

Most ledgers are of this version already. That is looked up without Alembic, which takes longer to import than most
commands take to do their work.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import sqlalchemy as sa

from headwall.errors import HeadwallError
from headwall.ledger import schema

_MIGRATIONS = Path(__file__).with_name("migrations")
#: any number, the same in every gateway: two that open one PostgreSQL at once upgrade one after the other
_ADVISORY_LOCK = 4_471_203_881
#: where Alembic keeps the revision
_VERSION = sa.table("alembic_version", sa.column("version_num", sa.String))


class LedgerTooNewError(HeadwallError):
    """A newer program has upgraded this ledger; this one would misread it."""


def upgrade(engine: sa.Engine) -> None:
    """Make or upgrade the tables, in one transaction, and give a new ledger its id.

    Raises:
        LedgerTooNewError: the ledger's revision is none of this program's.
    """
    with engine.connect().execution_options(reading=True) as conn:  # a look is enough for most, and needs no lock
        if _revision(conn) == revisions()[-1]:
            return
    with engine.begin() as conn:
        _upgrade(conn)


def _revision(conn: sa.Connection) -> str | None:
    """The revision of the tables; None where there are none."""
    if not sa.inspect(conn).has_table(_VERSION.name):
        return None
    return conn.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()


def revisions() -> list[str]:
    """Those that this program knows, in order: what the names of their files begin with."""
    return sorted(path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def _upgrade(conn: sa.Connection) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    revision = _revision(conn)
    if revision == revisions()[-1]:  # another has done it meanwhile
        return
    if revision is not None and revision not in revisions():
        where = conn.engine.url.render_as_string(hide_password=True)
        raise LedgerTooNewError(
            f"{where}: the ledger has revision {revision}, this program knows up to {revisions()[-1]}. "
            "A newer headwall has opened it: run that version, or restore a backup made before the upgrade."
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
    if revision is None:
        conn.execute(schema.append_position.insert().values(id=1, pos=0))
        conn.execute(schema.meta.insert().values(key="ledger_id", value=secrets.token_hex(8)))
