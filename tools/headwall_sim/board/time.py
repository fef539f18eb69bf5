# time as on the ESP32 port: integer seconds since 2000, ticks that wrap at 2^30, all in virtual time.
import os

import _link
import utime
from micropython import const

_MASK = const(0x3FFFFFFF)
_HALF = const(0x20000000)
_2000 = const(946684800)
_boot_us = _link.now_us()
_first_us = int(os.getenv("SIM_TICKS_MS")) * 1000  # the tick counter's value at boot
_ahead_us = int(os.getenv("SIM_RTC"))  # the clock's own time since 2000 minus virtual time since 1970


def _ticks_us():
    if _link.next_edge_us <= _link.now_us():
        _link.deliver()
    return _link.now_us() - _boot_us + _first_us


def ticks_ms():
    return _ticks_us() // 1000 & _MASK


def ticks_us():
    return _ticks_us() & _MASK


ticks_cpu = ticks_us


def ticks_add(ticks, delta):
    return ticks + delta & _MASK


def ticks_diff(end, start):
    return (end - start + _HALF & _MASK) - _HALF


def sleep_us(us):
    _link.pass_until(_link.now_us() + us)


def sleep_ms(ms):
    sleep_us(ms * 1000)


def sleep(seconds):
    sleep_us(int(seconds * 1000000))


def time_us():
    # Not of the port: the clock's own time in us since 2000.
    return _link.now_us() + _ahead_us


def time():
    return time_us() // 1000000


def time_ns():
    return time_us() * 1000


def set_time_us(us):
    # Not of the port: machine.RTC sets the clock by it.
    global _ahead_us
    _ahead_us = us - _link.now_us()
    _link.tell(ord("T"), _ahead_us)


def gmtime(seconds=None):
    return utime.gmtime((time() if seconds is None else int(seconds)) + _2000)[:8]


localtime = gmtime


def mktime(parts):
    # Of whole UTC parts (year, month, day, hour, minute, second, weekday, yearday); the process runs with TZ=UTC.
    return int(utime.mktime(tuple(parts[:6]) + (0, 0, 0))) - _2000
