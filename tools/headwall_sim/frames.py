"""The frames that a participant and the simulation's clock exchange: 24 bytes, an operation and two integers.

Boards speak them over two pipes (tools/headwall_sim/board/_link.py is the other half), a gateway over a Unix
socket. A participant is awake when it joins. Each time it becomes idle it counts an episode `n` and sends
IDLE(until, n); exactly one GO(offset, n) ends the episode, sent when `until` has come or in answer to AWAKE(n)
from a participant that found work before. While anyone is awake the offset stands, so that an awake participant
knows the time without asking: virtual microseconds = its own monotonic microseconds + offset.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

FRAME = struct.Struct("<qqq")
FOREVER = -1  # as `until`: nothing but outside work will wake me

# from a participant
HELLO = ord("H")  # a: length of the name that follows
IDLE = ord("I")  # a: instant in virtual us, or FOREVER; b: episode
AWAKE = ord("A")  # a: unused; b: episode that it wants to end
WHY = ord("Y")  # a: length of the text that follows, the answer to ASK
# from a board alone
SLEEP = ord("S")  # deep sleep; a: milliseconds or FOREVER; b: wake sources as board/machine.py packs them
RESET = ord("R")  # a: reset cause
CUT = ord("C")  # its flash met the operation at which the power is to fail
WATCH = ord("W")  # the watchdog was fed; a: its timeout in us
UP = ord("U")  # the simulation's own start is over: the board's own files run next
RTC = ord("T")  # a: what to add to virtual us for the clock's own time
# from the clock
GO = ord("G")  # a: offset; b: episode
JUMP = ord("J")  # a: the new offset, to participants on sockets that stay idle
ASK = ord("?")  # say why you are awake
FAIL_AT = ord("X")  # to a board; a: number of the flash operation at which power fails, counted since it was made


@dataclass(frozen=True)
class Frame:
    """One decoded frame."""

    op: int
    a: int = 0
    b: int = 0

    def pack(self) -> bytes:
        return FRAME.pack(self.op, self.a, self.b)


def unpack(data: bytes) -> Frame:
    """The frame in exactly FRAME.size bytes."""
    return Frame(*FRAME.unpack(data))


def monotonic_us() -> int:
    """Microseconds of the machine's monotonic clock, the same for all processes of one boot (CLOCK_MONOTONIC)."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
