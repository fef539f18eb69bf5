"""Drives a gauge through storms told as JSON lines; answers with what the journal holds then."""

import json
import sys

sys.path.append(__file__[: __file__.rfind("/")])
import gauge
from gauge import Board, Time, machine, pin, power


class Late:
    """Keeps interrupts for a time, as a port whose program is busy in C: the handler runs later, on a new level."""

    def __init__(self, board):
        self.board, self.kept = board, 0

    def __enter__(self):
        self.handler = pin.handler
        pin.handler = self.keep

    def keep(self, _pin):
        self.kept = min(8, self.kept + 1)  # so many the port's queue holds

    def __exit__(self, *args):
        pin.handler = self.handler
        for _ in range(self.kept):
            self.handler(pin)
            Time.now += 1


def contact(board, tip):
    """One closing with its bounces."""
    pin.drive(0)
    for i, gap in enumerate(tip["closing"]):
        Time.now += gap
        pin.drive(1 - i % 2)
    pin.drive(0)
    if tip["then"] == "reset closed":
        Time.now += 20
        board = Board(machine.WDT_RESET)
    Time.now += tip["closed"]
    pin.drive(1)
    for i, gap in enumerate(tip["opening"]):
        Time.now += gap
        pin.drive(i % 2)
    return board


def sleep(board, ms, reason):
    board.serve(1000)
    assert board.bucket.may_sleep
    board.retained.clock = board.clock.carry()
    board.retained.save()
    Time.now += ms
    machine.reason = reason
    return Board(machine.DEEPSLEEP_RESET)


def act(board, tip):
    board.serve(tip["rest"])
    if tip["then"] == "sleep through":  # the tip itself wakes the board, and is over when the program runs
        board = sleep(board, 60000, machine.EXT0_WAKE)
        return board
    if tip["late"] and tip["then"] != "reset closed":
        with Late(board):
            board = contact(board, tip)
            Time.now += tip["late"]
    else:
        board = contact(board, tip)
    if tip["then"] == "reset":
        board = Board(machine.WDT_RESET)
    if tip["then"] == "sleep":
        board = sleep(board, 60000, machine.TIMER_WAKE)
    return board


for line in sys.stdin:
    gauge.flash.__init__(8)
    gauge.nvs.kept = {}
    pin.level, machine.reason = 1, 0
    board = Board()
    board.serve(1000)
    for tip in json.loads(line):
        board = act(board, tip)
    board.serve(2000)
    records = list(board.journal.read(0, 9999))
    tips = [r[6] for r in records if r[5] == 1]
    print(json.dumps([[r[7] or r[5] for r in records], tips, len(power.Retained().pending)]))
