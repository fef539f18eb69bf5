"""A TCP proxy before the broker, one a board, that fails as networks do.

Modes: "open" passes everything; "cut" resets what is connected and whoever connects; "black_hole" takes
connections and bytes and never answers. `delay_s` holds every piece back for so long, real time.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Literal

from headwall_sim.net_thread import NetThread

Mode = Literal["open", "cut", "black_hole"]
_PIECE = 65536


class Proxy:
    """Listens on a free port of 127.0.0.1 and passes to `target` (host, port), which may change between connections.

    Attributes:
        port: where it listens.
        connections: how many were taken so far, those in other modes than "open" too.
        passed: bytes so far, both ways.
    """

    host = "127.0.0.1"

    def __init__(self, net: NetThread, target: tuple[str, int]) -> None:
        self.target = target
        self.delay_s = 0.0
        self.connections = 0
        self.passed = 0
        self._net = net
        self._mode: Mode = "open"
        self._streams: set[asyncio.StreamWriter] = set()
        self._server = net.run(asyncio.start_server(self._serve, self.host, 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def mode(self) -> Mode:
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Change the mode. Returns when it holds; from "black_hole" on, open connections stay mute for good."""
        self._net.call(lambda: self._switch(mode))

    def drop(self) -> None:
        """Reset what is connected now; new connections are taken as the mode says."""
        self._net.call(self._reset_all)

    def stop(self) -> None:
        self._net.call(self._server.close)
        self.drop()

    def _switch(self, mode: Mode) -> None:
        self._mode = mode
        if mode == "cut":
            self._reset_all()

    def _reset_all(self) -> None:
        for writer in list(self._streams):
            _reset(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._streams.add(writer)
        try:
            if self._mode == "open":
                await self._pass_on(reader, writer)
            elif self._mode == "black_hole":
                await _swallow(reader)
            else:
                _reset(writer)
            writer.close()
        except OSError:
            _reset(writer)  # either side has gone: so does the other
        finally:
            self._streams.discard(writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes and ends of both ways, each in its own time, until both have ended or one side is lost."""
        from_broker, to_broker = await asyncio.open_connection(*self.target)
        self._streams.add(to_broker)
        ways = [
            asyncio.ensure_future(self._pump(reader, to_broker)),
            asyncio.ensure_future(self._pump(from_broker, writer)),
        ]
        try:
            await asyncio.gather(*ways)
            to_broker.close()
        except OSError:
            _reset(to_broker)
            raise
        finally:
            for way in ways:
                way.cancel()
            self._streams.discard(to_broker)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(_PIECE):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if self._mode == "black_hole":
                await _swallow(source)
                return
            sink.write(data)
            self.passed += len(data)
            await sink.drain()
        sink.write_eof()


async def _swallow(reader: asyncio.StreamReader) -> None:
    while await reader.read(_PIECE):
        pass


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, as a peer that has lost its state does: lingering for 0 s makes the kernel send one."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
