"""An instrument on RS-485 that speaks Modbus RTU: flow or area-velocity meter, sludge blanket, turbidity and others.

    range        the instrument's; `low` and `high` of a register guard it
    resolution   the instrument's; integers are scaled exactly, in decimal
    timing       a request waits `reply_ms`; silence of 3.5 characters (at least 1.75 ms) before each
    wiring       a transceiver (as MAX3485) at `tx`, `rx` and, unless it switches by itself, `de`; A and B twisted, 120
                 ohm at both ends; several instruments may share the bus, each with its own address
    source       MODBUS over Serial Line V1.02; the register map comes from the instrument's manual

Modbus RTU replies carry no number, so that a late one could be taken for the answer to the next request: after a
request without an answer the bus is listened to for as long again, and what comes is thrown away.
"""

import asyncio
import struct
from time import ticks_add, ticks_diff, ticks_ms

import machine
from micropython import const

from .. import log
from ..decimal import scaled
from ..modbus_rtu import find_reply, in_order, request

_LOOK_MS = const(5)
_MOST = const(64)  # bytes that a reply and an echo can have together, and some noise
_PARITY = {"none": None, "even": 0, "odd": 1}
_CODES = {"u16": ">H", "s16": ">h", "u32": ">I", "s32": ">i", "f32": ">f"}


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        self._lock = rig.lock("uart %d" % settings["uart"])
        self._de = machine.Pin(settings["de"], machine.Pin.OUT, value=0) if settings["de"] >= 0 else None

    def close(self):
        pass  # others may be on the bus

    async def read(self):
        settings = self._settings
        end = ticks_add(ticks_ms(), settings["timeout_ms"] - 2 * settings["reply_ms"])
        found, dead = [], False
        async with self._lock:
            self._uart = self._rig.uart(
                settings, settings["baud"], bits=8, parity=_PARITY[settings["parity"]], stop=settings["stop"]
            )
            for entry in settings["registers"]:
                value, reason = None, "no_signal"
                if not dead and ticks_diff(end, ticks_ms()) > 0:
                    value, reason = await self._register(entry, end)
                    dead = reason == "no_signal"
                found.append((entry["quantity"], value, reason))
        return found

    async def _register(self, entry, end):
        """(value, reason) of one entry of the map; asked again after silence or a bad frame."""
        settings = self._settings
        asked = request(settings["slave"], entry["function"], entry["register"], int(entry["type"][1:]) // 16)
        reason = "no_signal"
        for _ in range(settings["retries"] + 1):
            data, reason = await self._ask(asked)
            if data is not None:
                return value_of(data, entry)
            if reason == "fault" or ticks_diff(end, ticks_ms()) <= 0:
                break
        return None, reason

    async def _ask(self, asked):
        """(bytes of the registers, None), or (None, why not)."""
        heard = await self._exchange(asked)
        data, code = find_reply(heard, asked)
        if data is not None:
            return data, None
        if code is not None:
            log.trouble(self._settings["name"], "the instrument refuses register %d: exception %d" % (asked[3], code))
            return None, "fault"
        silent = not heard or heard == asked  # its own echo is no answer
        await self._listen(asked, self._settings["reply_ms"], True)
        return None, "no_signal" if silent else "bad_frame"

    async def _exchange(self, asked):
        """Send a request; all that came after it until its answer was whole, or in `reply_ms`."""
        await asyncio.sleep_ms(2 + 40000 // self._settings["baud"])  # silence of 3.5 characters
        self._uart.read(256)  # what is older
        if self._de:
            self._de.value(1)
        self._uart.write(asked)
        while not self._uart.txdone():
            await asyncio.sleep_ms(1)
        if self._de:
            self._de.value(0)
        return await self._listen(asked, self._settings["reply_ms"], False)

    async def _listen(self, asked, ms, to_the_end):
        heard = b""
        for _ in range(ms // _LOOK_MS):
            await asyncio.sleep_ms(_LOOK_MS)
            heard = (heard + (self._uart.read(_MOST) or b""))[:_MOST]
            if not to_the_end and find_reply(heard, asked) != (None, None):
                break
        return heard


def value_of(data, entry):
    """(decimal text or None, reason) of a register's bytes."""
    raw = struct.unpack(_CODES[entry["type"]], in_order(data, entry["order"]))[0]
    if entry["error"] and raw == (float(entry["error"]) if entry["type"] == "f32" else int(entry["error"])):
        return None, "fault"
    if entry["type"] != "f32":
        value = scaled(raw, entry["scale"], entry["offset"])
    elif raw - raw != 0:  # NaN or infinite
        return None, "fault"
    elif (entry["scale"], entry["offset"]) == ("1", "0"):
        value = repr(raw)
    else:
        value = repr(raw * float(entry["scale"]) + float(entry["offset"]))
    number = float(value)
    if (entry["low"] and number < float(entry["low"])) or (entry["high"] and number > float(entry["high"])):
        return None, "out_of_range"
    return value, None
