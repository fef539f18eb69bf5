"""Maintenance mode: readings and test tips of its time are kept and sent, but marked: nothing is judged by them.

It ends by itself. RTC memory keeps it through deep sleep and resets; a loss of power ends it.
"""


class Maintenance:
    """retained: power.Retained, which has (from, until) as uptimes · clock: clock.Clock, new in this start"""

    def __init__(self, retained, clock):
        self._retained = retained
        self._clock = clock
        begun, until = retained.maintenance
        if clock.before_ms is not None:  # the uptimes were of the boot id before
            retained.maintenance = (begun - clock.before_ms, until - clock.before_ms)
        elif until and retained.clock and retained.clock[0] != clock.boot_id:  # how long ago that was is not known
            retained.maintenance = (0, 0)

    def set(self, minutes):
        """Begin anew for so many minutes, or, with 0, end now."""
        up = self._clock.uptime_ms()
        begun = self._retained.maintenance[0] if self.left_ms else up
        self._retained.maintenance = (begun, up + minutes * 60000)
        self._retained.save()

    @property
    def left_ms(self):
        """How long it still lasts; 0 outside it."""
        return max(0, self._retained.maintenance[1] - self._clock.uptime_ms())

    def covers(self, boot, up_ms):
        """Whether a reading of this boot id and uptime is to be marked; one of an earlier boot id is in doubt."""
        if boot != self._clock.boot_id:
            return self.left_ms > 0
        begun, until = self._retained.maintenance
        return begun <= up_ms < until
