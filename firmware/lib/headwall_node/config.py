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
from .specs import GAUGES, MAINS_ONLY, check

SECRETS = ("username", "password", "wifi", "sim_pin", "apn_password")
SENSORS_MAX = 12
CONTACTS_MAX = 4  # of them rain gauges

#: see rules.py
SPEC = {
    "node": (str, None, 1, NODE_ID_CHARS, ""),
    "version": (int, 0, 0, 999999999, ""),  # raised by the gateway with each configuration that it sends
    "mode": ("choice", "mains", ("mains", "battery"), None, ""),
    "broker_host": (str, None, 1, 253, ""),
    "broker_port": (int, 8883, 1, 65535, ""),
    "broker_name": (str, "", 0, 253, ""),  # name in the broker's certificate; empty: broker_host
    "ca_file": (str, "ca.der", 1, 64, ""),  # DER: MicroPython on a board reads no PEM
    "cert_file": (str, "", 0, 60, ""),  # NODE.der, with NODE.key.der beside it; empty: the broker asks for none
    "username": (str, "", 0, 64, ""),
    "password": (str, "", 0, 128, ""),
    "ntp_host": (str, "pool.ntp.org", 0, 253, ""),  # empty: no NTP, custody tells the time
    "ntp_port": (int, 123, 1, 65535, ""),
    "ntp_timeout_s": (int, 5, 1, 60, "s"),
    "ntp_every_s": (int, 21600, 600, 604800, "s"),
    "wifi": ("list", [], 0, 8, ""),  # {"ssid", "password"}, the first that answers
    "modem": ("list", [], 0, 1, ""),  # an LTE modem instead of Wi-Fi
    "sim_pin": (str, "", 0, 8, ""),
    "apn_password": (str, "", 0, 64, ""),
    "ds3231": ("list", [], 0, 1, ""),  # a clock with a battery of its own
    "wifi_timeout_s": (int, 20, 5, 120, "s"),
    "connect_timeout_s": (int, 20, 1, 120, "s"),  # TCP, TLS and CONNACK together
    "reply_timeout_s": (int, 15, 1, 120, "s"),  # PUBACK, SUBACK, PINGRESP
    "custody_timeout_s": (int, 60, 1, 3600, "s"),  # acknowledged pack without custody: sent again
    "backoff_min_s": (int, 2, 1, 60, "s"),
    "backoff_max_s": (int, 300, 2, 3600, "s"),
    "keepalive_s": (int, 60, 5, 1200, "s"),
    "report_s": (int, 900, 10, 86400, "s"),  # a rain gauge's "nothing fell"
    "uplink_s": (int, 1500, 10, 86400, "s"),  # battery mode: how often to connect; twice it is under an hour
    "rain_uplink_s": (int, 0, 0, 86400, "s"),  # battery mode: connect so long after fresh rain; 0: not sooner
    "awake_max_s": (int, 120, 10, 1800, "s"),  # battery mode: longest time awake for one connection
    "fast_minutes": (int, 60, 1, 1440, "min"),  # sensors keep to fast_s so long after a tip, or a rise of the stage
    "rise_of": (str, "", 0, 32, ""),  # stream of a level or distance: that stage
    "rise_mm": (int, 20, 1, 10000, "mm"),  # a rise of so much ...
    "rise_minutes": (int, 15, 1, 1440, "min"),  # ... in this time
    "led_pin": (int, -1, -1, 48, "GPIO"),  # blinks on the command identify; -1: none
    "watchdog_s": (int, 60, 10, 300, "s"),
    "sensors": ("list", None, 1, SENSORS_MAX, ""),
}

#: of the entries of SPEC's lists of objects
ITEMS = {
    "wifi": {
        "ssid": (str, None, 1, 32, ""),
        "password": (str, "", 0, 64, ""),
    },
    "modem": {
        "uart": (int, 1, 0, 2, ""),
        "tx": (int, None, 0, 48, "GPIO"),
        "rx": (int, None, 0, 48, "GPIO"),
        "baudrate": (int, 115200, 9600, 921600, "1/s"),
        "apn": (str, None, 1, 63, ""),
        "user": (str, "", 0, 64, ""),  # with apn_password; empty: the network asks for none
        "power_pin": (int, -1, -1, 48, "GPIO"),  # switches the modem's supply; -1: always on
        "power_on": (int, 1, 0, 1, "level"),  # of power_pin that supplies it
        "register_s": (int, 90, 10, 600, "s"),  # from supply to a network
    },
    "ds3231": {
        "i2c": (int, 0, 0, 1, ""),
        "scl": (int, None, 0, 48, "GPIO"),
        "sda": (int, None, 0, 48, "GPIO"),
    },
}


def validate(given):
    """Every fault of a settings dict, as sentences that name the key; empty when it is good."""
    if not isinstance(given, dict):
        return ["the settings are no JSON object"]
    faults = rules.faults("", given, SPEC)
    for key, rule in ITEMS.items():
        for i, item in enumerate(rules.items(given, key)):
            faults += rules.faults("%s[%d]." % (key, i), item, rule)
    pins, streams = {}, {}
    if not faults:
        faults = _own_pins(given, pins)
    for i, sensor in enumerate(rules.items(given, "sensors")):
        faults += check.sensor_faults("sensors[%d]." % i, sensor, pins, streams)
    return faults or _relations(complete(given))


def _own_pins(given, pins):
    """Enter who uses which pin beside the sensors, as specs/check.py does for these; faults where one is used twice."""
    wanted = [("led_pin", given.get("led_pin", -1))]
    for modem in given.get("modem", ()):
        modem = rules.filled(modem, ITEMS["modem"])
        pins["uart %d" % modem["uart"]] = [modem["tx"], modem["rx"]]
        wanted += [("modem.%s" % key, modem[key]) for key in ("tx", "rx", "power_pin")]
    for chip in given.get("ds3231", ()):
        bus = "i2c %d" % chip.get("i2c", 0)
        pins[bus] = [chip["scl"], chip["sda"]]
        wanted += [("%s of %s" % (key, bus), chip[key]) for key in ("scl", "sda")]
    faults = []
    for user, pin in wanted:
        if pin >= 0 and pins.setdefault(pin, user) != user:
            faults.append("%s: pin %d is used already: %s" % (user, pin, pins[pin]))
    return faults


def _relations(full):
    """Faults between keys that are each in range."""
    faults = []
    if any(c in full["node"] for c in "+#/") or full["node"] != full["node"].strip():
        faults.append("node must not contain + # / or outer blanks: it is part of a topic")
    if full["cert_file"] and full["cert_file"][-4:] != ".der":
        faults.append("cert_file must end in .der: its key is the file that ends in .key.der")
    if full["backoff_min_s"] > full["backoff_max_s"]:
        faults.append("backoff_min_s is greater than backoff_max_s")
    if full["watchdog_s"] <= full["connect_timeout_s"]:
        faults.append("watchdog_s must be greater than connect_timeout_s: a slow broker would reset the board")
    kinds = [sensor["kind"] for sensor in full["sensors"]]
    contacts = sum(1 for kind in kinds if kind in GAUGES)
    most = 2 if full["mode"] == "battery" else CONTACTS_MAX
    if contacts > most:
        faults.append("sensors: %d rain gauges; mode %s can serve %d" % (contacts, full["mode"], most))
    if full["mode"] == "battery":
        faults += ["sensors: %s counts nothing in deep sleep: mode mains alone" % k for k in kinds if k in MAINS_ONLY]
    streams = [stream for sensor in full["sensors"] for stream in sensor["streams"]]
    for i, sensor in enumerate(full["sensors"]):
        wanted = sensor.get("temperature_from")
        if wanted and (wanted not in streams or not wanted.endswith(".temperature")):
            faults.append("sensors[%d].temperature_from: no sensor here has a stream %s" % (i, wanted))
    return faults


def complete(given):
    """The settings with every default filled in."""
    full = rules.filled(given, SPEC)
    for key, rule in ITEMS.items():
        full[key] = [rules.filled(item, rule) for item in full[key]]
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
    """Take the bytes of a new settings file if it has no faults and is not older than the one that is there.

    Returns the faults (empty: it is stored).
    """
    hidden = _secrets(secrets)
    given, faults = _parse(raw, path, hidden)
    if faults:
        return faults
    before = _read(path, hidden)[0] or _read(path + ".good", hidden)[0] or {}
    old, new = before.get("version", 0), given.get("version", 0)
    if new < old:
        return ["version %d is older than %d, which is in force" % (new, old)]
    _keep(path, raw)
    return []


def prepare(target, key, keep, path="config.json", secrets="secrets.json"):
    """Put the settings down in the file `target`, as stored.py reads them; returns why `path` was not taken.

    key: names what they are made of; it goes into the seal. What came from the secrets is only named there.
    """
    full, digest, faults = load(path, secrets, keep)
    if full is None:
        return faults
    sensors = full["sensors"]
    del full["sensors"]
    full["gauges"] = [i for i, sensor in enumerate(sensors, 1) if sensor["kind"] in GAUGES]
    full["sampled"] = [i for i, sensor in enumerate(sensors, 1) if sensor["kind"] not in GAUGES]
    full["battery"] = [sensor["streams"][0] for sensor in sensors if sensor["kind"] == "adc_voltage"][:1]
    hidden = list(_secrets(secrets))
    for name in hidden:
        del full[name]
    why = "; ".join(faults)[:400] or None
    first = {"hash": digest, "why": why, "hidden": hidden, "node": full}
    seal = sha256(key)
    with open(target + ".new", "w") as f:
        for each in [first] + sensors:
            text = json.dumps(each) + "\n"
            seal.update(text)
            f.write(text)
        f.write(hexlify(seal.digest()[:8]).decode())
    os.rename(target + ".new", target)
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
    except (OSError, MemoryError) as e:
        return None, None, ["%s cannot be read: %s" % (path, e)]
    given, faults = _parse(raw, path, hidden)
    return (None, None, faults) if faults else (given, raw, faults)


def _parse(raw, path, hidden):
    try:
        given = json.loads(raw)
    except ValueError:
        return None, ["%s is no JSON" % path]
    except (MemoryError, RuntimeError) as e:  # RuntimeError: nested deeper than the stack
        return None, ["%s: %s: %s" % (path, type(e).__name__, e)]
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
