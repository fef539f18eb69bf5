"""The municipality's own choices for what its code leaves open: each from a date on, by a person, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pydantic import Field, model_validator

from headwall.law.ambiguities import Value, Written, settings
from headwall.law.deadlines import Table


class Choice(Table):
    """One key read in one way from a date on, until a later choice of the key."""

    key: str
    value: Written
    valid_from: date = Field(alias="from")
    by: str = Field(pattern=r"\S")  # name and office of who decided
    reason: str = ""

    @property
    def written(self) -> str:
        """The value as a person types it."""
        return typed(self.value)

    @model_validator(mode="after")
    def _can_be_taken(self) -> Choice:
        if self.key not in settings():
            raise ValueError(f"there is no key {self.key!r}; known are {', '.join(settings())}")
        settings()[self.key].read(self.value)
        return self


def choice_on(choices: Sequence[Choice], key: str, day: date) -> Choice | None:
    """The choice of a key that is in force on a local day; None: the default holds.

    Args:
        choices: by their dates; of two of one date the last counts.
    """
    return next((each for each in reversed(choices) if each.key == key and each.valid_from <= day), None)


def value_on(choices: Sequence[Choice], key: str, day: date) -> Value:
    """The value of a key in force on a local day; KeyError for a key that no question has."""
    setting, choice = settings()[key], choice_on(choices, key, day)
    return setting.read(setting.default if choice is None else choice.value)


def typed(value: Written) -> str:
    """Something written in a profile, as a person types it on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def in_order(choices: Sequence[Choice]) -> list[Choice]:
    """By their dates; of one date in the order given."""
    return sorted(choices, key=lambda each: each.valid_from)
