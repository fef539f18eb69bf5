"""Settings at start, and a new configuration that came over the network. Used through overlay.call().

Checking settings takes much memory and time, and is needed only when they have changed. So what the check gives is
put down on flash (stored.py), with a key that tells whether it still belongs to the settings, the secrets and the
program that are there. What came from secrets.json is not among it: it is added at each start. After a check the board
starts anew: MicroPython keeps every name that it met, and those of the check alone take some 5 KB.

A configuration that comes over the network is only put down here as a file; the board then starts anew, checks it, and
takes it or keeps the one it has. What was refused, and why, stands in another file, since the broker brings a retained
configuration again with every connection.
"""

import json
import os
from binascii import hexlify
from hashlib import sha256

import machine

from . import VERSION, log, overlay, stored

CONFIG = "config.json"
SECRETS = "secrets.json"
CANDIDATE = "config.candidate"
REFUSED = "config.refused"  # {"hash", "why"}


def load(on_trial=False):
    """(the node's settings, their hash, why the newest configuration was refused or None).

    The settings are None when there are none. Instead of "sensors" they have, for stored.line(), the lines of the
    "gauges" and of the "sampled" ones; "battery" has the stream of the supply's voltage, or nothing.
    A version on trial takes nothing new: the one before it must find settings that it can read.
    """
    error = None if on_trial else _take_candidate()
    key = _key(on_trial)
    found = _stored(key)
    if found is None:
        faults = overlay.call("config", "prepare", stored.PATH, key, not on_trial)
        if _stored(key) is None:
            return None, None, error or _text(faults) or "%s cannot be written" % stored.PATH
        log.info("settings", "checked; the board starts anew with all its memory")
        machine.reset()
    given = found["node"]
    if found["hidden"]:
        given.update(_secrets(found["hidden"]))
    return given, found["hash"], error or found["why"] or refused().get("why")


def _stored(key):
    """The node's line, or None if it was made of other things than those that `key` names."""
    try:
        found = stored.line(0)
    except (OSError, ValueError):
        return None
    return found if found.get("key") == key else None


def _key(on_trial):
    """What the stored settings are made of."""
    found = sha256(VERSION + " trial" * on_trial)
    for path in (CONFIG, SECRETS):
        found.update(sha256(_read(path)).digest())
    return hexlify(found.digest()[:8]).decode()


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
    try:
        return json.loads(_read(REFUSED))
    except ValueError:
        return {}


def _take_candidate():
    """Check the configuration that waits, if one does; why it was refused, or None."""
    raw = _read(CANDIDATE)
    if not raw:
        return None
    try:
        faults = overlay.call("config", "store", raw)
    except Exception as fault:  # no memory for what it holds, or no room on flash: no reason never to start again
        faults = ["%s: %s" % (type(fault).__name__, fault)]
    if faults:
        _write(REFUSED, json.dumps({"hash": _hash(raw), "why": _text(faults)}))
    else:
        _remove(REFUSED)
    _remove(CANDIDATE)  # last: power may go before
    return _text(faults)


def _secrets(keys):
    """The secret settings of these keys; the check has seen them."""
    found = json.loads(_read(SECRETS))
    return {key: found[key] for key in keys}


def _text(faults):
    return "; ".join(faults)[:400] or None  # it travels in the state message


def _hash(raw):
    return hexlify(sha256(raw).digest()[:8]).decode()


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
