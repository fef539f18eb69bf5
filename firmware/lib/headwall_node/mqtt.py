"""MQTT 3.1.1 for a sensor node: QoS 1, TLS, one connection, every wait bounded.

Only what the uplink needs of OASIS MQTT 3.1.1 (numbers in comments are its sections): CONNECT with a last will, PUBLISH
and SUBSCRIBE at QoS 1, PINGREQ, DISCONNECT, always with a clean session. Buffers are allocated once; an incoming packet
that does not fit is acknowledged, dropped and reported with the payload None. Two tasks live beside a connection: the
reader, and the keeper, which pings and ends a connection whose broker owes an answer for too long.

A PUBACK is the broker's word alone; whether a reading is safe is told by custody (see uplink).
"""

import asyncio
import socket
from errno import ECONNREFUSED, EINPROGRESS
from time import ticks_add, ticks_diff, ticks_ms

CONNECT = 0x10
PUBLISH_QOS1 = 0x32
PUBACK = 0x40
SUBSCRIBE = 0x82
PING = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"

_REFUSALS = (
    "",
    "the broker does not speak MQTT 3.1.1",
    "the broker does not accept this client id",
    "the broker is not available",
    "bad user name or password",
    "not authorised",
)

#: What mbedTLS says of a certificate -> what it means here. Several may stand in one text; the first found counts.
_CERTIFICATE_FAULTS = (
    ("not correctly signed", "wrong_ca", "its certificate is not signed by the CA in ca.der"),
    ("does not match", "wrong_name", "its certificate is for another host name"),
    ("has expired", "expired", "its certificate has expired, or the node's clock is ahead"),
    ("starts in the future", "not_yet_valid", "its certificate is not valid yet, or the node's clock is behind"),
)


class MqttError(Exception):
    """A connection that did not come about or ended; `kind` is a short name, the text says the reason."""

    kind = "mqtt"


class Refused(MqttError):
    """Nobody listens, or the broker refused the connection or a subscription."""

    kind = "refused"


class BadCredentials(MqttError):
    """The broker refused user name or password (CONNACK 4 or 5)."""

    kind = "bad_credentials"


class TlsError(MqttError):
    """The broker could not prove who it is; `kind`: wrong_ca, wrong_name, expired, not_yet_valid, tls."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Timeout(MqttError):
    """The broker owed an answer for longer than the timeout."""

    kind = "timeout"


class Closed(MqttError):
    """The connection is gone."""

    kind = "closed"


class ProtocolError(MqttError):
    """The broker sent what MQTT 3.1.1 does not allow."""

    kind = "protocol"


def tls_context(ca_der):
    """A context that accepts only a broker whose certificate is signed by the CA given as DER bytes."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_mode = ssl.CERT_REQUIRED  # ports differ in the default
    try:
        context.load_verify_locations(cadata=ca_der)
    except (ValueError, OSError) as error:
        raise TlsError("wrong_ca", "the CA file is not a certificate in DER: %s" % error)
    return context


def _readable(sock):
    yield asyncio.core._io_queue.queue_read(sock)


def _writable(sock):
    yield asyncio.core._io_queue.queue_write(sock)


def _explain(error, where):
    """The MqttError that says what an exception from sockets or TLS means."""
    if isinstance(error, MqttError):
        return error
    if isinstance(error, asyncio.TimeoutError):
        return Timeout("no answer from %s in time" % where)
    if isinstance(error, ValueError):  # mbedTLS's words on a certificate
        text = str(error)
        for words, kind, meaning in _CERTIFICATE_FAULTS:
            if words in text:
                return TlsError(kind, "%s: %s" % (where, meaning))
        return TlsError("tls", "%s: %s" % (where, text.strip()))
    if isinstance(error, OSError):
        if error.errno == ECONNREFUSED:
            return Refused("%s: connection refused" % where)
        if isinstance(error.errno, int) and error.errno < -255:  # mbedTLS's own numbers
            return TlsError("tls", "%s: TLS error %s" % (where, error))
        return Closed("%s: %r" % (where, error))
    return Closed("%s: %r" % (where, error))


class Client:
    """One MQTT connection at a time; connect() may be called again after it ended.

    on_message(topic: str, payload: bytes or None)  an incoming message; None: it was larger than rx_bytes
    on_change()                                     an ack, a message or the end of the connection: look again
    on_ping(outstanding: bool)                      a ping has been sent / answered
    """

    def __init__(
        self,
        client_id,
        username=None,
        password=None,
        keepalive_s=60,
        timeout_ms=10000,
        connect_ms=None,
        rx_bytes=4096,
        tx_bytes=8448,
        window=4,
    ):
        self.client_id = client_id
        self.keepalive_s = keepalive_s
        self.timeout_ms = timeout_ms  # of each answer that the broker owes
        self.connect_ms = connect_ms or timeout_ms  # TCP, TLS and CONNACK together
        self.window = window
        self.error = Closed("not connected yet")  # why there is no connection; None while there is one
        self.unacked = {}  # packet id -> the tick at which its PUBACK is overdue
        self.on_message = self.on_change = self.on_ping = None
        self._username = username
        self._password = password
        self._rx = bytearray(rx_bytes)
        self._tx = bytearray(tx_bytes)
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._kick = asyncio.Event()
        self._sock = self._raw = self._reader = self._keeper = self._writer = None
        self._where = ""
        self._packet_id = 0
        self._reset()

    def _reset(self):
        self._got = 0  # bytes of _rx in use
        self._skip = 0  # bytes still to come of a packet that is dropped
        self._half = None  # the tick at which a packet that has begun is overdue
        self._ping = None  # the tick at which the answer to a ping is overdue
        self._suback = None  # (packet id, codes) of the last SUBACK
        self._acks = []  # packet ids that we owe the broker a PUBACK for
        self.unacked.clear()

    # ---- connect and disconnect

    async def connect(self, host, port, tls=None, server_hostname=None, will=None):
        """Open the connection; `tls` from tls_context(), `will` a (topic, payload), sent retained at QoS 1.

        Raises an MqttError within connect_ms; only the name look-up is the port's own and blocks. The sockets are
        closed then, as on cancellation.
        """
        self.close()
        self._reset()
        self._where = "%s:%d" % (host, port)
        try:
            await asyncio.wait_for_ms(self._open(host, port, tls, server_hostname or host, will), self.connect_ms)
        except Exception as error:
            self.close()
            raise _explain(error, self._where)
        except BaseException:  # cancelled
            self.close()
            raise
        self.error = None
        self._sent_at = ticks_ms()
        self._reader = asyncio.create_task(self._guard(self._read()))
        self._keeper = asyncio.create_task(self._guard(self._keep()))

    async def _open(self, host, port, tls, name, will):
        try:
            address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0]
        except OSError as error:
            raise Refused("%s: the name does not resolve (%s)" % (self._where, error))
        self._raw = raw = socket.socket(address[0], address[1], address[2])
        raw.setblocking(False)
        try:
            raw.setsockopt(6, 1, 1)  # TCP_NODELAY: a small pack must not wait for the ACK of another
        except (OSError, AttributeError):
            pass  # slower, not wrong
        try:
            raw.connect(address[-1])
        except OSError as error:
            if error.errno != EINPROGRESS:
                raise
        await _writable(raw)
        self._sock = raw
        if tls is not None:
            self._sock = tls.wrap_socket(raw, server_hostname=name, do_handshake_on_connect=False)
        await self._handshake(will)

    async def _handshake(self, will):
        """CONNECT, answered by CONNACK (3.1, 3.2). The TLS handshake happens inside the first write."""
        n = self._build_connect(will)
        await self._write(memoryview(self._tx)[:n])
        got = 0
        view = memoryview(self._rx)
        while got < 4:
            count = self._sock.readinto(view[got:4])
            if count is None:
                await _readable(self._sock)
            elif count == 0:
                raise Closed("%s closed the connection instead of answering CONNECT" % self._where)
            else:
                got += count
        if self._rx[0] != 0x20 or self._rx[1] != 2:
            raise ProtocolError("%s answered CONNECT with %r, not with CONNACK" % (self._where, bytes(view[:4])))
        code = self._rx[3]
        if code:
            reason = _REFUSALS[code] if code < len(_REFUSALS) else "reason %d" % code
            raise (BadCredentials if code in (4, 5) else Refused)("%s: %s" % (self._where, reason))

    def _build_connect(self, will):
        flags = 0x02  # clean session
        fields = [self.client_id]
        if will:
            flags |= 0x2C  # will, at QoS 1, retained
            fields += will
        if self._username is not None:
            flags |= 0x80
            fields.append(self._username)
        if self._password is not None:
            flags |= 0x40
            fields.append(self._password)
        fields = [_bytes(field) for field in fields]
        at = self._begin(CONNECT, 10 + sum([2 + len(field) for field in fields]))
        head = b"\x00\x04MQTT\x04" + bytes((flags, self.keepalive_s >> 8, self.keepalive_s & 0xFF))
        self._tx[at : at + 10] = head
        at += 10
        for field in fields:
            at = self._put(at, field)
        return at

    async def disconnect(self):
        """Say good-bye, so that the broker does not send the last will, and close."""
        try:
            if self.error is None:
                async with self._lock:
                    await asyncio.wait_for_ms(self._write(DISCONNECT), self.timeout_ms)
        except (OSError, MqttError, asyncio.TimeoutError):
            pass  # it is going anyway; the broker sends the will
        finally:
            self.close()

    def close(self):
        """Close at once, without a word; the broker will send the last will. Never raises."""
        self._fail(Closed("closed by the node"))

    def _fail(self, error):
        if self.error is None:
            self.error = error
        current = asyncio.current_task()
        for task in (self._reader, self._keeper, self._writer):
            if task is not None and task is not current:
                task.cancel()
        self._reader = self._keeper = self._writer = None
        # After a failed handshake the TLS socket no longer reaches the raw one: close both.
        for sock in (self._sock, self._raw):
            if sock is not None:
                try:
                    sock.close()
                except OSError:
                    pass
        self._sock = self._raw = None
        if self._ping is not None:
            self._ping = None
            self._tell(self.on_ping, False)
        self._change()

    # ---- publish and subscribe

    async def publish(self, topic, payload, retain=False):
        """Send a message at QoS 1; returns its packet id as soon as it is written, before the PUBACK.

        It stays in `unacked` until the PUBACK. Waits while `window` messages are in there. Raises MqttError when the
        connection ends first, ValueError for a message larger than the buffer.
        """
        topic = _bytes(topic)
        payload = _bytes(payload)
        if len(topic) + len(payload) + 9 > len(self._tx):
            raise ValueError("a message of %d bytes is larger than the send buffer" % len(payload))
        async with self._lock:
            await self._until(lambda: len(self.unacked) < self.window, "PUBACK")
            packet_id = self._next_id()
            at = self._begin(PUBLISH_QOS1 | (1 if retain else 0), 4 + len(topic) + len(payload))
            at = self._put(at, topic)
            at = self._put_id(at, packet_id)
            self._tx[at : at + len(payload)] = payload
            # Entered first: the answer may come before _send() returns here.
            self.unacked[packet_id] = ticks_add(ticks_ms(), 2 * self.timeout_ms)
            await self._send(at + len(payload))
            self._kick.set()
        return packet_id

    async def subscribe(self, topics):
        """Subscribe to topics at QoS 1 and wait for the SUBACK; Refused when the broker grants one not."""
        topics = [_bytes(topic) for topic in topics]
        async with self._lock:
            packet_id = self._next_id()
            at = self._begin(SUBSCRIBE, 2 + sum([3 + len(topic) for topic in topics]))
            at = self._put_id(at, packet_id)
            for topic in topics:
                at = self._put(at, topic)
                self._tx[at] = 1
                at += 1
            await self._send(at)
        await self._until(lambda: self._suback and self._suback[0] == packet_id, "SUBACK")
        for topic, code in zip(topics, self._suback[1]):
            if code & 0x80:
                raise Refused("%s refused the subscription to %s" % (self._where, topic.decode()))

    async def _until(self, done, what):
        """Wait until done(); the connection fails when that takes longer than the timeout."""
        deadline = ticks_add(ticks_ms(), self.timeout_ms)
        while True:
            self._check()
            if done():
                return
            left = ticks_diff(deadline, ticks_ms())
            if left <= 0:
                self._fail(Timeout("%s sent no %s in time" % (self._where, what)))
                self._check()
            self._changed.clear()
            try:
                await asyncio.wait_for_ms(self._changed.wait(), left)
            except asyncio.TimeoutError:
                pass

    def _check(self):
        if self.error is not None:
            raise self.error

    def _next_id(self):
        self._packet_id = self._packet_id % 0xFFFF + 1
        while self._packet_id in self.unacked:
            self._packet_id = self._packet_id % 0xFFFF + 1
        return self._packet_id

    # ---- writing; the caller holds the lock, since _tx is one buffer

    def _begin(self, kind, length):
        """Write the fixed header (2.2); returns where the rest begins."""
        self._tx[0] = kind
        at = 1
        while True:
            digit = length & 0x7F
            length >>= 7
            self._tx[at] = digit | (0x80 if length else 0)
            at += 1
            if not length:
                return at

    def _put(self, at, field):
        at = self._put_id(at, len(field))
        self._tx[at : at + len(field)] = field
        return at + len(field)

    def _put_id(self, at, number):
        self._tx[at] = number >> 8
        self._tx[at + 1] = number & 0xFF
        return at + 2

    async def _send(self, count):
        """Write `count` bytes of the send buffer. Whatever goes wrong ends the connection: a packet must be whole."""
        self._check()
        try:
            await asyncio.wait_for_ms(self._write(memoryview(self._tx)[:count]), self.timeout_ms)
        except Exception as error:
            self._fail(_explain(error, self._where))
            raise self.error
        except BaseException:
            self._fail(Closed("the node stopped while it sent"))
            raise
        self._sent_at = ticks_ms()

    async def _write(self, data):
        view = memoryview(data)
        sent = 0
        try:
            while sent < len(view):
                self._writer = asyncio.current_task()
                count = self._sock.write(view[sent:])
                if count is None:
                    await _writable(self._sock)
                else:
                    sent += count
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
            self._fail(_explain(error, self._where))

    async def _read(self):
        view = memoryview(self._rx)
        while True:
            count = self._sock.readinto(view[self._got :])
            if count is None:
                await _readable(self._sock)
                continue
            if count == 0:
                raise Closed("%s closed the connection" % self._where)
            self._got += count
            self._consume()
            if not (self._got or self._skip):
                self._half = None
            elif self._half is None:
                self._half = ticks_add(ticks_ms(), self.timeout_ms)
                self._kick.set()
            while self._acks:
                async with self._lock:
                    await self._send(self._put_id(self._begin(PUBACK, 2), self._acks.pop(0)))
            self._change()

    def _consume(self):
        """Handle every whole packet at the front of the buffer and move the rest forward."""
        start = min(self._skip, self._got)
        self._skip -= start
        while start < self._got:
            used = self._packet(start)
            if not used:
                break
            self._half = None
            if start + used > self._got:  # a packet that is too large: the rest of it is dropped as it comes
                self._skip = start + used - self._got
                used = self._got - start
            start += used
        if start:
            rest = self._got - start
            self._rx[:rest] = self._rx[start : self._got]
            self._got = rest

    def _packet(self, start):
        """Handle the packet at `start`; returns its length, 0 while it is not whole."""
        rx = self._rx
        length = shift = 0
        at = start + 1
        while True:
            if at >= self._got:
                return 0
            digit = rx[at]
            at += 1
            length |= (digit & 0x7F) << shift
            shift += 7
            if not digit & 0x80:
                break
            if shift > 21:
                raise ProtocolError("%s sent a packet whose length has no end" % self._where)
        whole = at + length <= self._got
        if not whole and at - start + length <= len(rx):
            return 0
        kind = rx[start] & 0xF0
        if kind == 0x30:
            if not self._incoming(rx[start], at, length, whole):
                return 0
        elif not whole:
            raise ProtocolError("%s sent a packet of type 0x%02x with %d bytes" % (self._where, rx[start], length))
        elif kind == 0x40 and length == 2:
            self.unacked.pop(rx[at] << 8 | rx[at + 1], None)
        elif kind == 0x90 and length > 2:
            self._suback = (rx[at] << 8 | rx[at + 1], bytes(rx[at + 2 : at + length]))
        elif kind == 0xD0 and length == 0:
            self._ping = None
            self._tell(self.on_ping, False)
        else:
            raise ProtocolError("%s sent a packet of type 0x%02x with %d bytes" % (self._where, rx[start], length))
        return at - start + length

    def _incoming(self, header, at, length, whole):
        """A PUBLISH (3.3); False while too little of an oversized one is here to know its topic and number."""
        qos = header >> 1 & 3
        if qos > 1 or length < 2:
            raise ProtocolError("%s sent a message at QoS %d" % (self._where, qos))
        end = at + length
        if at + 2 > self._got:
            return False
        topic = at + 2
        at = topic + (self._rx[topic - 2] << 8 | self._rx[topic - 1])
        if at + 2 * qos > min(end, len(self._rx)):
            raise ProtocolError("%s sent a message whose topic is longer than the message" % self._where)
        if at + 2 * qos > self._got:
            return False
        name = str(self._rx[topic:at], "utf-8")
        if qos:
            self._acks.append(self._rx[at] << 8 | self._rx[at + 1])
            at += 2
        self._tell(self.on_message, name, bytes(memoryview(self._rx)[at:end]) if whole else None)
        return True

    def _change(self):
        self._changed.set()
        self._tell(self.on_change)

    def _tell(self, callback, *args):
        if callback is not None:
            callback(*args)

    # ---- keeping

    async def _keep(self):
        """Ping when nothing was sent for a while, and end the connection when the broker owes an answer too long."""
        while True:
            now = ticks_ms()
            for due, what in self._debts():
                if ticks_diff(due, now) <= 0:
                    raise Timeout("%s %s in time" % (self._where, what))
            ping_at = ticks_add(self._sent_at, self.keepalive_s * 750)
            if self._ping is None and ticks_diff(ping_at, now) <= 0:
                await self._send_ping()
                continue
            waits = [ticks_diff(due, now) for due, what in self._debts()]
            if self._ping is None:
                waits.append(ticks_diff(ping_at, now))
            self._kick.clear()
            try:
                await asyncio.wait_for_ms(self._kick.wait(), max(1, min(waits)))
            except asyncio.TimeoutError:
                pass

    def _debts(self):
        """(tick, what the broker has not done) of everything it owes."""
        debts = [(due, "sent no PUBACK") for due in self.unacked.values()]
        if self._ping is not None:
            debts.append((self._ping, "did not answer a ping"))
        if self._half is not None:
            debts.append((self._half, "did not finish a packet"))
        return debts

    async def _send_ping(self):
        async with self._lock:
            self._ping = ticks_add(ticks_ms(), self.timeout_ms)
            self._tell(self.on_ping, True)
            self._tx[0:2] = PING
            await self._send(2)


def _bytes(text):
    return text.encode() if isinstance(text, str) else text
