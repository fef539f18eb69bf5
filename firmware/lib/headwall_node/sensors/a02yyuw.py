"""A02YYUW and its twins: waterproof ultrasonic rangers that tell their distance in frames of four bytes over a UART.

    range        30 to 4,500 mm (A02YYUW); other models by `blind_mm` and `range_mm`
    resolution   1 mm; models that speak centimetres (SEN0627): 10 mm
    timing       by itself a frame every 100 to 300 ms; asked (SEN0627): one in 0.9 to 2.5 s. 9600 8N1
    wiring       supply 3.3 to 5 V, sensor's TX to `rx`; its RX to `tx`: high, for averaged values, but when it is asked
    frame        FF high low sum, sum = (FF + high + low) & FF; value in the unit of the model, 0 for no echo
    source       DFRobot wiki SEN0311 (A02YYUW) and SEN0627

A frame of a value below the blind zone is told as such. The distance of `sound` "node" is corrected here, once, for
the air's temperature of another stream; a sensor that corrects itself is left alone.
"""

from ..ultrasound import distance, find_frame, hear

#: a start bit is the falling edge that a sensor waits for, and low for 104 us; the byte's ones are no further edge
_EDGE = b"\xff"


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        self._uart = rig.uart(settings, 9600, rxbuf=256)

    def close(self):
        self._uart.deinit()

    async def read(self):
        settings = self._settings
        values, heard = await hear(self._uart, find_frame, 4, settings, _EDGE if settings["ask"] == "edge" else b"")
        unit = 100 if settings["unit"] == "cm" else 10
        return distance(settings, self._rig, [value * unit or None for value in values], heard)
