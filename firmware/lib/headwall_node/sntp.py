"""Asks an NTP server for the time (SNTP, RFC 5905). Used through overlay.call()."""

import asyncio
import os
import socket
import struct

from micropython import const

from . import power
from .clock import LATEST_MS

_NTP_TO_UNIX_S = const(2208988800)  # 1900 to 1970
_ERA_S = const(4294967296)


async def ask(clock, host, port, timeout_ms):
    """Ask one NTP server once and set the clock; returns None, or why it was not set.

    Holds the board awake meanwhile. The name look-up is the port's own and blocks it.
    """
    power.hold("ntp")
    try:
        reply, sent, came = await _exchange(clock, host, port, timeout_ms)
    except OSError as e:
        return "NTP server %s:%d cannot be asked: %s" % (host, port, e)
    finally:
        power.release("ntp")
    if reply is None:
        return "NTP server %s:%d gave no answer in %d ms" % (host, port, timeout_ms)
    ms, fault = ntp_time(reply, clock.build_ms)
    if fault is None and not clock.set_utc_ms(ms, "ntp", (sent + came) // 2):
        fault = "its time is impossible: %d ms" % ms
    return fault and "NTP server %s:%d refused: %s" % (host, port, fault)


async def _exchange(clock, host, port, timeout_ms):
    """(the reply or None, uptimes at which the question went and the reply came)."""
    address = socket.getaddrinfo(host, port)[0][-1]
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        nonce = os.urandom(8)
        sent = clock.uptime_ms()
        sock.sendto(b"\x23" + bytes(39) + nonce, address)
        while True:
            try:
                reply = sock.recv(64)
            except OSError:  # nothing there yet
                reply = None
            now = clock.uptime_ms()
            if reply and reply[24:32] == nonce:
                return reply, sent, now
            if now - sent >= timeout_ms:
                return None, sent, now
            await asyncio.sleep_ms(20)
    finally:
        sock.close()


def ntp_time(reply, build_ms):
    """(UTC in ms, None) that an SNTP reply tells, or (None, why not). RFC 5905; its seconds start anew in 2036."""
    if len(reply) < 48:
        return None, "%d bytes instead of 48" % len(reply)
    if reply[0] & 7 != 4:
        return None, "mode %d is no server's reply" % (reply[0] & 7)
    if reply[1] == 0:
        return None, "kiss-o'-death"
    if reply[0] >> 6 == 3 or reply[1] > 15:
        return None, "it is not synchronised itself"
    seconds, fraction = struct.unpack(">II", reply[40:48])
    if seconds == 0 and fraction == 0:
        return None, "empty time"
    ms = (seconds - _NTP_TO_UNIX_S) * 1000 + (fraction * 1000 >> 32)
    if ms < build_ms:
        ms += _ERA_S * 1000
    if ms >= LATEST_MS:
        return None, "a time before the build of this program or after 2100"
    return ms, None
