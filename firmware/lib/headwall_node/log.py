"""What happened, on the console and in a short ring in RAM. Never give it a password or a key."""

import sys
from time import ticks_ms

from micropython import const

LEVELS = ("debug", "info", "warn", "error")
_KEEP = const(12)

ring = []  # the last _KEEP lines
level = 1  # index into LEVELS; lines below it are neither printed nor kept
_states = {}  # subject -> the trouble it was last in
now = ticks_ms  # the node puts the clock's uptime here


def _say(grade, subject, text):
    if grade < level:
        return
    line = "%d %s %s: %s" % (now(), LEVELS[grade], subject, text)
    print(line)
    ring.append(line)
    if len(ring) > _KEEP:
        ring.pop(0)


def debug(subject, text):
    _say(0, subject, text)


def info(subject, text):
    _say(1, subject, text)


def warn(subject, text):
    _say(2, subject, text)


def error(subject, text):
    _say(3, subject, text)


def trouble(subject, text):
    """Say once that a subject is in trouble, and once, with None, that it is well again."""
    if _states.get(subject) == text:  # also: never in trouble, and well
        return
    _states[subject] = text
    if text is None:
        info(subject, "well again")
    else:
        warn(subject, text)


def exception(subject, fault):
    """An exception that was not expected, with its traceback on the console."""
    error(subject, "%s: %s" % (type(fault).__name__, fault))
    sys.print_exception(fault)
