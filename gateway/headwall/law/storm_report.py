"""The provision for a report after a storm, with the municipality's own choices for what the code leaves open."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from headwall.errors import InputError
from headwall.law.deadlines import Table
from headwall.law.provision import Confidence, DepthText, Provision
from headwall.units import parse_depth, parse_duration_us

Window = Literal["cautious", "event", "rolling24h", "day"]
ClockStart = Literal["crossing", "first", "end"]


def _duration_us(value: object) -> object:
    try:
        return parse_duration_us(value if isinstance(value, str) else repr(value))
    except InputError as error:
        raise ValueError(str(error)) from None


DurationUs = Annotated[int, BeforeValidator(_duration_us), Field(gt=0)]


class StormNumbers(Table):
    """What makes a storm a qualifying one, and the clock it starts."""

    depth: DepthText  # "0.5 in"
    near: DepthText  # from here on below `depth`: the officer's call
    window: Window
    mit_us: DurationUs = Field(alias="mit")
    clock: ClockStart
    due_us: DurationUs = Field(alias="due")  # elapsed time from the clock's start


class Choice(Table):
    """The municipality's own reading of an open question, from a date on; what it leaves out stays as it was."""

    valid_from: date = Field(alias="from")
    by: str = Field(min_length=1)  # name and office of who decided
    reason: str = ""
    depth: DepthText | None = None
    near: DepthText | None = None
    window: Window | None = None
    mit_us: DurationUs | None = Field(default=None, alias="mit")
    clock: ClockStart | None = None


class Companion(Table):
    """Something else that is due at the same place, by another clock."""

    citation: str
    confidence: Confidence
    text: str


class StormReport(Provision):
    """A report is due after each storm of a depth. Its clocks are in `storm`, since its start is chosen there."""

    kind: Literal["storm_report"]
    valid_from: date = Field(alias="from")
    report_contains: list[str] = Field(min_length=1)
    companions: list[Companion] = Field(default=[], alias="companion")
    storm: StormNumbers
    choices: list[Choice] = Field(default=[], alias="choice")

    @model_validator(mode="after")
    def _choices_hold_together(self) -> StormReport:
        dates = [choice.valid_from for choice in self.choices]
        if dates != sorted(set(dates)):
            raise ValueError("choices must stand in order of their dates, one a date")
        for numbers in (self.storm, *map(self.storm_on, dates)):
            if parse_depth(numbers.near) >= parse_depth(numbers.depth):
                raise ValueError(f"near {numbers.near} is not below depth {numbers.depth}")
        return self

    def choice_on(self, day: date) -> Choice | None:
        """The latest choice of the municipality made by that day, or None: then the defaults hold."""
        return next((choice for choice in reversed(self.choices) if choice.valid_from <= day), None)

    def storm_on(self, day: date) -> StormNumbers:
        """The numbers in force on a local day: the defaults, with every choice made by then laid over them."""
        numbers = self.storm
        for choice in self.choices:
            if choice.valid_from <= day:
                made = {key: value for key in _CHOOSABLE if (value := getattr(choice, key)) is not None}
                numbers = numbers.model_copy(update=made)
        return numbers


_CHOOSABLE: Final = ("depth", "near", "window", "mit_us", "clock")
