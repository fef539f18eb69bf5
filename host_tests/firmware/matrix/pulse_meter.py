# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.pulses import Pulses
from driver_bench import Bench, pins

TRUE = {"pulses": 0, "frequency": 0}
WITHIN = 0
FRAME_BYTES = 1
SKIP = {
    "unplugged": "pulses alone cannot tell it from no flow",
    "absent": "pulses alone cannot tell it from no flow",
    "stuck": "pulses alone cannot tell it from no flow",
    "truncated": "pulses have no frames",
    "garbled": "pulses have no frames",
}


def wire():
    return pins(Pulses(lambda us: 0, pin=27))


def bench():
    made = Bench(kind="pulse_meter", pin=27)
    made.read()  # the first one has no rate yet
    return made
