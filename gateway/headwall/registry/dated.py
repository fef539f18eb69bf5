"""What every entry of the registry is: checked whole by shape, and where it can change in force for a time."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

#: a year: no silence and no dwelling is waited for longer, and no clock could
MOST_MIN: Final = 366 * 24 * 60
#: a text that says something
Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _no_number(value: object) -> object:
    """pydantic would take a number for seconds since 1970."""
    if isinstance(value, int | float):
        raise ValueError("write a date such as 2026-03-15, or a date with a time")
    return value


#: a date means its local midnight
Moment = Annotated[datetime | date, BeforeValidator(_no_number)]


class Entry(BaseModel):
    """A table of registry.toml; a misspelt key is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Dated(Entry):
    """Something in force from an instant to (not including) another."""

    valid_from: Moment = Field(alias="from")
    valid_to: Moment | None = Field(default=None, alias="to")
