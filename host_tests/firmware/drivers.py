"""Runs a script about one driver in the real MicroPython, on virtual time, with models of devices on its buses."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mp
from headwall_board.release import driver_modules

PLACES = (Path(__file__).parent / "vtime", mp.STUBS, mp.SCRIPTS, mp.ROOT / "tools" / "headwall_sim" / "board")


def run(script: str | Path, *more: Path, args: Sequence[str] = (), heap: str = "512K") -> list[Any]:
    """What a script said with driver_bench.say(), one entry a line.

    Args:
        script: its text, or its file.
        more: further folders for its search path, as one with the libraries of PyPI.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = script if isinstance(script, Path) else Path(folder) / "script.py"
        if isinstance(script, str):
            path.write_text(textwrap.dedent(script))
        places = [*PLACES, mp.library, libraries(), *more, ".frozen"]
        done = subprocess.run(
            [*mp.command(heap), path, *args],
            env={**os.environ, "MICROPYPATH": ":".join(map(str, places))},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, f"MicroPython ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '[{"tfn0123456789-']


@functools.cache
def libraries() -> Path:
    """The drivers of PyPI that a release puts on a board, in a folder of their own; removed when Python ends."""
    for source, name in driver_modules():
        target = Path(_folder().name) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    return Path(_folder().name) / "lib"


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headwall-drivers-")
