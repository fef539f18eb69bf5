# time in virtual milliseconds, for tests of drivers: a wait costs nothing. select.py beside it makes asyncio follow.
import utime
from utime import *

# asyncio's core in C looks at the real counter; it must find the virtual one ahead of nothing
_now_us = utime.ticks_ms() * 1000


def now_us():
    return _now_us


def advance_us(us):
    global _now_us
    _now_us += us


def ticks_ms():
    return _now_us // 1000 & 0x3FFFFFFF


def ticks_us():
    return _now_us & 0x3FFFFFFF


def sleep_us(us):
    advance_us(us)


def sleep_ms(ms):
    advance_us(ms * 1000)


def sleep(s):
    advance_us(int(s * 1000000))


def time():
    return 1781000000 + _now_us // 1000000


def time_ns():
    return time() * 1000000000
