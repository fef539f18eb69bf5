"""A village whose cases are entered by persons alone, under the code of any profile."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from headwall import codes
from headwall.cases import steps
from headwall.cases.advice import advice
from headwall.cases.running import Running, clocks_of
from headwall.law import localtime
from headwall.law.choices import Choice
from headwall.law.profile import Profile
from headwall.ledger import cases, log_book
from headwall.ledger.cases import Case
from headwall.ledger.ledger import Ledger

from support.outfall_house import SITE, outfall_registry

TOWN = "elmsford"
NEW_YORK = localtime.zone("America/New_York")


def local(text: str) -> int:
    """The instant of a local time such as "10-09 17:30" of 2026."""
    return localtime.from_local(datetime.fromisoformat(f"2026-{text}"), NEW_YORK)


def shown(instant_us: int | None) -> str:
    return "" if instant_us is None else localtime.iso(instant_us, NEW_YORK)[5:16].replace("T", " ")


class CaseTown:
    """Ledger and registry; `now` is late, so that whatever happened can be entered."""

    def __init__(self, folder: Path, code: str) -> None:
        self.registry = outfall_registry(folder, code)
        self.ledger = Ledger.open("sqlite://")
        self.now = local("12-30 09:00")

    def choose(self, key: str, value: Any, since: date = date(2020, 1, 1)) -> None:
        """The municipality reads a question so, from a day on."""
        with self.ledger.begin() as conn:
            profile = self.profile(conn)
            choice = Choice(key=key, value=value, valid_from=since, by="Ann", reason="a test")
            codes.choose(conn, profile, choice, self.now)

    def profile(self, conn: sa.Connection) -> Profile:
        return codes.code_of(conn, self.registry, TOWN)

    def open(self, kind: str, when: str, **details: str) -> Case:
        given = {"by": "Olive", "note": "seen", "details": details}
        with self.ledger.begin() as conn:
            return steps.open_by_person(
                conn, self.registry, SITE, kind=kind, seen_us=local(when), now_us=self.now, **given
            )

    def take(self, action: str, when: str, number: int = 1, note: str = "because", **given: Any) -> Case:
        with self.ledger.begin() as conn:
            told = steps.Told("Olive", local(when), note, **given)
            return steps.take(conn, self.registry, number, action, told, now_us=self.now)

    def call(self, to: str, when: str, means: str = "telephone", number: str = "911") -> Case:
        return self.take("call", when, means=means, details={"to": to, "number": number})

    def case(self, number: int = 1) -> Case:
        with self.ledger.read() as conn:
            return cases.case(conn, number)

    def running(self, number: int = 1) -> dict[str, Running]:
        """name of a clock → it"""
        with self.ledger.read() as conn:
            case = cases.case(conn, number)
            found = clocks_of(steps.code_of(conn, self.registry, case), case)
        return {each.clock.name: each for each in found}

    def due(self, number: int = 1) -> dict[str, str]:
        """name of a clock → when it ends, by the reading that counts"""
        return {name: shown(each.clock.taken_us) for name, each in self.running(number).items()}

    def advice(self, number: int = 1) -> str:
        with self.ledger.read() as conn:
            case = cases.case(conn, number)
            return " ".join(advice(steps.code_of(conn, self.registry, case), case))

    def records(self) -> list[log_book.Row]:
        with self.ledger.read() as conn:
            assert log_book.verify(conn) is None
            return list(log_book.rows(conn))

    def alarm(self, when: str) -> Case:
        """A case that readings have proposed at that instant, which nobody has looked at."""
        at_us = local(when)
        given = {"municipality": TOWN, "site": SITE, "notice": None, "historical": False, "span": (at_us, at_us)}
        with self.ledger.begin() as conn:
            return steps.opened(conn, kind="suspected_discharge", now_us=at_us, **given)
