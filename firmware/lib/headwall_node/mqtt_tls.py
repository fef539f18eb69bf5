"""The TLS context of the connections, made once. Used through overlay.call()."""

import ssl

from .mqtt_error import MqttError


def tls_context(ca_der, own=None):
    """A context that accepts only a server whose certificate is signed by the CA given as DER bytes.

    own: certificate and key of the node as DER bytes, for a broker that asks for one.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_mode = ssl.CERT_REQUIRED  # ports differ in the default
    try:
        context.load_verify_locations(cadata=ca_der)
    except (ValueError, OSError) as error:
        raise MqttError("wrong_ca", "the CA file is not a certificate in DER: %s" % error)
    if own is not None:
        try:
            context.load_cert_chain(*own)
        except (ValueError, OSError) as error:
            raise MqttError("wrong_cert", "the node's certificate or its key is no good: %s" % error)
    return context
