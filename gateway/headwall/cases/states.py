"""The states of a case and the steps between them, as data. Nothing else decides which step may follow which.

A step of a person needs a name; the few that the gateway takes by itself lead to no state that a code gives to a
person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headwall.cases.kinds import SPILL

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
        needs: what has to be told with it, by name; the means of a call too.
        may_tell: what else may be told with it.
        kinds: of cases that have it; empty: all.
    """

    after: frozenset[str]
    to: str | None
    by_person: bool = True
    why: bool = False
    sets: str = ""
    may_set: tuple[str, ...] = ()
    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    may_tell: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()


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

#: how somebody was told; what was told by mouth is confirmed in writing where a code asks for it
MEANS: Final = ("in_person", "telephone", "fax", "mail", "email")
BY_MOUTH: Final = frozenset({"in_person", "telephone"})
#: instants that may lie ahead when they are told
AHEAD: Final = frozenset({"correct_by", "pay_by", "first_payment"})
#: details that name a person or reach one: they stand beside the log book's chain, so that they can be redacted
PERSONAL: Final = frozenset({"reached", "number"})
_SPILL: Final = frozenset({SPILL})
_TOLD: Final = frozenset({"contaminating_activity", "failing_system"})
_AFTER_NOTICE: Final = _after("notice_served", "in_correction", "decided")

#: a step that is entered again from the state it led to stands in the stead of the one before: its instants count
MOVES: Final = {
    "take_back": Move(_after("suspected"), "taken_back", by_person=False),
    "find_again": Move(_after("taken_back"), "suspected", by_person=False),
    "say_taken_back": Move(_ALL, None, by_person=False),  # what a person has looked at stays as it is
    "say_found_again": Move(_ALL, None, by_person=False),
    "say_present": Move(_ALL, None, by_person=False),  # what was suspected has lasted as long as it must
    "read_again": Move(_ALL, None, by_person=False),  # the code gives its clocks other instants now
    "note": Move(_ALL, None, why=True),
    "strike": Move(_ALL, None, why=True, needs=("step",)),  # a call or another such step was entered wrongly
    "call": Move(_ALL, None, needs=("to",), may_tell=("reached", "number")),
    "know": Move(_ALL, None, kinds=_SPILL),
    "classify": Move(
        _ALL,
        None,
        why=True,
        outcomes={"hazardous": (), "nonhazardous": ()},
        may_tell=("premises",),
        kinds=_SPILL,
    ),
    "confirm_written": Move(_ALL, None, sets="written", kinds=_SPILL),
    "site_record": Move(_ALL, None, sets="recorded", kinds=_SPILL),
    "review": Move(_after("suspected", "taken_back", "dismissed"), "under_review"),
    "confirm": Move(
        _after("suspected", "under_review", "confirmed"),
        "confirmed",
        why=True,
        sets="confirmed",
        may_tell=("breaks", "attributed"),
    ),
    "dismiss": Move(_after("suspected", "under_review", "confirmed"), "dismissed", why=True),
    "notify": Move(_after("confirmed", "in_correction"), "in_correction", sets="notified", kinds=_TOLD),
    "serve": Move(
        _after("confirmed", "notice_served", "in_correction"),
        "notice_served",
        sets="served",
        may_set=("issued", "dated", "correct_by"),
    ),
    "correct": Move(_after("confirmed", "notice_served", "decided", "in_correction"), "in_correction"),
    "appeal": Move(
        _after("notice_served", "in_correction", "abated", "appealed"), "appealed", sets="filed", may_set=("received",)
    ),
    "hear": Move(_after("appealed", "decided"), None, sets="heard"),
    "decide": Move(_after("appealed", "decided"), "decided", may_set=("copied",), outcomes=_DECISIONS),
    "request": Move(_AFTER_NOTICE, None, sets="requested"),
    "answer": Move(_AFTER_NOTICE, None, outcomes={"granted": (), "refused": ()}),
    "warrant": Move(_AFTER_NOTICE, None, outcomes={"sought": (), "issued": (), "denied": ()}),
    "enter": Move(_AFTER_NOTICE, None, why=True, sets="entered"),
    "abate": Move(
        _after("notice_served", "in_correction", "decided", "abated"),
        "abated",
        sets="abated",
        outcomes=_ABATERS,
    ),
    "cost": Move(_after("abated"), None, sets="cost_told", may_set=("cost_received",)),
    "protest": Move(_after("abated"), None, sets="protested"),
    "settle": Move(_after("abated"), None, why=True, sets="settled", may_set=("pay_by",)),  # the protest was decided
    "instalments": Move(_after("abated"), None, needs=("payments",), may_set=("first_payment",)),
    "pay": Move(_after("abated"), None, outcomes={"part": (), "full": ("paid",)}),
    "lien": Move(_after("abated"), None, why=True, sets="lien"),
    "close": Move(
        _after("confirmed", "notice_served", "in_correction", "decided", "abated"),
        "closed",
        why=True,
        may_tell=("leaves",),
    ),
}
