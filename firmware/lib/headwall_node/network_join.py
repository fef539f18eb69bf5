"""Joins Wi-Fi: the configured access points in turn; every wait is bounded and leaves the loop free.

Used through overlay.call().
"""

import asyncio
from time import ticks_diff, ticks_ms

from micropython import const

from .network_link import LinkDown

_POLL_MS = const(100)


async def join(link):
    """See Link.up."""
    link.wlan.active(True)
    if link.is_up():
        return
    count = max(1, len(link.access_points))
    reasons = []
    for turn in range(count):
        index = (link.best + turn) % count
        reason = await _try(link, index)
        if reason is None:
            link.best = index
            return
        reasons.append(reason)
    raise LinkDown("no Wi-Fi: " + "; ".join(reasons))


async def _try(link, index):
    """Join one access point; None, or why not."""
    name, key = link.access_points[index] if link.access_points else ("the network known to the port", None)
    try:
        link.wlan.disconnect()
        if link.access_points:
            link.wlan.connect(name, key)
        else:
            link.wlan.connect()
    except OSError as error:
        return "%s: %s" % (name, error)
    start = ticks_ms()
    while ticks_diff(ticks_ms(), start) < link.timeout_ms:
        if link.is_up():
            return None
        await asyncio.sleep_ms(_POLL_MS)
    return "%s: no connection in %d s (status %s)" % (name, link.timeout_ms // 1000, link.wlan.status())
