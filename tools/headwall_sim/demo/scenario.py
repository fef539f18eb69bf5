"""What happens in the demo: four boards, one 24-hour design storm, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

from headwall.clock import to_us

ZONE: Final = ZoneInfo("America/New_York")
#: midnight of the day it rains; a Tuesday
STORM_START: Final = datetime(2026, 6, 9, tzinfo=ZONE)
#: boards are switched on half an hour before
START_US: Final = to_us(STORM_START) - 30 * 60_000_000
#: the officer's digest of 07:00 on the day after has gone out by then, and the reminder four hours before the first
#: report is due
END_US: Final = to_us(datetime(2026, 6, 10, 7, 55, tzinfo=ZONE))
#: who takes the gauges out of commissioning, before the storm
ACCEPTED_BY: Final = "Sam Okafor"


def storm_us(hours: float) -> int:
    """The instant so many hours after the storm began."""
    return to_us(STORM_START) + round(hours * 3_600_000_000)


@dataclass(frozen=True)
class DemoBoard:
    """One board of the demo.

    Attributes:
        tips: tips of 0.01 in that the design storm drives its bucket with.
        outages_us: stretches without network.
        cuts_us: after each of these instants, power is lost in the middle of the next write to flash.
        power_off: how long the board stays without power each time.
        duty, near, silent: how many of each must come of it.
    """

    name: str
    mac: str
    tips: int
    story: str
    mode: Literal["mains", "battery"] = "mains"
    outages_us: tuple[tuple[int, int], ...] = ()
    cuts_us: tuple[int, ...] = ()
    power_off: timedelta = timedelta(minutes=2)
    duty: int = 0
    near: int = 0
    silent: int = 0


BOARDS: Final = (
    DemoBoard(
        "board-a",
        "240ac400000a",
        tips=120,
        story="1.20 in; no network from 10:40 to 14:10",
        outages_us=((storm_us(10 + 40 / 60), storm_us(14 + 10 / 60)),),
        duty=1,
        silent=1,
    ),
    DemoBoard("board-b", "240ac400000b", tips=49, story="0.49 in: one tip short", near=1),
    DemoBoard(
        "board-c",
        "240ac400000c",
        tips=60,
        story="0.60 in; loses power three times while it writes",
        cuts_us=(storm_us(8.1), storm_us(12.05), storm_us(15.4)),
        duty=1,
    ),
    DemoBoard(
        "board-d", "240ac400000d", tips=75, story="0.75 in on battery: asleep between tips", mode="battery", duty=1
    ),
)
