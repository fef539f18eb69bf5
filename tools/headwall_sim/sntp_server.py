"""An SNTP server (RFC 5905, client/server mode) that tells simulated time, for boards that have lost theirs."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import cast

from headwall_sim.net_thread import NetThread

_PACKET = struct.Struct(">BBbb11I")
_NTP_TO_UNIX_S = 2_208_988_800  # from 1900 to 1970, RFC 5905 figure 4
_MODE_CLIENT, _MODE_SERVER = 3, 4
_VERSION = 4
_STRATUM = 2
_PRECISION = -20  # about a microsecond, as a power of two


class SntpServer:
    """Answers on a free UDP port of 127.0.0.1.

    Attributes:
        port: where it listens.
        answering: False lets it hear and not answer.
        wrong_by_s: what to add to the time it tells.
        asked: how many requests came.
    """

    host = "127.0.0.1"

    def __init__(self, net: NetThread, now_us: Callable[[], int]) -> None:
        self.answering = True
        self.wrong_by_s = 0
        self.asked = 0
        self._net = net
        self._now_us = now_us
        self._transport = net.run(self._open())
        self.port: int = self._transport.get_extra_info("sockname")[1]

    def stop(self) -> None:
        self._net.call(self._transport.close)

    async def _open(self) -> asyncio.DatagramTransport:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Protocol(self), local_addr=(self.host, 0))
        return transport

    def answer(self, request: bytes) -> bytes | None:
        """The answer to a datagram, or None where there is none."""
        if len(request) < _PACKET.size or request[0] & 7 != _MODE_CLIENT:
            return None
        self.asked += 1
        if not self.answering:
            return None
        seconds, us = divmod(self._now_us() + self.wrong_by_s * 1_000_000, 1_000_000)
        stamp = ((seconds + _NTP_TO_UNIX_S) % 2**32, (us << 32) // 1_000_000)
        origin = struct.unpack_from(">II", request, 40)
        flags = _VERSION << 3 | _MODE_SERVER
        delay, dispersion, reference = 0, 0, int.from_bytes(b"SIM\0", "big")
        return _PACKET.pack(
            flags, _STRATUM, 6, _PRECISION, delay, dispersion, reference, *stamp, *origin, *stamp, *stamp
        )


class _Protocol(asyncio.DatagramProtocol):
    def __init__(self, server: SntpServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.answer(data)
        if answer is not None:
            self._transport.sendto(answer, addr)
