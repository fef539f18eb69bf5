"""In MicroPython: flash operations and time of 1,000 tips in the journal, and in LittleFS closed one by one."""

import json
import time
import vfs
from flash import NVS, Flash

from headwall_node.journal import Journal

COUNT = 1000
T = 1781000000000


def journal():
    flash, nvs = Flash(64), NVS()
    j = Journal(flash, nvs, b"uid")
    before = flash.erases, flash.programmed
    start = time.ticks_us()
    for i in range(COUNT):
        j.append_tip("rain.tips", T + i * 61007, None, None)
    us = time.ticks_diff(time.ticks_us(), start)
    return flash.erases - before[0], flash.programmed - before[1], us, nvs.commits


def littlefs():
    flash = Flash(64)
    vfs.VfsLfs2.mkfs(flash)
    vfs.mount(vfs.VfsLfs2(flash), "/bench")
    before = flash.erases, flash.programmed
    start = time.ticks_us()
    for i in range(COUNT):
        with open("/bench/readings", "ab") as f:
            f.write(b"%032d" % i)
    us = time.ticks_diff(time.ticks_us(), start)
    vfs.umount("/bench")
    return flash.erases - before[0], flash.programmed - before[1], us, 0


print(json.dumps({"count": COUNT, "journal": journal(), "littlefs": littlefs()}))
