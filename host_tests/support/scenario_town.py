"""The municipality of a scenario, in process: registry, code, ledger, rule engine, mailer and the `headwall` command.

The clock goes from one instant at which something happens to the next, those of rules and mails among them. Nothing is
faked but the clock, the SMTP server, and the picture of a storm, which takes longer than all the rest.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import sqlalchemy as sa
import typer
from headwall.cases import steps
from headwall.cli import opened
from headwall.cli.main import build
from headwall.errors import ConfigurationError, HeadwallError
from headwall.law import localtime
from headwall.law.profile import load_profile
from headwall.ledger import cases, log_book, schema
from headwall.ledger.append import append_readings
from headwall.ledger.ledger import Ledger
from headwall.notify import hyetograph
from headwall.notify.mailer import Mailer
from headwall.notify.smtp import Outcome
from headwall.registry import Registry, load_registry
from headwall.rules import duties
from headwall.rules.engine import RuleEngine
from headwall.rules.facts import StormDuty
from headwall.settings import Settings, load_settings

from support.empty_ledger import empty_ledger
from support.readings import reading
from support.scenario import FOLDER, NEW_YORK, Command, Put, Scenario
from support.set_clock import SetClock

_PROFILES = FOLDER.parents[1] / "gateway/headwall/law/profiles"
#: a provision with its tables, up to the next table that is none of them
_BLOCK = re.compile(r"^\[\[provision\]\]\n.*?(?=^\[(?!\[?provision\.)|\Z)", re.MULTILINE | re.DOTALL)
_SETTINGS = """
registry = "registry.toml"
[mqtt]
host = "127.0.0.1"
[smtp]
host = "127.0.0.1"
sender = "headwall@town.example"
[ledger]
url = "sqlite:///headwall.db"
attachments = "attachments"
[notify]
daily_list = false  # it would be most of the mails
"""
#: rules that sweep every few minutes for what has fallen silent; their timers are for scenarios that are about that
_SWEEP: Final = frozenset({"gauge_silent", "rain_missing", "sensor_faults", "node_faults", "device_neglect"})
#: a timer that comes again and again without the clock going on is a fault
_MOST_TIMERS = 5000


def play(scenario: Scenario, folder: Path, *, without: Collection[str] = ()) -> dict[str, list[str]]:
    """What comes of a scenario: lines of text by the part they are of.

    Args:
        folder: empty, for files.
        without: rows of the analysis; no rule is handed the provisions that answer them. Then it ends, with what there
            is by then, as soon as a mail is another than expected.
    """
    profile = _profile(scenario, folder, without)
    try:
        return _played(scenario, folder, profile, until_otherwise=bool(without))
    except ConfigurationError as error:  # the registry names what only the clause knows: its stages, say
        if not without:
            raise
        return {"refused": [str(error)]}


def _played(scenario: Scenario, folder: Path, profile: str, *, until_otherwise: bool) -> dict[str, list[str]]:
    with _town(scenario, folder, profile) as town:
        for instant, group in groupby(scenario.happens, key=lambda each: each.at_us):
            town.go_on(instant)
            if until_otherwise and town.mails_otherwise():
                break
            for each in group:
                town.take(each)
        town.settle()
        return {part: lines for part, lines in town.outcome().items() if part not in scenario.leaves_out}


def _profile(scenario: Scenario, folder: Path, without: Collection[str]) -> str:
    """The name of the profile, or the path of one that is as the scenario has it."""
    if not without and not scenario.more_profile:
        return scenario.profile
    text = (_PROFILES / f"{scenario.profile}.toml").read_text(encoding="utf-8")
    gone = {each.id for each in load_profile(scenario.profile).provisions if set(without) & set(each.covers)}
    assert not without or gone, f"{scenario.name}: no provision of {scenario.profile} answers {', '.join(without)}"

    def kept(block: re.Match[str]) -> str:
        return "" if any(f'\nid = "{each}"\n' in block[0] for each in gone) else block[0]

    path = folder / "profile.toml"
    path.write_text(_BLOCK.sub(kept, text) + scenario.more_profile, encoding="utf-8")
    assert {each.id for each in load_profile(str(path)).provisions}.isdisjoint(gone)
    return str(path)


@contextmanager
def _town(scenario: Scenario, folder: Path, profile: str) -> Iterator[Town]:
    places = ("town", *dict.fromkeys(scenario.places))
    texts = [(FOLDER / "places" / f"{name}.toml").read_text(encoding="utf-8") for name in places]
    text = "\n".join([*texts, scenario.registry]).replace("PROFILE", profile)
    (folder / "registry.toml").write_text(text, encoding="utf-8")
    text = _SETTINGS.format(daily_list=str(scenario.daily_list).lower())
    (folder / "headwall.toml").write_text(text, encoding="utf-8")
    (folder / "headwall.db").write_bytes(empty_ledger())
    settings, registry = load_settings(folder / "headwall.toml"), load_registry(folder / "registry.toml")
    with ExitStack() as stack:
        town = Town(scenario, folder, settings, registry)
        stack.callback(town.ledger.close)
        # what a command opens is the town, whatever the settings file says
        stack.enter_context(patch.multiple(opened, load_settings=lambda _: settings, load_registry=lambda _: registry))
        stack.enter_context(patch.object(opened, "open_clock", lambda _: town.clock))
        stack.enter_context(patch.object(opened, "Ledger", _Shared(town.ledger)))
        stack.enter_context(patch.object(hyetograph, "draw", lambda _: b"a picture"))
        stack.enter_context(patch.dict("os.environ", HEADWALL_CONFIG=str(folder / "headwall.toml")))
        stack.enter_context(patch.dict("os.environ", COLUMNS="120", NO_COLOR="1"))
        yield town


def _no_disk(dbapi_connection: Any, *_: object) -> None:
    """No power fails here: a commit need not wait for the disk."""
    dbapi_connection.execute("PRAGMA synchronous=OFF")


class _Shared:
    """Stands for the class Ledger where a command opens one: gives the town's, and leaves it open."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def open(self, _url: str) -> _Shared:
        return self

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


class _Inbox:
    """Takes every mail at once, as a good SMTP server does."""

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def send(self, _sender: str, _recipient: str, _message: bytes) -> Outcome:
        return Outcome("sent")


class Town:
    """See the head of the module."""

    def __init__(self, scenario: Scenario, folder: Path, settings: Settings, registry: Registry) -> None:
        self._scenario = scenario
        self._folder = folder
        self._registry = registry
        self.clock = SetClock(scenario.begins_us)
        self.ledger = Ledger.open(settings.ledger.url)
        sa.event.listen(self.ledger.engine, "checkout", _no_disk)
        profiles = {each.profile: load_profile(each.profile) for each in registry.municipalities}
        self._engine = RuleEngine(self.ledger, registry, profiles, self.clock, settings.rules, settings.notify)
        self._mailer = Mailer(settings.smtp, settings.notify, self.ledger, registry, profiles, self.clock)
        self._mailer._sender = _Inbox()
        self._seq = 0
        self._unjudged_us: int | None = None
        self._mail_us: int | None = None
        self._entered = True  # something else than readings since all was judged
        self._told: dict[str, list[str]] = {"refused": [], "shown": []}
        with self.ledger.begin() as conn:
            for datastream in registry.datastream_ids():
                node, _, stream = datastream.partition("/")
                conn.execute(schema.acceptances.insert().values(node=node, stream=stream, by="Olive Officer", at_us=0))

    # --- time ---

    def go_on(self, until_us: int) -> None:
        """Let the clock go to an instant; what rules and mails wait for happens on the way, readings are judged."""
        for _ in range(_MOST_TIMERS):
            next_us = min(self._timers(), default=until_us + 1)
            self.clock.now = min(next_us, until_us)
            if next_us > until_us:
                return
            self._judge()
        raise AssertionError(f"{self._scenario.name}: timers do not let the clock go on from {self._when()}")

    def settle(self) -> None:
        """All is judged and mailed that there is by now."""
        self._judge()

    def _timers(self) -> list[int]:
        rules = [each for each in self._engine._rules if self._scenario.sweeps or each.name not in _SWEEP]
        found = [rule.next_us() for rule in rules]
        found += [self._mail_us, self._unjudged_us]
        return [each for each in found if each is not None and each > self.clock.now]

    def _judge(self) -> None:
        self._unjudged_us = None
        while self._engine.step() and self._entered:
            pass  # what a command has entered is judged by itself, before readings
        self._entered = False
        assert self._engine.healthy() is None, f"{self._scenario.name} at {self._when()}: {self._engine.healthy()}"
        self._mail_us = self._mailer.step()
        assert self._mailer.healthy() is None, f"{self._scenario.name} at {self._when()}: {self._mailer.healthy()}"

    def _when(self) -> str:
        return when(self.clock.now)

    # --- what happens ---

    def take(self, what: Put | Command) -> None:
        if isinstance(what, Put):
            self._put(what)
            self._unjudged_us = self._unjudged_us or self.clock.now + self._scenario.judge_us
        else:
            if self._unjudged_us is not None:
                self._judge()
            if what.text:
                self._command(what)
                self._entered = True
                self._judge()

    def _put(self, what: Put) -> None:
        node, _, stream = what.datastream.partition("/")
        self._registry.require_datastream(what.datastream)
        rows = []
        for time_us, value in what.readings:
            self._seq += 1
            fields: dict[str, Any] = {"node": node, "stream": stream, "received_us": self.clock.now}
            if value is None:
                fields["null_reason"] = what.null
            rows.append(reading(self._seq, time_us, value, **fields))
        with self.ledger.begin() as conn:
            append_readings(self.ledger, conn, rows)

    def _command(self, what: Command) -> None:
        text = what.text
        if what.file is not None:
            path = self._folder / f"file-{self.clock.now}.json"
            path.write_text(what.file, encoding="utf-8")
            text = text.replace("{file}", str(path))
        said, arguments = StringIO(), shlex.split(text)
        try:
            with redirect_stdout(said):
                _command_line(arguments[0]).main(args=arguments, prog_name="headwall", standalone_mode=False)
        except HeadwallError as error:
            self._told["refused"].append(f"{self._when()} | {what.text} | {' '.join(str(error).split())}")
        if what.show:
            self._told["shown"] += [f"{self._when()} | headwall {what.text}"]
            self._told["shown"] += [line.rstrip() for line in said.getvalue().splitlines() if line.strip()]

    # --- what came of it ---

    def mails_otherwise(self) -> bool:
        """Whether there is already a mail that is not the expected one; a scenario may leave mails out."""
        expected = self._scenario.expected.get("mails")
        if expected is None:
            return False
        with self.ledger.read() as conn:
            found = list(_mails(conn))
        return found != expected[: len(found)]

    def outcome(self) -> dict[str, list[str]]:
        with self.ledger.read() as conn:
            assert log_book.verify(conn) is None
            return {
                "duties": [_duty(each) for each in duties.listed(conn, everything=True)],
                "cases": [line for case in cases.listed(conn) for line in self._case(conn, case)],
                "mails": list(_mails(conn)),
                "log_book": list(_records(conn)),
                **self._told,
            }

    def _case(self, conn: sa.Connection, case: cases.Case) -> Iterator[str]:
        yield f"{case.id} | {case.kind} | {case.site} | {case.state} | {when(case.from_us)} to {when(case.until_us)}"
        for step in case.steps:
            outcome = f" ({step.outcome})" if step.outcome else ""
            yield f"{case.id} | step | {when(step.done_us)} | {step.action}{outcome} by {step.by} | {step.provision}"
        for each in steps.code_of(conn, self._registry, case).running(case):
            clock = each.clock
            both = f"strict {when(clock.strict_us)}, lenient {when(clock.lenient_us)}"
            met = "" if each.met_us is None else f" | met {when(each.met_us)}"
            yield f"{case.id} | clock | {clock.provision} {clock.name} | {both}, counts {when(clock.taken_us)}{met}"


@cache
def _command_line(name: str) -> Any:
    return typer.main.get_command(build(name))


def when(instant_us: int | None) -> str:
    """ "Sun 2026-06-14 15:20 EDT", with seconds where there are any."""
    if instant_us is None:
        return "none"
    local = localtime.to_local(instant_us, NEW_YORK)
    seconds = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a %Y-%m-%d} {seconds} {local:%Z}"


def _duty(duty: Any) -> str:
    body = duty.body
    closed = f" by {duty.closed_by} {when(duty.closed_us)}" if duty.closed_by else ""
    if isinstance(body, StormDuty):
        what = f"{body.storm.depth_in} in, reached {when(body.crossing_us)} ({body.fired_by})"
        clocks = body.clocks
        readings = f"from its first rain {when(clocks.first_due_us)}, from its end {when(clocks.end_due_us)}"
        what += f" | {readings}" + (f" | gaps {len(body.gaps)}" if body.gaps else "")
        name = "storm"
    else:
        what = f"{body.occurrence} | strict {when(body.strict_us)}, lenient {when(body.lenient_us)}"
        what += " | advice" if body.advice else ""
        name = body.name or "-"
    gone = f" | {body.trigger_gone}" if body.trigger_gone else ""
    return f"{when(duty.body.due_us)} | {duty.state}{closed} | {body.site} | {body.provision} {name} | {what}{gone}"


def _mails(conn: sa.Connection) -> Iterator[str]:
    c = schema.mails.c
    for row in conn.execute(sa.select(c.at_us, c.recipient, c.subject).order_by(c.id)):
        yield f"{when(row.at_us)} | {row.recipient.partition('@')[0]} | {row.subject}"


def _records(conn: sa.Connection) -> Iterator[str]:
    """Kind and author, what comes several times in a row once."""
    for told, rows in groupby(f"{row.kind} by {row.by}" for row in log_book.rows(conn)):
        count = len(list(rows))
        yield told if count == 1 else f"{told} x {count}"
