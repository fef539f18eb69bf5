"""Bundles for an update over the air: made from firmware/, signed, and checked as a board would."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from headwall.errors import InputError
from headwall.wire.bundle import SIGNATURE_BYTES, Bundle, BundleFile, Head

from headwall_board.private_file import write_private
from headwall_board.release import MPY_VERSION, Release

#: names of the two files of a key
PRIVATE, PUBLIC = "update-signing.pem", "update.key"
#: what of a release goes over the air: main.py and headwall_start stay as they came by cable, PyPI's drivers too
_PROGRAM: Final = "/lib/headwall_node/"
_BITS, _EXPONENT = SIGNATURE_BYTES * 8, 65537


def make_key(folder: Path) -> None:
    """Make PRIVATE, which signs bundles, and PUBLIC, which boards get.

    Raises:
        InputError: there is a key already: boards that have its PUBLIC would take no bundle of another.
    """
    for name in (PRIVATE, PUBLIC):
        if (folder / name).exists():
            raise InputError(f"{folder / name} is there already; boards that trust it would take nothing of a new key")
    key = rsa.generate_private_key(_EXPONENT, _BITS)
    folder.mkdir(parents=True, exist_ok=True)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(folder / PRIVATE, text)
    (folder / PUBLIC).write_bytes(key.public_key().public_numbers().n.to_bytes(SIGNATURE_BYTES, "big"))


def read_private(path: Path) -> rsa.RSAPrivateKey:
    """The key that signs.

    Raises:
        InputError: it cannot be read, or is not of the kind that boards check.
    """
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"no signing key in {path}: {error}; make one with: headwall board bundle key") from None
    if (
        not isinstance(key, rsa.RSAPrivateKey)
        or key.key_size != _BITS
        or key.public_key().public_numbers().e != _EXPONENT
    ):
        raise InputError(f"{path} is no RSA key of {_BITS} bits with exponent {_EXPONENT}: boards cannot check it")
    return key


def make_bundle(release: Release, chip: str, key: rsa.RSAPrivateKey) -> bytes:
    """The bundle of a release for one kind of board.

    Raises:
        InputError: `chip` or a path is none that boards take.
    """
    program = {path: data for path, data in release.files.items() if path.startswith(_PROGRAM)}
    lengths = [
        BundleFile(path.removeprefix("/lib/"), len(data), hashlib.sha256(data).digest())
        for path, data in program.items()
    ]
    unsized = Head(release.version, chip, MPY_VERSION, 0, tuple(lengths)).pack()
    size = len(unsized) + SIGNATURE_BYTES + sum(map(len, program.values()))
    signed = Head(release.version, chip, MPY_VERSION, size, tuple(lengths)).pack()
    return signed + key.sign(signed, padding.PKCS1v15(), hashes.SHA256()) + b"".join(program.values())


def is_signed(bundle: Bundle, public: Path) -> bool:
    """Whether boards with this update.key take the bundle's signature.

    Raises:
        InputError: the file is no update.key.
    """
    try:
        data = public.read_bytes()
        if len(data) != SIGNATURE_BYTES:
            raise ValueError(f"it has {len(data)} bytes, not {SIGNATURE_BYTES}")
        key = rsa.RSAPublicNumbers(_EXPONENT, int.from_bytes(data, "big")).public_key()
    except (OSError, ValueError) as error:
        raise InputError(f"{public} is no update.key: {error}") from None
    try:
        key.verify(bundle.signature, bundle.signed, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True
