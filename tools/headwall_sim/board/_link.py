# The board's link to the simulation: what time it is, and how to wait.
#
# The frames are those of headwall_sim/frames.py. While this process is awake, virtual time is its own monotonic
# microseconds plus an offset that stands; the offset can change only between IDLE and GO.
import os
import struct
import sys

import uselect
import utime

FOREVER = -1
_FRAME = "<qqq"
_IDLE, _AWAKE, _WHY, _WATCH = ord("I"), ord("A"), ord("Y"), ord("W")
_GO, _ASK, _FAIL_AT = ord("G"), ord("?"), ord("X")

_in = open(int(os.getenv("SIM_IN")), "rb")
_out = open(int(os.getenv("SIM_OUT")), "wb")
_frame = bytearray(struct.calcsize(_FRAME))
_reply = bytearray(len(_frame))
_offset = int(os.getenv("SIM_OFFSET"))
_standing = 0  # the instant at which time stands while an interrupt is handled, or 0
_episode = 0
_sent_us = 0
fail_at = int(os.getenv("SIM_FAIL_AT"))  # flash operation at which the power fails, or -1
watchdog_us = 0  # its timeout, 0: not running
_fed_us = 0
#: a board with a serial port keeps real time: Ctrl-C may come at any instant, and would tear an exchange of frames
_SERIAL = bool(os.getenv("SIM_SERIAL"))
next_edge_us = 1 << 61  # _pins keeps it
deliver = None  # _pins.deliver: hands on the edges that are due


def now_us():
    return _standing or utime.ticks_us() + _offset


def stand(at_us):
    # Let time stand at an instant, or go on (0).
    global _standing
    _standing = at_us


def tell(op, a=0, b=0):
    global _sent_us
    struct.pack_into(_FRAME, _frame, 0, op, a, b)
    _out.write(_frame)
    _sent_us = now_us()


def end_of_process(op, a=0, b=0):
    # Tell how this run ends, and wait for the supervisor to end it: no finally and no except of the program runs.
    tell(op, a, b)
    while _in.read(1):
        pass
    die()


def die():
    os.system("kill -9 $PPID")


def feed(timeout_us=0):
    # The watchdog's; told on only when nothing else has told lately that this process lives.
    global watchdog_us, _fed_us
    watchdog_us = timeout_us or watchdog_us
    _fed_us = now_us()
    if timeout_us or _fed_us - _sent_us > watchdog_us // 4:
        tell(_WATCH, watchdog_us)


def bitten():
    return watchdog_us and now_us() >= _fed_us + watchdog_us


def new_poller():
    poller = uselect.poll()
    poller.register(_in, uselect.POLLIN)
    return poller


def wait(poller, until_us, interrupts=True):
    # One step of waiting: until `until_us` (or FOREVER), the next edge, the watchdog's bite, or an object of `poller`
    # (made by new_poller) is ready. Returns what is ready as a list of (object, events).
    if watchdog_us and (until_us < 0 or until_us > _fed_us + watchdog_us):
        until_us = _fed_us + watchdog_us
    if interrupts and (until_us < 0 or until_us > next_edge_us):
        until_us = next_edge_us if next_edge_us < 1 << 61 else FOREVER
    ready = _wait_awake(poller, until_us) if _SERIAL or _holds() else _wait_idle(poller, until_us)
    if bitten():
        end_of_process(ord("R"), 3)  # machine.WDT_RESET
    if interrupts and now_us() >= next_edge_us:
        deliver()
    return ready


def _holds():
    power = sys.modules.get("headwall_node.power")
    return power.holds if power else None


def _wait_awake(poller, until_us):
    # Time runs 1:1: a real wait.
    ms = -1 if until_us < 0 else max(0, (until_us - now_us() + 999) // 1000)
    ready, told = _ready(poller, ms)
    if told:
        _take()
    return ready


def _wait_idle(poller, until_us):
    # The clock may jump: it says when to go on.
    global _episode
    if 0 <= until_us <= now_us():
        return _ready(poller, 0)[0]
    _episode += 1
    tell(_IDLE, until_us, _episode)
    ready, told = (), True
    while not ready:
        ready, told = _ready(poller, -1)
        if told and _take():
            return ready
    tell(_AWAKE, 0, _episode)
    while not _take():
        pass
    return ready


def _ready(poller, ms):
    # (what is ready but the link, whether the link is)
    ready, told = (), False
    for item in poller.ipoll(ms):
        if item[0] is _in:
            told = True
        else:
            ready = ready or []
            ready.append((item[0], item[1]))
    return ready, told


def _take():
    # Take one frame from the supervisor; True if it was GO.
    global _offset, fail_at
    if _in.readinto(_reply) != len(_reply):
        die()  # the supervisor has gone
    op, a, _ = struct.unpack(_FRAME, _reply)
    if op == _GO:
        _offset = a
        return True
    if op == _FAIL_AT:
        fail_at = a
    elif op == _ASK:
        why = ("holds %s" % _holds() if _holds() else "its program computes").encode()
        tell(_WHY, len(why))
        _out.write(why)
    return False


_sleeper = None


def pass_until(until_us, interrupts=True):
    # The whole board waits, as in time.sleep(); interrupts are served unless `interrupts` is False.
    global _sleeper
    if _sleeper is None:
        _sleeper = new_poller()
    while now_us() < until_us and not _standing:
        wait(_sleeper, until_us, interrupts)
