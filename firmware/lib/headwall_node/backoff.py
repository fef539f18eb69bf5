"""How long to wait after failures in a row: doubling, with jitter, so that boards do not come back all at once."""

import os


class Backoff:
    """Waits from first_ms, doubling up to most_ms; each is drawn between half and the whole of its step."""

    def __init__(self, first_ms=1000, most_ms=300000):
        self.first_ms = first_ms
        self.most_ms = most_ms
        self.failures = 0

    def reset(self):
        self.failures = 0

    def next_ms(self):
        """The wait after one more failure, in milliseconds."""
        step = min(self.most_ms, self.first_ms << min(self.failures, 20))
        self.failures += 1
        dice = int.from_bytes(os.urandom(2), "big")
        return step // 2 + (step // 2 * dice >> 16)
