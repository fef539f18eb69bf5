"""Which rows of the analysis of the codes the profiles answer, and which of these a rule judges.

The analysis numbers each clause that matters to sensors, clocks and records; `coverage.toml` holds these numbers and
what decides each. A row is implemented when a rule judges a provision that answers it, information when it is only to
be shown, out of reach with the reason that `coverage.toml` gives, and else stands as not yet implemented.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import Field

from headwall.law.deadlines import Table
from headwall.law.profile import Profile
from headwall.law.provision import Provision, RowId

By = Literal["sensor", "person", "clock", "record"]
State = Literal["implemented", "information", "out of reach", "not yet"]


class Rows(Table):
    """Row of the analysis → what decides it; nothing for what is only shown."""

    rows: dict[RowId, list[By]]
    out_of_reach: dict[RowId, str] = Field(default={})  # why no rule can judge it


@dataclass(frozen=True)
class Covered:
    """A row of the analysis and what stands for it in a profile; `why` it is out of reach."""

    row: str
    decided_by: list[By]
    provisions: list[Provision]
    state: State
    why: str

    @property
    def told(self) -> str:
        """What it is about, in a few words."""
        return self.provisions[0].subject


def analysis_rows() -> Mapping[str, list[By]]:
    """The rows of the analysis, in order."""
    return _file().rows


@cache
def _file() -> Rows:
    text = files(__package__).joinpath("coverage.toml").read_text(encoding="utf-8")
    return Rows.model_validate(tomllib.loads(text))


def coverage(profiles: Iterable[Profile], judged: Collection[str]) -> list[Covered]:
    """Each row that a profile answers, in the order of the analysis.

    Args:
        judged: the kinds of provisions that a rule judges.
    """
    provisions: list[Provision] = [each for profile in profiles for each in profile.provisions]
    found = []
    for row, decided_by in analysis_rows().items():
        if answers := [each for each in provisions if row in each.covers]:
            why = _file().out_of_reach.get(row, "")
            found.append(Covered(row, decided_by, answers, _state(answers, judged, why), why))
    return found


def _state(answers: list[Provision], judged: Collection[str], why: str) -> State:
    if why:
        return "out of reach"
    if any(each.kind in judged for each in answers):
        return "implemented"
    return "information" if all(each.kind in ("information", "nuisance") for each in answers) else "not yet"
