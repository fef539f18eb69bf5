"""What needs memory in one piece. It is taken first, while the heap is whole; later it could not be found again."""

from micropython import const

from . import overlay
from .mqtt_error import MqttError

_PACK_BYTES = const(2048)  # a quarter of what the contract allows, some 80 readings
_RX_BYTES = const(1536)  # the largest message that can be received: a configuration


class Room:
    """pack: buffer of the outgoing pack · rx: of what comes in · tls(): the TLS context, 3 KB, made once."""

    def __init__(self, ca_file, cert_file=""):
        self.pack = bytearray(_PACK_BYTES)
        self.rx = bytearray(_RX_BYTES)
        self._ca_file = ca_file
        self._cert_file = cert_file  # NODE.der, beside it NODE.key.der
        self._tls = None
        try:
            self.tls()
        except MqttError:
            pass  # each connection tries again and says why

    def tls(self):
        """The context that accepts a broker signed by the CA; MqttError "wrong_ca", "wrong_cert" for files no good."""
        if self._tls is None:
            ca, own = _read(self._ca_file, "wrong_ca"), None
            if self._cert_file:
                key_file = self._cert_file[:-3] + "key.der"
                own = _read(self._cert_file, "wrong_cert"), _read(key_file, "wrong_cert")
            self._tls = overlay.call("mqtt_tls", "tls_context", ca, own)
        return self._tls

    def forget_tls(self):
        """Make the context anew the next time: the CA file may have been replaced."""
        self._tls = None


def _read(path, kind):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise MqttError(kind, "the file %s cannot be read: %s" % (path, error))
