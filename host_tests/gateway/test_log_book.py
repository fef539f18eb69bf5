"""The log book holds, and any later change of it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from hypothesis import given, settings
from hypothesis import strategies as st

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_BODY = st.dictionaries(st.text(max_size=6), _JSON, max_size=4)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def _fill(conn: sa.Connection, bodies: list[dict[str, Any]]) -> None:
    for index, body in enumerate(bodies):
        log_book.append(conn, "tested", "Ann Example", body, 1_000_000 + index)


def test_rows_follow_each_other_and_hold(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        assert log_book.append(conn, "accepted", "Ann Example", {"node": "a"}, 5) == 1
        assert log_book.append(conn, "accepted", "Ann Example", {"node": "b"}, 6) == 2
        assert log_book.verify(conn) is None


def test_an_empty_book_holds(ledger: Ledger) -> None:
    with ledger.read() as conn:
        assert log_book.verify(conn) is None


@settings(max_examples=60, deadline=None)
@given(bodies=st.lists(_BODY, min_size=1, max_size=5), data=st.data())
def test_any_change_of_any_row_shows(bodies: list[dict[str, Any]], data: st.DataObject) -> None:
    ledger = Ledger.open("sqlite://")
    with ledger.begin() as conn:
        _fill(conn, bodies)
        assert log_book.verify(conn) is None
        n = data.draw(st.integers(1, len(bodies)))
        column = data.draw(
            st.sampled_from(["kind", "by", "personal", "salt", "personal_digest", "body", "at_us", "previous", "hash"])
        )
        row = conn.execute(sa.select(schema.records).where(schema.records.c.n == n)).mappings().one()
        new: Any = {**row["body"], "added": 1} if column == "body" else row["at_us"] + 1 if column == "at_us" else "x"
        if column == "salt":
            new = data.draw(st.sampled_from([None, "x"]))
        if column == "body" and row["body"].get("added") == 1:
            new = {}
        conn.execute(schema.records.update().where(schema.records.c.n == n).values({column: new}))
        broken = log_book.verify(conn)
        assert broken is not None
        assert broken.n == n
    ledger.close()


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_removed_row_shows(ledger: Ledger, lost: int) -> None:
    with ledger.begin() as conn:
        _fill(conn, [{"a": 1}, {"a": 2}, {"a": 3}])
        conn.execute(schema.records.delete().where(schema.records.c.n == lost))
        broken = log_book.verify(conn)
    assert broken is not None
    assert broken.n == lost


def test_two_rows_that_changed_places_show(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        _fill(conn, [{"a": 1}, {"a": 2}])
        table = schema.records
        conn.execute(table.update().where(table.c.n == 1).values(n=9))
        conn.execute(table.update().where(table.c.n == 2).values(n=1))
        conn.execute(table.update().where(table.c.n == 9).values(n=2))
        assert log_book.verify(conn) is not None


@settings(max_examples=60, deadline=None)
@given(count=st.integers(2, 7), data=st.data())
def test_any_removal_or_exchange_of_rows_shows_at_the_first_that_is_wrong(count: int, data: st.DataObject) -> None:
    """Rows alike in all they say, so that only number and chain can tell them apart."""
    ledger, table = Ledger.open("sqlite://"), schema.records
    with ledger.begin() as conn:
        _fill(conn, [{"a": 1}] * count)
        first = data.draw(st.integers(1, count), label="first")
        second = data.draw(st.integers(first, count), label="second")
        if first == second:
            conn.execute(table.delete().where(table.c.n == first))
            if data.draw(st.booleans(), label="closed up"):
                for n in range(first + 1, count + 1):
                    conn.execute(table.update().where(table.c.n == n).values(n=n - 1))
        else:
            conn.execute(table.update().where(table.c.n == first).values(n=99))
            conn.execute(table.update().where(table.c.n == second).values(n=first))
            conn.execute(table.update().where(table.c.n == 99).values(n=second))
        broken = log_book.verify(conn)
    ledger.close()
    assert broken is not None
    assert broken.n == first


@settings(max_examples=40, deadline=None)
@given(redacted=st.lists(st.integers(1, 4), max_size=4, unique=True), data=st.data(), noted=st.integers(1, 4))
def test_redactions_break_no_chain_and_hide_no_change(redacted: list[int], data: st.DataObject, noted: int) -> None:
    ledger, c = Ledger.open("sqlite://"), schema.records.c
    with ledger.begin() as conn:
        for n in range(4):
            log_book.append(conn, "tested", "Ann Example", {"n": n}, n, {"phone": "555-0101"})
        (hash_then,) = conn.execute(sa.select(c.hash).where(c.n == noted)).one()
        for n in redacted:
            log_book.redact(conn, n, by="Olive Officer", reason="order 7", now_us=9)
        assert log_book.verify(conn, log_book.Head(noted, hash_then)) is None
        left = [row.n for row in log_book.rows(conn, ("tested",)) if row.personal or row.by == "Ann Example"]
        assert left == [n for n in range(1, 5) if n not in redacted]
        changed = data.draw(st.integers(1, 4), label="changed")
        conn.execute(schema.records.update().where(c.n == changed).values(body={"n": 99}))
        broken = log_book.verify(conn)
    ledger.close()
    assert broken is not None
    assert broken.n == changed


def test_a_redacted_row_holds_in_either_database(ledger: Ledger) -> None:
    with ledger.begin() as conn:
        log_book.append(conn, "tested", "Ann Example", {"ä": [1, None, True], "b": {}}, 5, {"name": "fotó.png"})
        log_book.redact(conn, 1, by="Olive Officer", reason="order 7", now_us=6)
        assert log_book.verify(conn) is None
        conn.execute(schema.records.update().where(schema.records.c.n == 1).values(personal={"name": "x"}, salt="x"))
        broken = log_book.verify(conn)
    assert broken is not None
    assert broken.n == 1


@pytest.mark.parametrize("change", [{"by": "Ann Example"}, {"personal": {"name": "x"}}])
def test_a_name_written_into_a_redacted_row_shows(ledger: Ledger, change: dict[str, Any]) -> None:
    with ledger.begin() as conn:
        log_book.append(conn, "tested", "Ann Example", {"a": 1}, 5, {"name": "photo.png"})
        log_book.redact(conn, 1, by="Olive Officer", reason="order 7", now_us=6)
        conn.execute(schema.records.update().where(schema.records.c.n == 1).values(**change))
        broken = log_book.verify(conn)
    assert broken is not None
    assert (broken.n, "names somebody again" in broken.why) == (1, True)


@pytest.mark.parametrize("column", ["kind", "by", "personal", "body", "salt", "at_us", "hash", "previous"])
@pytest.mark.parametrize("rubbish", ["'{'", "''", "x'fffe'", "'5'", "'[]'", "1.5", "'" + "[" * 9999 + "'"])
def test_rubbish_in_a_column_is_found_whatever_it_is(column: str, rubbish: str) -> None:
    opened = Ledger.open("sqlite://")
    with opened.begin() as conn:
        _fill(conn, [{"a": 1}, {"a": 2}, {"a": 3}])
        conn.exec_driver_sql(f"UPDATE records SET {column} = {rubbish} WHERE n = 2")
        broken = log_book.verify(conn)
    opened.close()
    assert broken is not None
    assert broken.n == 2


def test_the_digest_of_a_name_is_salted(ledger: Ledger) -> None:
    """The same name in two rows has two digests, so that nobody finds a redacted name by trying names."""
    with ledger.begin() as conn:
        _fill(conn, [{"a": 1}, {"a": 1}])
        first, second = conn.execute(sa.select(schema.records.c.personal_digest)).scalars()
    assert first != second
