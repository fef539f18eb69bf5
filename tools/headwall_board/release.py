"""What is put on a board: the files of firmware/, compiled, and the drivers from PyPI that they use unmodified."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headwall.errors import InputError
from headwall_sim.rom import compile_module

#: package → its modules that the node's BME280 driver uses
DRIVERS: Final = {
    "adafruit_bme280": ("__init__", "basic", "protocol"),
    "adafruit_bus_device": ("__init__", "i2c_device"),
}
#: folders and files on a board that are Headwall's alone: what is in them and not in the release is removed
OURS: Final = ("/lib/headwall_node/", *(f"/lib/{name}/" for name in DRIVERS))
#: what an update over the air leaves; a program put on by cable ends it
OVER_THE_AIR: Final = ("/slot_a/", "/slot_b/", "/slots.", "/update.bundle")
#: what a program makes of the settings for itself: another program makes its own
PREPARED: Final = "/config.run"
#: written last, removed first: without it a board waits at its prompt
PROGRAM: Final = "/main.py"
#: of compiled files, as sys.implementation._mpy & 0xFF says it (mpy-cross 1.24 to 1.29 write 6)
MPY_VERSION: Final = 6


@dataclass(frozen=True)
class Release:
    """One version of the node's program.

    Attributes:
        version: as the board tells it in its state.
        files: absolute path on a board → content, in the order in which they are to be written.
    """

    version: str
    files: Mapping[str, bytes]


def build_release(firmware: Path, tell: Callable[[int, int], None] | None = None) -> Release:
    """Compile what a board needs.

    Args:
        firmware: the folder with main.py, boot.py and lib/.
        tell: given (files done, files in all).

    Raises:
        InputError: a file does not compile, or the BME280's driver is not installed.
    """
    modules = [(path, str(path.relative_to(firmware))) for path in sorted((firmware / "lib").rglob("*.py"))]
    modules += driver_modules()
    files: dict[str, bytes] = {}
    for number, (source, name) in enumerate(modules, 1):
        files[f"/{Path(name).with_suffix('.mpy')}"] = compiled(source, name)
        if tell is not None:
            tell(number, len(modules))
    for name in ("boot.py", PROGRAM[1:]):
        files[f"/{name}"] = (firmware / name).read_bytes()
    return Release(version_of(firmware), files)


def version_of(firmware: Path) -> str:
    """The version that the program of this folder tells.

    Raises:
        InputError: it tells none.
    """
    path = firmware / "lib" / "headwall_node" / "__init__.py"
    found = re.search(r'^VERSION = "([^"]+)"$', path.read_text(), re.MULTILINE)
    if found is None:
        raise InputError(f"{path} has no line VERSION")
    return found[1]


def compiled(source: Path, name: str) -> bytes:
    """The content of a module as .mpy, for the path `name` on a board. Raises as compile_module does."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.mpy"
        compile_module(source, target, Path(name).stem)
        return target.read_bytes()


def driver_modules() -> list[tuple[Path, str]]:
    """File and place on a board of each module of DRIVERS.

    Raises:
        InputError: one is not installed.
    """
    found = []
    for package, modules in DRIVERS.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise InputError(f"{package} is not installed: pip install 'headwall[board]'")
        folder = Path(spec.origin).parent
        found += [(folder / f"{module}.py", f"lib/{package}/{module}.py") for module in modules]
    return found
