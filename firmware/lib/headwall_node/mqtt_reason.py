"""What exceptions of sockets, TLS and asyncio mean for an MQTT connection. Used through overlay.call()."""

import asyncio
from errno import ECONNREFUSED

from .mqtt_error import MqttError

#: words of mbedTLS on a certificate -> what they mean; several may stand in one text, the first found counts
_CERTIFICATE_FAULTS = (
    ("not correctly signed", "wrong_ca", "its certificate is not signed by the node's CA"),
    ("does not match", "wrong_name", "its certificate is for another host name"),
    ("has expired", "expired", "its certificate has expired, or the node's clock is ahead"),
    ("starts in the future", "not_yet_valid", "its certificate is not valid yet, or the node's clock is behind"),
)


def explain(error, where):
    """The MqttError that says what an exception from sockets, TLS or asyncio means."""
    if isinstance(error, MqttError):
        return error
    if isinstance(error, asyncio.TimeoutError):
        return MqttError("timeout", "%s gave no answer in time" % where)
    kind, text = "closed", repr(error)
    if isinstance(error, ValueError):  # mbedTLS on a certificate
        kind, text = _certificate_fault(str(error))
    elif isinstance(error, MemoryError):
        kind, text = "no_memory", str(error)
    elif isinstance(error, OSError):
        if error.errno == ECONNREFUSED:
            kind, text = "refused", "connection refused"
        elif isinstance(error.errno, int) and error.errno < -255:  # mbedTLS's own numbers
            kind, text = "tls", str(error)
    return MqttError(kind, "%s: %s" % (where, text))


def _certificate_fault(text):
    for words, kind, meaning in _CERTIFICATE_FAULTS:
        if words in text:
            return kind, meaning
    return "tls", text.strip()
