"""Puts every fault on one kind of sensor and says what its readings were; run by test_driver_matrix.py.

A sensor's file in matrix/ has
    TRUE          quantity -> value that it reads with nothing wrong
    WITHIN        how far from it a reading may be
    FRAME_BYTES   length of what the device sends at once; each of its bits is flipped, one at a time
    wire()        wires the model to a bus and gives it
    bench()       the driver_bench.Bench; `same` must be 3
    SKIP          (optional) names of faults that it cannot have, each with the reason
    BLIND         (optional) bits whose flip the protocol cannot tell: then a wrong value may come
"""

import sys

from driver_bench import FOREVER, fault, say, time

kind = __import__(sys.argv[1])
device = kind.wire()
bench = kind.bench()


def read(name=None, argument=0):
    """One reading under a fault: list of [quantity, value, reason], and how long it took in ms."""
    fault(device, name, argument)
    before = time.now_us()
    found = bench.read()
    took = (time.now_us() - before) // 1000
    fault(device, None)
    return found, took


def told(case, reading):
    say({"case": case, "found": reading[0], "ms": reading[1]})


told("well", read())
for case in ("unplugged", "flooding"):
    told(case, read(case))
    told("well after " + case, read())
for ms in (30, 150, 700, 2500):
    told("late", read("late", ms))
    bench.read()  # what comes late may disturb one reading, as a null; and no more
    time.sleep_ms(ms)  # till nothing of it is under way: the next reading would be minutes away
    told("well after late", read())
for count in range(1, kind.FRAME_BYTES + 1):
    told("truncated", read("truncated", count))
told("well after truncated", read())
for bit in range(8 * kind.FRAME_BYTES):
    told("garbled", read("garbled", bit))
told("well after garbled", read())
fault(device, "unplugged", 0, 0, time.now_us() + 20000000)  # absent at boot, plugged in after 20 s
told("absent", (bench.read(), 0))
time.sleep(30)
bench.read()
told("well after absent", read())
fault(device, "stuck", 0, time.now_us(), FOREVER)
period = bench.settings["period_s"]
say({"case": "stuck", "found": [[s[s.rfind(".") + 1 :], v, r] for s, v, r in bench.run(period * 5)], "ms": 0})
