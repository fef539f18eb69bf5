"""Settings at start, and a new configuration that came over the network.

The check of the settings takes much memory and is needed once, so it is loaded, used and forgotten while the heap is
still empty. For the same reason a configuration that comes over the network is only put down here as a file; the board
then starts anew, checks it, and takes it or keeps the one it has. What was refused, and why, stands in another file,
since the broker brings a retained configuration again with every connection.
"""

import gc
import json
import os
import sys
from binascii import hexlify
from hashlib import sha256

CANDIDATE = "config.candidate"
REFUSED = "config.refused"  # {"hash", "why"}


def load(on_trial=False):
    """(settings, hash, why the newest configuration was refused or None); settings are None when there are none.

    A version on trial takes nothing new: the one before it must find settings that it can read.
    """
    from . import config

    error = None if on_trial else _take_candidate(config)
    settings, in_force, faults = config.load(keep=not on_trial)
    _forget("config", "rules", "specs")
    if faults and error is None:
        error = _text(faults)
    return settings, in_force, error or refused().get("why")


def receive(raw, in_force):
    """Take a configuration that came over the network; True if it waits for the next start to be checked.

    The one in force and the one last refused are known already; the one in force ends the refusal of another.
    """
    name = _hash(raw)
    if name == in_force:
        _remove(REFUSED)
    elif raw and name != refused().get("hash"):
        _write(CANDIDATE, raw)
        return True
    return False


def refused():
    """Hash and reason of the last configuration that was refused; empty when the last one was taken."""
    try:
        with open(REFUSED) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _take_candidate(config):
    """Check the configuration that waits, if one does; why it was refused, or None."""
    try:
        with open(CANDIDATE, "rb") as file:
            raw = file.read()
    except OSError:
        return None
    faults = config.store(raw)
    if faults:
        _write(REFUSED, json.dumps({"hash": _hash(raw), "why": _text(faults)}))
    else:
        _remove(REFUSED)
    _remove(CANDIDATE)  # last: power may go before
    return _text(faults) if faults else None


def _text(faults):
    return "; ".join(faults)[:400]  # it travels in the state message


def _hash(raw):
    return hexlify(sha256(raw).digest()[:8]).decode()


def _write(path, data):
    with open(path + ".new", "w" if isinstance(data, str) else "wb") as file:
        file.write(data)
    os.rename(path + ".new", path)


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass  # not there


def _forget(*modules):
    """Drop modules of this package and what they are made of, so that their memory is free again."""
    package = __name__[: __name__.rfind(".")]
    for module in modules:
        name = package + "." + module
        for loaded in [each for each in sys.modules if each == name or each.startswith(name + ".")]:
            del sys.modules[loaded]
        sys.modules[package].__dict__.pop(module, None)
    gc.collect()
