"""The demo's village: the parts around its four boards, with its registry."""

from __future__ import annotations

import re
import socket
from importlib.resources import files
from pathlib import Path

from headwall_sim.demo.scenario import BOARDS, DemoBoard
from headwall_sim.village import Village


class DemoParts(Village):
    """The parts of the demo.

    Args:
        web_port: of the page; another free one is taken where it is in use.
    """

    def __init__(self, folder: Path, clock_setting: str, web_port: int) -> None:
        registry = files("headwall_sim.demo").joinpath("registry.toml").read_text(encoding="utf-8")
        port = web_port if _is_free(web_port) else None
        super().__init__(folder, clock_setting, [board.name for board in BOARDS], registry, web_port=port)

    def leave_to_the_system_clock(self) -> None:
        """The simulated clock has gone: let commands on what the demo left behind use the machine's."""
        if self.config.exists():
            settings = self.config.read_text(encoding="utf-8")
            self.config.write_text(
                re.sub(r'^clock = ".*"$', 'clock = "system"', settings, flags=re.M), encoding="utf-8"
            )

    def board_files(self, board: DemoBoard, broker_port: int, ntp_port: int) -> dict[str, bytes]:
        """What stands on a board's flash beside the program."""
        report_s = 900 if board.mode == "mains" else 1800
        soon = {"wifi_timeout_s": 5, "backoff_max_s": 20}  # back within half a minute: mails tell minutes
        return self.flash_files(
            board.name, broker_port, ntp_port, mode=board.mode, uplink_s=1800, report_s=report_s, **soon
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
