# The board's buses as machine gives them, with models of devices at their ends. `now_us` is put here by whoever keeps
# time: the simulated board's link, or a test.
import time

import devices.faults

now_us = None
#: what is wired: number of the UART -> devices.faults.Line; number of the I2C bus -> {address: device}
uarts = {}
i2cs = {}
#: number of a pin -> device with
#:     level(number, now_us)            0 or 1, as the board reads it
#:     driven(number, level, now_us)    the board drives that pin
#:     change(number, after_us)         the next instant at which level() may change, or None
#: one at an ADC has microvolts(number, now_us); one that gives pulses edges(number, now_us): how many there were
pins = {}
#: number of a pin -> list of 1-Wire devices at it (onewire.py)
wires = {}
#: number of a pin -> [rising, falling] edges of the board's timeline so far; put here by the simulated board
timeline_edges = None


class UART:
    # machine.UART as of the ESP32 port: a receive buffer that overruns, a write that ends at once.
    INV_TX, INV_RX = 32, 4

    def __init__(self, id, baudrate=9600, *args, **kwargs):
        self._line = uarts.get(id)
        self._waiting = b""
        self.init(baudrate, *args, **kwargs)

    def init(
        self, baudrate=9600, bits=8, parity=None, stop=1, *,
        tx=None, rx=None, txbuf=256, rxbuf=256, timeout=0, timeout_char=0, invert=0, mode=0,
    ):  # fmt: skip
        self.baudrate = baudrate
        self._room = rxbuf
        self._waiting = b""
        if self._line:
            self._line.begin(now_us(), baudrate, bits, parity, stop, invert)

    def deinit(self):
        self._waiting = b""

    def _hear(self):
        if self._line:
            self._waiting = (self._waiting + self._line.arrived(now_us()))[: self._room]  # what overruns is lost

    def any(self):
        self._hear()
        return len(self._waiting)

    def read(self, count=-1):
        self._hear()
        if not self._waiting:
            return None
        count = len(self._waiting) if count < 0 else count
        got, self._waiting = self._waiting[:count], self._waiting[count:]
        return got

    def readinto(self, buf, count=-1):
        got = self.read(len(buf) if count < 0 else min(count, len(buf)))
        if got is None:
            return None
        buf[: len(got)] = got
        return len(got)

    def readline(self):
        self._hear()
        end = self._waiting.find(b"\n") + 1
        return self.read(end if end else -1)

    def write(self, data):
        if self._line:
            self._line.written(bytes(data), now_us(), self.baudrate)
        return len(data)

    def flush(self):
        pass

    def txdone(self):
        return True


class I2C:
    # machine.I2C: OSError(19) where nobody answers, as the ESP32 port raises it.
    def __init__(self, id=0, *, scl=None, sda=None, freq=400000, timeout=50000):
        self._devices = i2cs.setdefault(id, {})

    def _at(self, address):
        device = self._devices.get(address)
        if device is None or devices.faults.silent(device.faults, now_us()):
            raise OSError(19)
        return device

    def scan(self):
        return sorted(a for a in self._devices if not devices.faults.silent(self._devices[a].faults, now_us()))

    def writeto(self, address, data, stop=True):
        self._at(address).written(bytes(data), now_us())
        return len(data)

    def readfrom(self, address, count, stop=True):
        device = self._at(address)
        came = devices.faults.bent(device.faults, device.read(count, now_us()), now_us())
        return came + b"\xff" * (count - len(came))  # the master clocks on: a line that nobody pulls down is ones

    def readfrom_into(self, address, buf, stop=True):
        buf[:] = self.readfrom(address, len(buf))

    def readfrom_mem(self, address, register, count, *, addrsize=8):
        self.writeto(address, register.to_bytes(addrsize // 8, "big"), False)
        return self.readfrom(address, count)

    def writeto_mem(self, address, register, data, *, addrsize=8):
        self.writeto(address, register.to_bytes(addrsize // 8, "big") + bytes(data))


SoftI2C = I2C


def time_pulse_us(pin, level, timeout_us=1000000):
    # machine.time_pulse_us as of the port: -2 if the pulse does not begin in time, -1 if it does not end. Told by the
    # device's own instants: real time that passes meanwhile changes nothing.
    device = pins.get(pin.number)
    at_us = now_us()
    for wanted, late in ((level, -2), (1 - level, -1)):
        begun_us = at_us
        while (device.level(pin.number, at_us) if device else pin.value()) != wanted:
            end_us = begun_us + timeout_us
            if at_us >= end_us:
                return late
            at_us = min(device and device.change(pin.number, at_us) or end_us, end_us)
            time.sleep_us(max(0, at_us - now_us()))
    return at_us - begun_us


class ADC:
    # machine.ADC of an ESP32: whole millivolts, a floor of 142 mV and a ceiling of 3134 mV.
    ATTN_0DB, ATTN_2_5DB, ATTN_6DB, ATTN_11DB = 0, 1, 2, 3

    def __init__(self, pin, *, atten=0):
        self._pin = pin.number

    def read_uv(self):
        device = pins.get(self._pin)
        uv = device.microvolts(self._pin, now_us()) if device else 0
        return min(3134, max(142, (uv + 500) // 1000)) * 1000


class Counter:
    # machine.Counter of an ESP32: one object a unit, made anew only when it is given a pin.
    RISING, FALLING = 1, 2
    _made = {}

    def __new__(cls, unit, *args, **kwargs):
        if unit not in cls._made:
            cls._made[unit] = object.__new__(cls)
        return cls._made[unit]

    def __init__(self, unit, src=None, *, edge=RISING, direction=None, filter_ns=0):
        if src is not None:
            self._pin, self._edge = src.number, edge
            self._from = self._edges()

    def _edges(self):
        device = pins.get(self._pin)
        if device:
            return device.edges(self._pin, now_us())
        return timeline_edges(self._pin)[self._edge - 1] if timeline_edges else 0

    def value(self, value=None):
        found = self._edges() - self._from
        if value is not None:
            self._from += found - value
        return found

    def deinit(self):
        pass
