"""A clock with a battery of its own, the Maxim DS3231 on I2C: the time before any network, and after each sleep.

    accuracy     2 ppm from 0 to 40 °C, a minute a year
    resolution   1 s: half a second is added to what it tells
    wiring       SDA and SCL with pull-ups to 3.3 V; may share the bus with sensors
    registers    0x00 to 0x06 seconds, minutes, hours, weekday, day, month, year as BCD; 0x0E control, 0x0F status
    source       data sheet 19-5170, register map and "oscillator stop flag"

Bit 7 of the status says that the oscillator has stood still since the time was set: then it is not known. The node sets
the chip after NTP or the gateway has told the time. It is loaded when needed.
"""

import asyncio

import machine
from micropython import const

from . import log

_ADDRESS = const(0x68)
_CONTROL = const(0x0E)
_STATUS = const(0x0F)
_RESOLUTION_MS = const(1500)
_DOUBT_MS = const(7200000)  # no sleep makes the board's clock stray so far: somebody else has set the chip
_STOPPED = const(0x80)  # bit of the status, and of the control where it keeps the oscillator off on battery


def _bus(wiring):
    return machine.I2C(wiring["i2c"], scl=machine.Pin(wiring["scl"]), sda=machine.Pin(wiring["sda"]), freq=100000)


def read(wiring):
    """UTC in ms, or None where the chip does not know it; OSError where it does not answer."""
    found = _bus(wiring).readfrom_mem(_ADDRESS, 0, _STATUS + 1)
    if found[_STATUS] & _STOPPED:
        return None
    second, minute, hour, day, month, year = [_number(found[at]) for at in (0, 1, 2, 4, 5, 6)]
    if None in (second, minute, hour, day, month, year) or not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24):
        return None
    days = _days(2000 + year, month, day)
    return ((days * 24 + hour) * 60 + minute) * 60000 + second * 1000 + 500


def tell(wiring, clock):
    """Give the clock the chip's time: at each start, as a sleep makes the board's own stray."""
    try:
        ms = read(wiring)
    except OSError as error:
        log.trouble("ds3231", "no answer: %s" % error)
        return
    log.trouble("ds3231", None if ms else "it has stood still, and does not know the time")
    if not ms:
        return
    if not clock.synced:
        clock.set_utc_ms(ms, "ds3231")
    elif _DOUBT_MS > abs(ms - clock.utc_ms()) > _RESOLUTION_MS:
        clock.agree(ms)


async def keep(wiring, clock):
    """Set the chip at the next whole second."""
    try:
        await _write(wiring, clock)
        log.trouble("ds3231", None)
    except OSError as error:
        log.trouble("ds3231", "it cannot be set: %s" % error)


async def _write(wiring, clock):
    bus = _bus(wiring)
    status = bus.readfrom_mem(_ADDRESS, _STATUS, 1)[0]
    control = bus.readfrom_mem(_ADDRESS, _CONTROL, 1)[0]
    await asyncio.sleep_ms(1000 - clock.utc_ms() % 1000)
    year, month, day, weekday, hour, minute, second = machine.RTC().datetime()[:7]
    time = [_bcd(each) for each in (second, minute, hour, weekday + 1, day, month, year - 2000)]
    bus.writeto_mem(_ADDRESS, 0, bytes(time))
    bus.writeto_mem(_ADDRESS, _CONTROL, bytes((control & ~_STOPPED, status & ~_STOPPED)))


def _days(year, month, day):
    """Days from 1970-01-01 to a date of the Gregorian calendar, counted from March so that a leap day is the last."""
    if month < 3:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 719469


def _number(bcd):
    """A two-digit BCD number; None for no such. Bit 6 of the hours, for 12-hour form, makes it 40 or more."""
    high, low = bcd >> 4, bcd & 15
    return high * 10 + low if high < 10 and low < 10 else None


def _bcd(number):
    return number // 10 << 4 | number % 10
