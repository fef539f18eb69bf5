"""A main.py for the same simulated board: the sensors of its settings, each reading sent at once as JSON of its own.

No journal and no custody: what does not reach the broker is lost. It wakes for each period and each tip.
"""

import asyncio
import json
import time

import machine
from headwall_node import config, overlay, power, sleep
from headwall_node.clock import Clock
from headwall_node.mqtt import Client
from headwall_node.network_link import Link
from headwall_node.rig import Rig
from headwall_node.sampler import Sampler

settings = config.load()[0]
contact = settings["sensors"][0]
sampled = settings["sensors"][1:]
period_s = sampled[0]["period_s"]
pin = machine.Pin(contact["pin"], machine.Pin.IN, machine.Pin.PULL_UP)
clock = Clock(None)


async def read():
    rig = Rig(clock.uptime_ms)
    found = []
    for sensor in sampled:
        for quantity, value, reason in await Sampler(sensor, 0, None, None, None, rig).read():
            found.append((sensor["name"] + "." + quantity, value, reason))
    return found


async def send(readings):
    client = Client(settings["node"], settings["username"], settings["password"])
    with open(settings["ca_file"], "rb") as file:
        tls = overlay.call("mqtt_tls", "tls_context", file.read())
    await Link([(net["ssid"], net["password"]) for net in settings["wifi"]]).up()
    if sleep.reset_cause() != "deep_sleep":
        await overlay.call("sntp", "ask", clock, settings["ntp_host"], settings["ntp_port"], 5000)
    await client.connect(settings["broker_host"], settings["broker_port"], tls, settings["broker_name"])
    for name, value, reason in readings:
        said = {"sensor": name, "value": value, "reason": reason, "time": time.time()}
        await client.publish("headwall/v1/%s/tele" % settings["node"], json.dumps(said))
    await client.until(lambda: not client.unacked, "PUBACK")
    await client.disconnect()


async def main():
    readings = [("rain.tips", 1, None)] if sleep.woken_by() == 0 else []
    kept = machine.RTC().memory()
    due = int(kept) if kept else 0
    if time.time() >= due:
        readings += await read()
        due = time.time() + period_s
    power.hold("plain")
    await send(readings)
    power.release("plain")
    while pin.value() == contact["closed"]:
        await asyncio.sleep_ms(50)
    machine.RTC().memory(b"%d" % due)
    sleep.deep_sleep(max(1, due - time.time()) * 1000, ((pin, contact["closed"]),))


asyncio.run(main())
