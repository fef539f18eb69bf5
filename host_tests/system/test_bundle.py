"""`headwall board bundle` and what the gateway reads of a bundle."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from headwall.errors import InputError
from headwall.wire.bundle import BundleFile, Head, read_bundle
from headwall_board import cli
from headwall_board.bundle import PRIVATE, PUBLIC, is_signed, make_bundle, make_key, read_private
from headwall_board.release import Release
from typer.testing import CliRunner

RELEASE = Release("1.2.3", {"/lib/headwall_node/a.mpy": b"one", "/lib/other/b.mpy": b"two", "/main.py": b"three"})


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("key")
    make_key(folder)
    return folder


@pytest.fixture
def bundle(key: Path) -> bytes:
    return make_bundle(RELEASE, "esp32", read_private(key / PRIVATE))


def run(*args: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli.build("bundle"), ["bundle", *map(str, args)])
    return done.exit_code, done.stdout if done.exception is None or done.exit_code else str(done.exception)


def test_key_is_private_and_never_made_twice(key: Path) -> None:
    assert stat.S_IMODE((key / PRIVATE).stat().st_mode) == 0o600
    assert len((key / PUBLIC).read_bytes()) == 384
    with pytest.raises(InputError, match="is there already"):
        make_key(key)


def test_bundle_has_the_program_alone(bundle: bytes, key: Path) -> None:
    found = read_bundle(bundle, "x")
    assert [file.path for file in found.head.files] == ["headwall_node/a.mpy"], "main.py and drivers come by cable"
    assert (found.head.version, found.head.chip, found.head.size) == ("1.2.3", "esp32", len(bundle))
    assert is_signed(found, key / PUBLIC)


def test_bundle_of_another_key_is_not_signed(bundle: bytes, tmp_path: Path) -> None:
    make_key(tmp_path)
    assert not is_signed(read_bundle(bundle, "x"), tmp_path / PUBLIC)


@pytest.mark.parametrize("at", [0, 5, 8, 30, 80, -1])
def test_altered_bundle_is_refused_or_not_signed(at: int, bundle: bytes, key: Path) -> None:
    altered = bytearray(bundle)
    altered[at] ^= 1
    try:
        found = read_bundle(bytes(altered), "x.hwb")
    except InputError as error:
        assert "x.hwb" in str(error)
    else:
        assert not is_signed(found, key / PUBLIC)


@pytest.mark.parametrize("size", range(0, 480, 37))
def test_truncated_bundle_is_refused(size: int, bundle: bytes) -> None:
    with pytest.raises(InputError):
        read_bundle(bundle[:size], "x")


@pytest.mark.parametrize("path", ["/etc/x.mpy", "../x.mpy", "a/../x.mpy", "x.py", "A.mpy"])
def test_path_that_leaves_the_slot_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="a path in a bundle"):
        Head("1", "esp32", 6, 0, (BundleFile(path, 1, bytes(32)),)).pack()


def test_show_tells_a_bad_signature_by_its_exit_code(bundle: bytes, key: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.hwb"
    file.write_bytes(bundle)
    code, said = run("show", file, "--key", key / PUBLIC, "--json")
    assert code == 0 and json.loads(said)["signed"] is True
    make_key(tmp_path)
    code, said = run("show", file, "--key", tmp_path / PUBLIC)
    assert code == 1 and "signature: BAD" in said


def test_make_without_a_key_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="headwall board bundle key"):
        read_private(tmp_path / PRIVATE)
