"""What must come of a year of `headwall_sim.law_year`, worked out apart: which duty is due when, and what each person
gets in mails on which day. Plain Python over what happens; of Headwall it reads the numbers of the profiles alone.
"""

from __future__ import annotations

import heapq
import tomllib
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from headwall_sim.law_year import TOWNS, Happening, Place, World

_PROFILES: Final = Path(__file__).parents[2] / "gateway/headwall/law/profiles"
_NY: Final = ZoneInfo("America/New_York")
_S: Final = 1_000_000
_H: Final = 3600 * _S
_DAY: Final = 24 * _H
_LEADS_H: Final = (48, 4)
_FOR_EVER: Final = 2**62
#: of 2026 and the days around it, by GCL § 24
_HOLIDAYS: Final = {
    date(2026, month, day)
    for month, days in (
        {1: (1, 19), 2: (12, 16), 5: (25,), 6: (19,), 7: (4,), 9: (7,), 10: (12,), 11: (3, 11, 26), 12: (25,)}.items()
    )
    for day in days
} | {date(2027, 1, 1)}
Fact = tuple[Any, ...]


@cache
def _hour(hour: int) -> datetime:
    """Local time of a whole hour since 1970: the clocks change by whole hours."""
    return datetime.fromtimestamp(hour * 3600, _NY)


def _local(at_us: int) -> datetime:
    """Local time to the hour."""
    return _hour(at_us // _H)


def local_day(at_us: int) -> date:
    return _local(at_us).date()


@cache
def _at(day: date, at: time = time()) -> int:
    return round(datetime.combine(day, at, tzinfo=_NY).timestamp()) * _S


@cache
def _works(day: date) -> bool:
    return day.weekday() < 5 and day not in _HOLIDAYS and not (day.weekday() == 0 and day - timedelta(1) in _HOLIDAYS)


def _next(at_us: int, at: time) -> int:
    day = local_day(at_us)
    return _at(day, at) if _at(day, at) > at_us else _at(day + timedelta(1), at)


@dataclass
class _Duty:
    site: str
    town: str
    clause: str
    due_us: int | None
    at_us: int
    advice: bool = False
    storm: bool = False
    open: bool = True
    seen: bool = False
    told_us: int = 0
    told_to: dict[str, list[_Row]] = field(default_factory=lambda: defaultdict(list))
    known: set[Fact] = field(default_factory=set)


@dataclass
class _Row:
    """One fact for one person."""

    at_us: int
    how: str
    fact: Fact
    due_us: int | None
    storm: tuple[int, int] | None = None
    withdrawn_us: int = _FOR_EVER
    mailed_us: int = _FOR_EVER


@dataclass
class _Case:
    site: str
    town: str
    open: bool = True
    seen: bool = False
    clocks: dict[str, tuple[int, int]] = field(default_factory=dict)  # name → due, told
    known: set[Fact] = field(default_factory=set)
    due_us: int | None = None


class Oracle:
    """Works a year out.

    Attributes:
        posts: what goes to each person, with the instants of the mails.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._now = world.begins_us
        self._tie = count()
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self.posts: dict[str, _Post] = defaultdict(_Post)
        self._duties: list[_Duty] = []
        self._place = {place.id: place for place in world.places}
        self._of_site: dict[str, list[_Duty]] = defaultdict(list)
        self._cases: list[_Case] = []
        self._case_of: dict[str, _Case] = {}
        self._tips: dict[str, list[int]] = defaultdict(list)
        self._on_gauge: dict[str, list[Place]] = defaultdict(list)
        self._storms: dict[str, dict[int, _Duty]] = defaultdict(dict)
        self._noted: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._chains: dict[str, list[_Chain]] = defaultdict(list)
        self._tanks: dict[str, dict[str, Any]] = defaultdict(lambda: {"declared": None, "measured": [], "pumped": []})
        self._held: dict[tuple[Any, ...], _Duty] = {}
        self._spills: dict[str, _Spill] = {}
        self._signed: set[tuple[str, str]] = set()
        self._trainings: dict[str, list[int]] = defaultdict(list)
        self._ended: set[str] = set()
        self._parts: dict[str, list[tuple[int, int]]] = {}
        self._weeks_of: dict[str, list[tuple[date, int, set[date]]]] = defaultdict(list)
        self._there: dict[str, set[date]] = defaultdict(set)  # a trained contractor, says a report
        self._said: dict[str, set[date]] = defaultdict(set)  # somebody has said who was there
        for place in world.places:
            self._on_gauge[place.gauge].append(place)
        self._clauses = {town: self._read(town) for town in TOWNS}

    @staticmethod
    def _read(town: str) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        path = _PROFILES / f"{town.replace('-', '_')}.toml"
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["provision"]:
            found[each["kind"]].append(each)
        return found

    def run(self) -> None:
        early = [each for each in self._world.happenings if each.at_us <= self._world.begins_us]
        for each in early:
            self._take(each)
        for place in self._world.places:
            if place.kind == "septic":
                self._septic(place)
            elif place.kind == "construction":
                self._construction(place)
        for each in self._world.happenings[len(early) :]:
            self._plan(each.at_us, lambda each=each: self._take(each))  # type: ignore[misc]
        day = local_day(self._world.begins_us)
        while (at_us := _at(day, time(6, 59))) < self._world.ends_us:
            self._plan(at_us, self._list)
            day += timedelta(1)
        while self._heap and self._heap[0][0] < self._world.ends_us:
            self._now, _, do = heapq.heappop(self._heap)
            do()
        for post in self.posts.values():
            post.pace(self._world.ends_us)

    def _plan(self, at_us: int, do: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (max(at_us, self._now), next(self._tie), do))

    # --- telling ---

    def _tell(
        self, town: str, how: str, fact: Fact, due_us: int | None = None, group: int = 0, **more: Any
    ) -> list[tuple[str, _Row]]:
        officer, deputy, _ = TOWNS[town]
        line = [each for each in (officer, deputy, "olga") if each]
        if group >= len(line):
            return []
        row = _Row(self._now, how, fact, due_us, **more)
        self.posts[line[group]].add(row)
        return [(line[group], row)]

    def _tell_duty(self, duty: _Duty, fact: Fact, how: str = "", **more: Any) -> None:
        if not how:  # at once what is due soon or was due; what was due a month ago can wait for the morning
            soon = duty.due_us is not None and -30 * _DAY <= duty.due_us - self._now < 48 * _H
            how = "now" if soon and not duty.advice else "digest"
        for person, row in self._tell(duty.town, how, fact, duty.due_us, **more):
            duty.told_to[person].append(row)
        duty.told_us = self._now

    def _opened(self, duty: _Duty) -> _Duty:
        self._duties.append(duty)
        self._of_site[duty.site].append(duty)
        self._tell_duty(duty, ("clause", duty.site, duty.clause, duty.due_us))
        self._remind(duty, duty.due_us, ("duty", duty.site, duty.clause), lambda: duty.open, lambda: duty.told_us)
        return duty

    def _withdraw(self, duty: _Duty) -> bool:
        """Whether nobody has had a mail about it."""
        self.posts[TOWNS[duty.town][0]].pace(self._now - 1)
        nobody = True
        for rows in duty.told_to.values():
            for row in rows:
                if row.mailed_us > self._now:
                    row.withdrawn_us = min(row.withdrawn_us, self._now)
                else:
                    nobody = False
        return nobody

    def _answer(self, duty: _Duty) -> None:
        duty.open = False
        self._withdraw(duty)

    def _gone(self, duty: _Duty) -> None:
        if not duty.open:
            return
        duty.open = False
        if not self._withdraw(duty) and not duty.advice:
            self._tell_duty(duty, ("gone", duty.site, duty.clause, duty.due_us))

    def _remind(
        self,
        of: _Duty | _Case,
        due_us: int | None,
        about: Fact,
        stands: Callable[[], bool],
        told: Callable[[], int],
        *,
        of_clock: str = "",
        at_once: bool = False,
    ) -> None:
        if due_us is None or (isinstance(of, _Duty) and of.advice):
            return
        told_us = told()

        def at(at_us: int, name: str, group: int = 0) -> None:
            def do() -> None:
                holds = stands() and told() == told_us and not (group and of.seen)
                if holds and (of_clock, due_us, name) not in of.known:
                    of.known.add((of_clock, due_us, name))
                    stage = "before" if name.isdigit() else "escalated" if group else "overdue"
                    self._tell(of.town, "now", ("reminder", stage, *about, due_us), due_us, group)

            self._plan(at_us, do)

        for lead in _LEADS_H:
            if due_us - lead * _H >= told_us + lead * _H // 2:
                at(due_us - lead * _H, str(lead))
        if due_us > told_us:
            at(due_us, "overdue")
        for group in (1, 2):
            wait_us = (5, 15)[group - 1] * 60 * _S if at_once else group * 24 * _H
            at(max(due_us, told_us) + wait_us, f"next{group}", group)

    def _list(self) -> None:
        until_us = self._now + 72 * _H
        self._duties = [each for each in self._duties if each.open and not each.advice]
        for town in TOWNS:
            mine = [each for each in self._duties if each.town == town]
            dues = [each.due_us for each in mine]
            overdue = sum(due is not None and due <= self._now for due in dues)
            soon = sum(due is not None and self._now < due <= until_us for due in dues)
            waiting = sum(each.town == town and each.open for each in self._cases)
            if overdue + soon + waiting:
                self._tell(town, "digest", ("list", town, overdue, soon, waiting, len(dues) - overdue - soon))

    # --- what happens ---

    def _take(self, each: Happening) -> None:
        getattr(self, f"_on_{each.what}")(each)

    def _on_seen(self, each: Happening) -> None:
        for duty in self._of_site[each.site]:
            duty.seen |= duty.open

    # --- construction ---

    def _construction(self, place: Place) -> None:
        acres = float(place.area.split()[0])
        if place.town == "elmsford" and acres < 1:
            return
        whole = (place.work_us, place.stabilised_us or _FOR_EVER)
        active = [
            (start, _FOR_EVER if end is None else end) for status, start, end in place.states if status == "active"
        ]
        joined: list[tuple[int, int]] = []
        for start, end in active:
            joined = (
                [*joined[:-1], (joined[-1][0], end)] if joined and joined[-1][1] == start else [*joined, (start, end)]
            )
        parts = [(max(a, whole[0]), min(b, whole[1])) for a, b in joined if max(a, whole[0]) < min(b, whole[1])]
        if whole[0] < whole[1]:
            self._plan(whole[0], lambda: self._clockless(place, "plan_on_site", whole[1]))
        for part in parts:
            if place.town == "north-castle":
                self._plan(part[0], lambda: self._clockless(place, "state_permit", _FOR_EVER, advice=True))
            self._plan(part[0], lambda part=part: self._begin(place, part, acres))  # type: ignore[misc]
        self._weeks(place, parts)
        if place.contractor:
            self._people(place, whole)

    def _clockless(self, place: Place, kind: str, end_us: int, *, advice: bool = False) -> None:
        duty = _Duty(place.id, place.town, self._clauses[place.town][kind][0]["id"], None, self._now, advice)
        self._held[place.id, kind] = self._opened(duty)
        if end_us < _FOR_EVER:
            self._plan(end_us, lambda: self._gone(duty))

    def _begin(self, place: Place, part: tuple[int, int], acres: float) -> None:
        clauses = self._clauses[place.town]
        asked = [(each, "trained_contractor") for each in clauses["seven_day_report"]]
        for each in clauses["qualified_inspector"]:
            wants = bool(place.conditions) if "only_if" in each else acres >= float(each["at_least"].split()[0])
            if wants:
                asked.append((each, "qualified_inspector"))
        for clause, role in asked:
            times, days = clause.get("times", 1), clause["deadlines"][0]["count"]
            chain = _Chain(place, clause["id"], role, part, [part[0]] * times, times, days)
            self._chains[place.id].append(chain)
            self._link(chain)
            if part[1] < _FOR_EVER:
                self._plan(part[1], lambda chain=chain: self._part_ends(chain))  # type: ignore[misc]

    def _link(self, chain: _Chain) -> None:
        chain.duty = self._opened(_Duty(chain.place.id, chain.place.town, chain.clause, chain.due_us, self._now))

    def _part_ends(self, chain: _Chain) -> None:
        assert chain.duty is not None and chain.duty.due_us is not None
        chain.over = True
        if chain.duty.due_us > chain.part[1]:
            self._gone(chain.duty)

    def _on_report(self, each: Happening) -> None:
        done_us = each.more["done"]
        if "trained_contractor" in each.more["roles"]:
            self._trained_there(each.site, local_day(done_us))
            self._nameless(each.site, done_us)
        for chain in self._chains[each.site]:
            if chain.role in each.more["roles"] and chain.part[0] <= done_us < chain.part[1]:
                assert chain.duty is not None and not chain.over
                last_us, first_ones = chain.points[-1], len(chain.points) < 2 * chain.times
                insort(chain.points, done_us)
                if done_us > last_us:
                    self._answer(chain.duty)
                    self._link(chain)
                elif chain.times > 1 and first_ones:  # it is no more one of those that the beginning counts for
                    self._gone(chain.duty)
                    self._link(chain)
                elif chain.due_us != chain.duty.due_us:
                    self._moved(chain.duty, chain.due_us)

    def _moved(self, duty: _Duty, due_us: int) -> None:
        self._withdraw(duty)
        duty.due_us = due_us
        self._tell_duty(duty, ("clause", duty.site, duty.clause, due_us))
        self._remind(duty, due_us, ("duty", duty.site, duty.clause), lambda: duty.open, lambda: duty.told_us)

    def _nameless(self, site: str, at_us: int) -> None:
        """Who is trained is on record while there is work, and not in the registry: asked once who it is."""
        place, key = self._place[site], (site, "nameless")
        begun = (site, "plan_on_site") in self._held and place.work_us <= at_us < (place.stabilised_us or _FOR_EVER)
        if begun and not place.contractor and key not in self._held:
            clause = self._clauses[place.town]["trained_contractor"][0]["id"]
            self._held[key] = self._opened(_Duty(site, place.town, clause, None, self._now, advice=True))

    def _trained_there(self, site: str, day: date) -> None:
        self._there[site].add(day)
        bare = self._held.get((site, "bare", day))
        if bare is not None:
            self._gone(bare)
        if site in self._parts:
            self._there_was(self._place[site])

    def _on_present(self, each: Happening) -> None:
        place, clause = self._place[each.site], self._clauses[self._place[each.site].town]["contractor_presence"]
        for told, trained in each.more["days"].items():
            day = date.fromisoformat(told)
            if trained:
                self._nameless(place.id, _at(day, time(12)))
            works = any(a <= _at(day, time(12)) < b for a, b in self._parts.get(place.id, ()))
            if not trained and works and day not in self._there[place.id]:
                duty = _Duty(place.id, place.town, clause[0]["id"], None, self._now)
                self._held[place.id, "bare", day] = self._opened(duty)
            self._said[place.id].add(day)
        if place.id in self._parts:
            self._there_was(place)

    def _weeks(self, place: Place, parts: list[tuple[int, int]]) -> None:
        """When weeks of work are over: a row of them with holes in the record is asked for by its first."""
        for n, part in enumerate(parts):
            monday = local_day(part[0]) - timedelta(local_day(part[0]).weekday())
            while (over_us := _at(monday + timedelta(7))) < min(self._world.ends_us, part[1]):
                week = [monday + timedelta(n) for n in range(7) if _works(monday + timedelta(n))]
                days = {day for day in week if any(a <= _at(day, time(12)) < b for a, b in parts)}
                if days:
                    self._weeks_of[place.id].append((monday, n, days))
                if over_us > self._world.begins_us:
                    self._plan(over_us, lambda: self._there_was(place))
                monday += timedelta(7)
            if part[1] < _FOR_EVER:
                self._plan(part[1], lambda: self._there_was(place))
        self._parts[place.id] = parts

    def _there_was(self, place: Place) -> None:
        wanted, before = set(), -1
        for monday, part, days in self._weeks_of[place.id]:
            if _at(monday + timedelta(7)) > self._now:
                break
            hole = not days <= self._there[place.id] | self._said[place.id]
            if hole and part != before and self._now < self._parts[place.id][part][1]:
                wanted.add(monday)
            before = part if hole else -1
        clause = self._clauses[place.town]["contractor_presence"][0]["id"]
        for key, duty in self._held.items():
            if key[:2] == (place.id, "week") and duty.open and key[2] not in wanted:
                self._answer(duty)  # or asked no longer, which is told of no advice
        for monday in wanted:
            key = (place.id, "week", monday)
            if key not in self._held:
                self._held[key] = self._opened(_Duty(place.id, place.town, clause, None, self._now, advice=True))

    def _on_plan_seen(self, each: Happening) -> None:
        duty = self._held.get((each.site, "plan_on_site"))
        if duty is not None and duty.open:
            self._answer(duty)

    # --- storms ---

    def _on_rain(self, each: Happening) -> None:
        gauge = each.more["gauge"]
        tips = self._tips[gauge] = sorted(self._tips[gauge] + each.more["tips"])
        first = bisect_right(tips, each.more["tips"][0] - 480 * _H)
        for start_us, end_us, amount, crossing_us in _storms(tips[first:]):
            if end_us < each.more["tips"][0] - 360 * _H:
                continue
            for place in self._on_gauge[gauge]:
                if crossing_us:
                    self._crossed(place, start_us, end_us, crossing_us)
                elif amount >= 45 and tips[-1] - end_us >= 6 * _H and place.status_at(end_us) == "active":
                    self._once("near", place, start_us, end_us)

    def _once(self, what: str, place: Place, start_us: int, end_us: int) -> None:
        known = self._noted[what, place.id]
        if not any(start_us <= each <= end_us for each in known):
            known.append(start_us)
            self._tell(place.town, "digest", (what, place.id))

    def _crossed(self, place: Place, start_us: int, end_us: int, crossing_us: int) -> None:
        if place.status_at(crossing_us) != "active":
            self._once("inactive", place, start_us, end_us)
            return
        due_us = crossing_us + 24 * _H
        known = self._storms[place.id]
        duty = next((known[each] for each in reversed(known) if start_us <= each <= end_us), None)
        late = {"storm": (start_us, end_us)}
        about = ("duty", place.id, self._clauses[place.town]["storm_report"][0]["id"])
        if duty is None:
            duty = _Duty(place.id, place.town, about[2], due_us, self._now, storm=True)
            known[start_us] = duty
            self._duties.append(duty)
            self._of_site[place.id].append(duty)
            fact: Fact = ("storm", place.id, due_us, None)
        elif duty.due_us == due_us:
            for rows in duty.told_to.values():
                for row in rows:
                    row.storm = (start_us, end_us)
            return
        else:
            before_us, duty.due_us = duty.due_us, due_us
            fact = ("storm", place.id, due_us, None if self._withdraw(duty) else before_us)
        self._tell_duty(duty, fact, "now", **late)
        self._remind(duty, due_us, about, lambda: duty.open, lambda: duty.told_us)

    def _on_storm_reports(self, each: Happening) -> None:
        for duty in self._of_site[each.site]:
            if duty.storm:
                duty.open = False

    # --- contractors ---

    def _people(self, place: Place, whole: tuple[int, int]) -> None:
        """What is asked of the contractor: signed before any work; training at its start, and every three years."""
        kind = "contractor_certification"
        if (place.id, kind) not in self._signed:
            self._plan(self._now, lambda: self._clockless(place, kind, whole[1]))
        self._plan(whole[0], lambda: self._training(place))
        if whole[1] < _FOR_EVER:
            self._plan(whole[1], lambda: self._training(place))
        for done_us in self._trainings[place.contractor]:
            self._plan(max(whole[0], _years(done_us, 3) - 60 * _DAY), lambda: self._training(place))

    def _training(self, place: Place) -> None:
        """What stands for one of his sites now."""
        clause, done = (
            self._clauses[place.town]["trained_contractor"][0]["id"],
            sorted(self._trainings[place.contractor]),
        )
        ends_us = place.stabilised_us or _FOR_EVER
        if self._now < place.work_us:
            return
        wanted: dict[tuple[Any, ...], int | None] = {}
        if not done:
            wanted[place.id, "training", None] = None
        elif _years(done[-1], 3) - 60 * _DAY <= self._now:
            wanted[place.id, "training", done[-1]] = _years(done[-1], 3)
        for key, duty in self._held.items():
            if key[:2] != (place.id, "training") or not duty.open:
                continue
            if key not in wanted:
                self._answer(duty)
            elif ends_us <= self._now and (duty.due_us is None or duty.due_us > ends_us):
                self._gone(duty)
        for key, due_us in wanted.items():
            if key not in self._held and (ends_us > self._now or (due_us is not None and due_us <= ends_us)):
                self._held[key] = self._opened(_Duty(place.id, place.town, clause, due_us, self._now))

    def _on_certified(self, each: Happening) -> None:
        key = (each.site, "contractor_certification")
        self._signed.add(key)
        if key in self._held and self._held[key].open:
            self._answer(self._held[key])

    def _on_trained(self, each: Happening) -> None:
        person, done_us = each.more["person"], each.more["done"]
        self._trainings[person].append(done_us)
        if each.at_us <= self._world.begins_us:
            return
        for place in self._world.places:
            if place.contractor == person and place.id in self._parts:
                self._training(place)
                self._plan(_years(done_us, 3) - 60 * _DAY, lambda place=place: self._training(place))  # type: ignore[misc]

    # --- septic systems ---

    def _on_declared(self, each: Happening) -> None:
        self._tanks[each.site]["declared"] = each.more["from"]
        self._again(each)

    def _on_measured(self, each: Happening) -> None:
        self._tanks[each.site]["measured"].append(each.more["done"])
        self._again(each)

    def _on_pumped(self, each: Happening) -> None:
        self._tanks[each.site]["pumped"].append(each.more["done"])
        self._again(each)

    def _again(self, each: Happening) -> None:
        if each.at_us > self._world.begins_us:
            self._septic(self._place[each.site])

    def _septic(self, place: Place) -> None:
        """What stands for a tank now, against what stood before."""
        wanted = dict(self._tank_asks(place))
        known = {key: duty for key, duty in self._held.items() if key[0] == place.id}
        for key, duty in known.items():
            if duty.open and key not in wanted:
                self._answer(duty)
        for key, (clause, due_us, advice) in wanted.items():
            if key not in known:
                self._held[key] = self._opened(_Duty(place.id, place.town, clause, due_us, self._now, advice))

    def _tank_asks(self, place: Place) -> Iterator[tuple[tuple[str, ...], tuple[str, int | None, bool]]]:
        tank, clauses = self._tanks[place.id], self._clauses[place.town]
        inspection = clauses["septic_inspection"][0]["id"]
        done, since_us = sorted(tank["measured"]), tank["declared"]
        if since_us is None:
            last_us = done[-1] if done else None
            due_us = None if last_us is None else _years(last_us, 1)
            yield (place.id, "advice", str(last_us)), (inspection, due_us, True)
        else:
            before = [each for each in done if each < since_us < _years(each, 1)]
            anchor_us = (
                ([*before, since_us][0] if not before else before[-1])
                if not [d for d in done if d >= since_us]
                else done[-1]
            )
            yield (place.id, "yearly", str(anchor_us)), (inspection, _years(anchor_us, 1), False)
        if clauses["pump_out_advice"] and tank["pumped"]:
            clause, last_us = clauses["pump_out_advice"][0]["id"], max(tank["pumped"])
            again_us = _at(_day_years(last_us, 3) + timedelta(1))
            for name, at_us, due_us in (
                ("pump", _years(last_us, 2), _years(last_us, 2)),
                ("pump again", again_us, None),
            ):
                if at_us <= self._now:
                    yield (place.id, name, str(last_us)), (clause, due_us, True)
                elif at_us < self._world.ends_us:
                    self._plan(at_us, lambda: self._septic(place))

    # --- outfalls ---

    def _on_dye_test(self, each: Happening) -> None:
        """Notice is owed before the test; that it comes a day ahead is advice."""
        site, test_us, told_us = each.site, each.more["test"], self._now if each.more["told"] else _FOR_EVER
        town = self._place[site].town
        clause = self._clauses[town]["dye_test"][0]["id"]
        if told_us == _FOR_EVER:
            self._held[site, "dye"] = self._opened(_Duty(site, town, clause, test_us, self._now))
        if test_us - told_us < 24 * _H and test_us > self._now:
            lead = self._held[site, "lead"] = self._opened(_Duty(site, town, clause, None, self._now, advice=True))
            self._plan(test_us, lambda: self._gone(lead))

    def _on_dye_told(self, each: Happening) -> None:
        duty, lead = self._held[each.site, "dye"], self._held[each.site, "lead"]
        self._answer(duty)
        assert duty.due_us is not None
        if duty.due_us - self._now >= 24 * _H:
            self._gone(lead)

    def _on_discharge(self, each: Happening) -> None:
        """Where it is approved for a period, its end is told two days ahead, and no more two days after it."""
        site, to_us = each.site, each.more["to"]
        town = self._place[site].town
        clause = self._clauses[town]["emergency_approval"][0]
        if not clause.get("deadlines"):
            return

        def ends() -> None:
            if site not in self._ended:
                duty = self._opened(_Duty(site, town, clause["id"], to_us, self._now, advice=True))
                self._held[site, "discharge"] = duty
                self._plan(to_us + 48 * _H, lambda: self._gone(duty))

        self._plan(to_us - 48 * _H, ends)

    def _on_discharge_ended(self, each: Happening) -> None:
        self._ended.add(each.site)
        if (each.site, "discharge") in self._held:
            self._answer(self._held[each.site, "discharge"])

    def _on_suspended(self, each: Happening) -> None:
        clause = self._clauses[self._place[each.site].town]["emergency_suspension"][0]
        deadline = next((one for one in clause.get("deadlines", ()) if one["name"] == "reasons"), None)
        if deadline is None:
            return
        town = self._place[each.site].town
        due_us, again_us = (_business(self._now, deadline[name]) for name in ("count", "remind"))
        duty = self._opened(_Duty(each.site, town, clause["id"], due_us, self._now))
        self._held[each.site, "reasons"] = duty
        if again_us not in [due_us - lead * _H for lead in _LEADS_H]:  # else the lead says it
            fact = ("reminder", "before", "duty", duty.site, duty.clause, due_us)
            self._plan(again_us, lambda: duty.open and self._tell(town, "now", fact, due_us, 0))

    def _on_reasons(self, each: Happening) -> None:
        if (each.site, "reasons") in self._held:
            self._answer(self._held[each.site, "reasons"])

    def _on_reinstated(self, each: Happening) -> None:
        """The reasons are owed all the same."""

    def _on_case_open(self, each: Happening) -> None:
        self._case_of[each.site] = _Case(each.site, self._place[each.site].town)
        self._cases.append(self._case_of[each.site])

    def _on_case_seen(self, each: Happening) -> None:
        self._case_of[each.site].seen = True

    def _on_case_step(self, each: Happening) -> None:
        case, action = self._case_of[each.site], each.more["action"]
        if action in ("dismiss", "close"):
            case.open = False
        elif action == "serve":
            self._run_clock(case, "correct_by", each.more["correct_by"])
            case.due_us = each.more["correct_by"]
        elif action == "appeal":
            appeal = next(one for one in self._clauses[case.town]["appeal"] if one["article"] == "illicit")
            days = next(one["count"] for one in appeal["deadlines"] if one["name"] == "hear")
            case.clocks.pop("correct_by", None)
            self._run_clock(case, "hear", _at(local_day(self._now) + timedelta(days), time(16, 30)))
        elif action == "hear":
            case.clocks.pop("hear", None)
        elif action == "decide":
            assert case.due_us is not None
            self._run_clock(case, "correct_by", case.due_us)
        elif action == "abate":
            case.clocks.pop("correct_by", None)

    def _run_clock(self, case: _Case, name: str, due_us: int, *, at_once: bool = False) -> None:
        case.clocks[name] = (due_us, self._now)
        mine = case.clocks[name]
        owed_by = "the municipality" if name == "hear" else "the responsible person"
        about = ("case", case.site, owed_by)

        def stands() -> bool:
            return case.open and case.clocks.get(name) == mine

        self._remind(case, due_us, about, stands, lambda: mine[1], of_clock=name, at_once=at_once)

    # --- spills ---

    def _on_spill(self, each: Happening) -> None:
        """Both kinds of release are timed until somebody says which it is; the State's hotline has two hours."""
        town = self._place[each.site].town
        spill = _Spill(each.site, town, clause=self._clauses[town]["spill_report"][0])
        self._spills[each.site] = spill
        self._cases.append(spill)
        for group in (0, 2):  # the officer and the operator
            self._tell(town, "now", ("spill", each.site), group=group if TOWNS[town][1] or not group else 1)
        self._run_clock(spill, "hotline", self._now + 2 * _H)
        for deadline in spill.clause["deadlines"]:
            if deadline["name"] == "hazardous_call":
                self._run_clock(spill, "hazardous_call", self._now, at_once=True)
            elif deadline["name"] != "confirmation":
                self._run_clock(spill, deadline["name"], _business(self._now, deadline["count"]))

    def _on_spill_seen(self, each: Happening) -> None:
        self._spills[each.site].seen = True

    def _on_spill_call(self, each: Happening) -> None:
        spill, to = self._spills[each.site], each.more["to"]
        named = {key: {each["id"] for each in spill.clause.get(key, ())} for key in _TO_TELL.values()}
        called = {
            "dispatch": named["hazardous_to"],
            "hotline": {"hotline"},
            "municipality": named["nonhazardous_to"] | named["hazardous_notice_to"],
        }[to]
        first = not spill.told - {"dispatch", "hotline"} and called - {"dispatch", "hotline"}
        spill.told |= called
        for name, key in _TO_TELL.items():
            if named[key] <= spill.told:
                spill.clocks.pop(name, None)
        if "hotline" in spill.told:
            spill.clocks.pop("hotline", None)
        if first and not spill.written:  # told by mouth: to be confirmed
            count = next(one["count"] for one in spill.clause["deadlines"] if one["name"] == "confirmation")
            self._run_clock(spill, "confirmation", _business(self._now, count))

    def _on_spill_classed(self, each: Happening) -> None:
        over = ("notice",) if each.more["hazard"] == "hazardous" else ("hazardous_call", "hazardous_notice")
        for name in over:
            self._spills[each.site].clocks.pop(name, None)

    def _on_spill_written(self, each: Happening) -> None:
        self._spills[each.site].written = True
        self._spills[each.site].clocks.pop("confirmation", None)

    def _on_spill_closed(self, each: Happening) -> None:
        self._spills[each.site].open = False


@dataclass
class _Spill(_Case):
    clause: dict[str, Any] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    written: bool = False


#: a spill's clock → the names in its clause of those who have to be told
_TO_TELL: Final = {
    "hazardous_call": "hazardous_to",
    "hazardous_notice": "hazardous_notice_to",
    "notice": "nonhazardous_to",
}


def _business(at_us: int, days: int) -> int:
    """When the office closes so many working days later."""
    day = local_day(at_us)
    for _ in range(days):
        day += timedelta(1)
        while not _works(day):
            day += timedelta(1)
    return _at(day, time(16, 30))


@dataclass
class _Chain:
    place: Place
    clause: str
    role: str
    part: tuple[int, int]
    points: list[int]
    times: int
    days: int
    duty: _Duty | None = None
    over: bool = False

    @property
    def due_us(self) -> int:
        return _at(local_day(self.points[-self.times]) + timedelta(self.days), time(16, 30))


def _day_years(at_us: int, years: int) -> date:
    """The same day so many years later; of a month that has none such the last (GCL § 30)."""
    day = local_day(at_us)
    leap = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year + years, day=28 if leap else day.day)


def _years(at_us: int, years: int) -> int:
    return _at(_day_years(at_us, years), time(16, 30))


def _storms(tips: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """(start, end, tips, when half an inch was reached or 0) of each storm, by the first of three readings."""
    counted: list[int] = []
    storm: list[int] = []
    crossing_us = 0
    for tip in tips:
        if storm and tip - storm[-1] >= 6 * _H:
            yield storm[0], storm[-1], len(storm), crossing_us
            storm, crossing_us = [], 0
        storm.append(tip)
        if crossing_us:
            continue
        counted.append(tip)
        rolling = len(counted) - bisect_right(counted, tip - 24 * _H)
        today = len(counted) - bisect_left(counted, _at(local_day(tip)))
        if max(len(storm), rolling, today) >= 50:
            crossing_us, first_us = tip, storm[0]
            counted = [each for each in counted if each < first_us]
    if storm:
        yield storm[0], storm[-1], len(storm), crossing_us


# --- mails ---


class _Post:
    """The rows of one person, and when each goes."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self._waiting: list[_Row] = []
        self._last_us = -_FOR_EVER
        self._of_storms: list[int] = []  # when mails went that told of storms

    def add(self, row: _Row) -> None:
        self.pace(row.at_us - 1)
        self.rows.append(row)
        self._waiting.append(row)

    def pace(self, until_us: int) -> None:
        """Let go what goes up to an instant."""
        self._waiting = [row for row in self._waiting if row.withdrawn_us == _FOR_EVER]
        for row in self._waiting:
            if row.how == "digest" and (goes_us := _next(row.at_us, time(7))) <= until_us:
                row.mailed_us = goes_us
        while (at_us := min((self._goes_us(row) for row in self._now()), default=_FOR_EVER)) <= until_us:
            for row in [row for row in self._now() if self._goes_us(row) <= at_us]:
                row.mailed_us = at_us
                if row.storm is not None and self._of_storms[-1:] != [at_us]:
                    self._of_storms.append(at_us)
            self._last_us = at_us
        self._waiting = [row for row in self._waiting if row.mailed_us == _FOR_EVER]

    def _now(self) -> list[_Row]:
        return [row for row in self._waiting if row.how == "now" and row.mailed_us == _FOR_EVER]

    def _goes_us(self, row: _Row) -> int:
        """When a row goes if nothing else comes before."""
        at_us = max(_ready(row), self._last_us + 900 * _S)
        if row.storm is not None:
            group = [each for each in self._now() if each.storm is not None and _ready(each) <= at_us]
            begins_us = min([row.storm[0], *(each.storm[0] for each in group if each.storm)]) - 6 * _H
            if len(self._of_storms) - bisect_left(self._of_storms, begins_us) >= 3:
                at_us = max(at_us, _until([row, *group]))
        waits = row.due_us is not None and row.due_us - at_us >= 48 * _H and not 6 <= _local(at_us).hour < 21
        return _next(at_us, time(6)) if waits else at_us


def _ready(row: _Row) -> int:
    late = row.storm is not None and row.due_us is not None and row.at_us - (row.due_us - 24 * _H) > _H
    return row.at_us + (10 * _S if late else 0)


def _until(group: list[_Row]) -> int:
    over_us = max(row.storm[1] for row in group if row.storm) + 6 * _H
    return min(over_us, min(row.due_us for row in group if row.due_us is not None) - 12 * _H)


def by_day(posts: dict[str, _Post], until_us: int) -> Counter[tuple[Any, ...]]:
    """(person, local day, how, fact) → how often."""
    return Counter(
        (person, local_day(row.mailed_us).isoformat(), row.how, row.fact)
        for person, post in posts.items()
        for row in post.rows
        if row.mailed_us < until_us
    )
