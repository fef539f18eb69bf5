"""Makes the node and its parts from the settings. Used through overlay.install(): what its functions import stays."""

import gc
from binascii import hexlify

import esp32
import machine

from . import log, overlay, power, sleep, slots, stored

_MADE_FROM = (
    "ca_file", "cert_file", "username", "password", "wifi", "modem", "wifi_timeout_s", "connect_timeout_s",
    "reply_timeout_s", "custody_timeout_s", "backoff_min_s", "backoff_max_s", "keepalive_s", "report_s", "gauges",
    "sampled", "sim_pin", "apn_password",
)  # fmt: skip


def start():
    """Settings first, then the Node that they describe; None where there are no settings."""
    overlay.call("slots_read", "load")
    update = _update() if (slots.state["update"] or {}).get("state") == "loading" else None
    given, in_force, refused = overlay.call("settings", "load", "trial" in slots.state)
    if given is None:
        log.error("settings", refused or "there are none")
        return None
    return node(given, in_force, refused, update)


def _update():
    """What pulls the bundle that was ordered; one that is here is installed, and the board starts anew.

    A fault in all that must not keep the node from starting.
    """
    try:
        from .update import Update, loaded

        if loaded() < slots.state["update"]["size"]:
            return Update()
        from .install import install

        install()
        machine.reset()
    except Exception as fault:
        log.exception("update", fault)
        slots.state["update"]["state"] = "refused"
        slots.state["update"]["why"] = "%s: %s" % (type(fault).__name__, fault)
    return None


def node(given, in_force, refused, update):
    """The Node of checked settings, with everything that it needs now; see Node for the parameters.

    refused: why the newest settings were not taken, or None.
    """
    room = _room(given) if given["mode"] == "mains" else None
    from .clock import Clock
    from .journal import Journal
    from .maintenance import Maintenance
    from .node import Node
    from .report import Report

    cause = sleep.reset_cause()
    retained = power.Retained()
    clock = Clock(retained.clock, cause == "deep_sleep")
    log.now = clock.uptime_ms
    log.info("node", "%s starts after %s" % (given["node"], cause))
    log.trouble("settings", refused)
    if given["ds3231"]:
        overlay.call("ds3231", "tell", given["ds3231"][0], clock)
    journal = Journal(_partition("journal"), esp32.NVS("headwall"), machine.unique_id())
    _resume(journal, retained)
    maintenance = Maintenance(retained, clock)
    journal.marks = maintenance.covers
    report = Report(journal, clock, in_force, given["mode"], cause)
    report.config_error = refused
    made = Node(given, in_force, update, retained, clock, journal, report, maintenance)
    clock.on_set = made.time_set
    report.node = made
    _add_gauges(made)
    _add_samplers(made)
    if room is not None:
        add_uplink(made, room)
        _forget_settings(given)
    return made


def _resume(journal, retained):
    if journal.started:
        log.warn("journal", "a new one was begun: %s" % journal.started)
    kept = retained.custody
    if kept and kept[0] == journal.jid:
        journal.custody(kept[1])


def _add_gauges(made):
    if not made.given["gauges"]:
        return
    from .sensors.tipping_bucket import TippingBucket, Tips

    contacts = [stored.line(number) for number in made.given["gauges"]]
    tips = Tips(made.journal, made.retained, made.clock, [sensor["streams"][0] for sensor in contacts])
    woken = sleep.woken_by()
    for contact, sensor in enumerate(contacts):
        kind = TippingBucket
        if sensor["kind"] == "tipping_counter":
            from .sensors.tipping_counter import TippingCounter as kind
        gauge = kind(sensor, contact, tips, made.retained, made.given["report_s"])
        gauge.start(woken == contact)
        made.gauges.append(gauge)


def _add_samplers(made):
    if not made.given["sampled"]:
        return
    from .rig import Rig
    from .sampler import Sampler

    rig = Rig(made.clock.uptime_ms)
    fast = 0
    for slot, number in enumerate(made.given["sampled"], len(made.gauges)):
        sensor = stored.line(number)
        rig.watch(sensor.get("temperature_from"))
        fast = fast or sensor["fast_s"]
        made.samplers.append(Sampler(sensor, slot, made.journal, made.clock, made.retained, rig, number))
    if fast:
        from .pace import Pace

        made.pace = rig.pace = Pace(made.given, made.journal.total, made.clock, made.retained)


def add_uplink(made, room=None):
    """Give a Node its way to the gateway."""
    given = made.given
    room = room or _room(given)
    from .uplink import Uplink

    made.uplink = Uplink(
        given,
        made.journal,
        made.clock,
        _link(given),
        made.report,
        hexlify(machine.unique_id()).decode(),
        made.configure,
        made.command,
        made.progress,
        room,
        made.update,
    )
    gc.collect()


def _forget_settings(given):
    """Drop what only the making of parts needed. On battery the uplink is yet to be made; there memory is not short."""
    for key in _MADE_FROM:
        given.pop(key, None)


def _room(given):
    """What needs memory in one piece; so it comes before the modules that fill the heap."""
    from .room import Room

    return Room(given["ca_file"], given["cert_file"])


def _link(given):
    """Wi-Fi, or the modem where there is one."""
    if given["modem"]:
        from .modem_link import ModemLink

        return ModemLink(given["modem"][0], given.get("sim_pin", ""), given.get("apn_password", ""))
    from .network_link import Link

    access_points = [(net["ssid"], net.get("password", "")) for net in given["wifi"]]
    return Link(access_points, given["wifi_timeout_s"] * 1000)


def _partition(label):
    found = esp32.Partition.find(esp32.Partition.TYPE_DATA, label=label)
    if not found:
        raise OSError("the flash has no data partition %s: flash the board with Headwall's partition table" % label)
    return found[0]
