"""Power cuts at every flash operation of the journal, on snapshots in RAM. Prints one line when all held."""

import sys

from flash import NVS, Flash, Power, PowerCut
from headwall_node.journal import Journal

UID = b"\x24\x0a\xc4\x00\x00\x01"
START_MS = 1781000000123


def content(seq, total, attempt):
    """The record that append number `seq` writes (as `read` gives it), every kind in turn, no attempt like another."""
    time_ms, boot, up_ms = START_MS + seq * 61007 + attempt * 17, None, None
    if seq % 3 == 0:
        time_ms, boot, up_ms = None, "%08x" % (0xFEDC0000 + seq), seq * 0x40000001 + attempt * 17
    if seq % 7 == 0:
        return (seq, "tank.level", time_ms, boot, up_ms, "-12.%03d" % seq, None, None, False)
    if seq % 11 == 0:
        return (seq, "tank.distance", time_ms, boot, up_ms, None, None, "no_echo", False)
    if seq % 5 == 0:
        return (seq, "rain.tips", time_ms, boot, up_ms, 0, total, None, False)
    return (seq, "rain.tips", time_ms, boot, up_ms, 1, total + 1, None, False)


def append(journal, written, attempt):
    """Append the next record; `written` has what was tried last under each number."""
    record = content(journal.next, journal.total, attempt)
    seq, stream, time_ms, boot, up_ms, value, total, reason, _ = record
    written[seq - 1 :] = [record]
    if stream == "rain.tips" and value == 1:
        assert journal.append_tip(stream, time_ms, boot, up_ms) == seq
    else:
        assert journal.append(stream, value, time_ms, boot, up_ms, total, reason) == seq


def check(flash, nvs, jid, written, acknowledged):
    """Mount what is left of the flash; everything acknowledged and not below the floor must be there."""
    journal = Journal(flash, nvs, UID)
    assert journal.jid == jid and journal.started is None, (journal.started, acknowledged)
    assert journal.next - 1 in (acknowledged, acknowledged + 1), (journal.next, acknowledged)
    got = list(journal.read(0, 2000))
    assert got == written[journal.floor - 1 : journal.next - 1], "records differ"
    assert journal.next - journal.floor >= min(acknowledged, (flash.count - 2) * 84), "more than a sector is gone"
    totals = [r[6] for r in written[: journal.next - 1] if r[6] is not None]
    assert journal.total == (totals[-1] if totals else 0)
    return journal


def run_until_cut(image, kept, written, attempt, appends, power):
    """Append until the power goes; returns flash, NVS and how many were acknowledged."""
    flash, nvs = Flash(len(image) // 4096, power, image), NVS(power, kept)
    acknowledged = len(written)
    try:
        journal = Journal(flash, nvs, UID)
        acknowledged = journal.next - 1
        for i in range(appends):
            if i % 20 == 10:
                journal.custody(journal.next - 5)
            append(journal, written, attempt)
            acknowledged = journal.next - 1
    except PowerCut:
        pass
    flash.power = nvs.power = Power()
    return flash, nvs, acknowledged


def main(sectors, before, appends, torn_head):
    flash, nvs = Flash(sectors), NVS()
    journal, had = Journal(flash, nvs, UID), []
    for _ in range(before):
        append(journal, had, 0)
    start, kept, jid = bytes(flash.image), nvs.kept, journal.jid
    whole = Power()
    reference, _, _ = run_until_cut(start, kept, list(had), 0, appends, whole)
    for cut in range(1, whole.ops + 1):
        written = list(had)
        flash, nvs, sure = run_until_cut(start, kept, written, 1, appends, Power(cut, torn_head))
        journal = check(flash, nvs, jid, written, sure)
        image, kept_now = bytes(flash.image), nvs.kept
        written = written[: journal.next - 1]
        second = Power(1 + cut % 7 if cut % 2 else 127, torn_head)
        flash, nvs, sure = run_until_cut(image, kept_now, written, 2, 130, second)
        journal = check(flash, nvs, jid, written, sure)
        append(journal, written, 3)
        check(flash, nvs, jid, written, journal.next - 1)
    print("held", whole.ops, "cuts; erases", reference.erases)


main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "head")
