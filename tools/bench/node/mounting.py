"""In MicroPython: how long it takes to mount a journal that is full, by a program that has just started."""

import json
import time

from flash import NVS, Flash
from headwall_node.journal import Journal

RECORDS = 9000
T = 1781000000000

flash, nvs = Flash(64), NVS()
journal = Journal(flash, nvs, b"uid")
for i in range(RECORDS):
    journal.append_tip("rain.tips", T + i * 61007, None, None)
start = time.ticks_us()
again = Journal(flash, nvs, b"uid")
us = time.ticks_diff(time.ticks_us(), start)
assert again.next == RECORDS + 1
print(json.dumps({"full_us": us}))
