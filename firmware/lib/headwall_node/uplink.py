"""From the journal to the gateway, until the gateway says that it holds the readings.

One connection at a time. On it the node says its state with a new nonce, waits a little for the custody answer, so
that nothing durable is sent again, and then sends the journal in order. A PUBACK comes from the broker and proves
nothing; only a custody message that echoes this boot and the newest nonce moves the journal on.

When custody for a pack is late the node asks: it says its state again with another nonce. Messages of one node keep
their order, so an answer means that the gateway lives and has had its chance with the pack: then the pack goes again,
in parts and at last raw (window.py). No answer means that the gateway is away: the node keeps still, asks now and
then, and names the fault custody_missing; what the broker holds needs no second copy.
"""

import asyncio
import json
from time import ticks_add, ticks_diff, ticks_ms

from . import contract, log, mqtt, power, senml
from .backoff import Backoff
from .network_link import LinkDown
from .report import OFFLINE
from .window import Window

ANSWER_MS = 5000  # how long to wait for the custody answer to a state message
PACK_BYTES = 4096  # half of what the contract allows: two buffers of this size stand in RAM
STABLE_MS = 60000  # a connection that lived so long ends the back-off
CLASH_CLOSES = 3  # so many fresh connections in a row closed by the broker: another node uses our client id
IDLE_MS = 60000  # longest wait at a stretch: the watchdog wants to see progress
NTP_RETRY_MS = 3600000
DRIFT_MS = 2000  # custody corrects a clock that is off by more


class NoCustody(Exception):
    """The broker took everything, the gateway answered nothing."""

    kind = "custody_missing"


class Uplink:
    """The node's way to its gateway.

    config: the validated configuration · link: network_link.Link · report: report.Report · mac: 12 hex digits ·
    on_config(bytes): called for each retained configuration · progress(): called at least every minute or two
    """

    def __init__(self, config, journal, clock, link, report, mac, on_config=None, progress=None):
        self._config = config
        self._journal = journal
        self._clock = clock
        self._link = link
        self._report = report
        self._on_config = on_config
        self._progress = progress or (lambda: None)
        self._node = config["node"]
        self._custody_ms = config["custody_timeout_s"] * 1000
        self._pack = senml.Pack(mac, PACK_BYTES)
        self.window = Window(journal, contract.PACK_RECORDS, contract.WINDOW_PACKS, contract.POISON_TRIES)
        self.client = mqtt.Client(
            self._node,
            config["username"] or None,
            config["password"] or None,
            keepalive_s=config["keepalive_s"],
            timeout_ms=config["reply_timeout_s"] * 1000,
            connect_ms=config["connect_timeout_s"] * 1000,
            tx_bytes=PACK_BYTES + 128,
            window=contract.WINDOW_PACKS + 2,  # room for a state message and an urgent pack beside the backlog
        )
        self.client.on_message = self._message
        self.client.on_ping = self._ping
        self._wake = asyncio.Event()
        self.client.on_change = self._wake.set
        self._backoff = Backoff(config["backoff_min_s"] * 1000, config["backoff_max_s"] * 1000)
        self._asking = Backoff(self._custody_ms, 3600000)
        self._holding = False
        self._closes = 0
        self._urgent_id = None
        self._clock_doubt = False
        self._ntp_due = None  # tick of the next look at the NTP servers; None: at once
        self._forget()

    def _forget(self):
        """What only holds within a connection."""
        self._asked = None  # tick of the question that is out, or None
        self._ask_due = None  # tick before which the next question must wait, or None
        self._silent = 0  # questions in a row that got no answer
        self._told = None  # Report.material() of the last state message

    def wake(self):
        """There is something new in the journal or in the report."""
        self._wake.set()

    # ---- the life of a connection

    async def run(self):
        """Stay connected for ever; back off after each failure. Ends only by cancellation."""
        while True:
            await self._try(None)
            wait_ms = self._backoff.next_ms()
            while wait_ms > 0:
                self._progress()
                await asyncio.sleep_ms(min(wait_ms, IDLE_MS))
                wait_ms -= IDLE_MS

    async def once(self, limit_ms):
        """Connect, send until all is in the gateway's custody, disconnect; True if it is, False on any failure."""
        return await self._try(limit_ms)

    async def _try(self, limit_ms):
        """One connection, as long as it lasts or, with a limit, until everything is safe; False if it failed."""
        self._forget()
        started = None
        try:
            await self._link.up()
            self._hold(True)
            await self._know_time()
            await self._connect()
            started = ticks_ms()
            log.trouble("uplink", None)
            if limit_ms is None:
                await self._talk(False)
            else:
                await asyncio.wait_for_ms(self._talk(True), limit_ms)
                await self.client.disconnect()
            return True
        except (mqtt.MqttError, LinkDown, NoCustody, OSError, asyncio.TimeoutError) as error:
            self._failed(error, started)
            return False
        finally:
            self.client.close()
            self._hold(False)

    def _failed(self, error, started):
        kind = getattr(error, "kind", "failed")
        log.trouble("uplink", "%s: %s" % (kind, error or "not done in time"))
        self._clock_doubt = kind in ("expired", "not_yet_valid")
        self._report.fault("clock_unknown", self._clock_doubt and not self._clock.synced)
        stable = started is not None and ticks_diff(ticks_ms(), started) > STABLE_MS
        if stable:
            self._backoff.reset()
        self._closes = self._closes + 1 if kind == "closed" and started is not None and not stable else 0
        clash = self._closes >= CLASH_CLOSES
        self._report.fault("client_id_clash", clash)
        if clash:
            log.trouble("clash", "%d fresh connections were closed: is %s used twice?" % (self._closes, self._node))

    async def _connect(self):
        config = self._config
        try:
            with open(config["ca_file"], "rb") as file:
                tls = mqtt.tls_context(file.read())
        except OSError as error:
            raise mqtt.TlsError("wrong_ca", "the CA file %s cannot be read: %s" % (config["ca_file"], error))
        name = config["broker_name"] or config["broker_host"]
        will = (contract.topic(self._node, "state"), OFFLINE)
        await self.client.connect(config["broker_host"], config["broker_port"], tls, name, will)
        await self.client.subscribe([contract.topic(self._node, kind) for kind in ("custody", "config", "command")])

    async def _know_time(self):
        """TLS needs a date: ask NTP where the clock is unknown, doubtful or old; else let the best guess serve."""
        self._clock.bootstrap(self._journal.last_ms)
        if not self._clock.synced or self._clock_doubt or self._ntp_is_due():
            await self._ask_ntp()

    def _ntp_is_due(self):
        return self._ntp_due is None or ticks_diff(ticks_ms(), self._ntp_due) >= 0

    async def _ask_ntp(self):
        wait = NTP_RETRY_MS
        config = self._config
        if config["ntp_host"]:
            fault = await self._clock.sntp(config["ntp_host"], config["ntp_port"], config["ntp_timeout_s"] * 1000)
            log.trouble("clock", fault)
            if fault is None:
                wait = config["ntp_every_s"] * 1000
        self._ntp_due = ticks_add(ticks_ms(), wait)

    # ---- while connected

    async def _talk(self, until_safe):
        self.window.begin()
        await self._ask()
        while True:
            self._progress()
            self._wake.clear()
            if self.client.error is not None:
                raise self.client.error
            if await self._step():
                continue
            if until_safe:
                if not (self.window.unsafe() or self.client.unacked or self._asked is not None):
                    return
                if self._silent > 1:
                    raise NoCustody("the gateway did not answer")
            self._hold(self._outstanding())
            if self._asked is None and not self.window.flight and self._ntp_is_due():
                await self._ask_ntp()
                continue
            try:
                await asyncio.wait_for_ms(self._wake.wait(), self._wait_ms())
            except asyncio.TimeoutError:
                pass

    def _outstanding(self):
        """Whether network work is under way that somebody will answer soon."""
        return bool(self.client.unacked or self._asked is not None or (self.window.flight and not self._silent))

    async def _step(self):
        """Do the one thing that is due, if any; True when something was done."""
        if self._asked is not None and ticks_diff(ticks_ms(), self._asked) >= ANSWER_MS:
            self._no_answer()
            return True
        if self._told != self._report.material():
            await self._say_state()
            return True
        if await self._send_urgent():
            return True
        if self._asked is None or self.window.flight:
            if await self._send_next():
                return True
        if self._asked is None and self.window.flight and self._ask_in_ms() <= 0:
            await self._ask()
            return True
        return False

    def _wait_ms(self):
        """How long nothing is due if nothing happens."""
        wait = IDLE_MS
        if self._asked is not None:
            wait = ANSWER_MS - ticks_diff(ticks_ms(), self._asked)
        elif self.window.flight:
            wait = self._ask_in_ms()
        return max(1, min(wait, IDLE_MS))

    def _ask_in_ms(self):
        """Time until custody for the first pack in flight is worth a question; not before its PUBACK."""
        head = self.window.flight[0]
        if head.packet_id is None or head.packet_id in self.client.unacked:
            return IDLE_MS
        wait = self._custody_ms - ticks_diff(ticks_ms(), head.sent_at)
        if self._ask_due is not None:
            wait = max(wait, ticks_diff(self._ask_due, ticks_ms()))
        return wait

    async def _ask(self):
        """Say the state with a new nonce; the custody message that echoes it is the answer."""
        self._report.new_nonce()
        self._asked = ticks_ms()  # first: the answer may come before publish() returns
        self._hold(True)
        await self._say_state()

    def _no_answer(self):
        self._asked = None
        self._silent += 1
        self._ask_due = ticks_add(ticks_ms(), self._asking.next_ms())
        if self._silent > 1 and self.window.flight:
            log.trouble("custody", "the broker took packs, but no gateway took custody: is it running?")
            self._report.fault("custody_missing")

    async def _say_state(self):
        self._told = self._report.material()
        await self.client.publish(contract.topic(self._node, "state"), self._report.message(), retain=True)

    # ---- sending

    async def _send_next(self):
        plan = self.window.plan()
        if plan is None:
            return False
        first, count = plan
        self._fill(first, count, self.window.raw)
        fresh = not self.window.failures and first + self._pack.count == self._journal.next
        kind = "event" if fresh and self._from_first_tip(first, count)[1] else "tele"
        pack = self.window.sending(first, self._pack.count, ticks_ms())
        pack.packet_id = await self.client.publish(contract.topic(self._node, kind), self._pack.payload())
        return True

    async def _send_urgent(self):
        """Let fresh tips pass a backlog, one pack at a time; custody for them comes with the backlog."""
        if self._urgent_id in self.client.unacked:
            return False
        plan = self.window.plan_urgent()
        if plan is None:
            return False
        first, count = self._from_first_tip(*plan)
        if not count:
            self.window.sent_urgent(first)
            return False
        self._fill(first, count, False)
        self.window.sent_urgent(first + self._pack.count)
        self._urgent_id = await self.client.publish(contract.topic(self._node, "event"), self._pack.payload())
        return True

    def _fill(self, first, count, raw):
        """Make the pack of up to `count` records that begins at `first`, as many as fit."""
        self._pack.begin(self._journal.jid, count)
        for record in self._journal.read(first, count):
            if raw:
                self._pack.raw(record)
                return
            if not self._pack.add(record):
                return

    def _from_first_tip(self, first, count):
        """The part of a span that begins with its first tip; count 0 without one."""
        for record in self._journal.read(first, count):
            if record[5] == 1 and record[6] is not None:
                return record[0], first + count - record[0]
        return first + count, 0

    # ---- receiving; called from the client's reader, so nothing here waits

    def _message(self, topic, payload):
        kind = topic[topic.rfind("/") + 1 :]
        if payload is None:
            log.warn("uplink", "a %s message was too large and is ignored" % kind)
        elif kind == "config":
            if self._on_config is not None:
                self._on_config(payload)
        else:
            try:
                told = json.loads(payload)
                if not isinstance(told, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                log.warn("uplink", "a %s message is not JSON: %s" % (kind, error))
                return
            if kind == "custody":
                self._custody(told)
            elif kind == "command":
                self._command(told)

    def _command(self, told):
        if told.get("do") == "state":
            self._told = None
        else:
            log.warn("uplink", "command refused, this version knows only state: %s" % told.get("do"))

    def _custody(self, told):
        fault = self._custody_fault(told)
        if fault:
            log.debug("custody", "ignored: " + fault)
            return
        self._take_time(told.get("time"))
        self._silent = 0
        self._ask_due = None
        self._report.fault("custody_missing", False)
        log.trouble("custody", None)
        before = self._journal.through
        self.window.custody(told["through"])
        if self._journal.through != before:
            self._asking.reset()
        if self._asked is None:
            return
        asked, self._asked = self._asked, None
        head = self.window.flight[0] if self.window.flight else None
        if head is not None and ticks_diff(asked, head.sent_at) > 0:
            self._not_taken(head)

    def _not_taken(self, head):
        log.warn("custody", "the gateway did not take %d..%d; sending again" % (head.first, head.after - 1))
        self.window.not_taken()
        if self.window.failures > contract.POISON_TRIES:
            self._report.fault("custody_missing")
            self._ask_due = ticks_add(ticks_ms(), self._asking.next_ms())

    def _custody_fault(self, told):
        """Why a custody message is not for this node, this boot and this connection; None if it is."""
        if told.get("v") != 1:
            return "version %s" % told.get("v")
        if told.get("boot") != self._clock.boot_id:
            return "of another boot"
        if told.get("nonce") != self._report.nonce:
            return "of another nonce"
        if told.get("jid") != self._journal.jid:
            return "of another journal"
        through = told.get("through")
        if not isinstance(through, int) or isinstance(through, bool) or not 0 <= through < self._journal.next:
            return "through %s, next is %d" % (through, self._journal.next)
        return None

    def _take_time(self, time_ms):
        """Custody may set a clock that nobody better has set; it came over TLS."""
        if not isinstance(time_ms, int) or isinstance(time_ms, bool):
            return
        now = self._clock.utc_ms()
        if (now is None or abs(time_ms - now) > DRIFT_MS) and self._clock.set_utc_ms(time_ms, "custody"):
            log.info("clock", "set by the gateway")

    # ---- holds: the board must not sleep, and simulated time must not jump, while an answer is due

    def _hold(self, on):
        if on != self._holding:
            self._holding = on
            (power.hold if on else power.release)("uplink")

    def _ping(self, outstanding):
        (power.hold if outstanding else power.release)("ping")
