"""The key of the links in mails: made whole or not at all, one for all processes, and what is wrong with it is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from headwall.errors import ConfigurationError
from headwall.notify.links import Links


def links(file: Path) -> Links:
    return Links(file, "http://127.0.0.1:8080", 60)


def test_a_key_whose_writing_was_cut_off_never_has_the_name_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut while it is written, before it is on the disk."""
    file = tmp_path / "link.key"

    def cut(_handle: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", cut)
        with pytest.raises(KeyboardInterrupt):
            links(file).url("<1@x>", 0)
    assert not file.exists()
    made = links(file).url("<1@x>", 0)
    assert (made, file.stat().st_mode & 0o777) == (links(file).url("<1@x>", 0), 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["link.key"]


def test_of_two_processes_that_make_a_key_at_once_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, first, link = tmp_path / "link.key", "a1" * 32 + "\n", os.link

    def late(source: Path, target: Path) -> None:
        file.write_text(first)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    made = links(file).url("<1@x>", 0)
    assert file.read_text() == first
    assert links(file).url("<1@x>", 0) == made


@pytest.mark.parametrize(("holds", "said"), [("", "is empty"), ("\n", "is empty"), ("12ab", "holds no key of 64")])
def test_a_file_without_a_key_says_which_and_what_to_do(tmp_path: Path, holds: str, said: str) -> None:
    file = tmp_path / "link.key"
    file.write_text(holds)
    with pytest.raises(ConfigurationError, match=f"the key of links {said}.*delete it") as refused:
        links(file).url("<1@x>", 0)
    assert refused.value.source == str(file)
    file.unlink()
    assert links(file).url("<1@x>", 0)


def test_a_place_where_no_key_can_be_kept_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be kept there: .*notify\.link_key"):
        links(tmp_path / "nowhere" / "link.key").url("<1@x>", 0)
