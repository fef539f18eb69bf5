"""How a municipality reads the clocks of its code where the words leave open what a day is, or from what one counts.

A clause says by its questions that its words leave something open; where a code is plain its own reading stands,
whatever was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import time
from typing import Any, Final

from headwall.law.deadlines import Deadline, Reading
from headwall.law.provision import Provision

#: how the municipality reads a key
Chosen = Callable[[str], Any]
#: what an appeal may be counted from
_APPEALED: Final = {"issuance", "notice_date", "service"}


def as_read(provision: Provision, deadline: Deadline, chosen: Chosen) -> Deadline:
    """A deadline of a provision by the choices days.unit (A2), days.extend (A3) and appeal.starts (A4)."""
    changes: dict[str, Any] = {}
    if "A2" in provision.questions and deadline.unit == "days" and chosen("days.unit") == "business":
        changes["unit"] = "business_days"
    if "A3" in provision.questions and chosen("days.extend") != "code":
        changes["extends"] = chosen("days.extend")
    of_appeal = provision.kind == "appeal" and "A4" in provision.questions and deadline.starts in _APPEALED
    if of_appeal and chosen("appeal.starts") != "code":
        changes |= {"starts": chosen("appeal.starts"), **_without_starts(deadline)}
    return deadline.model_copy(update=changes) if changes else deadline


def office_closes(shipped: time, chosen: Chosen) -> time:
    """When the office closes, which is the strict end of a last day (A1)."""
    text = chosen("office.closes")
    return time.fromisoformat(text) if text else shipped


def _without_starts(deadline: Deadline) -> dict[str, Reading]:
    """Both readings with the one start that was chosen."""
    readings = {"strict": deadline.strict, "lenient": deadline.lenient}
    return {name: each.model_copy(update={"starts": None}) for name, each in readings.items()}
