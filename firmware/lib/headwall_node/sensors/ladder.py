"""A ladder of electrodes or optical gates that stands in a tank: where one medium ends and the next begins.

    range        `count` electrodes, `pitch_mm` apart, the lowest at `lowest_mm`
    resolution   one pitch: the level is the middle between two electrodes, the uncertainty half their distance
    timing       multiplexer: 2 ms an electrode; ADS1115: 20 ms
    wiring       a CD74HC4067 with its signal pin at an ADC pin (`pin`) and S0 to S3 at `s0` to `s3`, electrode 0, the
                 lowest, at its channel 0; or one ADS1115 for each four electrodes. Each electrode with a resistor to
                 3.3 V; the common electrode, or the light of the gates, is switched by `power_pin`, so that
                 nothing corrodes between readings
    source       Texas Instruments SCHS209 (CD74HC4067), SBAS444 (ADS1115)

From the bottom up a tank holds sludge, liquid, scum, air: any may be missing, none comes twice. Each electrode's
voltage is held against `bands`; one medium may have several bands, and one band may serve two media, as sludge and scum
before an optical gate. An electrode in no band is unclear: it may be anything. Out of that follow the lowest and the
highest place that the interface can have:

    level         the middle of the two
    uncertainty   half their distance
    disagree      no order of the media gives these voltages: an electrode is broken or shorted
    no_layer      there is no sludge, or no scum
    out_of_range  the interface is beyond the ladder's end
    low_confidence   more than `doubt` electrodes are unclear, or the layer may be there or not
"""

import asyncio

import machine
from micropython import const

from .. import ads1115, analog
from ..decimal import text_of

_MEDIA = ("sludge", "liquid", "scum", "air")
_BELOW = {"sludge": 0, "scum": 1, "surface": 2}  # interface -> the highest medium under it
_SCUM = const(2)
_AIR = const(3)
_ANY = const(15)  # bits of all media
_SETTLE_MS = const(2)
_TIMES = const(3)


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._adc = None
        if settings["pin"] >= 0:
            self._adc = analog.board_adc(settings["pin"])
            pins = [settings[key] for key in ("s0", "s1", "s2", "s3")]
            self._select = [machine.Pin(pin, machine.Pin.OUT) for pin in pins if pin >= 0]
        else:
            self._i2c = rig.i2c(settings)

    def close(self):
        pass

    async def read(self):
        settings, media, reason = self._settings, [], None
        for electrode in range(settings["count"]):
            uv, reason = await (self._through_mux(electrode) if self._adc else self._converted(electrode))
            if reason:
                return [("level", None, reason), ("uncertainty", None, reason)]
            media.append(_media(uv, settings["bands"]))
        low, high, reason = interface(media, settings["interface"], settings["doubt"])
        if reason:
            return [("level", None, reason), ("uncertainty", None, reason)]
        # twice the millimetres, so that halves are whole
        twice = 2 * settings["lowest_mm"] + settings["pitch_mm"] * (low - 1 + high)
        half = settings["pitch_mm"] * (high - low + 1)
        return [("level", text_of(5 * twice, 4), None), ("uncertainty", text_of(5 * half, 4), None)]

    async def _through_mux(self, electrode):
        for bit, pin in enumerate(self._select):
            pin.value(electrode >> bit & 1)
        await asyncio.sleep_ms(_SETTLE_MS)
        return analog.read_uv(self._adc, _TIMES), None

    async def _converted(self, electrode):
        address = self._settings["address"] + electrode // 4
        count, reason = await ads1115.convert(self._i2c, address, electrode % 4, ads1115.FAST)
        if reason:
            return None, reason
        return count * ads1115.UV_PER_COUNT, None


def _media(uv, bands):
    """The media that a voltage can mean, a bit each; all if it is in no band."""
    found = 0
    for band in bands:
        if band["from_mv"] * 1000 <= uv <= band["to_mv"] * 1000:
            found |= 1 << _MEDIA.index(band["medium"])
    return found or _ANY


def interface(media, which, doubt):
    """(fewest, most, None) electrodes that can be under an interface, or (None, None, reason).

    media: what each electrode can be in, from the lowest up, as bits.
    """
    lowest = _climb(media, 1)
    highest = _climb(media, -1)
    if lowest is None:
        return None, None, "disagree"
    under = _BELOW[which]
    least = sum([1 for medium in highest if medium <= under])
    most = sum([1 for medium in lowest if medium <= under])
    reason = _reason(lowest, highest, which, least, most)
    if not reason and most - least > doubt:
        reason = "low_confidence"
    return (None, None, reason) if reason else (least, most, None)


def _climb(media, step):
    """The medium of each electrode if each is the lowest (step 1) or the highest (-1) possible; None if none is."""
    found, last = [0] * len(media), 0 if step > 0 else _AIR
    order = range(len(media)) if step > 0 else range(len(media) - 1, -1, -1)
    for i in order:
        while 0 <= last <= _AIR and not media[i] >> last & 1:
            last += step
        if not 0 <= last <= _AIR:
            return None
        found[i] = last
    return found


def _reason(lowest, highest, which, least, most):
    """Why the interface is not between two electrodes, or None."""
    count = len(lowest)
    if which == "scum":
        between = list(zip(lowest, highest))
        if (_SCUM, _SCUM) not in between:
            possible = [1 for low, high in between if low <= _SCUM <= high and low != high]
            return "low_confidence" if possible else "no_layer"
    elif which == "sludge" and most == 0:
        return "no_layer"
    if most == 0 or least == count:
        return "out_of_range"
    return "low_confidence" if least == 0 or most == count else None
