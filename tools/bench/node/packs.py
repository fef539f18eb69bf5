"""In MicroPython: bytes of SenML for 300 tips of a storm in packs of 50 and of 1."""

import json
import sys

from headwall_node.senml import Pack

TIPS = json.loads(sys.stdin.read())


def sizes(batch):
    pack, made = Pack("240ac4000001"), []
    pack.begin("0123456789abcdef", batch)
    for i, time_ms in enumerate(TIPS):
        record = (1000 + i, "rain.tips", time_ms, None, None, 1, 700 + i, None, False)
        if not pack.add(record):
            made.append(len(pack.payload()))
            pack.begin("0123456789abcdef", batch)
            pack.add(record)
    made.append(len(pack.payload()))
    return made


print(json.dumps({"50": sizes(50), "1": sizes(1)}))
