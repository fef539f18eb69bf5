"""What the bench asks of a board over its cable: each sensor read once, by the drivers that the node itself runs.

Loaded by `headwall board selftest` alone; nothing here goes into the journal.
"""

import asyncio
import json
from time import ticks_diff, ticks_ms

import machine

from . import config
from .rig import Rig
from .specs import GAUGES

_SETTLE_MS = 50  # of a gauge on the pulse counter, whose settings have none


def selftest(listen_ms, only=None):
    """Print a line of JSON a sensor, in the order of the settings but for those that need another's value.

    {"name", "kind", "readings": [[stream, value, reason], …]}; of a contact {"name", "kind", "closed", "closings"}:
    its level at the end, and how often it closed in `listen_ms`.
    """
    settings, _, faults = config.load()
    if settings is None:
        print(json.dumps({"faults": faults}))
        return
    sensors = [sensor for sensor in settings["sensors"] if only in (None, sensor["name"])]
    sensors.sort(key=lambda sensor: bool(sensor.get("temperature_from")))
    rig = Rig(ticks_ms)
    for sensor in settings["sensors"]:
        rig.watch(sensor.get("temperature_from"))
    for sensor in sensors:
        told = {"name": sensor["name"], "kind": sensor["kind"]}
        if sensor["kind"] in GAUGES:
            told["closed"], told["closings"] = _listen(sensor, listen_ms)
        else:
            told["readings"] = asyncio.run(_read(sensor, rig))
        print(json.dumps(told))


async def _read(sensor, rig):
    from .sampler import Sampler  # a rain gauge alone does without its memory

    found = await Sampler(sensor, 0, None, None, None, rig).read()
    named = [("%s.%s" % (sensor["name"], quantity), value, reason) for quantity, value, reason in found]
    for stream, value, _ in named:
        rig.note(stream, value)
    return named


def _listen(sensor, listen_ms):
    """(whether the contact is closed now, how often it closed): openings of less than `settle_ms` are bounce."""
    pull = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "none": None}[sensor["pull"]]
    pin = machine.Pin(sensor["pin"], machine.Pin.IN, pull)
    on = sensor["closed"] if "closed" in sensor else int(sensor["edge"] == "rising")
    settle = sensor.get("settle_ms", _SETTLE_MS)
    closings, closed, opened_at = 0, pin.value() == on, ticks_ms()
    begun = ticks_ms()
    while ticks_diff(ticks_ms(), begun) < listen_ms:
        level = pin.value() == on
        if level and not closed and ticks_diff(ticks_ms(), opened_at) >= settle:
            closings += 1
        if closed and not level:
            opened_at = ticks_ms()
        closed = level
        machine.idle()
    return closed, closings
