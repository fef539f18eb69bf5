"""Lists of thousands: how many are shown and that it is said, what a script gets, and rows that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from click.testing import Result
from headwall.cli.main import build
from headwall.clock import SystemClock
from headwall.ledger import approvals, cases, entries, schema
from headwall.ledger.ledger import Ledger
from headwall.ledger.unreadable import UnreadableRowError
from headwall.rules import duties
from support.desk import Desk
from support.rules_house import HOUR, House, make_registry
from typer.testing import CliRunner

MANY = 60
SITE = "yard"


def fill(conn: sa.Connection, now_us: int, town: str) -> None:
    """Of each kind MANY rows."""
    (one,) = duties.listed(conn)
    for n in range(1, MANY):
        duties.open_duty(conn, msgspec.structs.replace(one.body, due_us=now_us - n * HOUR), now_us, historical=False)
    for n in range(MANY):
        body = entries.Maintenance(work=f"work {n}")
        entries.add_entry(conn, body, subject=SITE, done_us=now_us - n * HOUR, by="Ann", now_us=now_us)
        given = approvals.Discharge(provision="X-1", holder=f"H{n}", granted_by="Ann", reference="r", what="water")
        approvals.add_approval(
            conn, given, municipality=town, site=SITE, from_us=n + 1, to_us=None, by="Ann", now_us=now_us
        )
        span = {"from_us": now_us, "until_us": now_us, "at_us": now_us, "historical": False, "notice": None}
        where = {"municipality": town, "site": SITE, "state": "suspected"}
        number = cases.add(conn, kind="suspected_discharge", provision="", **where, **span)
        step = {"case": number, "action": "open", "from_state": "", "to_state": "suspected", "by": "Ann"}
        rest: dict[str, Any] = {"means": "", "note": "", "outcome": "", "details": {}, "provision": "", "times": {}}
        cases.add_step(conn, clocks=[], done_us=now_us, at_us=now_us, **step, **rest)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    registry, now_us = make_registry(folder), SystemClock().now_us()
    house = House(registry, now_us, url=f"sqlite:///{folder / 'headwall.db'}")
    house.rain(now_us - 2 * HOUR, 50)
    house.judge()
    with house.ledger.begin() as conn:
        fill(conn, now_us, registry.municipalities[0].id)
    house.close()
    return folder


@pytest.fixture
def desk(filled: Path, tmp_path: Path) -> Desk:
    for name in ("headwall.db", "registry.toml"):
        (tmp_path / name).write_bytes((filled / name).read_bytes())
    return Desk(tmp_path)


def ran(desk: Desk, *words: str) -> Result:
    """A command that may end with 1."""
    result = CliRunner().invoke(build(words[0]), [*words, "--config", str(desk.folder / "headwall.toml")])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


LISTS = [("duty", "list"), ("case", "list"), ("record", "list"), ("approval", "list"), ("logbook", "show")]


@pytest.mark.parametrize("words", LISTS)
def test_a_long_list_is_cut_says_so_and_is_whole_with_all_and_for_scripts(desk: Desk, words: tuple[str, str]) -> None:
    whole = json.loads(desk.run(*words, "--json"))
    assert len(whole) >= MANY
    said = desk.run(*words)
    assert f"50 of {len(whole)} shown" in said
    assert "--all" in said
    assert len(said.splitlines()) < len(desk.run(*words, "--all").splitlines())
    assert "shown" not in desk.run(*words, "--limit", str(len(whole)))
    cut = ran(desk, *words, "--limit", "3", "--json")
    assert (len(json.loads(cut.stdout)), cut.stderr[:5]) == (3, "3 of ")


def test_the_duty_that_is_due_first_and_the_newest_entry_are_never_cut(desk: Desk) -> None:
    due = [each["due_us"] for each in json.loads(desk.run("duty", "list", "--json"))]
    assert due == sorted(due)
    first = json.loads(ran(desk, "duty", "list", "--limit", "2", "--json").stdout)
    assert [each["due_us"] for each in first] == due[:2]
    for words in LISTS[2:]:
        whole = json.loads(desk.run(*words, "--json"))
        assert json.loads(ran(desk, *words, "--limit", "2", "--json").stdout) == whole[-2:]


def test_the_number_of_queries_of_a_list_does_not_grow_with_it(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    asked: list[str] = []
    with ledger.read() as conn:
        sa.event.listen(conn, "before_cursor_execute", lambda _c, _u, text, *_: asked.append(text))
        for listed in (duties.listed, cases.listed, entries.listed, approvals.listed):
            asked.clear()
            assert len(listed(conn)) == MANY  # type: ignore[operator]
            assert len(asked) <= 2
    ledger.close()


def break_row(desk: Desk, table: sa.Table, key: sa.ColumnElement[Any], number: int, column: str, raw: str) -> None:
    """As if somebody had changed it by hand."""
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        conn.execute(
            sa.text(f'UPDATE {table.name} SET "{column}" = :raw WHERE "{key.key}" = :n'), {"raw": raw, "n": number}
        )
    ledger.close()


GARBAGE = [
    ("duty", schema.duty_versions, schema.duty_versions.c.duty, "body"),
    ("record", schema.entries, schema.entries.c.id, "body"),
    ("approval", schema.approvals, schema.approvals.c.id, "body"),
    ("case", schema.case_steps, schema.case_steps.c.case, "clocks"),
]


@pytest.mark.parametrize("raw", ['{"kind": 7}', "no JSON"])
@pytest.mark.parametrize(("group", "table", "key", "column"), GARBAGE)
def test_a_row_of_garbage_is_named_and_the_others_are_listed(
    desk: Desk, group: str, table: sa.Table, key: sa.ColumnElement[Any], column: str, raw: str
) -> None:
    break_row(desk, table, key, 7, column, raw)
    found = ran(desk, group, "list", "--json")
    listed = [each["id"] for each in json.loads(found.stdout)]
    assert (len(listed), 7 in listed) == (MANY - 1, False)
    name = "entry" if group == "record" else group
    assert f"{name} 7 cannot be read" in found.stderr
    assert "backup" in found.stderr
    assert (found.exit_code, found.stderr.count("cannot be read")) == (1, 1)
    if group != "record":
        with pytest.raises(UnreadableRowError, match=f"{name} 7 cannot be read"):
            desk.run(group, "show", "7")


def test_a_duty_that_is_not_there_names_some_that_are_and_how_many_more(desk: Desk) -> None:
    with pytest.raises(Exception, match=rf"no duty 999; open are: \d+(, \d+)* and {MANY - 20} more"):
        desk.run("duty", "show", "999")
