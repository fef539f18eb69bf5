# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.analog import Analog
from driver_bench import Bench, pins

TRUE = {"voltage": 3.7}
WITHIN = 0.0005
FRAME_BYTES = 1
SKIP = {"truncated": "a voltage has no frames", "garbled": "a voltage has no frames"}


def wire():
    return pins(Analog(lambda us: 1850000, pin=35))


def bench():
    return Bench(kind="adc_voltage", pin=35, same=3)
