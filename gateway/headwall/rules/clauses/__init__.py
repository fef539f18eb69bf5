"""Planners: for each kind of provision, what it makes due at a site. One module a subject.

A planner that looks at readings stands in `FROM_READINGS` too: it is asked again when sensors of its site have spoken,
while the others are asked when a person has entered something, or an instant that they named has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headwall.rules.clauses.expected import Done, Expected, Planner
from headwall.rules.clauses.look import Look

__all__ = ["FROM_READINGS", "PLANNERS", "Done", "Expected", "Look", "Planner"]

#: kind of provision → what it makes due
PLANNERS: Final[Mapping[str, Planner]] = {}
#: kinds whose planners look at readings
FROM_READINGS: Final[frozenset[str]] = frozenset()
