"""An LTE modem as the link: dialled with AT commands over a UART, then IP over PPP (network.PPP of the ESP32 port).

The same calls as network_link.Link. Every wait is bounded and leaves the loop free. AT commands: 3GPP TS 27.007 (CPIN,
CEREG, CREG, CGDCONT, CSQ), ITU-T V.250 (D, E, H, +++). A SIM that refuses its PIN is not asked again until the board
starts anew: after three wrong ones it is locked.
"""

import asyncio
from time import ticks_diff, ticks_ms

import machine
import network
from micropython import const

from .network_link import LinkDown

_LOOK_MS = const(50)
_WAKE_S = const(20)  # from supply to the first answer
_ANSWER_MS = const(2000)
_DIAL_MS = const(30000)
_PPP_MS = const(30000)
_GUARD_MS = const(1100)  # of silence around +++
_ENDS = ("OK", "ERROR", "NO CARRIER", "CONNECT", "+CME ERROR", "+CMS ERROR", "BUSY", "NO DIALTONE")


class ModemLink:
    """modem: one of the settings' · sim_pin: "" for a SIM without · password: of the access point's user"""

    def __init__(self, modem, sim_pin, password):
        self._modem = modem
        self._sim_pin = sim_pin
        self._password = password
        self._switch = machine.Pin(modem["power_pin"], machine.Pin.OUT) if modem["power_pin"] >= 0 else None
        self._uart = None
        self._ppp = None
        self._rssi = None
        self._locked = None  # why the SIM is not to be asked again

    def is_up(self):
        return self._ppp is not None and self._ppp.isconnected()

    async def up(self):
        """Return once the link is up; LinkDown with what the modem said."""
        if self.is_up():
            return
        if self._locked:
            raise LinkDown("no LTE: " + self._locked)
        self.down()
        if self._switch is not None:
            self._switch.value(self._modem["power_on"])
        modem = self._modem
        self._uart = machine.UART(modem["uart"], modem["baudrate"], tx=modem["tx"], rx=modem["rx"], rxbuf=2048)
        try:
            await self._wake()
            await self._unlock()
            await self._register()
            await self._dial()
        except (LinkDown, OSError, asyncio.CancelledError):
            self.down()
            raise

    def down(self):
        """Hang up, and switch the supply off where there is a switch."""
        if self._ppp is not None:
            self._ppp.disconnect()
            self._ppp = None
        if self._uart is not None:
            self._uart.deinit()
            self._uart = None
        if self._switch is not None:
            self._switch.value(1 - self._modem["power_on"])

    def rssi_dbm(self):
        """Signal strength in dBm when it was dialled, or None."""
        return self._rssi

    # ---- the dialogue

    async def _wake(self):
        """Until it answers; one that still has a call of before the reset is made to hang up."""
        begun = ticks_ms()
        while await self._ask("ATE0", 500) != "OK":
            if ticks_diff(ticks_ms(), begun) > _WAKE_S * 1000:
                raise LinkDown("no LTE: the modem does not answer")
            await asyncio.sleep_ms(_GUARD_MS)
            self._uart.write(b"+++")
            await asyncio.sleep_ms(_GUARD_MS)
            await self._ask("ATH", 500)

    async def _unlock(self):
        await self._ask("AT+CPIN?")
        state = self._said("+CPIN:")
        if state == "SIM PIN" and self._sim_pin:
            if await self._ask('AT+CPIN="%s"' % self._sim_pin, 10000) != "OK":
                self._locked = "the SIM refuses its PIN"
                raise LinkDown("no LTE: " + self._locked)
        elif state != "READY":
            raise LinkDown("no LTE: the SIM is not ready: %s" % (state or self._lines))

    async def _register(self):
        """Until a network has taken it: at home or roaming."""
        begun = ticks_ms()
        while True:
            for command, mark in (("AT+CEREG?", "+CEREG:"), ("AT+CREG?", "+CREG:")):
                await self._ask(command)
                state = self._said(mark).split(",")
                if len(state) > 1 and state[1] in ("1", "5"):
                    return
            if ticks_diff(ticks_ms(), begun) > self._modem["register_s"] * 1000:
                raise LinkDown("no LTE: no network in %d s (%s)" % (self._modem["register_s"], ",".join(state)))
            await asyncio.sleep_ms(1000)

    async def _dial(self):
        await self._ask("AT+CSQ")
        quality = self._said("+CSQ:").split(",")[0]
        self._rssi = 2 * int(quality) - 113 if quality.isdigit() and int(quality) < 32 else None
        await self._ask('AT+CGDCONT=1,"IP","%s"' % self._modem["apn"])
        answer = await self._ask("ATD*99#", _DIAL_MS)
        if not answer.startswith("CONNECT"):
            raise LinkDown("no LTE: %s: %s" % (self._modem["apn"], answer or "no answer"))
        self._ppp = network.PPP(self._uart)
        if self._modem["user"]:
            self._ppp.connect(security=self._ppp.SEC_PAP, user=self._modem["user"], key=self._password)
        else:
            self._ppp.connect()
        begun = ticks_ms()
        while not self._ppp.isconnected():
            if ticks_diff(ticks_ms(), begun) > _PPP_MS:
                raise LinkDown("no LTE: PPP gives no address (status %s)" % self._ppp.status())
            await asyncio.sleep_ms(_LOOK_MS)

    async def _ask(self, command, within_ms=_ANSWER_MS):
        """Send a command; the line that ended its answer, "" if none came. All lines are in `_lines`."""
        self._uart.read()
        self._lines = []
        self._uart.write(command.encode() + b"\r")
        begun, left = ticks_ms(), b""
        while ticks_diff(ticks_ms(), begun) < within_ms:
            await asyncio.sleep_ms(_LOOK_MS)
            left += self._uart.read() or b""
            *lines, left = left[-512:].split(b"\n")
            for line in lines:
                line = bytes(c for c in line if 32 <= c < 127).decode().strip()
                self._lines.append(line)
                if line.startswith(_ENDS):
                    return line
        return ""

    def _said(self, mark):
        """What stands behind a mark in the last answer, "" if it is not there."""
        for line in self._lines:
            if line.startswith(mark):
                return line[len(mark) :].strip()
        return ""
