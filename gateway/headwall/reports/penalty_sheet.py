"""The range of penalties that a case is exposed to, for the officer alone: in no letter, and no finding of guilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from headwall.errors import InputError
from headwall.law.penalties import Exposure, Prior, exposure
from headwall.law.provisions import Penalty
from headwall.ledger import entries
from headwall.ledger.entries import Entry, Offence
from headwall.reports.matter import Matter

#: the municipality's choices that a range is worked out by
CHOICES: Final = ("penalty.repeat_of", "penalty.repeat_needs", "penalty.rounding", "penalty.daily_fine")


@dataclass(frozen=True)
class PenaltySheet:
    """What an officer needs to know of it.

    Attributes:
        others: offences of other persons in the register, that do not count.
        until: until when it is known to have gone on, and until when it may have.
        read: the choices by which it was worked out.
    """

    clause: Penalty
    cited: str
    exposure: Exposure
    others: int
    until: tuple[int, int]
    read: dict[str, str]


def penalty_sheet(matter: Matter, violator: str) -> PenaltySheet:
    """The range under the clause of the article that the case may break.

    Args:
        violator: whose offences of before count, as the register names him.

    Raises:
        InputError: the code has no penalty for what the case may break.
    """
    clause = matter.clause(Penalty)
    if clause is None:
        raise InputError(
            f"{matter.profile.code} of {matter.profile.municipality} has no penalty that goes with what case "
            f"{matter.case.id} may break; see `headwall law list`"
        )
    read = {key: str(matter.choice(key)) for key in CHOICES}
    register = entries.standing(matter.conn, Offence, matter.case.municipality)
    mine = [each for each in register if _same(each.body.violator, violator)]
    priors = [_prior(each) for each in mine if _of(matter, each, read["penalty.repeat_of"])]
    seen_us, may_us = _until(matter)
    found = exposure(
        clause,
        priors,
        matter.case.from_us,
        seen_us,
        may_us,
        matter.where,
        daily_fine=matter.choice("penalty.daily_fine"),
        rounding=matter.choice("penalty.rounding"),
        repeat_needs=matter.choice("penalty.repeat_needs"),
    )
    return PenaltySheet(clause, matter.cite(clause), found, len(register) - len(mine), (seen_us, may_us), read)


def convictions(conn: sa.Connection, municipality: str, violator: str) -> list[Entry[Offence]]:
    """The offences of a person of which somebody was convicted."""
    found = entries.standing(conn, Offence, municipality)
    return [each for each in found if _same(each.body.violator, violator) and each.body.convicted_us is not None]


def _until(matter: Matter) -> tuple[int, int]:
    """The last that was seen of it; and its abatement, else now."""
    abated = matter.step("abate")
    end_us = matter.now_us if abated is None else abated.done_us
    return min(matter.case.until_us, end_us), max(matter.case.from_us, end_us)


def _of(matter: Matter, offence: Entry[Offence], of: str) -> bool:
    """Whether it was against the same article, or the same provision where the municipality has chosen that."""
    if of == "provision":
        return matter.code.broken is not None and offence.body.provision == matter.code.broken.id
    known = {each.id: each.article for each in matter.profile.provisions}
    return known.get(offence.body.provision) == matter.article


def _prior(offence: Entry[Offence]) -> Prior:
    return Prior(offence.done_us, offence.body.convicted_us, offence.body.reference)


def _same(name: str, other: str) -> bool:
    return " ".join(name.split()).casefold() == " ".join(other.split()).casefold()
