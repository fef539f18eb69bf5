# Runs first in the simulated board's MicroPython: puts the board's modules before the port's own, mounts the flash at
# "/" and the program at "/rom" (as a ROM file system is), then runs boot.py and main.py.
#
# What differs from an ESP32 all the same: floats have 64 bits, objects are twice as large, a socket's setblocking(True)
# does not clear its timeout (the class is in C), and TLS judges certificates by the machine's clock, not the board's.
import sys

sys.path[:] = [__file__.rsplit("/", 1)[0], ".frozen"]
import _link  # noqa: E402, F401
import time  # noqa: E402, F401
import select  # noqa: E402

import _taskqueue  # noqa: E402

sys.modules["_asyncio"] = _taskqueue
import gc  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402

import _flash  # noqa: E402
import esp32  # noqa: E402, F401
import machine  # noqa: E402, F401
import network  # noqa: E402, F401
import onewire  # noqa: E402, F401
import ds18x20  # noqa: E402, F401
import uctypes  # noqa: E402
import vfs  # noqa: E402

import ssl  # noqa: E402

select.follow(ssl.SSLContext)
random.seed(int(os.getenv("SIM_SEED")))
if os.getenv("SIM_WIRED"):
    import _wiring

    _wiring.wire()


def _mount():
    region = _flash.regions["vfs"]
    vfs.umount("/")
    options = {"progsize": 32, "readsize": 32, "lookahead": 32}
    try:
        vfs.mount(vfs.VfsLfs2(region, **options), "/")
    except OSError:
        vfs.VfsLfs2.mkfs(region, **options)
        vfs.mount(vfs.VfsLfs2(region, **options), "/")
    if os.getenv("SIM_ROM_AT"):  # the program in memory that is not the heap's
        vfs.mount(vfs.VfsRom(uctypes.bytearray_at(*map(int, os.getenv("SIM_ROM_AT").split()))), "/rom")
    elif os.getenv("SIM_ROM"):  # files of the supervisor's
        vfs.mount(vfs.VfsPosix(os.getenv("SIM_ROM")), "/rom", readonly=True)
    os.chdir("/")


def _run(name):
    # As the port does it: from the flash, else from /rom; a fault is printed and ends the program, not the board.
    # False: there was a fault.
    for path in ("/" + name, "/rom/" + name):
        try:
            with open(path) as file:
                program = file.read()
        except OSError:
            continue
        try:
            program = compile(program, name, "exec")
            gc.collect()
            exec(program, {"__name__": "__main__"})
        except SystemExit:
            machine.soft_reset()
        except BaseException as error:
            sys.print_exception(error)
            return False
        return True
    return True


_mount()
sys.path[:] = ["", "/rom", "/rom/lib", ".frozen", "/lib"] if os.getenv("SIM_ROM_AT") else ["", ".frozen", "/lib"]
gc.collect()
if os.getenv("SIM_ONLY"):  # a program of the supervisor's own, as the one that puts files on the flash
    _run(os.getenv("SIM_ONLY"))
    sys.exit()


def _lay_out_names():
    # MicroPython keeps each new name for ever, in tables that double: 20 names, then 40, and so on. A board's program
    # of 620 to 1260 names of its own makes it lay out six tables; here the simulation's names come before and would
    # shift at which of them the next table comes. So let one of 1280 begin now, and charge the program for the six.
    free, number = gc.mem_free(), 0
    while free - gc.mem_free() < 12000 and number < 4096:
        gc.collect()
        free = gc.mem_free()
        for number in range(number, number + 32):
            hasattr(sys, "~%x" % number)
        number += 1
    return 14200  # bytes: 1260 names of 11, and their blocks


# Leave the program a heap of SIM_HEAP_KB and not more: of a heap, 1.2 % are MicroPython's own tables.
_names = _lay_out_names()
gc.collect()
_taken = bytearray(max(0, gc.mem_free() + _names - int(os.getenv("SIM_HEAP_KB")) * 1012))
_serial = os.getenv("SIM_SERIAL")
if _serial:
    _link.reserve = _taken  # the prompt has no more heap than the program
    _link.tell(ord("U"))
# the port leaves main.py out after a fault in boot.py (Ctrl-C is one), and after a soft reset from the raw prompt
if _run("boot.py") and _serial != "prompt":
    _run("main.py")
if not _serial:
    print("main.py has ended; the board waits at its prompt")
    while True:
        time.sleep(86400)
for _name in [name for name in globals() if not name.startswith("__")]:
    del globals()[_name]  # what follows is the prompt, and knows nothing of the simulation
