"""What the codes leave open, numbered: what is asked, what is taken, and where that can be set."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import Field, TypeAdapter, model_validator

from headwall.law.deadlines import Table
from headwall.law.provision import QuestionId


class Question(Table):
    """An open question. Exactly one of `settings`, `rule` and `reason` is there."""

    asks: str = Field(min_length=1)
    taken: str = Field(min_length=1)
    settings: list[str] = Field(default=[])  # Model.key: what decides it today
    rule: str = ""  # the rule to come that will read a setting
    reason: str = ""  # why it is no setting

    @model_validator(mode="after")
    def _has_one_answer(self) -> Question:
        if sum(map(bool, (self.settings, self.rule, self.reason))) != 1:
            raise ValueError("write exactly one of settings, rule and reason")
        return self


@cache
def questions() -> Mapping[str, Question]:
    """All of them, in order."""
    text = files(__package__).joinpath("ambiguities.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[QuestionId, Question]).validate_python(tomllib.loads(text))
