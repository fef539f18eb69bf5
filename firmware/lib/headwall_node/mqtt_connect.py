"""How a connection of mqtt.Client comes about: socket, CONNECT, SUBSCRIBE. Used through overlay.call().

Numbers in comments are sections of OASIS MQTT 3.1.1.
"""

import socket
from errno import EINPROGRESS

from .mqtt import field, head, number
from .mqtt_error import MqttError
from .mqtt_wire import writable

#: reasons of a CONNACK (3.2.2.3)
_REFUSALS = (
    None,
    ("refused", "the broker does not speak MQTT 3.1.1"),
    ("refused", "the broker does not accept this client id"),
    ("refused", "the broker is not available"),
    ("bad_credentials", "bad user name or password"),
    ("bad_credentials", "not authorised"),
)


async def open(client, host, port, tls, name, will):
    """Connect; the TLS handshake, which checks the certificate for `name`, happens inside the first write."""
    await _open_socket(client.wire, host, port, tls, name)
    await client.wire.write(_connect_packet(client, will))
    while client.connack is None:
        await client.read_once()
    if client.connack:
        raise _refusal(client.connack, client.where)


async def _open_socket(wire, host, port, tls, name):
    try:
        address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0]
    except OSError as error:
        raise MqttError("refused", "%s:%d: the name does not resolve (%s)" % (host, port, error))
    wire.raw = wire.sock = raw = socket.socket(address[0], address[1], address[2])
    raw.setblocking(False)
    try:
        raw.setsockopt(6, 1, 1)  # TCP_NODELAY: a small message must not wait for the ACK of another
    except (OSError, AttributeError):
        pass  # slower, not wrong
    try:
        raw.connect(address[-1])
    except OSError as error:
        if error.errno != EINPROGRESS:
            raise
    await writable(raw)
    if tls is not None:
        wire.sock = tls.wrap_socket(raw, server_hostname=name, do_handshake_on_connect=False)


def _connect_packet(client, will):
    flags = 0x02  # clean session
    fields = [client.client_id]
    if will:
        flags |= 0x2C  # will, at QoS 1, retained
        fields += will
    if client.username is not None:
        flags |= 0x80
        fields.append(client.username)
    if client.password is not None:
        flags |= 0x40
        fields.append(client.password)
    body = b"\x00\x04MQTT\x04" + bytes((flags,)) + number(client.keepalive_s)
    for each in fields:
        body += field(each)
    return head(0x10, len(body)) + body


def _refusal(code, where):
    """The error that a CONNACK with a reason other than 0 means."""
    kind, text = _REFUSALS[code] if code < len(_REFUSALS) else ("refused", "reason %d" % code)
    return MqttError(kind, "%s: %s" % (where, text))


async def subscribe(client, topics):
    """See Client.subscribe."""
    async with client.lock:
        packet_id = client.next_id()
        body = number(packet_id)
        for topic in topics:
            body += field(topic) + b"\x01"
        await client.send(head(0x82, len(body)) + body)
    await client.until(lambda: client.suback and client.suback[0] == packet_id, "SUBACK")
    for topic, code in zip(topics, client.suback[1]):
        if code & 0x80:
            raise MqttError("refused", "%s refused the subscription to %s" % (client.where, topic))
