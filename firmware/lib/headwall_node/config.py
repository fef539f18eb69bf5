"""The node's settings: every key with default, range and unit, checked whole before anything uses them.

`config.json` holds what differs from the defaults; `secrets.json` beside it may hold the keys of SECRETS, so that
they need not travel with the rest. A new file takes the place of the old one by rename: after a power cut there is
the old or the new one. The last file that was good is kept as `config.json.good` and used when somebody puts a bad
one onto the board by hand.
"""

import json
import os
from binascii import hexlify
from hashlib import sha256

from .contract import NAME_CHARS, NODE_ID_CHARS, UNITS

SECRETS = ("username", "password", "wifi")

#: key -> (type, default, lowest, highest, unit); for text lowest and highest count characters;
#: for a choice the third place lists it. A default of None means: must be given.
SPEC = {
    "node": (str, None, 1, NODE_ID_CHARS, ""),
    "mode": ("choice", "mains", ("mains", "battery"), None, ""),
    "broker_host": (str, None, 1, 253, ""),
    "broker_port": (int, 8883, 1, 65535, ""),
    "broker_name": (str, "", 0, 253, ""),  # name in the broker's certificate; empty: broker_host
    "ca_file": (str, "ca.der", 1, 64, ""),  # DER: MicroPython on a board reads no PEM
    "username": (str, "", 0, 64, ""),
    "password": (str, "", 0, 128, ""),
    "ntp_host": (str, "pool.ntp.org", 0, 253, ""),  # empty: no NTP, custody tells the time
    "ntp_port": (int, 123, 1, 65535, ""),
    "ntp_timeout_s": (int, 5, 1, 60, "s"),
    "ntp_every_s": (int, 21600, 600, 604800, "s"),
    "wifi": ("list", [], 0, 8, ""),  # {"ssid", "password"}, the first that answers
    "wifi_timeout_s": (int, 20, 5, 120, "s"),
    "connect_timeout_s": (int, 20, 1, 120, "s"),  # TCP, TLS and CONNACK together
    "reply_timeout_s": (int, 15, 1, 120, "s"),  # PUBACK, SUBACK, PINGRESP
    "custody_timeout_s": (int, 60, 1, 3600, "s"),  # acknowledged pack without custody: sent again
    "backoff_min_s": (int, 2, 1, 60, "s"),
    "backoff_max_s": (int, 300, 2, 3600, "s"),
    "keepalive_s": (int, 60, 5, 1200, "s"),
    "report_s": (int, 900, 10, 86400, "s"),  # a rain gauge's "nothing fell"
    "uplink_s": (int, 1500, 10, 86400, "s"),  # battery mode: how often to connect; twice it is under an hour
    "awake_max_s": (int, 120, 10, 1800, "s"),  # battery mode: longest time awake for one connection
    "watchdog_s": (int, 60, 10, 300, "s"),
    "sensors": ("list", None, 1, 4, ""),
}

WIFI = {
    "ssid": (str, None, 1, 32, ""),
    "password": (str, "", 0, 64, ""),
}

TIPPING_BUCKET = {
    "kind": ("choice", None, ("tipping_bucket",), None, ""),
    "stream": (str, "rain.tips", 3, NAME_CHARS, ""),
    "pin": (int, None, 0, 48, "GPIO"),
    "pull": ("choice", "up", ("up", "down", "none"), None, ""),
    "closed": (int, 0, 0, 1, "level"),  # of the pin while the contact is closed
    "lockout_ms": (int, 500, 50, 5000, "ms"),  # a bucket's tip takes 524 ms (JTECH 31(6)): two within are one
    "settle_ms": (int, 50, 5, 100, "ms"),  # open this long before a closing can be a new tip
    "stuck_s": (int, 10, 1, 3600, "s"),  # closed longer than this is a fault
}


def validate(given):
    """Every fault of a settings dict, as sentences that name the key; empty when it is good."""
    if not isinstance(given, dict):
        return ["the settings are no JSON object"]
    faults = _faults("", given, SPEC)
    for i, net in enumerate(_items(given, "wifi")):
        faults += _faults("wifi[%d]." % i, net, WIFI)
    pins, streams = [], []
    for i, sensor in enumerate(_items(given, "sensors")):
        where = "sensors[%d]." % i
        faults += _faults(where, sensor, TIPPING_BUCKET)
        if isinstance(sensor, dict):
            faults += _sensor_faults(where, sensor, pins, streams)
    return faults or _relations(complete(given))


def _items(given, key):
    found = given.get(key)
    return found if isinstance(found, list) else []


def _faults(where, given, spec):
    if not isinstance(given, dict):
        return ["%s must be an object, not %s" % (where.rstrip("."), json.dumps(given))]
    faults = ["%s%s is not a setting" % (where, key) for key in given if key not in spec]
    for key, (kind, default, low, high, unit) in spec.items():
        if key in given:
            fault = _fault(given[key], kind, low, high, unit)
            if fault:
                faults.append("%s%s %s" % (where, key, fault))
        elif default is None:
            faults.append("%s%s is missing" % (where, key))
    return faults


def _fault(value, kind, low, high, unit):
    """What is wrong with one value, or None."""
    if kind == "choice":
        return None if value in low else "is %s; one of: %s" % (json.dumps(value), ", ".join(low))
    if kind == "list":
        if not isinstance(value, list):
            return "must be a list"
        return None if low <= len(value) <= high else "has %d entries; %d to %d are possible" % (len(value), low, high)
    if kind is str:
        if not isinstance(value, str):
            return "must be text"
        return (
            None if low <= len(value) <= high else "has %d characters; %d to %d are possible" % (len(value), low, high)
        )
    if not isinstance(value, int) or isinstance(value, bool):
        return "is %s; it must be a whole number" % json.dumps(value)
    return None if low <= value <= high else "is %d; possible: %d to %d %s" % (value, low, high, unit)


def _sensor_faults(where, sensor, pins, streams):
    faults = []
    stream = sensor.get("stream", "rain.tips")
    if isinstance(stream, str) and stream[stream.rfind(".") + 1 :] not in UNITS:
        faults.append("%sstream %s does not end in a known quantity, e.g. rain.tips" % (where, stream))
    for key, value, seen in (("pin", sensor.get("pin"), pins), ("stream", stream, streams)):
        if value in seen:
            faults.append("%s%s %s is used twice" % (where, key, value))
        seen.append(value)
    return faults


def _relations(full):
    """Faults between keys that are each in range."""
    faults = []
    if any(c in full["node"] for c in "+#/") or full["node"] != full["node"].strip():
        faults.append("node must not contain + # / or outer blanks: it is part of a topic")
    if full["backoff_min_s"] > full["backoff_max_s"]:
        faults.append("backoff_min_s is greater than backoff_max_s")
    if full["watchdog_s"] <= full["connect_timeout_s"]:
        faults.append("watchdog_s must be greater than connect_timeout_s: a slow broker would reset the board")
    if full["mode"] == "battery" and len(full["sensors"]) > 2:
        faults.append("sensors: battery mode can wake for two contacts only")
    return faults


def complete(given):
    """The settings with every default filled in."""
    full = _filled(given, SPEC)
    full["wifi"] = [_filled(net, WIFI) for net in full["wifi"]]
    full["sensors"] = [_filled(sensor, TIPPING_BUCKET) for sensor in full["sensors"]]
    return full


def _filled(given, spec):
    return {key: given[key] if key in given else rule[1] for key, rule in spec.items()}


def config_hash(raw):
    """16 hex digits that name these bytes of a settings file, for the state message."""
    return hexlify(sha256(raw).digest()[:8]).decode()


def load(path="config.json", secrets="secrets.json"):
    """(settings with all defaults, hash, faults): the file at `path`, or the last good one if it has faults.

    Settings and hash are None when there is no good one at all; `faults` says why `path` was not taken.
    """
    hidden = _secrets(secrets)
    given, raw, faults = _read(path, hidden)
    if given is not None:
        _keep(path + ".good", raw)
        return complete(given), config_hash(raw), []
    given, raw, _ = _read(path + ".good", hidden)
    if given is None:
        return None, None, faults
    return complete(given), config_hash(raw), faults


def store(raw, path="config.json", secrets="secrets.json"):
    """Take the bytes of a new settings file if it has no faults; returns the faults (empty: it is stored)."""
    _, faults = _parse(raw, path, _secrets(secrets))
    if not faults:
        _keep(path, raw)
    return faults


def _secrets(path):
    try:
        with open(path, "rb") as f:
            found = json.loads(f.read())
    except (OSError, ValueError):  # none, or unreadable: then the broker's refusal tells
        return {}
    return {key: found[key] for key in SECRETS if key in found} if isinstance(found, dict) else {}


def _read(path, hidden):
    try:
        with open(path, "rb") as f:
            raw = f.read()
    except OSError as e:
        return None, None, ["%s cannot be read: %s" % (path, e)]
    given, faults = _parse(raw, path, hidden)
    return (None, None, faults) if faults else (given, raw, faults)


def _parse(raw, path, hidden):
    try:
        given = json.loads(raw)
    except ValueError:
        return None, ["%s is no JSON" % path]
    if isinstance(given, dict):
        given.update(hidden)
    return given, validate(given)


def _keep(path, raw):
    """Write a file so that after a power cut there is the old or the new one; the same bytes are not written."""
    try:
        with open(path, "rb") as f:
            if f.read() == raw:
                return
    except OSError:  # not there yet
        pass
    with open(path + ".new", "wb") as f:
        f.write(raw)
    os.rename(path + ".new", path)
