"""What kind of board this is."""

import sys


def chip():
    """The board's chip, as bundles and the state message name it: "esp32", "esp32s3", …; "linux" in simulation."""
    machine = sys.implementation._machine
    at = machine.rfind(" with ")  # "Generic ESP32 module with ESP32"
    return machine[at + 6 :].lower() if at >= 0 else sys.platform
