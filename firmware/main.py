# Starts the node. Whatever ends it, the board says why and starts anew: a gauge must not stand still in silence.
import sys
import time

import machine

PAUSE_S = 10  # time to press Ctrl-C, and no storm of resets

try:
    from headwall_node.app import run

    run()
except Exception as error:
    sys.print_exception(error)
print("the node's program has ended; reset in %d s" % PAUSE_S)
time.sleep(PAUSE_S)
machine.reset()
