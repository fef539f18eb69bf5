"""BME280: air temperature, pressure at the station and humidity, through Adafruit's driver from PyPI, unchanged.

    range        -40 to 85 degrees Celsius, 30,000 to 110,000 Pa, 0 to 100 % relative humidity
    resolution   0.01 degrees, 0.18 Pa (told in steps of 0.05), 0.01 %; 32-bit floats err by 0.06 Pa at most
    timing       three measurements of up to 45 ms each, in which nothing else of the program runs
    wiring       supply 3.3 V, SCL and SDA with pull-ups (modules have them), SDO selects the address
    source       Bosch BST-BME280-DS001; adafruit-circuitpython-bme280 and -busdevice (MIT)

The pressure is the station's own, not reduced to sea level: that is what an unvented level sensor needs. The driver is
made anew for each reading, so that a chip that was exchanged, with calibration of its own, is read by that. I2C has no
checksum: the chip's number is asked for before and after, and tells another chip or a line that bends bits.
"""

from micropython import const

from .. import busio

busio.install()
import adafruit_bus_device.i2c_device  # noqa: E402, F401  what the driver would load later would stay
from adafruit_bme280.basic import Adafruit_BME280_I2C  # noqa: E402

from ..decimal import text_of  # noqa: E402

_NUMBER_REGISTER = const(0xD0)
_NUMBER = const(0x60)
_DATA = const(0xF7)  # 3 bytes pressure, 3 temperature, 2 humidity
_MOST_TRANSFERS = const(400)
_LIMITS = ((-4000, 8500), (3000000, 11000000), (0, 10000))  # in hundredths


class Driver:
    def __init__(self, settings, rig):
        self._bus = rig.i2c(settings)
        self._address = settings["address"]

    def close(self):
        pass  # others may be on the bus

    async def read(self):
        self._ask_number()
        chip = Adafruit_BME280_I2C(busio.I2C(self._bus, _MOST_TRANSFERS), self._address)
        found = [chip.temperature * 100]
        skipped = self._skipped()
        found += [5 * round(chip.pressure * 2000), chip.humidity * 100]  # from hPa, in steps of 0.05 Pa
        self._ask_number()
        reading, reason = [], None
        for i, quantity in enumerate(("temperature", "pressure", "humidity")):
            hundredths = round(found[i])
            least, most = _LIMITS[i]
            if skipped[i]:
                why = "not_ready"
            else:
                why = reason or (None if least <= hundredths <= most else "out_of_range")
            if i == 0:
                reason = why  # pressure and humidity are computed with the temperature
            reading.append((quantity, None if why else text_of(hundredths, 2), why))
        return reading

    def _ask_number(self):
        number = self._bus.readfrom_mem(self._address, _NUMBER_REGISTER, 1)[0]
        if number != _NUMBER:
            raise OSError("the chip's number is 0x%02x, not a BME280's 0x60" % number)

    def _skipped(self):
        """Whether the chip has no value of temperature, pressure, humidity: 0x80000 and 0x8000 stand for none."""
        raw = self._bus.readfrom_mem(self._address, _DATA, 8)
        return (
            raw[3:6] == b"\x80\x00\x00",
            raw[:3] == b"\x80\x00\x00",
            raw[6:] == b"\x80\x00",
        )
