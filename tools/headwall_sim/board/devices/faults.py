# What can be wrong with a wired device, for every device alike.
#
# A fault is (from_us, to_us, name, argument):
#     unplugged          nothing comes and nothing gets through; on I2C nobody answers
#     late      ms       each burst of bytes comes so much later
#     truncated n        each burst lacks its last n bytes
#     garbled   bit      of each burst bit number `bit`, modulo its length, is flipped
#     flooding           noise at the full rate of the line, between the bursts and in them
#     stuck              the device goes on, but measures no more: its value stands as at the beginning of the fault
# A device that is absent at boot and plugged in later is "unplugged" till then.


def of(faults, name, now_us):
    # The argument of a fault that is present, else None.
    for from_us, to_us, found, argument in faults:
        if found == name and from_us <= now_us < to_us:
            return argument
    return None


def silent(faults, now_us):
    return of(faults, "unplugged", now_us) is not None


def stuck_at(faults, now_us):
    # The instant at which the value stands: now, or the beginning of the fault "stuck".
    for from_us, to_us, found, _ in faults:
        if found == "stuck" and from_us <= now_us < to_us:
            return from_us
    return now_us


def bent(faults, data, now_us):
    # A burst as it comes over a bad line.
    cut = of(faults, "truncated", now_us)
    if cut:
        data = data[: max(0, len(data) - cut)]
    bit = of(faults, "garbled", now_us)
    if bit is not None and data:
        bit %= 8 * len(data)
        data = bytearray(data)
        data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


def due(out, to_us):
    # Take from a list of (instant, bytes) what is sent by then: the bursts() of a device that only answers.
    taken = [each for each in out if each[0] <= to_us]
    out[:] = [each for each in out if each[0] > to_us]
    return taken


class Line:
    # A serial line to a device. The device has
    #     faults                    list as above
    #     baudrate                  it speaks at, or None for any
    #     inverted                  (optional) True if its levels are those of RS232
    #     bursts(from_us, to_us)    list of (instant of its last byte, bytes) that it ends sending in (from_us, to_us]
    #     written(data, now_us)     what the board sends it; its answer comes in bursts()
    def __init__(self, device):
        self._device = device
        self._heard_us = None
        self._held = []  # (instant, bytes) of late bursts
        self._rate = 9600
        self._inverted = False
        self._noise = 1

    def begin(self, now_us, baudrate, bits, parity, stop, invert):
        self._rate = baudrate
        self._inverted = bool(invert & 4)  # UART.INV_RX
        self._heard_us = now_us if self._heard_us is None else self._heard_us

    def written(self, data, now_us, baudrate):
        if not silent(self._device.faults, now_us) and self._device.baudrate in (None, baudrate):
            self._device.written(data, now_us)

    def arrived(self, now_us):
        # Bytes that came since the last call.
        faults, since = self._device.faults, self._heard_us
        self._heard_us = now_us
        out = b""
        for at_us, data in self._device.bursts(since, now_us):
            if silent(faults, at_us):
                continue
            fits = self._inverted == getattr(self._device, "inverted", False)
            if not fits or self._device.baudrate not in (None, self._rate):
                data = bytes((b * 37 + 11) & 0xFF for b in data)  # bytes come, but wrong ones
            self._held.append((at_us + (of(faults, "late", at_us) or 0) * 1000, bent(faults, data, at_us)))
        while self._held and self._held[0][0] <= now_us:
            out += self._held.pop(0)[1]
        if of(faults, "flooding", now_us) is not None:
            out += self._flood(min(512, (now_us - since) * self._rate // 10000000))
        return out

    def _flood(self, count):
        noise = bytearray(count)
        for i in range(count):
            self._noise = self._noise * 1103515245 + 12345 & 0x7FFFFFFF
            noise[i] = self._noise >> 16 & 0xFF
        return bytes(noise)
