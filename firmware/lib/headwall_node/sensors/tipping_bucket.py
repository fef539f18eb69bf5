"""Tipping-bucket rain gauge: a reed contact that closes for 50 to 150 ms a tip.

    range        one tip in `lockout_ms` at the most (0.254 mm in 500 ms is 1,829 mm/h)
    resolution   one tip; its time to the millisecond
    wiring       contact between the pin and ground with pull-up (`closed` 0), or to 3.3 V with pull-down (`closed` 1);
                 an external pull-up of 10 to 100 kilohm for battery mode
    facts        bounce and lock-out: JTECH 31(6) gives closures of 50 to 150 ms and 0.524 s for a tip to complete,
                 so two closings within the lock-out are one tip

Both edges interrupt. The handler is soft: it runs a little after the edge, in the worst case after the contact has
opened again, and an edge can arrive that never was one. What the last known state, the level seen by the handler
and the time since the edge before ("quiet": at least `settle_ms`) mean:

    known    level    quiet  meaning
    open     closed   yes    a tip, unless the last tip is less than `lockout_ms` ago
    open     closed   no     bounce; now closed
    open     open     yes    one edge without a closing: interference, remembered; but a tip where flash was just being
                             erased, which holds interrupts back and makes one of several
    open     open     no     the second of such a pair: it closed and opened before the handler ran, a tip (as above);
                             without such a first: bounce of an opening, or an interrupt fired on release
    closed   open     any    the opening; now open
    closed   closed   any    bounce

Edges that go on for 250 ms without a rest of `settle_ms` are no rain but a fault of contact or cable: a null with
reason "fault", the tip that began it is withdrawn, and nothing is counted until the contact rests for a second. That
is why a tip goes to the journal 400 ms after it happened; till then, and as long as the journal is busy, it stands
in RTC memory. A contact that stays closed gives one tip and then nulls with reason "stuck": silence is not dryness.
"""

import asyncio
from time import ticks_diff, ticks_ms

from machine import Pin
from micropython import const

from .. import power

_CHATTER_MS = const(250)
_CONFIRM_MS = const(400)  # more than _CHATTER_MS and the rest that ends a run of edges
_REST_MS = const(1000)
_LONGEST_WAIT_MS = const(30000)
_RETRY_MS = const(1000)
_PAST = const(-1000000)


class Tips:
    """Tips of all gauges on their way from the interrupts through RTC memory into the journal, in order.

    streams: name of each contact's stream, by its index. missed: tips that found RTC memory full since the last
    record; they show as a jump of the total.
    """

    def __init__(self, journal, retained, clock, streams):
        self._journal = journal
        self._retained = retained
        self.clock = clock
        self.streams = streams
        self.missed = 0
        self._recover()

    def _recover(self):
        """After a reset: drop the tips that reached the journal before it, write the others."""
        kept = self._retained.pending
        if self._journal.started:  # a new journal counts from zero
            kept[:] = [(tip[0], i + 1) + tip[2:] for i, tip in enumerate(kept)]
        else:
            kept[:] = [tip for tip in kept if tip[1] > self._journal.total]
        self._retained.save()
        self.write(None)

    def blind(self, within_ms):
        """True while the journal erases flash and for `within_ms` after: interrupts come late then."""
        journal = self._journal
        return journal.erasing or 0 <= ticks_diff(ticks_ms(), journal.erased_ticks) < within_ms

    def add(self, contact, up_ms):
        """Take a tip; called by the interrupt handler. It is in RTC memory when this returns."""
        kept = self._retained.pending
        if len(kept) >= power.PENDING_MAX:
            self.missed += 1
            return
        total = (kept[-1][1] if kept else self._journal.total) + 1 + self.missed
        self.missed = 0
        kept.append((contact, total, self.clock.boot_id, up_ms, self.clock.utc_at(up_ms)))

    def withdraw(self, contact, since_ms):
        """Take back what `contact` added from `since_ms` on and is not in the journal."""
        kept = self._retained.pending
        for tip in [t for t in kept if t[0] == contact and t[3] >= since_ms and t[2] == self.clock.boot_id]:
            kept.remove(tip)

    def write(self, before_ms):
        """Put the tips of up to `before_ms` (None: all) into the journal; OSError when its flash refuses."""
        kept = self._retained.pending
        while kept:
            contact, total, boot, up_ms, time_ms = kept[0]
            if boot == self.clock.boot_id:
                if before_ms is not None and up_ms > before_ms:
                    return
                time_ms = self.clock.utc_at(up_ms) if time_ms is None else time_ms
            self._journal.append_tip(self.streams[contact], time_ms, boot, up_ms, total)
            kept.pop(0)
            self._retained.save()

    def report(self, contact, reason):
        """Write that nothing fell since the record before (v 0), or a null with `reason`."""
        up = self.clock.uptime_ms()
        stream, utc, boot = self.streams[contact], self.clock.utc_at(up), self.clock.boot_id
        if reason:
            self._journal.append(stream, None, utc, boot, up, reason=reason)
        else:
            missed = 0 if self._retained.pending else self.missed
            self._journal.append(stream, 0, utc, boot, up, total=self._journal.total + missed)
            self.missed -= missed
        self._retained.reported[contact] = up
        self._retained.save()


class Gauge:
    """What gauges of every kind share: their reports, and their task.

    One has `service()`, which does what is due and returns after how many ms to call again at the latest, and `reason`:
    why it cannot see rain now ("fault", "stuck"), or None.
    """

    def __init__(self, contact, tips, retained, report_s):
        self._contact = contact
        self._tips = tips
        self._retained = retained
        self._clock = tips.clock
        self._report_every = report_s * 1000
        self._told = None  # the reason that the last null gave
        self._flag = asyncio.ThreadSafeFlag()

    @property
    def name(self):
        """That of its stream."""
        return self._tips.streams[self._contact]

    def now(self):
        """Report at once."""
        self._retained.reported[self._contact] = -1
        self._flag.set()

    @property
    def reported_ms(self):
        """Uptime of the last report, or -1."""
        return self._retained.reported[self._contact]

    @property
    def due_ms(self):
        """Uptime at which the next report is due."""
        return self._retained.due_ms(self._contact, self._report_every, self._clock.uptime_ms())

    def _report(self, up):
        """Say that nothing fell, or why that cannot be said, if it is time or new."""
        reason = self.reason
        if self.due_ms <= up or (reason and reason != self._told):
            self._tips.report(self._contact, reason)
        self._told = reason

    async def run(self, beat=None):
        """Serve for ever; `beat()` is called at least every half minute, for the watchdog."""
        while True:
            wait = self.service()
            if beat:
                beat()
            try:
                await asyncio.wait_for_ms(self._flag.wait(), wait)
            except asyncio.TimeoutError:
                pass


class TippingBucket(Gauge):
    """One gauge: `start()` once, then `run()` as a task, or `service()` by hand.

    settings: one of the settings' sensors · contact: its index among the gauges · woken: this contact's closing
    ended the deep sleep, so that tip counts although nobody saw the edge.
    """

    def __init__(self, settings, contact, tips, retained, report_s):
        Gauge.__init__(self, contact, tips, retained, report_s)
        pull = {"up": Pin.PULL_UP, "down": Pin.PULL_DOWN, "none": None}[settings["pull"]]
        self.pin = Pin(settings["pin"], Pin.IN, pull)
        self.level = settings["closed"]
        self._lockout = settings["lockout_ms"]
        self._settle = settings["settle_ms"]
        self._stuck_after = settings["stuck_s"] * 1000
        self._closed = False
        self._closed_at = self._edge_at = self._run_at = self._tip_at = self._lone_at = _PAST
        self._chatter_from = None

    def start(self, woken=False):
        """Count what happened before the program ran, then listen."""
        up = self._clock.uptime_ms()
        closed = self._is_closed()
        known = closed and self._retained.closed & 1 << self._contact
        if woken or (closed and not known):
            self._tip(up)
        self._mark(closed, _PAST if known and not woken else up)  # closed since before a reset: stuck at once
        self._retained.save()
        self.pin.irq(self._interrupt, Pin.IRQ_RISING | Pin.IRQ_FALLING)

    @property
    def reason(self):
        """Why the gauge cannot see rain now: "fault", "stuck", or None."""
        if self._chatter_from is not None:
            return "fault"
        if self._closed and self._clock.uptime_ms() - self._closed_at >= self._stuck_after:
            return "stuck"
        return None

    @property
    def faults(self):
        """Names for the state message."""
        return {"fault": ["contact_chatter"], "stuck": ["contact_stuck"], None: []}[self.reason]

    @property
    def may_sleep(self):
        """True when nothing of this gauge is unfinished: no tip pending, and the contact rests, is stuck, or is told to
        chatter: waiting would empty a battery."""
        if self._chatter_from is not None:
            return self._told == "fault" and not self._retained.pending
        rested = self._clock.uptime_ms() - self._edge_at >= self._settle
        still = not self._closed or self.reason == "stuck"
        return rested and still and not self._retained.pending

    # -- in the interrupt

    def _interrupt(self, _pin):
        self._edge(self._clock.uptime_ms(), self._is_closed())
        self._flag.set()

    def _is_closed(self):
        return self.pin.value() == self.level

    def _edge(self, up, closed):
        """The truth table above."""
        quiet = up - self._edge_at >= self._settle
        self._edge_at = up
        if quiet:
            self._run_at = up
        elif up - self._run_at >= _CHATTER_MS and self._chatter_from is None:
            self._chatter_from = self._run_at
        if not self._closed and not closed:
            if (quiet and self._tips.blind(self._settle)) or (not quiet and up - self._lone_at < self._settle):
                self._lone_at = _PAST
                self._tip(up)
                self._retained.save()
            elif quiet:
                self._lone_at = up
        elif closed != self._closed:
            if closed and quiet:
                self._tip(up)
            self._mark(closed, up)
            self._retained.save()

    def _tip(self, up):
        if up - self._tip_at >= self._lockout and self._chatter_from is None:
            self._tip_at = up
            self._tips.add(self._contact, up)

    def _mark(self, closed, up):
        bit = 1 << self._contact
        if closed:
            self._closed_at = up
            self._retained.closed |= bit
        else:
            self._retained.closed &= ~bit
        self._closed = closed

    # -- in the task

    def service(self):
        """Do what is due; returns after how many ms to call again at the latest (an edge calls earlier)."""
        up = self._clock.uptime_ms()
        if self._is_closed() != self._closed and up - self._edge_at >= self._settle:  # its interrupt was lost
            self._edge(up, self._is_closed())
        self._watch_chatter(up)
        try:
            self._tips.write(up - _CONFIRM_MS)
            self._report(up)
        except OSError:  # flash refused: the tips wait in RTC memory
            return _RETRY_MS
        return self._next_ms(up)

    def _watch_chatter(self, up):
        if self._chatter_from is None:
            return
        self._tips.withdraw(self._contact, self._chatter_from)
        self._retained.save()
        if up - self._edge_at >= _REST_MS and self._told == "fault":
            self._chatter_from = None

    def _next_ms(self, up):
        due = self.due_ms - up
        if self._retained.pending:
            due = min(due, _CONFIRM_MS)
        if self._chatter_from is not None:
            due = min(due, _REST_MS)
        if self._closed and self.reason is None:
            due = min(due, self._lockout, self._closed_at + self._stuck_after - up)
        return max(1, min(due, _LONGEST_WAIT_MS))
