"""RAM stand-ins of esp32.NVS and the wake calls for one process; flash is in flash.py."""

WAKEUP_ALL_LOW, WAKEUP_ANY_HIGH = False, True
armed = {}


def wake_on_ext0(pin=None, level=0):
    armed[0] = pin and (pin.number, level)


def wake_on_ext1(pins=None, level=0):
    armed[1] = pins and (tuple(p.number for p in pins), level)
