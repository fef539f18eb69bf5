"""A BME280 at a Raspberry Pi: the driver of PyPI over a chip of registers, its readings under custody to the ledger."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from headwall.cli import main
from headwall.clock import SystemClock
from headwall.errors import ConfigurationError, InputError
from headwall.ingest.service import IngestService
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.settings import IngestSettings, StationSettings, load_station_settings
from headwall.station import station as station_module
from headwall.station.sensor import Bme280
from headwall.station.station import Station
from headwall.station.store import Store
from headwall_sim.broker import Account, Broker
from support.fleet import MACS, registry
from support.ingest_rig import PASSWORD, mqtt_settings, until

GOOD = [("temperature", "25.08", None), ("pressure", "100653.25", None), ("humidity", "20.78", None)]
FAULT = [(quantity, None, "fault") for quantity, _, _ in GOOD]
NODE = "gauge-a"


@pytest.fixture(scope="module")
def models() -> Iterator[Any]:
    """The models of the simulated board's devices; they are plain Python and run here as they do there."""
    folder = Path(__file__).parents[2] / "tools" / "headwall_sim" / "board" / "devices"
    spec = importlib.util.spec_from_file_location(
        "devices", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    sys.modules["devices"] = importlib.util.module_from_spec(spec)
    yield importlib.import_module("devices.bme280")
    for name in [name for name in sys.modules if name.split(".")[0] == "devices"]:
        del sys.modules[name]


class Bus:
    """busio.I2C with one chip at one address; `plugged` says whether it answers."""

    def __init__(self, chip: Any, address: int = 0x77) -> None:
        self.chip = chip
        self.address = address
        self.plugged = True

    def _at(self, address: int) -> Any:
        if not self.plugged or address != self.address:
            raise OSError(121, "Remote I/O error")
        return self.chip

    def try_lock(self) -> bool:
        return True

    def unlock(self) -> None:
        pass

    def writeto(self, address: int, buffer: bytes, *, start: int = 0, end: int | None = None) -> None:
        self._at(address).written(bytes(buffer[start:end]), SystemClock().now_us())

    def readfrom_into(self, address: int, buffer: bytearray, *, start: int = 0, end: int | None = None) -> None:
        wanted = len(buffer[start:end])
        buffer[start:end] = self._at(address).read(wanted, SystemClock().now_us())


@pytest.fixture
def bus(models: Any) -> Bus:
    return Bus(models.Bme280())


def test_registers_of_the_example_give_the_values_that_a_board_tells(bus: Bus) -> None:
    assert Bme280(bus, 0x77).read() == GOOD


def test_a_sensor_that_is_gone_or_another_chip_is_null_and_one_that_is_back_is_read(models: Any, bus: Bus) -> None:
    sensor = Bme280(bus, 0x77)
    bus.plugged = False
    assert sensor.read() == FAULT
    bus.plugged = True
    assert sensor.read() == GOOD
    bus.chip = models.Bme280(number=0x58)
    assert sensor.read() == FAULT


def test_a_value_that_the_chip_skipped_or_cannot_have_is_null_with_its_reason(models: Any, bus: Bus) -> None:
    raw: list[Any] = [(519888, None, 25000)]
    bus.chip = models.Bme280(lambda _: raw[0])
    sensor = Bme280(bus, 0x77)
    assert [reason for _, _, reason in sensor.read()] == [None, "not_ready", None]
    raw[0] = (850000, 415148, 25000)
    assert [reason for _, _, reason in sensor.read()] == ["out_of_range"] * 3


def test_numbers_go_on_after_readings_were_forgotten_and_the_file_was_closed(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "s.db")) as store:
        jid = store.jid
        assert (store.floor, store.next) == (1, 1)
        store.append(1000, [("air.temperature", "1", None), ("air.humidity", None, "fault")])
        assert (store.floor, store.next) == (1, 3)
        store.forget(2)
        assert (store.floor, store.next) == (3, 3)
    with closing(Store(tmp_path / "s.db")) as store:
        assert (store.jid, store.floor, store.next) == (jid, 3, 3)
        store.append(2000, [("air.temperature", "2", None)])
        assert [reading.seq for reading in store.after(0, 9)] == [3]


def test_a_file_that_is_no_store_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("this is no database, whatever its name says" * 50)
    with pytest.raises(InputError, match=r"s\.db.*not a database"):
        Store(tmp_path / "s.db")


# ---- with a broker and the gateway's own ingest


@pytest.fixture
def broker(mosquitto: Callable[[Sequence[Account]], Broker]) -> Broker:
    return mosquitto([Account(NODE, PASSWORD), Account("gateway", PASSWORD, "gateway")])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")) as opened:
        yield opened


@contextmanager
def gateway(broker: Broker, ledger: Ledger) -> Iterator[IngestService]:
    known = registry(NODE, streams={f"air.{quantity}": quantity for quantity, _, _ in GOOD})
    mqtt = mqtt_settings(broker.host, broker.port_5, broker.ca.cert)
    service = IngestService(mqtt, IngestSettings(), ledger, known, SystemClock())
    service.start()
    until(lambda: service.healthy() is None, "healthy")
    yield service
    service.stop()


def settings(broker: Broker, tmp_path: Path, **change: Any) -> StationSettings:
    mqtt = {"host": broker.host, "port": broker.port_311, "ca_file": broker.ca.cert}
    mqtt |= {"username": NODE, "password": PASSWORD}
    given = {"node": NODE, "mac": MACS[NODE], "store": tmp_path / "station.db", "mqtt": mqtt, **change}
    return StationSettings.model_validate(given)


@contextmanager
def running(given: StationSettings, sensor: Any) -> Iterator[None]:
    stop = threading.Event()
    with closing(Store(given.store)):
        pass  # its file is there
    made: list[Station] = []

    def work() -> None:
        with closing(Store(given.store)) as store:  # SQLite's connections belong to their thread
            made.append(Station(given, store, sensor, SystemClock()))
            made[0].run(stop)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: made, "made")
    try:
        yield
    finally:
        stop.set()
        made[0].wake()
        thread.join(20)
        assert not thread.is_alive()


def kept(ledger: Ledger) -> list[tuple[int, str, float | None, str | None]]:
    columns = schema.readings.c
    with ledger.read() as conn:
        rows = conn.execute(sa.select(columns.seq, columns.stream, columns.value, columns.null_reason).order_by("seq"))
        return [tuple(row) for row in rows]


def held(given: StationSettings) -> int:
    with closing(Store(given.store)) as store:
        return store.next - store.floor


@pytest.mark.mosquitto
def test_readings_reach_the_ledger_and_leave_the_station_when_they_are_safe(
    broker: Broker, ledger: Ledger, bus: Bus, tmp_path: Path
) -> None:
    given = settings(broker, tmp_path)
    with gateway(broker, ledger), running(given, Bme280(bus, 0x77)):
        until(lambda: len(kept(ledger)) == 3, "in the ledger")
        until(lambda: held(given) == 0, "in custody")
    assert kept(ledger) == [
        (1, "air.temperature", 25.08, None),
        (2, "air.pressure", 100653.25, None),
        (3, "air.humidity", 20.78, None),
    ]
    with ledger.read() as conn:
        [body] = conn.execute(sa.select(schema.node_states.c.body)).scalars()
    assert json.loads(body)["status"] if isinstance(body, str) else body["status"] in ("online", "offline")


@pytest.mark.mosquitto
def test_what_is_read_while_the_gateway_is_away_and_the_station_restarts_is_kept_and_comes_once(
    broker: Broker, ledger: Ledger, bus: Bus, tmp_path: Path
) -> None:
    given = settings(broker, tmp_path)
    for count in (3, 6):
        with running(given, Bme280(bus, 0x77)):
            until(lambda count=count: held(given) == count, "read")  # type: ignore[misc]
        bus.plugged = False
    with gateway(broker, ledger), running(given, Bme280(bus, 0x77)):
        until(lambda: held(given) == 0, "in custody")
    found = kept(ledger)
    assert [seq for seq, *_ in found] == list(range(1, 10))
    assert [reason for *_, reason in found] == [None] * 3 + ["fault"] * 6


@pytest.mark.mosquitto
def test_readings_without_custody_are_sent_again_until_the_gateway_has_them(
    broker: Broker, ledger: Ledger, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(station_module, "_CUSTODY_US", 300_000)
    given = settings(broker, tmp_path)
    with running(given, Bme280(bus, 0x77)):
        until(lambda: held(given) == 3, "read")
        with gateway(broker, ledger):
            until(lambda: held(given) == 0, "in custody")
    assert len(kept(ledger)) == 3


# ---- the command


def write_settings(folder: Path, **change: Any) -> Path:
    given = {"node": "station-1", "mac": "b827eb000001", "store": "station.db", **change}
    path = folder / "station.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    path.write_text("\n".join([*lines, "[mqtt]", 'host = "localhost"', 'password_file = "secret"']))
    (folder / "secret").write_text("hush\n")
    return path


def test_settings_are_read_with_the_password_and_paths_beside_the_file(tmp_path: Path) -> None:
    given = load_station_settings(write_settings(tmp_path))
    assert given.store == tmp_path / "station.db"
    assert given.mqtt.password is not None and given.mqtt.password.get_secret_value() == "hush"
    assert (given.name, given.address, given.period_s) == ("air", 0x77, 300)


def test_the_example_of_the_docs_holds_together(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "station.toml"
    (tmp_path / "station.toml").write_text(example.read_text())
    for name in ("ca.pem", "mqtt-password"):
        (tmp_path / name).write_text("x")
    assert load_station_settings(tmp_path / "station.toml").address == 0x76


def test_faults_of_the_settings_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_station_settings(write_settings(tmp_path, mac="B8:27", address=0x40, colour="red"))
    assert {fault.partition(":")[0] for fault in caught.value.faults} == {"mac", "address", "colour"}


def test_once_reads_and_prints_and_sends_nothing(
    tmp_path: Path, bus: Bus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "board", SimpleNamespace(I2C=lambda: bus))
    monkeypatch.setattr(sys, "argv", ["headwall", "station", str(write_settings(tmp_path)), "--once", "--json"])
    with pytest.raises(SystemExit) as ended:
        main.app()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out) == {f"air.{quantity}": value for quantity, value, _ in GOOD}
    assert not (tmp_path / "station.db").exists()


def test_a_machine_without_i2c_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "board", SimpleNamespace())
    monkeypatch.setattr(sys, "argv", ["headwall", "station", str(write_settings(tmp_path)), "--once"])
    with pytest.raises(SystemExit) as ended:
        main.app()
    assert ended.value.code == 1
    assert "no I2C bus" in capsys.readouterr().err
