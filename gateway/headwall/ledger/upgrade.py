"""Bringing a ledger's tables to this program's version when it is opened (Alembic, shipped in the package)."""

from __future__ import annotations

import secrets
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from headwall.errors import HeadwallError
from headwall.ledger import schema

_MIGRATIONS = Path(__file__).with_name("migrations")
#: any number, the same in every gateway: two that open one PostgreSQL at once upgrade one after the other
_ADVISORY_LOCK = 4_471_203_881


class LedgerTooNewError(HeadwallError):
    """A newer program has upgraded this ledger; this one would misread it."""


def upgrade(engine: sa.Engine) -> None:
    """Make or upgrade the tables, in one transaction, and give a new ledger its id.

    Raises:
        LedgerTooNewError: the ledger's revision is none of this program's.
    """
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with engine.connect().execution_options(reading=True) as conn:  # a look is enough for most, and needs no lock
        revision = MigrationContext.configure(conn).get_current_revision()
    if revision != ScriptDirectory.from_config(config).get_current_head():
        with engine.begin() as conn:
            _upgrade(conn, config)


def _upgrade(conn: sa.Connection, config: Config) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    scripts = ScriptDirectory.from_config(config)
    revision = MigrationContext.configure(conn).get_current_revision()
    if revision == scripts.get_current_head():
        return
    if revision is not None and revision not in {script.revision for script in scripts.walk_revisions()}:
        where = conn.engine.url.render_as_string(hide_password=True)
        raise LedgerTooNewError(
            f"{where}: the ledger has revision {revision}, this program knows up to {scripts.get_current_head()}. "
            "A newer headwall has opened it: run that version, or restore a backup made before the upgrade."
        )
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
    if revision is None:
        conn.execute(schema.append_position.insert().values(id=1, pos=0))
        conn.execute(schema.meta.insert().values(key="ledger_id", value=secrets.token_hex(8)))
