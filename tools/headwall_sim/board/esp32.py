# esp32 as far as headwall's firmware uses it: partitions, NVS, wake-up by pin.
import json
from binascii import hexlify, unhexlify

import _flash
import _host
import machine

WAKEUP_ALL_LOW = False
WAKEUP_ANY_HIGH = True


def wake_on_ext0(pin, level):
    machine._ext0 = None if pin is None else (pin.number, bool(level))


def wake_on_ext1(pins, level):
    machine._ext1 = ([pin.number for pin in pins or ()], bool(level))


class Partition:
    TYPE_APP = 0
    TYPE_DATA = 1

    def __init__(self, region):
        self._region = region
        self.readblocks = region.readblocks
        self.writeblocks = region.writeblocks
        self.ioctl = region.ioctl

    @staticmethod
    def find(type=TYPE_APP, subtype=255, label=None, block_size=4096):
        if type != Partition.TYPE_DATA:
            return []
        regions = _flash.regions.items()
        return [Partition(region) for name, region in regions if region.blocks and label in (None, name)]

    def info(self):
        region = self._region
        return (1, 0x81, region.start, region.blocks * _flash.BLOCK, region.label, False)


class NVS:
    # Changes last once commit() returns; a commit that the power interrupts has not happened.
    def __init__(self, namespace):
        self._space = namespace
        self._all = _nvs_load()
        self._own = self._all.setdefault(namespace, {})

    def _get(self, key, kind):
        found = self._own.get(key)
        if found is None or found[0] != kind:
            raise OSError(-4354, "ESP_ERR_NVS_NOT_FOUND")
        return found[1]

    def set_i32(self, key, value):
        self._own[_key(key)] = ["i32", value]

    def get_i32(self, key):
        return self._get(key, "i32")

    def set_blob(self, key, value):
        self._own[_key(key)] = ["blob", hexlify(value).decode()]

    def get_blob(self, key, buffer):
        found = unhexlify(self._get(key, "blob"))
        if len(found) > len(buffer):
            raise OSError(-4364, "ESP_ERR_NVS_INVALID_LENGTH")
        buffer[: len(found)] = found
        return len(found)

    def erase_key(self, key):
        if self._own.pop(key, None) is None:
            raise OSError(-4354, "ESP_ERR_NVS_NOT_FOUND")

    def commit(self):
        whole = _nvs_load()
        whole[self._space] = self._own
        failed = _flash.fails_now()
        if not failed:
            with _host.open("nvs.new", "w") as file:
                json.dump(whole, file)
            _host.rename("nvs.new", "nvs.json")
            _flash.count(_flash.COMMITS)
        _flash.finish(failed)


def _key(key):
    if len(key) > 15:
        raise OSError(-4361, "ESP_ERR_NVS_KEY_TOO_LONG")
    return key


def _nvs_load():
    try:
        with _host.open("nvs.json", "r") as file:
            return json.load(file)
    except OSError:
        return {}


def mcu_temperature():
    return 25
