# Wires the models of devices that headwall_sim.wiring names in wiring.json to the board's buses.
import json
import sys

import _buses
import _host
from devices.faults import Line


class World:
    # A true value over time, as its device asks for it: world(now_us).
    def __init__(self, points):
        self._points = points
        self._at = 0

    def __call__(self, now_us):
        points = self._points
        if now_us < points[self._at][0]:
            self._at = 0
        while self._at + 1 < len(points) and points[self._at + 1][0] <= now_us:
            self._at += 1
        from_us, value = points[self._at]
        if value is None or self._at + 1 == len(points) or now_us <= from_us:
            return value
        to_us, last = points[self._at + 1]
        return value if last is None else value + (last - value) * (now_us - from_us) // (to_us - from_us)


def wire():
    with _host.open("wiring.json", "r") as file:
        wired = json.load(file)
    for each in wired:
        name = "devices." + each["device"]
        __import__(name)
        device = getattr(sys.modules[name], each["model"])(World(each["world"]), **each["args"])
        for fault in each["faults"]:
            device.faults.append((fault["from_us"], fault["to_us"], fault["name"], fault["argument"]))
        if hasattr(device, "keep_in"):  # it has a battery of its own
            device.keep_in(_host.open_flat("kept-%s-%d" % (each["device"], each["number"]), 32))
        if each["bus"] == "uart":
            _buses.uarts[each["number"]] = Line(device)
        elif each["bus"] == "pins":
            for number in device.pins:
                _buses.pins[number] = device
        elif each["bus"] == "onewire":
            _buses.wires.setdefault(each["number"], []).append(device)
        else:
            _buses.i2cs.setdefault(each["number"], {})[each["address"]] = device
