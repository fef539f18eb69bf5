"""The state message: what the node says of itself when it connects and when something changes. Loaded when needed."""

import gc
import io
import json
import os

from micropython import const

from . import VERSION, overlay, power, slots
from .chip import chip

_LOOK_BACK = const(100)  # so many records at most are looked at for the battery's voltage


class _Into(io.IOBase):
    """A stream into a buffer: the text would need some 1 KB in one piece, beside what it is made of."""

    def __init__(self, buf):
        self._buf = buf
        self.used = 0

    def write(self, data):
        self._buf[self.used : self.used + len(data)] = data
        self.used += len(data)
        return len(data)


def message(report, journal, clock, node, buf):
    """The message as JSON text, in `buf`. node: node.Node, or None where there is none (in a test)."""
    gc.collect()
    said = {
        "v": 1,
        "status": "online",
        "fw": VERSION,
        "boot": clock.boot_id,
        "nonce": report.nonce,
        "journals": [{"jid": journal.jid, "floor": journal.floor, "next": journal.next}],
        "uptime_s": clock.uptime_ms() // 1000,
        "reset": report.reset,
        "heap_free": gc.mem_free(),
        "flash_free": _flash_free(),
        "chip": chip(),
        "config": report.config_hash,
        "synced": clock.synced,
        "time": clock.utc_ms(),
        "mode": report.mode,
        "faults": sorted(report.faults),
        "counts": {"taken": journal.next - 1, "lost": journal.lost},
        "tips_at_risk": power.PENDING_MAX,
    }
    if clock.synced:
        said["anchors"] = [clock.anchor]
        said["time_from"] = clock.source
        said["time_age_s"] = clock.age_ms // 1000
    if report.config_error is not None:
        said["config_error"] = report.config_error
        said["config_refused"] = overlay.call("settings", "refused").get("hash")  # none: it came by cable
    if slots.state["update"]:
        said["update"] = slots.state["update"]
    if node is not None:
        _add(said, node, journal)
    into = _Into(buf)
    json.dump(said, into)
    return memoryview(buf)[: into.used]


def _add(said, node, journal):
    """What the node's other parts know."""
    said["config_version"] = node.given["version"]
    said["loop_lag_ms"], node.lag_ms = node.lag_ms, 0
    if node.maintenance.left_ms:
        said["maintenance"] = -(-node.maintenance.left_ms // 1000)
    rssi = node.uplink.link.rssi_dbm()
    if rssi is not None:
        said["rssi_dbm"] = rssi
    for stream in node.given["battery"]:
        volts = _newest(journal, stream)
        if volts is not None:
            said["battery_v"] = volts


def _newest(journal, stream):
    """The newest value of a stream, if it is among the last records and no null."""
    found = None
    for record in journal.read(journal.next - _LOOK_BACK, _LOOK_BACK):
        if record[1] == stream:
            found = record[5]
    return None if found is None else float(found)


def _flash_free():
    try:
        stats = os.statvfs("/")
        return stats[0] * stats[3]
    except OSError:
        return 0
