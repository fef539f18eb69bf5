"""The gauges by which the storms at a site are judged: a primary, and backups for where it does not speak."""

from __future__ import annotations

from dataclasses import dataclass

from headwall.registry import Registry
from headwall.registry.model import Site, SiteGauge
from headwall.registry.spans import Span
from headwall.rules.layers import FOREVER_US


@dataclass(frozen=True)
class Member:
    """A gauge of a set, and from when up to, not including, when it counts there."""

    datastream: str
    start_us: int
    end_us: int

    @classmethod
    def of(cls, span: Span[SiteGauge]) -> Member:
        """A gauge while it is a site's."""
        return cls(span.entry.datastream, span.start_us, FOREVER_US if span.end_us is None else span.end_us)


@dataclass(frozen=True)
class GaugeSet:
    """A primary gauge and its backups, in order of preference. Sites with equal sets share one fold of the rain."""

    members: tuple[Member, ...]

    @property
    def primary(self) -> str:
        return self.members[0].datastream

    @property
    def datastreams(self) -> tuple[str, ...]:
        return tuple(member.datastream for member in self.members)


def sets_of_site(registry: Registry, site: Site) -> list[GaugeSet]:
    """One for each gauge that is a primary of the site at some time; when it is one, the rule asks the registry.

    A primary is heard at all times, as the storms of sites that have it at other times are judged by the same fold.
    """
    spans = registry.gauge_spans(site.id)
    primaries = dict.fromkeys(span.entry.datastream for span in spans if span.entry.role == "primary")
    return [
        GaugeSet(
            (
                Member(primary, 0, FOREVER_US),
                *(
                    Member.of(span)
                    for span in spans
                    if span.entry.role == "backup" and span.entry.datastream != primary
                ),
            )
        )
        for primary in primaries
    ]
