"""Plays a year of `law_year` through Headwall, in a `played_town`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any, Final

import sqlalchemy as sa
import structlog
from headwall.cases import steps
from headwall.cases.kinds import SPILL
from headwall.law.provision import Provision
from headwall.law.provisions import Spill
from headwall.law.state_spill import HOTLINE
from headwall.ledger import acknowledgements, approvals, entries, schema
from headwall.ledger.append import NewReading, append_readings
from headwall.ledger.ledger import Ledger
from headwall.registry import load_registry
from headwall.rules import duties
from headwall.rules.facts import StormDuty
from headwall.settings import MqttSettings, NotifySettings, Settings, SmtpSettings

from headwall_sim.law_year import NEW_YORK, SECOND_US, TOWNS, Happening, Place, World, local_us
from headwall_sim.played_town import PlayedTown, no_pictures

_BY: Final = "Ada Clerk"
_HEAD: Final = """
[[municipalities]]
id = "{town}"
name = "{town}"
profile = "{profile}"
"""
_PERSON: Final = """
[[people]]
id = "{id}"
name = "{id}"
email = "{id}@town.example"
roles = [{roles}]
"""
_ROLE: Final = '{{ role = "smo", municipality = "{town}", order = {order}, from = 2020-01-01 }}'
_NODE: Final = """
[[nodes]]
id = "{id}"
mac = "{mac:012x}"
place = "gate"
legal_basis = "municipal_land"
legal_reference = "map 12"
installer = "olga"
from = 2020-01-01
datastreams = [
  {{ name = "rain.tips", quantity = "tips", tip = "0.01 in", silent_after_min = 527040, from = 2020-01-01 }},
]
"""
_SITE: Final = """
[[sites]]
id = "{id}"
kind = "{kind}"
name = "{id}"
place = "there"
municipality = "{town}"
status = [{status}]
"""
_PROJECT: Final = """[[sites.projects]]
name = "houses"
area = "{area}"
from = 2020-01-01
start_of_work = {work}
conditions = [{{ met = {met}, by = "Ada Clerk", from = 2020-01-01 }}]
"""


def registry_text(world: World) -> str:
    """registry.toml of a year."""
    parts = [] if world.gauges else ["nodes = []"]
    parts += [_HEAD.format(town=town, profile=_profile(town)) for town in world.towns]
    roles: dict[str, list[str]] = {}
    for town in world.towns:
        officer, deputy, _ = TOWNS[town]
        for order, person in enumerate((officer, deputy), 1):
            if person:
                roles.setdefault(person, []).append(_ROLE.format(town=town, order=order))
    roles["olga"] = ['{ role = "operator", from = 2020-01-01 }', '{ role = "installer", from = 2020-01-01 }']
    roles |= {place.contractor: [] for place in world.places if place.contractor}
    parts += [_PERSON.format(id=person, roles=", ".join(held)) for person, held in roles.items()]
    parts += [_NODE.format(id=gauge, mac=0x240AC4000000 + n) for n, gauge in enumerate(world.gauges)]
    parts += [_site_text(place) for place in world.places]
    return "\n".join(parts)


def _profile(town: str) -> str:
    return town.replace("-", "_")


def _site_text(place: Place) -> str:
    status = ", ".join(
        f'{{ status = "{each}", from = {_toml(start)}, {"" if end is None else f"to = {_toml(end)}, "}by = "{_BY}" }}'
        for each, start, end in place.states
    )
    text = _SITE.format(id=place.id, kind=place.kind, town=place.town, status=status)
    if place.gauge:
        text += f'gauges = [{{ datastream = "{place.gauge}/rain.tips", distance_m = 5, from = 2020-01-01 }}]\n'
    if place.contractor:
        text += f'people = [{{ person = "{place.contractor}", role = "trained_contractor", from = 2020-01-01 }}]\n'
    if place.area:
        text += _PROJECT.format(area=place.area, work=_toml(place.work_us), met=list(place.conditions))
        if place.stabilised_us is not None:
            text += f"final_stabilization = {_toml(place.stabilised_us)}\n"
    return text


def _toml(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // SECOND_US, NEW_YORK).isoformat()


@dataclass(frozen=True)
class Played:
    """What became of a play: its ledger, the passes of the rule engine, CPU time in s."""

    ledger_url: str
    steps: int
    cpu_s: float


def play(world: World, folder: Path, processes: int = 1) -> list[Played]:
    """The year on gateways of which each serves the municipalities of one officer, so many at once."""
    parts = [(part, folder / str(n)) for n, part in enumerate(world.by_officer())]
    if processes == 1:
        return [_played(*part) for part in parts]
    with ProcessPoolExecutor(processes) as pool:
        found = [pool.submit(_played, *part) for part in sorted(parts, key=lambda each: -len(each[0].happenings))]
        return [each.result() for each in found]


def _played(part: World, folder: Path) -> Played:
    folder.mkdir()
    begun_s, played = process_time(), Play(part, folder)
    try:
        played.run()
    finally:
        played.close()
    return Played(played.ledger_url, played.steps, process_time() - begun_s)


class Play(PlayedTown):
    """A year from its begin to its end."""

    def __init__(self, world: World, folder: Path) -> None:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        registry_file = folder / "registry.toml"
        registry_file.write_text(registry_text(world), encoding="utf-8")
        settings = Settings(
            registry=registry_file,
            mqtt=MqttSettings(host="127.0.0.1"),
            smtp=SmtpSettings(host="127.0.0.1", sender="headwall@town.example"),
            notify=NotifySettings(link_key=folder / "link.key"),
        )
        self.ledger_url = f"sqlite:///{folder / 'headwall.db'}"
        super().__init__(
            "the year", Ledger.open(self.ledger_url), settings, load_registry(registry_file), world.begins_us
        )
        self._world = world
        self._town = {place.id: place.town for place in world.places}
        self._contractors = {place.id: place.contractor for place in world.places}

    def run(self) -> None:
        """The whole year; AssertionError where a rule or a mail fails."""
        with no_pictures():
            self._at(self._world.begins_us, [each for each in self._world.happenings if each.at_us <= self.clock.now])
            later = (each for each in self._world.happenings if each.at_us > self._world.begins_us)
            for at_us, group in groupby(later, key=lambda each: each.at_us):
                self._at(at_us, list(group))
            self.go_on(self._world.ends_us)

    def close(self) -> None:
        self.ledger.close()

    # --- what happens ---

    def _at(self, at_us: int, group: list[Happening]) -> None:
        self.go_on(at_us)
        with self.ledger.begin() as conn:
            self._take(conn, group)
        self.judge()

    def _take(self, conn: sa.Connection, group: list[Happening]) -> None:
        tips = [each for each in group if each.what == "rain"]
        if tips:
            append_readings(self.ledger, conn, [row for each in tips for row in self._rows(each)])
        for each in group:
            if each.what != "rain":
                getattr(self, f"_{each.what}")(conn, each)

    def _rows(self, each: Happening) -> Iterator[NewReading]:
        return self.readings(f"{each.more['gauge']}/rain.tips", ((time_us, 1.0) for time_us in each.more["tips"]))

    def _enter(self, conn: sa.Connection, each: Happening, body: entries.Body) -> None:
        done_us = each.more.get("done", self.clock.now)
        entries.add_entry(conn, body, subject=each.site, done_us=done_us, by=_BY, now_us=self.clock.now)

    def _report(self, conn: sa.Connection, each: Happening) -> None:
        signed = [entries.Signature(self._contractor(each.site), role) for role in each.more["roles"]]
        done_us = each.more["done"]
        given = {"visited_us": done_us, "delivered_us": done_us, "delivered_to": "the officer"}
        self._enter(conn, each, entries.SiteReport(signed=signed, **given))

    def _present(self, conn: sa.Connection, each: Happening) -> None:
        for day, trained in each.more["days"].items():
            body = entries.Presence(day=day, work=True, contractors=[self._contractor(each.site)] if trained else [])
            done_us = local_us(date.fromisoformat(day), time(12))
            entries.add_entry(conn, body, subject=each.site, done_us=done_us, by=_BY, now_us=self.clock.now)

    def _contractor(self, site: str) -> str:
        """Who is trained there; "Tom Trained" where the registry has nobody."""
        return self._contractors.get(site) or "Tom Trained"

    def _plan_seen(self, conn: sa.Connection, each: Happening) -> None:
        self._enter(conn, each, entries.PlanSeen(there=True))

    def _certified(self, conn: sa.Connection, each: Happening) -> None:
        self._enter(conn, each, entries.Certification(person=each.more["person"], title="foreman", firm="Diggers"))

    def _trained(self, conn: sa.Connection, each: Happening) -> None:
        body, person = entries.Training(hours="4", reference="card 7"), each.more["person"]
        entries.add_entry(conn, body, subject=person, done_us=each.more["done"], by=_BY, now_us=self.clock.now)

    def _measured(self, conn: sa.Connection, each: Happening) -> None:
        self._enter(conn, each, entries.SepticMeasurement(no_scum=True, sludge="3 in"))

    def _pumped(self, conn: sa.Connection, each: Happening) -> None:
        self._enter(conn, each, entries.PumpOut())

    def _storm_reports(self, conn: sa.Connection, each: Happening) -> None:
        for duty in duties.listed(conn, site=each.site):
            if isinstance(duty.body, StormDuty):
                now_us = self.clock.now
                duties.close_duty(conn, duty.id, "received", by=_BY, at_us=now_us, now_us=now_us)

    def _seen(self, conn: sa.Connection, each: Happening) -> None:
        for duty in duties.listed(conn, site=each.site):
            acknowledgements.add(conn, f"duty/{duty.id}", by=_BY, now_us=self.clock.now)

    def _clauses(self, site: str, kind: str) -> list[Provision]:
        """The clauses of a kind that a site's municipality has."""
        return [each for each in self.profiles[_profile(self._town[site])].provisions if each.kind == kind]

    def _clause(self, site: str, kind: str) -> str:
        """The first of them; "" without one."""
        return next((each.id for each in self._clauses(site, kind)), "")

    def _approve(
        self, conn: sa.Connection, each: Happening, body: approvals.Body, from_us: int, to_us: int | None = None
    ) -> None:
        approvals.add_approval(
            conn,
            body,
            municipality=self._town[each.site],
            site=each.site,
            from_us=from_us,
            to_us=to_us,
            by=_BY,
            now_us=self.clock.now,
        )

    def _row(self, conn: sa.Connection, site: str, kind: str) -> int:
        """The row of a kind that a site has in the register."""
        found = approvals.of_site(conn, self._town[site], site)
        return next(each.id for each in found if each.kind == kind)

    def _end(self, conn: sa.Connection, site: str, kind: str) -> None:
        now_us, number = self.clock.now, self._row(conn, site, kind)
        approvals.end_approval(conn, number, at_us=now_us, reason="clean", ended_by=_BY, by=_BY, now_us=now_us)

    def _dye_notice(self, site: str) -> approvals.Followed:
        """In writing or by word of mouth, as the code wants it."""
        (clause,) = self._clauses(site, "dye_test")
        return approvals.Followed(step="told", at_us=self.clock.now, by="Dee Dyer", means=clause.means[0])

    def _dye_test(self, conn: sa.Connection, each: Happening) -> None:
        clause = self._clause(each.site, "dye_test")
        told = [self._dye_notice(each.site)] if each.more["told"] else []
        body = approvals.DyeTest(
            provision=clause, holder="Dee Dyer", granted_by=_BY, reference="test 4", dye="green", followed=told
        )
        self._approve(conn, each, body, each.more["test"])

    def _dye_told(self, conn: sa.Connection, each: Happening) -> None:
        number, now_us = self._row(conn, each.site, "dye_test"), self.clock.now
        approvals.add_step(conn, number, self._dye_notice(each.site), by=_BY, now_us=now_us)

    def _discharge(self, conn: sa.Connection, each: Happening) -> None:
        clause = self._clause(each.site, "emergency_approval")
        body = approvals.Discharge(
            provision=clause, holder="the water works", granted_by=_BY, reference="letter 9", what="a flushed main"
        )
        self._approve(conn, each, body, self.clock.now, each.more["to"])

    def _discharge_ended(self, conn: sa.Connection, each: Happening) -> None:
        self._end(conn, each.site, "discharge")

    def _declared(self, conn: sa.Connection, each: Happening) -> None:
        clause = self._clause(each.site, "septic_inspection")
        body = approvals.SpecialConditions(
            provision=clause, holder="the system", granted_by=_BY, reference="resolution 12"
        )
        self._approve(conn, each, body, each.more["from"])

    def _suspended(self, conn: sa.Connection, each: Happening) -> None:
        clause = self._clause(each.site, "emergency_suspension")
        body = approvals.Suspension(
            provision=clause,
            holder="12 Brook Lane",
            granted_by=_BY,
            reference="order 3",
            reason="paint",
        )
        self._approve(conn, each, body, self.clock.now)

    def _reasons(self, conn: sa.Connection, each: Happening) -> None:
        if not self._clause(each.site, "emergency_suspension"):
            return
        step = approvals.Followed(step="reasons", at_us=self.clock.now, by=_BY, means="in writing")
        approvals.add_step(conn, self._row(conn, each.site, "suspension"), step, by=_BY, now_us=self.clock.now)

    def _reinstated(self, conn: sa.Connection, each: Happening) -> None:
        self._end(conn, each.site, "suspension")

    def _case_open(self, conn: sa.Connection, each: Happening) -> None:
        self._opened(conn, each, "suspected_discharge", "grey water")

    def _opened(self, conn: sa.Connection, each: Happening, kind: str, note: str) -> None:
        now_us = self.clock.now
        steps.open_by_person(
            conn, self.registry, each.site, kind=kind, by=_BY, seen_us=now_us, note=note, now_us=now_us
        )

    def _case(self, conn: sa.Connection, site: str, *, spill: bool = False) -> int:
        c = schema.cases.c
        query = sa.select(sa.func.max(c.id)).where(c.site == site, (c.kind == SPILL) == spill)
        return int(conn.execute(query).scalar_one())

    def _spill(self, conn: sa.Connection, each: Happening) -> None:
        self._opened(conn, each, SPILL, "paint")

    def _spill_seen(self, conn: sa.Connection, each: Happening) -> None:
        number = self._case(conn, each.site, spill=True)
        acknowledgements.add(conn, f"case/{number}", by=_BY, now_us=self.clock.now)

    def _of_spill(self, conn: sa.Connection, site: str, action: str, **more: Any) -> None:
        told = steps.Told(_BY, self.clock.now, "as it was", **more)
        number = self._case(conn, site, spill=True)
        steps.take(conn, self.registry, number, action, told, now_us=self.clock.now)

    def _spill_call(self, conn: sa.Connection, each: Happening) -> None:
        """All whom the code names for a dangerous release are told through dispatch; the others are called."""
        (clause,) = self._clauses(each.site, "spill_report")
        assert isinstance(clause, Spill)
        called = {
            "dispatch": [party.id for party in clause.hazardous_to],
            "hotline": [HOTLINE],
            "municipality": [party.id for party in (*clause.nonhazardous_to, *clause.hazardous_notice_to)],
        }[each.more["to"]]
        for to in dict.fromkeys(called):
            self._of_spill(conn, each.site, "call", means="telephone", details={"to": to, "number": "555-0100"})

    def _spill_classed(self, conn: sa.Connection, each: Happening) -> None:
        self._of_spill(conn, each.site, "classify", outcome=each.more["hazard"])

    def _spill_written(self, conn: sa.Connection, each: Happening) -> None:
        self._of_spill(conn, each.site, "confirm_written", means="mail")

    def _spill_closed(self, conn: sa.Connection, each: Happening) -> None:
        self._of_spill(conn, each.site, "confirm")
        self._of_spill(conn, each.site, "close")

    def _case_seen(self, conn: sa.Connection, each: Happening) -> None:
        acknowledgements.add(conn, f"case/{self._case(conn, each.site)}", by=_BY, now_us=self.clock.now)

    def _case_step(self, conn: sa.Connection, each: Happening) -> None:
        now_us, action = self.clock.now, each.more["action"]
        times = {"correct_by": each.more["correct_by"], "issued": now_us, "dated": now_us} if action == "serve" else {}
        times |= {"received": now_us} if action == "appeal" else {}
        told = steps.Told(_BY, now_us, "as decided", "certified mail", each.more.get("outcome", ""), times=times)
        steps.take(conn, self.registry, self._case(conn, each.site), action, told, now_us=now_us)
