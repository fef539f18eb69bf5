"""`headwall board provision`: a board's name, Wi-Fi, account and keys."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key
from headwall.downlink.board_rules import SECRETS as SECRET_KEYS
from headwall.errors import ConfigurationError, InputError
from headwall.wire.bundle import SIGNATURE_BYTES

from headwall_board import node_config
from headwall_board.bench import DEFAULT_WAIT, JsonOption, PortOption, WaitOption, bar, session
from headwall_board.node_config import CONFIG, HIDDEN_VALUE, KEY_ENDS, SECRETS
from headwall_board.session import BenchError

CA_FILE = "/ca.der"
CERT_FILE, CERT_KEY = "/node.der", f"/node{KEY_ENDS}"
UPDATE_KEY = "/update.key"
#: settings that are good whatever the secrets are, to check these by the board's rules
_ANY_NODE: Mapping[str, Any] = {"broker_host": "any", "sensors": [{"kind": "tipping_bucket", "pin": 4}]}


def register(app: typer.Typer) -> None:
    app.command("provision")(provision)


def provision(
    node: Annotated[str, typer.Option("--node", help="id as in the registry; also its account at the broker")],
    ca: Annotated[Path, typer.Option("--ca", help="the authority that signed the broker's certificate, PEM or DER")],
    secrets: Annotated[
        str | None,
        typer.Option("--secrets", metavar="FILE", help="secrets.json with password and wifi; - for stdin; else asked"),
    ] = None,
    update_key: Annotated[
        Path | None,
        typer.Option("--update-key", help="whose updates over the air it takes (headwall board bundle key)"),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option("--cert", help="its own certificate, NODE.der with NODE.key.der beside it (headwall certs node)"),
    ] = None,
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    as_json: JsonOption = False,
) -> None:
    """Give a board its name, Wi-Fi, account and keys. Secrets are asked for, or come from a file or stdin.

    They go into secrets.json on the board, whole, in place of what was there; nothing of them is shown.
    """
    files = {CA_FILE: _authority(ca)}
    if update_key is not None:
        files[UPDATE_KEY] = _key(update_key)
    settings: dict[str, Any] = {"node": node}
    if cert is not None:
        files.update(_own_certificate(cert))
        settings["cert_file"] = CERT_FILE[1:]
    given = _secrets(secrets, node)
    files[SECRETS] = json.dumps(given, ensure_ascii=False).encode()
    with bar(hidden=as_json) as shown, session(port, wait) as board:
        there = node_config.on_board(board)
        files[CONFIG] = json.dumps({**(there or {}), **settings}, indent=1, ensure_ascii=False).encode()
        for path in shown.track(list(files), description="write"):
            board.write(path, files[path])
        board.run("import machine")
        identity = board.ask("machine.unique_id().hex()")
    if as_json:
        print(json.dumps({"port": board.port, "node": node, "mac": identity, "written": sorted(files)}))
        return
    print(f"{node}: wrote {', '.join(sorted(path[1:] for path in files))}; verified.")
    print(f'In the registry this node has mac = "{identity}".')
    if there is None or set(there) <= {"node"}:
        print("Next, its broker and sensors: headwall board config FILE")


def _authority(file: Path) -> bytes:
    """A CA certificate as DER.

    Raises:
        InputError: it is none, or has ended.
    """
    try:
        data = file.read_bytes()
        pem = data.lstrip().startswith(b"-----BEGIN")
        certificate = x509.load_pem_x509_certificate(data) if pem else x509.load_der_x509_certificate(data)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file} is no certificate: give ca.pem or ca.der of headwall certs") from error
    if certificate.not_valid_after_utc <= datetime.now(UTC):
        raise InputError(f"{file} ended on {certificate.not_valid_after_utc:%Y-%m-%d}: no board would connect with it")
    return certificate.public_bytes(Encoding.DER)


def _own_certificate(file: Path) -> dict[str, bytes]:
    """A board's certificate and key, by where they go.

    Raises:
        InputError: they are no pair, or the certificate has ended.
    """
    key_file = file.with_name(f"{file.stem}{KEY_ENDS}")
    try:
        data, key = file.read_bytes(), key_file.read_bytes()
        certificate = x509.load_der_x509_certificate(data)
        fits = load_der_private_key(key, None).public_key() == certificate.public_key()
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file} and {key_file} are no certificate and key in DER: headwall certs node") from error
    if not fits:
        raise InputError(f"{key_file} is not the key of {file}: headwall certs node makes both")
    if certificate.not_valid_after_utc <= datetime.now(UTC):
        raise InputError(f"{file} ended on {certificate.not_valid_after_utc:%Y-%m-%d}: headwall certs node renews it")
    return {CERT_FILE: data, CERT_KEY: key}


def _key(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) != SIGNATURE_BYTES:  # the modulus is as long as what it signs
        raise InputError(
            f"{file} has {len(data)} bytes; update.key has {SIGNATURE_BYTES}: headwall board bundle key makes it"
        )
    return data


def _secrets(source: str | None, node: str) -> dict[str, Any]:
    """What goes into secrets.json.

    Raises:
        InputError: the file cannot be used.
        ConfigurationError: the board would refuse it.
    """
    if source is None:
        given = _asked(node)
    elif source == "-":
        given = _parsed(sys.stdin.read(), "stdin")
    else:
        given = _from_file(Path(source))
    given = {"username": node, **given}
    known = ", ".join(SECRET_KEYS)
    faults = [f"{key} does not belong into secrets.json, which has {known}" for key in given if key not in SECRET_KEYS]
    if given["username"] != node:
        faults.append(
            f"username is {given['username']!r}: the broker lets an account reach its own node only, {node!r}"
        )
    if faults := faults or node_config.faults_of({**_ANY_NODE, "node": node, **given}):
        raise ConfigurationError("secrets", [_without(given, fault) for fault in faults])
    return given


def _without(secrets: Any, text: str) -> str:
    """A text with no secret in it: a fault quotes what it finds in a wrong place."""
    inner = secrets.values() if isinstance(secrets, dict) else secrets if isinstance(secrets, list) else ()
    for value in inner:
        text = _without(value, text)
    return text.replace(secrets, HIDDEN_VALUE) if isinstance(secrets, str) and len(secrets) > 3 else text


def _from_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
        if file.stat().st_mode & 0o077:
            print(f"warning: {file} can be read by others than you: chmod 600 {file}", file=sys.stderr)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    return _parsed(text, str(file))


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError(f"{source} is no JSON; docs/examples/secrets.json shows how it looks") from error
    if not isinstance(given, dict):
        raise InputError(f"{source} holds no JSON object; docs/examples/secrets.json shows how it looks")
    return given


def _asked(node: str) -> dict[str, Any]:
    if not sys.stdin.isatty():
        raise BenchError("there is nobody to ask for the secrets: give --secrets FILE, or --secrets - and stdin")
    # getpass, not typer.prompt: that prints its question before the terminal has stopped to show what is typed
    password = getpass.getpass(f"Password of {node} at the broker: ")
    wifi: list[dict[str, str]] = []
    while len(wifi) < 8 and (name := input("Wi-Fi name (empty: no more): ")):
        wifi.append({"ssid": name, "password": getpass.getpass(f"Key of {name}: ")})
    return {"password": password, "wifi": wifi}
