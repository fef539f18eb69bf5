"""The order to update, and how slots.json is changed. Loaded when needed: a command, or a bundle that is pulled."""

import json
import os

from . import slots

SLOTS = ("slot_a", "slot_b")


async def obey(told, node):
    """The command to update, by itself: with all the others of commands.py it would not always find the memory."""
    now, until = node.clock.utc_ms(), told.get("until")
    late = now is not None and isinstance(until, int) and now > until
    why = "it came too late" if late else order(told)
    answer = {"v": 1, "id": told.get("id"), "do": "update", "ok": why is None}
    if why:
        answer["why"] = why
    return answer


def order(told):
    """Take a command to update: the bundle is pulled after the next start. None, or why it is refused."""
    name, size, version = told.get("bundle"), told.get("size"), told.get("version")
    if not (isinstance(name, str) and len(name) == 16 and isinstance(size, int) and isinstance(version, str)):
        return "bundle, size and version are needed"
    if size < 1:
        return "a bundle of %s bytes is none" % size
    update = slots.state["update"] or {}
    if update.get("id") == told.get("id"):  # the gateway missed the reply
        return update.get("why")
    if "trial" in slots.state:
        return "version %s is on trial" % update.get("version")
    if update.get("bundle") == name and update.get("state") in ("loading", "confirmed"):
        return save(id=told.get("id"))
    stats = os.statvfs("/")
    if size > stats[0] * stats[3]:
        return "no room: it has %d bytes, %d are free" % (size, stats[0] * stats[3])
    _remove("update.bundle")
    slot = SLOTS[1] if slots.state.get("active") == SLOTS[0] else SLOTS[0]
    ordered = {"id": told.get("id"), "bundle": name, "size": size, "version": version[:32], "slot": slot}
    return save(ordered, "a new version is to be loaded", state="loading")


def save(update=None, restart=None, **changes):
    """Change what is said of the update, and start anew for a reason; the state "trial" begins a trial.

    None, or why it cannot be written.
    """
    new = dict(slots.state)
    new["update"] = dict(update or slots.state["update"])
    new["update"].update(changes)
    try:
        if changes.get("state") == "trial":
            new["trial"], new["starts"] = new["update"]["slot"], 0
            _remove("slots.verdict")  # of an earlier one, if a board was deployed by cable meanwhile
        with open("slots.json.new", "w") as file:
            json.dump(new, file)
        os.rename("slots.json.new", "slots.json")
    except OSError as error:
        return "slots.json cannot be written: %s" % error
    slots.state = new
    slots.restart = restart or slots.restart
    return None


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass  # not there
