"""What needs memory in one piece. It is taken first, while the heap is whole; later it could not be found again."""

from .mqtt_error import MqttError
from .mqtt_wire import tls_context

PACK_BYTES = 2048  # a quarter of what the contract allows, some 80 readings
RX_BYTES = 1536  # the largest message that can be received: a configuration


class Room:
    """pack: buffer of the outgoing pack · rx: of what comes in · tls(): the TLS context, 3 KB, made once."""

    def __init__(self, ca_file):
        self.pack = bytearray(PACK_BYTES)
        self.rx = bytearray(RX_BYTES)
        self._ca_file = ca_file
        self._tls = None
        try:
            self.tls()
        except MqttError:
            pass  # each connection tries again and says why

    def tls(self):
        """The context that accepts a broker signed by the CA; MqttError "wrong_ca" when its file is no good."""
        if self._tls is None:
            try:
                with open(self._ca_file, "rb") as file:
                    self._tls = tls_context(file.read())
            except OSError as error:
                raise MqttError("wrong_ca", "the CA file %s cannot be read: %s" % (self._ca_file, error))
        return self._tls

    def forget_tls(self):
        """Make the context anew the next time: the CA file may have been replaced."""
        self._tls = None
