"""Trying the MQTT broker: address, certificate, login, and whether the gateway may publish custody."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import paho.mqtt.client as paho
from cryptography import x509
from paho.mqtt.enums import CallbackAPIVersion

from headwall.clock import Clock, to_us
from headwall.ops.checks.finding import Finding, fails, works
from headwall.settings import MqttSettings
from headwall.wire.contract import topic

_TIMEOUT_S = 5.0
_DAY_US = 86_400_000_000
#: a certificate that ends sooner than this is a failure: boards stop sending on that day
_DAYS_TO_RENEW = 14
#: no board has this id; its custody topic is published to in order to see whether that is allowed
_NOBODY = "headwall-check"


def check_broker(settings: MqttSettings, clock: Clock) -> Iterator[Finding]:
    """Try each layer; a layer that fails ends the trial, since those above it rest on it."""
    found = _address(settings)
    yield found
    if not found.ok:
        return
    if settings.tls:
        found = _certificate(settings, clock)
        yield found
        if not found.ok:
            return
    else:
        yield fails("broker TLS", "mqtt.tls is off: passwords and readings go in clear", "set mqtt.tls = true")
    yield from _login(settings)


def _address(s: MqttSettings) -> Finding:
    part, where = "broker address", f"{s.host}:{s.port}"
    try:
        with socket.create_connection((s.host, s.port), _TIMEOUT_S):
            return works(part, f"{where} accepts connections")
    except socket.gaierror as error:
        return fails(part, f"{s.host} has no address ({error.strerror})", "correct mqtt.host, or the name server")
    except TimeoutError:
        return fails(part, f"{where} does not answer within {_TIMEOUT_S:g} s", "look at mqtt.host, port and firewall")
    except OSError as error:
        return fails(
            part, f"{where}: {error.strerror or error}", "start the broker, or correct mqtt.host and mqtt.port"
        )


def _certificate(s: MqttSettings, clock: Clock) -> Finding:
    part = "broker TLS"
    try:
        trust = ssl.create_default_context(cafile=s.ca_file)
    except (ssl.SSLError, OSError) as error:
        return fails(
            part, f"mqtt.ca_file {s.ca_file} is no certificate ({error})", "put the authority's PEM file there"
        )
    try:
        with _connect(s, trust) as tls:
            der = tls.getpeercert(binary_form=True)
    except ssl.SSLCertVerificationError as error:
        return fails(part, f"certificate refused: {error.verify_message}. {_presented(s)}", _mend(error))
    except (ssl.SSLError, OSError) as error:
        return fails(part, f"no TLS at {s.host}:{s.port} ({error})", "set mqtt.port to the broker's TLS listener")
    assert der is not None  # a verified connection has one
    ends_us = to_us(x509.load_der_x509_certificate(der).not_valid_after_utc)
    days = (ends_us - clock.now_us()) // _DAY_US
    if days < _DAYS_TO_RENEW:
        return fails(part, f"the certificate ends in {days} days", "issue a new one now: boards refuse it after that")
    return works(part, f"certificate and host name verified, {days} days left")


def _connect(s: MqttSettings, trust: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection((s.host, s.port), _TIMEOUT_S)
    try:
        return trust.wrap_socket(plain, server_hostname=s.host)
    except BaseException:
        plain.close()
        raise


def _presented(s: MqttSettings) -> str:
    """What a refused certificate says of itself."""
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    try:
        with _connect(s, blind) as tls:
            cert = x509.load_der_x509_certificate(tls.getpeercert(binary_form=True) or b"")
    except (ssl.SSLError, OSError, ValueError):
        return ""
    window = f"{cert.not_valid_before_utc:%Y-%m-%d} to {cert.not_valid_after_utc:%Y-%m-%d}"
    return f"It is for {', '.join(_names(cert)) or 'no name'}, valid {window}, signed by {cert.issuer.rfc4514_string()}"


def _names(cert: x509.Certificate) -> list[str]:
    try:
        names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in names]


def _mend(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in (9, 10):  # X509_V_ERR_CERT_NOT_YET_VALID, …_HAS_EXPIRED (openssl verify)
        return "set this machine's clock if it is wrong; otherwise issue a new certificate"
    if error.verify_code in (62, 64):  # …_HOSTNAME_MISMATCH, …_IP_ADDRESS_MISMATCH
        return "set mqtt.host to a name in the certificate, or issue one for the name that boards and gateway use"
    return "set mqtt.ca_file to the authority that signed it"


class _Client:
    """A paho client under an id of its own, so that it does not take over the running gateway's session."""

    def __init__(self, s: MqttSettings) -> None:
        self._done = threading.Event()
        self._reason: Any = None
        version = paho.MQTTv5 if s.protocol == "5" else paho.MQTTv311
        self._paho = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"{s.client_id}-check", protocol=version)
        if s.username is not None:
            self._paho.username_pw_set(s.username, s.password.get_secret_value() if s.password else None)
        if s.tls:
            self._paho.tls_set(ca_certs=str(s.ca_file) if s.ca_file else None)
        self._paho.on_connect = lambda _client, _data, _flags, reason, _properties: self._answer(reason)
        self._paho.on_disconnect = lambda _client, _data, _flags, reason, _properties: self._answer(reason)
        self._paho.on_publish = lambda _client, _data, _mid, reason, _properties: self._answer(reason)
        self._paho.connect(s.host, s.port, 10)

    def logged_in(self) -> Any:
        """The broker's reason code to CONNECT; None without an answer."""
        return self._wait(self._paho.loop_start)

    def published(self, to: str) -> Any:
        """The broker's reason code to a publish at QoS 1; None without an answer."""
        return self._wait(lambda: self._paho.publish(to, b"", 1))

    def close(self) -> None:
        self._paho.disconnect()
        self._paho.loop_stop()

    def _wait(self, act: Any) -> Any:
        self._done.clear()
        self._reason = None
        act()
        self._done.wait(_TIMEOUT_S)
        return self._reason

    def _answer(self, reason: Any) -> None:
        if not self._done.is_set():
            self._reason = reason
            self._done.set()


def _login(s: MqttSettings) -> Iterator[Finding]:
    who = f"{s.username!r}" if s.username is not None else "without a name"
    try:
        client = _Client(s)
    except OSError as error:
        yield fails("broker login", f"connection lost ({error})", "see the broker's log")
        return
    try:
        reason = client.logged_in()
        if reason is None or reason.is_failure:
            said = "no answer" if reason is None else reason.getName()
            mend = "correct mqtt.username and mqtt.password_file, or the account at the broker (and mqtt.protocol)"
            yield fails("broker login", f"refused {who}: {said}", mend)
            return
        yield works("broker login", f"logged in {who} with MQTT {s.protocol}")
        yield _publish(s, client)
    finally:
        client.close()


def _publish(s: MqttSettings, client: _Client) -> Finding:
    part, to = "broker publish", topic(_NOBODY, "custody")
    reason = client.published(to)
    if reason is None or reason.is_failure:
        said = "no answer" if reason is None else reason.getName()
        return fails(part, f"{to}: {said}", "let the gateway's account write custody, config and command: deploy/acl")
    if s.protocol != "5":
        return works(part, "acknowledged; whether it was allowed cannot be told in MQTT 3.1.1")
    return works(part, "may publish custody")
