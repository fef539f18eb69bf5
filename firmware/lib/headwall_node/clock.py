"""What time it is on a board that may not know.

`uptime_ms()` counts from the start of a boot id and never wraps; `utc_ms()` is None until somebody trustworthy
has told the time. A boot id lasts over deep sleep, since the ESP32's system time does: so a reading taken before
the clock was known can still be dated by an anchor (boot id, uptime, UTC) learned several sleeps later. Every
other reset draws a new boot id but keeps a known time, as the system time lives until power is lost. In deep
sleep the ESP32's own oscillator may stray by some per cent of the time slept.

All instants are integer milliseconds since 1970-01-01T00:00:00Z: a 32-bit float could not hold them.
"""

import os
import time
from binascii import hexlify

from micropython import const

from . import BUILD_MS

LATEST_MS = 4102444800000  # 2100-01-01: no clock shows more
_EPOCH_MS = 946684800000 if time.gmtime(0)[0] == 2000 else 0
_REBASE_MS = const(1 << 28)  # 3.1 days: ticks differ rightly up to 6.2
_STALE_MS = const(86400000)  # after a day without the better source a lesser one may set the clock

#: who may tell the time, the better the higher: a battery-backed chip, the gateway over TLS, NTP
SOURCES = {"ds3231": 1, "custody": 2, "ntp": 3}


def _system_ms():
    """The port's own time of day, right or not; on ESP32 it lives through deep sleep and resets."""
    return time.time_ns() // 1000000 + _EPOCH_MS


def _set_system_ms(ms):
    """Set the port's time of day; TLS compares certificates with it."""
    import machine

    t = time.gmtime(ms // 1000 - _EPOCH_MS // 1000)
    machine.RTC().datetime((t[0], t[1], t[2], t[6], t[3], t[4], t[5], ms % 1000 * 1000))


class Clock:
    """Uptime and UTC of this board.

    `carried` is what `carry()` gave before a reset, kept in RTC memory; `slept` tells that the reset was the end
    of a deep sleep. Call `uptime_ms()` at least every three days: the port's ticks wrap after 12.4.

    source: who told the time, one of SOURCES, or None · before_ms: uptime that the boot id before this one had reached
    when this one began, or None · on_set(): called when the time was set
    """

    def __init__(self, carried=None, slept=False, build_ms=BUILD_MS):
        self._base = (time.ticks_ms(), 0)  # ticks and uptime of one moment, replaced as one: interrupts read it
        self._offset = None  # utc - uptime
        self._set_at = 0
        self.source = None
        self.before_ms = None
        self.on_set = None
        self.build_ms = build_ms
        self.boot_id = hexlify(os.urandom(4)).decode()
        if carried:
            self._resume(carried, slept)

    def _resume(self, carried, slept):
        boot, base, ahead, source, set_at = carried
        system = _system_ms()
        if slept and system >= base:
            self.boot_id = boot
            self._base = (self._base[0], system - base)
        elif system >= base:
            self.before_ms = system - base
        if ahead is not None and self.build_ms <= system + ahead < LATEST_MS:
            self._set_at = self._base[1] - system + set_at
            self._offset = system + ahead - self._base[1]
            self.source = source

    def carry(self):
        """What to keep in RTC memory: (boot id, system time at uptime 0, UTC minus system time or None, source, system
        time at which that one told the time)."""
        base = _system_ms() - self.uptime_ms()
        ahead = None if self._offset is None else self._offset - base
        return (self.boot_id, base, ahead, self.source, base + self._set_at)

    def uptime_ms(self):
        """Milliseconds since the boot id began."""
        return self.up_at(time.ticks_ms())

    def up_at(self, ticks):
        """The uptime at a `time.ticks_ms()` of the last days (an interrupt's). Safe to call in an interrupt."""
        then, up = self._base
        passed = time.ticks_diff(ticks, then)
        if passed > _REBASE_MS:
            self._base = (ticks, up + passed)
        return up + passed

    def utc_ms(self):
        """UTC now, or None while the clock is not known."""
        return self.utc_at(self.uptime_ms())

    def utc_at(self, up_ms):
        """UTC at an uptime of this boot id, or None while the clock is not known."""
        return None if self._offset is None else up_ms + self._offset

    @property
    def synced(self):
        return self._offset is not None

    @property
    def age_ms(self):
        """How long ago the time was told, or None while the clock is not known."""
        return None if self._offset is None else self.uptime_ms() - self._set_at

    @property
    def anchor(self):
        """(boot id, uptime, UTC) for the state message, or None while the clock is not known."""
        if self._offset is None:
            return None
        up = self.uptime_ms()
        return (self.boot_id, up, up + self._offset)

    def set_utc_ms(self, ms, source, up_ms=None):
        """Take `ms` as the UTC of uptime `up_ms` (default: now) from one of SOURCES; True if it was taken.

        Refused: a time before this program was built or after 2100, and a source lesser than the one
        that set the clock within the last day.
        """
        up = self.uptime_ms()
        rank = SOURCES[source]
        if not self.build_ms <= ms < LATEST_MS:
            return False
        if self.synced and rank < SOURCES[self.source] and up - self._set_at < _STALE_MS:
            return False
        self.source = source
        self._set_at = up
        self._move(ms - (up if up_ms is None else up_ms))
        return True

    def agree(self, ms):
        """Follow a chip that was set by this clock before a sleep: the port's own oscillator strays in one."""
        self._move(ms - self.uptime_ms())

    def _move(self, offset):
        self._offset = offset
        _set_system_ms(self.uptime_ms() + offset)
        if self.on_set:
            self.on_set()

    def best_guess_ms(self, last_ms=None):
        """The latest instant that is certainly past: build time or `last_ms`, the newest time in the journal."""
        return max(self.build_ms, last_ms or 0)

    def bootstrap(self, last_ms=None):
        """Let TLS judge certificates by `best_guess_ms` while the clock is unknown; that is not being synced."""
        guess = self.best_guess_ms(last_ms)
        if not self.synced and not guess <= _system_ms() < LATEST_MS:
            _set_system_ms(guess)
