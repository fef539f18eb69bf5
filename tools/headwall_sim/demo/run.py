"""`headwall demo`: builds the village, lets the storm pass, counts, and shows where to look next."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
from headwall.ledger.ledger import Ledger
from rich.console import Console

from headwall_sim.demo.folder import own_folder
from headwall_sim.demo.parts import DemoParts
from headwall_sim.demo.report import BoardNumbers, DemoReport, Driven, board_numbers, faults_of, mail_faults, total
from headwall_sim.demo.scenario import ACCEPTED_BY, BOARDS, END_US, START_US, DemoBoard, storm_us
from headwall_sim.demo.view import View, summary
from headwall_sim.rom import find_firmware
from headwall_sim.simulated_board import Board
from headwall_sim.storms import rain, type_iii_tips
from headwall_sim.supervisor import Supervisor

_STEP_US = 15 * 60_000_000  # simulated time between two looks
_SETTLE_S = 60.0
_PIN = 4


def run_demo(folder: Path, *, once: bool, report_file: Path | None, web_port: int) -> bool:
    """Run it; True if everything came out as it must. Without `once` it serves the page until Ctrl-C."""
    with own_folder(folder):
        return _run(folder, once=once, report_file=report_file, web_port=web_port)


def _run(folder: Path, *, once: bool, report_file: Path | None, web_port: int) -> bool:
    console = Console()
    console.print("Headwall demo: four rain gauges, four construction sites, a 24-hour design storm.")
    console.print("Starting broker, mailbox, gateway and boards …")
    started = time.monotonic()
    with Supervisor(folder / "boards", start_us=START_US, firmware=find_firmware()) as sim:
        parts = DemoParts(folder, sim.clock_setting, web_port)
        try:
            parts.start()
            influx = "with InfluxDB" if parts.influx else "without InfluxDB (not here)"
            console.print(f"Broker {parts.broker.kind}, {influx}; the page is {parts.page}.")
            console.print("Now a day passes in a minute or two.")
            boards = _boards(sim, parts)
            _rain(sim, parts, boards)
            report = _report(parts, boards)
            _finish(console, parts, report, report_file, time.monotonic() - started)
            if not once:
                _serve(console, parts)
        finally:
            parts.stop()
            parts.leave_to_the_system_clock()
    return not report.faults


def _boards(sim: Supervisor, parts: DemoParts) -> dict[str, Board]:
    """Make the boards, take their gauges out of commissioning, switch them on."""
    made = {}
    for board in BOARDS:
        parts.command("node", "accept", board.name, "--by", ACCEPTED_BY)
        made[board.name] = _board(sim, parts, board)
    for one in made.values():
        one.power_on()
    return made


def _board(sim: Supervisor, parts: DemoParts, board: DemoBoard) -> Board:
    proxy = sim.proxy((parts.broker.host, parts.broker.port_311))
    fallen = rain(type_iii_tips(board.tips, storm_us(0)), pin=_PIN)
    made = sim.board(
        board.name,
        files=parts.board_files(board, proxy.port, sim.sntp.port),
        timeline=fallen.timeline,
        tips=fallen.tips,
        mac=board.mac,
    )
    for from_us, to_us in board.outages_us:
        sim.outage(made, proxy, from_us=from_us, to_us=to_us)
    off_us = int(board.power_off.total_seconds()) * 1_000_000
    for cut_us in board.cuts_us:
        sim.at(cut_us, lambda: made.power_cut_at_operation(1, off_us))
    return made


def _rain(sim: Supervisor, parts: DemoParts, boards: dict[str, Board]) -> None:
    """Let time pass to the end, looking in now and then."""
    with View(parts.page) as view:
        while sim.clock.now_us() < END_US:
            sim.clock.run_until(min(END_US, sim.clock.now_us() + _STEP_US))
            _look_after(view.console, parts)
            view.show(sim.clock.now_us(), parts.status(), {name: board.state for name, board in boards.items()})
        _settle(parts)


def _look_after(console: Console, parts: DemoParts) -> None:
    """End the demo if its gateway has ended; start a broker that has ended by itself anew, and say so."""
    parts.check_alive()
    if parts.revive_broker():
        told = f"The broker had ended and was started again; its log is {parts.broker.log_file}."
        console.print(told, style="yellow", soft_wrap=True)


def _settle(parts: DemoParts) -> None:
    """Wait until nothing is on its way any more."""
    deadline = time.monotonic() + _SETTLE_S
    while parts.status()["counts"]["mails_queued"] and time.monotonic() < deadline:
        time.sleep(0.2)


def _report(parts: DemoParts, boards: dict[str, Board]) -> DemoReport:
    status = parts.status()
    ledger = Ledger.open(f"sqlite:///{parts.folder / 'headwall.db'}")
    try:
        numbers = {board.name: _numbers(ledger, status, board, boards[board.name]) for board in BOARDS}
    finally:
        ledger.close()
    mails = parts.mailbox.mails()
    faults = [fault for board in BOARDS for fault in faults_of(board, numbers[board.name])] + mail_faults(mails)
    return total(numbers, mails, faults)


def _numbers(ledger: Ledger, status: dict[str, Any], board: DemoBoard, made: Board) -> BoardNumbers:
    gauge = next(one for one in status["gauges"] if one["datastream"].startswith(board.name))
    driven = Driven(taken=made.taken(), tips=len(made.tips_driven()), cuts=len(made.powered()) - 1)
    return board_numbers(ledger, board.name, driven, gauge)


def _finish(console: Console, parts: DemoParts, report: DemoReport, report_file: Path | None, seconds: float) -> None:
    """The closing table, what went wrong if anything did, and where to look next."""
    if report_file is not None:
        report_file.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    console.print(summary(report), highlight=False)
    for fault in report.faults:
        console.print(f"[red]not as it must be:[/red] {fault}")
    if not report.faults:
        console.print("No reading taken is lost or stored twice; the right duties and mails came out.", style="green")
    missing = report.tips_driven - report.tips_stored
    if missing and not report.faults:
        console.print(f"Tips that went with the power of a board: {missing}, of at most {report.tips_at_risk} at risk.")
    kept = f"{len(report.mails)} mails in {parts.mailbox.folder}, ledger {parts.folder / 'headwall.db'}"
    console.print(f"{kept}; {seconds:.0f} s.", soft_wrap=True)
    console.print("Next:", style="bold")
    console.print(f"  read a mail:     less {_first_duty_text(parts)}", soft_wrap=True)
    console.print(f"  list duties:     .venv/bin/headwall duty list --config {parts.config}", soft_wrap=True)
    console.print("  your own gauge:  docs/installer.md; your own gateway: docs/operator.md")


def _first_duty_text(parts: DemoParts) -> Path:
    """Write each mail's plain text beside its .eml file, readable in a terminal; the first that is about a duty."""
    texts = {mail.path.with_suffix(".txt"): mail.message for mail in parts.mailbox.mails()}
    for path, message in texts.items():
        body = message.get_body(("plain",))
        assert body is not None
        path.write_text(f"Subject: {message['Subject']}\nTo: {message['To']}\n\n{body.get_content()}", encoding="utf-8")
    return next((path for path, message in texts.items() if "due" in str(message["Subject"])), parts.mailbox.folder)


def _serve(console: Console, parts: DemoParts) -> None:
    """Keep the page up, time running at its usual pace, until Ctrl-C."""
    console.print(f"  the page:        {parts.page} (until Ctrl-C)")
    try:
        while True:
            time.sleep(1)
            _look_after(console, parts)
    except KeyboardInterrupt:
        console.print("Stopping.")
