"""Makes packs as told, one JSON line each way."""

import json
import sys

from headwall_node.senml import Pack


def marked(record):
    """A record of the journal: most tests leave out that it was not taken in maintenance mode."""
    return record if len(record) > 8 else list(record) + [False]


def pack(mac, jid, records, size, most):
    made = Pack(mac, size, most)
    made.begin(jid)
    taken = []
    for record in records:
        taken.append(made.add(marked(record)))
        if not taken[-1]:
            break
    payload = made.payload()
    return [payload and bytes(payload).decode(), taken]


def raw(mac, jid, record):
    made = Pack(mac)
    made.begin(jid)
    made.raw(marked(record))
    return bytes(made.payload()).decode()


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"pack": pack, "raw": raw}[question[0]](*question[1:])))
