"""Why there is no MQTT connection, in words: the one exception of the MQTT client, and what other ones mean."""

import asyncio
from errno import ECONNREFUSED

#: reasons of a CONNACK (3.2.2.3)
_REFUSALS = (
    None,
    ("refused", "the broker does not speak MQTT 3.1.1"),
    ("refused", "the broker does not accept this client id"),
    ("refused", "the broker is not available"),
    ("bad_credentials", "bad user name or password"),
    ("bad_credentials", "not authorised"),
)

#: words of mbedTLS on a certificate -> what they mean; several may stand in one text, the first found counts
_CERTIFICATE_FAULTS = (
    ("not correctly signed", "wrong_ca", "its certificate is not signed by the node's CA"),
    ("does not match", "wrong_name", "its certificate is for another host name"),
    ("has expired", "expired", "its certificate has expired, or the node's clock is ahead"),
    ("starts in the future", "not_yet_valid", "its certificate is not valid yet, or the node's clock is behind"),
)


class MqttError(Exception):
    """A connection that did not come about or ended.

    kind: refused (nobody listens, or a broker that declines) · bad_credentials · wrong_ca, wrong_name, expired,
    not_yet_valid, tls (the broker could not prove who it is) · timeout (an answer is overdue) · closed · protocol
    (not MQTT 3.1.1) · no_memory. The text says where and why.
    """

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def refusal(code, where):
    """The error that a CONNACK with a reason other than 0 means."""
    kind, text = _REFUSALS[code] if code < len(_REFUSALS) else ("refused", "reason %d" % code)
    return MqttError(kind, "%s: %s" % (where, text))


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
