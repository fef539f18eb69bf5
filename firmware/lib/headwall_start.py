"""Which version of the node's program starts: the one in /lib that came by cable, or one that came over the air.

Like main.py, which calls it, it stays on the board for ever. A version on trial stays when it has noted that the
gateway acknowledged custody to it. It is taken back when it crashes, notes so itself, or has started STARTS times;
wake-ups from deep sleep do not count. headwall_node/slots.py is the other half, and says what stands in the files. One
rename of slots.json ends a trial, and only afterwards the verdict goes: power may fail between.
"""

import json
import os
import sys

import machine

STARTS = 5
WATCHDOG_MS = 120000  # of a version on trial, until it sets its own: it may hang before
SLOTS = "slots.json"
VERDICT = "slots.verdict"


def choose():
    """Put the folder of the version that is to run in front of sys.path; whether that version is on trial."""
    slots = _slots()
    verdict = _verdict()
    if slots.get("trial"):
        starts = slots["starts"] + (machine.reset_cause() != machine.DEEPSLEEP_RESET)
        if not verdict and starts > STARTS:
            verdict = "no custody in %d starts" % STARTS
        if verdict:
            _end(slots, verdict)
        elif starts != slots["starts"]:
            slots["starts"] = starts
            _write(slots)
    trial = slots.get("trial")
    if verdict and not trial:
        _remove(VERDICT)
    if trial:
        machine.WDT(timeout=WATCHDOG_MS)
    if trial or slots.get("active"):
        sys.path.insert(0, "/" + (trial or slots["active"]))
    return bool(trial)


def failed(why):
    """The version on trial has crashed: the next start takes it back, unless it was confirmed before."""
    if not _verdict():
        try:
            with open(VERDICT, "w") as file:
                file.write(why)
        except OSError as error:  # the flash is full: the starts are counted still
            print("%s cannot be written: %s" % (VERDICT, error))


def _end(slots, verdict):
    trial = slots.pop("trial")
    del slots["starts"]
    if verdict == "custody":
        slots["active"] = trial
        slots["update"]["state"] = "confirmed"
    else:
        print("version %s is taken back: %s" % (slots["update"]["version"], verdict))
        slots["update"]["state"] = "rolled_back"
        slots["update"]["why"] = verdict[:200]  # it travels in the state message
    _remove("update.bundle")  # where power went before install.py could
    _write(slots)


def _slots():
    try:
        with open(SLOTS) as file:
            found = json.load(file)
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError) as error:  # only by hand: the version in /lib starts
        print("%s cannot be read: %s" % (SLOTS, error))
        return {}


def _verdict():
    try:
        with open(VERDICT) as file:
            return file.read()  # empty: power went before it was written
    except OSError:
        return ""


def _write(slots):
    with open(SLOTS + ".new", "w") as file:
        json.dump(slots, file)
    os.rename(SLOTS + ".new", SLOTS)


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass
