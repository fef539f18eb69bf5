"""What becomes of suspected hours of an outfall: notices, mails and cases, as the register of approvals has it.

What the register says decides whether it is a suspected discharge or flow outside an approval, see
`rules.outside_approvals`.
"""

from __future__ import annotations

from typing import Final

from headwall.cases import suspicion
from headwall.hydrology.dry_weather import HOUR_US, Episode, Settings, episodes
from headwall.registry import Registry
from headwall.registry.model import Site
from headwall.rules import episode_notices, outside_approvals
from headwall.rules.approval_spans import Book
from headwall.rules.base import Step
from headwall.rules.facts import OutsideApproval, SuspectedDischarge
from headwall.rules.outfall_line import Line, flow_streams
from headwall.rules.site_rain import QUANTA_PER_MM
from headwall.rules.tell import tell, to_be_told, withdraw

#: suspected hours less apart are one episode, which may go on
_APART_US: Final = Settings().apart_hours * HOUR_US


class OutfallEpisodes:
    """Keeps the notices of outfalls.

    Args:
        historical_after_us: what is learned so long after it ended is not mailed.
    """

    def __init__(self, registry: Registry, historical_after_us: int) -> None:
        self._registry = registry
        self._historical_after_us = historical_after_us

    def sync(self, step: Step, site: Site, line: Line, book: Book, start_us: int) -> None:
        """Make what stands of an outfall, from an instant on, what its hours and the register show."""
        seen = [each for each in episodes(line.judgements) if each.end_us >= start_us]
        suspected, found = outside_approvals.split(seen, book.outside())
        found += outside_approvals.barred(line.hours, line.judgements, book.outside())
        wanted = [self._suspected(step, site, each, line.until_us, book) for each in suspected]
        outside = [self._outside(step, site, each, line, book) for each in found if each.end_us >= start_us]
        conn, now_us = step.conn, step.now_us
        for change in episode_notices.sync(
            conn, SuspectedDischarge, site.id, wanted, now_us, lambda fact: fact.span[1] >= start_us
        ):
            self._tell(step, change.key, change.fact, stands=change.stands)
        for other in episode_notices.sync(
            conn, OutsideApproval, site.id, outside, now_us, lambda fact: fact.span[1] >= start_us
        ):
            self._tell(step, other.key, other.fact, stands=other.stands)

    def _tell(self, step: Step, key: str, fact: SuspectedDischarge | OutsideApproval, *, stands: bool) -> None:
        withdraw(step.conn, key)
        historical = step.now_us - fact.end_us > self._historical_after_us
        suspicion.follow(
            step.conn,
            key,
            kind=str(fact.__struct_config__.tag),
            municipality=fact.municipality,
            site=fact.site,
            span=fact.span,
            stands=stands,
            historical=historical,
            now_us=step.now_us,
            provision=fact.provision if isinstance(fact, OutsideApproval) else "",
        )
        if stands and not historical:
            told = to_be_told(step.conn, self._registry, fact.datastream, fact.municipality, step.now_us)
            tell(step.conn, key, fact, told, "now", step.now_us)

    def _suspected(self, step: Step, site: Site, episode: Episode, until_us: int, book: Book) -> SuspectedDischarge:
        return SuspectedDischarge(
            municipality=site.municipality,
            site=site.id,
            datastream=self._stream(step, site, episode.end_us),
            start_us=episode.start_us,
            end_us=episode.end_us,
            ongoing=until_us - episode.end_us < _APART_US,
            likeness=episode.proposal,
            confidence=round(episode.confidence, 2),
            evidence=_evidence(episode, book),
        )

    def _outside(
        self, step: Step, site: Site, found: outside_approvals.Found, line: Line, book: Book
    ) -> OutsideApproval:
        if found.episode is not None:
            likeness, confidence = str(found.episode.proposal), round(found.episode.confidence, 2)
            evidence = _evidence(found.episode, book)
        else:
            likeness, confidence, evidence = "", 1.0, {"flow_h": found.hours, "rain_driven_h": found.rain_hours}
            evidence |= {} if found.high_m3_s is None else {"high_m3_s": found.high_m3_s}
        return OutsideApproval(
            municipality=site.municipality,
            site=site.id,
            datastream=self._stream(step, site, found.end_us),
            start_us=self._since_us(step, site, found, line),
            end_us=found.end_us,
            ongoing=line.until_us - found.end_us < _APART_US,
            likeness=likeness,
            confidence=confidence,
            evidence=evidence,
            why=found.outside.why,
            provision=found.outside.provision,
            reference=found.outside.reference,
        )

    def _since_us(self, step: Step, site: Site, found: outside_approvals.Found, line: Line) -> int:
        """Since when it runs: where the hours kept do not reach back so far, as it was told before."""
        if found.start_us - line.whole_us > _APART_US:
            return found.start_us
        told = [fact for _, fact in episode_notices.open_notices(step.conn, OutsideApproval, site.id)]
        before = (
            fact.start_us
            for fact in told
            if fact.why == found.outside.why and fact.start_us < line.whole_us and fact.end_us >= found.start_us
        )
        return min(before, default=found.start_us)

    def _stream(self, step: Step, site: Site, at_us: int) -> str:
        """Whose readings the flow comes from at an instant, else now."""
        return (flow_streams(self._registry, site, at_us) or flow_streams(self._registry, site, step.now_us))[0]


def _evidence(episode: Episode, book: Book) -> dict[str, float | int | str]:
    evidence = {name: _plain(value) for name, value in episode.evidence.items()}
    evidence["suspected_h"] = episode.hours
    quanta = evidence.pop("rain", None)
    if quanta is not None:
        evidence["rain_in_72_h_mm"] = float(quanta) / QUANTA_PER_MM
    standing = book.allowed_between(episode.start_us, episode.end_us)
    if standing:
        evidence["allowed_here"] = "; ".join(sorted({f"{each.kind} {each.reference}" for each in standing}))
    return evidence


def _plain(value: float | int | str) -> float | int | str:
    """Without truth values, which JSON keeps apart from numbers."""
    return ("yes" if value else "no") if isinstance(value, bool) else value
