"""What waits although its mail could go: for the morning, for the end of a storm, or for the digest since it flaps.

Each is a function of the waiting rows, of what was mailed before, and of an instant. Nothing is lost: what waits goes
with a later mail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, time, timedelta, tzinfo
from typing import Final

from headwall.law import localtime
from headwall.notify.outbox import Waiting

#: rows that may go now, and when the first of the others may (None: no others)
Held = tuple[list[Waiting], int | None]

#: kinds of facts that can wait until the morning where they say no due time; a kind that is not named here cannot
CAN_WAIT: Final = frozenset({"gauge_silent", "inactive_site_storm", "node_fault"})
#: kinds that are opened and closed as readings come and go
FLAPS: Final = frozenset({"gauge_silent", "node_fault"})
_STORM: Final = "storm_duty"
_GATEWAY: Final = "gateway"


def pressing(row: Waiting, now_us: int, urgent_us: int) -> bool:
    """Whether a row cannot wait until the morning: it is due soon or was due, or is of a kind that never waits."""
    due_us = row.body.get("due_us")
    if due_us is not None:
        return bool(due_us - now_us < urgent_us)
    return row.kind not in CAN_WAIT or row.body.get("node") == _GATEWAY


def _pressing_from_us(row: Waiting, urgent_us: int) -> int | None:
    """When a row that can wait cannot any longer; None: it always can."""
    due_us = row.body.get("due_us")
    return None if due_us is None else due_us - urgent_us + 1


def hold_at_night(rows: Sequence[Waiting], now_us: int, urgent_us: int, quiet_until: Callable[[Waiting], int]) -> Held:
    """What can wait does so while it is quiet where it happened, unless its reader is written to anyway.

    The digest has a time of its own.
    """
    woken = {row.person for row in rows if row.how != "digest" and pressing(row, now_us, urgent_us)}
    held = {
        row.id: min(until_us, _pressing_from_us(row, urgent_us) or until_us)
        for row in rows
        if row.how != "digest" and row.person not in woken and (until_us := quiet_until(row)) > now_us
    }
    return [row for row in rows if row.id not in held], min(held.values(), default=None)


def quiet_until(now_us: int, span: tuple[str, str] | None, zone: tzinfo) -> int:
    """When the quiet hours end that an instant lies in; the instant itself where it lies in none."""
    if span is None:
        return now_us
    day = localtime.day_of(now_us, zone)
    for begin in (day - timedelta(days=1), day):
        start_us = localtime.time_of_day_us(begin, time.fromisoformat(span[0]), zone)
        end_us = localtime.time_of_day_us(_end_day(begin, span), time.fromisoformat(span[1]), zone)
        if start_us <= now_us < end_us:
            return end_us
    return now_us


def _end_day(begin: date, span: tuple[str, str]) -> date:
    return begin if span[0] < span[1] else begin + timedelta(days=1)


def hold_for_storm(
    rows: Sequence[Waiting],
    mailed_us: Mapping[str, Sequence[int]],
    now_us: int,
    *,
    most: int,
    apart_us: int,
    before_due_us: int,
) -> Held:
    """After so many mails to a person about a storm, what comes of it waits for one more that tells all the rest.

    That mail goes when it has been dry for a while at every gauge that it tells of, or some time before the first of it
    is due. A storm is told from the one before by the dry time between them.

    Args:
        mailed_us: when mails about storms went to each person at once, not in the digest.
    """
    ready: list[Waiting] = []
    later: list[int] = []
    groups: dict[str, list[Waiting]] = defaultdict(list)
    for row in rows:
        (groups[row.person] if row.kind == _STORM and row.how != "digest" else ready).append(row)
    for person, group in groups.items():
        bodies = [row.body for row in group]
        begins_us = min(_storm(body, "start_us") for body in bodies) - apart_us
        over_us = max(_storm(body, "end_us") for body in bodies) + apart_us
        until_us = min(over_us, min(body.get("due_us", 0) for body in bodies) - before_due_us)
        many = sum(begins_us <= each <= now_us for each in mailed_us.get(person, ())) >= most
        if many and until_us > now_us:
            later.append(until_us)
        else:
            ready += group
    return sorted(ready, key=lambda row: row.id), min(later, default=None)


def first_rain_us(rows: Sequence[Waiting], now_us: int) -> int:
    """When the first of the storms began that rows tell of; the instant where they tell of none."""
    return min((_storm(row.body, "start_us") for row in rows if row.kind == _STORM), default=now_us)


def _storm(body: Mapping[str, object], name: str) -> int:
    storm = body.get("storm")
    found = storm.get(name) if isinstance(storm, dict) else None
    return found if isinstance(found, int) else 0  # a row that is no fact fails when it is composed, not here


def matter(fact: str) -> str:
    """What a notice shares with the same one that came before: its key without the instant at the end."""
    return fact.rpartition("/")[0]


def by_matter(written: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], list[int]]:
    """When the rows of a person about a matter were written, from person, key and instant of each."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for person, fact, at_us in written:
        found[person, matter(fact)].append(at_us)
    return found


def calmed(rows: Sequence[Waiting], told_us: Mapping[tuple[str, str], Sequence[int]], flap_us: int) -> list[Waiting]:
    """Notices that flap go into the digest: the same was told to the same person a short while before it came again.

    Args:
        told_us: when rows of a person and matter were written, waiting ones too.
    """
    return [replace(row, how="digest") if _flaps(row, told_us, flap_us) else row for row in rows]


def _flaps(row: Waiting, told_us: Mapping[tuple[str, str], Sequence[int]], flap_us: int) -> bool:
    before = (row.at_us - each for each in told_us.get((row.person, matter(row.fact)), ()))
    return row.how != "digest" and row.kind in FLAPS and any(0 < ago_us <= flap_us for ago_us in before)


def newest(rows: Sequence[Waiting]) -> list[Waiting]:
    """Rows without those of a notice that flaps and came again later."""
    last = {matter(row.fact): row.id for row in rows if row.kind in FLAPS}
    return [row for row in rows if row.kind not in FLAPS or last[matter(row.fact)] == row.id]


def times(rows: Sequence[Waiting], row: Waiting) -> int:
    """How often rows have what a row tells, where it is of a kind that flaps; else once."""
    if row.kind not in FLAPS:
        return 1
    return sum((each.kind, matter(each.fact)) == (row.kind, matter(row.fact)) for each in rows)
