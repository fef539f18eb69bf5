"""Wi-Fi as a station. network_join.py has the way to an access point."""

import network

from . import overlay


class LinkDown(Exception):
    """No access point took us; the text says what was tried."""

    kind = "link_down"


class Link:
    """The station interface.

    access_points: list of (ssid, key); with an empty list the port joins the network that it knows.
    """

    def __init__(self, access_points, timeout_ms=15000):
        self.access_points = access_points
        self.timeout_ms = timeout_ms
        self.best = 0  # the access point that worked last is tried first
        self.wlan = network.WLAN(network.STA_IF)

    def is_up(self):
        return self.wlan.isconnected()

    def up(self):
        """Return once the link is up; LinkDown after every access point has been tried once. A coroutine."""
        return overlay.call("network_join", "join", self)

    def down(self):
        """Leave the network and switch the radio off."""
        try:
            self.wlan.disconnect()
            self.wlan.active(False)
        except OSError:
            pass  # off is what was wanted

    def rssi_dbm(self):
        """Signal strength in dBm, or None where the port does not tell."""
        try:
            return self.wlan.status("rssi")
        except (OSError, ValueError, TypeError):
            return None
