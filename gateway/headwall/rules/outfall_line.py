"""The hours of one outfall, judged in order, and what its flow is computed of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwall.hydrology.dry_weather import HOUR_US, MEMORY_US, Hour, Judgement, Watch
from headwall.registry import Registry
from headwall.registry.model import Site

_SPARE_US: Final = 7 * 24 * HOUR_US


@dataclass
class Line:
    """The hours of one outfall, judged in order.

    Attributes:
        until_us: the end of the last hour judged.
        whole_us: hours from here on are kept; a judgement is right from `MEMORY_US` later on.
    """

    watch: Watch
    until_us: int
    whole_us: int
    hours: list[Hour] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    def add(self, hour: Hour) -> None:
        self.hours.append(hour)
        self.judgements.append(self.watch.add(hour))
        self.until_us = hour.start_us + HOUR_US

    def settle(self) -> None:
        """Forget what no later hour needs, with some days to spare for what comes late."""
        if self.until_us - self.whole_us > MEMORY_US + 2 * _SPARE_US:
            self.whole_us = self.until_us - MEMORY_US - _SPARE_US
            self.hours = [each for each in self.hours if each.start_us >= self.whole_us]
            self.judgements = [each for each in self.judgements if each.start_us >= self.whole_us]


def flow_streams(registry: Registry, site: Site, at_us: int) -> list[str]:
    """Datastreams out of which the flow of a site is computed."""
    measures = registry.measures(site.id)
    found = (measures.sensor(role, at_us) for role in ("stage", "flow", "meter"))
    return [sensor.datastream for sensor in found if sensor is not None]
