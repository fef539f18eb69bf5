# The pins' levels over time, read from a file as time goes by, and their interrupts.
#
# The file holds 16 bytes an edge, in the order of time: instant in us, then the pin's number << 48 | the levels of
# all pins after the edge, one bit a pin. An interrupt is soft, as on the ESP32 port: its handler runs between two
# steps of the program, here when the program next looks at the clock or waits. Time stands at the edge's instant
# while the handler runs, so that a handler that was late in real time is not late in virtual time.
import os
import struct
import sys

import _host
import _link

_SIZE = 16
_NEVER = 1 << 61
_file = _host.open("pins.bin", "rb")
_record = bytearray(_SIZE)
_handlers = {}  # pin number -> (handler, its argument, trigger)
_counts = {}  # pin number -> [rising, falling] edges since somebody asked for them
levels = int(os.getenv("SIM_LEVELS"))
_edge = 0  # of the next edge: pin number << 48 | levels after it
_busy = False


def _read():
    # Make the record at the file's place the next edge.
    global _edge
    if _file.readinto(_record) == _SIZE:
        _link.next_edge_us, _edge = struct.unpack("<qq", _record)
    else:
        _link.next_edge_us = _NEVER


def _find(at_us):
    # Stand behind the last edge of up to `at_us`; earlier ones happened while no program ran.
    global levels
    low, high = 0, _file.seek(0, 2) // _SIZE
    while low < high:
        middle = (low + high) // 2
        _file.seek(middle * _SIZE)
        _read()
        if _link.next_edge_us <= at_us:
            low = middle + 1
        else:
            high = middle
    if low:
        _file.seek((low - 1) * _SIZE)
        _read()
        levels = _edge & 0xFFFFFFFFFFFF
    _file.seek(low * _SIZE)
    _read()


def listen(number, handler, pin, trigger):
    if handler is None:
        _handlers.pop(number, None)
    else:
        _handlers[number] = (handler, pin, trigger)


def edges_of(number):
    # What hardware counts, also while interrupts are off.
    if _link.next_edge_us <= _link.now_us():
        deliver()
    return _counts.setdefault(number, [0, 0])


def _advance():
    # Take the next edge; returns (its instant, its pin's number, 1 rising or 2 falling).
    global levels
    at_us, number = _link.next_edge_us, _edge >> 48
    levels = _edge & 0xFFFFFFFFFFFF
    _read()
    direction = 1 if levels >> number & 1 else 2
    if number in _counts:
        _counts[number][direction - 1] += 1
    return at_us, number, direction


def deliver():
    # Call the handlers of all edges that are due.
    global _busy
    if _busy:
        return
    _busy = True
    while _link.next_edge_us <= _link.now_us():
        at_us, number, direction = _advance()
        found = _handlers.get(number)
        if found and found[2] & direction:
            _link.stand(at_us)
            _call(found)
            _link.stand(0)
    _busy = False


def blind_until(until_us):
    # Time passes with interrupts off, as during the erase of a flash sector: all edges of a pin become one interrupt.
    _link.pass_until(until_us, False)
    seen = {}
    while _link.next_edge_us <= _link.now_us():
        _, number, direction = _advance()
        seen[number] = seen.get(number, 0) | direction
    for number in seen:
        found = _handlers.get(number)
        if found and found[2] & seen[number]:
            _call(found)


def _call(found):
    try:
        found[0](found[1])
    except Exception as error:  # an interrupt's fault does not reach the program
        sys.print_exception(error)


_find(_link.now_us())
_link.deliver = deliver
