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
import vfs  # noqa: E402

import ssl  # noqa: E402

_wrap_socket = ssl.SSLContext.wrap_socket


def wrap_socket(self, sock, *args, **kwargs):
    tls = _wrap_socket(self, sock, *args, **kwargs)
    select.wrapped(tls, sock)
    return tls


ssl.SSLContext.wrap_socket = wrap_socket
random.seed(int(os.getenv("SIM_SEED")))


def _mount():
    region = _flash.regions["vfs"]
    vfs.umount("/")
    options = {"progsize": 32, "readsize": 32, "lookahead": 32}
    try:
        vfs.mount(vfs.VfsLfs2(region, **options), "/")
    except OSError:
        vfs.VfsLfs2.mkfs(region, **options)
        vfs.mount(vfs.VfsLfs2(region, **options), "/")
    vfs.mount(vfs.VfsPosix(os.getenv("SIM_ROM")), "/rom", readonly=True)
    os.chdir("/")


def _run(name):
    # As the port does it: from the flash, else from /rom; a fault is printed and ends the program, not the board.
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
        return


_mount()
sys.path[:] = ["", "/rom", "/rom/lib", ".frozen", "/lib"]
gc.collect()
if os.getenv("SIM_ONLY"):  # a program of the supervisor's own, as the one that puts files on the flash
    _run(os.getenv("SIM_ONLY"))
    sys.exit()
_run("boot.py")
_run("main.py")
print("main.py has ended; the board waits at its prompt")
while True:
    time.sleep(86400)
