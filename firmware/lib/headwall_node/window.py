"""Which records of the journal go next, and what becomes of packs whose custody does not come.

Delivered means custody: the journal's `through`. Everything here is bookkeeping without any waiting: uplink does that.
"""


class Pack:
    """A pack on its way: records first .. after-1, when it was sent (ticks_ms), the packet id once it is written."""

    def __init__(self, first, after, sent_at):
        self.first = first
        self.after = after
        self.sent_at = sent_at
        self.packet_id = None


class Window:
    """The packs in flight over one journal.

    journal: has floor, next, through and custody(through).
    records: most records of a pack; packs: most packs in flight; tries: after so many failures of a pack that was
    cut down to one record, the record goes raw.
    """

    def __init__(self, journal, records=100, packs=4, tries=5):
        self.journal = journal
        self.records = records
        self.packs = packs
        self.tries = tries
        self.flight = []  # Packs in order
        self.failures = 0  # in a row, of the pack that begins at the first record without custody
        self.raw = False  # the next pack is one record that the gateway does not take in any other form
        self.hopeless = 0  # rounds in a row that even the raw form did not end: the record is not to blame
        self._limit = records  # records of the next pack; small while a bad record is being narrowed down
        self._urgent_from = 0
        self.begin()

    def begin(self):
        """A new connection: nothing is in flight any more."""
        self.flight = []
        self.cursor = self._first_unsafe()

    def _first_unsafe(self):
        return max(self.journal.through + 1, self.journal.floor)

    def waiting(self):
        """Records that were not yet sent on this connection."""
        return self.journal.next - max(self.cursor, self.journal.floor)

    def unsafe(self):
        """Records without custody."""
        return self.journal.next - self._first_unsafe()

    def plan(self):
        """(first, count) of the pack to send now, or None. While something fails, one pack at a time."""
        self.cursor = max(self.cursor, self.journal.floor)  # the floor may have moved over lost records
        if self.cursor >= self.journal.next:
            return None
        if len(self.flight) >= (1 if self.failures else self.packs):
            return None
        return self.cursor, min(self._limit, self.journal.next - self.cursor)

    def plan_urgent(self):
        """(first, count) of the newest records not yet sent, when what arrives now would have to queue, or None."""
        queued = self.plan() is None or self.waiting() > self._limit
        first = max(self.cursor, self._urgent_from, self.journal.next - self.records)
        if not queued or first >= self.journal.next:
            return None
        return first, self.journal.next - first

    def sent_urgent(self, after):
        """Records before `after` went, or need not go, ahead of the backlog."""
        self._urgent_from = after

    def sending(self, first, count, now):
        """Enter a pack before it is written, since its custody may come before its publish returns."""
        pack = Pack(first, first + count, now)
        self.flight.append(pack)
        self.cursor = pack.after
        return pack

    def custody(self, through):
        """The gateway holds everything up to `through`. Lower than before means a restored ledger: send again."""
        before = self._first_unsafe()
        self.journal.custody(max(through, self.journal.floor - 1))
        first = self._first_unsafe()
        if first < before:
            self._urgent_from = 0
            self.begin()
        elif first > before:
            self.failures = self.hopeless = 0
            self.raw = False
            self._limit = min(self.records, self._limit * 2)
            self.flight = [pack for pack in self.flight if pack.after > first]
            self.cursor = max(self.cursor, first)

    def not_taken(self):
        """The gateway lives and has seen the first pack in flight, but did not take it: again, then in smaller parts.

        The whole pack once more, then a quarter each time, since the bad record hides among good ones; a single
        record that failed, with `tries` failures behind it, goes raw. When that is not taken either, something else is
        wrong (an access list, say), and a good record must not end as a raw one when it is mended: all over again.
        """
        size = self.flight[0].after - self.flight[0].first
        if self.raw:
            self.hopeless += 1
            self.failures = 1
            self.raw = False
            self._limit = self.records
        else:
            self.failures += 1
            self._limit = size if self.failures == 1 else max(1, size // 4)
            self.raw = size == 1 and self.failures >= self.tries
        self.begin()
