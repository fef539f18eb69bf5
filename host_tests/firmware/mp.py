"""Run a script in the real MicroPython against the board's own files, with boards' parts replaced where asked."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRMWARE = ROOT / "firmware" / "lib"
STUBS = Path(__file__).parent / "stubs"
BIN = Path(sys.executable).parent


def run(script: str, *args: str, lib: Path = FIRMWARE, heap: str = "128K", cwd: Path | None = None) -> str:
    """Standard output of `script`; an exit code other than 0 is an AssertionError that shows what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(script)
        done = subprocess.run(
            [BIN / "micropython", "-X", f"heapsize={heap}", path, *args],
            env={**os.environ, "MICROPYPATH": f"{STUBS}:{lib}:.frozen"},
            cwd=cwd or folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, f"MicroPython ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@functools.cache
def compiled() -> Path:
    """A copy of the firmware compiled by mpy-cross, as a release has it."""
    target = Path(tempfile.mkdtemp(prefix="headwall-mpy-"))
    for source in FIRMWARE.rglob("*.py"):
        out = (target / source.relative_to(FIRMWARE)).with_suffix(".mpy")
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([BIN / "mpy-cross", source, "-o", out], check=True)
    return target
