"""`headwall board backup`: a board's configuration, journal and files, copied to this machine."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from headwall.errors import InputError
from rich.progress import Progress

from headwall_board.bench import DEFAULT_WAIT, JsonOption, PortOption, WaitOption, bar, session
from headwall_board.node_config import KEY_ENDS, SECRETS, without_secrets
from headwall_board.session import BenchError, Session

_SECTOR = 4096
_PIECE = 1024
#: the journal's partition; _sector(i) reads one and gives its hash, None where the flash is blank
_JOURNAL = f"""
import esp32
from hashlib import sha256 as _s
_p = esp32.Partition.find(esp32.Partition.TYPE_DATA, label='journal')
_n = _p[0].ioctl(4, 0) if _p else 0
_m = bytearray({_SECTOR})
_blank = b'\\xff' * 64
def _sector(i):
    _p[0].readblocks(i, _m)
    for at in range(0, {_SECTOR}, 64):
        if _m[at:at + 64] != _blank: return _b(_s(_m).digest())[:-1].decode()
    return None
"""


def register(app: typer.Typer) -> None:
    app.command("backup")(backup)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder is made in it, named by board and time")],
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="secrets too; the new folder is then yours alone to read")
    ] = False,
    journal: Annotated[bool, typer.Option("--journal/--no-journal", help="the journal's partition too")] = True,
    as_json: JsonOption = False,
) -> None:
    """Copy a board's configuration, journal and files to this machine. Secrets stay on the board unless asked for."""
    with bar(hidden=as_json) as shown, session(port, wait) as board:
        board.run("import machine")
        identity = board.ask("machine.unique_id().hex()")
        target = folder / f"{identity}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        _make(target, with_secrets)
        left_out = _copy_files(board, target, with_secrets, shown)
        if journal:
            _copy_journal(board, target / "journal.bin", shown)
    copied = {str(path.relative_to(target)): path for path in sorted(target.rglob("*")) if path.is_file()}
    told = {
        "mac": identity,
        "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in copied.items()},
        "left_out": left_out,
    }
    (target / "manifest.json").write_text(json.dumps(told, indent=1))
    if as_json:
        print(json.dumps({"port": board.port, "folder": str(target), **told}))
        return
    print(f"{len(copied)} files of {identity} are in {target}, each verified.")
    if left_out:
        print(f"Secrets were left out: {', '.join(left_out)}. With --with-secrets they come too.")


def _make(target: Path, private: bool) -> None:
    try:
        target.mkdir(parents=True, mode=0o700 if private else 0o777)
    except OSError as error:
        raise InputError(f"{target} cannot be made: {error.strerror}") from error


def _copy_files(board: Session, target: Path, with_secrets: bool, shown: Progress) -> list[str]:
    """Copy what is in the file system; what was left out or blacked out, for its secrets."""
    left_out = []
    files: dict[str, bytes] = {}
    for file in shown.track(board.files(), description="files"):
        name = file.path[1:]
        if (file.path == SECRETS or file.path.endswith(KEY_ENDS)) and not with_secrets:
            left_out.append(name)
            continue
        data = board.read(file.path)
        if data is None:
            raise BenchError(f"{file.path} vanished from the board at {board.port} while it was copied: try again")
        files[name] = data
    if not with_secrets:
        left_out += _black_out(files)
    for name, data in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    return left_out


def _black_out(files: dict[str, bytes]) -> list[str]:
    """Take the secrets out of JSON files, whole or a line each, and drop what holds one of them all the same."""
    touched, secrets = [], set[str]()
    for name, data in files.items():
        blacked = _as_json(data, secrets)
        if blacked is None:
            lines = [_as_json(line, secrets) or line for line in data.splitlines()]
            blacked = b"\n".join(lines) if lines != data.splitlines() else data
        if blacked != data:
            touched.append(f"passwords in {name}")
            files[name] = blacked
    for name in [name for name, data in files.items() if any(secret.encode() in data for secret in secrets)]:
        touched.append(name)
        del files[name]
    return touched


def _as_json(data: bytes, secrets: set[str]) -> bytes | None:
    """A JSON text without its secrets, which are added to `secrets`; as it is where it has none; None: no JSON."""
    try:
        given = json.loads(data)
    except ValueError:
        return None
    without = without_secrets(given, secrets)
    return data if without == given else json.dumps(without, ensure_ascii=False).encode()


def _copy_journal(board: Session, target: Path, shown: Progress) -> None:
    """Copy the journal's partition, sector by sector; what is blank on the board need not travel.

    Raises:
        BenchError: the board has none, or a sector did not come whole.
    """
    board.run(_JOURNAL)
    sectors = int(board.ask("_n"))
    if not sectors:
        raise BenchError(f"the board at {board.port} has no journal: --no-journal copies the rest")
    image = bytearray()
    for number in shown.track(range(sectors), description="journal"):
        wanted = board.ask(f"_sector({number})")
        if wanted is None:
            image += b"\xff" * _SECTOR
            continue
        data = b"".join(
            b64decode(board.run(f"print(_b(_m[{at}:{at + _PIECE}]).decode())")) for at in range(0, _SECTOR, _PIECE)
        )
        if hashlib.sha256(data).digest() != b64decode(wanted):
            raise BenchError(f"sector {number} of the journal did not come whole: check the cable, try again")
        image += data
    target.write_bytes(image)
