"""headwall.toml: defaults, paths, secrets, and every fault at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.errors import ConfigurationError
from headwall.settings import load_settings

WHOLE = """
registry = "registry.toml"
[mqtt]
host = "broker.example"
[smtp]
host = "mail.example"
sender = "headwall@example.org"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "registry.toml").write_text("")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "headwall.toml"
    path.write_text(text)
    return path


def faults_of(path: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(path)
    assert caught.value.source == str(path)
    return caught.value.faults


def test_smallest_file_gets_defaults(folder: Path) -> None:
    settings = load_settings(write(folder, WHOLE))
    assert (settings.mqtt.port, settings.mqtt.tls, settings.influx, settings.clock) == (8883, True, None, "system")


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    settings = load_settings(write(folder, WHOLE + '[ledger]\nurl = "sqlite:///data/l.db"\n'))
    assert settings.registry == folder / "registry.toml"
    assert settings.ledger.url == f"sqlite:///{folder}/data/l.db"


def test_default_ledger_lies_beside_the_file(folder: Path) -> None:
    assert load_settings(write(folder, WHOLE)).ledger.url == f"sqlite:///{folder}/headwall.db"


@pytest.mark.parametrize("url", ["sqlite:////var/lib/headwall/l.db", "postgresql+psycopg://db/headwall"])
def test_absolute_ledger_url_stays(folder: Path, url: str) -> None:
    assert load_settings(write(folder, WHOLE + f'[ledger]\nurl = "{url}"\n')).ledger.url == url


def test_secret_is_read_from_its_file_without_the_line_end(folder: Path) -> None:
    (folder / "pw").write_text("s3cret\n")
    settings = load_settings(write(folder, WHOLE + 'password_file = "pw"\n'))
    assert settings.smtp.password is not None
    assert settings.smtp.password.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(settings)


def test_every_fault_is_named_at_once(folder: Path) -> None:
    text = """
registry = "registry.toml"
tpyo = 1
[mqtt]
port = 99999
[smtp]
host = "mail.example"
sender = "headwall@example.org"
password_file = "nowhere"
security = "maybe"
"""
    faults = faults_of(write(folder, text))
    assert {fault.split(":")[0] for fault in faults} == {
        "tpyo",
        "mqtt.host",
        "mqtt.port",
        "smtp.password_file",
        "smtp.security",
    }


def test_missing_named_files_are_faults(folder: Path) -> None:
    (folder / "registry.toml").unlink()
    faults = faults_of(write(folder, WHOLE.replace("[smtp]", 'ca_file = "ca.pem"\n[smtp]')))
    assert [fault.split(":")[0] for fault in faults] == ["registry", "mqtt.ca_file"]


def test_empty_secret_file_is_a_fault(folder: Path) -> None:
    (folder / "pw").write_text("\n")
    assert faults_of(write(folder, WHOLE + 'password_file = "pw"\n')) == [
        f"smtp.password_file: {folder / 'pw'} is empty; write the password into it"
    ]


def test_password_and_password_file_together_are_a_fault_that_hides_the_password(folder: Path) -> None:
    (folder / "pw").write_text("one")
    faults = faults_of(write(folder, WHOLE + 'password = "hunter2"\npassword_file = "pw"\n'))
    assert faults == ["smtp.password_file: give either password or password_file, not both"]


def test_absent_file_is_named(tmp_path: Path) -> None:
    assert "no such file" in faults_of(tmp_path / "headwall.toml")[0]


@pytest.mark.parametrize("content", [b"registry = ", b"\xff\xfe", b"registry = 1\nregistry = 2"])
def test_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "headwall.toml"
    path.write_bytes(content)
    assert faults_of(path)[0].startswith("is not TOML")


@pytest.mark.parametrize("text", ["mqtt = 3\nledger = 4\nregistry = 5", "influx = []\nsmtp = 'x'"])
def test_values_in_place_of_tables_are_faults(tmp_path: Path, text: str) -> None:
    assert len(faults_of(write(tmp_path, text))) >= 3
