"""What fills until it is emptied: a septic tank, a sediment basin. Each filling asks once to be emptied.

It is asked when a person has measured that the code's mark is reached, or when a sensor indicates it. What a person
measures later takes the place of what a sensor has shown before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headwall.ledger.entries import Entry
from headwall.rules import notices
from headwall.rules.clauses.expected import Done, recorded
from headwall.rules.clauses.look import FOREVER_US, Look
from headwall.rules.facts import SiteSign, from_body


@dataclass(frozen=True)
class Hand:
    """What a person measured of a layer.

    Attributes:
        reached: whether the code's mark is reached by it.
        told: what was measured, in words.
    """

    at_us: int
    by: str
    reached: bool
    told: str


@dataclass(frozen=True)
class Layer:
    """Something that fills, as persons and a sensor found it.

    Attributes:
        sensed: stretches in which the sensor indicates that the mark is reached, with what it read, in words.
    """

    name: str
    hands: Sequence[Hand]
    sensed: Sequence[tuple[int, int, str]]


@dataclass(frozen=True)
class Filling:
    """From one emptying, or the beginning of the records, to the next.

    Attributes:
        until_us: far off while it goes on.
    """

    since_us: int | None
    until_us: int
    emptied: Done | None

    def occurrence(self, look: Look) -> str:
        return "first on record" if self.since_us is None else f"since {look.iso(self.since_us)}"


@dataclass
class Reached:
    """A mark that was reached in a filling.

    Attributes:
        at_us: when first.
        by_hand: a person measured it; else a sensor indicates it.
        refuted: what a person measured against it, in words.
    """

    at_us: int
    by_hand: bool
    evidence: dict[str, str | int | float] = field(default_factory=dict)
    refuted: str = ""


def fillings(emptied: Sequence[Entry]) -> Iterator[Filling]:  # type: ignore[type-arg]  # whatever emptied it
    """Every filling, in order of time."""
    for before, after in pairwise([None, *emptied, None]):
        yield Filling(
            None if before is None else before.done_us,
            FOREVER_US if after is None else after.done_us,
            recorded(after),
        )


def reached(filling: Filling, layers: Sequence[Layer]) -> Reached | None:
    """Whether and since when a mark of any layer is reached in a filling."""
    since_us = -FOREVER_US if filling.since_us is None else filling.since_us
    stands: list[tuple[int, bool, str, str]] = []
    refuted: list[tuple[int, str]] = []
    for layer in layers:
        hands = [each for each in layer.hands if since_us < each.at_us < filling.until_us]
        last = hands[-1] if hands else None
        against = "" if last is None else f"{layer.name} {last.told} by hand, by {last.by}"
        for each in hands:
            if each.reached and last is not None and last.reached:
                stands.append((each.at_us, True, f"{layer.name} by hand", f"{each.told}, by {each.by}"))
        for start_us, end_us, told in layer.sensed:
            if end_us <= since_us or start_us >= filling.until_us:
                continue
            start_us = max(start_us, since_us)
            if last is None or last.reached or start_us > last.at_us:
                stands.append((start_us, False, f"{layer.name} by the sensor", told))
            else:
                refuted.append((start_us, against))
        if last is not None and not last.reached:
            refuted += [
                (each.at_us, f"{layer.name} {last.told} by hand, by {last.by}") for each in hands if each.reached
            ]
    if stands:
        first: dict[str, str | int | float] = {}
        for _, _, name, told in sorted(stands):
            first.setdefault(name, told)
        return Reached(min(stands)[0], any(by_hand for _, by_hand, *_ in stands), first)
    return Reached(min(refuted)[0], by_hand=False, refuted=min(refuted)[1]) if refuted else None


def signs(look: Look, what: str) -> list[SiteSign]:
    """What sensors of the site have shown, as the notices have it, in order of time."""
    kind = str(SiteSign.__struct_config__.tag)
    found = (from_body(body) for _, body in notices.open_ones(look.conn, kind, look.site.id))
    return sorted((each for each in found if isinstance(each, SiteSign) and each.what == what), key=lambda e: e.span)
