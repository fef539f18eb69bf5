"""The hyetograph as drawn: what is in the picture, read back from its pixels."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from headwall.notify.hyetograph import StormPicture, bar_step_us, draw
from headwall.rules.facts import Gap
from headwall.units import parse_depth
from PIL import Image
from support.mail_facts import CROSSING_US, HOUR_US, MINUTE_US, ZONE, at, storm_tips

TOTAL, TRIGGER, BAR = (11, 61, 102), (179, 38, 30), (127, 178, 217)


def picture(instants: Sequence[int], *, title: str = "Rain at the gauge", gaps: Sequence[Gap] = ()) -> StormPicture:
    return StormPicture(
        rain=[(instant, 1) for instant in instants],
        quantum=parse_depth("0.01 in"),
        trigger=parse_depth("0.5 in"),
        crossing_us=CROSSING_US,
        until_us=instants[-1],
        gaps=gaps,
        zone=ZONE,
        title=title,
    )


def pixels(storm: StormPicture) -> Image.Image:
    return Image.open(io.BytesIO(draw(storm))).convert("RGB")


def counts_by_row(image: Image.Image, colour: tuple[int, int, int]) -> list[int]:
    """How many pixels of a colour each row of the plot has, top row first."""
    plot = image.crop((110, 40, 930, 460))
    data = plot.load()
    assert data is not None
    return [sum(data[x, y] == colour for x in range(plot.width)) for y in range(plot.height)]


def heights(image: Image.Image) -> tuple[int, int]:
    """The rows of the trigger line and of the end of the running total; a smaller number is higher up."""
    trigger = counts_by_row(image, TRIGGER)
    total = counts_by_row(image, TOTAL)
    return trigger.index(max(trigger)), next(row for row, count in enumerate(total) if count)


def test_total_passes_the_trigger_line_where_the_depth_was_reached_and_not_elsewhere() -> None:
    reached, below = pixels(picture(storm_tips(63))), pixels(picture(storm_tips(40)))
    assert reached.size == below.size == (1024, 528)
    trigger, total = heights(reached)
    assert total < trigger
    trigger, total = heights(below)
    assert total > trigger
    assert any(counts_by_row(reached, BAR))


def test_gap_is_shaded() -> None:
    tips = storm_tips(63)
    gap = Gap(tips[20], tips[30])
    assert pixels(picture(tips)).tobytes() != pixels(picture(tips, gaps=[gap])).tobytes()


def test_place_with_signs_of_mathematics_is_drawn_as_it_is() -> None:
    draw(picture(storm_tips(50), title=r"Rain at the gauge $\frac{ lot _3_ ^ $ & <b>"))


@pytest.mark.parametrize(("hours", "minutes"), [(3, 15), (36, 15), (37, 60), (200, 60)])
def test_long_storms_have_hourly_bars(hours: int, minutes: int) -> None:
    storm = picture([CROSSING_US, CROSSING_US + hours * HOUR_US])
    assert bar_step_us(storm) == minutes * MINUTE_US
    draw(storm)


@pytest.mark.parametrize("instants", [[CROSSING_US], [at("11-01 00:30"), at("11-01 04:30")]])
def test_single_tip_and_storm_over_a_clock_change_are_drawn(instants: list[int]) -> None:
    assert pixels(picture(instants)).size == (1024, 528)
