"""The tables of headwall 0.1.

Revision: 0001, after nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "acceptances",
        sa.Column("id", BIG, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("stream", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acceptances")),
        sa.UniqueConstraint("node", "stream", name=op.f("uq_acceptances_node_stream")),
    )
    op.create_table(
        "acknowledgements",
        sa.Column("id", BIG, nullable=False),
        sa.Column("matter", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_acknowledgements")),
        sa.UniqueConstraint("matter", "by", name=op.f("uq_acknowledgements_matter_by")),
    )
    op.create_table(
        "anchors",
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("boot", sa.String(length=8), nullable=False),
        sa.Column("uptime_ms", BIG, nullable=False),
        sa.Column("time_us", BIG, nullable=False),
        sa.Column("received_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("node", "boot", "uptime_ms", name=op.f("pk_anchors")),
    )
    op.create_table(
        "append_position",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pos", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_append_position")),
    )
    op.create_table(
        "approvals",
        sa.Column("id", BIG, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("municipality", sa.String(length=32), nullable=False),
        sa.Column("site", sa.String(length=32), nullable=True),
        sa.Column("from_us", BIG, nullable=False),
        sa.Column("to_us", BIG, nullable=True),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("replaces", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("digest", name=op.f("uq_approvals_digest")),
        sa.UniqueConstraint("replaces", name=op.f("uq_approvals_replaces")),
    )
    op.create_index("ix_approvals_municipality_site", "approvals", ["municipality", "site"], unique=False)
    op.create_table(
        "bundles",
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=32), nullable=False),
        sa.Column("size", BIG, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_bundles")),
    )
    op.create_table(
        "calibrations",
        sa.Column("id", BIG, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("stream", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("done_us", BIG, nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrations")),
        sa.UniqueConstraint("digest", name=op.f("uq_calibrations_digest")),
    )
    op.create_index("ix_calibrations_node_stream_done_us", "calibrations", ["node", "stream", "done_us"], unique=False)
    op.create_table(
        "case_steps",
        sa.Column("id", BIG, nullable=False),
        sa.Column("case", BIG, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("from_state", sa.String(length=16), nullable=False),
        sa.Column("to_state", sa.String(length=16), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("done_us", BIG, nullable=False),
        sa.Column("means", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("provision", sa.String(length=64), nullable=False),
        sa.Column("times", sa.JSON(), nullable=False),
        sa.Column("clocks", sa.JSON(), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_case_steps")),
    )
    op.create_index("ix_case_steps_case", "case_steps", ["case"], unique=False)
    op.create_table(
        "cases",
        sa.Column("id", BIG, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("provision", sa.String(length=64), nullable=False),
        sa.Column("municipality", sa.String(length=32), nullable=False),
        sa.Column("site", sa.String(length=64), nullable=False),
        sa.Column("notice", sa.String(length=128), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("from_us", BIG, nullable=False),
        sa.Column("until_us", BIG, nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
        sa.UniqueConstraint("notice", name=op.f("uq_cases_notice")),
    )
    op.create_index("ix_cases_site", "cases", ["site"], unique=False)
    op.create_table(
        "commands",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.String(length=8), nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("do", sa.String(length=16), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("until_us", BIG, nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("sends", sa.Integer(), nullable=False),
        sa.Column("sent_us", BIG, nullable=True),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("wanted", BIG, nullable=True),
        sa.Column("replied_us", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commands")),
        sa.UniqueConstraint("name", name=op.f("uq_commands_name")),
    )
    op.create_index("ix_commands_state_node", "commands", ["state", "node"], unique=False)
    op.create_table(
        "cursors",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("pos", BIG, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cursors")),
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", BIG, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=32), nullable=True),
        sa.Column("topic", sa.String(length=128), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("jid", sa.String(length=16), nullable=True),
        sa.Column("seq", BIG, nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
        sa.UniqueConstraint("digest", name=op.f("uq_dead_letters_digest")),
    )
    op.create_index("ix_dead_letters_node_jid_seq", "dead_letters", ["node", "jid", "seq"], unique=False)
    op.create_table(
        "duties",
        sa.Column("id", BIG, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("site", sa.String(length=64), nullable=False),
        sa.Column("provision", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=True),
        sa.Column("occurrence", sa.String(length=96), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("due_us", BIG, nullable=True),
        sa.Column("from_us", BIG, nullable=False),
        sa.Column("until_us", BIG, nullable=False),
        sa.Column("merged_into", BIG, nullable=True),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("closed_by", sa.String(length=128), nullable=True),
        sa.Column("closed_reason", sa.Text(), nullable=True),
        sa.Column("closed_us", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_duties")),
        sa.UniqueConstraint(
            "site", "provision", "name", "occurrence", name=op.f("uq_duties_site_provision_name_occurrence")
        ),
    )
    op.create_index("ix_duties_site_provision_until_us", "duties", ["site", "provision", "until_us"], unique=False)
    op.create_table(
        "duty_versions",
        sa.Column("duty", BIG, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("duty", "version", name=op.f("pk_duty_versions")),
    )
    op.create_table(
        "gaps",
        sa.Column("id", BIG, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("jid", sa.String(length=16), nullable=False),
        sa.Column("first_seq", BIG, nullable=False),
        sa.Column("last_seq", BIG, nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gaps")),
        sa.UniqueConstraint("node", "jid", "first_seq", name=op.f("uq_gaps_node_jid_first_seq")),
    )
    op.create_table(
        "journals",
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("jid", sa.String(length=16), nullable=False),
        sa.Column("floor", BIG, nullable=False),
        sa.Column("next", BIG, nullable=False),
        sa.Column("through", BIG, nullable=False),
        sa.Column("highest", BIG, nullable=False),
        sa.Column("first_seen_us", BIG, nullable=False),
        sa.Column("last_seen_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("node", "jid", name=op.f("pk_journals")),
    )
    op.create_table(
        "mails",
        sa.Column("id", BIG, nullable=False),
        sa.Column("message_id", sa.String(length=255), nullable=False),
        sa.Column("recipient", sa.String(length=255), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("eml", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_us", BIG, nullable=False),
        sa.Column("handing_over", sa.Boolean(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("sent_us", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mails")),
        sa.UniqueConstraint("message_id", name=op.f("uq_mails_message_id")),
    )
    op.create_index("ix_mails_at_us", "mails", ["at_us"], unique=False)
    op.create_index("ix_mails_state_next_try_us", "mails", ["state", "next_try_us"], unique=False)
    op.create_table(
        "quality_edits",
        sa.Column("id", BIG, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("stream", sa.String(length=32), nullable=False),
        sa.Column("start_us", BIG, nullable=False),
        sa.Column("end_us", BIG, nullable=False),
        sa.Column("flag", sa.SmallInteger(), nullable=True),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quality_edits")),
    )
    op.create_index("ix_quality_edits_node_stream", "quality_edits", ["node", "stream"], unique=False)
    op.create_table(
        "entries",
        sa.Column("id", BIG, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=128), nullable=False),
        sa.Column("done_us", BIG, nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("replaces", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint("digest", name=op.f("uq_entries_digest")),
        sa.UniqueConstraint("replaces", name=op.f("uq_entries_replaces")),
    )
    op.create_index("ix_entries_kind_subject_done_us", "entries", ["kind", "subject", "done_us"], unique=False)
    op.create_index("ix_entries_subject", "entries", ["subject"], unique=False)
    op.create_table(
        "maintenance",
        sa.Column("id", BIG, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("start_us", BIG, nullable=False),
        sa.Column("end_us", BIG, nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_maintenance")),
    )
    op.create_table(
        "meta",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
    op.create_table(
        "node_configs",
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=16), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("published_us", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("node", "version", name=op.f("pk_node_configs")),
    )
    op.create_table(
        "node_states",
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("boot", sa.String(length=8), nullable=True),
        sa.Column("nonce", sa.String(length=16), nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("received_us", BIG, nullable=False),
        sa.Column("last_data_us", BIG, nullable=True),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_node_states")),
    )
    op.create_table(
        "notices",
        sa.Column("id", BIG, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=128), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("opened_us", BIG, nullable=False),
        sa.Column("closed_us", BIG, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("key", name=op.f("uq_notices_key")),
    )
    op.create_index("ix_notices_kind_subject", "notices", ["kind", "subject"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", BIG, nullable=False),
        sa.Column("fact", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("how", sa.String(length=8), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("mail", BIG, nullable=True),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("fact", "person", name=op.f("uq_outbox_fact_person")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_mail", "outbox", ["mail"], unique=False)
    op.create_index("ix_outbox_person_at_us", "outbox", ["person", "at_us"], unique=False)
    op.create_table(
        "readings",
        sa.Column("pos", BIG, autoincrement=False, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("jid", sa.String(length=16), nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.Column("stream", sa.String(length=32), nullable=False),
        sa.Column("time_us", BIG, nullable=True),
        sa.Column("boot", sa.String(length=8), nullable=True),
        sa.Column("uptime_ms", BIG, nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("total", BIG, nullable=True),
        sa.Column("null_reason", sa.String(length=32), nullable=True),
        sa.Column("quality", sa.SmallInteger(), nullable=False),
        sa.Column("quarantine", sa.String(length=64), nullable=True),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.Column("received_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("pos", name=op.f("pk_readings")),
        sa.UniqueConstraint("node", "jid", "seq", name=op.f("uq_readings_node_jid_seq")),
    )
    op.create_index("ix_readings_node_stream_time_us", "readings", ["node", "stream", "time_us"], unique=False)
    op.create_index(
        "ix_readings_untimed",
        "readings",
        ["node", "boot"],
        unique=False,
        sqlite_where=sa.text("time_us IS NULL"),
        postgresql_where=sa.text("time_us IS NULL"),
    )
    op.create_table(
        "records",
        sa.Column("n", BIG, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=128), nullable=False),
        sa.Column("personal", sa.JSON(), nullable=True),
        sa.Column("salt", sa.String(length=32), nullable=True),
        sa.Column("personal_digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_records")),
    )
    op.create_index("ix_records_kind", "records", ["kind"], unique=False)
    op.create_table(
        "resolutions",
        sa.Column("reading_pos", BIG, autoincrement=False, nullable=False),
        sa.Column("pos", BIG, nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("stream", sa.String(length=32), nullable=False),
        sa.Column("time_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("reading_pos", name=op.f("pk_resolutions")),
        sa.UniqueConstraint("pos", name=op.f("uq_resolutions_pos")),
    )
    op.create_index("ix_resolutions_node_stream_time_us", "resolutions", ["node", "stream", "time_us"], unique=False)
