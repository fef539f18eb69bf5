"""The municipality of a scenario: a played town (`headwall_sim.played_town`), its code, and the `headwall` command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa
import typer
from headwall.cases import steps
from headwall.cases.running import clocks_of
from headwall.cli import opened
from headwall.cli.main import build
from headwall.errors import ConfigurationError, HeadwallError
from headwall.law import localtime
from headwall.law.profile import load_profile
from headwall.ledger import cases, log_book, schema
from headwall.ledger.append import append_readings
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry
from headwall.rules import duties
from headwall.rules.facts import StormDuty
from headwall.settings import Settings, load_settings
from headwall_sim.played_town import PlayedTown, no_pictures

from support.desk import SETTINGS
from support.empty_ledger import empty_ledger
from support.plain_words import raw_in_mail
from support.profile_text import profile_text
from support.scenario import FOLDER, NEW_YORK, Command, Put, Scenario

#: a provision with its tables, up to the next table that is none of them
_BLOCK = re.compile(r"^\[\[provision\]\]\n.*?(?=^\[(?!\[?provision\.)|\Z)", re.MULTILINE | re.DOTALL)
#: the list of each morning would be most of the mails
_DAILY_LIST = "[notify]\ndaily_list = {}\n"


def play(
    scenario: Scenario, folder: Path, *, without: Collection[str] = (), until_otherwise: bool = False
) -> dict[str, list[str]]:
    """What comes of a scenario: lines of text by the part they are of.

    Args:
        folder: empty, for files.
        without: rows of the analysis; no rule is handed the provisions that answer them.
        until_otherwise: it ends as soon as a refusal, a row of the log book or a mail is another than expected.
    """
    profile = _profile(scenario, folder, without)
    try:
        return _played(scenario, folder, profile, until_otherwise=until_otherwise)
    except ConfigurationError as error:  # the registry names what only the clause knows: its stages, say
        if not without:
            raise
        return {"refused": [str(error)]}


def _played(scenario: Scenario, folder: Path, profile: str, *, until_otherwise: bool) -> dict[str, list[str]]:
    with _town(scenario, folder, profile) as town:
        for instant, group in groupby(scenario.happens, key=lambda each: each.at_us):
            town.go_on(instant)
            if until_otherwise and town.goes_otherwise():
                return {"otherwise": [f"from {when(instant)} at the latest"]}
            for each in group:
                town.take(each)
        town.judge()
        if not until_otherwise:
            town.check_words()
        return {part: lines for part, lines in town.outcome().items() if part not in scenario.leaves_out}


def _profile(scenario: Scenario, folder: Path, without: Collection[str]) -> str:
    """The name of the profile, or the path of one that is as the scenario has it."""
    if not without and not scenario.more_profile:
        return scenario.profile
    text = profile_text(scenario.profile)
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
    text = SETTINGS + _DAILY_LIST.format(str(scenario.daily_list).lower())
    (folder / "headwall.toml").write_text(text, encoding="utf-8")
    (folder / "headwall.db").write_bytes(empty_ledger())
    settings, registry = load_settings(folder / "headwall.toml"), load_registry(folder / "registry.toml")
    with ExitStack() as stack:
        ledger = Ledger.open(settings.ledger.url)
        stack.callback(ledger.close)
        sa.event.listen(ledger.engine, "checkout", _no_disk)
        town = Town(scenario, folder, ledger, settings, registry)
        # what a command opens is the town, whatever the settings file says
        stack.enter_context(patch.multiple(opened, load_settings=lambda _: settings, load_registry=lambda _: registry))
        stack.enter_context(patch.object(opened, "open_clock", lambda _: town.clock))
        stack.enter_context(patch.object(opened, "Ledger", _Shared(ledger)))
        stack.enter_context(no_pictures())
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


class Town(PlayedTown):
    """See the head of the module."""

    def __init__(
        self, scenario: Scenario, folder: Path, ledger: Ledger, settings: Settings, registry: Registry
    ) -> None:
        super().__init__(scenario.name, ledger, settings, registry, scenario.begins_us, sweeps=scenario.sweeps)
        self._scenario = scenario
        self._folder = folder
        self._told: dict[str, list[str]] = {"refused": [], "shown": []}
        self._rows = [row for told in scenario.expected.get("log_book", []) for row in _each(told)]
        self._recorded = 0

    def _when(self) -> str:
        return when(self.clock.now)

    # --- what happens ---

    def take(self, what: Put | Command) -> None:
        if isinstance(what, Put):
            self._put(what)
            self.judge_at_us = self.judge_at_us or self.clock.now + self._scenario.judge_us
        else:
            if self.judge_at_us is not None:
                self.judge()
            if what.text:
                self._command(what)
                self.judge()

    def _put(self, what: Put) -> None:
        self.registry.require_datastream(what.datastream)
        with self.ledger.begin() as conn:
            append_readings(self.ledger, conn, list(self.readings(what.datastream, what.readings, what.null)))

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

    def goes_otherwise(self) -> bool:
        """Whether a refusal, a row of the log book or a mail is already another than expected.

        A scenario may leave mails out.
        """
        expected, refused = self._scenario.expected, self._told["refused"]
        if refused != expected.get("refused", [])[: len(refused)]:
            return True
        with self.ledger.read() as conn:
            if self._log_book_otherwise(conn):
                return True
            found = list(_mails(conn)) if "mails" in expected else []
            return found != expected.get("mails", [])[: len(found)]

    def _log_book_otherwise(self, conn: sa.Connection) -> bool:
        c, known = schema.records.c, self._recorded
        rows = conn.execute(sa.select(c.kind, c.by).order_by(c.n).offset(known)).all()
        found = [f"{row.kind} by {row.by}" for row in rows]
        self._recorded += len(found)
        return found != self._rows[known : self._recorded]

    def check_words(self) -> None:
        """AssertionError where a mail shows what is for programs."""
        with self.ledger.read() as conn:
            for number, eml in conn.execute(sa.select(schema.mails.c.id, schema.mails.c.eml)):
                assert not (raw := raw_in_mail(eml)), f"mail {number} of {self._scenario.name}: {raw}"

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
        for each in clocks_of(steps.code_of(conn, self.registry, case), case):
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


def _each(told: str) -> list[str]:
    """The rows that a line of `_records` stands for."""
    row, times, count = told.rpartition(" x ")
    return [row] * int(count) if times and count.isdecimal() else [told]
