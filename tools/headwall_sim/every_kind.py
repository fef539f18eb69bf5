"""One sensor of each kind at once, as far as a board has pins and buses: what most memory is needed for.

A MaxBotix is not among them: a board has three UARTs, and its driver is the A02YYUW's with another frame.
"""

from __future__ import annotations

from typing import Any, Final

from headwall_sim.wiring import Wired

_I2C: Final = {"i2c": 0, "scl": 22, "sda": 21}
_BANDS: Final = [
    {"medium": "liquid", "from_mv": 300, "to_mv": 700},
    {"medium": "sludge", "from_mv": 1100, "to_mv": 1500},
]

#: entries of "sensors" for mode "battery"
ON_BATTERY: Final[list[dict[str, Any]]] = [
    {"kind": "tipping_bucket", "pin": 4},
    {"kind": "bme280", **_I2C},
    {"kind": "a02yyuw", "uart": 0, "tx": 17, "rx": 16, "sound": "node", "temperature_from": "air.temperature"},
    {"kind": "ping1d", "uart": 1, "tx": 18, "rx": 19},
    {
        "kind": "modbus",
        "uart": 2,
        "tx": 25,
        "rx": 26,
        "registers": [{"quantity": "flow", "register": 0, "type": "f32"}],
    },
    {"kind": "jsn_sr04t", "name": "basin", "trig": 12, "echo": 13},
    {"kind": "current_loop", "name": "inflow", **_I2C, "quantity": "flow", "low": "0", "high": "0.05"},
    {"kind": "adc_voltage", "pin": 35},
    {"kind": "ladder", "name": "tank", "pin": 34, "s0": 32, "s1": 33, "s2": 14, "s3": 15, "bands": _BANDS},
    {"kind": "ds18b20", "pin": 23},
]
#: and for mode "mains"
ON_MAINS: Final[list[dict[str, Any]]] = [
    *ON_BATTERY,
    {"kind": "pulse_meter", "unit": 1, "pin": 5},
    {"kind": "tipping_counter", "name": "rain2", "unit": 0, "pin": 36},
]
#: devices that answer, each with a steady value
DEVICES: Final = [
    Wired("bme280", "Bme280", "i2c", 0, [(0, None)], address=0x77),
    Wired("a02yyuw", "A02yyuw", "uart", 0, [(0, 1500)]),
    Wired("ping1d", "Ping1d", "uart", 1, [(0, 1500)]),
    Wired("modbus_slave", "ModbusSlave", "uart", 2, [(0, 0.5)]),
    Wired("jsn_sr04t", "JsnSr04t", "pins", 0, [(0, 1500)], args={"trig": 12, "echo": 13}),
    Wired("ads1115", "Ads1115", "i2c", 0, [(0, 1_800_000)], address=0x48),
    Wired("analog", "Analog", "pins", 0, [(0, 1_300_000)], args={"pin": 35}),
    Wired("ladder", "MuxLadder", "pins", 0, [(0, 200)], args={"pin": 34, "select": [32, 33, 14, 15]}),
    Wired("ds18b20", "Ds18b20", "onewire", 23, [(0, 15 * 16)]),
    Wired("pulses", "Pulses", "pins", 0, [(0, 0)], args={"pin": 5}),
]
