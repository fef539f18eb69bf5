"""Instants at which things are looked at again, against a plain dictionary."""

from __future__ import annotations

from itertools import islice

from headwall.rules.wakes import Wakes
from hypothesis import given
from hypothesis import strategies as st

_SET = st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 9))
_TAKE = st.tuples(st.integers(0, 9), st.integers(0, 4))


@given(st.lists(_SET | _TAKE, max_size=40))
def test_each_name_wakes_at_the_last_instant_that_it_was_given(done: list[tuple[str | int, int | None]]) -> None:
    wakes, plain = Wakes(), dict[str, int]()
    for first, second in done:
        if isinstance(first, str):
            wakes.set(first, second)
            plain.pop(first, None)
            if second is not None:
                plain[first] = second
        else:
            come = sorted((at_us, name) for name, at_us in plain.items() if at_us <= first)
            taken = list(islice(wakes.take(first), second))
            assert [(plain.pop(name), name) for name in taken] == come[:second]
        assert wakes.next_us() == min(plain.values(), default=None)
        assert {name: wakes.at_us(name) for name in "abcd"} == {name: plain.get(name) for name in "abcd"}
