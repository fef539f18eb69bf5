"""One connection's talk with the gateway: state, custody, the journal in order, fresh tips first.

On a new connection the node says its state with a new nonce and waits a little for the custody answer, so that nothing
durable is sent again; then it sends the journal in order. Only a custody message that echoes this boot and the newest
nonce moves the journal on: a PUBACK comes from the broker and proves nothing.

When custody for a pack is late the node asks: it says its state again with another nonce. Messages of one node keep
their order, so an answer means that the gateway lives and has had its chance with the pack: then the pack goes again,
in parts and at last raw (window.py). No answer means that the gateway is away: the node keeps still, asks now and
then, and names the fault custody_missing; what the broker holds needs no second copy.
"""

import json
from time import ticks_add, ticks_diff, ticks_ms

from micropython import const

from . import log, slots

_ANSWER_MS = const(5000)  # how long to wait for the custody answer to a state message
_IDLE_MS = const(60000)  # longest wait at a stretch: the watchdog wants to see progress


class Session:
    """See the module. `up` is the Uplink: its client, window, pack, report, journal, clock and so on serve here."""

    def __init__(self, up):
        self._up = up
        self._asked = None  # tick of the question that is out, or None
        self._ask_due = None  # tick before which the next question must wait, or None
        self._silent = 0  # questions in a row that got no answer
        self._told = None  # Report.material() of the last state message
        self._urgent_id = None
        up.window.begin()
        if up.update is not None:
            up.update.connected()

    async def talk(self, until_safe):
        """Serve the connection until it fails (raises) or, if asked so, until everything is in custody.

        With `until_safe` returns whether it is: False when the gateway gave no answer.
        """
        up = self._up
        await self._ask()
        while True:
            up.progress()
            up.changed.clear()
            if up.client.error is not None:
                raise up.client.error
            if await self._step():
                continue
            if until_safe and self._asked is None:
                if self._silent > 1:
                    return False
                if not (up.window.unsafe() or up.client.unacked or up.working or up.replies or self._pulling()):
                    return True
            up.hold(self._outstanding())
            if not up.window.flight and await up.keep_time():
                continue
            await up.changed.wait_ms(self._wait_ms())

    def _outstanding(self):
        """Whether network work is under way that somebody will answer soon."""
        up = self._up
        waiting = up.window.flight and not self._silent
        return bool(up.client.unacked or self._asked is not None or waiting or self._pulling())

    def _pulling(self):
        """Whether a piece of an update is expected soon."""
        return self._up.update is not None and self._up.update.busy()

    async def _step(self):
        """Do the one thing that is due, if any; True when something was done."""
        up = self._up
        if self._asked is not None and ticks_diff(ticks_ms(), self._asked) >= _ANSWER_MS:
            self._no_answer()
            return True
        if self._told != up.report.material():
            await self._say_state()
            return True
        if up.replies:
            await up.publish("reply", up.replies[0])
            up.replies.pop(0)
            return True
        if await self._send_urgent():
            return True
        if up.update is not None and ticks_diff(up.update.due, ticks_ms()) <= 0:
            await up.publish("reply", up.update.ask())
            return True
        if (self._asked is None or up.window.flight) and await self._send_next():
            return True
        if self._asked is None and up.window.flight and self._ask_in_ms() <= 0:
            await self._ask()
            return True
        return False

    def _wait_ms(self):
        """How long nothing is due if nothing happens."""
        wait = _IDLE_MS
        if self._asked is not None:
            wait = _ANSWER_MS - ticks_diff(ticks_ms(), self._asked)
        elif self._up.window.flight:
            wait = self._ask_in_ms()
        if self._up.update is not None:
            wait = min(wait, ticks_diff(self._up.update.due, ticks_ms()))
        return max(1, min(wait, _IDLE_MS))

    def _ask_in_ms(self):
        """Time until custody for the first pack in flight is worth a question; not before its PUBACK."""
        head = self._up.window.flight[0]
        if head.packet_id is None or head.packet_id in self._up.client.unacked:
            return _IDLE_MS
        wait = self._up.custody_ms - ticks_diff(ticks_ms(), head.sent_at)
        if self._ask_due is not None:
            wait = max(wait, ticks_diff(self._ask_due, ticks_ms()))
        return wait

    async def _ask(self):
        """Say the state with a new nonce; the custody message that echoes it is the answer."""
        self._up.report.new_nonce()
        self._asked = ticks_ms()  # first: the answer may come before publish() returns
        self._up.hold(True)
        await self._say_state()

    def _no_answer(self):
        self._asked = None
        self._silent += 1
        self._ask_due = ticks_add(ticks_ms(), self._up.asking.next_ms())
        if self._silent > 1 and self._up.window.flight:
            log.trouble("custody", "the broker took packs, but no gateway took custody: is it running?")
            self._up.report.fault("custody_missing")

    async def _say_state(self):
        self._told = self._up.report.material()
        await self._up.publish("state", self._up.report.message(self._up.pack.buf), retain=True)

    # ---- sending

    async def _send_next(self):
        up = self._up
        plan = up.window.plan()
        if plan is None:
            return False
        first, count = plan
        self._fill(first, count, up.window.raw)
        fresh = not up.window.failures and first + up.pack.count == up.journal.next
        kind = "event" if fresh and self._from_first_tip(first, count)[1] else "tele"
        pack = up.window.sending(first, up.pack.count, ticks_ms())
        pack.packet_id = await up.publish(kind, up.pack.payload())
        return True

    async def _send_urgent(self):
        """Let fresh tips pass a backlog, one pack at a time; custody for them comes with the backlog."""
        up = self._up
        if self._urgent_id in up.client.unacked:
            return False
        plan = up.window.plan_urgent()
        if plan is None:
            return False
        first, count = self._from_first_tip(*plan)
        if not count:
            up.window.sent_urgent(first)
            return False
        self._fill(first, count, False)
        up.window.sent_urgent(first + up.pack.count)
        self._urgent_id = await up.publish("event", up.pack.payload())
        return True

    def _fill(self, first, count, raw):
        """Make the pack of up to `count` records that begins at `first`, as many as fit."""
        pack = self._up.pack
        pack.begin(self._up.journal.jid, count)
        for record in self._up.journal.read(first, count):
            if raw:
                pack.raw(record)
                return
            if not pack.add(record):
                return

    def _from_first_tip(self, first, count):
        """The part of a span that begins with its first tip; count 0 without one."""
        for record in self._up.journal.read(first, count):
            if record[5] == 1 and record[6] is not None:
                return record[0], first + count - record[0]
        return first + count, 0

    # ---- receiving; called from the client's reader, so nothing here waits

    def message(self, topic, payload):
        """A message from the broker on one of the node's own topics."""
        kind = topic[topic.rfind("/") + 1 :]
        if payload is None:
            log.warn("uplink", "a %s message was too large and is ignored" % kind)
        elif kind == "config":
            self._up.on_config(payload)
        elif kind == "update":
            if self._up.update is not None:
                self._up.update.receive(payload)
        else:
            told = _object(payload)
            if told is None:
                log.warn("uplink", "a %s message is no JSON object and is ignored" % kind)
            elif kind == "custody":
                self._custody(told)
            elif kind == "command":
                self._up.on_command(told)

    def _custody(self, told):
        fault = self._custody_fault(told)
        if fault:
            log.debug("custody", "ignored: " + fault)
            return
        up = self._up
        up.take_time(told.get("time"))
        self._silent = 0
        self._ask_due = None
        slots.judge(True, 0)
        before = up.journal.through
        up.window.custody(told["through"])
        if up.journal.through != before:
            up.asking.reset()
        if not up.window.hopeless:
            up.report.fault("custody_missing", False)
            log.trouble("custody", None)
        if self._asked is not None:
            asked, self._asked = self._asked, None
            head = up.window.flight[0] if up.window.flight else None
            if head is not None and ticks_diff(asked, head.sent_at) > 0:
                self._not_taken(head)

    def _not_taken(self, head):
        up = self._up
        log.warn("custody", "the gateway did not take %d..%d; sending again" % (head.first, head.after - 1))
        up.window.not_taken()
        if up.window.hopeless:
            up.report.fault("custody_missing")
            self._ask_due = ticks_add(ticks_ms(), up.asking.next_ms())

    def _custody_fault(self, told):
        """Why a custody message is not for this node, this boot and this connection; None if it is."""
        journal = self._up.journal
        if told.get("v") != 1:
            return "version %s" % told.get("v")
        if told.get("boot") != self._up.clock.boot_id:
            return "of another boot"
        if told.get("nonce") != self._up.report.nonce:
            return "of another nonce"
        if told.get("jid") != journal.jid:
            return "of another journal"
        through = told.get("through")
        if not isinstance(through, int) or isinstance(through, bool) or not 0 <= through < journal.next:
            return "through %s, next is %d" % (through, journal.next)
        return None


def _object(payload):
    try:
        told = json.loads(payload)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
