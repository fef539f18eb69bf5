"""What the sensors of a board share: its buses, and each other's newest values."""

import asyncio

import machine


class Rig:
    """uptime_ms(): the board's uptime · pace: pace.Pace, or None"""

    def __init__(self, uptime_ms):
        self.uptime_ms = uptime_ms
        self.pace = None
        self._newest = {}  # of the streams that are watched
        self._uarts = {}
        self._i2cs = {}
        self._locks = {}

    def uart(self, settings, baudrate, **more):
        """The UART of a sensor, freshly set up: another sensor on it may have had another rate."""
        number = settings["uart"]
        more.update(baudrate=baudrate, tx=settings["tx"], rx=settings["rx"])
        if number in self._uarts:
            self._uarts[number].init(**more)
        else:
            self._uarts[number] = machine.UART(number, **more)
        return self._uarts[number]

    def i2c(self, settings):
        """The I2C bus of a sensor, at 100 kHz: long wires."""
        number = settings["i2c"]
        if number not in self._i2cs:
            self._i2cs[number] = machine.I2C(
                number, scl=machine.Pin(settings["scl"]), sda=machine.Pin(settings["sda"]), freq=100000
            )
        return self._i2cs[number]

    def lock(self, bus):
        """The lock of a bus that several sensors use, by any name they agree on."""
        if bus not in self._locks:
            self._locks[bus] = asyncio.Lock()
        return self._locks[bus]

    def watch(self, stream):
        """From now on keep the newest value of a stream; None is no stream."""
        if stream:
            self._newest[stream] = None

    def note(self, stream, value):
        """Keep a reading's decimal text (None: a null) if somebody asks for that stream."""
        if self.pace is not None:
            self.pace.note(stream, value)
        if stream in self._newest:
            self._newest[stream] = None if value is None else (value, self.uptime_ms())

    def newest(self, stream, within_ms):
        """The newest value of a stream as it was noted, or None: a null, none yet, or older than `within_ms`."""
        found = self._newest.get(stream)
        return found[0] if found and self.uptime_ms() - found[1] <= within_ms else None
