"""A deadline of a code as data: how long, counted from what, and the two readings that its words allow.

What a code leaves open has two readings. `strict` is the one under which nobody can be late, `lenient` the other;
what neither changes stands in the deadline itself. `clocks.due` turns one into instants.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Unit = Literal["hours", "days", "business_days", "weeks", "months", "years"]
#: by: done by then; before: done at least so long before; on: begins on that day; after: not before that time is over
Holds = Literal["by", "before", "on", "after"]
#: whether a period that ends on a Saturday, Sunday or public holiday runs on (GCL § 25-a); open: nobody has said
Extends = Literal["no", "open", "yes"]
#: what a clock starts with: an instant that somebody or something notes
Start = Literal[
    "abatement",
    "acceptance",
    "closing",
    "crossing",
    "decision",
    "discharge",
    "discovery",
    "event_end",
    "event_start",
    "expiry",
    "filing",
    "final_restoration",
    "first_notice",
    "hearing",
    "issuance",
    "knowledge",
    "last_activity",
    "last_inspection",
    "last_pump_out",
    "last_report",
    "last_training",
    "lien",
    "notice_date",
    "notification",
    "receipt",
    "record",
    "request",
    "service",
    "stage",
    "start_of_work",
    "statement",
    "suspension",
    "telephone_notice",
    "test",
    "tmdl_approval",
]

#: the same in words, to stand after "from" or "before"
START_TEXT: Final[dict[Start, str]] = {
    "abatement": "the end of the abatement",
    "acceptance": "final acceptance",
    "closing": "the closing of the case",
    "crossing": "the instant the depth is reached",
    "decision": "the decision",
    "discharge": "the discharge",
    "discovery": "the discovery of the violation",
    "event_end": "the end of the storm",
    "event_start": "the beginning of the storm",
    "expiry": "the end of its time",
    "filing": "the filing of the appeal",
    "final_restoration": "final restoration",
    "first_notice": "the first notice, in person or by telephone",
    "hearing": "the hearing",
    "issuance": "the issuance of the notice",
    "knowledge": "the knowledge of the release",
    "last_activity": "the last activity",
    "last_inspection": "the last inspection",
    "last_pump_out": "the last pump-out",
    "last_report": "the last report",
    "last_training": "the last training",
    "lien": "the lien",
    "notice_date": "the date of the notice",
    "notification": "the notification",
    "receipt": "the receipt",
    "record": "the record",
    "request": "the request",
    "service": "the service of the notice",
    "stage": "the stage of work",
    "start_of_work": "the start of work",
    "statement": "the issuance of the statements of cost",
    "suspension": "the suspension",
    "telephone_notice": "the telephone notice",
    "test": "the test",
    "tmdl_approval": "the approval of the TMDL",
}


class Table(BaseModel):
    """A table of a TOML file: no key but the known ones, and never changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Reading(Table):
    """What one of the two readings has otherwise."""

    count: int | None = Field(default=None, gt=0)
    unit: Unit | None = None
    starts: Start | None = None
    extends: Extends | None = None


class Deadline(Table):
    """One clock of a provision."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,31}$")]
    count: int | None = Field(default=None, ge=0)
    unit: Unit = "days"
    starts: Start
    holds: Holds = "by"
    #: which reading counts here: the earlier for what somebody owes, the later for what a municipality may then do
    takes: Literal["earlier", "later"]
    extends: Extends = "open"
    strict: Reading = Reading()
    lenient: Reading = Reading()
    #: the code's own measure where it gives no number ("within a reasonable time"); a count beside it is a proposal
    says: str = ""
    #: what is proposed so is asked for again when so much of its unit is over, before it is due
    remind: int | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _has_a_measure(self) -> Deadline:
        if self.count is None and not self.says:
            raise ValueError(f"{self.name}: write count, or in says what the code says instead of a number")
        if self.remind is not None and not (self.says and self.count is not None and self.remind < self.count):
            raise ValueError(f"{self.name}: remind goes with says, and is less than count")
        return self

    def read(self, reading: Reading) -> Deadline:
        """The deadline under one of its readings."""
        return self.model_copy(update=reading.model_dump(exclude_none=True))

    @property
    def text(self) -> str:
        """In words: "15 days from the issuance of the notice"."""
        if not self.count:
            return self.says
        unit = self.unit.replace("_", " ")
        told = _WORDS[self.holds].format(
            count=self.count,
            unit=unit if self.count != 1 else unit.removesuffix("s"),
            start=START_TEXT[self.starts],
        )
        return f"{self.says} (proposed: {told})" if self.says else told


_WORDS: Final[dict[Holds, str]] = {
    "by": "within {count} {unit} from {start}",
    "before": "at least {count} {unit} before {start}",
    "on": "from day {count} after {start}",
    "after": "not before {count} {unit} have passed from {start}",
}
