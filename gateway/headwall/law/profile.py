"""Profiles: the provisions of a municipality's code as data, with their numbers, citations and doubts.

A rule holds no number and no citation of its own: it asks a provision. What the code leaves open stands in the
law/ambiguities.toml with a default; the municipality's own choice replaces it from its date on, with the name of who
made it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, tzinfo
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from headwall.errors import ConfigurationError
from headwall.law.choices import Choice, in_order, value_on
from headwall.law.clocks import Due, due
from headwall.law.deadlines import Deadline, Start, Table
from headwall.law.localtime import day_of
from headwall.law.provision import CONFIDENCE_TEXT, Confidence, Provision
from headwall.law.provisions import AnyProvision
from headwall.law.reading import as_read, office_closes
from headwall.law.state_permit import StatePermit, in_turn
from headwall.law.storm_report import StormNumbers, StormReport

__all__ = [
    "CONFIDENCE_TEXT",
    "Article",
    "Confidence",
    "Profile",
    "Provision",
    "StatePermit",
    "StatePermitLayer",
    "StormNumbers",
    "StormReport",
    "load_profile",
    "parse_profile",
    "profile_names",
]

P = TypeVar("P", bound=Provision)


class Article(Table):
    """A part of the code that was adopted by itself; its date holds for each of its provisions that has none."""

    title: str
    valid_from: date | None = Field(default=None, alias="from")
    enacted_by: str


class StatePermitLayer(Table):
    """The State's permits beside the code: nothing until a person enters one from the text in force."""

    absence: str  # what the permit for construction would ask


class Profile(Table):
    """A municipality's provisions. Its time zone stands in the registry."""

    municipality: str
    code: str
    officer: str
    source: str
    disclaimer: str
    office_closes: time = time(16, 30)  # local; the strict end of a last day
    articles: dict[str, Article] = Field(default={}, alias="article")
    provisions: list[AnyProvision] = Field(alias="provision", min_length=1)
    choices: list[Choice] = Field(default=[], alias="choice")
    state_permit: StatePermitLayer
    _permits: Sequence[StatePermit] = PrivateAttr(default=())  # in turn; entered by persons, in no file

    @model_validator(mode="before")
    @classmethod
    def _articles_date_their_provisions(cls, data: dict[str, Any]) -> dict[str, Any]:
        articles, provisions = data.get("article", {}), data.get("provision", [])
        if not isinstance(articles, dict) or not isinstance(provisions, list):
            return data
        return {**data, "provision": [_dated(each, articles) for each in provisions]}

    @model_validator(mode="after")
    def _holds_together(self) -> Profile:
        _check_ids(self.provisions)
        unknown = [each for each in self.provisions if each.article and each.article not in self.articles]
        if unknown:
            told = "; ".join(f"{each.id}: {each.article!r}" for each in unknown)
            raise ValueError(f"no such article ({told}); known are {', '.join(self.articles) or 'none'}")
        made = [(each.key, each.valid_from) for each in self.choices]
        again = sorted({f"{key} from {day}" for key, day in made if made.count((key, day)) > 1})
        if again:
            raise ValueError(f"of one key there can be one choice a date; written twice: {', '.join(again)}")
        return self

    @model_validator(mode="after")
    def _is_read_by_its_choices(self) -> Profile:
        return self.chosen([]) if self.choices else self

    def chosen(self, more: Iterable[Choice] = (), permits: Iterable[StatePermit] = ()) -> Profile:
        """The same with more choices, which count before those for the same date, and with permits of the State.

        ValueError where a provision of a permit has the id of another.
        """
        choices, turns = in_order([*self.choices, *more]), in_turn([*self._permits, *permits])
        own = [each for each in self.provisions if not each.stands_in]
        asked = [*own, *(each for permit in turns for each in permit.provisions)]
        _check_ids(asked)
        read = [each.chosen(choices) if isinstance(each, StormReport) else each for each in asked]
        found = self.model_copy(update={"choices": choices, "provisions": read})
        found._permits = turns
        return found

    @property
    def permits(self) -> Sequence[StatePermit]:
        """The permits of the State that persons have entered, each until the next of its program."""
        return self._permits

    def closes(self, day: date) -> time:
        """When the office closes on a local day, as the municipality has it then."""
        return office_closes(self.office_closes, partial(self.choice, day=day))

    def read(self, provision: Provision, deadline: Deadline, day: date) -> Deadline:
        """A deadline of a provision as the municipality reads it on a local day."""
        return as_read(provision, deadline, partial(self.choice, day=day))

    def due(self, provision: Provision, deadline: Deadline, starts: Mapping[Start, int], where: tzinfo) -> Due:
        """When a deadline of a provision falls, read as the municipality did when its clock started.

        Args:
            starts: the instants that are known, by what they are.
            where: the municipality's time zone.
        """
        if not starts:
            return Due(None, None, None)
        day = day_of(min(starts.values()), where)
        return due(self.read(provision, deadline, day), starts, where, self.closes(day))

    def state_permit_notice(self, day: date) -> str | None:
        """What to tell the officer while no numbers of the State's permit for construction are in force here."""
        if any(each.program == "construction" and each.in_force(day) for each in self.permits):
            return None
        return f"State-permit schedule not entered. {self.state_permit.absence}"

    def cited(self, provision: Provision) -> str:
        """Where a provision stands, in full."""
        where = provision.stands_in or f"{self.municipality}, {self.code}"
        return f"{where}, {provision.citation}"

    def choice(self, key: str, day: date) -> Any:
        """How the municipality reads an open question on a local day, by the type of the key in law/ambiguities.toml.

        A word or text is a str, a flag a bool, a whole an int, wholes a tuple of int, a decimal a Decimal or None, a
        time "16:30" or None.
        KeyError for a key that no question has.
        """
        return value_on(self.choices, key, day)

    def provision(self, provision_id: str) -> Provision:
        """The provision of that id; KeyError if there is none."""
        return {each.id: each for each in self.provisions}[provision_id]

    def of(self, kind: type[P]) -> list[P]:
        """The provisions of a kind."""
        return [each for each in self.provisions if isinstance(each, kind)]

    def in_force(self, kind: type[P], day: date) -> list[P]:
        """The provisions of a kind that are in force on a local day."""
        return [each for each in self.of(kind) if each.in_force(day)]


def _check_ids(provisions: Sequence[Provision]) -> None:
    ids = [provision.id for provision in provisions]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise ValueError(f"provision ids must be unique; written twice: {', '.join(twice)}")


def _dated(provision: Any, articles: dict[str, Any]) -> Any:
    article = articles.get(provision.get("article", "")) if isinstance(provision, dict) else None
    if not isinstance(article, dict) or "from" in provision:
        return provision
    return {**{key: article[key] for key in ("from", "enacted_by") if key in article}, **provision}


@cache
def load_profile(name: str) -> Profile:
    """A profile of headwall/law/profiles by name, or one of a municipality's own by the path of its file (….toml).

    ConfigurationError with every fault found.
    """
    if name.endswith(".toml"):
        return parse_profile(_read(Path(name)), name)
    source = files(__package__).joinpath("profiles", f"{name}.toml")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) or not source.is_file():
        raise ConfigurationError(name, [f"there is no such profile; known are {', '.join(profile_names())}"])
    return parse_profile(source.read_text(encoding="utf-8"), f"profile {name}")


def profile_names() -> list[str]:
    """The profiles that come with headwall."""
    folder = files(__package__).joinpath("profiles")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def parse_profile(text: str, source: str) -> Profile:
    """A profile from the text of its file; ConfigurationError with every fault found."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(source, [f"not TOML: {error}"]) from None
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        faults = [f"{_place(fault['loc'], data)}{fault['msg']}" for fault in error.errors()]
        raise ConfigurationError(source, faults) from None


def _place(loc: tuple[int | str, ...], data: dict[str, Any]) -> str:
    """Where a fault is: "provision elmsford-288-8a2-storm: storm.depth: "."""
    if len(loc) < 2 or loc[0] != "provision" or not isinstance(loc[1], int):
        return f"{'.'.join(map(str, loc))}: " if loc else ""
    entry = data["provision"][loc[1]]
    named = entry.get("id") if isinstance(entry, dict) else None
    key = ".".join(map(str, loc[3:]))  # loc[2] is the kind
    return f"provision {named or loc[1] + 1}: {key}{': ' if key else ''}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(path), [f"cannot be read: {error}"]) from None
