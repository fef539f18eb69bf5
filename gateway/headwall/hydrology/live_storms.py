"""Storms of one gauge while rain comes in: in any order, in batches of any size, with the result of `storms.fold`.

What is kept are wet spells: rain with no dry gap of `StormRule.memory_us` in it, which can be folded by themselves. A
reading in order extends the last spell at a constant cost, whatever came before. Late rain folds anew the spell it
falls into (or those it joins), once a batch: its cost is that of the spell, never of the history. `forget` lets go of
spells that are over, so that memory does not grow either.

Rain of one instant is folded in order of amount, so that the order in which it came cannot show.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain

from headwall.hydrology.storms import Folded, Rain, Storm, StormRule, StormState, Trigger


class WetSpell:
    """Rain to be folded by itself, and the storms and triggers in it so far, in order of time.

    It is replaced, not changed, by late rain.
    """

    def __init__(self, rule: StormRule, first: Rain) -> None:
        self.rain: list[Rain] = []
        self.storms: list[Storm] = []
        self.triggers: list[Trigger] = []
        self._state = StormState(rule)
        self.extend(first)

    @property
    def first_us(self) -> int:
        return self.rain[0].time_us

    @property
    def last_us(self) -> int:
        return self.rain[-1].time_us

    def extend(self, rain: Rain) -> None:
        """Take the next rain in order."""
        step = self._state.add(*rain)
        self.rain.append(rain)
        if self._state.storm is not None and (not self.storms or self.storms[-1] is not self._state.storm):
            self.storms.append(self._state.storm)
        if step.trigger:
            self.triggers.append(step.trigger)


class LiveStorms:
    """Takes rain as it comes; `folded` is at any time what `storms.fold` gives of all of it in order."""

    def __init__(self, rule: StormRule) -> None:
        self.rule = rule
        self.spells: list[WetSpell] = []
        self._forgotten_us: int | None = None

    def add(self, rain: Iterable[tuple[int, int]]) -> list[WetSpell]:
        """Take a batch of (time in µs, quanta) in any order; returns the spells it changed, in order of time.

        Raises:
            ValueError: a negative amount, or rain of a time that is forgotten; nothing of the batch is taken then.
        """
        batch = sorted(Rain(*each) for each in rain)
        for time_us, amount in batch:
            if amount < 0:
                raise ValueError(f"rain of {amount} quanta at {time_us} is negative")
        batch = [each for each in batch if each.amount]
        if batch and self._forgotten_us is not None and batch[0].time_us < self._forgotten_us:
            raise ValueError(f"rain at {batch[0].time_us} is older than what is kept; fold its spell from the ledger")
        changed: list[WetSpell] = []
        for part in self._apart(batch):
            spell = self._append(part) or self._insert(part, changed)
            if not (changed and changed[-1] is spell):
                changed.append(spell)
        return changed

    @property
    def folded(self) -> Folded:
        """Storms and triggers of all that is kept."""
        return Folded(
            [storm for spell in self.spells for storm in spell.storms],
            [trigger for spell in self.spells for trigger in spell.triggers],
        )

    def forget(self, before_us: int) -> None:
        """Let go of the spells that no rain from `before_us` on can touch; older rain is refused from now on."""
        over = bisect_right(self.spells, before_us - self.rule.memory_us, key=lambda spell: spell.last_us)
        del self.spells[:over]
        self._forgotten_us = max(before_us, self._forgotten_us or before_us)

    def _apart(self, rain: Iterable[Rain]) -> Iterator[list[Rain]]:
        """Rain in order, cut at dry gaps after which nothing before counts."""
        part: list[Rain] = []
        for each in rain:
            if part and each.time_us - part[-1].time_us >= self.rule.memory_us:
                yield part
                part = []
            part.append(each)
        if part:
            yield part

    def _append(self, part: list[Rain]) -> WetSpell | None:
        """Take rain in order, without a long gap in it, that follows on all there is; None if it does not."""
        last = self.spells[-1] if self.spells else None
        if last is not None and part[0] < last.rain[-1]:
            return None
        if last is None or part[0].time_us - last.last_us >= self.rule.memory_us:
            self.spells.append(self._folded(part))
            return self.spells[-1]
        for each in part:
            last.extend(each)
        return last

    def _insert(self, part: list[Rain], changed: list[WetSpell]) -> WetSpell:
        """Take late rain: one spell anew in place of those that it joins, which are struck off the changed ones."""
        near = slice(self._first_near(part[0].time_us), self._end_near(part[-1].time_us))
        joined = self.spells[near]
        while changed and any(changed[-1] is spell for spell in joined):
            changed.pop()
        spell = self._folded(merge(chain.from_iterable(spell.rain for spell in joined), part))
        self.spells[near] = [spell]
        return spell

    def _folded(self, rain: Iterable[Rain]) -> WetSpell:
        each = iter(rain)
        spell = WetSpell(self.rule, next(each))
        for one in each:
            spell.extend(one)
        return spell

    def _first_near(self, time_us: int) -> int:
        """Index of the first spell that rain at an instant joins, or that comes after it."""
        return bisect_right(self.spells, time_us - self.rule.memory_us, key=lambda spell: spell.last_us)

    def _end_near(self, time_us: int) -> int:
        """Index behind the last spell that rain at an instant joins, or that comes before it."""
        return bisect_left(self.spells, time_us + self.rule.memory_us, key=lambda spell: spell.first_us)
