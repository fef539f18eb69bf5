"""Certificates for broker and boards: a small authority, and servers and boards signed by it (EC P-256).

Servers (mosquitto, SMTP, paho's trust) read PEM; a board reads DER, since MicroPython's parser of PEM is left out of
some ports. Every certificate has an explicit window, so that simulated dates fit.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from headwall.errors import InputError

from headwall_board.private_file import write_private


@dataclass(frozen=True)
class Authority:
    """A certificate authority on disk.

    Attributes:
        cert: PEM, what servers and the gateway trust.
        der: the same as DER, what is put on a board.
        key: PEM private key, mode 600; keep it away from broker and boards.
    """

    cert: Path
    der: Path
    key: Path


@dataclass(frozen=True)
class ServerCertificate:
    """A server's certificate (PEM) and its private key (PEM, mode 600)."""

    cert: Path
    key: Path


@dataclass(frozen=True)
class NodeCertificate:
    """A board's certificate and private key (mode 600), as DER: what a board reads."""

    cert: Path
    key: Path


@dataclass(frozen=True)
class Certificate:
    """What a certificate's file says.

    Attributes:
        kind: "ca", "broker" or "node".
        names: host names and addresses of a broker, else the common name alone.
    """

    file: Path
    kind: str
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime


def make_ca(folder: Path, name: str, not_before: datetime, not_after: datetime) -> Authority:
    """Make an authority in `folder` as NAME.pem, NAME.der and NAME.key.

    Args:
        folder: made if absent.
        name: file stem and common name, e.g. "ca".
        not_before, not_after: aware datetimes; the window in which it is valid, both inclusive to the second.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Headwall {name}")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    cert = (
        _builder(subject, subject, key.public_key(), not_before, not_after)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    made = Authority(folder / f"{name}.pem", folder / f"{name}.der", folder / f"{name}.key")
    folder.mkdir(parents=True, exist_ok=True)
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    made.der.write_bytes(cert.public_bytes(serialization.Encoding.DER))
    write_private(made.key, _key_bytes(key, serialization.Encoding.PEM))
    return made


def issue_server(
    folder: Path,
    ca: Authority,
    names: list[str],
    not_before: datetime,
    not_after: datetime,
    *,
    stem: str = "server",
) -> ServerCertificate:
    """Issue a server certificate in `folder` as STEM.pem and STEM.key.

    Args:
        ca: the authority that signs.
        names: host names and IP addresses that clients will check; the first is also the common name.
        not_before, not_after: aware datetimes; a window in the past makes an expired one.

    Raises:
        ValueError: no name was given, or a time has no zone.
    """
    if not names:
        raise ValueError("a server certificate needs at least one host name or IP address")
    cert, key = _issue(ca, names[0], names, ExtendedKeyUsageOID.SERVER_AUTH, not_before, not_after)
    made = ServerCertificate(folder / f"{stem}.pem", folder / f"{stem}.key")
    folder.mkdir(parents=True, exist_ok=True)
    write_private(made.key, _key_bytes(key, serialization.Encoding.PEM))
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    return made


def issue_node(folder: Path, ca: Authority, node: str, not_before: datetime, not_after: datetime) -> NodeCertificate:
    """Issue a board's own certificate in `folder` as NODE.der and NODE.key.der; its common name is the account."""
    cert, key = _issue(ca, node, [node], ExtendedKeyUsageOID.CLIENT_AUTH, not_before, not_after)
    made = NodeCertificate(folder / f"{node}.der", folder / f"{node}.key.der")
    folder.mkdir(parents=True, exist_ok=True)
    write_private(made.key, _key_bytes(key, serialization.Encoding.DER))
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.DER))
    return made


def certificates(folder: Path) -> list[Certificate]:
    """The certificates of a folder, the one that ends first in front; the authority's DER is not told twice."""
    found = []
    for file in sorted((*folder.glob("*.pem"), *folder.glob("*.der"))):
        if _load(file) is not None and not (file.suffix == ".der" and file.with_suffix(".pem").exists()):
            found.append(read_certificate(file))
    return sorted(found, key=lambda one: one.not_after)


def _load(file: Path) -> x509.Certificate | None:
    data = file.read_bytes()
    for load in (x509.load_pem_x509_certificate, x509.load_der_x509_certificate):
        try:
            return load(data)
        except ValueError:  # the other form, or a key
            pass
    return None


def read_certificate(file: Path) -> Certificate:
    """What one certificate says, PEM or DER.

    Raises:
        InputError: it is none.
    """
    cert = _load(file)
    if cert is None:
        raise InputError(f"{file} is no certificate, neither PEM nor DER")
    names = [str(name.value) for name in cert.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    try:
        if cert.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return Certificate(file, "ca", tuple(names), cert.not_valid_before_utc, cert.not_valid_after_utc)
        usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        kind = "node" if ExtendedKeyUsageOID.CLIENT_AUTH in usage else "broker"
        alternative = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [str(name.value) for name in alternative]
    except x509.ExtensionNotFound:  # made elsewhere
        kind = "broker"
    return Certificate(file, kind, tuple(names), cert.not_valid_before_utc, cert.not_valid_after_utc)


def _issue(
    ca: Authority,
    common: str,
    names: list[str],
    usage: x509.ObjectIdentifier,
    not_before: datetime,
    not_after: datetime,
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    ca_cert = x509.load_pem_x509_certificate(ca.cert.read_bytes())
    ca_key = serialization.load_pem_private_key(ca.key.read_bytes(), password=None)
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{ca.key} is not an EC key; make the authority with make_ca")
    key = ec.generate_private_key(ec.SECP256R1())
    cert = (
        _builder(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)]),
            ca_cert.subject,
            key.public_key(),
            not_before,
            not_after,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return cert, key


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    not_before: datetime,
    not_after: datetime,
) -> x509.CertificateBuilder:
    for moment in (not_before, not_after):
        if moment.tzinfo is None:
            raise ValueError(f"{moment!r} has no time zone; give an aware datetime")
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before)
        .not_valid_after(not_after)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_bytes(key: ec.EllipticCurvePrivateKey, encoding: serialization.Encoding) -> bytes:
    return key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
