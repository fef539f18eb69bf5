"""Battery mode: what is due is done, then the board sleeps until the next duty or until a contact closes."""

import asyncio
import struct

from . import power

RETRY_MS = 60000  # wait after an uplink that failed, doubled with each in a row, up to uplink_s
SETTLE_MS = 50
_DUE = "<qB"  # kept in RTC memory: uptime at which the next uplink is due, failures in a row


class Battery:
    """given: the settings · reset: the cause of this start · retain(): saves what a reset must not lose"""

    def __init__(self, given, reset, clock, retained, gauges, samplers, retain):
        self._given = given
        self._clock = clock
        self._retained = retained
        self._gauges = gauges
        self._samplers = samplers
        self._retain = retain
        self._due, self._failures = 0, 0  # after anything but a sleep the uplink is due at once
        if reset == "deep_sleep" and len(retained.mode) == struct.calcsize(_DUE):
            self._due, self._failures = struct.unpack(_DUE, retained.mode)

    async def run(self, connect):
        """Serve until the sleep, from which the board starts anew. connect(): whether all is in custody then."""
        while True:
            if self._clock.uptime_ms() >= self._due:
                self._failures = 0 if await connect() else self._failures + 1
                self._due = self._clock.uptime_ms() + self._wait_ms()
                self._retained.mode = struct.pack(_DUE, self._due, min(self._failures, 255))
                self._retained.save()
            await self._settle()
            wait = min(self._due, self._next_report()) - self._clock.uptime_ms()
            if wait > 0:
                self._retain()
                power.deep_sleep(wait, [(gauge.pin, gauge.level) for gauge in self._gauges])
            await asyncio.sleep_ms(SETTLE_MS)

    def _wait_ms(self):
        every = self._given["uplink_s"] * 1000
        return min(every, RETRY_MS << min(self._failures - 1, 12)) if self._failures else every

    async def _settle(self):
        """Wait until no sensor is in the middle of something; a contact that chatters is not waited for for ever."""
        end = self._clock.uptime_ms() + self._given["awake_max_s"] * 1000
        while not all(each.may_sleep for each in self._gauges + self._samplers) and self._clock.uptime_ms() < end:
            await asyncio.sleep_ms(SETTLE_MS)

    def _next_report(self):
        """Uptime at which the first gauge owes its report, or the first sampler its reading."""
        dues = [last + self._given["report_s"] * 1000 for last in self._retained.reported[: len(self._gauges)]]
        return min(dues + [sampler.due_ms for sampler in self._samplers])
