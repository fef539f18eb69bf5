# network.WLAN and network.PPP over the machine's loopback; the supervisor says whether the access point is in reach, a
# modem at the end of a UART (devices/modem.py) whether it is on line.
import os
from binascii import unhexlify

import _host
import _link

STA_IF, AP_IF = 0, 1
STAT_IDLE, STAT_CONNECTING, STAT_NO_AP_FOUND, STAT_GOT_IP = 1000, 1001, 201, 1010
_air = _host.open_flat("air", 1)  # one byte: "1" while the access point can be heard


class WLAN:
    IF_STA, IF_AP = 0, 1
    _active = False
    _joining = False

    def __init__(self, interface=STA_IF):
        pass

    def active(self, on=None):
        if on is None:
            return WLAN._active
        WLAN._active = bool(on)
        if not on:
            WLAN._joining = False
        return None

    def connect(self, ssid=None, key=None):
        if not WLAN._active:
            raise OSError("Wifi Internal State Error")
        WLAN._joining = True

    def disconnect(self):
        WLAN._joining = False

    def isconnected(self):
        return WLAN._active and WLAN._joining and _heard()

    def status(self, what=None):
        if what == "rssi":
            if not self.isconnected():
                raise OSError("Wifi Not Connected")
            return -61
        if not WLAN._joining:
            return STAT_IDLE
        return STAT_GOT_IP if _heard() else STAT_NO_AP_FOUND

    def config(self, what=None, **kwargs):
        return unhexlify(os.getenv("SIM_MAC")) if what == "mac" else None

    def ifconfig(self):
        return ("127.0.0.1", "255.0.0.0", "127.0.0.1", "127.0.0.1")


class PPP:
    SEC_NONE, SEC_PAP, SEC_CHAP = 0, 0xC023, 0xC223

    def __init__(self, stream):
        self._modem = stream._line._device
        self._begun = False

    def connect(self, security=0, user=None, key=None):
        self._begun = True

    def disconnect(self):
        self._begun = False
        self._modem.online = False

    def isconnected(self):
        return self._begun and self._modem.online and self._modem.takes(_link.now_us())

    def status(self):
        return 4 if self.isconnected() else 2 if self._begun else 0

    def ifconfig(self):
        return ("127.0.0.1", "255.0.0.0", "127.0.0.1", "127.0.0.1")


def _heard():
    _air.seek(0)
    return _air.read(1) == b"1"
