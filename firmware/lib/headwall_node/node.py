"""The node: its parts, built from the settings, and what it does on mains and on battery."""

import asyncio
from binascii import hexlify

import esp32
import machine

from . import log, power, settings, slots
from .clock import Clock
from .journal import Journal
from .network_link import Link
from .report import Report
from .sensors.tipping_bucket import TippingBucket, Tips
from .uplink import Uplink

UPLINK_WITHIN_S = 300  # longest time from one sign of life of the uplink to the next
GAUGE_WITHIN_S = 60
SENSOR_WITHIN_S = 180  # longest warm-up and timeout, and a pause of half a minute
STARVED_CONNECTIONS = 8  # so many in a row without memory, some minutes: only a restart makes one heap of the pieces


class Node:
    """given: the validated settings · in_force: their hash · refused: why the newest ones were not taken, or None ·
    room: room.Room · update: update.Update while a bundle is to be pulled
    """

    def __init__(self, given, in_force, refused, room, update=None):
        self._given = given
        self._in_force = in_force
        self._restart = None  # why the board is to start anew
        self._settings_came = False
        cause = power.reset_cause()
        uid = machine.unique_id()
        self._retained = power.Retained()
        self._clock = Clock(self._retained.clock, cause == "deep_sleep")
        log.now = self._clock.uptime_ms
        log.info("node", "%s starts after %s" % (given["node"], cause))
        self._journal = Journal(_partition("journal"), esp32.NVS("headwall"), uid)
        self._resume_journal()
        self._build_gauges()
        self._build_samplers()
        self._report = Report(self._journal, self._clock, in_force, given["mode"], cause, self._extra)
        self._report.config_error = refused
        log.trouble("settings", refused)
        self._link = Link([(net["ssid"], net["password"]) for net in given["wifi"]], given["wifi_timeout_s"] * 1000)
        self._uplink = Uplink(
            given,
            self._journal,
            self._clock,
            self._link,
            self._report,
            hexlify(uid).decode(),
            self._configure,
            lambda: self._watchdog.progress("uplink"),
            room,
            update,
        )
        self._watchdog = power.Watchdog(given["watchdog_s"], self._clock.uptime_ms)

    def _resume_journal(self):
        if self._journal.started:
            log.warn("journal", "a new one was begun: %s" % self._journal.started)
        kept = self._retained.custody
        if kept and kept[0] == self._journal.jid:
            self._journal.custody(kept[1])

    def _build_gauges(self):
        sensors = self._given["sensors"]
        contacts = [sensor for sensor in sensors if sensor["kind"] == "tipping_bucket"]
        tips = Tips(self._journal, self._retained, self._clock, [sensor["streams"][0] for sensor in contacts])
        woken = power.woken_by()
        self._gauges = []
        for contact, sensor in enumerate(contacts):
            gauge = TippingBucket(sensor, contact, tips, self._retained, self._given["report_s"])
            gauge.start(woken == contact)
            self._gauges.append(gauge)

    def _build_samplers(self):
        sampled = [sensor for sensor in self._given["sensors"] if sensor["kind"] != "tipping_bucket"]
        if not sampled:
            self._samplers = []
            return
        from .rig import Rig  # a rain gauge alone does without its memory
        from .sampler import Sampler

        rig = Rig([sensor.get("temperature_from") for sensor in sampled], self._clock.uptime_ms)
        self._samplers = [
            Sampler(sensor, len(self._gauges) + i, self._journal, self._clock, self._retained, rig)
            for i, sensor in enumerate(sampled)
        ]

    def _extra(self):
        """Fields of the state message that the report cannot know."""
        extra = {"tips_at_risk": power.PENDING_MAX}
        rssi = self._link.rssi_dbm()
        if rssi is not None:
            extra["rssi_dbm"] = rssi
        return extra

    async def main(self):
        """Run for ever; on battery, until the next sleep. The first exception of any task ends the program."""
        work = [self._run_gauge(contact) for contact in range(len(self._gauges))]
        work += [self._run_sampler(sampler) for sampler in self._samplers]
        work.append(self._check())
        work.append(self._on_battery() if self._given["mode"] == "battery" else self._on_mains())
        await asyncio.gather(*[asyncio.create_task(task) for task in work])

    # ---- tasks

    async def _run_gauge(self, contact):
        name = "gauge%d" % contact
        self._watchdog.register(name, GAUGE_WITHIN_S)

        def beat():
            self._watchdog.progress(name)
            self._uplink.look()

        await self._gauges[contact].run(beat)

    async def _run_sampler(self, sampler):
        self._watchdog.register(sampler.name, SENSOR_WITHIN_S)

        def beat():
            self._watchdog.progress(sampler.name)
            self._uplink.look()

        await sampler.run(beat)

    async def _check(self):
        """Feed the watchdog, look for faults, keep what a reset must not lose, and start anew when that is due."""
        while True:
            late = self._watchdog.feed()
            log.trouble("watchdog", "no progress of " + ", ".join(late) if late else None)
            self._look_for_faults()
            self.retain()
            if self._uplink.starved >= STARVED_CONNECTIONS:
                self._restart = "no memory to connect"
            slots.judge(False, self._clock.uptime_ms())
            await self._start_anew()
            await asyncio.sleep_ms(self._given["watchdog_s"] * 500)

    async def _start_anew(self):
        """If that is due; it does not return then."""
        why = self._restart or slots.restart
        if self._settings_came and "trial" not in slots.state:  # a version on trial leaves them to the one that stays
            why = "a new configuration came"
        if why:
            log.info("node", "starts anew: " + why)
            await self._uplink.end()
            self.retain()
            machine.reset()

    def _look_for_faults(self):
        before = self._report.material()
        found = [fault for gauge in self._gauges for fault in gauge.faults]
        for name in ("contact_chatter", "contact_stuck"):
            self._report.fault(name, name in found)
        self._report.fault("journal_full", self._journal.full)
        if self._report.material() != before:
            self._uplink.changed.set()

    async def _on_mains(self):
        self._watchdog.register("uplink", UPLINK_WITHIN_S)
        await self._uplink.run()

    async def _on_battery(self):
        from .battery import Battery  # a node on mains does without its memory

        await Battery(
            self._given, self._report.reset, self._clock, self._retained, self._gauges, self._samplers, self.retain
        ).run(self._connect_once)

    async def _connect_once(self):
        """Connect until everything is in custody; whether it is."""
        self._watchdog.register("uplink", UPLINK_WITHIN_S)
        try:
            return await self._uplink.once(self._given["awake_max_s"] * 1000)
        finally:
            self._watchdog.forget("uplink")
            self._link.down()
            await self._start_anew()

    # ---- what came, and what must stay

    def _configure(self, raw):
        """A configuration from the gateway; called from the MQTT client's reader."""
        if settings.receive(raw, self._in_force):
            self._settings_came = True
        elif not settings.refused():
            self._report.config_error = None
        self._uplink.changed.set()

    def retain(self):
        """Put into RTC memory what a reset must not lose, if it has changed."""
        clock = self._clock.carry()
        custody = (self._journal.jid, self._journal.through)
        if custody != self._retained.custody or _moved(clock, self._retained.clock):
            self._retained.clock = clock
            self._retained.custody = custody
            self._retained.save()


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


def _partition(label):
    found = esp32.Partition.find(esp32.Partition.TYPE_DATA, label=label)
    if not found:
        raise OSError("the flash has no data partition %s: flash the board with Headwall's partition table" % label)
    return found[0]
