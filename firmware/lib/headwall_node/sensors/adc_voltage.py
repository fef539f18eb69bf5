"""A voltage at the board's own ADC, behind a divider: the board's battery or its solar panel.

    range        `low_mv` to `high_mv` at the pin times `ratio`: with 2 and an ESP32 0.3 to 4.9 V
    resolution   1 mV at the pin
    timing       about 0.1 ms for each of `median` readings
    wiring       battery - resistor - pin - resistor - ground, with 100 nF from pin to ground: two of 100 kilohm for one
                 lithium cell (ratio 2; 21 microamperes), 560 and 100 kilohm for 12 V (ratio 6.6)
    source       MicroPython's quick reference of the ESP32, ADC; ESP32 data sheet

The divider is part of the reading: its resistors' 1 % are 1 % of the voltage.
"""

from .. import analog
from ..decimal import parts, text_of


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._adc = analog.board_adc(settings["pin"])

    def close(self):
        pass

    async def read(self):
        settings = self._settings
        uv = analog.read_uv(self._adc, settings["median"])
        if uv < settings["low_mv"] * 1000:
            return [("voltage", None, "no_signal")]
        if uv > settings["high_mv"] * 1000:
            return [("voltage", None, "saturated")]
        factor, decimals = parts(settings["ratio"])
        return [("voltage", text_of(analog.rounded(uv * factor, 10 ** (decimals + 3)), 3), None)]
