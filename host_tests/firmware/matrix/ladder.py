# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.ladder import ChipLadder
from driver_bench import Bench, i2c

TRUE = {"level": 0.125, "uncertainty": 0.025}
WITHIN = 0.0005
FRAME_BYTES = 2


def wire():
    return i2c(0, 72, ChipLadder(lambda us: 100))


def bench():
    bands = [{"medium": "liquid", "from_mv": 300, "to_mv": 800}, {"medium": "sludge", "from_mv": 1000, "to_mv": 1600}]
    return Bench(kind="ladder", scl=22, sda=21, count=4, bands=bands, same=3)
