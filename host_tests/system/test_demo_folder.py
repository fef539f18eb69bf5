"""The demo's folder is emptied before a run: only ever the demo's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.errors import HeadwallError
from headwall_sim.demo.folder import MARK, own_folder


def test_new_and_empty_folders_are_taken_and_what_a_demo_left_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "demo-run"
    for _ in range(2):
        with own_folder(folder):
            assert [found.name for found in folder.iterdir()] == [MARK]
            (folder / "boards").mkdir()
            (folder / "boards" / "flash").write_text("x")
            (folder / "outside").symlink_to(tmp_path)
    assert tmp_path.exists()


def test_folder_with_other_files_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(HeadwallError, match="not the demo's"), own_folder(tmp_path):
        pass
    assert [found.name for found in tmp_path.iterdir()] == ["thesis.txt"]


def test_folder_of_a_demo_that_runs_is_refused_untouched(tmp_path: Path) -> None:
    with own_folder(tmp_path):
        (tmp_path / "ledger").write_text("in use")
        with pytest.raises(HeadwallError, match="another demo"), own_folder(tmp_path):
            pass
        assert (tmp_path / "ledger").exists()


@pytest.mark.parametrize("place", ["/proc/demo-run", "/dev/null/demo-run", "/dev/null"])
def test_folder_that_cannot_be_written_is_said(place: str) -> None:
    with pytest.raises(HeadwallError, match="cannot be the demo's folder"), own_folder(Path(place)):
        pass
