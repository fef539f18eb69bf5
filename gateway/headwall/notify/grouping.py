"""Which waiting facts go into a mail now, and when the next ones will: a function of rows and instants alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwall.notify.outbox import Waiting

#: the first digest instant after a row was written, in the row's own municipality
DigestAfter = Callable[[Waiting], int]
#: facts of a mail: one of as many is some 2 MB, and servers refuse, for good, what is longer than 10
_MOST_FACTS = 400


@dataclass(frozen=True)
class Batch:
    """The facts of one mail to one person."""

    person: str
    digest: bool
    rows: tuple[Waiting, ...]


@dataclass(frozen=True)
class Plan:
    """Mails to compose now, and the instant at which more will be due (None: not before another fact)."""

    batches: list[Batch]
    next_us: int | None


def plan(
    rows: Sequence[Waiting],
    last_urgent_us: Mapping[str, int],
    now_us: int,
    group_us: int,
    digest_after: DigestAfter,
) -> Plan:
    """Group waiting rows by person.

    The first urgent fact goes at once, with all others that wait. Facts within `group_us` of that mail wait
    until the time is over and then share a mail. Digest rows wait for the digest; when one is due, all go.
    What was written in the future, before this machine's clock was set back, waits for nothing. More facts than a mail
    can carry are several mails.
    """
    batches: list[Batch] = []
    later: list[int] = []
    for (person, digest), group in _by_person(rows).items():
        if digest:
            due_us = min(digest_after(row) if row.at_us <= now_us else now_us for row in group)
        else:
            last_us = last_urgent_us.get(person)
            due_us = now_us if last_us is None or last_us > now_us else last_us + group_us
        if due_us <= now_us:
            parts = (group[first : first + _MOST_FACTS] for first in range(0, len(group), _MOST_FACTS))
            batches += [Batch(person, digest, tuple(part)) for part in parts]
        else:
            later.append(due_us)
    return Plan(batches, min(later, default=None))


def settled(
    rows: Sequence[Waiting], now_us: int, late_after_us: int, settle_us: int
) -> tuple[list[Waiting], int | None]:
    """Rows that may go now, and when the first of the others may (None: no others).

    A duty that is learned late comes out of a board's backlog, whose rest is seconds behind: told at once, it would
    speak of missing data that is just arriving. Notices to the same person wait with it; a duty learned in time
    waits for nothing.
    """
    ready, later = [], []
    for group in _by_person(rows).values():
        settles = {row.id: _settles_us(row, late_after_us, settle_us) if row.at_us <= now_us else 0 for row in group}
        unsettled = [instant for instant in settles.values() if instant > now_us]
        timely = any(_is_duty(row) and settles[row.id] <= now_us for row in group)
        held = [row for row in group if settles[row.id] > now_us or (unsettled and not timely)]
        ready += [row for row in group if row not in held]
        later += unsettled
    return ready, min(later, default=None)


def _settles_us(row: Waiting, late_after_us: int, settle_us: int) -> int:
    """When no more of the backlog that a late duty came from is to be waited for; 0 for everything else."""
    if not _is_duty(row):
        return 0
    learned_us: int = row.body.get("learned_us", 0)  # a row that is no fact fails when it is composed, not here
    late = learned_us - row.body.get("crossing_us", learned_us) > late_after_us
    return learned_us + settle_us if late else 0


def _is_duty(row: Waiting) -> bool:
    return row.body.get("type") == "storm_duty"  # the tag of rules.facts.StormDuty


def _by_person(rows: Sequence[Waiting]) -> dict[tuple[str, bool], list[Waiting]]:
    groups: dict[tuple[str, bool], list[Waiting]] = defaultdict(list)
    for row in rows:
        groups[row.person, row.how == "digest"].append(row)
    return groups
