"""One sensor's settings against the rules of its kind, and against the pins, buses and streams of the others."""

import sys

from .. import rules
from ..contract import NAME_CHARS, unit
from . import COMMON, KINDS, SAMPLED


def spec_of(kind):
    """The module of specs/ for a kind, or None."""
    if kind not in KINDS:
        return None
    name = "headwall_node.specs." + kind
    __import__(name)
    return sys.modules[name]


def keys_of(spec):
    """Every key of a sensor of this spec, with its rule."""
    found = dict(COMMON)
    found["name"] = (str, spec.NAME) + COMMON["name"][2:]
    if not getattr(spec, "EVENTS", False):
        found.update(SAMPLED)
    found.update(spec.SPEC)
    return found


def sensor_faults(where, sensor, pins, streams):
    """Faults of one sensor; `pins` and `streams`: who has which already."""
    spec = spec_of(sensor.get("kind")) if isinstance(sensor, dict) else None
    if spec is None:
        only = {"kind": COMMON["kind"]}
        kind = {"kind": sensor["kind"]} if isinstance(sensor, dict) and "kind" in sensor else {}
        return rules.faults(where, kind if isinstance(sensor, dict) else sensor, only)
    faults = rules.faults(where, sensor, keys_of(spec))
    for key, rule in getattr(spec, "ITEMS", {}).items():
        for i, item in enumerate(rules.items(sensor, key)):
            faults += rules.faults("%s%s[%d]." % (where, key, i), item, rule)
    if faults:
        return faults
    full = filled(sensor)
    if hasattr(spec, "faults"):
        faults += [where + fault for fault in spec.faults(full)]
    faults += ["%sname %s must be of a-z, 0-9 and _" % (where, full["name"])] if not _is_name(full["name"]) else []
    faults += [where + fault for fault in _pin_faults(where.rstrip("."), spec, full, pins)]
    for stream in full["streams"]:
        if len(stream) > NAME_CHARS or unit(stream) is None:
            faults.append("%sthe stream %s is longer than %d, or of no known quantity" % (where, stream, NAME_CHARS))
        if stream in streams:
            faults.append("%sname: the stream %s is that of %s already" % (where, stream, streams[stream]))
        streams[stream] = where.rstrip(".")
    return faults


def _pin_faults(where, spec, full, pins):
    """Faults of the pins and the bus of one sensor; `pins` holds who uses what: pin -> user, bus -> its pins."""
    faults, wanted = [], []
    bus = _of(getattr(spec, "BUS", ()), full)
    if bus:
        name = "%s %d" % (bus[0], full[bus[0]])
        lines = [full[key] for key in bus[1:]]
        if pins.setdefault(name, lines) != lines:
            faults.append("%s: %s has other pins in another sensor" % (bus[0], name))
        user = name if getattr(spec, "SHARED", False) else where
        wanted = [(key, key + " of " + user) for key in bus[1:]]
    for claim in _of(getattr(spec, "CLAIMS", ()), full):
        if pins.setdefault(claim, where) != where:
            faults.append("%s is used already: %s" % (claim, pins[claim]))
    wanted += [(key, where + "." + key) for key in _of(spec.PINS, full)]
    if full.get("power_pin", -1) >= 0:
        wanted.append(("power_pin", "power %d" % full["power_on"]))  # one switch may serve several
    for key, user in wanted:
        pin = full[key]
        if pin >= 0 and pins.setdefault(pin, user) != user:
            faults.append("%s %d is used already: %s" % (key, pin, pins[pin]))
    return faults


def filled(sensor):
    """The complete settings of a sensor without faults; "streams" in it holds the names of its streams."""
    spec = spec_of(sensor["kind"])
    full = rules.filled(sensor, keys_of(spec))
    for key, rule in getattr(spec, "ITEMS", {}).items():
        full[key] = [rules.filled(item, rule) for item in full[key]]
    full["streams"] = ["%s.%s" % (full["name"], quantity) for quantity in _of(spec.QUANTITIES, full)]
    return full


def _of(told, full):
    """What a spec tells as a tuple, or as a function of the complete settings."""
    return told if isinstance(told, tuple) else told(full)


def _is_name(text):
    return text[0] != "_" and all(c == "_" or "0" <= c <= "9" or "a" <= c <= "z" for c in text)
