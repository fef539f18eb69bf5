# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.a02yyuw import A02yyuw
from driver_bench import Bench, uart

TRUE = {"distance": 1.953}
WITHIN = 0.0005
FRAME_BYTES = 4
mm = [1953]


def wire():
    """The device, and what lets its true value change to another plausible one."""
    return uart(1, A02yyuw(lambda us: mm[0]))


def bench():
    return Bench(kind="a02yyuw", tx=17, rx=16, same=3)
