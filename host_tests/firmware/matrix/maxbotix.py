# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.maxbotix import Maxbotix
from driver_bench import Bench, uart

TRUE = {"distance": 1.953}
WITHIN = 0.0005
FRAME_BYTES = 6
#: bits that make another digit of 1, 9, 5, 3: the text has no checksum
BLIND = (8, 9, 10, 11, 16, 19, 24, 25, 26, 32, 33, 34)


def wire():
    return uart(1, Maxbotix(lambda us: 1953))


def bench():
    return Bench(kind="maxbotix", tx=17, rx=16, same=3)
