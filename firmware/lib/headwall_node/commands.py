"""What the gateway may order: each command is done once, and answered with what came of it or why not.

Loaded when a command comes, and forgotten. The ids of the last ones that were done stand in RTC memory, so that one
that comes again, since its answer was lost, is answered again and not done again; calibrate only reads, and its result
is the answer, so it is done again. A loss of power forgets them.
"""

import asyncio
from binascii import unhexlify

from machine import Pin
from micropython import const

_ID_BYTES = const(4)
_KEPT_IDS = const(8)
_SAMPLE_MS = const(150000)  # longest wait for all sensors: the slowest one's warm-up and timeout, and others before it
_CALIBRATE_MS = const(240000)
_BLINK_MS = const(250)
_RESULT_VALUES = const(80)  # so many fit an answer of 1.5 KB
_MINUTES = const(60)


class Refused(Exception):
    """Why a command is not done."""


async def obey(told, node):
    """Do a command; the answer to it."""
    answer = {"v": 1, "id": told.get("id"), "do": told.get("do"), "ok": True}
    try:
        result = await _obey(told, node)
        if result is not None:
            answer["result"] = result
    except Refused as why:
        answer["ok"] = False
        answer["why"] = str(why)
    return answer


async def _obey(told, node):
    action = _ACTIONS.get(told.get("do"))
    if action is None:
        raise Refused("this version knows no such command")
    try:
        name = unhexlify(told.get("id"))
    except (TypeError, ValueError):
        name = b""
    if len(name) != _ID_BYTES:
        raise Refused("the id is no 8 hex digits")
    done = node.retained.orders
    if action is not _calibrate and name in [done[at : at + _ID_BYTES] for at in range(0, len(done), _ID_BYTES)]:
        return None
    now, until = node.clock.utc_ms(), told.get("until")
    if now is not None and isinstance(until, int) and now > until:
        raise Refused("it came %d s too late" % ((now - until) // 1000))
    result = await action(told, node)
    node.retained.orders = (done + name)[-_KEPT_IDS * _ID_BYTES :]
    node.retained.save()
    return result


def _whole(told, key, most, default=None):
    """A whole number from 1 to `most` of a command."""
    value = told.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise Refused("%s must be a whole number from 1 to %d" % (key, most))
    return value


async def _state(told, node):
    node.report.again()


async def _sample(told, node):
    """Every sensor is read and every gauge reports; done when all of that is in the journal."""
    begun = node.clock.uptime_ms()
    for each in node.gauges + node.samplers:
        each.now()
    waiting = node.gauges + node.samplers
    while waiting:
        if node.clock.uptime_ms() - begun > _SAMPLE_MS:
            raise Refused("not read in %d s: %s" % (_SAMPLE_MS // 1000, ", ".join([each.name for each in waiting])))
        await asyncio.sleep_ms(50)
        waiting = [each for each in waiting if each.reported_ms < begun]


async def _identify(told, node):
    seconds = _whole(told, "seconds", 600)
    if node.given["led_pin"] < 0:
        raise Refused("it has no LED: led_pin is not set")
    node.stay_awake(seconds * 1000)
    asyncio.create_task(_blink(Pin(node.given["led_pin"], Pin.OUT), seconds * 1000 // (2 * _BLINK_MS)))


async def _blink(led, times):
    for at in range(2 * times):
        led.value(1 - at % 2)
        await asyncio.sleep_ms(_BLINK_MS)


async def _calibrate(told, node):
    """Readings of one sensor, one after the other, {stream: [value, or why there is none, …]}."""
    found = [each for each in node.samplers if each.name == told.get("sensor")]
    if not found:
        raise Refused("no sensor of that name is sampled; there are: %s" % ", ".join([s.name for s in node.samplers]))
    count = _whole(told, "count", _RESULT_VALUES)
    begun = node.clock.uptime_ms()
    result = {}
    for turn in range(count):
        for quantity, value, reason in await found[0].read():
            stream = "%s.%s" % (found[0].name, quantity)
            result.setdefault(stream, []).append(reason if value is None else float(value))
        if turn == 0 and len(result) * count > _RESULT_VALUES:
            raise Refused("at most %d readings of it fit the answer" % (_RESULT_VALUES // len(result)))
        if node.clock.uptime_ms() - begun > _CALIBRATE_MS:
            raise Refused("%d readings took %d s" % (turn + 1, _CALIBRATE_MS // 1000))
    return result


async def _maintenance(told, node):
    if not isinstance(told.get("on"), bool):
        raise Refused("on must be true or false")
    node.maintenance.set(_whole(told, "minutes", 1440, _MINUTES) if told["on"] else 0)


async def _reboot(told, node):
    node.restart = "a command"


_ACTIONS = {
    "state": _state,
    "sample": _sample,
    "identify": _identify,
    "calibrate": _calibrate,
    "maintenance": _maintenance,
    "reboot": _reboot,
}
