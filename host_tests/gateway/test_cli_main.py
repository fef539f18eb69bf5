"""The command as a whole: what it does about settings and a ledger that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.fleet import registry_toml

HEADWALL = Path(sys.executable).with_name("headwall")


def write_config(folder: Path, mqtt: str = "") -> Path:
    (folder / "registry.toml").write_text(registry_toml())
    config = folder / "headwall.toml"
    config.write_text(
        f'registry = "registry.toml"\n[mqtt]\nhost = "localhost"\n{mqtt}'
        '[smtp]\nhost = "localhost"\nsender = "a@b.example"\n[web]\nenabled = false\n'
    )
    return config


def headwall(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HEADWALL), *words], capture_output=True, text=True, timeout=60, check=False)


def test_a_ledger_that_cannot_be_opened_is_said_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "headwall.db").write_bytes(b"no database " * 500)
    done = headwall("duty", "list", "--config", str(write_config(tmp_path)))
    assert done.returncode == 1
    assert done.stderr.startswith("headwall: ledger sqlite:///") and "file is not a database" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_names_a_ca_file_without_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    done = headwall("run", "--config", str(write_config(tmp_path, 'ca_file = "ca.pem"\n')))
    assert done.returncode == 1
    assert "mqtt.ca_file" in done.stderr and "ca.pem" in done.stderr and "Traceback" not in done.stderr


def test_an_argument_that_is_no_text_is_said_without_a_traceback() -> None:
    done = subprocess.run([str(HEADWALL), "law", "list", b"\xff"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no UTF-8 text" in done.stderr and "Traceback" not in done.stderr


def test_output_to_a_full_disk_is_said_without_a_traceback() -> None:
    rain = Path(__file__).parents[2] / "docs" / "examples" / "rain.csv"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(HEADWALL), "storms", str(rain), "--tz", "UTC"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "headwall: cannot write: No space left" in done.stderr and "Traceback" not in done.stderr
