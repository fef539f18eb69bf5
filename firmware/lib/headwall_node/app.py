"""The start of the program: settings first, then the node that they describe."""

import asyncio
import gc

import machine

from . import log, overlay, slots

#: collect after so many bytes: while modules load, so that their garbage leaves no holes; later, before memory is short
LOADING = 1024
RUNNING = 8192


def run():
    """What main.py calls. Returns only when there are no settings; a fault comes as an exception."""
    gc.threshold(LOADING)
    slots.load()
    update = _update() if (slots.state["update"] or {}).get("state") == "loading" else None
    given, in_force, refused = overlay.call("settings", "load", "trial" in slots.state)
    if given is None:
        log.error("settings", refused or "there are none")
        return
    node = overlay.install("build", "node", given, in_force, refused, update)
    del given
    gc.threshold(RUNNING)
    try:
        asyncio.run(node.main())
    finally:
        node.retain()


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
