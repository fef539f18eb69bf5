"""The demo on a terminal: boards, rain, duties and mails as they come, from the same status as the web page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwall.law import localtime
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headwall_sim.demo.report import BoardNumbers, DemoReport
from headwall_sim.demo.scenario import BOARDS, END_US, START_US, ZONE

#: notices in few words
_SHORT = {"gauge_silent": "silent", "near_threshold": "near"}


class View:
    """Shows the status live on a terminal, or as a line an hour where the output is a file or CI."""

    def __init__(self, page: str) -> None:
        self.console = Console()
        self._page = page
        self._live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        self._hour = -1
        self._told: set[str] = set()

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, now_us: int, status: Mapping[str, Any], board_states: Mapping[str, str]) -> None:
        """Show the state at a simulated instant."""
        if self._live is not None:
            self._live.update(_screen(now_us, status, board_states, self._page), refresh=True)
            return
        for mail in reversed(status["mails"]):
            if mail["sent_us"] is not None and mail["subject"] not in self._told:
                self._told.add(mail["subject"])
                self.console.print(f"  mail to {mail['recipient']}: {mail['subject']}", soft_wrap=True, highlight=False)
        hour = (now_us - START_US) // (2 * localtime.HOUR_US)
        if hour > self._hour:
            self._hour = hour
            self.console.print(
                f"{localtime.short(now_us, ZONE)}  {status['counts']['appended']} readings kept, "
                f"{len(status['duties'])} duties, {status['counts']['mails_sent']} mails",
                highlight=False,
            )


def _screen(now_us: int, status: Mapping[str, Any], states: Mapping[str, str], page: str) -> RenderableType:
    bar = ProgressBar(total=END_US - START_US, completed=now_us - START_US, width=40)
    head = Table.grid(padding=(0, 2))
    head.add_row(Text("Headwall", style="bold"), localtime.short(now_us, ZONE), bar, page)
    return Group(head, _boards(status, states), _duties(status), _mails(status))


def _boards(status: Mapping[str, Any], states: Mapping[str, str]) -> Table:
    gauges = {gauge["datastream"].partition("/")[0]: gauge for gauge in status["gauges"]}
    table = Table("Board", "What happens to it", "Power", "Data", "Storm so far", title="Boards", title_justify="left")
    for board in BOARDS:
        gauge = gauges[board.name]
        data = "silent" if gauge["silent"] else _ago(status["now_us"], gauge["last_valid_us"])
        rain = f"{gauge['storm_in']} in" if gauge["storm_in"] is not None else "none yet"
        table.add_row(board.name, board.story, states[board.name].replace("_", " "), data, rain)
    return table


def _ago(now_us: int, then_us: int | None) -> str:
    return "none yet" if then_us is None else f"{max(0, (now_us - then_us) // 60_000_000)} min ago"


def _duties(status: Mapping[str, Any]) -> Table:
    table = Table("Duty", "Site", "Rain", "Report due", "State", title="Inspection reports", title_justify="left")
    for duty in status["duties"]:
        due = localtime.short(duty["due_us"], ZONE)
        table.add_row(str(duty["id"]), duty["site_name"], f"{duty['depth_in']} in", due, duty["state"])
    return table


def _mails(status: Mapping[str, Any]) -> Table:
    table = Table("Sent", "To", "Subject", title="Mails", title_justify="left")
    for mail in reversed(status["mails"]):
        sent = mail["state"] if mail["sent_us"] is None else localtime.short(mail["sent_us"], ZONE)
        table.add_row(sent, mail["recipient"], mail["subject"])
    return table


def summary(report: DemoReport) -> str:
    """The closing table as text of 78 columns."""
    head = ("Board", "Taken", "Stored", "Twice", "Lost", "Driven", "Stored", "Duties", "Notices")
    lines = ["What became of it", f"{'':8}{'Readings':<29}{'Tips':<18}", _columns(head), "-" * 78]
    rows: list[tuple[str, BoardNumbers]] = [*report.boards.items(), ("all", report)]
    for name, board in rows:
        if name == "all":
            lines.append("-" * 78)
        notices = ", ".join(f"{count} {_SHORT.get(kind, kind)}" for kind, count in board.notices.items())
        numbers = (board.taken, board.stored, board.stored_twice, board.lost, board.tips_driven, board.tips_stored)
        lines.append(_columns((name, *map(str, (*numbers, board.duties)), notices or "none")))
    return "\n".join(lines)


def _columns(cells: Sequence[str]) -> str:
    first, *numbers, last = cells
    return f"{first:8}" + "".join(f"{number:>7}" for number in numbers) + f"  {last}"
