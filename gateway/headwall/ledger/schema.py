"""The ledger's tables (SQLAlchemy Core). Everything downstream can be rebuilt from `readings` and `records`.

Instants are integer microseconds since the Unix epoch (UTC). JSON bodies are canonical (sorted keys).
A row that tells what happened is never updated; rows that carry a state say so.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
# SQLite numbers only INTEGER primary keys by itself; elsewhere the same column is BIGINT.
_Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _now() -> sa.Column[int]:
    return sa.Column("at_us", _Big, nullable=False)


#: one row a key: ledger_id (drawn when the ledger is made), made_us
meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

#: the append position: taken with UPDATE … RETURNING inside the writer's transaction, so positions become
#: visible in order with any number of writers (a serial column of PostgreSQL does not promise that)
append_position = sa.Table(
    "append_position",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("pos", _Big, nullable=False),
)

#: every reading as it came; never altered, never deleted
readings = sa.Table(
    "readings",
    metadata,
    sa.Column("pos", _Big, primary_key=True, autoincrement=False),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("jid", sa.String(16), nullable=False),
    sa.Column("seq", _Big, nullable=False),
    sa.Column("stream", sa.String(32), nullable=False),  # SenML name, e.g. "rain.tips"
    sa.Column("time_us", _Big),  # null where the node's clock was not known
    sa.Column("boot", sa.String(8)),  # with uptime_ms, where time_us is null
    sa.Column("uptime_ms", _Big),
    sa.Column("value", sa.Float),  # in the unit of the quantity; null with null_reason
    sa.Column("total", _Big),  # the journal's running count (SenML s)
    sa.Column("null_reason", sa.String(32)),
    sa.Column("quality", sa.SmallInteger, nullable=False),  # QARTOD: 1 pass 2 not evaluated 3 suspect 4 fail 9 missing
    sa.Column("quarantine", sa.String(64)),  # why it must not be judged (clock_future, …); null = good
    sa.Column("source", sa.String(8), nullable=False),  # node | import | plain
    sa.Column("received_us", _Big, nullable=False),
    sa.UniqueConstraint("node", "jid", "seq"),
    sa.Index("ix_readings_node_stream_time_us", "node", "stream", "time_us"),
    sa.Index(
        "ix_readings_untimed",
        "node",
        "boot",
        sqlite_where=sa.text("time_us IS NULL"),
        postgresql_where=sa.text("time_us IS NULL"),
    ),
)

#: times that anchors gave to readings whose time_us is null; pos: own append position, that of the reading if known
#: when it came
resolutions = sa.Table(
    "resolutions",
    metadata,
    sa.Column("reading_pos", _Big, primary_key=True, autoincrement=False),
    sa.Column("pos", _Big, nullable=False, unique=True),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("stream", sa.String(32), nullable=False),
    sa.Column("time_us", _Big, nullable=False),
    sa.Index("ix_resolutions_node_stream_time_us", "node", "stream", "time_us"),
)

#: (boot, uptime) = UTC: resolves readings that were taken before the clock was known
anchors = sa.Table(
    "anchors",
    metadata,
    sa.Column("node", sa.String(32), primary_key=True),
    sa.Column("boot", sa.String(8), primary_key=True),
    sa.Column("uptime_ms", _Big, primary_key=True),
    sa.Column("time_us", _Big, nullable=False),
    sa.Column("received_us", _Big, nullable=False),
)

#: state of each node journal: every number from floor to through is durable or a recorded gap
journals = sa.Table(
    "journals",
    metadata,
    sa.Column("node", sa.String(32), primary_key=True),
    sa.Column("jid", sa.String(16), primary_key=True),
    sa.Column("floor", _Big, nullable=False),
    sa.Column("next", _Big, nullable=False),  # as the node last said, 0 if never
    sa.Column("through", _Big, nullable=False),
    sa.Column("highest", _Big, nullable=False),  # largest number that is durable here
    sa.Column("first_seen_us", _Big, nullable=False),
    sa.Column("last_seen_us", _Big, nullable=False),
)

#: sequence numbers that the node lost before they were durable here
gaps = sa.Table(
    "gaps",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("jid", sa.String(16), nullable=False),
    sa.Column("first_seq", _Big, nullable=False),
    sa.Column("last_seq", _Big, nullable=False),
    sa.Column("reason", sa.String(32), nullable=False),
    _now(),
    sa.UniqueConstraint("node", "jid", "first_seq"),
)

#: payloads that could not be taken, whole, with the reason; state: open | taken (by a later run)
dead_letters = sa.Table(
    "dead_letters",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),  # of topic, payload and reason
    sa.Column("node", sa.String(32)),
    sa.Column("topic", sa.String(128), nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("reason", sa.String(32), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("jid", sa.String(16)),  # with seq: this number is durable here, as a dead letter
    sa.Column("seq", _Big),
    sa.Column("count", sa.Integer, nullable=False),  # how often this very payload came
    sa.Column("state", sa.String(8), nullable=False),
    _now(),
    sa.Index("ix_dead_letters_node_jid_seq", "node", "jid", "seq"),
)

#: what each node last said of itself; state "unclaimed" for one that the registry does not know
node_states = sa.Table(
    "node_states",
    metadata,
    sa.Column("node", sa.String(32), primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),  # online | offline | unclaimed
    sa.Column("boot", sa.String(8)),
    sa.Column("nonce", sa.String(16)),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("received_us", _Big, nullable=False),
    sa.Column("last_data_us", _Big),
)

#: a named person takes a datastream out of commissioning
acceptances = sa.Table(
    "acceptances",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("stream", sa.String(32), nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    _now(),
    sa.UniqueConstraint("node", "stream"),
)

#: readings of a node inside a window are kept, flagged and not judged
maintenance = sa.Table(
    "maintenance",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("start_us", _Big, nullable=False),
    sa.Column("end_us", _Big, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    _now(),
)

#: what a person says of the quality of a stretch of readings, beside the tests; readings stay as they are. The newest
#: that covers a reading counts; flag null takes back those before it
quality_edits = sa.Table(
    "quality_edits",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("stream", sa.String(32), nullable=False),
    sa.Column("start_us", _Big, nullable=False),
    sa.Column("end_us", _Big, nullable=False),  # exclusive
    sa.Column("flag", sa.SmallInteger),  # QARTOD: 1 pass 3 suspect 4 fail
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    _now(),
    sa.Index("ix_quality_edits_node_stream", "node", "stream"),
)

#: what a person measured or did at a place (a hand measurement, a pump-out, snow water): body is a struct of
#: ledger.entries by its kind. Never changed: a later entry that names it in `replaces` stands in its stead
entries = sa.Table(
    "entries",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),  # of kind, subject, time, replaces and body
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("subject", sa.String(128), nullable=False),  # a site, or a datastream NODE/STREAM
    sa.Column("done_us", _Big, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("replaces", _Big, unique=True),
    _now(),
    sa.Index("ix_entries_kind_subject_done_us", "kind", "subject", "done_us"),
    sa.Index("ix_entries_subject", "subject"),
)

#: what is allowed at a place, or forbidden, as a named person granted or noted it: body is a struct of ledger.approvals
#: by its kind. Never changed: a later row that names it in `replaces` stands in its stead, to end it too
approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),  # of all but by and at_us
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("municipality", sa.String(32), nullable=False),
    sa.Column("site", sa.String(32)),  # null: the whole municipality
    sa.Column("from_us", _Big, nullable=False),
    sa.Column("to_us", _Big),  # exclusive; null: until it is ended
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("replaces", _Big, unique=True),
    _now(),
    sa.Index("ix_approvals_municipality_site", "municipality", "site"),
)

#: a suspected condition that waits for a person; state, notice, from_us and until_us follow case_steps and the notice
cases = sa.Table(
    "cases",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("provision", sa.String(64), nullable=False),  # the clause that it may break, if named; else by its kind
    sa.Column("municipality", sa.String(32), nullable=False),
    sa.Column("site", sa.String(64), nullable=False),
    sa.Column("notice", sa.String(128), unique=True),  # key of the notice that it came from; null: a person opened it
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("historical", sa.Boolean, nullable=False),  # learned long after it ended
    sa.Column("from_us", _Big, nullable=False),  # what was seen, from when to when
    sa.Column("until_us", _Big, nullable=False),
    _now(),
    sa.Index("ix_cases_site", "site"),
)

#: what became of a case, never changed: who took which step, when it was done, and the clocks that it set
case_steps = sa.Table(
    "case_steps",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("case", _Big, nullable=False),
    sa.Column("action", sa.String(16), nullable=False),
    sa.Column("from_state", sa.String(16), nullable=False),  # empty: it was opened by this
    sa.Column("to_state", sa.String(16), nullable=False),
    sa.Column("by", sa.String(128), nullable=False),  # a person, or "headwall"
    sa.Column("done_us", _Big, nullable=False),
    sa.Column("means", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),  # of a decision or an abatement, else empty
    sa.Column("details", sa.JSON, nullable=False),  # whom a call reached, at which number, …: text by name
    sa.Column("provision", sa.String(64), nullable=False),  # id in the profile, or empty
    sa.Column("times", sa.JSON, nullable=False),  # instants that clocks start with, by name
    sa.Column("clocks", sa.JSON, nullable=False),  # that are new or have moved; structs of ledger.cases
    _now(),
    sa.Index("ix_case_steps_case", "case"),
)

#: what a person measured of a sensor and when; body is a ledger.calibrations.Calibration. A dated layer: readings stay
calibrations = sa.Table(
    "calibrations",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),  # of the body: the same record comes once
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("stream", sa.String(32), nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("done_us", _Big, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    _now(),
    sa.Index("ix_calibrations_node_stream_done_us", "node", "stream", "done_us"),
)

#: configurations for boards, each version as its bytes; the newest of a node is the one it is to have
node_configs = sa.Table(
    "node_configs",
    metadata,
    sa.Column("node", sa.String(32), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("hash", sa.String(16), nullable=False),  # by which the node names it in its state
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("published_us", _Big),  # last handed to the broker
    _now(),
)

#: commands for boards; state: queued | sent | done | refused | expired
commands = sa.Table(
    "commands",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("name", sa.String(8), nullable=False, unique=True),  # its id on the wire
    sa.Column("node", sa.String(32), nullable=False),
    sa.Column("do", sa.String(16), nullable=False),
    sa.Column("fields", sa.JSON, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    sa.Column("until_us", _Big, nullable=False),
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("sends", sa.Integer, nullable=False),
    sa.Column("sent_us", _Big),  # last handed to the broker
    sa.Column("why", sa.Text),  # of a refusal
    sa.Column("result", sa.JSON),
    sa.Column("wanted", _Big),  # of an update: the newest offset that the board asked for
    sa.Column("replied_us", _Big),  # when it was done or refused
    _now(),
    sa.Index("ix_commands_state_node", "state", "node"),
)

#: update bundles, whole
bundles = sa.Table(
    "bundles",
    metadata,
    sa.Column("name", sa.String(16), primary_key=True),  # the start of its SHA-256
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("version", sa.String(32), nullable=False),
    sa.Column("size", _Big, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
    _now(),
)

#: how far each follower (rules, influx, …) has read along the append position
cursors = sa.Table(
    "cursors",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("pos", _Big, nullable=False),
)

#: something due; state: open | received | not_needed | merged (into another, see body) | gone (asked no longer)
duties = sa.Table(
    "duties",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),  # storm_report | clause
    sa.Column("site", sa.String(64), nullable=False),
    sa.Column("provision", sa.String(64), nullable=False),  # id in the profile
    sa.Column("name", sa.String(32)),  # of a clause's deadline, may be empty; null with a storm
    sa.Column("occurrence", sa.String(96)),  # tells it from the others of site, provision and name; null with a storm
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # newest in duty_versions
    sa.Column("due_us", _Big),  # null: not known, or the code gives no number
    sa.Column("from_us", _Big, nullable=False),  # the time that it is about: of a storm from its first rain to its last
    sa.Column("until_us", _Big, nullable=False),
    sa.Column("merged_into", _Big),
    sa.Column("historical", sa.Boolean, nullable=False),  # learned by import
    sa.Column("closed_by", sa.String(128)),
    sa.Column("closed_reason", sa.Text),
    sa.Column("closed_us", _Big),
    _now(),
    sa.UniqueConstraint("site", "provision", "name", "occurrence"),
    sa.Index("ix_duties_site_provision_until_us", "site", "provision", "until_us"),
)

#: what was known of a duty and since when; body is a facts.StormDuty or ClauseDuty
duty_versions = sa.Table(
    "duty_versions",
    metadata,
    sa.Column("duty", _Big, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("body", sa.JSON, nullable=False),
    _now(),
)

#: one row a fact and person who is to be told; unique, so that a fact is mailed once
outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("fact", sa.String(128), nullable=False),  # stable key, e.g. "duty/12/1"
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("person", sa.String(64), nullable=False),
    sa.Column("how", sa.String(8), nullable=False),  # now | digest
    sa.Column("body", sa.JSON, nullable=False),  # a struct of rules.facts
    sa.Column("mail", _Big),  # the mail that carries it, once composed
    _now(),
    sa.UniqueConstraint("fact", "person"),
    sa.Index("ix_outbox_mail", "mail"),
    sa.Index("ix_outbox_person_at_us", "person", "at_us"),
    sqlite_autoincrement=True,  # no number comes twice: the mailer tells from the newest whether there are others
)

#: a named person has seen that something is due or waits: it is not told to the next person. Closes nothing
acknowledgements = sa.Table(
    "acknowledgements",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("matter", sa.String(32), nullable=False),  # "duty/12", "case/3"
    sa.Column("by", sa.String(128), nullable=False),
    _now(),
    sa.UniqueConstraint("matter", "by"),
)

#: composed mails; state: queued | sent | failed
mails = sa.Table(
    "mails",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("message_id", sa.String(255), nullable=False, unique=True),
    sa.Column("recipient", sa.String(255), nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("eml", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("next_try_us", _Big, nullable=False),
    sa.Column("handing_over", sa.Boolean, nullable=False),  # set before SMTP, cleared after: true at start = maybe sent
    sa.Column("repeats", sa.Integer, nullable=False),  # times it may have been sent once more
    sa.Column("last_error", sa.Text),
    sa.Column("sent_us", _Big),
    _now(),
    # the mailer asks at each pass
    sa.Index("ix_mails_state_next_try_us", "state", "next_try_us"),
    sa.Index("ix_mails_at_us", "at_us"),
)

#: the log book: append-only, each row hashed over the one before. Name and personal details stand in the chain by their
#: digest alone, so that a lawful redaction, the one change ever made of a row, does not break it
records = sa.Table(
    "records",
    metadata,
    sa.Column("n", _Big, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("by", sa.String(128), nullable=False),  # a person, or "headwall"
    sa.Column("personal", sa.JSON(none_as_null=True)),  # details of persons
    sa.Column("salt", sa.String(32)),  # of the digest; null: redacted
    sa.Column("personal_digest", sa.String(64), nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    _now(),
    sa.Index("ix_records_kind", "kind"),
)

#: standing notices (gauge silent, node faults, identity conflicts), opened and closed by events; state in closed_us
notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", _Big, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("subject", sa.String(128), nullable=False),  # site, node or datastream it is about
    sa.Column("key", sa.String(128), nullable=False, unique=True),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("opened_us", _Big, nullable=False),
    sa.Column("closed_us", _Big),
    sa.Index("ix_notices_kind_subject", "kind", "subject"),
)
