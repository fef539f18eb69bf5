"""Runs in MicroPython: journal, clock and uplink as the app wires them, told what to do by lines in the file do.txt."""

# ruff: noqa: E402
import gc
import json

from flash import NVS, Flash

gc.threshold(1024)  # as in app.py
with open("settings.json") as f:  # the port takes no argument of more than 255 characters
    settings = json.load(f)
tuning = settings.pop("tuning")
flash = Flash(tuning.get("sectors", 3))  # its RAM is taken while the heap is whole

from headwall_node.room import Room

room = Room(settings["ca_file"])  # first, as in app.py

import asyncio

from headwall_node import log, power, session, sleep, uplink
from headwall_node.clock import Clock
from headwall_node.journal import Journal
from headwall_node.network_link import Link
from headwall_node.report import Report

for module in (session, uplink):
    for name, value in tuning.items():
        if hasattr(module, name):
            setattr(module, name, value)
log.level = 0
journal = Journal(flash, NVS(), b"\x24\x0a\xc4\x00\x00\x01")
clock = Clock()
report = Report(journal, clock, "00" * 8, settings["mode"], sleep.reset_cause())
got_config = []
beats = 0
progress = 0


def progressed():
    global progress
    progress += 1


def commanded(told):
    """The node's part: it knows one command."""
    if told.get("do") == "state":
        report.again()
        up.changed.set()
    else:
        say("command", told.get("do"))


def took_config(payload):
    got_config.append(bytes(payload).decode())  # a view of the buffer, good until this returns


up = uplink.Uplink(settings, journal, clock, Link([]), report, "240ac4000001", took_config, commanded, progressed, room)


def tip(count):
    for _ in range(count):
        journal.append_tip("rain.tips", clock.utc_ms(), clock.boot_id, clock.uptime_ms())
    up.changed.set()


def say(*words):
    print("SAY", *words)


def do(line):
    words = line.split()
    if words[0] == "tip":
        tip(int(words[1]))
    elif words[0] == "zero":
        for _ in range(int(words[1])):
            journal.append("rain.tips", 0, clock.utc_ms(), clock.boot_id, clock.uptime_ms())
        up.changed.set()
    elif words[0] == "tell":
        gc.collect()
        say(
            words[1],
            json.dumps(
                {
                    "next": journal.next,
                    "through": journal.through,
                    "floor": journal.floor,
                    "holds": power.holds,
                    "synced": clock.synced,
                    "flight": len(up.window.flight),
                    "unacked": len(up.client.unacked),
                    "beats": beats,
                    "alloc": gc.mem_alloc(),
                    "progress": progress,
                    "config": got_config,
                }
            ),
        )
    elif words[0] == "once":
        asyncio.create_task(once(int(words[1])))
    elif words[0] == "run":
        asyncio.create_task(up.run())


async def once(limit_ms):
    say("once", await up.once(limit_ms), power.holds)


async def main():
    global beats
    at = 0
    while True:
        await asyncio.sleep_ms(20)
        beats += 1
        with open("do.txt") as f:
            f.seek(at)
            text = f.read()
        end = text.rfind("\n") + 1
        at += end
        for line in text[:end].split("\n"):
            if line == "quit":
                return
            if line:
                do(line)


say("next", journal.next)
asyncio.run(main())
