# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.bme280 import Bme280
from driver_bench import Bench, i2c

TRUE = {"temperature": 25.08, "pressure": 100653.25, "humidity": 20.78}
WITHIN = 0.001
FRAME_BYTES = 8


def wire():
    return i2c(0, 119, Bme280())


def bench():
    return Bench(kind="bme280", scl=22, sda=21, same=3)
