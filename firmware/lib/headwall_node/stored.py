"""The checked settings as the node uses them, on flash: `config.run`, made by settings.py.

A line for the node, then a line a sensor, each with all its defaults; at its end a seal, so that a file that is damaged
is made anew and not believed. A sensor's line is read when the sensor is: all of them at once would fill a tenth of the
heap.
"""

import json

PATH = "config.run"


def line(number):
    """The object in line `number`: 0 is the node's, 1 that of the first sensor. OSError or ValueError if it is none."""
    with open(PATH) as file:
        for _ in range(number):
            file.readline()
        return json.loads(file.readline())
