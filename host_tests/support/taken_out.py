"""The gateway without one piece of what judges the codes, while the profiles keep their clauses.

A piece stands in one place: an entry of a table, or a rule. Where no scenario ends otherwise without it, it decides
nothing, whatever the coverage says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from headwall.cases.code import STARTS
from headwall.cases.kinds import KINDS, SPILL
from headwall.cli import case_letter
from headwall.errors import InputError
from headwall.rules import outside_approvals, septic, site_signs, water_conditions
from headwall.rules.approvals import CLAUSES
from headwall.rules.clauses import PLANNERS, construction, inspections, sewers
from headwall.rules.device_neglect import DeviceNeglectRule
from headwall.rules.outfalls import OutfallRule
from headwall.rules.spills import SpillRule
from headwall.rules.storm import StormReportRule

Out = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Piece:
    """What acts on provisions of some kinds, and how it is taken out.

    Attributes:
        case: the kind of case that it is about, if any.
    """

    name: str
    kinds: tuple[str, ...]
    out: Out
    case: str = ""


def pieces() -> list[Piece]:
    """Every piece, by its name."""
    return [*_planners(), *_clocks(), *_cases(), *_approvals(), *_watches(), *_rules(), *_alone()]


def _nothing(*_: object) -> Sequence[Any]:
    return ()


# ---- entries of tables


def _planners() -> Iterator[Piece]:
    for kind in PLANNERS:
        yield Piece(f"duties of {kind}", (kind,), partial(patch.dict, PLANNERS, {kind: _nothing}))


def _clocks() -> Iterator[Piece]:
    """The clocks that a clause starts, and the clause itself for the steps of a case.

    What the State times beside a spill belongs to the spill.
    """
    for kind in STARTS:
        kinds, case = (("spill_report",), SPILL) if kind == "state_spill" else ((kind,), "")
        yield Piece(f"clocks of {kind}", kinds, partial(patch.dict, STARTS, {kind: {}}), case)
        if kind != "state_spill":
            yield Piece(f"steps under {kind}", kinds, partial(_without, kind))


@contextmanager
def _without(kind: str) -> Iterator[None]:
    with patch.dict(STARTS):
        del STARTS[kind]
        yield


def _cases() -> Iterator[Piece]:
    """A case of a kind breaks nothing then, and cannot be confirmed."""
    for name, case in KINDS.items():
        yield Piece(f"case {name}", case.breaks, partial(patch.dict, KINDS, {name: replace(case, breaks=())}), name)


def _approvals() -> Iterator[Piece]:
    for name, kinds in CLAUSES.items():
        yield Piece(f"approval {name}", kinds, partial(patch.dict, CLAUSES, {name: ()}))


# ---- what looks at readings


#: what is watched → the kind of provision that it is watched for
_WATCHED: Final = {
    septic.LEVEL: "failing_system",
    septic.NEAR["scum"]: "septic_pump_out",
    septic.NEAR["sludge"]: "septic_pump_out",
    water_conditions.TURBIDITY: "turbidity",
    water_conditions.DESIGN_FLOW: "design_flow",
    water_conditions.SEDIMENT: "sediment_removal",
    water_conditions.BACKWATER: "watercourse",
}


def _watches() -> Iterator[Piece]:
    for what, kind in _WATCHED.items():
        left = tuple(each for each in site_signs.WATCHES if each.what != what)
        assert left != site_signs.WATCHES, f"nothing watches {what}"
        yield Piece(f"watch {what}", (kind,), partial(patch.object, site_signs, "WATCHES", left))


def _rules() -> Iterator[Piece]:
    def idle(rule: type[Any]) -> Out:
        return partial(patch.object, rule, "judge", _nothing)

    outside = {"split": lambda episodes, _: (list(episodes), []), "barred": _nothing}
    yield Piece("rule of storms", ("storm_report",), idle(StormReportRule))
    yield Piece("rule of outfalls", ("illicit_discharge",), idle(OutfallRule), "suspected_discharge")
    yield Piece("rule of spills", ("spill_report",), idle(SpillRule), SPILL)
    yield Piece("rule of device neglect", ("device_care",), idle(DeviceNeglectRule), "device")
    yield Piece(
        "flow outside approvals",
        KINDS["outside_approval"].breaks,
        partial(patch.multiple, outside_approvals, **outside),
        "outside_approval",
    )


# ---- what stands in no table


def _alone() -> Iterator[Piece]:
    def refuses(*_: object) -> None:
        raise InputError("it is taken out")

    yield Piece(
        "area of applicability", ("applicability",), partial(patch.object, construction, "_is_threshold", _nothing)
    )
    yield Piece(
        "conditions of a site", ("site_conditions",), partial(patch.object, inspections, "_where_declared", _nothing)
    )
    yield Piece("variance", ("variance",), partial(patch.object, sewers, "variance", lambda *_: None))
    yield Piece("penalty sheet", ("penalty",), partial(patch.object, case_letter, "penalty_sheet", refuses))
    yield Piece("remedy", ("alternative_remedies",), partial(patch.object, case_letter, "_remedies", refuses))
