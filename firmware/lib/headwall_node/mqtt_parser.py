"""Bytes from the broker to MQTT packets, in one buffer, a bytearray that is given.

A message that does not fit is acknowledged and dropped, and reported with the payload None.
"""

from .mqtt_error import MqttError


class Parser:
    """Feed it through `room()` and `fed()`; it calls `handle(type, packet_id, body)` for each whole packet.

    type: the high half of the first byte · packet_id: 0 for none · body: (topic, payload) of a PUBLISH, else the
    bytes after the packet id. A payload is a view of the buffer, good until `handle` returns. Raises MqttError for
    what MQTT 3.1.1 does not allow.
    """

    def __init__(self, buf, handle):
        self._buf = buf
        self._view = memoryview(self._buf)
        self._handle = handle
        self.reset()

    def reset(self):
        self._got = 0
        self._skip = 0  # bytes still to come of a message that is dropped

    def room(self):
        """Where the next bytes go."""
        return self._view[self._got :]

    def within(self):
        """Whether a packet has begun and is not whole."""
        return bool(self._got or self._skip)

    def fed(self, count):
        """`count` bytes were read into `room()`; returns how many packets they completed."""
        self._got += count
        start = min(self._skip, self._got)
        self._skip -= start
        packets = 0
        while start < self._got:
            used = self._packet(start)
            if not used:
                break
            packets += 1
            if start + used > self._got:  # too large: the rest of it is dropped as it comes
                self._skip = start + used - self._got
                used = self._got - start
            start += used
        if start:
            rest = self._got - start
            self._buf[:rest] = self._buf[start : self._got]
            self._got = rest
        return packets

    def _packet(self, start):
        """Handle the packet at `start`; returns its length, or 0 while too little of it is here."""
        length = shift = 0
        at = start + 1
        while True:
            if at >= self._got:
                return 0
            digit = self._buf[at]
            at += 1
            length |= (digit & 0x7F) << shift
            shift += 7
            if not digit & 0x80:
                break
            if shift > 21:
                raise MqttError("protocol", "the broker sent a packet whose length has no end")
        whole = at + length <= self._got
        if not whole and at - start + length <= len(self._buf):
            return 0
        first = self._buf[start]
        if first & 0xF0 == 0x30:
            if not self._message(first, at, length, whole):
                return 0
        elif not whole or length == 1:
            raise MqttError("protocol", "the broker sent a packet of type 0x%02x with %d bytes" % (first, length))
        else:
            packet_id = self._number(at) if length else 0
            self._handle(first & 0xF0, packet_id, bytes(self._view[at + 2 : at + length]))
        return at - start + length

    def _message(self, first, at, length, whole):
        """A PUBLISH (3.3); False while too little of an oversized one is here to know its topic and number."""
        qos = first >> 1 & 3
        end = at + length
        if qos > 1 or length < 2:
            raise MqttError("protocol", "the broker sent a message at QoS %d with %d bytes" % (qos, length))
        if at + 2 > self._got:
            return False
        topic = at + 2
        at = topic + self._number(at)
        if at + 2 * qos > min(end, len(self._buf)):
            raise MqttError("protocol", "the broker sent a message whose topic is longer than the message")
        if at + 2 * qos > self._got:
            return False
        name = str(self._view[topic:at], "utf-8")
        packet_id = self._number(at) if qos else 0
        self._handle(0x30, packet_id, (name, self._view[at + 2 * qos : end] if whole else None))
        return True

    def _number(self, at):
        return self._buf[at] << 8 | self._buf[at + 1]
