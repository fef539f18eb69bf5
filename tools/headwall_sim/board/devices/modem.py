# An LTE modem at the level of AT commands. world(now_us): 1 while a network takes it, else None or 0. With PPP it only
# says that it is on line: network.PPP of the simulation asks it, and bytes then go over the machine's own network.
from . import faults


class Modem:
    baudrate = 115200

    def __init__(self, world, pin="", apn="iot.example", csq=17):
        self.faults = []
        self.online = False
        self._world = world
        self._pin, self._apn, self._csq = pin, apn, csq
        self._ready = not pin
        self._tries = 3
        self._context = None
        self._line = b""
        self._echo = True
        self._out = []  # (instant, bytes)

    def bursts(self, from_us, to_us):
        return faults.due(self._out, to_us)

    def takes(self, now_us):
        # Whether a network has it.
        return self._ready and bool(self._world(now_us)) and not faults.silent(self.faults, now_us)

    def written(self, data, now_us):
        if self.online:
            self.online = data != b"+++"
            if not self.online:
                self._say(now_us, "OK")
            return
        if self._echo:
            self._out.append((now_us + 1000, data))
        *lines, self._line = (self._line + data).split(b"\r")
        for line in lines:
            self._obey(line.strip().decode(), now_us)

    def _say(self, now_us, *lines, after_us=20000):
        self._out.append((now_us + after_us, "".join("\r\n" + line + "\r\n" for line in lines).encode()))

    def _obey(self, line, now_us):
        if line in ("AT", "ATH"):
            self._say(now_us, "OK")
        elif line == "ATE0":
            self._echo = False
            self._say(now_us, "OK")
        elif line == "AT+CPIN?":
            state = "READY" if self._ready else "SIM PIN" if self._tries else "SIM PUK"
            self._say(now_us, "+CPIN: " + state, "OK")
        elif line.startswith('AT+CPIN="') and self._tries:
            self._ready = line[9:-1] == self._pin
            self._tries -= not self._ready
            self._say(now_us, "OK" if self._ready else "+CME ERROR: incorrect password", after_us=500000)
        elif line in ("AT+CEREG?", "AT+CREG?"):
            self._say(now_us, "%s: 0,%d" % (line[2:-1], 5 if self.takes(now_us) else 2), "OK")
        elif line == "AT+CSQ":
            self._say(now_us, "+CSQ: %d,99" % (self._csq if self.takes(now_us) else 99), "OK")
        elif line.startswith('AT+CGDCONT=1,"IP","'):
            self._context = line[19:-1]
            self._say(now_us, "OK")
        elif line == "ATD*99#" and self.takes(now_us) and self._context == self._apn:
            self.online = True
            self._say(now_us, "CONNECT 100000000", after_us=800000)
        elif line == "ATD*99#":
            self._say(now_us, "NO CARRIER", after_us=3000000)
        elif line:
            self._say(now_us, "ERROR")
