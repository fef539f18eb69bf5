"""`headwall certs`: authority, certificates, access list and passwords for the broker and its boards."""

from __future__ import annotations

import getpass
import json
import re
import secrets
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer
from headwall.cli.common import AsJson
from headwall.errors import InputError
from headwall.wire.contract import contract
from rich.console import Console
from rich.table import Table

from headwall_board import mosquitto
from headwall_board.certs import (
    Authority,
    Certificate,
    certificates,
    issue_node,
    issue_server,
    make_ca,
    read_certificate,
)
from headwall_board.private_file import write_private

#: before any board's program was built: a board that does not know the time takes that of its build
_NOT_BEFORE: Final = datetime(2025, 1, 1, tzinfo=UTC)
#: the last year of the short form of time in certificates, which every board reads
_CA_ENDS: Final = datetime(2049, 12, 31, tzinfo=UTC)
_GATEWAY: Final = "headwall-gateway"

FolderOption = Annotated[Path, typer.Option("--folder", help="where certificates and keys are")]
DaysOption = Annotated[int, typer.Option("--days", min=1, help="how long it is valid")]
NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="host names and addresses of the broker")]
NodesArgument = Annotated[list[str], typer.Argument(metavar="NODE...", help="ids as in the registry")]
_FOLDER: Final = Path("certs")


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Certificates, access list and passwords for the broker.")
    group.command("ca")(ca)
    group.command("broker")(broker)
    group.command("node")(node)
    group.command("list")(list_all)
    group.command("acl")(acl)
    group.command("passwords")(passwords)
    app.add_typer(group, name="certs")


def ca(folder: FolderOption = _FOLDER, as_json: AsJson = False) -> None:
    """Make an authority of your own. Once: every board trusts it until it is visited again."""
    if (folder / "ca.key").exists():
        raise InputError(f"{folder / 'ca.key'} is there already; boards that trust it would not trust another")
    made = make_ca(folder, "ca", _NOT_BEFORE, _CA_ENDS)
    if as_json:
        print(json.dumps(_made(made.cert, made.key) | {"der": str(made.der)}))
        return
    print(f"gateway and broker: {made.cert}, valid until {_CA_ENDS:%Y-%m-%d}")
    print(f"boards: {made.der}")
    print(f"keep to yourself, off broker and boards: {made.key}")


def broker(
    names: NamesArgument, folder: FolderOption = _FOLDER, days: DaysOption = 825, as_json: AsJson = False
) -> None:
    """Make or renew the broker's certificate. Boards need no new file for it."""
    authority = _authority(folder)
    end = _end(days, authority)
    made = issue_server(folder, authority, names, _NOT_BEFORE, end)
    if as_json:
        print(json.dumps(_made(made.cert, made.key)))
        return
    print(f"broker: {made.cert} and {made.key}, for {', '.join(names)}, valid until {end:%Y-%m-%d}")


def node(
    nodes: NodesArgument, folder: FolderOption = _FOLDER, days: DaysOption = 3650, as_json: AsJson = False
) -> None:
    """Make or renew boards' own certificates, for a broker that asks for them beside the password."""
    authority = _authority(folder)
    end = _end(days, authority)
    told = []
    for each in nodes:
        _check_node(each)
        made = issue_node(folder, authority, each, _NOT_BEFORE, end)
        told.append(_made(made.cert, made.key))
        if not as_json:
            print(f"{each}: {made.cert} and {made.key}, valid until {end:%Y-%m-%d}")
    if as_json:
        print(json.dumps(told))


def _made(cert: Path, key: Path) -> dict[str, object]:
    """A certificate that was made, with its key, for scripts."""
    return {**_as_json(read_certificate(cert), datetime.now(UTC)), "key": str(key)}


def list_all(
    folder: FolderOption = _FOLDER,
    warn_days: Annotated[int, typer.Option("--warn-days", min=0, help="warn of what ends within so many days")] = 30,
    as_json: AsJson = False,
) -> None:
    """When each certificate ends, soonest first. Exit 1 when one has ended or ends soon."""
    found = certificates(folder)
    if not found:
        raise InputError(f"{folder} holds no certificates; make them with: headwall certs ca, headwall certs broker")
    now = datetime.now(UTC)
    soon = [one for one in found if _days_left(one, now) < warn_days]
    if as_json:
        print(json.dumps([_as_json(one, now) for one in found]))
    else:
        table = Table("File", "For", "Names", "Ends", "Days left")
        for one in found:
            left = _days_left(one, now)
            table.add_row(str(one.file), one.kind, ", ".join(one.names), f"{one.not_after:%Y-%m-%d}", str(left))
        Console().print(table)
        for one in soon:
            print(f"{one.file} {_ending(one, now)}; {_RENEW[one.kind]}", file=sys.stderr)
    if soon:
        raise typer.Exit(1)


_RENEW: Final = {
    "ca": "every board needs the next authority's ca.der before that",
    "broker": "renew it: headwall certs broker NAME..., then restart mosquitto",
    "node": "renew it: headwall certs node NODE, then put it on the board",
}


def acl(
    gateway: Annotated[
        list[str] | None, typer.Option("--gateway", help=f"account of a gateway; again for more [{_GATEWAY}]")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="write it to this file instead of printing it")] = None,
) -> None:
    """mosquitto's access list: each board its own topics, custody and commands the gateway's alone."""
    text = mosquitto.acl_text(gateway or [_GATEWAY])
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")
        print(f"{out} is written; mosquitto reads it when it starts and on SIGHUP")


def passwords(
    names: Annotated[list[str], typer.Argument(metavar="ACCOUNT...", help="node ids, and the gateway's account")],
    file: Annotated[Path, typer.Option("--file", help="mosquitto's password file; other accounts in it stay")] = Path(
        "passwords"
    ),
    generate: Annotated[
        Path | None,
        typer.Option("--generate", help="draw passwords into ACCOUNT.password in this folder; those there are used"),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="take these accounts out of the file")] = False,
    as_json: AsJson = False,
) -> None:
    """Set the password of an account a board in mosquitto's password file.

    Asked for at the terminal, else read from standard input, a line an account. Never an argument: those are seen by
    every user of the machine.
    """
    wanted: dict[str, str | None] = {}
    for name in names:
        _check_node(name)
        if remove:
            wanted[name] = None
        elif generate is not None:
            wanted[name] = _drawn(generate, name)
        else:
            wanted[name] = _asked(name)
    accounts = mosquitto.write_passwords(file, wanted)
    if as_json:
        print(json.dumps({"file": str(file), "accounts": accounts}))
        return
    print(f"{file} has {len(accounts)} accounts: {', '.join(accounts)}")
    if generate is not None and not remove:
        print(f"passwords: {', '.join(str(generate / f'{name}.password') for name in names)} (mode 600)")


def _drawn(folder: Path, name: str) -> str:
    file = folder / f"{name}.password"
    if file.exists():
        return file.read_text(encoding="utf-8").strip()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    drawn = secrets.token_urlsafe(18)
    write_private(file, f"{drawn}\n")
    return drawn


def _asked(name: str) -> str:
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        if not line.strip():
            raise InputError(f"no password for {name} on standard input; give a line an account, or --generate FOLDER")
        return line.rstrip("\r\n")
    first = getpass.getpass(f"password of {name}: ")
    if first != getpass.getpass("again: "):
        raise InputError(f"the two passwords of {name} differ; nothing was written")
    return first


def _check_node(name: str) -> None:
    longest = contract()["limits"]["node_id_chars"]
    if not re.fullmatch(rf"[a-z0-9][a-z0-9-]{{0,{longest - 1}}}", name):
        raise InputError(f"{name!r} is no node id or account: a-z, 0-9 and -, at most {longest} characters")


def _authority(folder: Path) -> Authority:
    found = Authority(folder / "ca.pem", folder / "ca.der", folder / "ca.key")
    for path in (found.cert, found.key):
        if not path.is_file():
            raise InputError(f"{path} is missing; make an authority first: headwall certs ca --folder {folder}")
    return found


def _end(days: int, authority: Authority) -> datetime:
    """When what is made now ends; a certificate that outlives its authority would end with it, unseen."""
    end, last = datetime.now(UTC) + timedelta(days=days), read_certificate(authority.cert).not_after
    if end > last:
        raise InputError(f"--days {days} goes beyond the end of {authority.cert}, {last:%Y-%m-%d}")
    return end


def _days_left(one: Certificate, now: datetime) -> int:
    return (one.not_after - now).days


def _ending(one: Certificate, now: datetime) -> str:
    left = _days_left(one, now)
    return f"ends in {left} days" if left >= 0 else f"ended on {one.not_after:%Y-%m-%d}"


def _as_json(one: Certificate, now: datetime) -> dict[str, object]:
    return {
        "file": str(one.file),
        "for": one.kind,
        "names": list(one.names),
        "not_before": one.not_before.isoformat(),
        "not_after": one.not_after.isoformat(),
        "days_left": _days_left(one, now),
    }
