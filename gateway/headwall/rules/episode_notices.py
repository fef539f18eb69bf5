"""Notices of what lasts for a while at a site and is no duty: a storm near the threshold or at an inactive site, a
suspected discharge, a sign of what sensors show. Found again, or found to be longer, an episode keeps its notice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import sqlalchemy as sa

from headwall.ledger import log_book
from headwall.rules import notices
from headwall.rules.facts import (
    InactiveSiteStorm,
    NearThreshold,
    OutsideApproval,
    SiteSign,
    SuspectedDischarge,
    to_body,
)

Episode = NearThreshold | InactiveSiteStorm | SuspectedDischarge | OutsideApproval | SiteSign
E = TypeVar("E", NearThreshold, InactiveSiteStorm, SuspectedDischarge, OutsideApproval, SiteSign)


@dataclass(frozen=True)
class Change(Generic[E]):
    """What became of a notice: told (anew), or taken back."""

    key: str
    fact: E
    stands: bool


def sync(
    conn: sa.Connection,
    kind: type[E],
    site: str,
    wanted: Sequence[E],
    now_us: int,
    in_scope: Callable[[E], bool],
    known: Sequence[tuple[str, E]] | None = None,
) -> list[Change[E]]:
    """Make the open notices of a kind at a site, as far as `in_scope`, those `wanted`; returns the changes.

    A notice keeps its key as long as its episode overlaps the one it was opened for.

    Args:
        known: the open notices of the site, where the caller has read them.
    """
    tag = str(kind.__struct_config__.tag)
    held = {key: fact for key, fact in (open_notices(conn, kind, site) if known is None else known) if in_scope(fact)}
    changes: list[Change[E]] = []
    for fact in wanted:
        key = next((key for key, old in held.items() if _overlap(old, fact)), None)
        before = held.pop(key, None) if key else None
        key = key or _new_key(tag, fact)
        if before != fact:
            if notices.put(conn, tag, site, key, to_body(fact), now_us):
                log_book.append(conn, tag, log_book.HEADWALL, {"site": site, **fact.recorded}, now_us)
            changes.append(Change(key, fact, stands=True))
    for key, fact in held.items():
        notices.close(conn, key, now_us)
        changes.append(Change(key, fact, stands=False))
    return changes


def _new_key(tag: str, fact: Episode) -> str:
    """Short enough for the column, however long the names are."""
    names = hashlib.sha256("|".join(fact.about).encode()).hexdigest()[:16]
    return f"{tag}/{fact.site}/{fact.span[0]}/{names}"


def open_notices(conn: sa.Connection, kind: type[E], site: str) -> list[tuple[str, E]]:
    """The open notices of a kind at a site with their keys, oldest first."""
    return open_at_sites(conn, kind, [site]).get(site, [])


def open_at_sites(conn: sa.Connection, kind: type[E], sites: Collection[str]) -> dict[str, list[tuple[str, E]]]:
    """The same of several sites; those without one are left out."""
    found = notices.open_of(conn, str(kind.__struct_config__.tag), sites)
    return {site: [(key, msgspec.convert(body, kind)) for key, body in rows] for site, rows in found.items()}


def _overlap(one: Episode, other: Episode) -> bool:
    return one.about == other.about and one.span[0] <= other.span[1] and other.span[0] <= one.span[1]
