"""Run by Alembic: migrates on the connection that `headwall.ledger.upgrade` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from headwall.ledger.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
