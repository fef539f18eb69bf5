"""Dry-weather flow of an outfall: whether what runs there is explained, hour by hour, with the evidence.

hours.py sums up what the sensors say, watch.py judges each hour by the weeks before it (past.py), judgement.py is what
it says, episodes.py joins suspected hours, settings.py holds the numbers. A suspicion and its class are proposals for a
person to look at, never findings.
"""

from headwall.hydrology.dry_weather.episodes import Episode, episodes
from headwall.hydrology.dry_weather.hours import HOUR_US, Hour, Water, summarise
from headwall.hydrology.dry_weather.judgement import Evidence, Judgement, Proposal, State
from headwall.hydrology.dry_weather.settings import MEMORY_HOURS, MEMORY_US, Settings
from headwall.hydrology.dry_weather.watch import Approved, Watch

__all__ = [
    "HOUR_US",
    "MEMORY_HOURS",
    "MEMORY_US",
    "Approved",
    "Episode",
    "Evidence",
    "Hour",
    "Judgement",
    "Proposal",
    "Settings",
    "State",
    "Watch",
    "Water",
    "episodes",
    "summarise",
]
