"""One sampled sensor: when it is read, what becomes of its readings, and that nothing it does harms the others.

A driver is `Driver(settings, rig)` in sensors/<kind>.py with

    async read()   -> list of (quantity, value, reason): a value as int or decimal text in the unit of the contract and
                      reason None, or value None and one of contract.NULL_REASONS; one entry a stream, always the same
    close()        -> lets go of pins and interrupts; after it the driver is made anew

It polls its buses with asyncio.sleep_ms between looks, raises OSError where a bus refuses, and keeps nothing that a
reset must not lose. Whatever else it raises, or no end in time, is a null with reason "fault" or "no_signal".
"""

import asyncio
import sys

import machine

from . import log

RETRY_MS = 1000


class Sampler:
    """settings: one of the settings' sensors · slot: its index in retained.reported"""

    def __init__(self, settings, slot, journal, clock, retained, rig):
        self._settings = settings
        self._slot = slot
        self._journal = journal
        self._clock = clock
        self._retained = retained
        self._rig = rig
        self._driver = None
        self._busy = False
        self._last = None
        self._equal = 0
        self._wake = asyncio.Event()
        self.fast = False  # the node says: rain falls, or the stage rises

    @property
    def name(self):
        return self._settings["name"]

    @property
    def due_ms(self):
        """Uptime at which the next reading is due."""
        last = self._retained.reported[self._slot]
        period = (self._settings["fast_s"] if self.fast else 0) or self._settings["period_s"]
        up = self._clock.uptime_ms()
        return last + period * 1000 if 0 <= last <= up else up

    @property
    def may_sleep(self):
        return not self._busy and self.due_ms > self._clock.uptime_ms()

    def now(self):
        """Read at once, whatever the period."""
        self._retained.reported[self._slot] = -1
        self._wake.set()

    async def run(self, beat):
        """Serve for ever; `beat()` is called at least every half minute, for the watchdog."""
        while True:
            beat()
            wait = min(self.due_ms - self._clock.uptime_ms(), 30000)
            if wait > 0:
                self._wake.clear()
                try:
                    await asyncio.wait_for_ms(self._wake.wait(), wait)
                except asyncio.TimeoutError:
                    pass
                continue
            self._busy = True
            try:
                self._write(await self.read())
            except OSError as error:  # flash refused
                log.trouble(self.name, "the journal does not take it: %s" % error)
                await asyncio.sleep_ms(RETRY_MS)
            self._busy = False

    async def read(self):
        """One reading of each stream, as the driver gives it or as nulls; in bounded time, never raises."""
        settings = self._settings
        switch = None
        if settings["power_pin"] >= 0:
            switch = machine.Pin(settings["power_pin"], machine.Pin.OUT)
            switch.value(settings["power_on"])
        try:
            if settings["warmup_ms"] and (switch or self._driver is None):
                await asyncio.sleep_ms(settings["warmup_ms"])
            if self._driver is None:
                self._driver = _load(settings["kind"])(settings, self._rig)
            found = await asyncio.wait_for_ms(self._driver.read(), settings["timeout_ms"])
            log.trouble(self.name, None)
            return found
        except asyncio.TimeoutError:
            return self._nulls("no_signal", "no answer in %d ms" % settings["timeout_ms"])
        except Exception as error:
            return self._nulls("fault", "%s: %s" % (type(error).__name__, error))
        finally:
            if switch:
                switch.value(1 - settings["power_on"])

    def _nulls(self, reason, why):
        """A null for each stream; the driver is made anew the next time."""
        log.trouble(self.name, why)
        driver, self._driver = self._driver, None
        try:
            if driver is not None:
                driver.close()
        except Exception as error:
            log.debug(self.name, "close: %s" % error)
        return [(stream[stream.rfind(".") + 1 :], None, reason) for stream in self._settings["streams"]]

    def _write(self, found):
        """Put what was read into the journal, under one time."""
        up = self._clock.uptime_ms()
        stuck = self._is_stuck(found)
        for quantity, value, reason in found:
            if stuck and value is not None:
                value, reason = None, "stuck"
            stream = "%s.%s" % (self.name, quantity)
            self._rig.note(stream, value)
            self._journal.append(stream, value, self._clock.utc_at(up), self._clock.boot_id, up, reason=reason)
        self._retained.reported[self._slot] = up
        self._retained.save()

    def _is_stuck(self, found):
        values = [value for _, value, _ in found]
        self._equal = self._equal + 1 if values == self._last and values[0] is not None else 1
        self._last = values
        return 0 < self._settings["same"] <= self._equal


def _load(kind):
    name = "%s.sensors.%s" % (__name__[: __name__.rfind(".")], kind)
    __import__(name)
    return sys.modules[name].Driver
