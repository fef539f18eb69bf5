"""The codes as they are in force at this gateway: the profiles, with what persons have entered of them.

How a municipality reads what its code leaves open, and the numbers of the State's permits, are decided by named
persons: rows of the log book, laid over the profiles from their dates on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

import sqlalchemy as sa
import structlog
from pydantic import ValidationError

from headwall.errors import ConfigurationError, InputError
from headwall.law.choices import Choice
from headwall.law.profile import Profile, load_profile
from headwall.law.state_permit import StatePermit, parse_permit
from headwall.ledger import log_book, schema
from headwall.registry import Registry

log = structlog.get_logger("codes")
CHOICE: Final = "choice_made"
PERMIT: Final = "state_permit_entered"
_KINDS: Final = (CHOICE, PERMIT)
#: a redaction too: it takes the name of who decided out of what is kept
_READ: Final = (*_KINDS, log_book.REDACTION)
_NEWEST: Final = sa.select(sa.func.max(schema.records.c.n)).where(schema.records.c.kind.in_(_READ))


@dataclass(frozen=True)
class Decided:
    """What a person has entered of a code.

    Attributes:
        n: of its row in the log book.
        since: the local day from which it holds.
    """

    n: int
    municipality: str
    since: date
    what: Choice | StatePermit

    @property
    def told(self) -> str:
        """In a line, with who decided it."""
        if isinstance(self.what, Choice):
            return f"{self.what.by} has chosen {self.what.written} for {self.what.key} from {self.since} on"
        return f"{self.what.entered_by} has entered the State's permit {self.what.permit}, from {self.since} on"


def choose(conn: sa.Connection, profile: Profile, choice: Choice, now_us: int) -> None:
    """A named person decides how the municipality reads a question from a date on."""
    body = {"municipality": profile.municipality, "key": choice.key, "value": choice.value}
    body |= {"from": choice.valid_from.isoformat(), "reason": choice.reason}
    log_book.append(conn, CHOICE, choice.by, body, now_us)


def enter_permit(conn: sa.Connection, profile: Profile, text: str, source: str, by: str, now_us: int) -> StatePermit:
    """A named person enters the numbers of a permit of the State from its text in force.

    Args:
        text: TOML, as docs/templates/state-permit.toml has it; the log book keeps it whole.

    Raises:
        ConfigurationError: with every fault of the text.
        InputError: one of its provisions has the id of another that stays in force beside it.
    """
    permit = parse_permit(text, source)
    try:
        profile.chosen(permits=[permit])
    except ValueError as error:
        raise InputError(f"{source} cannot be entered: {error}") from None
    body = {"municipality": profile.municipality, "permit": permit.permit, "program": permit.program}
    body |= {"from": permit.valid_from.isoformat(), "text": text}
    log_book.append(conn, PERMIT, by, body, now_us)
    return permit


def decided(conn: sa.Connection, profile: Profile) -> list[Decided]:
    """What persons have entered of a code, in the order in which they did. What can no longer be read is left out."""
    return [each for each in _decided(conn) if each.municipality == profile.municipality]


def in_force(conn: sa.Connection, profiles: Mapping[str, Profile]) -> dict[str, Profile]:
    """The profiles with what persons have entered of them, which those that have it already keep."""
    entered = list(_decided(conn))
    found = {}
    for name, profile in profiles.items():
        own = [each.what for each in entered if each.municipality == profile.municipality]
        choices = [each for each in own if isinstance(each, Choice) and each not in profile.choices]
        permits = [each for each in own if isinstance(each, StatePermit)]
        found[name] = profile.chosen(choices, permits) if own else profile
    return found


def at_gateway(conn: sa.Connection, registry: Registry) -> dict[str, Profile]:
    """The codes of the registry's municipalities, by the names of their profiles."""
    return in_force(conn, {each.profile: load_profile(each.profile) for each in registry.municipalities})


def code_of(conn: sa.Connection, registry: Registry, municipality: str) -> Profile:
    """The code of one municipality."""
    name = registry.municipality(municipality).profile
    return in_force(conn, {name: load_profile(name)})[name]


class Codes(Mapping[str, Profile]):
    """Profiles that follow what persons enter, for those who keep them long."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._shipped = profiles
        self._now: Mapping[str, Profile] = profiles
        self._newest = -1

    def __getitem__(self, name: str) -> Profile:
        return self._now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)

    def follow(self, conn: sa.Connection) -> int | None:
        """Take in what is new; the number of the newest row, or None where there is nothing new."""
        newest = conn.execute(_NEWEST).scalar() or 0
        if newest == self._newest:
            return None
        self._now, self._newest = in_force(conn, self._shipped), newest
        return newest

    def forget(self) -> None:
        """Let the next `follow` take in everything: what was done with the last was rolled back."""
        self._newest = -1

    def since(self, conn: sa.Connection, n: int) -> list[Decided]:
        """What was entered of these codes after a row of the log book."""
        towns = {each.municipality for each in self._shipped.values()}
        return [each for each in _decided(conn) if each.n > n and each.municipality in towns]


def _decided(conn: sa.Connection) -> Iterator[Decided]:
    for row in log_book.rows(conn, _KINDS):
        try:
            what = _choice(row) if row.kind == CHOICE else _permit(row)
        except (ValidationError, ConfigurationError) as error:
            log.warning("entered for a key or kind that there is no more; left out", row=row.n, why=str(error))
            continue
        yield Decided(row.n, row.body["municipality"], what.valid_from, what)


def _choice(row: log_book.Row) -> Choice:
    body = row.body
    return Choice.model_validate(
        {"key": body["key"], "value": body["value"], "from": body["from"], "by": row.by, "reason": body["reason"]}
    )


def _permit(row: log_book.Row) -> StatePermit:
    permit = parse_permit(row.body["text"], f"row {row.n} of the log book")
    return permit.model_copy(update={"entered_by": row.by, "entered_us": row.at_us})
