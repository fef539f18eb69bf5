"""Battery mode: what is due is done, then the board sleeps until the next duty or until a contact closes."""

import asyncio
import struct
from binascii import crc32

from micropython import const

from .sleep import deep_sleep

_RETRY_MS = const(60000)  # wait after an uplink that failed, doubled with each in a row, up to uplink_s
_FAULT_MS = const(300000)  # a new fault is told so long after the uplink before it at the earliest: they come and go
_SETTLE_MS = const(50)
_BLIND_MS = const(600000)  # longest sleep while a contact chatters: it wakes nobody then
_SHORT_MS = const(2000)  # so short a sleep would cost more than it saves: the start after it takes as long
# kept in RTC memory: uptimes at which the next uplink is due, the last one was, and rain fell that nobody knows of
# (-1: none); failures in a row; CRC of the faults and count of the tips that the last uplink told
_KEPT = "<qqqBII"


class Battery:
    """node: node.Node"""

    def __init__(self, node):
        self._node = node
        self._clock = node.clock
        self._due, self._last, self._rain = 0, 0, -1  # after anything but a sleep the uplink is due at once
        self._failures, self._faults, self._tips = 0, 0, node.journal.total
        if node.report.reset == "deep_sleep" and len(node.retained.mode) == struct.calcsize(_KEPT):
            kept = struct.unpack(_KEPT, node.retained.mode)
            self._due, self._last, self._rain, self._failures, self._faults, self._tips = kept

    async def run(self, connect):
        """Serve until the sleep, from which the board starts anew. connect(): whether all is in custody then."""
        while True:
            await self._settle()
            self._node.look_for_faults()
            if self._due_ms() <= self._clock.uptime_ms():
                self._connected(await connect())
                continue
            wait = min(self._due_ms(), self._next_duty()) - self._clock.uptime_ms()
            if wait > _SHORT_MS:
                self._node.retain()
                self._sleep(wait)
            await asyncio.sleep_ms(_SETTLE_MS)

    def _sleep(self, ms):
        """Until then, or until a contact closes; not one that chatters, which would wake the board for ever."""
        contacts = [(gauge.pin, None if gauge.reason == "fault" else gauge.level) for gauge in self._node.gauges]
        if None in [level for _, level in contacts]:
            ms = min(ms, _BLIND_MS)
        deep_sleep(ms, contacts)

    def _due_ms(self):
        """Uptime at which the next uplink is due: its own time, or sooner for fresh rain or a new fault."""
        due, node = self._due, self._node
        if node.given["rain_uplink_s"] and node.journal.total != self._tips and not self._failures:
            if self._rain < 0:
                self._rain = self._clock.uptime_ms()
                self._keep()
            due = min(due, self._rain + node.given["rain_uplink_s"] * 1000)
        if _sum(node.report.faults) not in (self._faults, _sum([])) and not self._failures:
            due = min(due, self._last + _FAULT_MS)
        return due

    def _connected(self, safe):
        """Keep what became of an uplink that has just ended."""
        node, up = self._node, self._clock.uptime_ms()
        self._failures = 0 if safe else self._failures + 1
        every = node.given["uplink_s"] * 1000
        if self._failures:
            self._due = up + min(every, _RETRY_MS << min(self._failures - 1, 12))
        else:
            self._due = up - up % every + every  # with the sensors, which are read at whole periods
        self._last, self._rain = up, -1
        self._faults, self._tips = _sum(node.report.faults), node.journal.total
        self._keep()

    def _keep(self):
        kept = (self._due, self._last, self._rain, min(self._failures, 255), self._faults, self._tips)
        self._node.retained.mode = struct.pack(_KEPT, *kept)
        self._node.retained.save()

    def _rests(self):
        """Whether no sensor is in the middle of something, and nothing else keeps the board awake."""
        node = self._node
        return node.may_sleep and all(each.may_sleep for each in node.gauges + node.samplers)

    async def _settle(self):
        """Wait until the board rests; a contact that chatters is not waited for for ever."""
        end = self._clock.uptime_ms() + self._node.given["awake_max_s"] * 1000
        while not self._rests() and (self._clock.uptime_ms() < end or not self._node.may_sleep):
            await asyncio.sleep_ms(_SETTLE_MS)

    def _next_duty(self):
        """Uptime at which the first gauge owes its report, or the first sampler its reading."""
        return min([each.due_ms for each in self._node.gauges + self._node.samplers])


def _sum(faults):
    return crc32(",".join(sorted(faults)).encode())
