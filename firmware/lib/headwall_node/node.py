"""The node: what it does on mains and on battery. build.py makes it and its parts."""

import asyncio
import json

import machine
from micropython import const

from . import log, overlay, power, slots
from .bell import Bell

_UPLINK_WITHIN_S = const(300)  # longest time from one sign of life of the uplink to the next
_GAUGE_WITHIN_S = const(60)
_SENSORS_WITHIN_S = const(330)  # a wait for a handshake, the longest warm-up and timeout, and a pause of a minute
_COMMANDS_MAX = const(4)  # that wait; the gateway sends what did not fit again
_STARVED_CONNECTIONS = const(8)  # so many in a row without memory, some minutes: only a restart mends the heap


class Node:
    """given: the checked settings · in_force: their hash · update: update.Update while a bundle is to be pulled ·
    retained, clock, journal, report, maintenance: see their modules · gauges, samplers: lists, to be filled ·
    pace: pace.Pace where a sensor is read faster at times, else None · uplink: None on battery until it is time to
    connect · lag_ms: the longest that the loop was late since the last state message · restart: why the board is to
    start anew, or None
    """

    def __init__(self, given, in_force, update, retained, clock, journal, report, maintenance):
        self.given = given
        self.in_force = in_force
        self.update = update
        self.retained = retained
        self.clock = clock
        self.journal = journal
        self.report = report
        self.maintenance = maintenance
        self.gauges = []
        self.samplers = []
        self.pace = None
        self.uplink = None
        self.restart = None
        self._settings_came = False
        self._commands = []  # the first is being done
        self.lag_ms = 0
        self._awake_ms = 0  # uptime until which the board is not to sleep
        self._soon = Bell()  # have a look at once
        self._chip_due = False  # the DS3231 is to be told a new time
        self._watchdog = power.Watchdog(given["watchdog_s"], clock.uptime_ms)

    async def main(self):
        """Run for ever; on battery, until the next sleep. The first exception of any task ends the program."""
        work = [self._run_gauge(contact) for contact in range(len(self.gauges))]
        if self.samplers:
            work.append(self._run_samplers())
        work.append(self._check())
        work.append(self._on_battery() if self.given["mode"] == "battery" else self._on_mains())
        await asyncio.gather(*[asyncio.create_task(task) for task in work])

    # ---- tasks

    async def _run_gauge(self, contact):
        await self.gauges[contact].run(self._beat("gauge%d" % contact, _GAUGE_WITHIN_S))

    async def _run_samplers(self):
        from .sampler import serve

        await serve(self.samplers, self.clock, self._beat("sensors", _SENSORS_WITHIN_S))

    def _beat(self, name, within_s):
        """What a task must call at least so often; it also looks for new records."""
        self._watchdog.register(name, within_s)

        def beat():
            self._watchdog.progress(name)
            if self.pace is not None and self.pace.rain(self.journal.total):
                self.samplers[0].hurry()
            if self.uplink is not None:
                self.uplink.look()

        return beat

    async def _check(self):
        """Feed the watchdog, look for faults, keep what a reset must not lose, and start anew when that is due."""
        while True:
            late = self._watchdog.feed()
            log.trouble("watchdog", "no progress of " + ", ".join(late) if late else None)
            self.look_for_faults()
            self.retain()
            if self.uplink is not None and self.uplink.starved >= _STARVED_CONNECTIONS:
                self.restart = "no memory to connect"
            slots.judge(False, self.clock.uptime_ms())
            await self._keep_chip()
            await self._start_anew()
            self._soon.clear()
            due = self.clock.uptime_ms() + self.given["watchdog_s"] * 500
            if not await self._soon.wait_ms(self.given["watchdog_s"] * 500):
                self.lag_ms = max(self.lag_ms, self.clock.uptime_ms() - due)

    async def _start_anew(self):
        """If that is due; it does not return then."""
        why = self.restart or slots.restart
        if self._settings_came and "trial" not in slots.state:  # a version on trial leaves them to the one that stays
            why = "a new configuration came"
        if why and not self._commands:
            log.info("node", "starts anew: " + why)
            if self.uplink is not None:
                await self.uplink.end()
            self.retain()
            machine.reset()

    def look_for_faults(self):
        """Name the faults that there are in the state message."""
        before = self.report.material()
        found = [fault for gauge in self.gauges for fault in gauge.faults]
        for name in ("contact_chatter", "contact_stuck"):
            self.report.fault(name, name in found)
        self.report.fault("journal_full", self.journal.full)
        if self.report.material() != before:
            self._changed()

    def _changed(self):
        """The report has something new to say."""
        if self.uplink is not None:
            self.uplink.changed.set()

    async def _on_mains(self):
        self._watchdog.register("uplink", _UPLINK_WITHIN_S)
        await self.uplink.run()

    async def _on_battery(self):
        from .battery import Battery  # a node on mains does without its memory

        await Battery(self).run(self._connect_once)

    async def _connect_once(self):
        """Connect until everything is in custody; whether it is."""
        if self.uplink is None:
            overlay.install("build", "add_uplink", self)  # most starts on battery do without its memory
        self._watchdog.register("uplink", _UPLINK_WITHIN_S)
        try:
            return await self.uplink.once(self.given["awake_max_s"] * 1000)
        finally:
            self._watchdog.forget("uplink")
            self.uplink.link.down()
            await self._keep_chip()
            await self._start_anew()

    # ---- for the uplink

    def progress(self):
        """The uplink lives."""
        self._watchdog.progress("uplink")

    def configure(self, raw):
        """A configuration from the gateway; called from the MQTT client's reader."""
        taken, refused = overlay.call("settings", "receive", raw, self.in_force)
        if taken:
            self._settings_came = True
        elif not refused:
            self.report.config_error = None
        self._changed()

    def command(self, told):
        """A command from the gateway; called from the MQTT client's reader."""
        if len(self._commands) < _COMMANDS_MAX and told.get("id") not in [each.get("id") for each in self._commands]:
            self._commands.append(told)
            self.uplink.working = True
            if len(self._commands) == 1:
                asyncio.create_task(self._obey())

    async def _obey(self):
        """Do the commands that wait, one after the other, and answer them."""
        while self._commands:
            told = self._commands[0]
            try:
                answer = await overlay.call("order" if told.get("do") == "update" else "commands", "obey", told, self)
            except Exception as fault:
                log.exception("command", fault)
                answer = {"v": 1, "id": told.get("id"), "do": told.get("do"), "ok": False}
                answer["why"] = "%s: %s" % (type(fault).__name__, fault)
            log.info("command", "%s: %s" % (told.get("do"), answer.get("why", "done")))
            self.uplink.replies.append(json.dumps(answer))
            self._commands.pop(0)
            self.uplink.working = bool(self._commands)
            self.uplink.changed.set()
        self._soon.set()

    def stay_awake(self, ms):
        """Not to sleep for so long from now, though nothing else is to be done."""
        self._awake_ms = self.clock.uptime_ms() + ms

    @property
    def may_sleep(self):
        return not self._commands and self.clock.uptime_ms() >= self._awake_ms

    # ---- what must stay

    def time_set(self):
        """The clock was set: a reset before the next look must not undo that."""
        self.retain()
        self._chip_due = bool(self.given["ds3231"])

    async def _keep_chip(self):
        """Tell the DS3231 a time that NTP or the gateway has told."""
        if self._chip_due and self.clock.source != "ds3231":
            self._chip_due = False
            await overlay.call("ds3231", "keep", self.given["ds3231"][0], self.clock)

    def retain(self):
        """Put into RTC memory what a reset must not lose, if it has changed."""
        clock = self.clock.carry()
        custody = (self.journal.jid, self.journal.through)
        if custody != self.retained.custody or _moved(clock, self.retained.clock):
            self.retained.clock = clock
            self.retained.custody = custody
            self.retained.save()


def _moved(clock, kept):
    """Whether two results of Clock.carry() differ by more than the rounding of their milliseconds."""
    if (
        kept is None
        or clock[0] != kept[0]
        or clock[3] != kept[3]
        or abs(clock[1] - kept[1]) > 5
        or abs(clock[4] - kept[4]) > 5
    ):
        return True
    return clock[2] is not None and (kept[2] is None or abs(clock[2] - kept[2]) > 5)
