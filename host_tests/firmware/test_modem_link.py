"""A board whose way out is an LTE modem, dialled with AT commands; PPP itself is the port's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drivers import run
from headwall_sim.broker import Broker
from headwall_sim.wiring import Wired
from scripted_gateway import ScriptedGateway
from sim_node import START_US, SimNode

SETTINGS: dict[str, Any] = {"modem": [{"tx": 17, "rx": 16, "apn": "iot.example"}], "wifi": []}

BENCH = """
from driver_bench import *
from devices.modem import Modem
import network
from headwall_node.modem_link import LinkDown, ModemLink
from headwall_node import config, rules
there = [1]
modem = uart(1, Modem(lambda us: there[0], **{args}))


class PPP:
    SEC_NONE, SEC_PAP, SEC_CHAP = 0, 1, 2
    used = None
    def __init__(self, stream): pass
    def connect(self, **with_what): PPP.used = with_what
    def disconnect(self): modem.online = False
    def isconnected(self): return modem.online
    def status(self): return 0

network.PPP = PPP
given = dict(tx=17, rx=16, apn="iot.example")
given.update({given})
link = ModemLink(rules.filled(given, config.ITEMS["modem"]), {sim_pin!r}, "secret")

def up():
    begun = time.now_us()
    try:
        asyncio.run(link.up())
        said = None
    except LinkDown as down:
        said = str(down)
    return [said, link.is_up(), (time.now_us() - begun) // 1000000]
"""


def bench(script: str, sim_pin: str = "", given: dict[str, Any] | None = None, **args: Any) -> list[Any]:
    return run(BENCH.format(args=args, sim_pin=sim_pin, given=given or {}) + script)


def test_dials_the_access_point_and_hangs_up() -> None:
    said = bench(
        "say(up()[:2] + [link.rssi_dbm(), PPP.used]); link.down(); say(link.is_up(), modem.online); say(up()[:2])"
    )
    assert said == [[None, True, -79, {}], [False, False], [None, True]]


def test_access_point_with_a_user_gets_the_password() -> None:
    said = bench("up(); say(PPP.used)", given={"user": "node"})
    assert said == [{"security": 1, "user": "node", "key": "secret"}]


def test_modem_that_still_has_a_call_of_before_the_reset_is_made_to_hang_up() -> None:
    assert bench("modem.online = True; say(up()[:2])") == [[None, True]]


def test_sim_is_unlocked_with_its_pin() -> None:
    assert bench("say(up()[:2])", sim_pin="1234", pin="1234") == [[None, True]]


def test_sim_that_refuses_its_pin_is_asked_once_alone_as_three_wrong_ones_lock_it() -> None:
    said = bench("say([up()[0] for _ in range(5)]); say(modem._tries)", sim_pin="1111", pin="1234")
    assert said == [["no LTE: the SIM refuses its PIN"] * 5, 2]


@pytest.mark.parametrize(
    ("what", "why", "longest_s"),
    [
        ('fault(modem, "unplugged")', "the modem does not answer", 30),
        ("there[0] = None", "no network in 90 s (+CREG: 0,2)", 110),
        ('modem._apn = "other"', "iot.example: NO CARRIER", 15),
        ("modem._ready = False", "the SIM is not ready: SIM PIN", 15),
        ("PPP.isconnected = lambda self: False", "PPP gives no address", 45),
        ('fault(modem, "flooding")', "the modem does not answer", 30),
    ],
)
def test_modem_that_does_not_get_through_says_why_in_bounded_time(what: str, why: str, longest_s: int) -> None:
    (said,) = bench(f"{what}\nsay(up())")
    assert said[1] is False
    assert why.split(" (")[0] in said[0]
    assert said[2] <= longest_s


def lte(*world: tuple[int, int | None], **args: Any) -> Wired:
    return Wired(
        "modem", "Modem", "uart", 1, [(START_US + minute * 60_000_000, heard) for minute, heard in world], args=args
    )


@pytest.mark.mosquitto
@pytest.mark.parametrize("mode", ["mains", "battery"])
def test_readings_go_over_lte_and_those_of_hours_without_a_network_afterwards(
    mode: str, broker: Broker, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    heard = lte((0, 1), (60, None), (180, 1), pin="7391x")
    with SimNode(tmp_path, broker, [30, 90, 200], {"wired": [heard]}, mode=mode, **SETTINGS, sim_pin="7391x") as node:
        node.use_clock(gateway)
        node.board.hear(False)  # there is no Wi-Fi
        node.run_to(58)
        assert sum(value == 1 for value in gateway.held.values()) == 1
        node.proxy.set_mode("cut")
        node.run_to(180)
        node.proxy.set_mode("open")
        node.run_until(lambda: sum(value == 1 for value in gateway.held.values()) == 3, 240)
        assert gateway.twice == 0
        assert any(said.get("rssi_dbm") == -79 for said in gateway.states)
        assert "no LTE: no network" in node.console()
        assert "7391x" not in node.console()


def test_pins_of_modem_chip_and_led_are_not_used_twice() -> None:
    from mp import run as run_script

    said = run_script(
        f"""
        import json
        from headwall_node import config
        given = json.loads({json.dumps(json.dumps({"node": "a", "broker_host": "b", "sensors": [], **SETTINGS}))})
        given["sensors"] = [dict(kind="a02yyuw", uart=2, tx=25, rx=16), dict(kind="tipping_bucket", pin=21)]
        given["ds3231"] = [dict(scl=22, sda=21)]
        print(config.validate(given))
        given["sensors"] = [dict(kind="tipping_bucket", pin=4)]
        given["led_pin"] = 22
        print(config.validate(given))
        given["led_pin"] = 2
        print(config.validate(given))
        """,
        heap="1M",
    )
    first, second, third = said.splitlines()
    assert "rx 16 is used already: modem.rx" in first
    assert "pin 21 is used already: sda of i2c 0" in first
    assert "scl of i2c 0: pin 22 is used already: led_pin" in second
    assert third == "[]"
