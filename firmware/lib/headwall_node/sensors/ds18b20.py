"""DS18B20: temperature of water, on a probe with a cable.

    range        -55 to 125 degrees Celsius; within 0.5 from -10 to 85
    resolution   0.0625 at 12 bits
    timing       750 ms a conversion; the bus itself takes some 15 ms, in which nothing else runs
    wiring       supply 3.3 V, ground and data at three wires, 4.7 kilohm between data and 3.3 V; not with two wires
                 (parasite power): a conversion would starve. Several probes may share the pin, each with its `rom`
    source       Analog Devices (Maxim) DS18B20 data sheet 19-7487

The probe's nine bytes have a CRC. After power it holds 85 degrees till it has converted: exactly that is told as
"not_ready", also in the rare case that it was true. The conversion is asked of this probe alone, so that others on the
bus are not disturbed in theirs.
"""

import asyncio
from binascii import hexlify, unhexlify

import ds18x20
import onewire
from machine import Pin
from micropython import const

from ..decimal import text_of

_FAMILY = const(0x28)
_CONVERT = const(0x44)
_CONVERSION_MS = const(760)
_POWER_ON = const(0x0550)  # 85 degrees
_LEAST = const(-55 * 16)
_MOST = const(125 * 16)


class Driver:
    def __init__(self, settings, rig):
        self._rom = unhexlify(settings["rom"])
        self._wire = onewire.OneWire(Pin(settings["pin"]))
        self._probes = ds18x20.DS18X20(self._wire)

    def close(self):
        pass  # others may be on the bus

    async def read(self):
        try:
            rom = self._rom or self._only_one()
            self._wire.reset(True)
            self._wire.select_rom(rom)
            self._wire.writebyte(_CONVERT)
            await asyncio.sleep_ms(_CONVERSION_MS)
            data = self._probes.read_scratch(rom)
        except onewire.OneWireError:  # nobody is on the bus
            return [("temperature", None, "no_signal")]
        except Exception as error:
            if "CRC" not in str(error):
                raise
            return [("temperature", None, "bad_frame" if any_answer(self._probes.buf) else "no_signal")]
        value, reason = told(data)
        return [("temperature", value, reason)]

    def _only_one(self):
        found = [rom for rom in self._probes.scan() if rom[0] == _FAMILY]
        if not found:
            raise onewire.OneWireError()
        if len(found) > 1:
            raise ValueError("several probes, set rom: " + " ".join([hexlify(rom).decode() for rom in found]))
        return bytes(found[0])


def any_answer(data):
    """Whether a probe sent any of these bytes: a bus without one reads as ones."""
    return bytes(data) != b"\xff" * len(data)


def told(data):
    """(decimal text, None) of the nine bytes of a probe, or (None, reason)."""
    if data[4] & 0x9F != 0x1F:  # zeros have a right CRC, and so would 0 degrees
        return None, "bad_frame"
    raw = data[1] << 8 | data[0]
    raw = raw - 0x10000 if raw & 0x8000 else raw
    raw &= -1 << (3 - (data[4] >> 5))  # with fewer bits the last ones mean nothing
    if raw == _POWER_ON:
        return None, "not_ready"
    if not _LEAST <= raw <= _MOST:
        return None, "out_of_range"
    return text_of(raw * 625, 4), None
