"""Power cuts at every flash operation of the journal, on snapshots in RAM. Prints one line when all held."""

import sys
from flash import NVS, Flash, Power, PowerCut

from headwall_node.journal import Journal

UID = b"\x24\x0a\xc4\x00\x00\x01"
START_MS = 1781000000123


def content(seq, total):
    """The record that append number `seq` writes (as `read` gives it), every kind in turn."""
    time_ms, boot, up_ms = START_MS + seq * 61007, None, None
    if seq % 3 == 0:
        time_ms, boot, up_ms = None, "%08x" % (0xFEDC0000 + seq), seq * 0x40000001
    if seq % 7 == 0:
        return (seq, "tank.level", time_ms, boot, up_ms, "-12.%03d" % seq, None, None)
    if seq % 11 == 0:
        return (seq, "tank.distance", time_ms, boot, up_ms, None, None, "no_echo")
    if seq % 5 == 0:
        return (seq, "rain.tips", time_ms, boot, up_ms, 0, total, None)
    return (seq, "rain.tips", time_ms, boot, up_ms, 1, total + 1, None)


def append(journal):
    seq, stream, time_ms, boot, up_ms, value, total, reason = content(journal.next, journal.total)
    if stream == "rain.tips" and value == 1:
        assert journal.append_tip(stream, time_ms, boot, up_ms) == seq
    else:
        assert journal.append(stream, value, time_ms, boot, up_ms, total, reason) == seq


def expected(last):
    """Records 1 to `last` as they must read."""
    total, records = 0, []
    for seq in range(1, last + 1):
        records.append(content(seq, total))
        total = records[-1][6] if records[-1][6] is not None else total
    return records


RECORDS = expected(900)


def check(flash, nvs, jid, acknowledged):
    """Mount what is left of the flash; everything acknowledged and not below the floor must be there."""
    journal = Journal(flash, nvs, UID)
    assert journal.jid == jid and journal.started is None, (journal.started, acknowledged)
    assert journal.next - 1 in (acknowledged, acknowledged + 1), (journal.next, acknowledged)
    got = list(journal.read(0, 2000))
    assert got == RECORDS[journal.floor - 1 : journal.next - 1], "records differ"
    assert journal.next - journal.floor >= min(acknowledged, (flash.count - 2) * 84), "more than a sector is gone"
    totals = [r[6] for r in RECORDS[: journal.next - 1] if r[6] is not None]
    assert journal.total == (totals[-1] if totals else 0)
    return journal


def run_until_cut(image, kept, jid, acknowledged, appends, cut, torn_head):
    """Append until the power goes at operation `cut`; returns flash, NVS and what was acknowledged."""
    power = Power(cut, torn_head)
    flash, nvs = Flash(len(image) // 4096, power, image), NVS(power, kept)
    try:
        journal = Journal(flash, nvs, UID)
        acknowledged = journal.next - 1
        for i in range(appends):
            if i % 20 == 10:
                journal.custody(journal.next - 5)
            append(journal)
            acknowledged = journal.next - 1
    except PowerCut:
        pass
    flash.power = nvs.power = Power()
    return flash, nvs, acknowledged


def main(sectors, before, appends, torn_head):
    flash, nvs = Flash(sectors), NVS()
    journal = Journal(flash, nvs, UID)
    for _ in range(before):
        append(journal)
    start, kept, jid, had = bytes(flash.image), nvs.kept, journal.jid, journal.next - 1
    whole = Power()
    last = Journal(Flash(sectors, whole, start), NVS(whole, kept), UID)
    for _ in range(appends):
        append(last)
    cuts = 0
    for cut in range(1, whole.ops + 1):
        flash, nvs, had_1 = run_until_cut(start, kept, jid, had, appends, cut, torn_head)
        journal = check(flash, nvs, jid, had_1)
        image, kept_1, had_1 = bytes(flash.image), nvs.kept, journal.next - 1
        second = 1 + cut % 7
        flash, nvs, had_2 = run_until_cut(image, kept_1, jid, had_1, 130, second if cut % 2 else 127, torn_head)
        journal = check(flash, nvs, jid, had_2)
        append(journal)
        check(flash, nvs, jid, had_2 + 1 if journal.next == had_2 + 2 else had_2 + 2)
        cuts += 1
    print("held", cuts, "cuts; erases", last._part.erases)


main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "head")
