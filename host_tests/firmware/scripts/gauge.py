"""A gauge on simulated time: `bench()` gives board time, pin, journal and bucket; imported by the tests' scripts."""

import machine
import time as real
from flash import NVS, Flash
from machine import RTC, Pin

from headwall_node import clock, power, sleep
from headwall_node.journal import Journal
from headwall_node.sensors import tipping_bucket

T = 1781000000000
SETTINGS = {
    "kind": "tipping_bucket",
    "name": "rain",
    "pin": 4,
    "pull": "up",
    "closed": 0,
    "lockout_ms": 500,
    "settle_ms": 50,
    "stuck_s": 10,
}


class Time:
    now = 1000
    gmtime = staticmethod(real.gmtime)
    ticks_ms = staticmethod(lambda: Time.now)
    ticks_diff = staticmethod(lambda a, b: a - b)
    time_ns = staticmethod(lambda: (T + Time.now) * 1000000)


clock.time = Time
tipping_bucket.ticks_ms = Time.ticks_ms
tipping_bucket.ticks_diff = Time.ticks_diff
pin = Pin(SETTINGS["pin"])
flash, nvs = Flash(8), NVS()


class Board:
    """One start of the board over the flash and RTC memory that are there; `synced` tells it the time."""

    kind, settings = tipping_bucket.TippingBucket, SETTINGS

    def __init__(self, cause=machine.PWRON_RESET, synced=True, report_s=900, streams=("rain.tips",)):
        machine.cause = cause
        if cause == machine.PWRON_RESET:
            RTC.kept = b""
        pin.handler = None
        self.retained = power.Retained()
        slept = sleep.reset_cause() == "deep_sleep"
        self.clock = clock.Clock(self.retained.clock, slept)
        if synced:
            self.clock.set_utc_ms(T + Time.now, "ntp")
        self.retained.clock = self.clock.carry()
        self.journal = Journal(flash, nvs, b"uid")
        self.tips = tipping_bucket.Tips(self.journal, self.retained, self.clock, streams)
        self.bucket = self.kind(self.settings, 0, self.tips, self.retained, report_s)
        self.bucket.start(sleep.woken_by() == 0)

    def serve(self, ms):
        """Let time pass, serving when the bucket asks for it."""
        end = Time.now + ms
        while True:
            wait = self.bucket.service()
            if Time.now + wait > end:
                break
            Time.now += wait
        Time.now = end
        self.bucket.service()

    def edges(self, levels, serve=True):
        """(after how many ms, level) one after the other; served between unless the program is blocked."""
        for after, level in levels:
            if serve:
                self.serve(after)
            else:
                Time.now += after
            pin.drive(level)

    def tip(self, closed_ms=100):
        self.edges(((600, 0), (closed_ms, 1)))

    def values(self):
        """What the journal holds, short: value, or the reason of a null."""
        return [r[7] or r[5] for r in self.journal.read(0, 999)]

    def count(self):
        """(tips in the journal, its total)"""
        return sum(1 for v in self.values() if v == 1), self.journal.total
