"""A project of a construction site: how much ground it disturbs and when, what its approved plan has, what it owes.

What a person has declared carries who said so. The area that is open at once changes with time and is dated; what is
not declared is not known, and no rule takes it for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from headwall.errors import InputError
from headwall.law.profile import Profile
from headwall.law.provisions import Area as AreaClause
from headwall.law.provisions import Conditions as SiteConditions
from headwall.law.provisions import StageNotice
from headwall.registry.dated import Dated, Entry, Said
from headwall.registry.spans import Span, in_force, instant_us, span_of
from headwall.units import parse_area


def _area(text: str) -> str:
    try:
        parse_area(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


#: "6.2 acres", "5000 sq ft"
Area = Annotated[str, AfterValidator(_area)]
#: dollars as a decimal: "12000" or "12000.50"
Dollars = Annotated[str, Field(pattern=r"^\d{1,9}(\.\d{2})?$")]
Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]


class OpenArea(Dated):
    """So much ground is open at once, as somebody has measured or reported it."""

    area: Area
    by: Said


class Conditions(Dated):
    """Which of the code's named conditions the site meets, as a person has declared; none of them: []."""

    met: tuple[Letter, ...]
    by: Said


class Stage(Entry):
    """A stage of work of which the officer asks to be told before, and the day for which it is planned.

    Attributes:
        stage: in the words of the profile.
    """

    stage: Said
    planned: date


class Guarantee(Dated):
    """A security that the project has given, in force for its dates."""

    kind: Said
    amount: Dollars
    reference: Said


class Project(Dated):
    """One project of a site.

    Attributes:
        area: all that it disturbs in its course.
        open: what is open at once.
        approved_open: so much may be open at once by the approved SWPPP.
        common_plan: the larger plan of development or sale of which it is part, and what that disturbs in all.
        exempt: the exemption of the code under which it falls, in the words of the profile; who says so in exempt_by.
        start_of_work, final_stabilization: absent: not yet.
        stages: of which the officer asks to be told.
        escrow: the first deposit.
    """

    name: Said
    area: Area
    open: tuple[OpenArea, ...] = ()
    approved_open: Area | None = None
    common_plan: str = ""
    common_area: Area | None = None
    exempt: str = ""
    exempt_by: str = ""
    conditions: tuple[Conditions, ...] = ()
    start_of_work: datetime | date | None = None
    planned_end: date | None = None
    final_stabilization: datetime | date | None = None
    stages: tuple[Stage, ...] = ()
    escrow: Dollars | None = None
    guarantees: tuple[Guarantee, ...] = ()

    @model_validator(mode="after")
    def _holds_together(self) -> Project:
        if bool(self.exempt) != bool(self.exempt_by):
            raise ValueError("an exemption needs both `exempt` and `exempt_by`, who says so")
        if bool(self.common_plan) != bool(self.common_area):
            raise ValueError("a larger common plan needs both `common_plan` and `common_area`")
        if self.final_stabilization is not None and self.start_of_work is None:
            raise ValueError("`final_stabilization` needs `start_of_work`")
        if len({each.stage for each in self.stages}) != len(self.stages):
            raise ValueError("stages: each stands once")
        return self


@dataclass(frozen=True)
class SiteProject:
    """A project with its dates as instants and its areas as square feet."""

    span: Span[Project]
    start_us: int | None  # of work
    stabilised_us: int | None
    open: tuple[Span[OpenArea], ...]
    conditions: tuple[Span[Conditions], ...]
    guarantees: tuple[Span[Guarantee], ...]

    @property
    def entry(self) -> Project:
        return self.span.entry

    @property
    def area(self) -> Fraction:
        return parse_area(self.entry.area)

    def open_at(self, at_us: int) -> OpenArea | None:
        """What was open at an instant; None: nobody has said."""
        return next(in_force(self.open, at_us), None)

    def conditions_at(self, at_us: int) -> Conditions | None:
        """Which conditions were declared at an instant; None: nobody has said."""
        return next(in_force(self.conditions, at_us), None)


def site_project(entry: Project, zone: ZoneInfo) -> SiteProject:
    return SiteProject(
        span_of(entry, zone),
        None if entry.start_of_work is None else instant_us(entry.start_of_work, zone),
        None if entry.final_stabilization is None else instant_us(entry.final_stabilization, zone),
        tuple(span_of(each, zone) for each in entry.open),
        tuple(span_of(each, zone) for each in entry.conditions),
        tuple(span_of(each, zone) for each in entry.guarantees),
    )


def faults_by_code(entry: Project, profile: Profile | None) -> Iterator[str]:
    """What a project says in words that its code does not have."""
    if profile is None:
        return
    stages = {stage for each in profile.of(StageNotice) for stage in each.stages}
    letters = {letter for each in profile.of(SiteConditions) for letter in each.conditions}
    exempt = {words for each in profile.of(AreaClause) for words in each.exempt}
    for each in entry.stages:
        if each.stage not in stages:
            yield f"stage {each.stage!r} is none of its code: {_known(stages)}"
    for letter in sorted({letter for each in entry.conditions for letter in each.met} - letters):
        yield f"condition {letter} is none of its code: {_known(letters)}"
    if entry.exempt and entry.exempt not in exempt:
        yield f"exempt {entry.exempt!r} is no exemption of its code: {_known(exempt)}"


def _known(words: Iterable[str]) -> str:
    return "; ".join(sorted(words)) or "it has none"


def dated_parts(entry: Project) -> dict[str, list[Any]]:
    """Parts of which no two may hold at the same time."""
    return {"open": list(entry.open), "conditions": list(entry.conditions)}
