"""A transmitter on a 4-20 mA loop: level, pressure, sludge top, scum bottom, turbidity, or whatever it measures.

    range        3.8 to 20.5 mA are values (NAMUR NE43), scaled by `low` at 4 mA and `high` at 20 mA
    resolution   ADS1115: 125 microvolts, with 150 ohm 0.8 microampere or 1/19200 of the range; board's ADC: 1 mV
    timing       ADS1115: 125 ms for each of `median` conversions; `warmup_ms` of the transmitter's manual
    wiring       the loop's current through a shunt to ground, the voltage over it to the ADC: 150 ohm (0.1 %) for an
                 ADS1115, 100 ohm for the board's own ADC; 100 nF across it, and 1 kilohm before the ADC's pin
    source       NAMUR NE43; Texas Instruments SBAS444

What a current means:

    3.6 mA or less       fault: the transmitter says so, or the loop is open. A count just below zero is an open loop
    up to 3.8 mA         saturated: below what the transmitter can measure
    3.8 to 20.5 mA       a value, also a little below `low` and above `high`
    up to 21.0 mA        saturated: above what it can measure
    21.0 mA or more      fault: the transmitter says so
    the ADC clipped      saturated
"""

from micropython import const

from .. import ads1115, analog
from ..decimal import parts, text_of

_FAULT_LOW_NA = const(3600000)
_LEAST_NA = const(3800000)
_ZERO_NA = const(4000000)
_SPAN_NA = const(16000000)
_MOST_NA = const(20500000)
_FAULT_HIGH_NA = const(21000000)
_FINENESS = const(100000)  # a value has enough decimals for this many steps between low and high


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._i2c = self._adc = None
        if settings["pin"] >= 0:
            self._adc = analog.board_adc(settings["pin"])
        else:
            self._i2c = rig.i2c(settings)

    def close(self):
        pass  # others may be on the bus

    async def read(self):
        settings = self._settings
        if self._adc:
            value, reason = told(analog.read_uv(self._adc, settings["median"]), settings)
        else:
            value, reason = await self._converted()
        return [(settings["quantity"], value, reason)]

    async def _converted(self):
        settings, counts = self._settings, []
        for _ in range(settings["median"]):
            count, reason = await ads1115.convert(self._i2c, settings["address"], settings["channel"], ads1115.QUIET)
            if reason:
                return None, reason
            counts.append(count)
        count = analog.middle(counts)
        if count in ads1115.CLIPPED:
            return None, "saturated"
        return told(count * ads1115.UV_PER_COUNT, settings)


def told(uv, settings):
    """(decimal text, None) of a voltage over the shunt, or (None, reason)."""
    na = uv * 1000000 // settings["shunt_mohm"]
    if na <= _FAULT_LOW_NA or na >= _FAULT_HIGH_NA:
        return None, "fault"
    if na < _LEAST_NA or na > _MOST_NA:
        return None, "saturated"
    return scaled(na, settings["low"], settings["high"]), None


def scaled(na, low, high):
    """The decimal text of a current in nA on the straight line through (4 mA, low) and (20 mA, high)."""
    least, decimals = parts(low)
    most, places = parts(high)
    deep = max(decimals, places)
    least *= 10 ** (deep - decimals)
    span = most * 10 ** (deep - places) - least
    while abs(span) < _FINENESS:
        least, span, deep = least * 10, span * 10, deep + 1
    return text_of(least + analog.rounded(span * (na - _ZERO_NA), _SPAN_NA), deep)
