# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.ads1115 import Ads1115
from driver_bench import Bench, i2c

TRUE = {"level": 2.5}
WITHIN = 0.0005
FRAME_BYTES = 2


def wire():
    """12 mA across 150 ohm."""
    return i2c(0, 72, Ads1115(lambda us: 1800000))


def bench():
    return Bench(kind="current_loop", scl=22, sda=21, low="0", high="5", same=3)
