"""A TCP connection, with TLS or without, that never blocks the loop and always closes its sockets."""

import asyncio
import socket
from errno import EINPROGRESS

from .mqtt_error import MqttError


def tls_context(ca_der):
    """A context that accepts only a server whose certificate is signed by the CA given as DER bytes."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_mode = ssl.CERT_REQUIRED  # ports differ in the default
    try:
        context.load_verify_locations(cadata=ca_der)
    except (ValueError, OSError) as error:
        raise MqttError("wrong_ca", "the CA file is not a certificate in DER: %s" % error)
    return context


def _readable(sock):
    yield asyncio.core._io_queue.queue_read(sock)


def _writable(sock):
    yield asyncio.core._io_queue.queue_write(sock)


class Wire:
    """One connection at a time. None of its waits is bounded: the caller does that."""

    def __init__(self):
        self._sock = None  # what is read and written: the TLS socket, or the raw one
        self._raw = None

    async def open(self, host, port, tls, name):
        """Connect; the TLS handshake, which checks the certificate for `name`, happens inside the first write."""
        try:
            address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0]
        except OSError as error:
            raise MqttError("refused", "%s:%d: the name does not resolve (%s)" % (host, port, error))
        self._raw = self._sock = raw = socket.socket(address[0], address[1], address[2])
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
        await _writable(raw)
        if tls is not None:
            self._sock = tls.wrap_socket(raw, server_hostname=name, do_handshake_on_connect=False)

    def close(self):
        """Never raises. After a failed handshake the TLS socket no longer reaches the raw one: close both."""
        for sock in (self._sock, self._raw):
            if sock is not None:
                try:
                    sock.close()
                except OSError:
                    pass
        self._sock = self._raw = None

    async def write(self, data):
        """Write all of `data`."""
        view = memoryview(data)
        sent = 0
        while sent < len(view):
            count = self._sock.write(view[sent:])
            if count is None:
                await _writable(self._sock)
            else:
                sent += count

    async def read_into(self, view):
        """Read what there is, at least one byte, and return how much; 0 when the other side has closed."""
        while True:
            count = self._sock.readinto(view)
            if count is not None:
                return count
            await _readable(self._sock)
