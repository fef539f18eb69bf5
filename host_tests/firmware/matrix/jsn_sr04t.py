# One sensor for the matrix of faults. The matrix imports it after driver_bench.
from devices.jsn_sr04t import JsnSr04t
from driver_bench import Bench, pins

TRUE = {"distance": 1.953}
WITHIN = 0.001
FRAME_BYTES = 2  # the microseconds of its pulse
#: a pulse has no checksum: one that is always wrong by the same is a distance as any other
BLIND = tuple(range(16))
SKIP = {"truncated": "a pulse that is always shorter by the same is a distance as any other"}


def wire():
    return pins(JsnSr04t(lambda us: 1953))


def bench():
    return Bench(kind="jsn_sr04t", trig=12, echo=13, same=3)
