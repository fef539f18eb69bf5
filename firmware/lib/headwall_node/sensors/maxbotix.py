"""MaxBotix rangers (HRXL-, XL-, LV-MaxSonar and relatives): they tell their distance as text over a UART.

    range        by model: HRXL-WR 300 or 500 to 4,999 mm or 9,998 mm, XL-WR 20 to 764 cm, LV-EZ 6 to 253 in
    resolution   by model: 1 mm, 1 cm or 1 in
    timing       by itself every 50 to 170 ms; HRXL free run filters over some 0.7 s; a banner of text after supply
    wiring       supply 3.3 to 5.5 V; pin 5 to `rx`; pin 4 to `tx`, which is high: it ranges all the time. TTL models
                 (MB738x) `levels` "ttl"; RS232 models (MB736x, LV, XL) send 0 V to supply inverted: "rs232"
    frame        R, three or four digits, carriage return; 9600 8N1
    source       data sheets PD11500 (HRXL-MaxSonar-WR), PD11832 (LV-MaxSonar-EZ) and of the XL-MaxSonar-WR

The text has no checksum: the number of digits is held to, and a single wrong digit is caught by `median` and
`spread_mm` alone. What is nearer than its range the sensor tells as the nearest value it has, so that this value is
"blind_zone". `no_target` is what it tells without an echo: 5000 or 9999 mm, 765 cm, 254 in.
"""

import machine

from ..ultrasound import distance, hear

_TENTHS = {"mm": 10, "cm": 100, "in": 254}  # of a millimetre in the sensor's unit


def find_reading(data, start, digits):
    """(value, offset behind it) of the first "R", `digits` digits and carriage return, or (None, offset from which on
    one may still begin)."""
    at = start
    while at + digits + 2 <= len(data):
        end = at + 1 + digits
        if data[at] == 0x52 and data[end] == 0x0D and data[at + 1 : end].isdigit():
            return int(data[at + 1 : end]), end + 1
        at += 1
    return None, at


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        invert = machine.UART.INV_RX if settings["levels"] == "rs232" else 0
        self._uart = rig.uart(settings, 9600, rxbuf=256, invert=invert)

    def close(self):
        self._uart.deinit()

    async def read(self):
        settings = self._settings
        digits = settings["digits"]
        values, heard = await hear(self._uart, lambda data, at: find_reading(data, at, digits), digits + 2, settings)
        unit, none = _TENTHS[settings["unit"]], settings["no_target"]
        found = [None if value >= none else value * unit for value in values]
        return distance(settings, self._rig, found, heard, settings["blind_mm"] * 10 + 1)
