"""The node's figures: bytes on the wire, wear of the flash beside LittleFS in the same run, smallest heap.

Flash is RAM that counts its operations, so the times tell the program's own share and not the chip's.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headwall_board.release import compiled
from headwall_sim.every_kind import ON_BATTERY, ON_MAINS
from node_day import NodeDay, node_day
from node_heap import board_passes
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "node"
STUBS = ROOT / "host_tests" / "firmware" / "stubs"
BIN = Path(sys.executable).parent
#: of a TLS 1.2 AES-GCM record: header 5, explicit nonce 8, tag 16 (RFC 5246, RFC 5288)
TLS_BYTES = 29
TOPIC = "headwall/v1/oak-street-basin/tele"


def micropython(script: str, lib: Path, heap_kb: int, text: str = "") -> str | None:
    """What a script printed, or None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [BIN / "micropython", "-X", f"heapsize={heap_kb}K", SCRIPTS / script],
            env={**os.environ, "MICROPYPATH": f"{STUBS}:{lib}:.frozen"},
            cwd=folder,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
    return done.stdout if done.returncode == 0 else None


def numbers(script: str, lib: Path, text: str = "") -> dict[str, Any]:
    said = micropython(script, lib, 4096, text)
    if said is None:
        raise SystemExit(f"{SCRIPTS / script} failed in MicroPython; run it by hand to see why")
    found: dict[str, Any] = json.loads(said)
    return found


def compile_to(target: Path) -> Path:
    """The firmware as a release has it."""
    for source in (ROOT / "firmware" / "lib").rglob("*.py"):
        out = (target / source.relative_to(ROOT / "firmware" / "lib")).with_suffix(".mpy")
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(compiled(source, source.stem))
    return target


def smallest(passes: Callable[[int], bool], high: int, low: int = 4, step: int = 1) -> int:
    """Least heap in KB, to `step`, that passes, by halving; `low` must fail and `high` pass."""
    while high - low > step:
        middle = (low + high) // 2 // step * step
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def smallest_board(mode: str, sensors: Sequence[dict[str, Any]]) -> int:
    """Least heap in KB of a whole board with these sensors."""

    def passes(heap_kb: int) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            return board_passes(Path(folder), heap_kb, mode, sensors)

    return smallest(passes, 176, low=96, step=8)


def day(*, plain: bool) -> NodeDay:
    with tempfile.TemporaryDirectory() as folder:
        return node_day(Path(folder), plain=plain)


def mqtt_bytes(payload: int) -> int:
    """A QoS 1 PUBLISH with that payload (MQTT 3.1.1, 3.3), in one TLS record."""
    rest = 2 + len(TOPIC) + 2 + payload
    return 1 + (1 if rest < 128 else 2) + rest + TLS_BYTES


def storm() -> list[int]:
    """Instants of 300 tips, intervals drawn from 5 s to 5 min by a fixed seed, ms."""
    draw = random.Random(1)
    times = [1_781_000_000_123]
    for _ in range(299):
        times.append(times[-1] + int(5000 * 60 ** draw.random()))
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lib = compile_to(Path(folder))
        packs = numbers("packs.py", lib, json.dumps(storm()))
        appends = numbers("appends.py", lib)
        heap = smallest(lambda kb: micropython("heap.py", lib, kb) is not None, 128)
        heap_source = smallest(lambda kb: micropython("heap.py", ROOT / "firmware" / "lib", kb) is not None, 256)
        mounting = numbers("mounting.py", lib)
    boards = {
        "a rain gauge on mains": smallest_board("mains", ON_MAINS[:1]),
        "every kind on battery": smallest_board("battery", ON_BATTERY),
        "every kind on mains": smallest_board("mains", ON_MAINS),
    }
    ours, plain = day(plain=False), day(plain=True)
    table = Table("node", "figure", "beside")
    for batch in ("50", "1"):
        payload, whole = sum(packs[batch]), sum(map(mqtt_bytes, packs[batch]))
        table.add_row(
            f"bytes a reading, batches of {batch}",
            f"{payload / 300:.1f} SenML",
            f"{whole / 300:.1f} with PUBLISH and TLS record",
        )
    count = appends["count"]
    (erases, written, us, commits), (lfs_erases, lfs_written, lfs_us, _) = appends["journal"], appends["littlefs"]
    table.add_row("erases a record", f"{erases / count:.4f}", f"{lfs_erases / count:.4f} LittleFS, closed one by one")
    table.add_row("bytes programmed a record", f"{written / count:.1f}", f"{lfs_written / count:.1f} LittleFS")
    table.add_row("NVS commits a record", f"{commits / count:.4f}", "")
    table.add_row(
        "append, µs (flash in RAM)", f"{us / count:.0f}", f"{lfs_us / count:.0f} LittleFS: {lfs_us / us:.1f} times"
    )
    table.add_row("smallest heap, journal and packs", f"{heap} KB as .mpy", f"{heap_source} KB as .py")
    for sensors, board in boards.items():
        table.add_row(f"smallest heap, {sensors}", f"{board} KB as .mpy", "TLS and code in it, 64-bit objects")
    table.add_row("mount of a full journal, ms (flash in RAM)", f"{mounting['full_us'] / 1000:.1f}", "")
    for name, figure in (
        ("awake, s a day", "{0.awake_s:.0f}"),
        ("starts a day", "{0.starts}"),
        ("connections a day", "{0.connections}"),
        ("bytes on the network a day, TLS and all", "{0.wire_bytes}"),
        ("readings at the broker", "{0.readings}"),
        ("flash programs a day", "{0.flash_programs}"),
        ("flash erases a day", "{0.flash_erases}"),
    ):
        table.add_row(name, figure.format(ours), figure.format(plain) + " plain JSON, no journal")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
