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


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open("sqlite://")
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
