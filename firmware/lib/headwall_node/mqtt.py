"""MQTT 3.1.1 for a sensor node: QoS 1, TLS, one connection, every wait bounded.

Only what the uplink needs of OASIS MQTT 3.1.1 (numbers in comments are its sections): CONNECT with a last will, PUBLISH
and SUBSCRIBE at QoS 1, PINGREQ, DISCONNECT, always with a clean session. Buffers are allocated once. Two tasks live
beside a connection: the reader, and the keeper, which pings and ends a connection whose broker owes an answer for too
long. A PUBACK is the broker's word alone; whether a reading is safe is told by custody (see session).
"""

import asyncio
from time import ticks_add, ticks_diff, ticks_ms

from . import overlay
from .bell import Bell
from .mqtt_error import MqttError
from .mqtt_parser import Parser
from .mqtt_wire import Wire


class Client:
    """One MQTT connection at a time; connect() may be called again after it ended.

    error: why there is no connection, None while there is one
    unacked: packet id -> the tick at which its PUBACK is overdue
    on_message(topic, payload): str and a memoryview, good until it returns; None as payload: it was larger than rx
    on_change(): an ack, a message or the end of the connection: look again
    on_ping(outstanding): a ping has been sent / answered
    """

    def __init__(
        self,
        client_id,
        username=None,
        password=None,
        keepalive_s=60,
        timeout_ms=10000,  # of each answer that the broker owes
        connect_ms=None,  # TCP, TLS and CONNACK together
        rx=None,  # a bytearray for what comes in: the largest message that can be received
        window=4,
    ):
        self.client_id = client_id
        self.username = username
        self.password = password
        self.keepalive_s = keepalive_s
        self._timeout_ms = timeout_ms
        self._connect_ms = connect_ms or timeout_ms
        self._window = window
        self.error = MqttError("closed", "not connected yet")
        self.unacked = {}
        self.on_message = self.on_change = self.on_ping = None
        self.wire = Wire()
        self._parser = Parser(bytearray(1024) if rx is None else rx, self._handle)
        self.lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._kick = Bell()
        self._reader = self._keeper = self._writer = None
        self.where = ""
        self._packet_id = 0
        self._reset()

    def _reset(self):
        self._half = None  # the tick at which a packet that has begun is overdue
        self._ping = None  # the tick at which the answer to a ping is overdue
        self.connack = None  # its reason
        self.suback = None  # (packet id, codes) of the last SUBACK
        self._acks = []  # packet ids that we owe the broker a PUBACK for
        self.unacked.clear()
        self._parser.reset()

    # ---- connect and disconnect

    async def connect(self, host, port, tls=None, server_hostname=None, will=None):
        """Open the connection; `tls` from tls_context(), `will` a (topic, payload), sent retained at QoS 1.

        Raises an MqttError within connect_ms; only the name look-up is the port's own and blocks. The sockets are
        closed then, as on cancellation.
        """
        self.close()
        self._reset()
        self.where = "%s:%d" % (host, port)
        try:
            opening = overlay.call("mqtt_connect", "open", self, host, port, tls, server_hostname or host, will)
            await asyncio.wait_for_ms(opening, self._connect_ms)
        except Exception as error:
            self.close()
            raise self._explain(error)
        except BaseException:  # cancelled
            self.close()
            raise
        self.error = None
        self._sent_at = ticks_ms()
        self._reader = asyncio.create_task(self._guard(self._read()))
        self._keeper = asyncio.create_task(self._guard(self._keep()))

    async def disconnect(self):
        """Say good-bye, so that the broker does not send the last will, and close."""
        try:
            if self.error is None:
                async with self.lock:
                    await self.send(b"\xe0\x00")
        except MqttError:
            pass  # it is going anyway; the broker sends the will
        finally:
            self.close()

    def close(self):
        """Close at once, without a word; the broker will send the last will. Never raises."""
        self._fail(MqttError("closed", "closed by the node"))

    def _explain(self, error):
        """The MqttError that says what any exception means."""
        if isinstance(error, MqttError):
            return error
        try:
            return overlay.call("mqtt_reason", "explain", error, self.where)
        except MemoryError as none_left:
            return MqttError("no_memory", "%s: %s" % (self.where, none_left))

    def _fail(self, error):
        if self.error is None:
            self.error = error
        current = asyncio.current_task()
        for task in (self._reader, self._keeper, self._writer):
            if task is not None and task is not current:
                task.cancel()
        self._reader = self._keeper = self._writer = None
        self.wire.close()
        self._pinged(None)
        self._change()

    # ---- publish and subscribe

    async def publish(self, topic, payload, retain=False):
        """Send a message at QoS 1; returns its packet id as soon as it is written, before the PUBACK.

        It stays in `unacked` until the PUBACK. Waits while `window` messages are in there. Raises MqttError when the
        connection ends first.
        """
        payload = _bytes(payload)
        async with self.lock:
            await self.until(lambda: len(self.unacked) < self._window, "PUBACK")
            packet_id = self.next_id()
            # Entered first: the answer may come before _send() returns here.
            self.unacked[packet_id] = ticks_add(ticks_ms(), 2 * self._timeout_ms)
            body = field(topic) + number(packet_id)
            await self.send(head(0x33 if retain else 0x32, len(body) + len(payload)) + body, payload)
            self._kick.set()
        return packet_id

    def subscribe(self, topics):
        """Subscribe to topics at QoS 1 and wait for the SUBACK; an MqttError "refused" names one not granted."""
        return overlay.call("mqtt_connect", "subscribe", self, topics)

    async def until(self, done, what):
        """Wait until done(); the connection fails when that takes longer than the timeout."""
        deadline = ticks_add(ticks_ms(), self._timeout_ms)
        while True:
            if self.error is not None:
                raise self.error
            if done():
                return
            left = ticks_diff(deadline, ticks_ms())
            if left <= 0:
                self._fail(MqttError("timeout", "%s sent no %s in time" % (self.where, what)))
                continue
            self._changed.clear()
            try:
                await asyncio.wait_for_ms(self._changed.wait(), left)
            except asyncio.TimeoutError:
                pass

    def next_id(self):
        while True:
            self._packet_id = self._packet_id % 0xFFFF + 1
            if self._packet_id not in self.unacked:
                return self._packet_id

    async def send(self, head, payload=b""):
        """Write one packet, holding the lock. Whatever goes wrong ends the connection: a packet must be whole."""
        if self.error is not None:
            raise self.error
        try:
            await asyncio.wait_for_ms(self._write(head, payload), self._timeout_ms)
        except Exception as error:
            self._fail(self._explain(error))
            raise self.error
        except BaseException:
            self._fail(MqttError("closed", "the node stopped while it sent"))
            raise
        self._sent_at = ticks_ms()

    async def _write(self, head, payload):
        self._writer = asyncio.current_task()
        try:
            await self.wire.write(head)
            await self.wire.write(payload)
        except asyncio.CancelledError:
            if self.error is not None:  # _fail() cancelled this task, not our caller
                raise self.error
            raise
        finally:
            self._writer = None

    # ---- reading

    async def _guard(self, work):
        """Run the reader or the keeper; whatever ends it ends the connection, and never silently."""
        try:
            await work
        except Exception as error:
            self._fail(self._explain(error))

    async def _read(self):
        while True:
            while self._acks:
                async with self.lock:
                    await self.send(b"\x40\x02" + number(self._acks.pop(0)))
            self._change()
            await self.read_once()

    async def read_once(self):
        count = await self.wire.read_into(self._parser.room())
        if not count:
            raise MqttError("closed", "%s closed the connection" % self.where)
        packets = self._parser.fed(count)
        if not self._parser.within():
            self._half = None
        elif packets or self._half is None:
            self._half = ticks_add(ticks_ms(), self._timeout_ms)
            self._kick.set()

    def _handle(self, kind, packet_id, body):
        """One packet from the broker."""
        if kind == 0x30:
            if packet_id:
                self._acks.append(packet_id)
            if self.on_message is not None:
                self.on_message(*body)
        elif kind == 0x40 and packet_id and not body:
            self.unacked.pop(packet_id, None)
        elif kind == 0x90 and body:
            self.suback = (packet_id, body)
        elif kind == 0xD0 and not packet_id:
            self._pinged(None)
        elif kind == 0x20 and self.connack is None:
            self.connack = packet_id & 0xFF
        else:
            raise MqttError("protocol", "%s sent an unexpected packet of type 0x%02x" % (self.where, kind))

    def _change(self):
        self._changed.set()
        if self.on_change is not None:
            self.on_change()

    # ---- keeping

    async def _keep(self):
        """Ping when nothing was sent for a while, and end the connection when the broker owes an answer too long."""
        while True:
            now = ticks_ms()
            wait = ticks_diff(ticks_add(self._sent_at, self.keepalive_s * 750), now)
            if self._ping is None and wait <= 0:
                await self._send_ping()
                continue
            for due, what in self._debts():
                left = ticks_diff(due, now)
                if left <= 0:
                    raise MqttError("timeout", "%s %s in time" % (self.where, what))
                wait = min(wait, left) if wait > 0 else left
            self._kick.clear()
            await self._kick.wait_ms(wait)

    def _debts(self):
        """(tick, what the broker has not done) of everything it owes."""
        debts = [(due, "sent no PUBACK") for due in self.unacked.values()]
        if self._ping is not None:
            debts.append((self._ping, "did not answer a ping"))
        if self._half is not None:
            debts.append((self._half, "did not finish a packet"))
        return debts

    async def _send_ping(self):
        async with self.lock:
            self._pinged(ticks_add(ticks_ms(), self._timeout_ms))
            await self.send(b"\xc0\x00")

    def _pinged(self, due):
        """A ping is out until `due`; None: it has been answered, or the connection is gone."""
        changed = (due is None) != (self._ping is None)
        self._ping = due
        if changed and self.on_ping is not None:
            self.on_ping(due is not None)


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


def number(value):
    return bytes((value >> 8, value & 0xFF))


def field(text):
    """A length and the bytes (1.5.3)."""
    data = _bytes(text)
    return number(len(data)) + data


def head(first, length):
    """The fixed header (2.2)."""
    head = bytearray((first,))
    while True:
        digit = length & 0x7F
        length >>= 7
        head.append(digit | (0x80 if length else 0))
        if not length:
            return head
