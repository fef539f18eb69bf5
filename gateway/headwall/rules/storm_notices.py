"""Storms that the officer is told of in the digest without a duty: near the threshold, or at an inactive site."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headwall.ledger import log_book, schema
from headwall.rules.facts import InactiveSiteStorm, NearThreshold, from_body, to_body

StormNotice = NearThreshold | InactiveSiteStorm
_N = schema.notices.c


@dataclass(frozen=True)
class Change:
    """What became of a notice: told (anew), or taken back."""

    key: str
    fact: StormNotice
    stands: bool


def sync(
    conn: sa.Connection,
    kind: type[StormNotice],
    site: str,
    wanted: Sequence[StormNotice],
    now_us: int,
    in_scope: Callable[[StormNotice], bool],
) -> list[Change]:
    """Make the open notices of a kind at a site, as far as `in_scope`, those `wanted`; returns the changes.

    A notice keeps its key as long as its storm overlaps the one it was opened for.
    """  # fmt: skip
    tag = str(kind.__struct_config__.tag)
    held = {key: fact for key, fact in _open_notices(conn, tag, site) if in_scope(fact)}
    changes = []
    for fact in wanted:
        key = next((key for key, old in held.items() if _overlap(old, fact)), None)
        before = held.pop(key, None) if key else None
        key = key or _new_key(tag, fact)
        if before != fact:
            _store(conn, tag, site, key, fact, now_us)
            changes.append(Change(key, fact, stands=True))
    for key, fact in held.items():
        conn.execute(schema.notices.update().where(_N.key == key).values(closed_us=now_us))
        changes.append(Change(key, fact, stands=False))
    return changes


def _new_key(tag: str, fact: StormNotice) -> str:
    """Short enough for the column, however long the names are."""
    names = hashlib.sha256(f"{fact.provision}|{fact.datastream}".encode()).hexdigest()[:16]
    return f"{tag}/{fact.site}/{fact.storm.start_us}/{names}"


def _open_notices(conn: sa.Connection, tag: str, site: str) -> list[tuple[str, StormNotice]]:
    query = sa.select(_N.key, _N.body).where(_N.kind == tag, _N.subject == site, _N.closed_us.is_(None))
    found: list[tuple[str, StormNotice]] = []
    for key, body in conn.execute(query.order_by(_N.id)):
        fact = from_body(body)
        assert isinstance(fact, NearThreshold | InactiveSiteStorm)
        found.append((key, fact))
    return found


def _overlap(one: StormNotice, other: StormNotice) -> bool:
    same = (one.provision, one.datastream) == (other.provision, other.datastream)
    return same and one.storm.start_us <= other.storm.end_us and other.storm.start_us <= one.storm.end_us


def _store(conn: sa.Connection, tag: str, site: str, key: str, fact: StormNotice, now_us: int) -> None:
    values: dict[str, Any] = {"body": to_body(fact), "closed_us": None}
    if conn.execute(schema.notices.update().where(_N.key == key).values(**values)).rowcount:
        return
    conn.execute(schema.notices.insert().values(kind=tag, subject=site, key=key, opened_us=now_us, **values))
    body = {"site": site, "provision": fact.provision, "datastream": fact.datastream, "depth_in": fact.storm.depth_in}
    log_book.append(conn, tag, log_book.HEADWALL, {**body, "storm_start_us": fact.storm.start_us}, now_us)
