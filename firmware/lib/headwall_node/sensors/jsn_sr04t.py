"""JSN-SR04T: a waterproof ultrasonic ranger that tells its distance by the length of a pulse, or in frames over a UART.

    range        200 or 250 mm (blind zone, by version) to 4,500 mm, version 3 to 6,000 mm
    resolution   1 mm; accuracy 10 mm
    timing       echo: 10 us and more of `trig` start a measurement, `echo` is then high for as long as the sound was
                 under way, at no echo for some 60 ms; asked: a frame within 60 ms after 55 (hex); serial: every 100 ms
    wiring       supply 5 V; Trig (RX) to `trig`, Echo (TX) over a divider to 3.3 V to `echo`. R27 open: mode "echo";
                 47 kohm: "serial"; 120 kohm: "asked". A pull-down at `echo` keeps a cut wire silent
    frame        as that of the A02YYUW, in mm; 9600 8N1
    source       maker's leaflet "JSN-SR04T output mode" (distance = time x 340 m/s / 2)

While a pulse is measured nothing else runs on the board: no longer than twice the time of an echo from `range_mm`,
60 ms at 4.5 m, and for a dead module half of it. A pulse has no checksum: what a disturbance makes of it is caught by
`median` and `spread_mm` alone.
"""

import asyncio
from time import sleep_us, ticks_diff, ticks_ms

import machine
from micropython import const

from ..ultrasound import distance, find_frame, hear, sound_m_s

_TRIGGER_US = const(20)
_COLD_M_S = const(300)  # sound at -50 Cel: no echo from within the range takes longer


class Driver:
    def __init__(self, settings, rig):
        self._settings = settings
        self._rig = rig
        self._uart = None
        if settings["mode"] == "echo":
            self._trig = machine.Pin(settings["trig"], machine.Pin.OUT, value=0)
            self._echo = machine.Pin(settings["echo"], machine.Pin.IN, machine.Pin.PULL_DOWN)
        else:
            bus = {"uart": settings["uart"], "tx": settings["trig"], "rx": settings["echo"]}
            self._uart = rig.uart(bus, 9600, rxbuf=256)

    def close(self):
        if self._uart:
            self._uart.deinit()

    async def read(self):
        settings = self._settings
        if self._uart is None:
            found, heard = await self._pulses()
        else:
            values, heard = await hear(
                self._uart, find_frame, 4, settings, b"\x55" if settings["mode"] == "asked" else b""
            )
            found = [10 * value or None for value in values]
        return distance(settings, self._rig, found, heard)

    async def _pulses(self):
        """(distances in tenths of a mm, None for no echo; whether the line moved at all)."""
        settings = self._settings
        most_us = settings["range_mm"] * 2000 // _COLD_M_S
        mm_s = int(1000 * sound_m_s(settings["assumed_cel"]))
        found, heard = [], False
        for _ in range(settings["median"]):
            begun = ticks_ms()
            if self._echo.value():
                heard = True  # high before it was asked: no measurement can be told from it
            else:
                us = self._pulse_us(most_us)
                heard = heard or us != -2
                if us != -2:
                    found.append(None if us < 0 else (us * mm_s + 1000000) // 2000000 * 10)
            await asyncio.sleep_ms(max(1, settings["cycle_ms"] - ticks_diff(ticks_ms(), begun)))
        return found, heard

    def _pulse_us(self, most_us):
        """Length of one echo's pulse; -1: it does not end in time, -2: it does not begin."""
        self._trig.value(1)
        sleep_us(_TRIGGER_US)
        self._trig.value(0)
        return machine.time_pulse_us(self._echo, 1, most_us)
