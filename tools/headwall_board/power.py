"""How long a battery lasts: charge a day from currents (power.toml) and from what a simulated day took.

Charge a day = sleep + awake without Wi-Fi + Wi-Fi + sensors, each as current times time. Times come from the simulated
board, which runs the node's own program: how often it wakes, how long it waits for sensors and network, how often it
connects. What a simulation cannot know (joining Wi-Fi, the chip's own speed) is added as a figure a wake-up or
connection. So the result is an estimate; a meter in the supply for an hour is better.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
from headwall.errors import InputError
from headwall_sim.wear import ERASES_PER_SECTOR

DAY_S: Final = 86_400
_HOUR_S: Final = 3600
_MONTH_DAYS: Final = 30.4375
#: fewest records that a sector of the journal holds (firmware: headwall_node/journal.py)
_RECORDS_AN_ERASE: Final = 84


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    source: str

    @property
    def is_yours(self) -> bool:
        """Whether the figures are a start that only a measurement can replace."""
        return self.source == "yours"


class Chip(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Currents of the chip, mA."""

    deep_sleep_ma: float
    awake_ma: float
    receive_ma: float
    transmit_ma: float


class Radio(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Wi-Fi: share of time in which it sends, and seconds a connection beyond the simulation."""

    transmit_share: float
    join_s: float
    tls_s: float


class Start(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Seconds a wake-up beyond the simulation."""

    boot_s: float


class BoardPart(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the board itself draws beside the chip, mA."""

    sleep_ma: float
    awake_ma: float


class Battery(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How much of the capacity can be used, and how fast it goes by itself."""

    usable_share: float
    self_discharge_percent_month: float


class SensorPart(_Part, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Currents of a sensor, mA; read_s: how long a reading takes; own_supply: none of it from this battery."""

    active_ma: float
    standby_ma: float
    read_s: float
    own_supply: bool = False


class Parts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All figures of power.toml."""

    chip: Chip
    radio: Radio
    start: Start
    board: BoardPart
    battery: Battery
    sensors: dict[str, SensorPart]

    def sensor(self, kind: str) -> SensorPart:
        """The currents of a kind of sensor.

        Raises:
            InputError: none are known.
        """
        part = self.sensors.get(kind)
        if part is None:
            raise InputError(
                f"no currents are known for a sensor of kind {kind}: write them under [sensors.{kind}] (active_ma, "
                "standby_ma, read_s, source) into a file and give it with --parts"
            )
        return part


def load_parts(own: Path | None = None) -> Parts:
    """The figures that come with Headwall, with those of a file of one's own in place of theirs.

    Raises:
        InputError: the file cannot be read, or has a table or key that is not known.
    """
    tables = tomllib.loads((files("headwall_board") / "power.toml").read_text(encoding="utf-8"))
    try:
        for name, table in (tomllib.loads(own.read_text(encoding="utf-8")) if own else {}).items():
            if name == "sensors":
                for kind, sensor in table.items():
                    tables["sensors"][kind] = {**tables["sensors"].get(kind, {}), **sensor}
            else:
                tables[name] = {**tables.get(name, {}), **table}
        return msgspec.convert(tables, Parts)
    except OSError as error:
        raise InputError(f"{own} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, TypeError, AttributeError) as error:
        raise InputError(f"{own}: {error}; it takes the tables and keys of power.toml") from error


@dataclass(frozen=True)
class Day:
    """What a day took on the simulated board.

    Attributes:
        wakes: starts of the program.
        awake_s: seconds awake without a connection, `online_s` those of wake-ups that had one.
        connections: to the broker.
        readings: sensor name → how often it was read.
        records: appended to the journal.
        programs, erases: of the journal's partition; journal_sectors: sectors that it has.
    """

    wakes: int
    awake_s: float
    online_s: float
    connections: int
    readings: Mapping[str, int]
    records: int
    programs: int
    erases: int
    journal_sectors: int


@dataclass(frozen=True)
class Budget:
    """Charge a day by use, mAh, and what follows for a battery.

    Attributes:
        uses: name → mAh a day.
        days: that the battery lasts; None where no battery was given.
        flash_years: until the journal's sectors have had ERASES_PER_SECTOR erases each; None without a record.
        yours: names of tables whose figures are a start only.
    """

    uses: dict[str, float]
    days: float | None
    flash_years: float | None
    yours: list[str]

    @property
    def mah_a_day(self) -> float:
        """All uses together."""
        return sum(self.uses.values())


def budget(sensors: Sequence[Mapping[str, Any]], day: Day, parts: Parts, battery_mah: float | None) -> Budget:
    """The budget of a board with these complete sensor settings.

    Raises:
        InputError: a kind of sensor of which no currents are known.
    """
    chip, radio, board = parts.chip, parts.radio, parts.board
    online_s = day.online_s + day.connections * (radio.join_s + radio.tls_s)
    awake_s = day.awake_s + day.wakes * parts.start.boot_s
    sleep_s = max(DAY_S - online_s - awake_s, 0.0)
    on_air_ma = radio.transmit_share * chip.transmit_ma + (1 - radio.transmit_share) * chip.receive_ma
    uses = {
        "deep sleep": sleep_s * (chip.deep_sleep_ma + board.sleep_ma) / _HOUR_S,
        "awake": awake_s * (chip.awake_ma + board.awake_ma) / _HOUR_S,
        "Wi-Fi": online_s * (on_air_ma + board.awake_ma) / _HOUR_S,
    }
    for sensor in sensors:
        uses[f"sensor {sensor['name']}"] = _sensor_mah(sensor, day, parts.sensor(sensor["kind"]))
    yours = [name for name in ("radio", "start", "board", "battery") if getattr(parts, name).is_yours]
    yours += sorted({f"sensors.{one['kind']}" for one in sensors if parts.sensors[one["kind"]].is_yours})
    days = None if battery_mah is None else _days(sum(uses.values()), battery_mah, parts.battery)
    return Budget(uses, days, _flash_years(day), yours)


def _sensor_mah(sensor: Mapping[str, Any], day: Day, part: SensorPart) -> float:
    if part.own_supply:
        return 0.0
    reading_s = sensor.get("warmup_ms", 0) / 1000 + part.read_s
    active_s = float(min(day.readings.get(sensor["name"], 0) * reading_s, DAY_S))
    switched = sensor.get("power_pin", -1) >= 0
    standby_s = 0.0 if switched else DAY_S - active_s
    return (active_s * part.active_ma + standby_s * part.standby_ma) / _HOUR_S


def _days(mah_a_day: float, battery_mah: float, battery: Battery) -> float:
    by_itself = battery_mah * battery.self_discharge_percent_month / 100 / _MONTH_DAYS
    return battery_mah * battery.usable_share / (mah_a_day + by_itself)


def _flash_years(day: Day) -> float | None:
    """The ring erases its sectors in turn, so that all age alike; a day that happens to have no erase has records."""
    erases = max(day.erases, day.records / _RECORDS_AN_ERASE)
    return day.journal_sectors * ERASES_PER_SECTOR / erases / 365.25 if erases else None
