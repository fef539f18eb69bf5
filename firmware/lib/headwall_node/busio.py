"""What Adafruit's drivers want of CircuitPython's `busio`, over MicroPython's I2C.

`install()` puts this module where their imports look for `busio` and `digitalio`; the drivers themselves are those of
PyPI, unchanged.
"""

import sys


def install():
    """Let `import busio` and `import digitalio` find this module."""
    sys.modules["busio"] = sys.modules["digitalio"] = sys.modules[__name__]


class SPI:
    """Named by the drivers, not used."""


class DigitalInOut:
    """Named by the drivers, not used."""


class I2C:
    """bus: a machine.I2C · most: transfers until OSError, which ends a driver that asks for ever"""

    def __init__(self, bus, most):
        self._bus = bus
        self._left = most

    def try_lock(self):
        return True  # nothing else runs before the driver returns

    def unlock(self):
        pass

    def writeto(self, address, buffer, start=0, end=None):
        self._count()
        self._bus.writeto(address, memoryview(buffer)[start : len(buffer) if end is None else end])

    def readfrom_into(self, address, buffer, start=0, end=None):
        self._count()
        self._bus.readfrom_into(address, memoryview(buffer)[start : len(buffer) if end is None else end])

    def _count(self):
        self._left -= 1
        if self._left < 0:
            raise OSError("the chip never got ready")
