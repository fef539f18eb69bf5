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

from . import rules
from .contract import NODE_ID_CHARS
from .specs import check

SECRETS = ("username", "password", "wifi")
SENSORS_MAX = 8
CONTACTS_MAX = 4  # of them on interrupts

#: see rules.py
SPEC = {
    "node": (str, None, 1, NODE_ID_CHARS, ""),
    "version": (int, 0, 0, 999999999, ""),  # raised by the gateway with each configuration that it sends
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
    "sensors": ("list", None, 1, SENSORS_MAX, ""),
}

WIFI = {
    "ssid": (str, None, 1, 32, ""),
    "password": (str, "", 0, 64, ""),
}


def validate(given):
    """Every fault of a settings dict, as sentences that name the key; empty when it is good."""
    if not isinstance(given, dict):
        return ["the settings are no JSON object"]
    faults = rules.faults("", given, SPEC)
    for i, net in enumerate(rules.items(given, "wifi")):
        faults += rules.faults("wifi[%d]." % i, net, WIFI)
    pins, streams = {}, {}
    for i, sensor in enumerate(rules.items(given, "sensors")):
        faults += check.sensor_faults("sensors[%d]." % i, sensor, pins, streams)
    return faults or _relations(complete(given))


def _relations(full):
    """Faults between keys that are each in range."""
    faults = []
    if any(c in full["node"] for c in "+#/") or full["node"] != full["node"].strip():
        faults.append("node must not contain + # / or outer blanks: it is part of a topic")
    if full["backoff_min_s"] > full["backoff_max_s"]:
        faults.append("backoff_min_s is greater than backoff_max_s")
    if full["watchdog_s"] <= full["connect_timeout_s"]:
        faults.append("watchdog_s must be greater than connect_timeout_s: a slow broker would reset the board")
    contacts = sum(1 for sensor in full["sensors"] if sensor["kind"] == "tipping_bucket")
    most = 2 if full["mode"] == "battery" else CONTACTS_MAX
    if contacts > most:
        faults.append("sensors: %d tipping buckets; mode %s can serve %d" % (contacts, full["mode"], most))
    return faults


def complete(given):
    """The settings with every default filled in."""
    full = rules.filled(given, SPEC)
    full["wifi"] = [rules.filled(net, WIFI) for net in full["wifi"]]
    full["sensors"] = [check.filled(sensor) for sensor in full["sensors"]]
    return full


def config_hash(raw):
    """16 hex digits that name these bytes of a settings file, for the state message."""
    return hexlify(sha256(raw).digest()[:8]).decode()


def load(path="config.json", secrets="secrets.json", keep=True):
    """(settings with all defaults, hash, faults): the file at `path`, or the last good one if it has faults.

    Settings and hash are None when there is no good one at all; `faults` says why `path` was not taken. With `keep`
    a good file at `path` becomes the last good one.
    """
    hidden = _secrets(secrets)
    given, raw, faults = _read(path, hidden)
    if given is not None:
        if keep:
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
