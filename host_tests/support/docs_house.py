"""A folder in which the commands of the documentation run as printed: the examples' settings, real parts, some rain."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headwall.cli.opened import opened
from headwall.ingest.batch import Intake
from headwall.ingest.sorting import Message
from headwall.law.profile import load_profile
from headwall.registry import Registry
from headwall.registry.model import RegistryFile
from headwall.rules.engine import RuleEngine
from headwall.settings import InfluxSettings
from headwall_board.certs import issue_server
from headwall_sim.broker import NOT_AFTER, NOT_BEFORE, Account, open_broker
from headwall_sim.influx_server import InfluxServer
from headwall_sim.mailbox import Mailbox
from headwall_sim.server_process import free_port
from headwall_sim.storms import type_iii_tips

from support.readings import append, tip

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = CHECKOUT / "docs" / "examples"
_GATEWAY = Account("headwall-gateway", "gateway secret", "gateway")
#: where storms begin (2025-06-04, -11 and -19, 00:00 in New York) and how many hundredths of an inch fall
_STORMS = ((1_749_009_600_000_000, 58), (1_749_614_400_000_000, 49), (1_750_305_600_000_000, 75))
#: noon of 2025-05-02 in New York, and what is read daily from then on: m on the first day, m more a day
_DAILY_FROM_US = 1_746_201_600_000_000
_DAILY = (("septic-12", "sludge.level", 0.05, 0.001), ("basin-3", "bed.distance", 2.9, -0.005))
_TIMEOUT_S = 120


class DocsHouse:
    """A folder that looks like a checkout, with the example's settings in it; runs commands there.

    Attributes:
        folder: where commands run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("docs", "deploy", "firmware", "gateway", "host_tests", "tools", "Makefile", "pyproject.toml"):
            (folder / name).symlink_to(CHECKOUT / name)
        (folder / ".venv").symlink_to(sys.prefix)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
        #: ports in the settings for practice → what they are here
        self._practice_ports: dict[str, str] = {}
        #: what the pages print → what it is here
        self._here: dict[str, str] = {}
        #: of the page's InfluxDB, which listens where the settings say nothing
        self._influx_url: str | None = None
        self._staying: list[subprocess.Popen[str]] = []
        self._secrets = dict.fromkeys(("mqtt-password", "smtp-password", "influx-token", "ca.pem"), "none")
        self._copy_examples(folder)

    # --- what stands there before a page is read ---

    def let_it_rain(self) -> None:
        """Three storms of June 2025 at gauge-a, which a person has accepted; judged."""
        self.run("headwall node accept gauge-a --by 'Sam Okafor'")
        times = [time_us for start_us, count in _STORMS for time_us in type_iii_tips(count, start_us)]
        with opened(self.folder / "headwall.toml") as at:
            append(at.ledger, [tip(n, time_us=t, received_us=t + 2_000_000) for n, t in enumerate(times, 1)])
            profiles = {"elmsford": load_profile("elmsford")}
            engine = RuleEngine(at.ledger, at.registry, profiles, at.clock, at.settings.rules)
            while engine.step():
                pass

    def send_unregistered(self) -> None:
        """A pack of gauge-a comes while the registry knows no gauge-a, so it is a dead letter; settings in config/."""
        self._copy_examples(self.folder / "config")
        with opened(self.folder / "config" / "headwall.toml") as at:
            municipalities = list(at.registry.municipalities)
            empty = Registry(RegistryFile(municipalities=municipalities, people=[], nodes=[], sites=[]))
            pack = (EXAMPLES / "pack.json").read_bytes()
            message = Message("headwall/v1/gauge-a/event", pack, at.clock.now_us())
            Intake(at.ledger, empty, at.settings.ingest, at.clock).store([message])

    def measure_a_tank(self) -> None:
        """The example with other sensors: sludge of brook-lane-12 and sediment of basin-3, a reading a day in 2025."""
        (self.folder / "registry.toml").write_bytes((EXAMPLES / "registry-sensors.toml").read_bytes())
        with opened(self.folder / "headwall.toml") as at:
            for node, stream, first, step in _DAILY:
                times = [_DAILY_FROM_US + n * 86_400_000_000 for n in range(120)]
                rows = [
                    tip(n, node=node, stream=stream, value=first + n * step, total=None, time_us=t, received_us=t)
                    for n, t in enumerate(times, 1)
                ]
                append(at.ledger, rows)

    def practise(self) -> None:
        """Broker and page of the installer's practice get ports of their own here."""
        self._practice_ports = {"8883": str(free_port()), "8080": str(free_port())}

    @contextmanager
    def parts(self) -> Iterator[None]:
        """Broker, InfluxDB and SMTP server as the example's settings describe them, on ports of their own."""
        with ExitStack() as stack:
            broker = open_broker(self.folder / "broker", [_GATEWAY], "mosquitto")
            stack.callback(broker.stop)
            broker.start()
            names = ["localhost", "127.0.0.1"]
            certificate = issue_server(self.folder / "smtp", broker.ca, names, NOT_BEFORE, NOT_AFTER)
            smtp = stack.enter_context(Mailbox(self.folder / "mails", certificate=certificate))
            influx = stack.enter_context(InfluxServer(self.folder / "influx"))
            influx.make_bucket("readings")
            ports = {8883: broker.port_5, 587: smtp.port, 8080: free_port()}
            self._here = {
                f"{before}{printed}": f"{before}{real}"
                for printed, real in ports.items()
                for before in ("port = ", ":")
            }
            self._here[InfluxSettings.model_fields["url"].default] = self._influx_url = influx.url
            self._secrets = {
                "mqtt-password": _GATEWAY.password,
                "smtp-password": smtp.password,
                "influx-token": influx.token,
                "ca.pem": broker.ca.cert.read_text(),
            }
            self._settle()
            yield

    def _copy_examples(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name in ("headwall.toml", "registry.toml"):
            (folder / name).write_bytes((EXAMPLES / name).read_bytes())
        self._settle()

    # --- commands ---

    def stay(self, command: str, until: str) -> subprocess.CompletedProcess[str]:
        """Start a command that the reader leaves running in a terminal of its own; close() ends it.

        Args:
            until: what it says once it runs.

        Returns:
            what it said until then; exit code 0 if it runs.
        """
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._staying.append(process)
        late = threading.Timer(_TIMEOUT_S, process.kill)
        late.start()
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if until in line:
                late.cancel()
                threading.Thread(target=process.stdout.read, daemon=True).start()  # so that it is never held up
                return subprocess.CompletedProcess(command, 0, self._as_printed(said))
        late.cancel()
        return subprocess.CompletedProcess(command, process.wait() or 1, self._as_printed(said))

    def close(self) -> None:
        """End what stays, the last first."""
        while self._staying:
            process = self._staying.pop()
            process.send_signal(signal.SIGTERM)
            process.wait(30)

    def run(self, command: str, until: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command as a reader would.

        Args:
            until: for a command that would not end: what it says when it is time to press Ctrl-C.

        Returns:
            exit code, and output and errors together with the names and numbers that the pages print.
        """
        if command.startswith("export "):
            name, _, value = shlex.split(command)[1].partition("=")
            self._environment[name] = value
            return subprocess.CompletedProcess(command, 0, "")
        with subprocess.Popen(
            ["bash", "-c", command if until is None else f"exec {command}"],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            late = threading.Timer(_TIMEOUT_S, process.kill)
            late.start()
            said = ""
            assert process.stdout is not None
            for line in process.stdout:
                said += line
                if until is not None and until in line:
                    process.send_signal(signal.SIGINT)
        late.cancel()
        self._settle()
        return subprocess.CompletedProcess(command, process.returncode, self._as_printed(said))

    def _settle(self) -> None:
        """Do by program what a person does by hand after copying the example: write in secrets and addresses."""
        for config in (self.folder / "headwall.toml", self.folder / "config" / "headwall.toml"):
            if not config.is_file():
                continue
            text = (EXAMPLES / "headwall.toml").read_text()
            text = text.replace("historical_after_days = 30", "historical_after_days = 36500")
            for printed, here in self._here.items():
                text = re.sub(re.escape(printed) + r"\b", here, text)
            if self._influx_url is not None:
                text = text.replace("[influx]", f'[influx]\nurl = "{self._influx_url}"', 1)
            config.write_text(text)
            for name, secret in self._secrets.items():
                (config.parent / name).write_text(secret)
        for name in ("mosquitto.conf", "headwall.toml", "config.json"):
            copied = self.folder / "practice" / name
            if copied.is_file():
                text = copied.read_text()
                for printed, here in self._practice_ports.items():
                    text = text.replace(printed, here)
                copied.write_text(text)

    def _as_printed(self, said: str) -> str:
        for printed, here in self._here.items():
            said = said.replace(here, printed)
        return said.replace(str(self.folder), "/home/you/headwall")
