"""The calls of a spill that come before anything a program does: emergency dispatch, and the State's hotline."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import ClassVar, Final, Literal

from headwall.law.provision import Provision

#: short name of the State's hotline among those who are told of a release
HOTLINE: Final = "hotline"


class StateSpill(Provision):
    """A duty of State law beside every code."""

    needs: ClassVar[frozenset[str]] = frozenset({HOTLINE})
    kind: Literal["state_spill"]
    emergency: str
    hotline: str

    @property
    def confidence_text(self) -> str:
        """It has no section of the municipality's code: whether it binds here the attorney says."""
        if self.confirmed is None:
            return "a duty of State law, for the attorney to confirm"
        return f"a duty of State law, confirmed by {self.confirmed.by} on {self.confirmed.on.isoformat()}"

    @property
    def call_first(self) -> tuple[str, ...]:
        """What every page, output and mail about a spill begins with."""
        count, unit = self.deadline(HOTLINE).count, self.deadline(HOTLINE).unit
        return (
            f"CALL FIRST: {self.emergency} (emergency dispatch) where anybody or anything may be in danger, and for "
            "every release of something hazardous.",
            f"Then the State's spill hotline, {self.hotline}: within {count} {unit} of knowing of it. That is a duty "
            "of State law and not of the municipality's code; the attorney confirms it.",
            "Headwall calls nobody. What it writes or times never stands in for a call.",
        )


@cache
def state_spill() -> StateSpill:
    """What stands in state_spill.toml."""
    text = files(__package__).joinpath("state_spill.toml").read_text(encoding="utf-8")
    return StateSpill.model_validate(tomllib.loads(text))
