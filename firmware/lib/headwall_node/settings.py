"""Settings at start, and a new configuration that came over the network. Used through overlay.call().

Checking settings takes much memory and time, and is needed only when they have changed. So what the check gives is
put down on flash (stored.py), with a key that tells whether it still belongs to the settings, the secrets and the
program that are there. What came from secrets.json is not among it: it is added at each start. After a check the board
starts anew: MicroPython keeps every name that it met, and those of the check alone take some 5 KB.

A configuration that comes over the network is only put down here as a file; the board then starts anew, checks it, and
takes it or keeps the one it has. What was refused, and why, stands in another file, since the broker brings a retained
configuration again with every connection.

One that was taken is on trial, since no check knows a wrong broker's name or a pin that stops the program: it stays
when the gateway has acknowledged custody under it. It is refused, and the last one that was good comes back, when that
does not come in six hours and two uplinks, or in six starts; wake-ups from deep sleep do not count.

Flash may give anything: what these files must hold is looked at before it is believed, and garbage is as no file.
"""

import json
import os
from binascii import hexlify
from hashlib import sha256

import machine
from micropython import const

from . import VERSION, log, overlay, slots, stored

CONFIG = "config.json"
SECRETS = "secrets.json"
CANDIDATE = "config.candidate"
REFUSED = "config.refused"  # {"hash", "why"}
TRIAL = "config.trial"  # {"hash", "starts"} of the configuration on trial
GOOD = "config.json.good"  # the last one that has proved itself, or came by cable
_TRIAL_MS = const(21600000)
_STARTS = const(6)  # the check is one of them
_SEAL = const(16)  # bytes at the end of the stored settings: hex digits of a hash of what they were made of and of them


def load(on_trial=False):
    """(the node's settings, their hash, why the newest configuration was refused or None).

    The settings are None when there are none. Instead of "sensors" they have, for stored.line(), the lines of the
    "gauges" and of the "sampled" ones; "battery" has the stream of the supply's voltage, or nothing.
    A version on trial takes nothing new: the one before it must find settings that it can read.
    """
    error, new = None, False
    if not on_trial:
        try:
            error = _take_candidate()
            new = _on_trial()
        except OSError as fault:  # no reason not to start with what is there
            log.trouble("settings", "flash does not take: %s" % fault)
    key = _key(on_trial)
    found = _stored(key)
    if found is None:
        faults = overlay.call("config", "prepare", stored.PATH, key, not (on_trial or new))
        if _stored(key) is None:
            return None, None, error or _text(faults) or "%s cannot be written" % stored.PATH
        log.info("settings", "checked; the board starts anew")
        machine.reset()
    given = found["node"]
    if new:
        slots.settings_ms = _TRIAL_MS + 2000 * given["uplink_s"]
    if found["hidden"]:
        given.update(_secrets(found["hidden"]))
    return given, found["hash"], error or found["why"] or refused().get("why")


def _stored(key):
    """The node's line, or None if the file is damaged or was made of other things than those that `key` names."""
    try:
        with open(stored.PATH, "rb") as file:
            seal = _sha(file, os.stat(stored.PATH)[6] - _SEAL, sha256(key))
            if file.read() != hexlify(seal.digest()[:8]):
                return None
    except OSError:  # there is none
        return None
    return stored.line(0)


def _key(on_trial):
    """What the stored settings are made of."""
    update = slots.state["update"] or {}  # two builds of one version may want them prepared otherwise
    program = (VERSION, slots.state.get("active"), update.get("bundle"), on_trial)
    found = sha256("%s %s %s %s" % program)
    for path in (CONFIG, SECRETS):
        found.update(_file_hash(path))
    return _hex(found)


def receive(raw, in_force):
    """(whether a configuration that came over the network waits now for the next start, why the last one was refused).

    The one in force and the one last refused are known already; the one in force ends the refusal of another.
    """
    name = _hash(raw)
    if name == in_force:
        _remove(REFUSED)
    elif raw and name != refused().get("hash"):
        _write(CANDIDATE, raw)
        return True, None
    return False, refused().get("why")


def refused():
    """Hash and reason of the last configuration that was refused; empty when the last one was taken."""
    found = _object(REFUSED)
    sound = isinstance(found.get("hash"), str) and isinstance(found.get("why"), str)
    return found if sound else {}


def _take_candidate():
    """Check the configuration that waits, if one does; why it was refused, or None."""
    try:
        raw = _read(CANDIDATE)
        if not raw:
            return None
        faults = overlay.call("config", "store", raw)
    except Exception as fault:  # no memory for what it holds, or no room on flash: no reason never to start again
        faults = ["%s: %s" % (type(fault).__name__, fault)]
    name = _file_hash(CANDIDATE)
    if faults:
        _write(REFUSED, json.dumps({"hash": name, "why": _text(faults)}))
    else:
        _remove(REFUSED)
        _write(TRIAL, json.dumps({"hash": name, "starts": 0}))
    _remove(CANDIDATE)  # last: power may go before
    return _text(faults)


def _on_trial():
    """Whether the configuration is on trial still; counts the start, and ends a trial that had too many."""
    trial = _object(TRIAL)
    name = _file_hash(CONFIG)
    if trial.get("hash") != name:  # there is none, or another configuration came by cable
        _remove(TRIAL)
        return False
    if machine.reset_cause() != machine.DEEPSLEEP_RESET:
        starts = trial.get("starts")
        starts = starts + 1 if isinstance(starts, int) else 1
        if starts > _STARTS:
            _take_back("no custody in %d starts" % _STARTS)
            return False
        _write(TRIAL, json.dumps({"hash": name, "starts": starts}))
    return True


def judged(custody):
    """End the trial: custody came under this configuration, or did not in time. Why to start anew, or None."""
    try:
        if not custody:
            _take_back("no custody in %d hours" % (_TRIAL_MS // 3600000))
            return "the configuration before comes back"
        _write(GOOD, _read(CONFIG))
        _remove(TRIAL)
    except OSError as fault:  # the next start goes on with the trial
        log.trouble("settings", "flash does not take: %s" % fault)
    return None


def _take_back(why):
    """Refuse the configuration in force; the last good one takes its place."""
    good = _read(GOOD)
    if good:
        _write(REFUSED, json.dumps({"hash": _file_hash(CONFIG), "why": why}))
        _write(CONFIG, good)
    _remove(TRIAL)


def _secrets(keys):
    """The secret settings of these keys; the check has seen them."""
    found = json.loads(_read(SECRETS))
    return {key: found[key] for key in keys}


def _text(faults):
    return "; ".join(faults)[:400] or None  # it travels in the state message


def _hash(raw):
    return _hex(sha256(raw))


def _file_hash(path):
    """_hash() of what is in a file: of nothing, if it is not there."""
    try:
        with open(path, "rb") as file:
            return _hex(_sha(file, os.stat(path)[6], sha256()))
    except OSError:
        return _hash(b"")


def _sha(file, left, found):
    """`found` with the next `left` bytes of a file in it; by pieces, since it may be longer than memory."""
    while left > 0:
        piece = file.read(min(left, 256))
        if not piece:
            break
        found.update(piece)
        left -= len(piece)
    return found


def _hex(found):
    return hexlify(found.digest()[:8]).decode()


def _object(path):
    """The JSON object in a file; an empty one if it holds anything else."""
    try:
        found = json.loads(_read(path))
    except Exception:  # also nested deeper than the stack, or more than memory holds
        return {}
    return found if isinstance(found, dict) else {}


def _read(path):
    """What is in a file; nothing if it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write(path, data):
    with open(path + ".new", "w" if isinstance(data, str) else "wb") as file:
        file.write(data)
    os.rename(path + ".new", path)


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass  # not there
