"""A TCP connection, with TLS or without, that never blocks the loop and always closes its sockets."""

import asyncio


def readable(sock):
    yield asyncio.core._io_queue.queue_read(sock)


def writable(sock):
    yield asyncio.core._io_queue.queue_write(sock)


class Wire:
    """One connection at a time, opened by mqtt_connect. None of its waits is bounded: the caller does that."""

    def __init__(self):
        self.sock = None  # what is read and written: the TLS socket, or the raw one
        self.raw = None

    def close(self):
        """Never raises. After a failed handshake the TLS socket no longer reaches the raw one: close both."""
        for sock in (self.sock, self.raw):
            if sock is not None:
                try:
                    sock.close()
                except OSError:
                    pass
        self.sock = self.raw = None

    async def write(self, data):
        """Write all of `data`."""
        view = memoryview(data)
        sent = 0
        while sent < len(view):
            count = self.sock.write(view[sent:])
            if count is None:
                await writable(self.sock)
            else:
                sent += count

    async def read_into(self, view):
        """Read what there is, at least one byte, and return how much; 0 when the other side has closed."""
        while True:
            count = self.sock.readinto(view)
            if count is not None:
                return count
            await readable(self.sock)
