"""A village for the tests of rules: registry, ledger, a clock that the test sets, and rain put in by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import sqlalchemy as sa
from headwall.clock import from_us, to_us
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.append import NewReading
from headwall.ledger.calibrations import Calibration, add_calibration
from headwall.ledger.entries import Body, SnowWater, Withdrawal, add_entry
from headwall.ledger.ledger import Ledger
from headwall.ledger.quality_edits import add_edit
from headwall.registry import Registry, load_registry
from headwall.rules import duties
from headwall.rules.engine import RuleEngine
from headwall.rules.facts import Fact, from_body
from headwall.settings import RulesSettings

from support.readings import Board
from support.registry_text import ACTIVE, SINCE, node, site, stream
from support.set_clock import SetClock

MINUTE = 60_000_000
HOUR = 60 * MINUTE
GAUGE = "board-a/rain.tips"
JID = "00000000000000aa"

_PEOPLE = """
[[municipalities]]
id = "elmsford"
name = "Village of Elmsford"
profile = "CODE"
time_zone = "America/New_York"

[[people]]
id = "officer"
name = "Olive Officer"
email = "officer@village.example"
roles = [{ role = "smo", municipality = "elmsford", from = 2020-01-01 }]

[[people]]
id = "installer"
name = "Ivan Installer"
email = "installer@gauges.example"

[[people]]
id = "builder"
name = "Bella Builder"
email = "builder@site.example"

"""


def at(text: str) -> int:
    """The instant of a UTC time such as "2026-06-10 12:00"."""
    return to_us(datetime.fromisoformat(text).replace(tzinfo=UTC))


NOON = at("2026-06-10 12:00")


#: a gauge of the site; another board with one more gauge for it
PRIMARY = '{ datastream = "board-a/rain.tips", distance_m = 5, from = 2020-01-01 }'
BACKUP = '{ datastream = "board-b/rain.tips", distance_m = 900, from = 2020-01-01, role = "backup" }'
BOARD_B = node("board-b", "240ac400000b", stream("rain.tips", 'tip = "0.2 mm"'))


def make_registry(
    folder: Path,
    *,
    code: str = "elmsford",
    tip: str = "0.01 in",
    status: str = ACTIVE,
    more: str = "",
    since: str = SINCE,
    gauges: str = PRIMARY,
    nodes: str = "",
    gauge: str = "",
) -> Registry:
    """One site with its gauge, under a code; `gauge` are lines of its datastream, `nodes` and `more` are tables."""
    rain = stream("rain.tips", f'tip = "{tip}"', gauge)
    developer = 'people = [{ person = "builder", role = "developer", from = 2020-01-01 }]'
    board = node("board-a", "240ac400000a", rain, place="north gate")
    yard = site("yard", "construction", developer, f"gauges = [{gauges}]", status=status)
    path = folder / "registry.toml"
    text = _PEOPLE.replace("CODE", code) + board + nodes + yard + more
    path.write_text(text.replace(SINCE, since), "utf-8")
    return load_registry(path)


@contextmanager
def houses(folder: Path, **usual: str) -> Iterator[Callable[..., House]]:
    """Makes houses whose registry is told by keywords, and closes them."""
    with ExitStack() as made:

        def make(now_us: int = NOON, *, accepted: bool = True, **registry: str) -> House:
            house = House(make_registry(folder, **{**usual, **registry}), now_us, accepted=accepted)
            made.callback(house.close)
            return house

        yield make


class House:
    """One ledger with its rule engine."""

    def __init__(
        self, registry: Registry, now_us: int, *, accepted: bool = True, batch: int = 5000, url: str = "sqlite://"
    ) -> None:
        self.registry = registry
        self.clock = SetClock(now_us)
        self.ledger = Ledger.open(url)
        self._batch = batch
        self.engine = self.new_engine()
        self._board = Board(self.ledger, "board-a", jid=JID)
        if accepted:
            self.accept()

    def new_engine(self) -> RuleEngine:
        """Another engine on the same ledger: what a restart makes."""
        profiles = {m.profile: load_profile(m.profile) for m in self.registry.municipalities}
        settings = RulesSettings(batch_readings=self._batch)
        self.engine = RuleEngine(self.ledger, self.registry, profiles, self.clock, settings)
        return self.engine

    def close(self) -> None:
        self.ledger.close()

    def accept(self, node: str = "board-a", *streams: str) -> None:
        """Take datastreams of a node, by default its gauge, out of commissioning."""
        with self.ledger.begin() as conn:
            for stream in streams or ("rain.tips",):
                conn.execute(schema.acceptances.insert().values(node=node, stream=stream, by="Olive", at_us=0))

    def put(self, *readings: tuple[int, float | None], **fields: Any) -> None:
        """Readings (time, value) as they arrive."""
        self._board.put("rain.tips", *readings, **{"received_us": self.clock.now, **fields})

    def reading(self, time_us: int | None, value: float | None, /, **fields: Any) -> NewReading:
        return self._board.reading("rain.tips", time_us, value, **{"received_us": self.clock.now, **fields})

    def rain(self, start_us: int, tips: int, every_us: int = MINUTE, **fields: Any) -> int:
        """`tips` single tips; returns the time of the last."""
        times = [start_us + n * every_us for n in range(tips)]
        self.put(*((time_us, 1) for time_us in times), **fields)
        return times[-1]

    def judge(self, now_us: int | None = None) -> None:
        """Let the engine take all there is, at an instant."""
        if now_us is not None:
            self.clock.now = now_us
        while self.engine.step():
            pass

    def alive(self, start_us: int, end_us: int, every_us: int = 15 * MINUTE, **fields: Any) -> None:
        """Zero reports."""
        self.put(*((time_us, 0) for time_us in range(start_us, end_us + 1, every_us)), **fields)

    # --- what persons lay over the readings ---

    def calibrate(self, done_us: int, *, reference: str, reading: str, verdict: str = "fail", **fields: Any) -> None:
        """Water poured into a gauge, and what it showed; by Sam Okafor."""
        record = {
            "v": 1,
            "datastream": GAUGE,
            "kind": "rain_volume",
            "at": from_us(done_us).isoformat(),
            "by": "Sam Okafor",
            "unit": "mm",
            "method": "burette",
            "as_found": [{"reference": reference, "reading": reading}],
            "verdict": verdict,
            **fields,
        }
        with self.ledger.begin() as conn:
            add_calibration(conn, msgspec.convert(record, Calibration), self.clock.now)

    def flag(self, start_us: int, end_us: int, flag: int | None, *, node: str = "board-a") -> None:
        """What Ada says of readings."""
        said = {"node": node, "stream": "rain.tips", "start_us": start_us, "end_us": end_us, "flag": flag}
        with self.ledger.begin() as conn:
            add_edit(conn, **said, by="Ada", reason="wasps", now_us=self.clock.now)

    def snow(self, start_us: int, end_us: int, depth: str, *, replaces: int | None = None, gauge: str = GAUGE) -> int:
        """Water of snow that Olive has measured; returns the number of the entry."""
        body = SnowWater(depth=depth, start_us=start_us, end_us=end_us)
        return self.entered(gauge, body, end_us, replaces=replaces)

    def withdraw(self, entry: int, done_us: int) -> None:
        self.entered(GAUGE, Withdrawal(reason="a mistake"), done_us, replaces=entry)

    def entered(self, subject: str, body: Body, done_us: int, *, by: str = "Olive", replaces: int | None = None) -> int:
        """The number of an entry that a person has made."""
        now_us = self.clock.now
        with self.ledger.begin() as conn:
            added = add_entry(conn, body, subject=subject, done_us=done_us, by=by, now_us=now_us, replaces=replaces)
        assert added is not None
        return added.id

    def maintain(self, start_us: int, end_us: int, node: str = "board-a") -> None:
        """A window of Ivan's maintenance."""
        window = {"node": node, "start_us": start_us, "end_us": end_us, "by": "Ivan", "at_us": self.clock.now}
        with self.ledger.begin() as conn:
            conn.execute(schema.maintenance.insert().values(**window))

    # --- what came of it ---

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Within it no step that moves a cursor can be committed."""

        def refuse(*_: object) -> None:
            raise sa.exc.OperationalError("disk", {}, Exception("database or disk is full"))

        with patch.object(self.ledger, "set_cursor", refuse):
            yield

    def duties(self, *, everything: bool = False) -> list[duties.Duty]:
        with self.ledger.read() as conn:
            return duties.listed(conn, everything=everything)

    def outbox(self) -> list[tuple[str, str, str, Fact]]:
        """(fact key, person, how, fact) in order, without what tells again (test_rules_reminders)."""
        table = schema.outbox.c
        query = sa.select(table.fact, table.person, table.how, table.body).order_by(table.id)
        query = query.where(table.kind.not_in(["reminder", "open_matters"]))
        with self.ledger.read() as conn:
            return [(key, person, how, from_body(body)) for key, person, how, body in conn.execute(query)]

    def mail_everything(self) -> None:
        """As if a mail carried all that waits."""
        with self.ledger.begin() as conn:
            conn.execute(schema.outbox.update().where(schema.outbox.c.mail.is_(None)).values(mail=1))

    def notices(self, kind: str) -> Sequence[Any]:
        table = schema.notices.c
        with self.ledger.read() as conn:
            return conn.execute(sa.select(table).where(table.kind == kind).order_by(table.id)).all()

    def told_why(self) -> list[tuple[str, str]]:
        """(kind, because) of the records of the log book that say why."""
        c = schema.records.c
        with self.ledger.read() as conn:
            rows = conn.execute(sa.select(c.kind, c.body).order_by(c.n)).all()
        return [(row.kind, row.body["because"]) for row in rows if "because" in row.body]

    def records(self) -> list[str]:
        with self.ledger.read() as conn:
            return list(conn.execute(sa.select(schema.records.c.kind).order_by(schema.records.c.n)).scalars())


def content(found: Iterable[duties.Duty]) -> list[dict[str, Any]]:
    """Duties by what they say, whatever their numbers and versions: for comparing two ways to the same end."""
    kept = []
    for duty in found:
        body = duty.body
        kept.append(
            {
                "state": duty.state,
                "site": body.site,
                "storm": body.storm,
                "fired_by": body.fired_by,
                "crossing_us": body.crossing_us,
                "due_us": body.due_us,
                "clocks": body.clocks,
                "gaps": body.gaps,
            }
        )
    return sorted(kept, key=lambda each: each["crossing_us"])
