"""What the codes leave open, numbered: what is asked, what is taken, and what decides it.

A question that a municipality may read in its own way has settings: each a key that rules ask `Profile.choice` for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, model_validator

from headwall.law.deadlines import Table
from headwall.law.provision import QuestionId

#: a value as it is written: in TOML, in the log book, on the command line (there as text)
Written = bool | int | str | list[int]
#: a value as a rule reads it; None: a time or decimal that is left to the code
Value = bool | int | str | Decimal | tuple[int, ...] | None
Key = Annotated[str, Field(pattern=r"^[a-z][a-z_]*\.[a-z][a-z_0-9]*$")]
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


class Setting(Table):
    """A key with what may be written for it.

    Attributes:
        default: "" of a text, a time or a decimal: as the code has it.
        allowed: the words of a word.
        least, most: of numbers, both inclusive.
    """

    key: Key
    type: Literal["word", "text", "time", "flag", "whole", "wholes", "decimal"]
    default: Written
    allowed: list[str] = Field(default=[])
    least: Written | None = None
    most: Written | None = None
    about: str = Field(min_length=1)

    @model_validator(mode="after")
    def _takes_its_default(self) -> Setting:
        if self.type == "word" and not self.allowed:
            raise ValueError(f"{self.key}: a word needs allowed")
        self.read(self.default)
        return self

    @property
    def wanted(self) -> str:
        """What may be written, in words."""
        bounds = f" from {self.least} to {self.most}" if self.least is not None else ""
        return {
            "word": " or ".join(self.allowed),
            "text": "a text",
            "time": "a local time (16:30)",
            "flag": "true or false",
            "whole": f"a whole number{bounds}",
            "wholes": f"whole numbers{bounds}, each more than the one before",
            "decimal": f'a number as text ("0.5"){bounds}',
        }[self.type]

    def read(self, written: Written) -> Value:
        """The value that something written stands for; ValueError that says what to write."""
        value = _value(self.type, written)
        numbers = value if isinstance(value, tuple) else (value,)
        good = value is not None or (written == "" == self.default)
        if self.type == "word":
            good = value in self.allowed
        for each in numbers:
            if isinstance(each, int | Decimal) and self.least is not None and self.most is not None:
                good = good and Decimal(str(self.least)) <= each <= Decimal(str(self.most))
        if not good:
            raise ValueError(f"{self.key}: {written!r} cannot be taken; write {self.wanted}")
        return value

    def parse(self, text: str) -> Written:
        """What a person typed, as it is written in a profile; ValueError that says what to write."""
        try:
            written: Written = text.strip()
            if self.type == "flag":
                written = _FLAGS[text.strip().lower()]
            elif self.type == "whole":
                written = int(text)
            elif self.type == "wholes":
                written = [int(each) for each in text.split(",")]
        except (KeyError, ValueError):
            raise ValueError(f"{self.key}: {text!r} cannot be taken; write {self.wanted}") from None
        self.read(written)
        return written


def _value(type_: str, written: Written) -> Value:
    """What is written, as its type reads it; None for what is no such thing."""
    match type_, written:
        case "flag", bool():
            return written
        case "whole", int() if not isinstance(written, bool):
            return written
        case "wholes", list() if written and written == sorted(set(written)):
            return tuple(written)
        case (("word" | "text"), str()):
            return written
        case "time", str():
            return written if re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", written) else None
        case "decimal", str():
            try:
                found = Decimal(written)
            except InvalidOperation:
                return None
            return found if found.is_finite() else None
    return None


class Question(Table):
    """An open question. Either a reason is there, or choices, or data, or both of these."""

    asks: str = Field(min_length=1)
    taken: str = Field(min_length=1)
    choices: list[Setting] = Field(default=[], alias="choice")
    data: list[str] = Field(default=[])  # Model.key: what decides it for each clause, place or person
    reason: str = ""  # why it is no setting

    @model_validator(mode="after")
    def _has_one_answer(self) -> Question:
        if bool(self.reason) == bool(self.choices or self.data):
            raise ValueError("write a reason, or else choice, data or both")
        return self


@cache
def questions() -> Mapping[str, Question]:
    """All of them, in order."""
    text = files(__package__).joinpath("ambiguities.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[QuestionId, Question]).validate_python(tomllib.loads(text))


@cache
def settings() -> Mapping[str, Setting]:
    """Every key that a municipality may choose a value for."""
    return {each.key: each for question in questions().values() for each in question.choices}


@cache
def question_of(key: str) -> str:
    """The number of the question that a key answers."""
    return next(number for number, each in questions().items() if key in [one.key for one in each.choices])
