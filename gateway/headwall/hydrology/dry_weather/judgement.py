"""What is said of an hour: its state, how sure that is, and what it rests on."""

from __future__ import annotations

from typing import Literal, NamedTuple

from headwall.hydrology.dry_weather.hours import Water

State = Literal["not_known", "dry", "wet", "recession", "base_flow", "suspected"]
Proposal = Literal["sewage", "wash_water", "flushing", "dewatering", "unknown"]


class Evidence(NamedTuple):
    """What a judgement rests on; None is not known.

    Attributes:
        hours_dry: since the last rain, gap or the beginning of what is remembered; `hours_dry_known` False for the
            latter two.
        rain: quanta in the time that must be dry, `rain_unknown_hours` of it without a valid gauge.
        base_m3_s: the flow of the day before; `low_m3_s` what the week before fell to.
        noise_m3_s: of one sample.
        night_over_mean: flow from 2 to 5 over the mean of the last 24 hours.
        warmer_c: water in the upper half of the hour's flow over that of the base; `conductivity_ratio` and
            `turbidity_ratio` likewise.
        signs: of "pulse", "level" and "rhythm", those that stand out.
        set_aside: why a sign is none: "melt", "irrigation", or the kind of an approval.
    """

    hours_dry: int
    hours_dry_known: bool
    rain: int
    rain_unknown_hours: float
    flow_m3_s: float | None = None
    high_m3_s: float | None = None
    base_m3_s: float | None = None
    low_m3_s: float | None = None
    noise_m3_s: float | None = None
    night_over_mean: float | None = None
    water: Water = Water()
    warmer_c: float | None = None
    conductivity_ratio: float | None = None
    turbidity_ratio: float | None = None
    backwater_hours: float = 0.0
    signs: tuple[str, ...] = ()
    set_aside: str | None = None

    def named(self) -> dict[str, float | int | str]:
        """What is known of it, flat, by names that carry their units."""
        found = {name: value for name, value in self._asdict().items() if not isinstance(value, tuple)}
        found |= self.water._asdict() | {"signs": ", ".join(self.signs)}
        return {name: value for name, value in found.items() if value is not None and value != ""}


class Judgement(NamedTuple):
    """One hour: its state, and where it is suspected a proposed class. `confidence` is that of the state, 0 to 1."""

    start_us: int
    state: State
    confidence: float
    evidence: Evidence
    proposal: Proposal | None = None
