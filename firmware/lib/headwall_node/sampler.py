"""The sampled sensors: when each is read, what becomes of its readings, and that nothing it does harms the others.

They are read one at a time. A sensor's settings and driver are loaded for the reading and forgotten after it
(overlay.py), so that many kinds of sensor need the memory of the largest. A driver that must live on between readings,
as one that counts pulses, has a RESIDENT that is true.

A driver is `Driver(settings, rig)` in sensors/<kind>.py with

    async read()   -> list of (quantity, value, reason): a value as int or decimal text in the unit of the contract and
                      reason None, or value None and one of contract.NULL_REASONS; one entry a stream, always the same
    close()        -> lets go of pins and interrupts; after it the driver is made anew

It imports what it needs at its top, polls its buses with asyncio.sleep_ms between looks, raises OSError where a bus
refuses, and keeps nothing that the next reading needs, unless it is resident, and nothing that a reset must not lose.
Whatever else it raises, or no end in time, is a null with reason "fault" or "no_signal".
"""

import asyncio

import machine
from micropython import const

from . import (
    log,
    overlay,
    sensors,  # noqa: F401  the package stays, its drivers come and go
    stored,
)
from .bell import Bell

_RETRY_MS = const(1000)
_STALE_MS = const(900000)  # an older temperature is none
_wake = Bell()


class Sampler:
    """settings: of the sensor · slot: its index in retained.reported · line: where they stand (stored.py), so that they
    need not be kept; None: they are
    """

    def __init__(self, settings, slot, journal, clock, retained, rig, line=None):
        self.name = settings["name"]
        self._period_ms = settings["period_s"] * 1000
        self._fast_ms = settings["fast_s"] * 1000
        self._same = settings["same"]
        self.wants = settings.get("temperature_from")  # stream of another sensor that it needs the newest value of
        self._settings = None if line else settings
        self._line = line
        self._slot = slot
        self._journal = journal
        self._clock = clock
        self._retained = retained
        self._rig = rig
        self._driver = None  # kept only if it is resident
        self._warm = False  # it has had its warm-up, and power since
        self._busy = False
        self._last = None
        self._equal = 0

    @property
    def reported_ms(self):
        """Uptime of the last reading, or -1."""
        return self._retained.reported[self._slot]

    @property
    def due_ms(self):
        """Uptime at which the next reading is due."""
        pace = self._rig.pace
        period = self._fast_ms if self._fast_ms and pace is not None and pace.fast else self._period_ms
        return self._retained.due_ms(self._slot, period, self._clock.uptime_ms())

    @property
    def may_sleep(self):
        return not self._busy and self.due_ms > self._clock.uptime_ms()

    def now(self):
        """Read as soon as it may be, whatever the period."""
        self._retained.reported[self._slot] = -1
        self.hurry()

    def hurry(self):
        """Look anew which sensor is due."""
        _wake.set()

    def lacks(self, other):
        """Whether this sensor needs a value of another that is not there, as after a sleep: that one is read first."""
        wants = self.wants
        return bool(wants) and wants.startswith(other.name + ".") and self._rig.newest(wants, _STALE_MS) is None

    async def serve(self):
        """Read and write once; where flash refuses, that is told and the reading is due still."""
        self._busy = True
        try:
            self._write(await self.read())
        except (OSError, ValueError) as error:
            log.trouble(self.name, "flash does not take or give: %s" % error)
            await asyncio.sleep_ms(_RETRY_MS)
        self._busy = False

    async def read(self):
        """One reading of each stream, as the driver gives it or as nulls; in bounded time.

        OSError or ValueError only where the settings cannot be read.
        """
        async with overlay.turn:
            settings = self._settings or stored.line(self._line)
            switch = None
            if settings["power_pin"] >= 0:
                switch = machine.Pin(settings["power_pin"], machine.Pin.OUT)
                switch.value(settings["power_on"])
            try:
                if settings["warmup_ms"] and (switch or not self._warm):
                    await asyncio.sleep_ms(settings["warmup_ms"])
                return await self._ask(settings)
            finally:
                if switch:
                    switch.value(1 - settings["power_on"])

    async def _ask(self, settings):
        """Load the driver, read, and forget it; after a fault one that is resident is made anew the next time."""
        driver, came, why = self._driver, [], None
        try:
            if driver is None:
                driver, came = overlay.make("sensors." + settings["kind"], settings, self._rig)
            found = await asyncio.wait_for_ms(driver.read(), settings["timeout_ms"])
        except asyncio.TimeoutError:
            reason, why = "no_signal", "no answer in %d ms" % settings["timeout_ms"]
        except Exception as error:
            reason, why = "fault", "%s: %s" % (type(error).__name__, error)
        overlay.forget(came)
        log.trouble(self.name, why)
        self._warm = why is None
        self._driver = driver if self._warm and getattr(driver, "RESIDENT", False) else None
        if driver is not None and self._driver is None:
            self._close(driver)
        if why:
            return [(stream[stream.rfind(".") + 1 :], None, reason) for stream in settings["streams"]]
        return found

    def _close(self, driver):
        try:
            driver.close()
        except Exception as error:
            log.debug(self.name, "close: %s" % error)

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
        if not self._same:
            return False
        values = [value for _, value, _ in found]
        self._equal = self._equal + 1 if values == self._last and values[0] is not None else 1
        self._last = values
        return self._same <= self._equal


async def serve(samplers, clock, beat):
    """Read each sensor when it is due, for ever; `beat()` is called at least every minute and a reading."""
    while True:
        beat()
        _wake.clear()
        first = min(samplers, key=lambda sampler: sampler.due_ms)
        wait = min(first.due_ms - clock.uptime_ms(), 60000)
        if wait <= 0:
            for source in [each for each in samplers if first.lacks(each)]:
                await source.serve()
                beat()
            await first.serve()
            continue
        await _wake.wait_ms(wait)
