"""The provision for a report after a storm, read by the municipality's own choices for what the code leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, Literal, cast

from pydantic import BeforeValidator, Field, PrivateAttr

from headwall.errors import InputError
from headwall.law.choices import Choice, choice_on, value_on
from headwall.law.deadlines import Table
from headwall.law.localtime import HOUR_US
from headwall.law.provision import Confidence, DepthText, Provision
from headwall.units import parse_duration_us

Window = Literal["cautious", "event", "rolling24h", "day"]
ClockStart = Literal["crossing", "first", "end"]


def _duration_us(value: object) -> object:
    try:
        return parse_duration_us(value if isinstance(value, str) else repr(value))
    except InputError as error:
        raise ValueError(str(error)) from None


DurationUs = Annotated[int, BeforeValidator(_duration_us), Field(gt=0)]


class StormLimits(Table):
    """The code's own numbers."""

    depth: DepthText  # "0.5 in"
    due_us: DurationUs = Field(alias="due")  # elapsed time from the clock's start


@dataclass(frozen=True)
class StormNumbers:
    """What makes a storm a qualifying one on some day, and the clock it starts: the code's numbers and choices."""

    depth: str
    near: str  # from here on below `depth`: the officer's call
    window: Window
    mit_us: int  # the dry gap that ends a storm
    clock: ClockStart
    due_us: int


class Companion(Table):
    """Something else that is due at the same place, by another clock."""

    citation: str
    confidence: Confidence
    text: str


class StormReport(Provision):
    """A report is due after each storm of a depth. Its clock is in `storm`, since its start is chosen (A5)."""

    kind: Literal["storm_report"]
    valid_from: date = Field(alias="from")
    report_contains: list[str] = Field(min_length=1)
    companions: list[Companion] = Field(default=[], alias="companion")
    storm: StormLimits
    _choices: Sequence[Choice] = PrivateAttr(default=())  # the profile's, of the keys that storms have

    def chosen(self, choices: Sequence[Choice]) -> StormReport:
        """The same read by a municipality's choices, which stand in order of their dates."""
        found = self.model_copy()
        found._choices = tuple(each for each in choices if each.key in _KEYS)
        return found

    @property
    def changes(self) -> list[date]:
        """The days on which its numbers change while it is in force, the first one among them."""
        days = {each.valid_from for each in self._choices if self.in_force(each.valid_from)}
        return sorted({self.valid_from, *days})

    def choices_on(self, day: date) -> list[Choice]:
        """What the municipality has chosen by that day; empty: the defaults hold."""
        found = [choice_on(self._choices, key, day) for key in _KEYS]
        return sorted((each for each in found if each is not None), key=lambda each: each.valid_from)

    def storm_on(self, day: date) -> StormNumbers:
        """The numbers in force on a local day."""
        window, gap_h, clock, near, threshold_in = (value_on(self._choices, key, day) for key in _KEYS)
        depth = f"{threshold_in:f} in" if isinstance(threshold_in, Decimal) else self.storm.depth
        return StormNumbers(
            depth=depth,
            near=_part(depth, cast("int", near)),
            window=cast("Window", window),
            mit_us=int(cast("Decimal", gap_h) * HOUR_US),
            clock=cast("ClockStart", clock),
            due_us=self.storm.due_us,
        )


def _part(depth: str, percent: int) -> str:
    number, unit = depth.split()
    return f"{(Decimal(number) * percent / 100).normalize():f} {unit}"


_KEYS: Final = ("storm.window", "storm.dry_gap_h", "storm.clock_start", "storm.near_percent", "storm.threshold_in")
