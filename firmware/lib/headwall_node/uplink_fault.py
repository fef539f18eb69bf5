"""What a connection that failed means for the next one. Part of uplink.Uplink, used through overlay.call()."""

from time import ticks_diff, ticks_ms

from micropython import const

from . import log

_STABLE_MS = const(60000)  # a connection that lived so long ends the back-off
_CLASH_CLOSES = const(3)  # so many fresh connections in a row closed by the broker: another node uses our client id


def failed(up, error, started):
    """error: what ended the connection · started: tick of its beginning, None if it did not come about"""
    kind = "no_memory" if isinstance(error, MemoryError) else getattr(error, "kind", type(error).__name__)
    log.trouble("uplink", "%s: %s" % (kind, error))
    if kind == "wrong_ca":
        up.room.forget_tls()  # somebody may put another CA file there
    up.clock_doubt = kind in ("expired", "not_yet_valid")
    up.report.fault("clock_unknown", up.clock_doubt and not up.clock.synced)
    stable = started is not None and ticks_diff(ticks_ms(), started) > _STABLE_MS
    if stable:
        up.backoff.reset()
    up.starved = up.starved + 1 if kind == "no_memory" and not stable else 0
    up.closes = up.closes + 1 if kind == "closed" and started is not None and not stable else 0
    clash = up.closes >= _CLASH_CLOSES
    up.report.fault("client_id_clash", clash)
    if clash:
        name = up.config["node"]
        log.trouble("clash", "the broker closes fresh connections: is the node id %s used twice?" % name)
