"""A bench for one driver on virtual time: wire a model, read, say what came; imported by the tests' scripts.

The search path must have host_tests/firmware/vtime, stubs, and tools/headwall_sim/board (drivers.py's `run`).
"""

import sys

import _taskqueue

sys.modules["_asyncio"] = _taskqueue
import asyncio  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402

import _buses  # noqa: E402
import machine  # noqa: E402
from devices.faults import Line  # noqa: E402
from headwall_node import log, sampler  # noqa: E402
from headwall_node.power import Retained  # noqa: E402
from headwall_node.rig import Rig  # noqa: E402
from headwall_node.specs import check  # noqa: E402

_buses.now_us = time.now_us
for _name in ("UART", "I2C", "SoftI2C", "time_pulse_us", "ADC", "Counter"):
    setattr(machine, _name, getattr(_buses, _name))
log.level = 3
FOREVER = 1 << 60


class _Pin(machine.Pin):
    """A pin at whose other end may be a device."""

    def __init__(self, number, mode=None, pull=None, value=None):
        self.number = number
        if value is not None:
            self.value(value)

    def value(self, level=None):
        device = _buses.pins.get(self.number)
        if device and level is None:
            return device.level(self.number, time.now_us())
        if device:
            device.driven(self.number, level, time.now_us())
        return super().value(level)


machine.Pin = _Pin


class _Journal:
    def __init__(self):
        self.records = []

    def append(self, stream, value, time_ms, boot, up_ms, total=None, reason=None):
        self.records.append((stream, value, reason))


class _Clock:
    boot_id = "00000001"

    def uptime_ms(self):
        return time.now_us() // 1000

    def utc_at(self, up_ms):
        return 1781000000000 + up_ms


def uart(number, device):
    """Wire a device with a serial line; gives the device."""
    _buses.uarts[number] = Line(device)
    return device


def i2c(number, address, device):
    """Wire a device to an I2C bus; gives the device."""
    _buses.i2cs.setdefault(number, {})[address] = device
    return device


def pins(device):
    """Wire a device to the pins that it names; gives the device."""
    for number in device.pins:
        _buses.pins[number] = device
    return device


def onewire(number, device):
    """Wire a 1-Wire device to a pin; gives the device."""
    _buses.wires.setdefault(number, []).append(device)
    return device


def fault(device, name, argument=0, from_us=0, to_us=FOREVER):
    """Let something be wrong with a device; name None ends all faults."""
    device.faults[:] = [(from_us, to_us, name, argument)] if name else []


class Bench:
    """One sensor with its sampler; `settings` as in config.json."""

    def __init__(self, **settings):
        found = check.sensor_faults("sensor.", settings, {}, {})
        if found:
            raise ValueError("; ".join(found))
        self.settings = check.filled(settings)
        self.rig = Rig(_Clock().uptime_ms)
        self.rig.watch(self.settings.get("temperature_from"))
        self.journal = _Journal()
        self.sampler = sampler.Sampler(self.settings, 0, self.journal, _Clock(), Retained(), self.rig)

    def read(self):
        """What one reading gives: [(quantity, value, reason), …]"""
        return asyncio.run(self.sampler.read())

    def run(self, seconds):
        """Let the sampler work for so long; what it wrote."""

        async def serve():
            task = asyncio.create_task(sampler.serve([self.sampler], _Clock(), lambda: None))
            await asyncio.sleep(seconds)
            task.cancel()

        before = len(self.journal.records)
        asyncio.run(serve())
        return self.journal.records[before:]


def say(*what):
    """One line of JSON for the test."""
    print(json.dumps(what[0] if len(what) == 1 else what))
