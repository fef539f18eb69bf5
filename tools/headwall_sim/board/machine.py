# machine as far as headwall's firmware uses it, in virtual time.
import os
from binascii import unhexlify

import _buses
import _host
import _link
import _pins
import time

_buses.now_us = _link.now_us
UART, I2C, SoftI2C = _buses.UART, _buses.I2C, _buses.SoftI2C
time_pulse_us = _buses.time_pulse_us
ADC, Counter, _buses.timeline_edges = _buses.ADC, _buses.Counter, _pins.edges_of
PWRON_RESET, HARD_RESET, WDT_RESET, DEEPSLEEP_RESET, SOFT_RESET = 1, 2, 3, 4, 5
PIN_WAKE, EXT0_WAKE, EXT1_WAKE, TIMER_WAKE, TOUCHPAD_WAKE, ULP_WAKE = 2, 2, 3, 4, 5, 6

_ext0 = None  # (pin number, level), set by esp32.wake_on_ext0
_ext1 = ((), False)


class Pin:
    IN, OUT, OPEN_DRAIN = 1, 3, 7
    PULL_DOWN, PULL_UP = 1, 2
    IRQ_RISING, IRQ_FALLING, WAKE_LOW, WAKE_HIGH = 1, 2, 4, 5
    _made = {}

    def __new__(cls, number, *args, **kwargs):
        # one object a pin, as on the port
        if number not in cls._made:
            cls._made[number] = object.__new__(cls)
        return cls._made[number]

    def __init__(self, number, mode=-1, pull=-1, value=None):
        self.number = number
        if mode != -1:
            self._mode = mode
        if value is not None:
            self.value(value)

    def value(self, level=None):
        device = _buses.pins.get(self.number)
        if level is not None:
            self._driven = 1 if level else 0
            if device:
                device.driven(self.number, self._driven, _link.now_us())
            return None
        if getattr(self, "_mode", self.IN) != self.IN:
            return getattr(self, "_driven", 0)
        if device:
            return device.level(self.number, _link.now_us())
        if _link.next_edge_us <= _link.now_us():
            _link.deliver()
        return _pins.levels >> self.number & 1

    __call__ = value

    def on(self):
        self.value(1)

    def off(self):
        self.value(0)

    def irq(self, handler=None, trigger=IRQ_RISING | IRQ_FALLING, wake=None, hard=False):
        _pins.listen(self.number, handler, self, trigger)
        return self


class RTC:
    # Memory of 2 KiB that lives until power is lost, and the clock, which deep sleep and resets leave running.
    def memory(self, data=None):
        file = _host.open_flat("rtc.memory")
        try:
            if data is None:
                return _memory_of(file.read())
            if len(data) > 2048:
                raise ValueError("buffer too long")
            file.write(len(data).to_bytes(2, "little") + bytes(data))
        finally:
            file.close()

    def datetime(self, parts=None):
        if parts is None:
            us = time.time_us()
            t = time.gmtime(us // 1000000)
            return (t[0], t[1], t[2], t[6], t[3], t[4], t[5], us % 1000000)
        year, month, day, _, hour, minute, second, us = parts
        time.set_time_us(time.mktime((year, month, day, hour, minute, second)) * 1000000 + us)
        return None


def _memory_of(raw):
    size = int.from_bytes(raw[:2], "little") if raw else 0
    return raw[2 : 2 + size]


class WDT:
    def __init__(self, id=0, timeout=5000):
        _link.feed(timeout * 1000)

    def feed(self):
        _link.feed()


def reset_cause():
    return int(os.getenv("SIM_CAUSE"))


def wake_reason():
    return int(os.getenv("SIM_WAKE"))


def unique_id():
    return unhexlify(os.getenv("SIM_MAC"))


def freq(*args):
    return None if args else 160000000


def idle():
    pass


def lightsleep(ms=None):
    time.sleep_ms(ms)


def deepsleep(ms=None):
    sources = 0
    if _ext0:
        sources = _ext0[0] + 1 | _ext0[1] << 7
    if _ext1[0]:
        sources |= _ext1[1] << 8 | sum(1 << number for number in _ext1[0]) << 9
    _link.end_of_process(ord("S"), _link.FOREVER if ms is None else ms, sources)


def reset():
    _link.end_of_process(ord("R"), HARD_RESET)


def soft_reset():
    _link.end_of_process(ord("R"), SOFT_RESET)
