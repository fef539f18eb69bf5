"""The files under deploy/ say what the tests and the contract rely on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from headwall_board.certs import Authority, issue_server
from headwall_board.mosquitto import acl_text
from headwall_sim import parts
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, MosquittoBroker, open_broker
from headwall_sim.server_process import ServerProcess, accepts, free_port

DEPLOY = Path(__file__).parents[2] / "deploy"


def statements(text: str) -> list[str]:
    """The lines of a file that are neither empty nor comments."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_acl_grants_what_the_contract_says() -> None:
    assert sorted(statements((DEPLOY / "acl").read_text())) == sorted(statements(acl_text(["headwall-gateway"])))


@pytest.mark.mosquitto
def test_broker_of_the_tests_has_the_settings_of_deploy(tmp_path: Path) -> None:
    broker = open_broker(tmp_path, [Account("gauge-a", "x")], "mosquitto")
    assert isinstance(broker, MosquittoBroker)
    shipped = statements((DEPLOY / "mosquitto.conf").read_text())
    places = re.compile(r"^(listener|certfile|keyfile|password_file|acl_file|persistence_location|log_type|user)\b")
    tested = [line for line in statements((tmp_path / "mosquitto.conf").read_text()) if not places.match(line)]
    assert [line for line in tested if line not in shipped] == []


@pytest.mark.mosquitto
def test_shipped_mosquitto_conf_is_accepted_by_mosquitto(tmp_path: Path, ca: Authority) -> None:
    server = issue_server(tmp_path, ca, ["localhost"], NOT_BEFORE, NOT_AFTER)
    port = free_port()
    text = (DEPLOY / "mosquitto.conf").read_text()
    for shipped, here in {
        "listener 8883": f"listener {port} 127.0.0.1",
        "/etc/mosquitto/certs/server.pem": str(server.cert),
        "/etc/mosquitto/certs/server.key": str(server.key),
        "/etc/mosquitto/passwords": str(tmp_path / "passwords"),
        "/etc/mosquitto/acl": str(DEPLOY / "acl"),
        "/var/lib/mosquitto/": f"{tmp_path}/",
    }.items():
        assert shipped in text
        text = text.replace(shipped, here)
    (tmp_path / "passwords").touch(mode=0o600)
    conf = tmp_path / "conf"
    conf.write_text(text + ("user root\n" if os.geteuid() == 0 else ""))
    program = parts.find("mosquitto")
    assert program is not None
    running = ServerProcess("mosquitto", [str(program), "-c", str(conf)], tmp_path / "log", lambda: accepts(port))
    running.start()  # it ends at once over a setting that it does not know or cannot use
    assert running.pid is not None
    running.stop()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on the PATH")
def test_systemd_unit_has_no_unknown_or_wrong_setting(tmp_path: Path) -> None:
    unit = tmp_path / "headwall.service"
    text = (DEPLOY / "headwall.service").read_text()
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    run = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
