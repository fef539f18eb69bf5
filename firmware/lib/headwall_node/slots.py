"""What this version must know of versions: whether it is on trial, and what became of the newest update.

slots.json has these words. active: the folder of the version in force, "" for the one that came by cable (/lib) ·
trial, starts: the folder of one that is being tried, and how often it has started · update: of the newest bundle its
name, size, version, slot, the id of the command, state and why. headwall_start ends trials; order.py writes what is
ordered, loaded and refused; slots_read.py reads it. Every node has this module in memory, so it is small.
"""

from micropython import const

_TRIAL_MS = const(7200000)  # so long a version may run without custody before the old one comes back

state = {"update": None}
restart = None  # why the board is to start anew, or None
settings_ms = None  # uptime until which the gateway's custody must have come under new settings; None: they are not new


def judge(custody, uptime_ms):
    """What is on trial, settings or this version: confirmed by the gateway's custody, or without it for too long."""
    global restart, settings_ms
    if settings_ms is not None and (custody or uptime_ms >= settings_ms):
        settings_ms = None
        from . import overlay  # new settings alone need it

        restart = overlay.call("settings", "judged", custody) or restart
    if restart or "trial" not in state or not (custody or uptime_ms >= _TRIAL_MS):
        return
    verdict = "custody"
    if not custody:
        verdict = restart = "no custody in %d minutes" % (_TRIAL_MS // 60000)
    try:
        with open("slots.verdict", "w") as file:  # headwall_start makes it last
            file.write(verdict)
    except OSError:  # the flash is full: the next custody tries it again
        return
    trial = state.pop("trial")
    if custody:
        state["active"] = trial
        state["update"]["state"] = "confirmed"
