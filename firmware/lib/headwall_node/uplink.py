"""The node's way to its gateway: link, time, TLS, one connection after another, with back-off between them.

Whatever the network does, this task only waits; the sensors never wait for it.
"""

import asyncio
from time import ticks_ms

from micropython import const

from . import contract, log, overlay, power
from .backoff import Backoff
from .bell import Bell
from .mqtt import Client
from .mqtt_error import MqttError
from .network_link import LinkDown
from .report import OFFLINE
from .senml import Pack
from .session import Session
from .window import Window

_SLEEP_MS = const(60000)  # longest sleep at a stretch: the watchdog wants to see progress
_NTP_RETRY_MS = const(3600000)
_END_MS = const(5000)  # longest wait for the last answers
_DRIFT_MS = const(2000)  # the gateway corrects a clock that is off by more


class Uplink:
    """config: the validated settings · link: network_link.Link · report: report.Report · mac: 12 hex digits ·
    on_config(view, good until it returns), on_command(dict): called for each configuration and command that comes ·
    progress(): called at least every other minute

    room: room.Room, the buffers and the TLS context · update: update.Update while a bundle is to be pulled, or None ·
    starved: connections in a row that ended for want of memory

    changed: a bell; set it when there is something new in the journal, report or replies · replies: texts that
    answer commands · working: whether a command is being done, so that more of them will come
    """

    def __init__(self, config, journal, clock, link, report, mac, on_config, on_command, progress, room, update=None):
        self.config = config
        self.link = link
        self.journal = journal
        self.clock = clock
        self.report = report
        self.on_config = on_config
        self.on_command = on_command
        self.progress = progress
        self.custody_ms = config["custody_timeout_s"] * 1000
        self.pack = Pack(mac, buf=room.pack)
        self.window = Window(journal, contract.PACK_RECORDS, contract.WINDOW_PACKS, contract.POISON_TRIES)
        self.asking = Backoff(self.custody_ms, 3600000)
        self.changed = Bell()
        self.replies = []
        self.working = False
        self.client = Client(
            config["node"],
            config["username"] or None,
            config["password"] or None,
            keepalive_s=config["keepalive_s"],
            timeout_ms=config["reply_timeout_s"] * 1000,
            connect_ms=config["connect_timeout_s"] * 1000,
            rx=room.rx,
            window=contract.WINDOW_PACKS + 2,  # room for a state message and an urgent pack beside the backlog
        )
        self.client.on_change = self.changed.set
        self.client.on_ping = _hold_ping
        self.backoff = Backoff(config["backoff_min_s"] * 1000, config["backoff_max_s"] * 1000)
        self._seen = journal.next
        self.room = room
        self.update = update
        self._holding = False
        self.closes = 0
        self.starved = 0
        self.clock_doubt = False
        self._ntp_due = 0  # uptime of the next look at the NTP server

    async def run(self):
        """Stay connected for ever; back off after each failure. Ends only by cancellation."""
        while True:
            await self._connection(False)
            wait_ms = self.backoff.next_ms()
            while wait_ms > 0:
                self.progress()
                await asyncio.sleep_ms(min(wait_ms, _SLEEP_MS))
                wait_ms -= _SLEEP_MS

    async def once(self, limit_ms):
        """Connect, send until all is in the gateway's custody, disconnect; True if it is, False on any failure."""
        try:
            return await asyncio.wait_for_ms(self._connection(True), limit_ms)
        except asyncio.TimeoutError:
            log.trouble("uplink", "not done in %d s" % (limit_ms // 1000))
            return False

    def look(self):
        """Call after something may have been appended to the journal."""
        if self.journal.next != self._seen:
            self._seen = self.journal.next
            self.changed.set()

    async def end(self):
        """Let the answers to commands go, and say good-bye to the broker. For a planned restart."""
        for _ in range(_END_MS // 100):
            if not self.replies and not self.client.unacked:
                break
            await asyncio.sleep_ms(100)
        await self.client.disconnect()

    def publish(self, kind, payload, retain=False):
        """Publish to the node's topic of a kind; a coroutine that gives the packet id."""
        return self.client.publish(contract.topic(self.config["node"], kind), payload, retain)

    # ---- one connection

    async def _connection(self, until_safe):
        """One connection, as long as it lasts or until everything is safe; whether it is."""
        started = None
        safe = False
        try:
            await self.link.up()
            self.hold(True)
            await self._know_time()
            session = await self._connect()
            started = ticks_ms()
            log.trouble("uplink", None)
            safe = await session.talk(until_safe)
            await self.client.disconnect()
        except (MqttError, LinkDown, OSError, MemoryError) as error:
            self.client.close()
            self._failed(error, started)
        finally:
            self.client.close()
            self.hold(False)
        return safe

    def _failed(self, error, started):
        """Take note of what ended a connection."""
        try:
            overlay.call("uplink_fault", "failed", self, error, started)
        except MemoryError:
            log.trouble("uplink", "no memory")
            self.starved += 1

    async def _connect(self):
        config = self.config
        node = config["node"]
        name = config["broker_name"] or config["broker_host"]
        will = (contract.topic(node, "state"), OFFLINE)
        async with overlay.turn:
            await self.client.connect(config["broker_host"], config["broker_port"], self.room.tls(), name, will)
        session = Session(self)
        self.client.on_message = session.message
        await self.client.subscribe([contract.topic(node, kind) for kind in ("custody", "config", "command", "update")])
        return session

    # ---- time

    async def _know_time(self):
        """TLS needs a date: ask NTP where the clock is unknown, doubtful or old; else let the best guess serve."""
        clock = self.clock
        clock.bootstrap(self.journal.last_ms)
        if not clock.synced or self.clock_doubt:
            self._ntp_due = 0
        elif not self._ntp_due:  # the first connection after a sleep or a reset
            self._ntp_due = clock.uptime_ms() - clock.age_ms + self.config["ntp_every_s"] * 1000
        await self.keep_time()

    async def keep_time(self):
        """Ask NTP if that is due; whether it was."""
        config, clock = self.config, self.clock
        if not config["ntp_host"] or clock.uptime_ms() < self._ntp_due:
            return False
        timeout_ms = config["ntp_timeout_s"] * 1000
        fault = await overlay.call("sntp", "ask", clock, config["ntp_host"], config["ntp_port"], timeout_ms)
        log.trouble("clock", fault)
        self._ntp_due = clock.uptime_ms() + (_NTP_RETRY_MS if fault else config["ntp_every_s"] * 1000)
        return True

    def take_time(self, time_ms):
        """The gateway's time, which came over TLS, sets a clock that nobody better has set."""
        if not isinstance(time_ms, int) or isinstance(time_ms, bool):
            return
        now = self.clock.utc_ms()
        if (now is None or abs(time_ms - now) > _DRIFT_MS) and self.clock.set_utc_ms(time_ms, "custody"):
            log.info("clock", "set by the gateway")

    # ---- holds: the board must not sleep, and simulated time must not jump, while an answer is due

    def hold(self, on):
        """Hold the board awake for network work, or let it go."""
        if on != self._holding:
            self._holding = on
            (power.hold if on else power.release)("uplink")


def _hold_ping(outstanding):
    (power.hold if outstanding else power.release)("ping")
