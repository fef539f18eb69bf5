"""Profiles: the provisions of a municipality's code as data, with their numbers, citations and doubts.

A rule holds no number and no citation of its own: it asks a provision. What the code leaves open stands in the
provision as a default; the municipality's own choice replaces it from its date on, with the name of who made it.
"""

from __future__ import annotations

import re
import tomllib
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from headwall.errors import ConfigurationError, InputError
from headwall.units import parse_depth, parse_duration_us

Confidence = Literal["P", "X", "S", "C"]
Window = Literal["cautious", "event", "rolling24h", "day"]
ClockStart = Literal["crossing", "first", "end"]

#: how sure a citation's section number is, in words for whoever reads it
CONFIDENCE_TEXT: Final[dict[Confidence, str]] = {
    "P": "section number as printed in the code",
    "X": "section number inferred from a cross-reference in the code",
    "S": "section number inferred by counting sections; check it against the code before printing it",
    "C": "section number not confirmed",
}

_DEPTH_TEXT = r"^\d{1,3}(\.\d{1,4})? (in|mm)$"


def _duration_us(value: object) -> object:
    try:
        return parse_duration_us(value if isinstance(value, str) else repr(value))
    except InputError as error:
        raise ValueError(str(error)) from None


DurationUs = Annotated[int, BeforeValidator(_duration_us), Field(gt=0)]
#: a depth as written in the code; `units.parse_depth` reads it
DepthText = Annotated[str, Field(pattern=_DEPTH_TEXT)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class StormNumbers(_Table):
    """What makes a storm a qualifying one, and the clock it starts."""

    depth: DepthText  # "0.5 in"
    near: DepthText  # from here on below `depth`: the officer's call
    window: Window
    mit_us: DurationUs = Field(alias="mit")
    clock: ClockStart
    due_us: DurationUs = Field(alias="due")  # elapsed time from the clock's start


class Choice(_Table):
    """The municipality's own reading of an open question, from a date on; what it leaves out stays as it was."""

    valid_from: date = Field(alias="from")
    by: str = Field(min_length=1)  # name and office of who decided
    reason: str = ""
    depth: DepthText | None = None
    near: DepthText | None = None
    window: Window | None = None
    mit_us: DurationUs | None = Field(default=None, alias="mit")
    clock: ClockStart | None = None


class Companion(_Table):
    """Something else that is due at the same place, by another clock."""

    citation: str
    confidence: Confidence
    text: str


class Provision(_Table):
    """One clause of a code with what a machine needs of it. Dates are local; `valid_to` is exclusive."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    kind: Literal["storm_report"]
    citation: str
    confidence: Confidence
    subject: str
    requirement: str = Field(min_length=1)  # what is to be done, by when, delivered to whom; not the code's own words
    valid_from: date = Field(alias="from")
    valid_to: date | None = Field(default=None, alias="to")
    enacted_by: str
    owed_by: str
    owed_to: str
    copied_to: list[str] = []
    report_contains: list[str] = Field(min_length=1)
    companions: list[Companion] = Field(default=[], alias="companion")
    ambiguities: list[str] = []
    storm: StormNumbers
    choices: list[Choice] = Field(default=[], alias="choice")

    @model_validator(mode="after")
    def _holds_together(self) -> Provision:
        if self.valid_to is not None and self.valid_to <= self.valid_from:
            raise ValueError(f"{self.id}: to {self.valid_to} is not after from {self.valid_from}")
        dates = [choice.valid_from for choice in self.choices]
        if dates != sorted(set(dates)):
            raise ValueError(f"{self.id}: choices must stand in order of their dates, one a date")
        for numbers in (self.storm, *map(self.storm_on, dates)):
            if parse_depth(numbers.near) >= parse_depth(numbers.depth):
                raise ValueError(f"{self.id}: near {numbers.near} is not below depth {numbers.depth}")
        return self

    @property
    def confidence_text(self) -> str:
        return CONFIDENCE_TEXT[self.confidence]

    def in_force(self, day: date) -> bool:
        return self.valid_from <= day and (self.valid_to is None or day < self.valid_to)

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


class StatePermitLayer(_Table):
    """The State construction permit beside the code: nothing until a person enters it from the permit in force."""

    permit: str | None = None
    entered_by: str | None = None
    entered_on: date | None = None
    absence: str

    @property
    def notice(self) -> str | None:
        """What to tell the officer while the layer is empty."""
        return self.absence if self.permit is None else None


class Profile(_Table):
    """A municipality's provisions. Its time zone stands in the registry."""

    municipality: str
    code: str
    officer: str
    source: str
    disclaimer: str
    provisions: list[Provision] = Field(alias="provision", min_length=1)
    state_permit: StatePermitLayer

    @model_validator(mode="after")
    def _holds_together(self) -> Profile:
        ids = [provision.id for provision in self.provisions]
        twice = sorted({each for each in ids if ids.count(each) > 1})
        if twice:
            raise ValueError(f"provision ids must be unique; written twice: {', '.join(twice)}")
        return self

    def provision(self, provision_id: str) -> Provision:
        """The provision of that id; KeyError if there is none."""
        return {each.id: each for each in self.provisions}[provision_id]

    def in_force(self, kind: str, day: date) -> list[Provision]:
        """The provisions of a kind that are in force on a local day."""
        return [each for each in self.provisions if each.kind == kind and each.in_force(day)]


@cache
def load_profile(name: str) -> Profile:
    """A profile of headwall/law/profiles by name, or one of a municipality's own by the path of its file (….toml).

    ConfigurationError with every fault found.
    """
    if name.endswith(".toml"):
        return parse_profile(_read(Path(name)), name)
    source = files(__package__).joinpath("profiles", f"{name}.toml")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not source.is_file():
        raise ConfigurationError(name, [f"there is no such profile; known are {', '.join(profile_names())}"])
    return parse_profile(source.read_text(encoding="utf-8"), f"profile {name}")


def profile_names() -> list[str]:
    """The profiles that come with headwall."""
    folder = files(__package__).joinpath("profiles")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def parse_profile(text: str, source: str) -> Profile:
    """A profile from the text of its file; ConfigurationError with every fault found."""
    try:
        return Profile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(source, [f"not TOML: {error}"]) from None
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".lstrip(": ") for fault in error.errors()]
        raise ConfigurationError(source, faults) from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(path), [f"cannot be read: {error}"]) from None
