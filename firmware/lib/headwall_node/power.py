"""What outlives sleep and resets, and what keeps the board awake: RTC memory, holds, watchdog.

RTC memory (2 KiB on ESP32) lives through deep sleep and every reset but loss of power. It holds the tips that are
not yet in the journal: at most PENDING_MAX, the number of tips that one loss of power can cost.
"""

import struct
from binascii import crc32, hexlify, unhexlify

import machine
from micropython import const

#: tips that may wait for the journal, and so the most that one power cut can lose
PENDING_MAX = 8
#: contacts (gauges) that RTC memory has room for
_CONTACTS_MAX = const(4)
#: sensors of any kind that it has room for, the contacts among them
_SENSORS_MAX = const(12)

_MAGIC = b"HWR3"
_NO_JID = bytes(8)
_SOURCES = (None, "ds3231", "custody", "ntp")
# magic, CRC-32 of all that follows, _BODY, _REPORTS, mode, pace, orders, pending tips
# _BODY: 1 known + 2 has UTC, boot, base, ahead, source, set at · jid, through · maintenance · closed, sizes of mode,
# pace, orders and tips
_BODY = "<B4sqqBq8sIqqBBBBB"
_REPORTS = "<12q"
_TIP = "<BI4sqq"  # contact, total, boot, uptime, UTC or -1
_FIXED = 8 + struct.calcsize(_BODY) + struct.calcsize(_REPORTS)

#: name -> how often: network work outstanding. The board must not sleep while any is here.
holds = {}


def hold(name):
    """Keep the board awake for `name` until as many calls of `release`."""
    holds[name] = holds.get(name, 0) + 1


def release(name):
    """End one `hold(name)`; one too many is ignored."""
    left = holds.get(name, 0) - 1
    if left > 0:
        holds[name] = left
    else:
        holds.pop(name, None)


class Retained:
    """What RTC memory keeps. Change the fields, then `save()`; whatever does not check out reads as empty.

    clock: what `Clock.carry()` gave, or None · custody: (journal id in hex, through) or None ·
    mode, pace, orders: up to 64 bytes each, of battery mode, of pace.py and of commands.py ·
    maintenance: uptimes from and until which readings are marked ·
    closed: bit mask of contacts that were closed when last looked at ·
    reported: uptime of each sensor's last report or -1, the contacts first ·
    pending: list of (contact, total, boot, up_ms, time_ms).
    """

    def __init__(self):
        self._rtc = machine.RTC()
        self._saves = 0
        self._empty()
        raw = self._rtc.memory()
        try:
            self._load(raw)
        except ValueError:  # power was lost, or another program's memory
            self._empty()

    def _empty(self):
        self.clock = None
        self.custody = None
        self.maintenance = (0, 0)
        self.mode = self.pace = self.orders = b""
        self.closed = 0
        self.reported = [-1] * _SENSORS_MAX
        self.pending = []

    def _load(self, raw):
        if len(raw) < _FIXED or raw[:4] != _MAGIC or crc32(raw[8:]) != struct.unpack_from("<I", raw, 4)[0]:
            raise ValueError("not ours")
        found = struct.unpack_from(_BODY, raw, 8)
        known, boot, base, ahead, source, set_at, jid, through = found[:8]
        if known:
            self.clock = (hexlify(boot).decode(), base, ahead if known & 2 else None, _SOURCES[source], set_at)
        if jid != _NO_JID:
            self.custody = (hexlify(jid).decode(), through)
        self.maintenance = found[8:10]
        self.closed = found[10]
        self.reported = list(struct.unpack_from(_REPORTS, raw, 8 + struct.calcsize(_BODY)))
        at = _FIXED
        parts = []
        for size in found[11:14]:
            parts.append(bytes(raw[at : at + size]))
            at += size
        self.mode, self.pace, self.orders = parts
        for i in range(found[14]):
            contact, total, boot, up_ms, time_ms = struct.unpack_from(_TIP, raw, at + i * struct.calcsize(_TIP))
            self.pending.append((contact, total, hexlify(boot).decode(), up_ms, None if time_ms < 0 else time_ms))

    def save(self):
        """Write all of it, about 1 ms. An interrupt may save while another save is under way: the last one wins."""
        self._saves += 1
        mine = 0
        while mine != self._saves:
            mine = self._saves
            self._rtc.memory(self._packed())

    def due_ms(self, slot, period_ms, up_ms):
        """Uptime at which a sensor's next report is due: at whole periods, as uplinks are: one wake-up serves all."""
        last = self.reported[slot]  # later than now: under another boot id
        return last - last % period_ms + period_ms if 0 <= last <= up_ms else up_ms

    def _packed(self):
        known, boot, base, ahead, source, set_at = 0, "00000000", 0, 0, None, 0
        if self.clock:
            boot, base, ahead, source, set_at = self.clock
            known = 1 if ahead is None else 3
        jid, through = self.custody or (hexlify(_NO_JID), 0)
        body = struct.pack(
            _BODY, known, unhexlify(boot), base, ahead or 0, _SOURCES.index(source), set_at,
            unhexlify(jid), through, self.maintenance[0], self.maintenance[1],
            self.closed, len(self.mode), len(self.pace), len(self.orders), len(self.pending),
        )  # fmt: skip
        body += struct.pack(_REPORTS, *self.reported) + self.mode + self.pace + self.orders
        for contact, total, boot, up_ms, time_ms in self.pending:
            body += struct.pack(_TIP, contact, total, unhexlify(boot), up_ms, -1 if time_ms is None else time_ms)
        return _MAGIC + struct.pack("<I", crc32(body)) + body


class Watchdog:
    """The hardware watchdog, fed only while every registered task makes progress."""

    def __init__(self, timeout_s, uptime_ms):
        self._uptime_ms = uptime_ms
        self._tasks = {}
        self._wdt = machine.WDT(timeout=timeout_s * 1000)

    def register(self, task, within_s):
        """From now on `progress(task)` must come at least every `within_s`."""
        self._tasks[task] = (self._uptime_ms(), within_s * 1000)

    def forget(self, task):
        """A task that ended by design is waited for no more."""
        self._tasks.pop(task, None)

    def progress(self, task):
        """`task` lives; KeyError if it was not registered."""
        self._tasks[task] = (self._uptime_ms(), self._tasks[task][1])

    def late(self):
        """Names of the tasks that have not progressed in time."""
        now = self._uptime_ms()
        return [name for name, (at, within) in self._tasks.items() if now - at > within]

    def feed(self):
        """Feed the hardware unless a task is late; returns the late ones."""
        late = self.late()
        if not late:
            self._wdt.feed()
        return late
