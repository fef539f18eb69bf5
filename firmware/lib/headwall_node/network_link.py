"""Wi-Fi as a station: try the configured access points in turn; every wait is bounded and leaves the loop free."""

import asyncio
from time import ticks_diff, ticks_ms

import network

POLL_MS = 100


class LinkDown(Exception):
    """No access point took us; the text says what was tried."""

    kind = "link_down"


class Link:
    """The station interface.

    access_points: list of (ssid, key); with an empty list the port joins the network that it knows.
    """

    def __init__(self, access_points, timeout_ms=15000):
        self._access_points = access_points
        self._timeout_ms = timeout_ms
        self._best = 0  # the access point that worked last is tried first
        self._wlan = network.WLAN(network.STA_IF)

    def is_up(self):
        return self._wlan.isconnected()

    async def up(self):
        """Return once the link is up; LinkDown after every access point has been tried once."""
        self._wlan.active(True)
        if self.is_up():
            return
        count = max(1, len(self._access_points))
        reasons = []
        for turn in range(count):
            index = (self._best + turn) % count
            reason = await self._try(index)
            if reason is None:
                self._best = index
                return
            reasons.append(reason)
        raise LinkDown("no Wi-Fi: " + "; ".join(reasons))

    async def _try(self, index):
        """Join one access point; None, or why not."""
        name, key = self._access_points[index] if self._access_points else ("the network known to the port", None)
        try:
            self._wlan.disconnect()
            if self._access_points:
                self._wlan.connect(name, key)
            else:
                self._wlan.connect()
        except OSError as error:
            return "%s: %s" % (name, error)
        start = ticks_ms()
        while ticks_diff(ticks_ms(), start) < self._timeout_ms:
            if self.is_up():
                return None
            await asyncio.sleep_ms(POLL_MS)
        return "%s: no connection in %d s (status %s)" % (name, self._timeout_ms // 1000, self._wlan.status())

    def down(self):
        """Leave the network and switch the radio off."""
        try:
            self._wlan.disconnect()
            self._wlan.active(False)
        except OSError:
            pass  # off is what was wanted

    def rssi_dbm(self):
        """Signal strength in dBm, or None where the port does not tell."""
        try:
            return self._wlan.status("rssi")
        except (OSError, ValueError, TypeError):
            return None
