"""`headwall board deploy`: the node's program on a board, only what differs, every file verified."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from headwall.errors import InputError

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
from headwall_board.partitions import JOURNAL
from headwall_board.release import MPY_VERSION, OURS, OVER_THE_AIR, PREPARED, PROGRAM, Release
from headwall_board.session import BenchError, BoardFile, Session


def register(app: typer.Typer) -> None:
    app.command("deploy")(deploy)


@dataclass(frozen=True)
class Plan:
    """What has to happen to a board: paths to remove and to write, in order, and how many files are right already."""

    remove: list[str]
    write: list[str]
    same: int


def deploy(
    port: PortOption = None,
    wait: WaitOption = DEFAULT_WAIT,
    firmware: FirmwareOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be done")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put the node's program on a board: only what differs, every file verified.

    Configuration, secrets and journal stay. Interrupted, it goes on where it was when it is run again; until then
    the board waits at its prompt.
    """
    with bar(hidden=as_json) as shown:
        release = compiled_release(firmware, shown)
        with session(port, wait) as board:
            check_board(board)
            compare = shown.add_task("compare", total=None)
            there = board.files(lambda: shown.advance(compare))
            plan = plan_for(release, there)
            if not dry_run:
                write = shown.add_task("write", total=len(plan.remove) + len(plan.write))
                carry_out(plan, release, board, lambda: shown.advance(write))
    if as_json:
        told = {"version": release.version, "port": board.port, "dry_run": dry_run}
        print(json.dumps({**told, "written": plan.write, "removed": plan.remove, "same": plan.same}))
        return
    for path in plan.remove:
        print(f"{'would remove' if dry_run else 'removed'} {path}")
    for path in plan.write:
        print(f"{'would write' if dry_run else 'wrote'} {path}, {len(release.files[path])} bytes")
    done = "would be written" if dry_run else "written and verified"
    print(f"Version {release.version}: {len(plan.write)} files {done}, {plan.same} were right already.")


def check_board(board: Session) -> int:
    """Size of the journal's partition in bytes, of a board that can run the program.

    Raises:
        BenchError: its MicroPython reads other .mpy files.
        InputError: it has no partition for the journal.
    """
    board.run("import sys")
    reads = int(board.ask("getattr(sys.implementation, '_mpy', 0)")) & 0xFF
    if reads != MPY_VERSION:
        version = ".".join(str(part) for part in board.ask("list(sys.implementation[1][:3])"))
        raise BenchError(
            f"MicroPython {version} on the board at {board.port} cannot read .mpy files of version {MPY_VERSION}; "
            "it needs 1.24 or newer: headwall board flash IMAGE"
        )
    board.run("import esp32")
    sizes = board.ask(f"[p.info()[3] for p in esp32.Partition.find(esp32.Partition.TYPE_DATA, label={JOURNAL!r})]")
    if not sizes:
        raise InputError(
            f"the board at {board.port} has no partition for the journal, where readings wait for the gateway. Put "
            f"MicroPython on it anew with: headwall board flash IMAGE --port {board.port} (erases its files; IMAGE is "
            "from micropython.org)"
        )
    return int(sizes[0])


def plan_for(release: Release, there: Sequence[BoardFile]) -> Plan:
    """What differs between a release and the files of a board."""
    hashes = {file.path: file.sha256 for file in there}
    changed = [path for path, data in release.files.items() if hashes.get(path) != hashlib.sha256(data).hexdigest()]
    ends = (*OURS, *OVER_THE_AIR)
    extra = [path for path in hashes if path not in release.files and (path.startswith(ends) or path.endswith(".part"))]
    if (changed or extra) and PREPARED in hashes:
        extra.append(PREPARED)
    if (changed or extra) and PROGRAM in hashes:
        # half a program must not start, though each of its files is whole
        extra.insert(0, PROGRAM)
        changed = [*(path for path in changed if path != PROGRAM), PROGRAM]
    return Plan(extra, changed, len(release.files) - len(changed))


def carry_out(plan: Plan, release: Release, board: Session, done: Callable[[], None]) -> None:
    """Remove and write; `done` is called after each file.

    Raises:
        BenchError: the board is full, or does not keep what is written; what was written before stays.
    """
    for path in plan.remove:
        board.remove(path)
        done()
    for path in plan.write:
        board.write(path, release.files[path])
        done()
