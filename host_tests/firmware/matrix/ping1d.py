# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.ping1d import Ping1d
from driver_bench import Bench, uart

TRUE = {"distance": 0.853, "confidence": 0.97}
WITHIN = 0.0005
FRAME_BYTES = 15


def wire():
    return uart(1, Ping1d(lambda us: 853))


def bench():
    return Bench(kind="ping1d", tx=17, rx=16, same=3)
