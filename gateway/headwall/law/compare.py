"""What two codes have otherwise: provisions of one kind set side by side, by what they decide."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from headwall.law.profile import Profile
from headwall.law.provision import Provision
from headwall.law.words import matter_rows

#: kinds that are shown and never judged: their texts differ in words alone
_SHOWN = frozenset({"information", "nuisance"})


@dataclass(frozen=True)
class Difference:
    """One thing that two codes have otherwise; an empty side has nothing of it."""

    kind: str
    what: str
    first: str
    second: str


def differences(first: Profile, second: Profile) -> list[Difference]:
    """Kind by kind; equal ones are left out. Of several of a kind those of like-named articles are set side by side."""
    sides = _by_kind(first), _by_kind(second)
    found: list[Difference] = []
    for kind in dict.fromkeys([*sides[0], *sides[1]]):
        for one, other in _pairs(sides[0].get(kind, []), sides[1].get(kind, [])):
            found += _between(kind, one, other)
    return found


def _by_kind(profile: Profile) -> dict[str, list[Provision]]:
    found: dict[str, list[Provision]] = defaultdict(list)
    for provision in profile.provisions:
        if provision.kind not in _SHOWN:
            found[provision.kind].append(provision)
    return found


def _pairs(first: list[Provision], second: list[Provision]) -> list[tuple[Provision | None, Provision | None]]:
    left, right = list(first), list(second)
    pairs: list[tuple[Provision | None, Provision | None]] = []
    for one in first:
        other = next((each for each in right if each.article == one.article), None)
        if other is not None:
            pairs.append((one, other))
            left.remove(one)
            right.remove(other)
    while left or right:
        pairs.append((left.pop(0) if left else None, right.pop(0) if right else None))
    return pairs


def _between(kind: str, one: Provision | None, other: Provision | None) -> list[Difference]:
    if one is None or other is None:
        told = [f"{each.citation}: {each.subject}" if each else "" for each in (one, other)]
        return [Difference(kind, "the whole", *told)]
    rows = dict(matter_rows(one)), dict(matter_rows(other))
    found = [
        Difference(kind, label, *_apart(rows[0].get(label, ""), rows[1].get(label, "")))
        for label in dict.fromkeys([*rows[0], *rows[1]])
        if label != "Record" and rows[0].get(label) != rows[1].get(label)
    ]
    where = Difference(kind, "Citation", one.citation, other.citation)
    return [where, *found] if found else []


def _apart(first: str, second: str) -> tuple[str, str]:
    """Both texts without the parts that they share."""
    parts = first.split("; "), second.split("; ")
    kept = [[part for part in parts[n] if part not in parts[1 - n]] for n in (0, 1)]
    return "; ".join(kept[0]), "; ".join(kept[1])
