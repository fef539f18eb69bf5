"""Putting MicroPython on a board: what is on it is looked at first, what would be lost is said, the rest is kept.

A board that already has the same layout keeps its files and its journal with the readings in it. Everything goes
through esptool as a program of its own (its licence is the GPL's), whose exit codes count; it verifies what it wrote
by MD5, and each part is verified once more when all is written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headwall.errors import InputError
from headwall_sim.journal_reader import read_journal

from headwall_board import partitions
from headwall_board.image import Image, blank
from headwall_board.partitions import JOURNAL, TABLE_BYTES, TABLE_OFFSET, Partition

#: told (what is done, percent of it)
Progress = Callable[[str, float], None]

_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?)%")
_CHIP: Final = re.compile(r"Connected to (\S+) on")
_FLASH: Final = re.compile(r"Detected flash size: (\d+)([KM])B")
#: what esptool says → what to do about it
_ADVICE: Final = (
    (
        ("Could not open", "busy or doesn't exist"),
        "is it plugged in, and does no other program (console, mpremote) use it?",
    ),
    (
        ("Failed to connect", "No serial data received"),
        "hold the button BOOT (GPIO 0), press RESET (EN), let BOOT go, and give --no-reset",
    ),
    (("Failed to start stub",), "try again with --no-stub"),
    (
        ("Hash of data", "Verification failed"),
        "the flash does not keep what is written to it, or the cable garbles it: try --baud 115200",
    ),
)


@dataclass(frozen=True)
class Esptool:
    """How to reach a chip.

    Attributes:
        reset: whether esptool drives the lines that put the chip into its loader, and resets it at the end.
        stub: whether esptool may load its own program into the chip; slower without.
    """

    port: str
    baud: int = 460800
    reset: bool = True
    stub: bool = True

    def run(self, *words: str, last: bool = False, tell: Callable[[float], None] | None = None) -> str:
        """Run one command of esptool; what it printed.

        Args:
            last: start the board's program afterwards.
            tell: given the percent that esptool prints.

        Raises:
            InputError: it did not end with 0; says why and what to do.
        """
        command = [sys.executable, "-m", "esptool", "--port", self.port, "--baud", str(self.baud)]
        command += ["--before", "default-reset" if self.reset else "no-reset"]
        command += ["--after", "hard-reset" if self.reset and last else "no-reset"]
        command += [] if self.stub else ["--no-stub"]
        said: list[str] = []
        with subprocess.Popen(
            [*command, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"},
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                said.append(line)
                if tell is not None and (percent := _PERCENT.search(line)):
                    tell(float(percent[1]))
        text = "".join(said)
        if running.returncode:
            raise InputError(_why(self.port, words[0], text))
        return text

    def read(self, offset: int, size: int, tell: Callable[[float], None] | None = None) -> bytes:
        """Bytes of the flash; with its stub esptool checks their MD5 on the way."""
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "read.bin"
            self.run("read-flash", hex(offset), hex(size), str(target), tell=tell)
            return target.read_bytes()


def _why(port: str, command: str, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("No module named esptool" in line for line in lines):
        return "esptool is not installed; install it: pip install 'headwall[board]'"
    fatal = next((n for n, line in enumerate(lines) if "fatal error occurred" in line), None)
    why = lines[fatal].split("occurred:", 1)[1].strip() if fatal is not None else (lines or ["it said nothing"])[-1]
    advice = next(
        (what for signs, what in _ADVICE if any(sign in text for sign in signs)), "see what esptool says of it"
    )
    return f"{port}: esptool {command} failed: {why} ({advice})"


@dataclass(frozen=True)
class Board:
    """What a board turned out to be; `table` is empty for an empty flash, None where it cannot be read."""

    chip: str
    flash_bytes: int
    table: list[Partition] | None


@dataclass(frozen=True)
class Plan:
    """What is written, and what that does to what the board holds.

    Attributes:
        parts: (offset, bytes), all that is written.
        keeps_files, keeps_journal: whether what the board has stays.
        lost: what it has that will not, in words; empty for a board that holds nothing.
    """

    table: list[Partition]
    parts: list[tuple[int, bytes]]
    keeps_files: bool
    keeps_journal: bool
    lost: list[str]


def look(tool: Esptool) -> Board:
    """Ask the chip what it is, and read its partition table.

    Raises:
        InputError: nothing answers, or the flash does not say its size.
    """
    said = tool.run("flash-id")
    chip, size = _CHIP.search(said), _FLASH.search(said)
    if chip is None or size is None:
        raise InputError(f"{tool.port}: esptool does not tell chip and flash size; it said:\n{said}")
    flash_bytes = int(size[1]) << (20 if size[2] == "M" else 10)
    content = tool.read(TABLE_OFFSET, TABLE_BYTES)
    try:
        table = partitions.parse_table(content, tool.port) if content.strip(b"\xff") else []
    except InputError:
        table = None
    return Board(chip[1], flash_bytes, table)


def plan(
    image: Image, board: Board, tool: Esptool, *, journal_bytes: int, erase: bool, tell: Progress = lambda _, __: None
) -> Plan:
    """Hold an image against a board.

    Args:
        erase: keep nothing, NVS included.

    Raises:
        InputError: the image is not for this board, or there is no room for a journal.
    """
    if board.chip != image.chip.name:
        raise InputError(f"{image.path} is for {image.chip.name}, but the board at {tool.port} is {board.chip}")
    if board.flash_bytes < image.flash_bytes:
        raise InputError(
            f"{image.path} is for {image.flash_bytes >> 20} MiB of flash, but the board at {tool.port} has "
            f"{board.flash_bytes / (1 << 20):g} MiB"
        )
    table = partitions.with_journal(image.table, image.flash_bytes, journal_bytes)
    files, journal = partitions.files_of(table), partitions.find(table, JOURNAL)
    assert files is not None and journal is not None
    held = board.table or []
    keeps_files = files in held and not erase
    keeps_journal = journal in held and not erase
    parts = image.parts(table)
    if not keeps_files:  # else MicroPython takes the rest of another file system for a corrupt one, and waits
        parts.append(blank(files, sectors=2))
    if not keeps_journal:
        parts.append(blank(journal))
    if erase:
        parts += [blank(row) for row in table if row.label == "nvs"]
    lost = _lost(held, keeps_files, keeps_journal, tool, tell)
    if board.table is None:
        lost.append("whatever is on its flash: its partition table cannot be read")
    return Plan(table, parts, keeps_files, keeps_journal, lost)


def _lost(
    held: Sequence[Partition], keeps_files: bool, keeps_journal: bool, tool: Esptool, tell: Progress
) -> list[str]:
    lost = []
    if held and not keeps_files:
        lost.append("all files on the board: its program, configuration and keys")
    journal = partitions.find(held, JOURNAL)
    if journal is not None and not keeps_journal:
        found = read_journal(tool.read(journal.offset, journal.size, lambda done: tell("reading the journal", done)))
        if found.records:
            first, last = found.records[0].seq, found.records[-1].seq
            lost.append(
                f"{len(found.records)} readings in its journal, numbers {first} to {last}: those that the gateway does "
                "not have yet are lost for good (headwall board backup copies them)"
            )
    return lost


def write(plan: Plan, tool: Esptool, tell: Progress = lambda _, __: None) -> None:
    """Write and verify everything, then start the board.

    Raises:
        InputError: esptool could not, or the flash does not hold what was written.
    """
    with tempfile.TemporaryDirectory() as folder:
        words: list[str] = []
        for number, (offset, data) in enumerate(plan.parts):
            file = Path(folder) / f"{number}.bin"
            file.write_bytes(data)
            words += [hex(offset), str(file)]
        keep = ["--flash-mode", "keep", "--flash-freq", "keep", "--flash-size", "keep"]
        tool.run("write-flash", *keep, *words, tell=_overall(plan, lambda done: tell("writing", done)))
        tell("verifying", 0)
        tool.run("verify-flash", *keep, *words, last=True)
        tell("verifying", 100)


def _overall(plan: Plan, tell: Callable[[float], None]) -> Callable[[float], None]:
    """Percent of all bytes, from the percent of one part after the other."""
    sizes = [len(data) for _, data in plan.parts]
    state = [0, 0.0]  # which part, its last percent

    def told(percent: float) -> None:
        if percent < state[1]:
            state[0] = min(int(state[0]) + 1, len(sizes) - 1)
        state[1] = percent
        number = int(state[0])
        tell((sum(sizes[:number]) * 100 + sizes[number] * percent) / sum(sizes))

    return told
