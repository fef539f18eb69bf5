"""How fast sensors are read: faster while rain falls or a stage rises, and for a while after.

A tip of any gauge begins it, and so does a stage (`rise_of` names its stream, of a level or a distance) that rises by
`rise_mm` over one of the `rise_minutes` before, or at that rate where it is read less often. Each such sign lets it
last `fast_minutes` from then. While it is fast half of that rise is enough, so that a stage about the limit does not
make it change to and fro. RTC memory keeps all of it.
"""

import struct

_KEPT = "<qqi"  # uptime until which it is fast; uptime and mm of the stage that later ones are compared with, -1: none


def millimetres(text):
    """Whole millimetres of a decimal text (or int) in metres, without a float."""
    text = str(text)
    sign = -1 if text[0] == "-" else 1
    whole, _, part = text.lstrip("-").partition(".")
    return sign * (int(whole or "0") * 1000 + int((part + "000")[:3]))


class Pace:
    """given: the settings · tips: the journal's count of tips now · clock, retained as elsewhere"""

    def __init__(self, given, tips, clock, retained):
        self._given = given
        self._clock = clock
        self._retained = retained
        self._tips = tips
        self._until, self._seen_up, self._seen = 0, -1, 0
        if retained.pace and clock.before_ms is None:  # else the uptimes are those of another boot id
            self._until, self._seen_up, self._seen = struct.unpack(_KEPT, retained.pace)
        elif retained.pace:
            self._until = struct.unpack(_KEPT, retained.pace)[0] - clock.before_ms

    @property
    def fast(self):
        return self._clock.uptime_ms() < self._until

    def rain(self, tips):
        """The journal's count of tips; more than before is rain. Whether that made it fast."""
        if tips == self._tips:
            return False
        fast, self._tips = self.fast, tips
        self._prolong()
        return not fast

    def note(self, stream, value):
        """A reading as it goes to the journal: value as decimal text or int, None for a null."""
        if stream != self._given["rise_of"] or value is None:
            return
        up, stage = self._clock.uptime_ms(), millimetres(value)
        if stream.endswith("distance"):
            stage = -stage
        window = self._given["rise_minutes"] * 60000
        if self._seen_up >= 0:
            passed = max(window, up - self._seen_up)
            needed = self._given["rise_mm"] * passed // (2 if self.fast else 1)
            risen = (stage - self._seen) * window >= needed
            if risen:
                self._prolong()
            if not risen and stage >= self._seen and up - self._seen_up < window:
                return
        self._seen_up, self._seen = up, stage
        self._keep()

    def _prolong(self):
        self._until = self._clock.uptime_ms() + self._given["fast_minutes"] * 60000
        self._keep()

    def _keep(self):
        self._retained.pace = struct.pack(_KEPT, self._until, self._seen_up, self._seen)
        self._retained.save()
