# Starts the node. Whatever ends it, the board says why and starts anew: a gauge must not stand still in silence.
# It stays on the board for ever, whichever version of the program headwall_start chooses.
import os
import sys
import time

import machine

PAUSE_S = 10  # time to press Ctrl-C, and no storm of resets
trial = False

try:
    if "slots.json" in os.listdir():  # it has been updated over the air
        import headwall_start

        try:
            trial = headwall_start.choose()
        except Exception as error:  # then the version in /lib runs
            sys.print_exception(error)
        del headwall_start, sys.modules["headwall_start"]
    from headwall_node.app import run

    run()
    why = "the program ended"
except Exception as error:
    sys.print_exception(error)
    why = "%s: %s" % (type(error).__name__, error)
if trial:
    import headwall_start

    headwall_start.failed(why)
print("the node's program has ended; reset in %d s" % PAUSE_S)
time.sleep(PAUSE_S)
machine.reset()
