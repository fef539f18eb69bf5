"""Which duty belongs to which storm: a pure function, so a table of cases and a property."""

from __future__ import annotations

from typing import NamedTuple

from headwall.rules.matching import KnownSpan, match
from hypothesis import given
from hypothesis import strategies as st


class Storm(NamedTuple):
    start_us: int
    end_us: int


def _duty(number: int, start: int, end: int, *, counted: int | None = None, is_open: bool = True) -> KnownSpan:
    return KnownSpan(number, is_open, start if counted is None else counted, start, end, end)


def test_a_storm_that_grew_keeps_its_duty() -> None:
    matched = match([_duty(1, 10, 20)], [Storm(5, 30)])
    assert (matched.kept, matched.new, matched.twins, matched.gone) == ([(1, Storm(5, 30))], [], [], [])


def test_two_duties_of_one_storm_leave_the_older() -> None:
    matched = match([_duty(1, 10, 20), _duty(2, 30, 40)], [Storm(10, 40)])
    assert (matched.kept, matched.twins) == ([(1, Storm(10, 40))], [(2, 1)])


def test_an_open_duty_survives_a_closed_one() -> None:
    matched = match([_duty(1, 10, 20, is_open=False), _duty(2, 30, 40)], [Storm(10, 40)])
    assert (matched.kept, matched.twins) == ([(2, Storm(10, 40))], [(1, 2)])


def test_a_split_storm_leaves_the_duty_where_its_crossing_is() -> None:
    matched = match([_duty(1, 10, 40)], [Storm(10, 20), Storm(30, 40)])
    assert (matched.kept, matched.new) == ([(1, Storm(30, 40))], [Storm(10, 20)])


def test_a_duty_moves_to_the_storm_whose_rain_it_had_counted() -> None:
    matched = match([_duty(1, 30, 40, counted=5)], [Storm(10, 20)])
    assert matched.kept == [(1, Storm(10, 20))]


def test_a_duty_does_not_move_to_a_storm_it_had_not_counted() -> None:
    matched = match([_duty(1, 30, 40)], [Storm(10, 20), Storm(50, 60)])
    assert (matched.gone, matched.new) == ([1], [Storm(10, 20), Storm(50, 60)])


_SPAN = st.tuples(st.integers(0, 100), st.integers(0, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))


_DUTY = st.tuples(_SPAN, st.integers(0, 20), st.booleans())


@given(spans=st.lists(_DUTY, max_size=6), cuts=st.sets(st.integers(0, 130)))
def test_every_duty_and_storm_ends_in_exactly_one_place(
    spans: list[tuple[tuple[int, int], int, bool]], cuts: set[int]
) -> None:
    duties = [
        _duty(number, start, end, counted=start - back, is_open=is_open)
        for number, ((start, end), back, is_open) in enumerate(spans, 1)
    ]
    edges = sorted(cuts)
    storms = [Storm(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    matched = match(duties, storms)
    places = [n for n, _ in matched.kept] + [n for n, _ in matched.twins] + matched.gone
    assert sorted(places) == [duty.duty for duty in duties]
    assert sorted([*(storm for _, storm in matched.kept), *matched.new]) == storms
    survivors = {number for number, _ in matched.kept}
    assert all(into in survivors for _, into in matched.twins)
