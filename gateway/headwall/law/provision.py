"""What every provision has: what is asked of whom, the citation and how sure it is, since when, and its clocks."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, model_validator

from headwall.law.deadlines import Deadline, Start, Table

Confidence = Literal["P", "X", "S", "C"]

#: how sure a citation's section number is, in words for whoever reads it
CONFIDENCE_TEXT: Final[dict[Confidence, str]] = {
    "P": "section number as printed in the code",
    "X": "section number inferred from a cross-reference in the code",
    "S": "section number inferred by counting sections; check it against the code before printing it",
    "C": "section number not confirmed",
}

#: a depth as written in the code; `units.parse_depth` reads it
DepthText = Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,4})? (in|mm)$")]
ProvisionId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
RowId = Annotated[str, Field(pattern=r"^[A-Z]{3}-\d{2}$")]
QuestionId = Annotated[str, Field(pattern=r"^A\d{1,2}$")]


class Confirmed(Table):
    """Who looked the section number up in the municipality's own code, and when."""

    by: str = Field(min_length=1)
    on: date


class Retention(Table):
    """How long a record must be kept at least."""

    count: int = Field(gt=0)
    unit: Literal["years"] = "years"
    of: str  # which records
    starts: list[Start] = Field(min_length=1)  # the latest of these counts


class Provision(Table):
    """One clause of a code with what a machine needs of it. Dates are local; `valid_to` is exclusive."""

    #: names of deadlines that a kind cannot do without
    needs: ClassVar[frozenset[str]] = frozenset()

    id: ProvisionId
    kind: str
    covers: list[RowId] = Field(default=[])  # rows of the analysis that this provision answers
    article: str = ""  # name in the profile's table of articles
    citation: str
    stands_in: str = ""  # what is cited, where that is not the municipality's code: a permit of the State
    confidence: Confidence
    confirmed: Confirmed | None = None
    subject: str = Field(min_length=1)
    requirement: str = Field(min_length=1)  # what is to be done, by when, delivered to whom; not the code's own words
    valid_from: date | None = Field(default=None, alias="from")  # None: the source does not say since when
    valid_to: date | None = Field(default=None, alias="to")
    enacted_by: str = ""
    owed_by: str
    owed_to: str = ""  # empty: nobody is named
    copied_to: list[str] = Field(default=[])
    means: list[str] = Field(default=[])  # how it is to be told; empty: the code is silent
    record: str = ""  # what is written down where
    retention: Retention | None = None
    deadlines: list[Deadline] = Field(default=[])
    ambiguities: list[str] = Field(default=[])  # what the code leaves open, in words
    questions: list[QuestionId] = Field(default=[])  # the same as entries of law/ambiguities.toml
    incomplete: str = ""  # what is missing from the source text

    @model_validator(mode="after")
    def _holds_together(self) -> Provision:
        if self.valid_to is not None and self.valid_from is not None and self.valid_to <= self.valid_from:
            raise ValueError(f"to {self.valid_to} is not after from {self.valid_from}")
        names = [each.name for each in self.deadlines]
        if len(names) != len(set(names)):
            raise ValueError("deadlines: names must be unique")
        if missing := sorted(self.needs.difference(names)):
            raise ValueError(f"deadlines: {self.kind} needs one named {', '.join(missing)}")
        return self

    @property
    def confidence_text(self) -> str:
        if self.confirmed is not None:
            return f"section number confirmed by {self.confirmed.by} on {self.confirmed.on.isoformat()}"
        return CONFIDENCE_TEXT[self.confidence]

    def in_force(self, day: date) -> bool:
        after_start = self.valid_from is None or self.valid_from <= day
        return after_start and (self.valid_to is None or day < self.valid_to)

    def deadline(self, name: str) -> Deadline:
        """The deadline of that name; KeyError if there is none."""
        return {each.name: each for each in self.deadlines}[name]
