"""The parts of `machine` that the node's modules touch, driven by the test script; forgets all at process end."""

PWRON_RESET, HARD_RESET, WDT_RESET, DEEPSLEEP_RESET, SOFT_RESET = 1, 2, 3, 4, 5
PIN_WAKE = EXT0_WAKE = 2
EXT1_WAKE = 3
TIMER_WAKE = 4

cause = PWRON_RESET
reason = 0
slept = []
fed = 0


class RTC:
    kept = b""
    set_to = None

    def memory(self, data=None):
        if data is None:
            return RTC.kept
        assert len(data) <= 2048
        RTC.kept = bytes(data)

    def datetime(self, value):
        RTC.set_to = value


class Pin:
    IN, OUT = 1, 3
    PULL_UP, PULL_DOWN = 2, 1
    IRQ_RISING, IRQ_FALLING = 1, 2
    _pins = {}

    def __new__(cls, number, *args, **kwargs):
        if number not in cls._pins:
            pin = cls._pins[number] = object.__new__(cls)
            pin.level, pin.handler, pin.trigger = 1, None, 0
        return cls._pins[number]

    def __init__(self, number, mode=None, pull=None, value=None):
        self.number = number
        if value is not None:
            self.level = value

    def value(self, level=None):
        if level is None:
            return self.level
        self.level = level

    def irq(self, handler=None, trigger=3):
        self.handler, self.trigger = handler, trigger

    def drive(self, level):
        """Change the level and run the handler as the port would."""
        rising = level > self.level
        changed = level != self.level
        self.level = level
        if changed and self.handler and self.trigger & (1 if rising else 2):
            self.handler(self)

    def ghost(self):
        """An interrupt whose level is over (or that never was one)."""
        self.handler(self)


class WDT:
    def __init__(self, id=0, timeout=5000):
        self.timeout = timeout

    def feed(self):
        global fed
        fed += 1


def reset_cause():
    return cause


def wake_reason():
    return reason


def unique_id():
    return b"\x24\x0a\xc4\x00\x00\x01"


def deepsleep(ms=0):
    slept.append(ms)
