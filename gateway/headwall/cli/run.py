"""`headwall run`: the service in the foreground, for systemd, a container or a terminal."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import sdnotify
import structlog
import typer

from headwall.cli.common import DEFAULT_CONFIG, ConfigOption
from headwall.ops.logs import configure_logs
from headwall.ops.service import Service
from headwall.ops.sources import open_clock
from headwall.settings import load_settings

log = structlog.get_logger("run")


def register(app: typer.Typer) -> None:
    @app.command("run")
    def run(
        config: ConfigOption = DEFAULT_CONFIG,
        json_logs: Annotated[bool, typer.Option("--json-logs", help="log lines as JSON")] = False,
    ) -> None:
        """Run the gateway: receive, keep, judge, tell. Stops on SIGTERM or Ctrl-C within ten seconds."""
        configure_logs(json_lines=json_logs)
        settings = load_settings(config)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        service = Service(settings, open_clock(settings.clock))
        notifier = sdnotify.SystemdNotifier()
        service.start()
        notifier.notify("READY=1")
        log.info("running", web=f"http://{settings.web.host}:{settings.web.port}" if settings.web.enabled else "off")
        try:
            service.watch(stop, lambda: notifier.notify("WATCHDOG=1"))  # systemd restarts us when it is not fed
        finally:
            notifier.notify("STOPPING=1")
            service.stop()
