"""The ledger, registry and clock that a command works on, and times, names and places as a person writes them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from pathlib import Path

import sqlalchemy as sa
import structlog

from headwall.clock import Clock, to_us
from headwall.codes import at_gateway
from headwall.errors import HeadwallError, InputError, UnknownThingError
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.ledger import log_book
from headwall.ledger.ledger import Ledger, why
from headwall.ops.logs import configure_logs
from headwall.ops.sources import open_clock
from headwall.registry import Registry, load_registry
from headwall.settings import Settings, load_settings

_NAME_CHARS = 100
_YEARS = range(1900, 2200)


@dataclass(frozen=True)
class Opened:
    """What most commands need."""

    settings: Settings
    registry: Registry
    ledger: Ledger
    clock: Clock

    @property
    def zone(self) -> tzinfo:
        """The zone of times that a person writes and reads: the first municipality's."""
        return self.registry.zone(self.registry.municipalities[0].id)

    @cached_property
    def codes(self) -> dict[str, Profile]:
        """The codes of the registry's municipalities, with what persons have entered of them, by profile.

        As they are when a command first asks for them.
        """
        with self.ledger.read() as conn:
            return at_gateway(conn, self.registry)

    def code_of(self, municipality: str) -> Profile:
        """The code of one municipality."""
        return self.codes[self.registry.municipality(municipality).profile]


@contextmanager
def opened(config: Path) -> Iterator[Opened]:
    """Open what the settings file names; the ledger is closed when the block ends.

    Standard output is the command's answer alone: what the parts under it warn of goes to standard error.
    """
    if not structlog.is_configured():
        configure_logs(level=logging.WARNING)
    settings = load_settings(config)
    registry = load_registry(settings.registry)
    clock = open_clock(settings.clock)
    ledger = Ledger.open(settings.ledger.url)
    try:
        yield Opened(settings, registry, ledger, clock)
    except sa.exc.DBAPIError as error:  # opened well, but since then full, locked by another for long, or gone
        raise HeadwallError(f"the ledger does not do it: {why(error)}; see `headwall check`") from error
    finally:
        ledger.close()


def parse_time(text: str, where: tzinfo, option: str) -> int:
    """An instant from "2026-06-10 15:42" (local time in `where`) or a time with its offset; InputError for no such."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is no time; write 2026-06-10 15:42 or 2026-06-10T15:42-04:00") from None
    if moment.year not in _YEARS:  # what is entered stays: a slip there could never be taken out of the log book again
        raise InputError(f"{option} {text!r}: the year must be from {_YEARS[0]} to {_YEARS[-1]}")
    return to_us(moment) if moment.tzinfo is not None else localtime.from_local(moment, where)


def minute(instant_us: int, where: tzinfo) -> str:
    """A local time for tables that may span years, e.g. "2026-06-10 15:42"."""
    return localtime.iso(instant_us, where)[:16].replace("T", " ")


def named(by: str, option: str = "--by") -> str:
    """The name of who decides; InputError for an empty one, or one that no list could show or no person has."""
    name = by.strip()
    if not name:
        raise InputError(f"{option} needs the name of the person who decides")
    if option.endswith("-by"):
        return log_book.person(name)
    if len(name) > _NAME_CHARS or not name.isprintable():
        raise InputError(f"{option} needs a name of at most {_NAME_CHARS} characters, all printable, in one line")
    return name


def place_of(at: Opened, site: str | None, municipality: str | None) -> tuple[str, str | None]:
    """Municipality and site; no site: all of it."""
    if (site is None) == (municipality is None):
        raise InputError("say where: --site, or --municipality for all of it; one of the two")
    if site is not None:
        return at.registry.require_site(site).municipality, site
    known = [each.id for each in at.registry.municipalities]
    if municipality is None or municipality not in known:
        raise UnknownThingError(f"no municipality {municipality!r} in the registry; it has {', '.join(known)}")
    return municipality, None
