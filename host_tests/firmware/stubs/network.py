"""A station that is always connected, for tests of what lies above the link."""

STA_IF = 0


class WLAN:
    def __init__(self, interface):
        assert interface == STA_IF

    def active(self, on=None):
        return True

    def isconnected(self):
        return True

    def status(self, what=None):
        return -60 if what == "rssi" else 1010
