"""`headwall board verify`: a board against this release: every file, versions, partition, configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import typer
from cryptography import x509
from headwall.errors import HeadwallError
from rich.console import Console
from rich.table import Table

from headwall_board import node_config
from headwall_board.bench import (
    DEFAULT_WAIT,
    FirmwareOption,
    JsonOption,
    PortOption,
    WaitOption,
    bar,
    compiled_release,
    session,
)
from headwall_board.commands.deploy import check_board
from headwall_board.commands.provision import CA_FILE, UPDATE_KEY
from headwall_board.node_config import CONFIG, SECRETS
from headwall_board.release import OURS, OVER_THE_AIR, Release
from headwall_board.session import BoardFile, Session

_SOON = timedelta(days=30)


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `ok` None means that it is told, not judged."""

    what: str
    ok: bool | None
    found: str


def verify(
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    firmware: FirmwareOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a board with this release: every file, versions, partition, configuration. Ends with 1 if it differs."""
    with bar(hidden=as_json) as shown:
        release = compiled_release(firmware, shown)
        with session(port, wait) as board:
            task = shown.add_task("compare", total=None)
            there = board.files(lambda: shown.advance(task))
            findings = [*_board(board), *_files(release, there), *_settings(board, there)]
    well = all(finding.ok is not False for finding in findings)
    if as_json:
        told = {"port": board.port, "version": release.version, "ok": well}
        print(json.dumps({**told, "findings": [asdict(finding) for finding in findings]}))
    else:
        table = Table("", "", "Found")
        for one in findings:
            table.add_row({True: "ok", False: "WRONG", None: ""}[one.ok], one.what, one.found)
        Console().print(table)
        print(f"The board is {'as' if well else 'not as'} version {release.version} wants it.")
    if not well:
        raise typer.Exit(1)


def _board(board: Session) -> list[Finding]:
    """What it is, and whether it can run the program."""
    board.run("import sys, machine")
    version, identity = board.ask("[list(sys.implementation[1][:3]), machine.unique_id().hex()]")
    found = [Finding("id", None, identity)]
    try:
        journal_bytes = check_board(board)
        found.append(Finding("MicroPython", True, ".".join(map(str, version))))
        found.append(Finding("journal partition", True, f"{journal_bytes // 1024} KiB"))
    except HeadwallError as error:
        found.append(Finding("MicroPython and journal partition", False, str(error)))
    free = board.free_bytes()
    return [*found, Finding("room for files", None, f"{free // 1024} KiB free")]


def _files(release: Release, there: Sequence[BoardFile]) -> list[Finding]:
    """Each file of the release that is missing or differs, and each that should not be there."""
    hashes = {file.path: file.sha256 for file in there}
    findings = []
    for path, data in release.files.items():
        if path not in hashes:
            findings.append(Finding(path, False, "missing"))
        elif hashes[path] != hashlib.sha256(data).hexdigest():
            findings.append(Finding(path, False, "differs"))
    strangers = [path for path in hashes if path.startswith(OURS) and path not in release.files]
    findings += [Finding(path, False, "is not of this release") for path in strangers]
    came = sum(path.startswith(OVER_THE_AIR) for path in hashes)
    note = [Finding("over the air", None, f"{came} files: headwall node show tells which version runs")] if came else []
    if findings:
        return [*findings, *note, Finding("program", False, "headwall board deploy puts this right")]
    return [
        *note,
        Finding("program", True, f"{len(release.files)} files, each with the hash of version {release.version}"),
    ]


def _settings(board: Session, there: Sequence[BoardFile]) -> list[Finding]:
    """Configuration by the board's own rules, the authority's certificate, what else was provisioned."""
    paths = {file.path for file in there}
    findings = []
    if CONFIG not in paths:
        findings.append(Finding("configuration", False, "none: headwall board config FILE"))
    else:
        try:
            faults = node_config.faults_on_board(board)
            findings.append(Finding("configuration", not faults, "; ".join(faults) or "no faults"))
        except HeadwallError as error:
            findings.append(Finding("configuration", False, str(error)))
    findings.append(Finding("secrets.json", None, "is there" if SECRETS in paths else "none"))
    findings.append(_authority(board.read(CA_FILE)))
    findings.append(Finding("update.key", None, "is there" if UPDATE_KEY in paths else "none: updates are refused"))
    return findings


def _authority(data: bytes | None) -> Finding:
    what = "broker's authority"
    if data is None:
        return Finding(what, False, "none: headwall board provision --ca FILE")
    try:
        certificate = x509.load_der_x509_certificate(data)
    except ValueError:
        return Finding(what, False, f"{CA_FILE} is no certificate in DER")
    ends = certificate.not_valid_after_utc
    name = certificate.subject.rfc4514_string()
    return Finding(what, ends > datetime.now(UTC) + _SOON, f"{name}, ends {ends:%Y-%m-%d}")
