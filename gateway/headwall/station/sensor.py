"""The BME280 of a station, through Adafruit's driver, which is the one that boards run too.

What it tells is what a board's driver tells (firmware/lib/headwall_node/sensors/bme280.py): the same values, and null
with the same reasons.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import structlog

from headwall.errors import HeadwallError

log = structlog.get_logger("station")

#: quantity → lowest and highest value of the chip, and the factor from the driver's unit to the contract's
_QUANTITIES: Final = {
    "temperature": (Decimal(-40), Decimal(85), 1),
    "pressure": (Decimal(30000), Decimal(110000), 100),
    "humidity": (Decimal(0), Decimal(100), 1),
}
_STEP: Final = {"temperature": 100, "pressure": 20, "humidity": 100}  # so many steps a unit, finer than the chip's

Found = tuple[str, str | None, str | None]


def open_i2c() -> Any:
    """The I2C bus at the machine's pins, as Blinka knows them.

    Raises:
        HeadwallError: Blinka is not installed, or knows no I2C bus here.
    """
    try:
        import board

        return board.I2C()
    except (ImportError, NotImplementedError, AttributeError, RuntimeError, ValueError, OSError) as error:
        raise HeadwallError(
            f"no I2C bus: {error}; on a Raspberry Pi: pip install 'headwall[station]', then raspi-config, "
            "Interface Options, I2C"
        ) from None


class Bme280:
    """i2c: a busio.I2C · address: 0x77, or 0x76 with SDO low"""

    def __init__(self, i2c: Any, address: int) -> None:
        self._i2c = i2c
        self._address = address
        self._trouble: str | None = None

    def read(self) -> list[Found]:
        """(quantity, value, reason) of each quantity; the driver is made anew each time, as a chip may be exchanged."""
        from adafruit_bme280.basic import Adafruit_BME280_I2C

        try:
            chip = Adafruit_BME280_I2C(self._i2c, self._address)
            values = {quantity: getattr(chip, quantity) * of[2] for quantity, of in _QUANTITIES.items()}
            skipped = _skipped(chip)
        except (OSError, RuntimeError, ValueError, ArithmeticError) as error:
            self._say(str(error))
            return [(quantity, None, "fault") for quantity in _QUANTITIES]
        self._say(None)
        return _judged(values, skipped)

    def _say(self, trouble: str | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            log.info("sensor reads again") if trouble is None else log.warning("sensor fault", reason=trouble)


def _judged(values: dict[str, float], skipped: set[str]) -> list[Found]:
    found: list[Found] = []
    for quantity, (low, high, _) in _QUANTITIES.items():
        value = Decimal(round(values[quantity] * _STEP[quantity])) / _STEP[quantity]
        reason = "not_ready" if quantity in skipped else None if low <= value <= high else "out_of_range"
        if found and found[0][2]:
            reason = found[0][2]  # pressure and humidity are computed with the temperature
        found.append((quantity, None if reason else f"{value.normalize():f}", reason))
    return found


def _skipped(chip: Any) -> set[str]:
    """Quantities that the chip has no value of: 0x80000 and, for humidity, 0x8000 stand for none."""
    raw = bytes(chip._read_register(0xF7, 8))
    told = {"pressure": raw[:3], "temperature": raw[3:6], "humidity": raw[6:]}
    return {quantity for quantity, data in told.items() if data[0] == 0x80 and not any(data[1:])}
