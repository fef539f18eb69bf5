"""What a sensor's suspicion does to cases: opens one, follows it while it grows, and says so when it is taken back."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from headwall.cases import steps
from headwall.cases.kinds import kind_of
from headwall.cases.states import WITHOUT_A_PERSON
from headwall.errors import InputError
from headwall.ledger import cases, log_book

_TAKEN_BACK: Final = ("take_back", "say_taken_back")
#: what the gateway says of a suspicion as readings come
_SAID: Final = (*_TAKEN_BACK, "find_again", "say_found_again", "say_present")


def follow(
    conn: sa.Connection,
    key: str,
    *,
    kind: str,
    municipality: str,
    site: str,
    span: tuple[int, int],
    stands: bool,
    historical: bool,
    now_us: int,
    provision: str = "",
) -> None:
    """A notice was opened, has changed, or was taken back: one case an episode, also where it gets another notice.

    Args:
        key: of the notice.
        kind: of the case, of those that readings may propose.
        span: of the episode.
        historical: it was learned long after it ended.
        provision: the clause that it may break, where the rule knows; else the most fitting of the kind.
    """
    if not kind_of(kind).by_readings:
        raise InputError(f"readings propose no case of kind {kind}: a named person opens it")
    case = cases.of_notice(conn, key)
    if not stands:
        if case is not None:
            _take_back(conn, case, now_us)
        return
    case = case or cases.without_notice(conn, kind, site, *span)
    if case is None:
        steps.opened(
            conn,
            kind=kind,
            provision=provision,
            municipality=municipality,
            site=site,
            notice=key,
            historical=historical,
            span=span,
            now_us=now_us,
        )
        return
    named = case.provision if _looked_at(case) else provision
    cases.update(conn, case.id, notice=key, provision=named, from_us=span[0], until_us=span[1])
    if case.state == "taken_back":
        steps.by_gateway(conn, case, "find_again", note="the readings show it again", now_us=now_us)
    elif case.notice is None or is_taken_back(case):
        steps.by_gateway(conn, case, "say_found_again", note="the readings show it", now_us=now_us)


def is_taken_back(case: cases.Case) -> bool:
    """Whether the readings, as they are known now, show what the case came from no more."""
    said = [step.action for step in case.steps if step.action in _SAID]
    return bool(said) and said[-1] in _TAKEN_BACK


def _take_back(conn: sa.Connection, case: cases.Case, now_us: int) -> None:
    """A case that a person has touched stays as it is: what it says further is a person's judgement."""
    action = "say_taken_back" if _looked_at(case) else "take_back"
    note = "readings or approvals that came later explain it"
    steps.by_gateway(conn, case, action, note=note, now_us=now_us)


def _looked_at(case: cases.Case) -> bool:
    return case.state not in WITHOUT_A_PERSON or any(step.by != log_book.HEADWALL for step in case.steps)
