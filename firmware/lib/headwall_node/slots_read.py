"""Reads slots.json at start. Apart from slots.py, since this is needed once and that stays in memory."""

import json

from . import slots


def load():
    """Read it into slots.state, as it is for this start."""
    state = slots.state
    try:
        with open("slots.json") as file:
            found = json.load(file)
        if _sound(found, found["update"]):
            state.update(found)
    except Exception:  # never updated over the air; or garbage, nested deeper than the stack or more than memory holds
        pass
    if "trial" in state and not __file__.startswith("/%s" % state["trial"]):  # it could not be started
        del state["trial"]


def _sound(found, update):
    """Whether it has what the node will ask of it; else it comes from somebody's hand or from damaged flash."""
    texts = [update[key] for key in ("bundle", "version", "slot", "state")]
    texts += [found.get("active", ""), found.get("trial", "")]
    return isinstance(update["size"], int) and all(isinstance(text, str) for text in texts)
