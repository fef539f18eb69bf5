"""Journal records as a SenML JSON pack (RFC 8428), written straight into one buffer.

The first record carries `bn` with the device and the stream's name, `bu`, `jid` and `seq`; each further record is one
number more. `bt` stands on the first record whose time is known, later times are relative to it. A record of another
stream sets `bn` and `bu` anew. Times have at most three decimals and are made from integers alone.
"""

from binascii import b2a_base64

from .contract import BASE_NAME, NULL_SUFFIX, PACK_BYTES, PACK_RECORDS, RAW_NAME, unit


def seconds(ms):
    """The shortest decimal text of `ms` milliseconds in seconds: 12000 -> "12", -1 -> "-0.001"."""
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    whole, part = divmod(ms, 1000)
    return "%s%d" % (sign, whole) if not part else ("%s%d.%03d" % (sign, whole, part)).rstrip("0")


class Pack:
    """One pack in the making, in a buffer that is used again and again: `begin`, `add` until False, `payload`.

    first, count: number of the first record and how many there are. buf: a bytearray to use instead of a new one of
    `limit` bytes.
    """

    def __init__(self, mac, limit=PACK_BYTES, most=PACK_RECORDS, buf=None):
        self._base = BASE_NAME + mac + ":"
        self.buf = bytearray(limit) if buf is None else buf
        self._most = most
        self.begin("")

    def begin(self, jid, most=None):
        """Empty the pack for records of journal `jid`, at most `most` (and never more than the contract's)."""
        self._jid = jid
        self._limit = self._most if most is None else min(most, self._most)
        self._used = 0
        self._stream = None
        self._bt = None
        self.first = None
        self.count = 0

    def add(self, record):
        """Take one more record; False if it does not belong here: too long, one too many, not the next number.

        A record that no longer reads (stream None) goes alone, in the raw form.
        """
        seq, stream = record[0], record[1]
        if self.count >= self._limit or (self.count and seq != self.first + self.count):
            return False
        if stream is None:
            return self.count == 0 and self.raw(record)
        text = self._text(record)
        if self._used + len(text) + 4 > len(self.buf):  # comma, braces and the bracket at the end
            return False
        self._put(text)
        self._note(record)
        return True

    def raw(self, record):
        """Make the whole pack of this one record, base64 under its number: for one that was refused as it is."""
        self.begin(self._jid)
        content = "unreadable" if record[1] is None else "[{" + self._text(record) + "}]"
        coded = b2a_base64(content.encode()).decode().strip("\n=").replace("+", "-").replace("/", "_")
        head = '"bn":"%s","n":"%s",%s' % (self._base, RAW_NAME, self._number(record[0]))
        self._put('%s,"vd":"%s"' % (head, coded))
        self.first = record[0]
        self.count = self._limit = 1
        return True

    def payload(self):
        """The pack as a view of the buffer, good until the next `begin`; None if it is empty."""
        if not self.count:
            return None
        self.buf[self._used] = 0x5D  # ]
        return memoryview(self.buf)[: self._used + 1]

    def _put(self, text):
        data = (("[{" if not self._used else ",{") + text + "}").encode()
        self.buf[self._used : self._used + len(data)] = data
        self._used += len(data)

    def _note(self, record):
        if not self.count:
            self.first = record[0]
        self.count += 1
        self._stream = record[1]
        if self._bt is None:
            self._bt = record[2]

    def _number(self, seq):
        return '"jid":"%s","seq":%d' % (self._jid, seq)

    def _text(self, record):
        """The inside of one record's braces."""
        seq, stream, time_ms, boot, up_ms, value, total, reason, marked = record
        parts = []
        if stream != self._stream:
            parts.append('"bn":"%s%s","bu":"%s"' % (self._base, stream, unit(stream)))
        if not self.count:
            parts.append(self._number(seq))
        if time_ms is None:
            parts.append('"boot":"%s","up":%s' % (boot, seconds(up_ms)))
        elif self._bt is None:
            parts.append('"bt":' + seconds(time_ms))
        elif time_ms != self._bt:
            parts.append('"t":' + seconds(time_ms - self._bt))
        if value is None:
            parts.append('"n":"%s","vs":"%s"' % (NULL_SUFFIX, reason))
        else:
            parts.append('"v":%s' % value)
        if total is not None:
            parts.append('"s":%d' % total)
        if marked:
            parts.append('"mnt":1')
        return ",".join(parts)
