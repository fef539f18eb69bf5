"""What stands where, as plain data: for the page, the JSON interface and the terminal view alike. Read-only.

Instants are µs UTC, depths exact decimals as text. A board is judged by the age of its data, not by what it or the
broker last said: a retained "online" outlives the power.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from headwall.codes import in_force
from headwall.downlink.configs import ConfigView, config_views
from headwall.downlink.updates import UpdateView, update_views
from headwall.hydrology.storms import Rain, Storm, StormRule, fold
from headwall.law import localtime
from headwall.law.profile import Profile, StormNumbers, StormReport
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.unreadable import Unreadable
from headwall.notify import doubt_words
from headwall.registry import Registry
from headwall.registry.model import Datastream, Node
from headwall.rules import duties as duty_book
from headwall.rules.approval_spans import WHY
from headwall.rules.facts import StormDuty
from headwall.rules.layers import gauge_layers
from headwall.rules.rain import EVERYTHING, neighbour_us, valid_between
from headwall.rules.rain_doubts import cold, of_storm
from headwall.units import parse_depth, quanta_to_reach
from headwall.web.case_lines import CaseLine, call_first, case_lines

Health = Callable[[], dict[str, str]]
BoardState = Literal["reporting", "silent", "never heard"]

_DAY_US = 24 * localtime.HOUR_US
_SPELL_US = 3 * _DAY_US  # how far back rain is read for the current storm
_MINUTE_US = 60_000_000
_SHOWN_DUTIES, _SHOWN_MAILS, _SHOWN_NOTICES = 200, 50, 100


class Board(msgspec.Struct, frozen=True):
    """A node of the registry.

    Attributes:
        said: what it last said of itself, or the broker for it, and `heard_us` when; "" and None if nothing ever.
        config, update: the newest that was sent from here and what became of it; None if there was none.
        in_maintenance: by a person's word here, or by its own.
    """

    node: str
    place: str
    state: BoardState
    last_data_us: int | None
    said: str
    heard_us: int | None
    firmware: str | None
    clock_known: bool | None
    battery_v: float | None
    rssi_dbm: int | None
    faults: list[str]
    in_maintenance: bool
    config: ConfigView | None
    update: UpdateView | None

    @property
    def needs_somebody(self) -> str:
        """What became of a configuration or an update that a person must look at; "" if nothing."""
        said = []
        if self.config is not None and self.config.state == "refused":
            said.append(f"it refused configuration {self.config.version}: {self.config.why}")
        if self.update is not None and self.update.state in ("refused", "rolled_back"):
            what = self.update.state.replace("_", " ")
            said.append(f"its update to {self.update.version} was {what}: {self.update.why}")
        return "; ".join(said)


class Unclaimed(msgspec.Struct, frozen=True):
    """A node that sends but is not in the registry."""

    node: str
    last_heard_us: int


class Gauge(msgspec.Struct, frozen=True):
    """A rain gauge. Depths in inches as text, None where nothing valid is on record for that time."""

    datastream: str
    place: str
    sites: list[str]
    accepted: bool
    silent: bool
    last_valid_us: int | None
    tip: str
    storm_in: str | None
    storm_start_us: int | None
    storm_over: bool
    last_24h_in: str | None
    today_in: str | None
    doubts: list[str]  # why what it shows now, or showed of its latest storm, may be wrong


class DutyLine(msgspec.Struct, frozen=True):
    """A duty and the newest that is known of it. `overdue`: open and past its due time."""

    id: int
    site: str
    site_name: str
    municipality: str
    state: str
    version: int
    asked: str
    due_us: int | None
    overdue: bool
    depth_in: str | None  # of the storm that made it due
    learned_us: int
    historical: bool
    trigger_gone: str
    closed_by: str | None
    closed_us: int | None
    closed_reason: str | None


class Notice(msgspec.Struct, frozen=True):
    """A standing notice that is not closed."""

    id: int
    kind: str
    subject: str
    text: str
    opened_us: int


class MailLine(msgspec.Struct, frozen=True):
    """A composed mail. `state` is queued, sent or failed."""

    id: int
    recipient: str
    subject: str
    state: str
    tries: int
    repeats: int
    last_error: str | None
    at_us: int
    sent_us: int | None
    next_try_us: int


class Counts(msgspec.Struct, frozen=True):
    """`lost` is the number of sequence numbers in recorded gaps; `waiting` facts are in no mail yet."""

    appended: int
    gaps: int
    lost: int
    dead_letters: int
    waiting: int
    mails_queued: int
    mails_sent: int
    mails_failed: int
    mails_repeated: int


class Status(msgspec.Struct, frozen=True):
    """Everything at one instant. `health` names the unhealthy parts with the reason; empty when all is well."""

    now_us: int
    time_zone: str
    ledger: str
    health: dict[str, str]
    boards: list[Board]
    unclaimed: list[Unclaimed]
    gauges: list[Gauge]
    duties: list[DutyLine]
    call_first: list[str]  # while a spill is open
    cases: list[CaseLine]
    notices: list[Notice]
    mails: list[MailLine]
    counts: Counts


def build_status(
    ledger: Ledger, registry: Registry, profiles: Mapping[str, Profile], now_us: int, health: Mapping[str, str]
) -> Status:
    """The status as one committed state of the ledger shows it."""
    with ledger.read() as conn:
        gauges = gauges_at(conn, registry, profiles, now_us)
        unreadable: list[Unreadable] = []
        waiting = case_lines(conn, registry, now_us, unreadable)
        duties = duty_lines(conn, registry, now_us, unreadable)
        return Status(
            now_us=now_us,
            time_zone=registry.municipalities[0].time_zone,
            ledger=ledger.id,
            health={**health, **{each.what: str(each) for each in unreadable}},
            boards=boards(conn, registry, gauges, now_us),
            unclaimed=unclaimed(conn),
            gauges=gauges,
            duties=duties,
            call_first=call_first(waiting),
            cases=waiting,
            notices=_notices(conn),
            mails=_mails(conn),
            counts=_counts(conn),
        )


def to_json(status: Status) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(status)
    return built


# --- boards ---


def boards(conn: sa.Connection, registry: Registry, gauges: list[Gauge], now_us: int) -> list[Board]:
    """Every node of the registry; `gauges` are all rain gauges at that instant."""
    said = {row.node: row for row in conn.execute(sa.select(schema.node_states))}
    by_node: dict[str, list[Gauge]] = {}
    for gauge in gauges:
        by_node.setdefault(gauge.datastream.partition("/")[0], []).append(gauge)
    bodies = {node: row.body for node, row in said.items()}
    sent = config_views(conn, bodies), update_views(conn, bodies)
    return [_board(conn, node, said.get(node.id), by_node.get(node.id, []), sent, now_us) for node in registry.nodes]


def _board(
    conn: sa.Connection,
    node: Node,
    said: sa.Row[Any] | None,
    gauges: list[Gauge],
    sent: tuple[Mapping[str, ConfigView], Mapping[str, UpdateView]],
    now_us: int,
) -> Board:
    body = said.body if said is not None and isinstance(said.body, dict) else {}
    times = [gauge.last_valid_us for gauge in gauges if gauge.last_valid_us is not None]
    if said is not None and said.last_data_us is not None:
        times.append(said.last_data_us)
    last_us = max(times, default=None)
    faults = body.get("faults")
    return Board(
        node=node.id,
        place=node.place,
        state=_board_state(node, last_us, now_us),
        last_data_us=last_us,
        said=said.status if said is not None else "",
        heard_us=said.received_us if said is not None else None,
        firmware=_known(body.get("fw"), str),
        clock_known=_known(body.get("synced"), bool),
        battery_v=_known(body.get("battery_v"), (int, float)),
        rssi_dbm=_known(body.get("rssi_dbm"), int),
        faults=[str(fault) for fault in faults] if isinstance(faults, list) else [],
        in_maintenance=_says_maintenance(said, body, now_us) or _in_maintenance(conn, node.id, now_us),
        config=sent[0].get(node.id),
        update=sent[1].get(node.id),
    )


def _board_state(node: Node, last_us: int | None, now_us: int) -> BoardState:
    if last_us is None:
        return "never heard"
    limit_min = min((stream.silent_after_min for stream in node.datastreams), default=60)
    return "reporting" if now_us - last_us <= limit_min * _MINUTE_US else "silent"


def _known(value: Any, kind: type | tuple[type, ...]) -> Any:
    """The value if it is of that kind: what a board says of itself may be anything."""
    return value if isinstance(value, kind) else None


def _says_maintenance(said: sa.Row[Any] | None, body: dict[str, Any], now_us: int) -> bool:
    """Whether the board said that it is in maintenance mode for longer than until now."""
    left_s = _known(body.get("maintenance"), (int, float))
    return said is not None and bool(left_s) and now_us < said.received_us + left_s * 1_000_000


def _in_maintenance(conn: sa.Connection, node: str, now_us: int) -> bool:
    c = schema.maintenance.c
    query = sa.select(c.id).where(c.node == node, c.start_us <= now_us, c.end_us > now_us)
    return conn.execute(query).first() is not None


def unclaimed(conn: sa.Connection) -> list[Unclaimed]:
    """Nodes that send and are not in the registry."""
    c = schema.node_states.c
    query = sa.select(c.node, c.received_us).where(c.status == "unclaimed").order_by(c.node)
    return [Unclaimed(row.node, row.received_us) for row in conn.execute(query)]


# --- gauges ---


def gauges_at(conn: sa.Connection, registry: Registry, profiles: Mapping[str, Profile], now_us: int) -> list[Gauge]:
    """Every tipping bucket that the registry has at the instant."""
    profiles = in_force(conn, profiles)
    c = schema.acceptances.c
    accepted = {f"{row.node}/{row.stream}" for row in conn.execute(sa.select(c.node, c.stream))}
    found = []
    for datastream in sorted(set(registry.datastream_ids())):
        stream = registry.datastream(datastream, now_us)
        if stream is not None and stream.tip is not None:
            view = _GaugeView(conn, registry, profiles, datastream, stream, now_us)
            found.append(view.gauge(accepted=datastream in accepted))
    return found


class _GaugeView:
    """One tipping bucket at one instant."""

    def __init__(
        self,
        conn: sa.Connection,
        registry: Registry,
        profiles: Mapping[str, Profile],
        datastream: str,
        stream: Datastream,
        now_us: int,
    ) -> None:
        self._conn = conn
        self._registry, self._datastream, self._stream, self._now_us = registry, datastream, stream, now_us
        self._node = registry.require_node(datastream.partition("/")[0])
        self._zone: tzinfo = registry.zone_of_node(self._node)
        layers = gauge_layers(conn, registry, datastream)
        tip = layers.tips.at(now_us)
        assert tip is not None  # a tipping bucket has one
        self._tip = tip.depth
        self._numbers = _numbers(registry, profiles, datastream, now_us)
        found = valid_between(conn, layers, now_us - _SPELL_US, now_us, EVERYTHING)
        self._readings = [Rain(reading.time_us, reading.tips) for reading in found]
        self._last_us = neighbour_us(conn, layers, now_us + 1, EVERYTHING, before=True)

    def gauge(self, *, accepted: bool) -> Gauge:
        rule, storm = self._storm()
        return Gauge(
            datastream=self._datastream,
            place=self._node.place,
            sites=[site.name for site in self._registry.sites_of_gauge(self._datastream, self._now_us)],
            accepted=accepted,
            silent=self._silent(),
            last_valid_us=self._last_us,
            tip=self._stream.tip or "",
            storm_in=(self._tip * storm.amount).text_in if storm else None,
            storm_start_us=storm.start_us if storm else None,
            storm_over=storm is not None and storm.ended(self._now_us, rule),
            last_24h_in=self._since(self._now_us - _DAY_US + 1),
            today_in=self._since(localtime.day_bounds(self._now_us, self._zone)[0]),
            doubts=self._doubts(storm),
        )

    def _doubts(self, storm: Storm | None) -> list[str]:
        if self._last_us is None:
            return []
        found = cold(self._conn, self._registry, self._datastream, [self._last_us])
        if storm is not None:
            found += of_storm(self._conn, self._registry, self._datastream, storm.start_us, storm.end_us)
        return list(dict.fromkeys(text for each in found if (text := doubt_words.briefly(each))))

    def _silent(self) -> bool:
        limit_us = self._stream.silent_after_min * _MINUTE_US
        return self._last_us is None or self._now_us - self._last_us > limit_us

    def _since(self, start_us: int) -> str | None:
        """The depth since an instant; None, not 0, where nothing valid came in that time: silence is not dryness."""
        found = [reading.amount for reading in self._readings if reading.time_us >= start_us]
        return (self._tip * sum(found)).text_in if found else None

    def _storm(self) -> tuple[StormRule, Storm | None]:
        """What ends a storm, and the latest one."""
        numbers = self._numbers
        asked = parse_depth(numbers.depth) if numbers else self._tip
        rule = StormRule(
            depth=quanta_to_reach(asked, self._tip),
            day_bounds=lambda instant_us: localtime.day_bounds(instant_us, self._zone),
            mit_us=numbers.mit_us if numbers else 6 * localtime.HOUR_US,
        )
        storms = fold(self._readings, rule).storms
        return rule, storms[-1] if storms else None


def _numbers(registry: Registry, profiles: Mapping[str, Profile], datastream: str, now_us: int) -> StormNumbers | None:
    """What the code of the gauge's sites asks of a storm; None for a gauge that no site has."""
    for site in registry.sites_of_gauge(datastream, now_us):
        profile = profiles.get(registry.municipality(site.municipality).profile)
        today = localtime.day_of(now_us, registry.zone(site.municipality))
        for provision in profile.in_force(StormReport, today) if profile else []:
            return provision.storm_on(today)
    return None


# --- duties, notices, mails ---


def duty_lines(conn: sa.Connection, registry: Registry, now_us: int, unreadable: list[Unreadable]) -> list[DutyLine]:
    """Open duties by due time, then the closed ones, latest due first; so many as the page shows.

    Args:
        unreadable: takes those that cannot be read.
    """
    found = duty_book.listed(conn, first=_SHOWN_DUTIES, unreadable=unreadable)
    found += duty_book.closed(conn, first=_SHOWN_DUTIES - len(found), unreadable=unreadable)
    return [duty_line(duty, registry, now_us) for duty in found]


def _is_overdue(duty: duty_book.AnyDuty, now_us: int) -> bool:
    return duty.state == "open" and not duty.historical and duty.body.late(now_us)


def duty_line(duty: duty_book.AnyDuty, registry: Registry, now_us: int) -> DutyLine:
    site = registry.site(duty.body.site)
    return DutyLine(
        id=duty.id,
        site=duty.body.site,
        site_name=site.name if site else duty.body.site,
        municipality=duty.body.municipality,
        state=duty.state,
        version=duty.version,
        asked=duty.body.asked,
        due_us=duty.body.due_us,
        overdue=_is_overdue(duty, now_us),
        depth_in=duty.body.storm.depth_in if isinstance(duty.body, StormDuty) else None,
        learned_us=duty.body.learned_us,
        historical=duty.historical,
        trigger_gone=duty.body.trigger_gone,
        closed_by=duty.closed_by,
        closed_us=duty.closed_us,
        closed_reason=duty.closed_reason,
    )


def _notices(conn: sa.Connection) -> list[Notice]:
    c = schema.notices.c
    query = sa.select(schema.notices).where(c.closed_us.is_(None)).order_by(c.opened_us.desc()).limit(_SHOWN_NOTICES)
    return [Notice(row.id, row.kind, row.subject, notice_text(row.body), row.opened_us) for row in conn.execute(query)]


def notice_text(body: dict[str, Any]) -> str:
    """A notice in a sentence; one of an unknown kind as the names and values that it carries."""
    match body.get("type"):
        case "gauge_silent":
            limit = body.get("limit_min")
            return f"no valid data for {limit} minutes: cannot rule out a qualifying storm, check by hand"
        case "rain_missing":
            return "no rain while another gauge has some or the stage rises: it may be blocked, check by hand"
        case "suspected_discharge":
            likeness = str(body["likeness"]).replace("_", " ")
            runs = "runs on" if body["ongoing"] else "has ended"
            return f"flow in dry weather, looks like {likeness}, {runs}: no finding, somebody has to look"
        case "outside_approval":
            runs = "runs on" if body["ongoing"] else "has ended"
            return f"a flow {WHY.get(body['why'], 'outside an approval')}, {runs}: no finding, somebody has to look"
        case "near_threshold":
            measured, asked = _short_in(body["storm"]["depth_in"]), _short_in(body["threshold_in"])
            return f"{measured} where the code asks about {asked}: near threshold, your call"
        case "inactive_site_storm":
            measured = _short_in(body["storm"]["depth_in"])
            return (
                f"{measured} while the site was {str(body['status']).replace('_', ' ')}: no duty was opened, your call"
            )
        case "node_fault":
            return f"{str(body['fault']).replace('_', ' ')}: {body['detail']}"
    return "; ".join(f"{key} {value}" for key, value in body.items())


def _short_in(depth_in: str) -> str:
    return f"{depth_in} in"


def _mails(conn: sa.Connection) -> list[MailLine]:
    """The failed ones first, since somebody was not told; then the newest."""
    c = schema.mails.c
    columns = [getattr(c, name) for name in MailLine.__struct_fields__]
    failed_first = sa.case((c.state == "failed", 0), else_=1)
    query = sa.select(*columns).order_by(failed_first, c.id.desc()).limit(_SHOWN_MAILS)
    return [MailLine(*row) for row in conn.execute(query)]


def _counts(conn: sa.Connection) -> Counts:
    gaps, letters, mails, outbox = schema.gaps.c, schema.dead_letters.c, schema.mails.c, schema.outbox.c
    lost = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(gaps.last_seq - gaps.first_seq + 1), 0))
    gap_count, lost_count = conn.execute(lost.select_from(schema.gaps)).one()
    by_state = dict.fromkeys(("queued", "sent", "failed"), 0)
    for state, count in conn.execute(sa.select(mails.state, sa.func.count()).group_by(mails.state)):
        by_state[state] = count
    return Counts(
        appended=_scalar(conn, sa.select(schema.append_position.c.pos)),
        gaps=gap_count,
        lost=int(lost_count),
        dead_letters=_scalar(conn, sa.select(sa.func.count()).where(letters.state == "open")),
        waiting=_scalar(conn, sa.select(sa.func.count()).where(outbox.mail.is_(None))),
        mails_queued=by_state["queued"],
        mails_sent=by_state["sent"],
        mails_failed=by_state["failed"],
        mails_repeated=_scalar(conn, sa.select(sa.func.coalesce(sa.func.sum(mails.repeats), 0))),
    )


def _scalar(conn: sa.Connection, query: sa.Select[Any]) -> int:
    return int(conn.execute(query).scalar() or 0)
