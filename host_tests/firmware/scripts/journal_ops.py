"""Runs lists of operations on a journal over flash in RAM, for the property tests; one JSON line each way."""

import json
import sys

from flash import NVS, Flash, Power, PowerCut
from headwall_node.journal import Journal

UID = b"\x24\x0a\xc4\x00\x00\x01"


class Bench:
    def __init__(self, sectors):
        self.flash, self.nvs = Flash(sectors), NVS()
        self.mount()
        self.jid = self.journal.jid
        self.readers = []

    def mount(self):
        self.flash.power = self.nvs.power = Power()
        self.journal = Journal(self.flash, self.nvs, UID)

    def do(self, op):
        """The outcome of one operation; "cut" when the power went during it (the journal is mounted again)."""
        try:
            return getattr(self, op[0])(*op[1:])
        except PowerCut:
            before = self.journal.next
            self.mount()
            return ["cut", self.journal.next - before]

    def append(self, stream, value, time_ms, total, reason):
        if time_ms is None:
            return self.journal.append(stream, value, None, "0badcafe", 1 << 41, total, reason)
        return self.journal.append(stream, value, time_ms, None, None, total, reason)

    def cut(self, after, torn_head):
        self.flash.power = self.nvs.power = Power(after, torn_head)

    def custody(self, through):
        return self.journal.custody(through)

    def read(self, seq, count):
        return list(self.journal.read(seq, count))

    def start_reader(self, seq, count):
        self.readers.append(self.journal.read(seq, count))

    def step_reader(self, index):
        try:
            return next(self.readers[index % len(self.readers)]) if self.readers else None
        except StopIteration:
            return None

    def state(self):
        j = self.journal
        return [j.floor, j.next, j.total, j.through, j.lost, j.jid == self.jid, j.unsent, j.full]


for line in sys.stdin:
    sectors, ops = json.loads(line)
    bench = Bench(sectors)
    print(json.dumps([[bench.do(op), bench.state()] for op in ops]))
