"""ADS1115: four voltages over I2C, one conversion at a time.

    range        0 to 4.096 V against ground, and never more than the chip's supply + 0.3 V; below zero to -0.3 V
    resolution   125 microvolts a count
    timing       125 ms a conversion at 8 a second, which leaves out hum of 50 and 60 Hz; 8 ms at 128 a second
    wiring       address by pin ADDR: GND 72 (0x48), VDD 73, SDA 74, SCL 75; pull-ups of 2 to 10 kilohm on SDA and SCL
    source       Texas Instruments SBAS444

I2C has no checksum. The configuration is read back before the value is: a chip that is another one, or a line that
bends bits, is told by it.
"""

import asyncio

from micropython import const

UV_PER_COUNT = 125
QUIET, FAST = const(0x0000), const(0x0080)  # 8 and 128 conversions a second
CLIPPED = (0x7FFF, -0x8000)

_VALUE = const(0)  # registers
_CONFIG = const(1)
_START = const(0x8000)  # written: begin a conversion; read: none is under way
_AGAINST_GROUND = const(0x4000)
_4V096_SINGLE = const(0x0300)
_NO_COMPARATOR = const(0x0003)
_LOOK_MS = const(10)
_LOOKS = const(30)


async def convert(i2c, address, channel, rate):
    """(count, None) of a channel, 0 to 3, or (None, reason). OSError where nobody answers."""
    config = _START | _AGAINST_GROUND | channel << 12 | _4V096_SINGLE | rate | _NO_COMPARATOR
    i2c.writeto_mem(address, _CONFIG, config.to_bytes(2, "big"))
    for _ in range(_LOOKS):
        await asyncio.sleep_ms(_LOOK_MS)
        told = _register(i2c, address, _CONFIG)
        if (told ^ config) & ~_START:
            return None, "bad_frame"
        if told & _START:
            count = _register(i2c, address, _VALUE)
            return count - 0x10000 if count & 0x8000 else count, None
    return None, "not_ready"


def _register(i2c, address, number):
    return int.from_bytes(i2c.readfrom_mem(address, number, 2), "big")
