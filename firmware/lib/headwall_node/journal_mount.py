"""Finds the journal on its partition, or begins a new one: the part of journal.py that is needed once."""

import os
import struct
from array import array
from binascii import hexlify

from .journal import HEAD, NAME, NVS, NVS_KEY, SECTOR, STEP

_BLANK = b"\xff" * 16


def mount(journal):
    """Make a Journal whose fields are set ready for use; `started` says why it is a new one."""
    jid, mark = _nvs_read(journal)
    journal.started = "blank" if jid is None else _find(journal, jid)
    if journal.started is None:
        _scan_newest(journal)
        if journal.next < mark:
            journal.started = "restored"
        elif journal._first[journal._sector] > mark:  # power went between the header and NVS
            journal._nvs_write(journal._first[journal._sector])
    if journal.started:
        _start(journal)


def _nvs_read(journal):
    """(id of the journal, first number of its newest sector) as NVS has them; (None, 0) if it has none."""
    raw = bytearray(struct.calcsize(NVS))
    try:
        journal._nvs.get_blob(NVS_KEY, raw)
    except OSError:  # never written
        return None, 0
    return struct.unpack(NVS, raw)


def _find(journal, jid):
    """Fill the index with the sectors of journal `jid`; returns why there is none, or None."""
    newest, top, why = -1, 0, "nvs"
    for sector in range(journal._count):
        found = journal._header(sector)
        if not found or found[0][4] != jid:
            continue
        if found[0][5] != journal._uid:
            why = "cloned"
            continue
        journal._first[sector] = found[0][7]
        if found[0][6] > top:
            newest, top = sector, found[0][6]
    if newest < 0:
        return why
    journal._jid, journal._sector, journal._generation = jid, newest, top
    _forget_strays(journal)
    return None


def _forget_strays(journal):
    """Free each sector whose generation is not the one that its place in the ring asks for."""
    for back in range(journal._count):
        sector = (journal._sector - back) % journal._count
        if journal._first[sector] and journal._header(sector)[0][6] != journal._generation - back:
            journal._first[sector] = 0


def _scan_newest(journal):
    """Read the newest sector from its beginning: what the journal holds, and where the next record goes."""
    fields, journal._salt = journal._header(journal._sector)
    journal.jid = hexlify(journal._jid).decode()
    journal.next, journal.total, journal.through = fields[7], fields[8], fields[9]
    journal.last_ms = fields[10] * 1000
    journal._names = []
    journal._end = pos = HEAD
    while pos < SECTOR:
        size = journal._fetch(journal._sector, pos, journal._salt)
        if size:
            journal._end = pos + size
            if journal._buf[5] & NAME:
                journal._learn(journal._names)
            else:
                journal._account(journal._decode(journal._names))
        elif journal._buf[:STEP] != _BLANK:
            journal._end = pos + STEP
        pos += size or STEP
    journal._refloor()


def _start(journal):
    """Begin a new journal. NVS is told last: cut short before that, the next mount begins anew."""
    journal._jid = os.urandom(8)
    journal.jid = hexlify(journal._jid).decode()
    journal.next, journal.total, journal.through, journal.last_ms = 1, 0, 0, 0
    journal._first = array("I", bytes(4 * journal._count))
    journal._sector, journal._generation = journal._count - 1, 0
    journal._open_next()
    journal._refloor()
