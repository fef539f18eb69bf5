"""What a duty asks, in a line."""

from __future__ import annotations

from datetime import tzinfo

from headwall.law.localtime import short
from headwall.rules.facts import DutyFact, StormDuty


def asked(fact: DutyFact, where: tzinfo) -> str:
    """E.g. "inspection report after the storm of Jun 10 13:05 EDT (0.50 in of rain)"."""
    if isinstance(fact, StormDuty):
        return f"inspection report after the storm of {short(fact.storm.start_us, where)}"
    return fact.asks
