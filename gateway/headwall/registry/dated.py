"""What every entry of the registry is: checked whole by shape, and where it can change in force for a time."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: a year: no silence and no dwelling is waited for longer, and no clock could
MOST_MIN: Final = 366 * 24 * 60
#: a text that says something
Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Entry(BaseModel):
    """A table of registry.toml; a misspelt key is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Dated(Entry):
    """Something in force from an instant to (not including) another."""

    valid_from: datetime | date = Field(alias="from")
    valid_to: datetime | date | None = Field(default=None, alias="to")
