"""Which waiting facts go into a mail now, and when the next ones will: a function of rows and instants alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwall.notify.outbox import Waiting

#: the first digest instant after a row was written, in the row's own municipality
DigestAfter = Callable[[Waiting], int]


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
    """
    batches, later = [], []
    for (person, digest), group in _by_person(rows).items():
        if digest:
            due_us = min(digest_after(row) for row in group)
        else:
            due_us = last_urgent_us[person] + group_us if person in last_urgent_us else now_us
        if due_us <= now_us:
            batches.append(Batch(person, digest, tuple(group)))
        else:
            later.append(due_us)
    return Plan(batches, min(later, default=None))


def _by_person(rows: Sequence[Waiting]) -> dict[tuple[str, bool], list[Waiting]]:
    groups: dict[tuple[str, bool], list[Waiting]] = defaultdict(list)
    for row in rows:
        groups[row.person, row.how == "digest"].append(row)
    return groups
