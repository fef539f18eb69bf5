"""Devices that answer for the sensors of a configuration: each with a steady, ordinary value.

For simulations in which it does not matter what is measured: a day for the power budget, a board to practise on. A
kind that has no entry here is as if unplugged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headwall_sim.wiring import Wired

Settings = Mapping[str, Any]
_TARGET_MM: Final = 1500
_UNIT_UM: Final = {"mm": 1000, "cm": 10_000, "in": 25_400}


def fitted(sensors: Sequence[Settings]) -> list[Wired]:
    """A device for each of some complete sensor settings, where there is one."""
    return [_DEVICES[sensor["kind"]](sensor) for sensor in sensors if sensor["kind"] in _DEVICES]


def _a02yyuw(one: Settings) -> Wired:
    return Wired(
        "a02yyuw", "A02yyuw", "uart", one["uart"], [(0, _TARGET_MM)], args={"unit_mm": 10 if one["unit"] == "cm" else 1}
    )


def _jsn_sr04t(one: Settings) -> Wired:
    if one["mode"] == "echo":
        pins = {"trig": one["trig"], "echo": one["echo"]}
        return Wired("jsn_sr04t", "JsnSr04t", "pins", 0, [(0, _TARGET_MM)], args=pins)
    asked = {"ask": 0x55} if one["mode"] == "asked" else {}
    return Wired("a02yyuw", "A02yyuw", "uart", one["uart"], [(0, _TARGET_MM)], args={"assumes": 15, **asked})


def _maxbotix(one: Settings) -> Wired:
    args = {"unit_um": _UNIT_UM[one["unit"]], "digits": one["digits"], "no_target": one["no_target"]}
    return Wired(
        "maxbotix",
        "Maxbotix",
        "uart",
        one["uart"],
        [(0, _TARGET_MM)],
        args={**args, "nearest": one["blind_mm"] * 1000 // args["unit_um"], "inverted": one["levels"] == "rs232"},
    )


def _ping1d(one: Settings) -> Wired:
    return Wired("ping1d", "Ping1d", "uart", one["uart"], [(0, (one["end_mm"] or 2 * _TARGET_MM) // 2)])


def _current_loop(one: Settings) -> Wired:
    microvolts = 12 * one["shunt_mohm"]  # 12 mA
    if one["pin"] >= 0:
        return Wired("analog", "Analog", "pins", 0, [(0, microvolts)], args={"pin": one["pin"]})
    args = {"channel": one["channel"]}
    return Wired("ads1115", "Ads1115", "i2c", one["i2c"], [(0, microvolts)], address=one["address"], args=args)


def _adc_voltage(one: Settings) -> Wired:
    middle_uv = (one["low_mv"] + one["high_mv"]) * 500
    return Wired("analog", "Analog", "pins", 0, [(0, middle_uv)], args={"pin": one["pin"]})


def _bme280(one: Settings) -> Wired:
    return Wired("bme280", "Bme280", "i2c", one["i2c"], [(0, None)], address=one["address"])


def _ds18b20(one: Settings) -> Wired:
    rom = {"rom": one["rom"].lower()} if one["rom"] else {}
    return Wired("ds18b20", "Ds18b20", "onewire", one["pin"], [(0, 15 * 16)], args=rom)


def _pulse_meter(one: Settings) -> Wired:
    return Wired("pulses", "Pulses", "pins", 0, [(0, 0)], args={"pin": one["pin"]})


_DEVICES: Final[dict[str, Callable[[Settings], Wired]]] = {
    "a02yyuw": _a02yyuw,
    "jsn_sr04t": _jsn_sr04t,
    "maxbotix": _maxbotix,
    "ping1d": _ping1d,
    "current_loop": _current_loop,
    "adc_voltage": _adc_voltage,
    "bme280": _bme280,
    "ds18b20": _ds18b20,
    "pulse_meter": _pulse_meter,
}
