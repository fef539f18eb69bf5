"""The kinds of cases, as data: what each may break, who may open it, and who is told.

One machinery of steps and clocks serves them all. A kind names the kinds of clauses that such a case may break; the
first that the municipality's code has is taken, and whoever opens or confirms a case may name another of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from headwall.errors import InputError

SPILL: Final = "spill"
Role = Literal["smo", "installer", "operator"]


@dataclass(frozen=True)
class CaseKind:
    """A kind of case.

    Attributes:
        words: to stand after "a".
        breaks: kinds of clauses that it may break, the most fitting first.
        by_readings: whether what sensors show may propose one; else a named person alone opens it.
        told: roles of a municipality that are told of it.
    """

    words: str
    breaks: tuple[str, ...]
    by_readings: bool = False
    told: tuple[Role, ...] = ("smo",)


KINDS: Final[Mapping[str, CaseKind]] = {
    "suspected_discharge": CaseKind("suspected discharge", ("illicit_discharge",), by_readings=True),
    "failing_system": CaseKind(
        "failing septic system", ("failing_system", "contaminating_activity", "illicit_discharge"), by_readings=True
    ),
    "outside_approval": CaseKind(
        "flow outside an approval",
        (
            "illicit_discharge",
            "permitted_discharge",
            "emergency_approval",
            "connection_permit",
            "proof_of_compliance",
            "emergency_suspension",
            "termination",
            "stop_work",
            "work_hold",
        ),
        by_readings=True,
    ),
    "illicit_connection": CaseKind("illicit connection", ("illicit_connection", "connection_permit")),
    "turbidity": CaseKind("contrast by turbidity", ("turbidity",), by_readings=True),
    "design_flow": CaseKind("flow above the design", ("design_flow",), by_readings=True),
    SPILL: CaseKind("spill or release", ("spill_report", "illicit_discharge"), told=("smo", "operator")),
    "device": CaseKind(
        "monitoring device tampered with or neglected",
        ("device_care",),
        by_readings=True,
        told=("smo", "installer", "operator"),
    ),
    "contaminating_activity": CaseKind("contaminating activity", ("contaminating_activity", "illicit_discharge")),
    "suspension": CaseKind("suspension or end of access", ("emergency_suspension", "termination")),
}


def kind_of(name: str) -> CaseKind:
    """The kind of that name; InputError with those there are."""
    if name not in KINDS:
        raise InputError(f"there is no kind of case {name!r}; known are {', '.join(KINDS)}")
    return KINDS[name]
