"""Power cut at every flash operation of an update: the old version or the new one runs, and the update gets through."""

from __future__ import annotations

import shutil
from pathlib import Path

import mp
import pytest
from headwall_board.bundle import PRIVATE, PUBLIC, make_bundle, make_key, read_private
from headwall_board.release import Release, compiled
from support.long import LONG

#: what the small node is made of, beside its update_app.py
MODULES = ("slots", "slots_read", "order", "update", "install", "log", "chip")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key")
    return tmp_path / "key"


def build(folder: Path, version: str) -> Release:
    """The small node in a version."""
    source = folder / f"{version}.py"
    source.write_text(f'VERSION = "{version}"\nBUILD_MS = 0\n')
    modules = {name: mp.FIRMWARE / "headwall_node" / f"{name}.py" for name in MODULES}
    modules |= {"__init__": source, "app": mp.SCRIPTS / "update_app.py"}
    files = {f"/lib/headwall_node/{name}.mpy": compiled(path, name) for name, path in modules.items()}
    files["/lib/headwall_start.mpy"] = compiled(mp.FIRMWARE / "headwall_start.py", "headwall_start")
    return Release(version, files)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "end", "first"), [("new", "new confirmed", 0), ("crashing", "old rolled_back", 1)])
def test_power_cut_at_every_operation_of_an_update_leaves_the_old_or_the_new_version(
    version: str, end: str, first: int, key: Path, tmp_path: Path
) -> None:
    """Every third operation from the `first` on, where all of them are not asked for."""
    board = tmp_path / "board"
    for path, data in build(tmp_path, "old").files.items():
        (board / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (board / path[1:]).write_bytes(data)
    shutil.copyfile(mp.ROOT / "firmware" / "main.py", board / "main.py")
    bundle = tmp_path / "bundle"
    bundle.write_bytes(make_bundle(build(tmp_path, version), "linux", read_private(key / PRIVATE)))
    said = mp.run(mp.SCRIPTS / "update_cuts.py", board, bundle, key / PUBLIC, end, first, 1 if LONG else 3, heap="16M")
    print(said)
    last = said.splitlines()[-1]
    assert last.startswith("held ") and " old none" in last and f" {end}" in last
