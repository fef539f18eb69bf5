"""`headwall check`: tries every part that the settings name and says what is wrong and how to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from headwall.clock import Clock, from_us, to_us
from headwall.errors import ConfigurationError, HeadwallError
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.notify.wording import counted
from headwall.ops.checks.broker import check_broker
from headwall.ops.checks.finding import Finding, fails, works
from headwall.ops.checks.influx import check_influx
from headwall.ops.checks.mail import check_smtp
from headwall.ops.checks.store import check_ledger
from headwall.ops.sources import open_clock
from headwall.registry import Registry, load_registry
from headwall.settings import Settings, load_settings

#: no gateway of this version ran before
_FIRST_DAY_US = to_us(datetime(2025, 1, 1, tzinfo=UTC))


def check(config: Path, *, mail: bool = False) -> Iterator[Finding]:
    """Try everything, in the order of dependence; each finding as soon as it is known.

    Args:
        config: headwall.toml.
        mail: send a test mail to the operator.
    """
    try:
        settings = load_settings(config)
        clock = open_clock(settings.clock)
    except ConfigurationError as error:
        yield from _faults("settings", error)
        return
    yield works("settings", str(config))
    registry = None
    for found in _registry(settings.registry):
        if isinstance(found, Registry):
            registry = found
        else:
            yield found
    yield from check_ledger(settings.ledger.url)
    yield _clock(settings, clock)
    yield from check_broker(settings.mqtt, clock)
    if settings.influx is not None:
        yield from check_influx(settings.influx, clock)
    yield from check_smtp(settings.smtp, registry, clock, mail=mail)


def _faults(part: str, error: ConfigurationError) -> Iterator[Finding]:
    for fault in error.faults:
        yield fails(part, fault, f"correct {error.source}")


def _registry(path: Path) -> Iterator[Finding | Registry]:
    """Findings about the registry and the profiles that it names, and the registry if it holds together."""
    try:
        registry = load_registry(path)
    except ConfigurationError as error:
        yield from _faults("registry", error)
        return
    yield works("registry", f"{path}: {counted(len(registry.sites), 'site')}, {counted(len(registry.nodes), 'node')}")
    for municipality in registry.municipalities:
        try:
            load_profile(municipality.profile)
            yield works("profile", f"{municipality.profile} of {municipality.name}")
        except ConfigurationError as error:
            yield from _faults("profile", error)
    yield registry


def is_unset(settings: Settings, clock: Clock) -> bool:
    """Whether the machine's clock shows a time before this program: it has not been set since it was switched on."""
    return settings.clock == "system" and clock.now_us() < _FIRST_DAY_US


def _clock(settings: Settings, clock: Clock) -> Finding:
    """Whether our clock can be right, by what the ledger has seen already."""
    now_us = clock.now_us()
    shown, mend = f"{from_us(now_us):%Y-%m-%d %H:%M:%S} UTC", "set this machine's clock and let NTP keep it"
    if is_unset(settings, clock):
        return fails("clock", f"{shown} is before this program was written", mend)
    newest_us = _newest_received(settings.ledger.url)
    if newest_us is not None and newest_us > now_us:
        return fails("clock", f"{shown}, but the ledger got a reading at {from_us(newest_us):%Y-%m-%d %H:%M} UTC", mend)
    return works("clock", shown)


def _newest_received(url: str) -> int | None:
    """When the newest reading came; None where there is none, or no ledger (which has its own finding)."""
    try:
        ledger = Ledger.open(url)
    except (HeadwallError, OSError):
        return None
    try:
        with ledger.read() as conn:
            newest = sa.select(schema.readings.c.received_us).order_by(schema.readings.c.pos.desc()).limit(1)
            return conn.execute(newest).scalar()
    finally:
        ledger.close()
