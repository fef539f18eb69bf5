"""Each question that the codes leave open has one answer, and the key that it names exists."""

from __future__ import annotations

import dataclasses

import pytest
from headwall.law import ambiguities, deadlines, holidays, profile, provision, provisions, state_permit
from headwall.registry import measures, model
from pydantic import BaseModel, ValidationError

_MODULES = (deadlines, holidays, profile, provision, provisions, state_permit, measures, model)
_DATA = [(number, key) for number, each in ambiguities.questions().items() for key in each.data]


def _keys(name: str) -> set[str]:
    """Keys of a model as they are written in TOML."""
    found = next((vars(module)[name] for module in _MODULES if name in vars(module)), None)
    if found is not None and dataclasses.is_dataclass(found):
        return {field.name for field in dataclasses.fields(found)}
    assert isinstance(found, type) and issubclass(found, BaseModel), f"there is no model {name}"
    return {field.alias or key for key, field in found.model_fields.items()}


def test_all_seventy_two_questions_are_answered() -> None:
    assert list(ambiguities.questions()) == [f"A{n}" for n in range(1, 73)]


@pytest.mark.parametrize(("number", "key"), _DATA)
def test_data_that_a_question_names_exists(number: str, key: str) -> None:
    model_name, _, name = key.partition(".")
    assert name in _keys(model_name), f"{number} names {key}"


@pytest.mark.parametrize("answer", [{}, {"data": ["a"], "reason": "b"}])
def test_question_with_no_answer_or_two_is_refused(answer: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="write a reason"):
        ambiguities.Question.model_validate({"asks": "a", "taken": "b", **answer})


@pytest.mark.parametrize("name", profile.profile_names())
def test_profile_points_only_at_questions_that_there_are(name: str) -> None:
    asked = {each for entry in profile.load_profile(name).provisions for each in entry.questions}
    assert asked <= set(ambiguities.questions())


def test_every_question_is_asked_by_a_provision() -> None:
    entries = (entry for name in profile.profile_names() for entry in profile.load_profile(name).provisions)
    assert {each for entry in entries for each in entry.questions} == set(ambiguities.questions())
