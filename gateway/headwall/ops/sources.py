"""Where the service takes its time from."""

from __future__ import annotations

from importlib import import_module

from headwall.clock import Clock, SystemClock
from headwall.errors import ConfigurationError


def open_clock(setting: str) -> Clock:
    """The clock that `clock = …` names: "system", or "simulation:SOCKET" for demo and tests.

    Raises:
        ConfigurationError: for any other word, or where the simulator is not installed.
    """
    if setting == "system":
        return SystemClock()
    if not setting.startswith("simulation:"):
        raise ConfigurationError("settings", [f'clock = "{setting}": write "system" (or "simulation:SOCKET" in tests)'])
    try:
        simclock = import_module("headwall_sim.simclock")
    except ImportError as error:
        raise ConfigurationError("settings", [f'clock = "{setting}" needs headwall[sim]: {error}']) from error
    clock: Clock = simclock.clock_from(setting)
    return clock
