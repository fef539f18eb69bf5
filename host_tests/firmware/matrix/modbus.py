# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.modbus_slave import ModbusSlave
from driver_bench import Bench, uart

TRUE = {"flow": 0.5}
WITHIN = 0.0005
FRAME_BYTES = 9


def wire():
    return uart(1, ModbusSlave(lambda us: 0.5))


def bench():
    return Bench(kind="modbus", tx=17, rx=16, same=3, registers=[{"quantity": "flow", "register": 0, "type": "f32"}])
