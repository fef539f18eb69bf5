# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.ds18b20 import Ds18b20
from driver_bench import Bench, onewire

TRUE = {"temperature": 10.125}
WITHIN = 0.0005
FRAME_BYTES = 9


def wire():
    return onewire(4, Ds18b20(lambda us: 0xA2))


def bench():
    return Bench(kind="ds18b20", pin=4, same=3)
