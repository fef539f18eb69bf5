"""What ultrasonic rangers in air share: frames heard in bounded time and memory, one distance out of several, and the
speed of sound.

A ranger gives `median` measurements for one reading, each in tenths of a millimetre (an inch is 254 of them) or None
for no echo. The reading is their middle value if more than half of them agree within `spread_mm`: a spike, a leaf or a
single bad frame changes nothing, and what does not agree is no value at all.
"""

import asyncio
from math import sqrt

from micropython import const

LOOK_MS = const(20)
_ROOM = const(256)  # of the UART's buffer
_READ = const(64)
_JUNK = const(128)  # bytes outside of frames in one reading: a boot banner has some 90
STALE_MS = const(900000)  # an older temperature is none


def find_frame(data, start=0):
    """(value, offset behind its frame) of the first whole frame FF high low sum from `start` on, or (None, offset
    from which on a frame may still begin). A high byte of FF is none: 65 m, or a look that began inside a frame."""
    at = start
    while at + 4 <= len(data):
        high, low = data[at + 1], data[at + 2]
        if data[at] == 0xFF and high != 0xFF and (0xFF + high + low) & 0xFF == data[at + 3]:
            return high << 8 | low, at + 4
        at += 1
    return None, at


async def hear(uart, find, size, settings, ask=b""):
    """(values of up to `median` frames that come from now on, whether any byte came).

    find(data, at) works as find_frame; its frames have `size` bytes. With `ask` that is written every `cycle_ms`. A
    line with much noise may hold a frame by chance: then no value is taken.
    """
    looks = (settings["timeout_ms"] - 100) // LOOK_MS
    uart.read(_ROOM)  # what is older
    values, left, junk, heard, rest = [], b"", 0, False, 0
    while len(values) < settings["median"] and looks > 0:
        if ask and rest <= 0:
            uart.write(ask)
            rest = settings["cycle_ms"]
        await asyncio.sleep_ms(LOOK_MS)
        looks -= 1
        rest -= LOOK_MS
        got = uart.read(_READ)
        if not got:
            left = b""  # frames come whole: the end of one and the beginning of the next must not look like one
            continue
        heard = True
        left += got
        value, at = find(left, 0)
        while value is not None:
            values.append(value)
            junk -= size
            value, at = find(left, at)
        left = left[at:]
        junk += at
        if junk > _JUNK:
            return [], True
    return values, heard


def distance(settings, rig, found, heard, nearest=0):
    """The reading [("distance", value, reason)] of the measurements `found`.

    heard: whether anything came at all · nearest: tenths of a mm from which on a value counts, if not from `blind_mm`
    """
    needed = settings["median"] // 2 + 1
    if len(found) < needed:
        return [("distance", None, "bad_frame" if heard else "no_signal")]
    echoes = [value for value in found if value is not None]
    if len(echoes) < needed:
        return [("distance", None, "no_echo")]
    value, reason = agreed(echoes, needed, settings["spread_mm"] * 10)
    if value is not None:
        value, reason = _in_air(settings, rig, value, nearest or settings["blind_mm"] * 10)
    return [("distance", value, reason)]


def agreed(values, needed, spread):
    """(middle one, None) if `needed` of the values, more than half of them, lie within `spread`, or (None, why)."""
    values = sorted(values)
    if min([values[i + needed - 1] - values[i] for i in range(len(values) - needed + 1)]) > spread:
        return None, "disagree"
    return median(values), None


def _in_air(settings, rig, tenths, nearest):
    """(decimal text in m, None) of a distance as the sensor computed it, or (None, reason)."""
    if tenths < nearest:
        return None, "blind_zone"
    if tenths > settings["range_mm"] * 10:
        return None, "out_of_range"
    if settings["sound"] == "node":
        air = rig.newest(settings["temperature_from"], STALE_MS)
        if air is None:
            return None, "not_ready"
        tenths = 10 * corrected_mm(tenths / 10, air, settings["assumed_cel"])
    if tenths % 10:
        return "%d.%04d" % divmod(tenths, 10000), None
    return "%d.%03d" % divmod(tenths // 10, 1000), None


def median(values):
    """The middle one of a list of numbers; of an even count the lower of the two."""
    return sorted(values)[(len(values) - 1) // 2]


def sound_m_s(air_cel):
    """Speed of sound in air: 331.3 sqrt(1 + T / 273.15), T in degrees Celsius (dry air at sea level)."""
    return 331.3 * sqrt(1 + air_cel / 273.15)


def corrected_mm(raw_mm, air, assumed_cel):
    """A distance in mm that was computed for `assumed_cel`, as it is at the air's temperature (decimal text, Cel)."""
    return int(raw_mm * sound_m_s(float(air)) / sound_m_s(assumed_cel) + 0.5)
