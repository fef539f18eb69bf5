"""A permit of the State beside a code, with its numbers as a person has entered them from the text in force.

Its provisions have the form of a code's own, so that the same rules judge them. None comes with headwall: permits are
issued anew under other numbers, and what counts is the one in force (A21, A62).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from datetime import date
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from headwall.errors import ConfigurationError
from headwall.law.deadlines import Table
from headwall.law.provisions import AnyProvision


class StatePermit(Table):
    """One permit, or the same one renewed: it replaces what was entered of its program, from its date on."""

    program: Literal["construction", "ms4"]
    permit: str = Field(min_length=1)  # its number and title, as printed
    source: str = Field(min_length=1)  # where the text in force was read
    valid_from: date = Field(alias="from")
    valid_to: date | None = Field(default=None, alias="to")
    provisions: list[AnyProvision] = Field(alias="provision", min_length=1)
    entered_by: str = ""
    entered_us: int = 0

    @model_validator(mode="before")
    @classmethod
    def _dates_its_provisions(cls, data: Any) -> Any:
        """What the permit says of itself holds for each of its provisions."""
        if not isinstance(data, dict) or not isinstance(data.get("provision"), list):
            return data
        own = {key: data[key] for key in ("from", "to") if key in data} | {"stands_in": data.get("permit", "")}
        return {**data, "provision": [own | each if isinstance(each, dict) else each for each in data["provision"]]}

    @model_validator(mode="after")
    def _answers_no_row_of_a_code(self) -> StatePermit:
        wrong = [each.id for each in self.provisions if each.covers or each.article]
        if wrong:
            raise ValueError(f"covers and article are of a code's own provisions: {', '.join(wrong)}")
        return self

    def in_force(self, day: date) -> bool:
        return self.valid_from <= day and (self.valid_to is None or day < self.valid_to)


def parse_permit(text: str, source: str) -> StatePermit:
    """A permit from the text of its file; ConfigurationError with every fault found."""
    try:
        return StatePermit.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(source, [f"not TOML: {error}"]) from None
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise ConfigurationError(source, faults) from None


def in_turn(permits: Iterable[StatePermit]) -> list[StatePermit]:
    """Each until the next one of its program begins; of two with one date the later entered alone."""
    by_start = {(each.program, each.valid_from): each for each in permits}
    found = []
    for program, start in sorted(by_start):
        later = [day for other, day in by_start if other == program and day > start]
        found.append(_until(by_start[program, start], min(later, default=None)))
    return found


def _until(permit: StatePermit, end: date | None) -> StatePermit:
    """The permit and its provisions ended by a day, if they do not end before."""
    if end is None:
        return permit
    ended = [each.model_copy(update={"valid_to": _earlier(each.valid_to, end)}) for each in permit.provisions]
    return permit.model_copy(update={"valid_to": _earlier(permit.valid_to, end), "provisions": ended})


def _earlier(one: date | None, other: date) -> date:
    return other if one is None else min(one, other)
