"""Joins suspected hours to episodes, each with a proposed class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from headwall.hydrology.dry_weather.hours import HOUR_US
from headwall.hydrology.dry_weather.judgement import Judgement, Proposal
from headwall.hydrology.dry_weather.settings import Settings


class Episode(NamedTuple):
    """Suspected hours that belong together.

    Attributes:
        start_us, end_us: of the first and the last of them; a later hour moves the end, never the start.
        proposal: a class to look for first, not a finding; it may change while the episode goes on.
        confidence: the greatest of its hours.
        hours: how many hours of it are suspected.
        evidence: that of its most confident hour, by names that carry their units.
    """

    start_us: int
    end_us: int
    proposal: Proposal
    confidence: float
    hours: int
    evidence: dict[str, float | int | str]


def episodes(judgements: Iterable[Judgement], settings: Settings | None = None) -> list[Episode]:
    """Episodes of judgements in order of time."""
    settings = settings or Settings()
    runs: list[list[Judgement]] = []
    for each in judgements:
        if each.state != "suspected":
            continue
        if runs and each.start_us - runs[-1][-1].start_us <= settings.apart_hours * HOUR_US:
            runs[-1].append(each)
        else:
            runs.append([each])
    return [_episode(run, settings) for run in runs]


def _episode(run: list[Judgement], settings: Settings) -> Episode:
    strongest = max(run, key=lambda each: each.confidence)
    start_us, end_us = run[0].start_us, run[-1].start_us + HOUR_US
    return Episode(
        start_us, end_us, _proposal(run, settings), strongest.confidence, len(run), strongest.evidence.named()
    )


def _proposal(run: list[Judgement], settings: Settings) -> Proposal:
    """The class with the most confidence in all; what lasts is no wash water nor flushing."""
    votes: dict[Proposal, float] = defaultdict(float)
    for each in run:
        votes[each.proposal or "unknown"] += each.confidence
    if len(run) > settings.long_hours:
        lasting: dict[Proposal, float] = {
            kind: vote for kind, vote in votes.items() if kind in ("sewage", "dewatering")
        }
        votes = lasting or {"dewatering": 1.0}
    return max(votes, key=lambda kind: votes[kind])
