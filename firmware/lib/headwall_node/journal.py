"""Readings on their own flash partition: a ring of 4 KiB sectors that survives a power cut at any moment.

Sector: a header of 48 bytes (magic, version, journal id, hash of the machine's uid, generation, first number,
total, custody mark and newest time at its opening, CRC-32), then records in steps of 16 bytes, the largest 48:

    crc 4 · size 1 · kind 1 · stream 1 · aux 1 · seq 4 · time 6, or boot id 4 + uptime 6 · [total 4] · value as text

The CRC starts from the header's, so that no leftover of another sector can pass. Names of streams stand once a
sector, in definition records that are programmed together with the first record of the stream. A value is kept as
the text of its decimal number, exactly as it was given: no 32-bit float comes between.

An append is one program of flash, read back and done when it returns. A record that was cut short fails its CRC; its
slot is left alone and its number goes to the next record. A sector is erased when the ring comes round to it, not
before: first its header is overwritten with zeros (from then on the floor has moved), then it is erased, then it gets
its new header; whatever is cut short there leaves a sector without a valid header, that is a free one.
Erases: one in 84 records at least (4,048 bytes, records of at most 48; one in 126 for tips).

The journal's id is drawn when it is made and mirrored in NVS with the first number of the newest sector. A
journal whose id is not the one in NVS, whose uid hash is not this machine's, or that ends before the number in NVS
(an old image was restored) is given up and a new one started. An old image restored together with its NVS, or one
that is less than a sector older, cannot be told here: the gateway sees an identity conflict.
"""

import struct
from array import array
from binascii import crc32
from errno import EIO
from hashlib import sha256
from time import ticks_ms

from micropython import const

from . import overlay
from .contract import NAME_CHARS, NULL_REASONS

SECTOR = const(4096)
HEAD = const(48)
STEP = const(16)
_LARGEST = const(48)
_HEADER = "<4sBBH8s8sIIIII"  # magic, version, 0, 0, jid, uid hash, generation, first, total, through, newest s
_MAGIC = b"HWJ\x1a"
_VERSION = const(1)
NVS_KEY = "journal"
NVS = "<8sI"

# kind bits
_TOTAL = const(1)
_TIMED = const(2)
_NULL = const(4)
NAME = const(8)
_MARKED = const(16)  # taken in maintenance mode

# fields of a cursor
_SEQ = const(0)
_AT = const(1)
_POS = const(2)
_NAMES = const(3)
_SALT = const(4)
_BACK = const(5)


def _text(value):
    """The decimal text of an int, a float, or a JSON number already written as text; ValueError for anything else."""
    text = value if isinstance(value, str) else repr(value + 0)
    digits = text[1:] if text[:1] == "-" else text
    if not digits[:1].isdigit() or not digits[-1:].isdigit() or (digits[0] == "0" and digits[1:2].isdigit()):
        raise ValueError("%s is no number; a missing reading is None with a reason" % text)
    float(text)  # ValueError for what is left
    return text.encode()


class Journal:
    """See the module. `partition` has the block calls of esp32.Partition, `nvs` those of esp32.NVS.

    floor: oldest number held · next: number of the next record · total: tips counted · through: custody mark ·
    lost: records given up before custody since the start · last_ms: newest time held, or 0 · started: why a new
    journal was begun at this mount ("blank", "nvs", "cloned", "restored"), or None · erasing, erased_ticks: an erase
    is under way, or when the last one ended · marks: None, or a function of boot id and uptime: whether a reading of
    then is marked as taken in maintenance mode
    """

    def __init__(self, partition, nvs, uid):
        self._part = partition
        self._nvs = nvs
        self._uid = sha256(uid).digest()[:8]
        self._count = partition.ioctl(4, 0)
        if partition.ioctl(5, 0) != SECTOR or self._count < 2:
            raise ValueError("journal partition: needs at least 2 blocks of 4096 bytes")
        self._first = array("I", bytes(4 * self._count))  # first number of each sector, 0: not of this journal
        self._buf = bytearray(_LARGEST)
        self._out = bytearray(2 * _LARGEST)
        self._cursors = [None, None]
        self._streams = []  # every name of a stream that was met
        self._turn = 0
        self.lost = 0
        self.marks = None
        self.started = None
        self.erasing = False  # an erase keeps interrupts waiting for up to 0.4 s
        self.erased_ticks = 0
        overlay.call("journal_mount", "mount", self)

    def _nvs_write(self, mark):
        """Mirror the journal's id, with the first number of its newest sector."""
        self._nvs.set_blob(NVS_KEY, struct.pack(NVS, self._jid, mark))
        self._nvs.commit()

    def _header(self, sector):
        """The header's fields and CRC, or None."""
        self._part.readblocks(sector, self._buf, 0)
        salt = crc32(memoryview(self._buf)[: HEAD - 4])
        if salt != struct.unpack_from("<I", self._buf, HEAD - 4)[0]:
            return None
        fields = struct.unpack_from(_HEADER, self._buf)
        return (fields, salt) if fields[0] == _MAGIC and fields[1] == _VERSION else None

    def _account(self, record):
        self.next = record[0] + 1
        if record[2] is not None and record[2] > self.last_ms:
            self.last_ms = record[2]
        if record[6] is not None:
            self.total = record[6]

    def _refloor(self):
        sector = self._after(self._sector)
        self.floor = self._first[sector]
        self.through = max(self.through, self.floor - 1)

    def _after(self, sector):
        """The next sector of this journal in the ring: behind the newest comes the oldest."""
        while True:
            sector = (sector + 1) % self._count
            if self._first[sector]:
                return sector

    # -- making sectors

    def _make(self, sector, generation):
        """Erase a sector and give it a header; OSError if flash does not hold it."""
        self.erasing = True
        self._part.ioctl(6, sector)
        self.erased_ticks = ticks_ms()
        self.erasing = False
        head = struct.pack(
            _HEADER, _MAGIC, _VERSION, 0, 0, self._jid, self._uid,
            generation, self.next, self.total, self.through, self.last_ms // 1000,
        )  # fmt: skip
        salt = crc32(head)
        self._part.writeblocks(sector, head + struct.pack("<I", salt), 0)
        found = self._header(sector)
        if not found or found[1] != salt:
            raise OSError(EIO)
        self._nvs_write(self.next)
        self._sector, self._generation, self._salt = sector, generation, salt
        self._first[sector] = self.next
        self._names = []
        self._end = HEAD

    def _open_next(self):
        """Go on in the next sector, or the one after where flash is worn out."""
        for step in range(1, self._count):
            sector = (self._sector + step) % self._count
            if self._first[sector]:
                self._retire(sector)
            try:
                return self._make(sector, self._generation + step)
            except OSError as e:
                fault = e
            self.erasing = False
        raise fault

    def _retire(self, sector):
        """Give up the oldest sector: the floor moves, and what custody had not reached is counted as lost."""
        self._part.writeblocks(sector, bytes(HEAD), 0)
        self._first[sector] = 0
        kept = self._first[self._after(sector)]
        self.lost += max(0, kept - max(self.floor, self.through + 1))
        self._refloor()

    # -- writing

    def append(self, stream, value, time_ms=None, boot=None, up_ms=None, total=None, reason=None):
        """Write one reading and return its number; it is on flash when this returns.

        value: int, float or decimal text, or None with a reason of the contract. Time: `time_ms`, or where the
        clock is not known `boot` (8 hex digits) and `up_ms`. ValueError for what cannot be written.
        """
        kind = 0
        if value is None:
            kind, aux, text = _NULL, NULL_REASONS.index(reason), b""
        else:
            text = _text(value)
            aux = len(text)
        if time_ms is None:
            body = struct.pack("<IIH", int(boot, 16), up_ms & 0xFFFFFFFF, up_ms >> 32)
        else:
            kind |= _TIMED
            body = struct.pack("<IH", time_ms & 0xFFFFFFFF, time_ms >> 32)
        if self.marks and self.marks(boot, up_ms):
            kind |= _MARKED
        if total is not None:
            kind |= _TOTAL
            body += struct.pack("<I", total)
        body += text
        if 12 + len(body) > _LARGEST or len(stream) > NAME_CHARS:
            raise ValueError("reading of %s does not fit a record: %s" % (stream, value))
        self._write(stream, kind, aux, body)
        self._account((self.next, stream, time_ms, boot, up_ms, value, total))
        return self.next - 1

    def append_tip(self, stream, time_ms, boot, up_ms, total=None):
        """Write one tip with the count that it brings the journal to (`total` where some were missed before it)."""
        return self.append(stream, 1, time_ms, boot, up_ms, self.total + 1 if total is None else total)

    def _write(self, stream, kind, aux, body):
        name = stream.encode()
        size = _round(12 + len(body))
        define = 0 if stream in self._names else _round(12 + len(name))
        if self._end + define + size > SECTOR:
            self._open_next()
            define = _round(12 + len(name))
        number = len(self._names) if define else self._names.index(stream)
        if define:
            self._put(0, define, NAME, number, len(name), name)
        self._put(define, size, kind, number, aux, body)
        pos = self._end
        self._end = pos + define + size  # first: a program that fails must not have its slot used again
        self._part.writeblocks(self._sector, memoryview(self._out)[: define + size], pos)
        if not self._fetch(self._sector, pos + define, self._salt):
            raise OSError(EIO)
        if define:
            self._names.append(self._shared(stream))

    def _put(self, at, size, kind, number, aux, body):
        out = self._out
        struct.pack_into("<BBBBI", out, at + 4, size, kind, number, aux, self.next)
        used = at + 12 + len(body)
        out[at + 12 : used] = body
        for i in range(used, at + size):
            out[i] = 0
        struct.pack_into("<I", out, at, crc32(memoryview(out)[at + 4 : at + size], self._salt))

    # -- custody

    def custody(self, through):
        """The gateway has every number up to `through`; False (and nothing done) for one never written.

        It may fall: a gateway restored from a backup asks again for what is still held.
        """
        if through >= self.next:
            return False
        self.through = max(through, self.floor - 1)
        return True

    @property
    def unsent(self):
        """How many records wait for custody."""
        return self.next - 1 - self.through

    @property
    def full(self):
        """True when the next sector to be reused holds records without custody."""
        sector = (self._sector + 1) % self._count
        return bool(self._first[sector]) and self._first[self._after(sector)] - 1 > self.through

    # -- reading

    def read(self, seq, count):
        """Yield up to `count` records from `seq` (or the floor) on, in order, one number after the other.

        Each is (seq, stream, time_ms, boot, up_ms, value, total, reason, marked); value is an int, or the decimal text
        as it was given. A number whose record no longer reads comes with stream None and reason "bad_frame".
        """
        seq = max(seq, self.floor)
        end = min(self.next, seq + count)
        cursor = None
        while seq < end:
            if seq < self.floor:  # the ring has come round while the reader paused
                seq = self.floor
                continue
            if cursor is None or cursor[_SEQ] != seq or not self._first[cursor[_AT]]:
                cursor = self._cursor(seq)
            record = self._advance(cursor)
            seq += 1
            yield record

    def _cursor(self, seq):
        """A cached cursor that stands at `seq` or just behind it, else one at the start of the right sector."""
        for cursor in self._cursors:
            if cursor and self._first[cursor[_AT]]:
                if cursor[_SEQ] == seq:
                    return cursor
                if cursor[_SEQ] == seq + 1 and cursor[_BACK]:
                    cursor[_SEQ], cursor[_POS], cursor[_BACK] = seq, cursor[_BACK], 0
                    return cursor
        sector = self._sector
        while not self._first[sector] or self._first[sector] > seq:
            sector = (sector - 1) % self._count
        cursor = [seq, sector, HEAD, [], self._header(sector)[1], 0]
        self._cursors[self._turn] = cursor
        self._turn ^= 1
        return cursor

    def _advance(self, cursor):
        """The record at the cursor, which moves behind it."""
        seq, sector = cursor[_SEQ], cursor[_AT]
        if sector != self._sector and seq >= self._first[self._after(sector)]:
            sector = self._after(sector)
            cursor[_AT], cursor[_POS], cursor[_NAMES] = sector, HEAD, []
            cursor[_SALT] = self._header(sector)[1]
        cursor[_SEQ] = seq + 1
        cursor[_BACK] = cursor[_POS]
        end = self._end if sector == self._sector else SECTOR
        while cursor[_POS] < end:
            size = self._fetch(sector, cursor[_POS], cursor[_SALT])
            if not size:
                cursor[_POS] += STEP
                continue
            if self._buf[5] & NAME:
                self._learn(cursor[_NAMES])
            else:
                found = struct.unpack_from("<I", self._buf, 8)[0]
                if found > seq:
                    break
                if found == seq:
                    cursor[_POS] += size
                    return self._decode(cursor[_NAMES])
            cursor[_POS] += size
        return (seq, None, None, None, None, None, None, "bad_frame", False)

    def _fetch(self, sector, pos, salt):
        """Read the record at `pos` into the buffer; its size, or 0 if there is no valid one."""
        buf = self._buf
        room = min(_LARGEST, SECTOR - pos)
        view = memoryview(buf)[:room]
        self._part.readblocks(sector, view, pos)
        size = buf[4]
        if size > room or size < STEP or size % STEP:
            return 0
        return size if crc32(view[4:size], salt) == struct.unpack_from("<I", buf)[0] else 0

    def _learn(self, names):
        """Take the name that the record in the buffer defines; a definition before it may be unreadable."""
        number, length = self._buf[6], self._buf[7]
        while len(names) <= number:
            names.append(None)
        names[number] = self._shared(bytes(self._buf[12 : 12 + length]).decode())

    def _shared(self, stream):
        """The one text that all who know this name of a stream use."""
        if stream not in self._streams:
            self._streams.append(stream)
        return self._streams[self._streams.index(stream)]

    def _decode(self, names):
        buf = self._buf
        kind, number, aux, seq = struct.unpack_from("<BBBI", buf, 5)
        time_ms = boot = up_ms = total = value = reason = None
        if kind & _TIMED:
            low, high = struct.unpack_from("<IH", buf, 12)
            time_ms = low | high << 32
            at = 18
        else:
            code, low, high = struct.unpack_from("<IIH", buf, 12)
            boot = "%08x" % code
            up_ms = low | high << 32
            at = 22
        if kind & _TOTAL:
            total = struct.unpack_from("<I", buf, at)[0]
            at += 4
        if kind & _NULL:
            reason = NULL_REASONS[aux]
        else:
            value = bytes(buf[at : at + aux]).decode()
            if value.lstrip("-").isdigit():
                value = int(value)
        stream = names[number] if number < len(names) else None  # its definition is unreadable
        return (seq, stream, time_ms, boot, up_ms, value, total, reason, bool(kind & _MARKED))


def _round(size):
    return (size + STEP - 1) // STEP * STEP
