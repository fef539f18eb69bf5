"""A year of sites in five municipalities, made by chance from a seed: who is where, and all that happens.

Construction sites that share gauges, septic systems, outfalls; storms of a whole year; reports that come in time, late
and never; approvals, suspensions, cases with notices and appeals; officers, one of whom serves two municipalities. A
list of plain happenings: `law_year_play` plays it through Headwall, an oracle in the tests works out what must
come of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

NEW_YORK: Final = ZoneInfo("America/New_York")
YEAR: Final = 2026
SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
#: municipality → its officer, its deputy, and the shares of its construction sites, septic systems and outfalls in 100
TOWNS: Final = {
    "hillburn": ("vera", "", (0, 18, 8)),
    "bayville": ("bruno", "", (0, 17, 8)),
    "elmsford": ("ruth", "dana", (13, 0, 8)),
    "north-castle": ("nora", "", (12, 0, 8)),
    "horseheads": ("vera", "", (0, 0, 8)),
}
_SITES_A_GAUGE: Final = 8
_SITES_A_CONTRACTOR: Final = 6
_JUDGE_US: Final = 15 * MINUTE_US  # a board sends what has come in so long
_STORMS: Final = 75
_BEFORE: Final = -1  # when what was entered before the begin comes
_ABOUT: Final = ("gauge", "person")  # what a happening that names no site is about


@dataclass(frozen=True)
class Place:
    """A site.

    Attributes:
        states: (status, from, to), without holes; the last is open.
        area, work_us, stabilised_us, conditions: of its project; None where it has none or has not ended.
        contractor: the trained contractor; "" where the registry has none.
    """

    id: str
    kind: str
    town: str
    states: tuple[tuple[str, int, int | None], ...]
    gauge: str = ""
    area: str = ""
    work_us: int = 0
    stabilised_us: int | None = None
    conditions: tuple[str, ...] = ()
    contractor: str = ""

    def status_at(self, at_us: int) -> str:
        return next(
            (each for each, start, end in self.states if start <= at_us and (end is None or at_us < end)), "none"
        )


@dataclass(frozen=True)
class Happening:
    """Something that comes to the gateway at an instant; `more` as its kind has it."""

    at_us: int
    what: str
    site: str = ""
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    begins_us: int
    ends_us: int
    places: tuple[Place, ...]
    gauges: tuple[str, ...]
    happenings: tuple[Happening, ...]

    @property
    def towns(self) -> tuple[str, ...]:
        """The municipalities that have a site."""
        having = {place.town for place in self.places}
        return tuple(town for town in TOWNS if town in having)

    def by_officer(self) -> list[World]:
        """The same in parts, one for each officer: those of different officers share no person and no gauge."""
        officers = dict.fromkeys(TOWNS[town][0] for town in self.towns)
        return [self._of({town for town in self.towns if TOWNS[town][0] == officer}) for officer in officers]

    def _of(self, towns: set[str]) -> World:
        places = tuple(place for place in self.places if place.town in towns)
        gauges = tuple(sorted({place.gauge for place in places if place.gauge}))
        known = {*gauges, *(place.id for place in places), *(place.contractor for place in places)}
        mine = (each for each in self.happenings if known & {each.site, *map(each.more.get, _ABOUT)} - {""})
        return World(self.begins_us, self.ends_us, places, gauges, tuple(mine))


def local_us(day: date, at: time = time()) -> int:
    """The instant of a local time."""
    return round(datetime.combine(day, at, tzinfo=NEW_YORK).timestamp()) * SECOND_US


def make(seed: int, sites: int, days: int = 365) -> World:
    """The year, or its first days. Before its begin stands what was entered before."""
    return _Maker(seed, sites, days).world()


class _Maker:
    def __init__(self, seed: int, sites: int, days: int) -> None:
        self._chance = random.Random(seed)
        self._sites = sites
        self._begins_us = local_us(date(YEAR, 1, 1), time(0, 30))
        self._ends_us = local_us(date(YEAR, 1, 1) + timedelta(days=days), time(0, 30))
        self._storms = max(1, _STORMS * days // 365)

    def world(self) -> World:
        places = [place for town in TOWNS for place in self._places(town)]
        gauges = sorted({place.gauge for place in places if place.gauge})
        found = [each for each in self._rain(gauges) if each.at_us < self._ends_us]
        for place in places:
            of_kind = {"construction": self._built, "septic": self._tank, "outfall": self._outfall}[place.kind]
            found += [each for each in (*of_kind(place), *self._spill(place)) if each.at_us < self._ends_us]
        for person in sorted({place.contractor for place in places if place.contractor}):
            found += [each for each in self._trained(person) if each.at_us < self._ends_us]
        # nothing comes in the days before, in which some work has begun already
        found = [each for each in found if each.at_us == _BEFORE or each.at_us >= self._begins_us]
        found.sort(key=lambda each: each.at_us)
        return World(self._begins_us, self._ends_us, tuple(places), tuple(gauges), tuple(found))

    # --- places ---

    def _places(self, town: str) -> Iterator[Place]:
        short = town[:3]
        for kind, share in zip(("construction", "septic", "outfall"), TOWNS[town][2], strict=True):
            for n in range(max(1, self._sites * share // 100) if share else 0):
                name = f"{short}-{kind[:3]}-{n:03}"
                if kind == "construction":
                    yield self._construction(name, town, n)
                else:
                    yield Place(name, kind, town, (("active", 0, None),))

    def _construction(self, name: str, town: str, n: int) -> Place:
        chance = self._chance
        first = date(YEAR, 1, 1) + timedelta(days=chance.randint(-4, 150))
        work_us = local_us(first, time(8))
        since_us, end_us = local_us(date(YEAR - 1, 1, 1)), None
        states: list[tuple[str, int, int | None]] = [("active", since_us, None)]
        if chance.random() < 0.4:  # shut down for a while
            down_us = local_us(first + timedelta(days=chance.randint(20, 120)))
            up_us = local_us(first + timedelta(days=chance.randint(130, 190)))
            states = [("active", since_us, down_us), ("shut_down", down_us, up_us), ("active", up_us, None)]
        if chance.random() < 0.4:  # over in the course of the year
            over = first + timedelta(days=chance.randint(195, 320))
            end_us = local_us(over) if chance.random() < 0.5 else None
            closed_us = local_us(over)
            states = [*states[:-1], ("active", states[-1][1], closed_us), ("closed", closed_us, None)]
        return Place(
            id=name,
            kind="construction",
            town=town,
            states=tuple(states),
            gauge=f"gauge-{n // _SITES_A_GAUGE:03}" if town == "elmsford" else "",
            area=chance.choice(("0.5 acre", "2 acres", "4 acres", "4 acres", "7 acres")),
            work_us=work_us,
            stabilised_us=end_us,
            conditions=chance.choice(((), (), ("A",), ("C",))) if town == "elmsford" else (),
            contractor=f"{town[:3]}-contractor-{n // _SITES_A_CONTRACTOR:02}" if chance.random() < 0.5 else "",
        )

    # --- rain ---

    def _rain(self, gauges: list[str]) -> Iterator[Happening]:
        chance = self._chance
        at_us = self._begins_us + 2 * DAY_US
        apart_us = (self._ends_us - at_us) // self._storms
        for _ in range(self._storms):
            start_us = at_us + chance.randrange(0, apart_us)  # two may lie near each other
            over_us, base = chance.randint(2, 12) * HOUR_US, chance.choice((8, 15, 25, 35, 46, 55, 70, 120))
            for gauge in gauges:
                tips = self._tips(start_us + chance.randrange(0, 40) * MINUTE_US, over_us, base)
                yield from self._sent(gauge, tips)
            at_us += apart_us

    def _tips(self, start_us: int, over_us: int, base: int) -> list[int]:
        """Instants on whole seconds. Depths that only a correction for what buckets miss brings near are left out."""
        count = round(base * self._chance.uniform(0.85, 1.25))
        count = 38 if 38 < count < 45 else count
        seconds = self._chance.sample(range(over_us // SECOND_US), count)
        return [start_us // SECOND_US * SECOND_US + second * SECOND_US for second in sorted(seconds)]

    def _sent(self, gauge: str, tips: list[int]) -> Iterator[Happening]:
        """Most in packs as it rains; after an outage all at once, or the newest first and the rest hours later."""
        late = self._chance.random()
        behind = tips if late < 0.05 else tips[: len(tips) // 3] if late < 0.12 else []
        packs: dict[int, list[int]] = {}
        for tip in tips[len(behind) :]:
            packs.setdefault(tip // _JUDGE_US, []).append(tip)
        for quarter, pack in packs.items():
            yield Happening((quarter + 1) * _JUDGE_US + 131 * SECOND_US, "rain", more={"gauge": gauge, "tips": pack})
        if behind:
            at_us = tips[-1] // _JUDGE_US * _JUDGE_US + self._chance.randint(3, 9) * HOUR_US + 251 * SECOND_US
            yield Happening(at_us, "rain", more={"gauge": gauge, "tips": behind})

    # --- spills ---

    def _spill(self, place: Place) -> Iterator[Happening]:
        """Calls at once, all that is owed, and the case is closed; or some calls, late or never; or nothing at all."""
        chance = self._chance
        if chance.random() > (0.5 if place.kind == "outfall" else 0.12):
            return
        day = date(YEAR, 1, 1) + timedelta(days=chance.randint(1, 350))
        at_us = self._odd(local_us(day))

        def after(minutes: int, what: str, **more: Any) -> Happening:
            return Happening(at_us + minutes * MINUTE_US + chance.randint(1, 29) * SECOND_US, what, place.id, more)

        yield Happening(at_us, "spill", place.id)
        how = chance.choice(("kept", "kept", "late", "never"))
        if chance.random() < 0.3:
            yield after(chance.choice((2, 9, 70)), "spill_seen")
        if how == "never":
            return
        hazard = chance.choice(("hazardous", "nonhazardous"))
        calls = (2, 30, 200) if how == "kept" else (40, 300, 6000)
        for minutes, to in zip(calls, ("dispatch", "hotline", "municipality"), strict=True):
            if how == "kept" or chance.random() < 0.6:
                yield after(minutes, "spill_call", to=to)
        yield after(60 if how == "kept" else 700, "spill_classed", hazard=hazard)
        if how == "kept" or chance.random() < 0.5:
            yield after(1500 if how == "kept" else 12000, "spill_written")
        if how == "kept":
            yield after(4000, "spill_closed")

    # --- construction sites ---

    def _built(self, place: Place) -> Iterator[Happening]:
        chance = self._chance
        over_us = min(
            place.stabilised_us or self._ends_us, place.states[-1][1] if len(place.states) % 2 == 0 else self._ends_us
        )
        yield Happening(self._odd(place.work_us + chance.randint(1, 20) * DAY_US), "plan_seen", place.id)
        if place.contractor:
            yield from self._certified(place)
        if chance.random() < 0.2:
            yield from self._presence(place)
        style = chance.choice(("prompt", "prompt", "prompt", "late", "stops"))
        at_us = place.work_us
        while at_us < over_us:
            days = chance.choice((3, 5, 6, 7) if style != "late" else (6, 7, 8, 10))
            if style == "stops" and chance.random() < 0.06:
                return
            at_us = self._odd(at_us + days * DAY_US)
            roles = ["trained_contractor"] if chance.random() < 0.25 else ["trained_contractor", "qualified_inspector"]
            if self._steady(place, at_us, at_us):
                entered_us = at_us + chance.randint(1, 90) * MINUTE_US
                lies_us = self._odd(at_us + chance.randint(2, 9) * DAY_US)
                if chance.random() < 0.15 and lies_us < over_us and self._steady(place, at_us, lies_us):
                    entered_us = lies_us  # others are entered before it
                yield Happening(entered_us, "report", place.id, {"done": at_us, "roles": roles})
            if chance.random() < 0.35:
                yield Happening(self._odd(at_us + 2 * DAY_US), "storm_reports", place.id)
            if chance.random() < 0.15:
                yield Happening(self._odd(at_us + 3 * DAY_US), "seen", place.id)

    def _presence(self, place: Place) -> Iterator[Happening]:
        """Who was there, entered for a week at its end or after it, for some weeks; now and then a day is missing, or
        nobody who is trained was there."""
        chance = self._chance
        begins = _day_of(place.work_us) + timedelta(days=chance.randint(0, 60))
        monday = begins - timedelta(days=begins.weekday())
        for _ in range(chance.randint(3, 9)):
            days = [monday + timedelta(days=n) for n in range(5)]
            days = [day for day in days if chance.random() > 0.04]
            bare = [day for day in days if chance.random() < 0.03]
            at_us = self._odd(local_us(monday) + chance.choice((4, 4, 4, 8, 15)) * DAY_US) + 9 * HOUR_US
            told = {day.isoformat(): day not in bare for day in days}
            yield Happening(at_us, "present", place.id, {"days": told})
            monday += timedelta(days=7)

    def _steady(self, place: Place, since_us: int, until_us: int) -> bool:
        """Whether nothing of the place changes about that time: who reports then would be asked twice."""
        changes = (start for _, start, _ in place.states)
        return not any(since_us - DAY_US < each <= until_us + DAY_US for each in changes)

    def _odd(self, at_us: int) -> int:
        """Some time of that working day, never on a whole minute."""
        day = datetime.fromtimestamp(at_us // SECOND_US, NEW_YORK).date()
        seconds = self._chance.randrange(8 * 3600, 17 * 3600) // 60 * 60 + self._chance.randint(1, 59)
        return local_us(day, time(seconds // 3600, seconds // 60 % 60, seconds % 60))

    def _certified(self, place: Place) -> Iterator[Happening]:
        """Most have signed before the year begins, some later, some never."""
        signed = self._chance.choice(("before", "before", "before", "later", "never"))
        if signed == "before":
            yield Happening(
                _BEFORE, "certified", place.id, {"person": place.contractor, "done": self._begins_us - DAY_US}
            )
        elif signed == "later":
            at_us = self._odd(place.work_us + self._chance.randint(-3, 20) * DAY_US)
            if at_us > self._begins_us:
                yield Happening(at_us, "certified", place.id, {"person": place.contractor, "done": at_us})

    def _trained(self, person: str) -> Iterator[Happening]:
        """Training, the time of which is over in the course of the year, and again, in time or late or never."""
        chance, day = self._chance, date(YEAR, 1, 1)
        if chance.random() < 0.8:
            done_us = self._odd(local_us(day - timedelta(days=chance.randint(730, 1090))))
            yield Happening(_BEFORE, "trained", more={"person": person, "done": done_us})
        if chance.random() < 0.7:
            at_us = self._odd(local_us(day + timedelta(days=chance.randint(5, 360))))
            yield Happening(at_us, "trained", more={"person": person, "done": at_us})

    # --- septic systems ---

    def _tank(self, place: Place) -> Iterator[Happening]:
        chance, before = self._chance, _BEFORE
        day = date(YEAR, 1, 1)
        if chance.random() < 0.5:
            declared_us = local_us(day + timedelta(days=chance.randint(-300, -20)), time(9, 3, 7))
            yield Happening(before, "declared", place.id, {"from": declared_us})
        elif chance.random() < 0.3:
            at_us = self._odd(local_us(day + timedelta(days=chance.randint(10, 300))))
            yield Happening(at_us, "declared", place.id, {"from": at_us})
        if chance.random() < 0.5:
            pumped_us = self._odd(local_us(day - timedelta(days=chance.randint(100, 1000))))
            yield Happening(before, "pumped", place.id, {"done": pumped_us})
        if chance.random() < 0.3:
            done_us = self._odd(local_us(day - timedelta(days=chance.randint(30, 360))))
            yield Happening(before, "measured", place.id, {"done": done_us})
        for _ in range(chance.choice((0, 1, 1))):
            at_us = self._odd(local_us(day + timedelta(days=chance.randint(20, 360))))
            yield Happening(at_us + chance.randint(1, 90) * MINUTE_US, "measured", place.id, {"done": at_us})
        if chance.random() < 0.2:
            yield Happening(self._odd(local_us(day + timedelta(days=chance.randint(20, 360)))), "seen", place.id)
        if chance.random() < 0.3:
            at_us = self._odd(local_us(day + timedelta(days=chance.randint(20, 360))))
            yield Happening(at_us, "pumped", place.id, {"done": at_us})

    # --- outfalls ---

    def _outfall(self, place: Place) -> Iterator[Happening]:
        chance, day = self._chance, date(YEAR, 1, 1)
        if chance.random() < 0.4:
            at_us = self._odd(local_us(day + timedelta(days=chance.randint(5, 340))))
            yield Happening(at_us, "suspended", place.id)
            if chance.random() < 0.7:
                yield Happening(self._odd(at_us + chance.randint(1, 6) * DAY_US), "reasons", place.id)
            yield Happening(self._odd(at_us + chance.randint(7, 60) * DAY_US), "reinstated", place.id)
        if chance.random() < 0.4:
            yield from self._dye_test(place, self._odd(local_us(day + timedelta(days=chance.randint(1, 340)))))
        if chance.random() < 0.4:
            yield from self._discharge(place, self._odd(local_us(day + timedelta(days=chance.randint(1, 340)))))
        if chance.random() < 0.6:
            yield from self._case(place, self._odd(local_us(day + timedelta(days=chance.randint(5, 250)))))

    def _dye_test(self, place: Place, at_us: int) -> Iterator[Happening]:
        """Entered ahead of the test; told with it, or later, after the test too, or never."""
        chance = self._chance
        test_us = self._odd(at_us + chance.choice((1, 2, 3, 9)) * DAY_US)
        told = chance.choice(("at once", "at once", "later", "late", "never"))
        yield Happening(at_us, "dye_test", place.id, {"test": test_us, "told": told == "at once"})
        if told == "later":
            yield Happening(
                chance.randrange(at_us // SECOND_US + 1, test_us // SECOND_US) * SECOND_US, "dye_told", place.id
            )
        elif told == "late":
            yield Happening(self._odd(test_us + chance.randint(1, 4) * DAY_US), "dye_told", place.id)

    def _discharge(self, place: Place, at_us: int) -> Iterator[Happening]:
        """Approved for some days; now and then it ends before."""
        days = self._chance.choice((1, 3, 10, 20))
        ends_us = self._odd(at_us + days * DAY_US)
        yield Happening(at_us, "discharge", place.id, {"to": ends_us})
        if self._chance.random() < 0.3:
            over_us = self._chance.randrange(at_us // SECOND_US + 60, ends_us // SECOND_US) * SECOND_US
            yield Happening(over_us, "discharge_ended", place.id)

    def _case(self, place: Place, at_us: int) -> Iterator[Happening]:
        """Opened and confirmed; dismissed, or a notice with a day to correct, which is met, missed or appealed.

        It is closed, if at all, once everything was done: the code keeps it open before.
        """
        chance = self._chance

        def step(days: int, action: str, **more: Any) -> Happening:
            nonlocal at_us
            at_us = self._odd(at_us + days * DAY_US)
            return Happening(at_us, "case_step", place.id, {"action": action, **more})

        yield Happening(at_us, "case_open", place.id)
        ends = chance.choice(("dismissed", "corrected", "corrected", "missed", "appealed", "appealed"))
        if ends == "dismissed":
            yield step(2, "dismiss")
            return
        yield step(1, "confirm")
        yield step(1, "serve", correct_by=local_us(_day_of(at_us) + timedelta(days=20), time(16, 30)))
        if chance.random() < 0.3:
            yield Happening(self._odd(at_us + DAY_US) + SECOND_US, "case_seen", place.id)
        if ends == "appealed":
            yield step(4, "appeal")
            yield step(chance.choice((8, 29, 40)), "hear")
            yield step(3, "decide", outcome="withdrawn")
            yield step(chance.choice((1, 12)), "abate", outcome="owner")
        elif ends == "corrected":
            yield step(chance.randint(3, 17), "abate", outcome="owner")
        else:
            yield step(chance.randint(23, 40), "abate", outcome="owner")
        if chance.random() < 0.8:
            yield step(4, "close")


def _day_of(at_us: int) -> date:
    return datetime.fromtimestamp(at_us // SECOND_US, NEW_YORK).date()
