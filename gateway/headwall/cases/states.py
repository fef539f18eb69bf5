"""The states of a case and the steps between them, as data. Nothing else decides which step may follow which.

A step of a person needs a name; the few that the gateway takes by itself lead to no state that a code gives to a
person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

#: state → in words
STATES: Final = {
    "suspected": "suspected, nobody has judged it yet",
    "taken_back": "suspicion taken back by later data before anybody looked at it",
    "under_review": "under review",
    "confirmed": "confirmed",
    "dismissed": "dismissed",
    "notice_served": "notice of violation served",
    "in_correction": "in correction",
    "appealed": "appealed",
    "decided": "appeal decided",
    "abated": "abated",
    "closed": "closed",
}
#: the states that the gateway may bring about by itself; every other one is a named person's doing
WITHOUT_A_PERSON: Final = frozenset({"suspected", "taken_back"})
#: nothing more is waited for
ENDED: Final = frozenset({"taken_back", "dismissed", "closed"})
_ALL: Final = frozenset(STATES)


@dataclass(frozen=True)
class Move:
    """A step.

    Attributes:
        after: states from which it may be taken.
        to: the state that it leads to; None: the case stays where it is.
        by_person: whether a person takes it; else the gateway alone does.
        why: whether it needs a reason.
        sets: the instant that it sets by when it was done, by the name under which clocks know it.
        may_set: further instants that can be told with it.
        outcomes: one of these has to be told, and the instants that it sets; empty: it has none.
    """

    after: frozenset[str]
    to: str | None
    by_person: bool = True
    why: bool = False
    sets: str = ""
    may_set: tuple[str, ...] = ()
    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _after(*states: str) -> frozenset[str]:
    return frozenset(states)


SET_ASIDE: Final = "set_aside"
BY_MUNICIPALITY: Final = "municipality"
#: what became of an appeal; one that leaves something to correct upholds, in whole or in part
_DECISIONS: Final = {
    "upheld": ("decided", "upheld"),
    "changed": ("decided", "upheld"),
    SET_ASIDE: ("decided",),
    "withdrawn": ("withdrawn",),
}
#: who abated
_ABATERS: Final = {"owner": (), BY_MUNICIPALITY: ("abated_at_cost",)}

#: a step that is entered again from the state it led to stands in the stead of the one before: its instants count
MOVES: Final = {
    "take_back": Move(_after("suspected"), "taken_back", by_person=False),
    "find_again": Move(_after("taken_back"), "suspected", by_person=False),
    "say_taken_back": Move(_ALL, None, by_person=False),  # what a person has looked at stays as it is
    "say_found_again": Move(_ALL, None, by_person=False),
    "note": Move(_ALL, None, why=True),
    "review": Move(_after("suspected", "taken_back", "dismissed"), "under_review"),
    "confirm": Move(_after("suspected", "under_review", "confirmed"), "confirmed", why=True, sets="confirmed"),
    "dismiss": Move(_after("suspected", "under_review", "confirmed"), "dismissed", why=True),
    "serve": Move(
        _after("confirmed", "notice_served", "in_correction"),
        "notice_served",
        sets="served",
        may_set=("issued", "dated", "correct_by"),
    ),
    "correct": Move(_after("notice_served", "decided", "in_correction"), "in_correction"),
    "appeal": Move(
        _after("notice_served", "in_correction", "abated", "appealed"), "appealed", sets="filed", may_set=("received",)
    ),
    "hear": Move(_after("appealed"), None, sets="heard"),
    "decide": Move(_after("appealed", "decided"), "decided", may_set=("copied",), outcomes=_DECISIONS),
    "abate": Move(
        _after("notice_served", "in_correction", "decided", "abated"),
        "abated",
        sets="abated",
        outcomes=_ABATERS,
    ),
    "cost": Move(_after("abated"), None, sets="cost_told", may_set=("cost_received",)),
    "protest": Move(_after("abated"), None, sets="protested"),
    "close": Move(_after("confirmed", "notice_served", "in_correction", "decided", "abated"), "closed", why=True),
}
