"""Scenario files: what happens in a municipality, and what comes of it, to the minute.

A scenario is `host_tests/scenarios/<profile>/<name>.toml`:

    says = "A storm on a Saturday: the report is due on Sunday, no weekend puts it off."
    cites = ["ELM-10"]            # rows of the analysis; without the provisions of each, the scenario must fail
    begins = "2026-06-13 09:00"   # where the clock stands at first; local time, as every time here
    places = ["yard"]             # files of scenarios/places: nodes and sites of the registry. Each gauge and sensor is
                                  # accepted. People there are olive (the officer), otto, ivan, bella and oscar
    registry = '''[[people]] …''' # more of registry.toml, where the places have it not
    profile = '''[[choice]] …'''  # more of the profile's TOML: the municipality's own choices
    uses = "storm"                # scenarios/shared/storm.events.toml, which has says, begins, places, registry and
                                  # events for several municipalities; its events come first
    judge = "15 min"              # readings that come along are judged so often (default); commands at once
    daily_list = true             # it is about the list of each morning, which is left out else
    sweeps = true                 # it is about silent gauges, nodes or sensors: looked at every few minutes (slow)

    [[event]]                     # in any order; `at` is when it comes to the gateway
    at = "2026-06-13 10:00"
    rain = "0.52 in"              # even tips at gauge/rain.tips, or at gauge = "pipe/rain.tips"
    over = "3 h"                  # the clock goes along; the last tip falls at its end

    [[event]]
    at = "2026-06-15 08:00"
    stream = "probe/sludge.level" # readings: a number in the stream's unit, or "12 in", "5 gpm"
    value = "12 in"               # or values = [0.1, 0.2]: one after the other, each `every`
    over = "2 h"                  # default: one reading
    every = "15 min"              # default
    noise = 0.001                 # of a normal distribution, the same each time
    measured = "2026-06-14 08:00" # late data: measured from then on, all of it comes at `at`. Also of rain.
    null = "no_echo"              # readings without a value, for this reason

    [[event]]
    at = "2026-06-16 09:00"
    do = "case confirm 1 --by 'Olive Officer' --reason 'dye test'"   # a command, as a person types it after `headwall`
    show = true                   # what it prints is in the expectations (default: only that it was refused, and why)
    file = '''{…}'''              # {file} in `do` is the path of a file with this

    [[event]]
    at = "2026-07-01 08:00"       # nothing but the clock going on: end with one

    [expected]                    # written by HEADWALL_UPDATE_GOLDEN=1 pytest -k NAME; then a person reads it
    …

The folder names the profile whose code is in force, unless `as = "hillburn"` does. Both sides of a clock change: a time
with its offset, "2026-11-01T01:30-04:00".

The expectations are the whole outcome: duties, cases with steps and clocks, mails, log book, what was refused or shown.
`leaves_out = ["mails"]` keeps a part of it out, where the scenario is not about it.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from headwall.cli.opened import parse_time
from headwall.law import localtime
from headwall.units import FACTORS, parse_depth, parse_duration_us, parse_quantity

FOLDER: Final = Path(__file__).parents[1] / "scenarios"
NEW_YORK: Final = localtime.zone("America/New_York")
_EXPECTED: Final = "\n[expected]\n"
_TIP: Final = parse_depth("0.01 in")  # of the gauges of scenarios/places
_KEYS: Final = {
    "says", "cites", "begins", "places", "registry", "profile", "uses", "judge", "sweeps", "daily_list", "as",
    "leaves_out", "event", "expected",
}  # fmt: skip
_READS: Final = {"over", "every", "measured"}
_EVENT_KEYS: Final = {
    "rain": {"gauge", *_READS},
    "stream": {"value", "values", "noise", "null", *_READS},
    "do": {"show", "file"},
    "": set[str](),
}


@dataclass(frozen=True)
class Put:
    """Readings of one stream that reach the gateway at an instant: (measured at, value)."""

    at_us: int
    datastream: str
    readings: tuple[tuple[int, float | None], ...]
    null: str = ""


@dataclass(frozen=True)
class Command:
    """A command that a person gives; "" for the clock going on."""

    at_us: int
    text: str = ""
    show: bool = False
    file: str | None = None


@dataclass(frozen=True)
class Scenario:
    """A file, read. `happens` is in the order of time."""

    path: Path
    profile: str
    cites: tuple[str, ...]
    begins_us: int
    judge_us: int
    sweeps: bool
    daily_list: bool
    places: tuple[str, ...]
    registry: str
    more_profile: str
    leaves_out: frozenset[str]
    happens: tuple[Put | Command, ...]
    expected: dict[str, list[str]] = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def scenario_files() -> list[Path]:
    """Every scenario of a municipality."""
    return sorted(path for path in FOLDER.glob("*/*.toml") if path.parent.name not in ("places", "shared"))


def read_scenario(path: Path) -> Scenario:
    """A scenario from its file; AssertionError that says what is wrong with it."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    shared: dict[str, Any] = {}
    if "uses" in data:
        shared = tomllib.loads((FOLDER / "shared" / f"{data['uses']}.events.toml").read_text(encoding="utf-8"))
    if unknown := (set(data) | set(shared)) - _KEYS:
        raise AssertionError(f"{path}: unknown key {', '.join(sorted(unknown))}; see the head of support/scenario.py")
    begins_us = _time(str(data.get("begins") or shared["begins"]))
    happens = [one for event in (*shared.get("event", []), *data.get("event", [])) for one in _happens(event, path)]
    first = min(happens, key=lambda each: each.at_us)
    assert first.at_us >= begins_us, f"{path}: something happens before the scenario begins: {first}"
    return Scenario(
        path=path,
        profile=data.get("as", path.parent.name),
        cites=tuple(data.get("cites", ())),
        begins_us=begins_us,
        judge_us=parse_duration_us(data.get("judge") or shared.get("judge") or "15 min"),
        sweeps=data.get("sweeps", shared.get("sweeps", False)),
        daily_list=data.get("daily_list", shared.get("daily_list", False)),
        places=(*shared.get("places", ()), *data.get("places", ())),
        registry=shared.get("registry", "") + data.get("registry", ""),
        more_profile=data.get("profile", ""),
        leaves_out=frozenset(data.get("leaves_out", shared.get("leaves_out", ()))),
        happens=tuple(sorted(happens, key=lambda each: each.at_us)),
        expected=data.get("expected", {}),
    )


def write_expected(scenario: Scenario, outcome: dict[str, list[str]]) -> None:
    """Put an outcome into the file as what is expected from now on."""
    text = scenario.path.read_text(encoding="utf-8")
    head = text.partition(_EXPECTED)[0].rstrip("\n")
    scenario.path.write_text(f"{head}\n{_EXPECTED}{outcome_text(outcome)}", encoding="utf-8")


def outcome_text(outcome: dict[str, list[str]]) -> str:
    """An outcome as TOML, a line a fact."""
    lines = []
    for part, facts in outcome.items():
        lines += [f"{part} = [", *(f"  {_quoted(fact)}," for fact in facts), "]"] if facts else [f"{part} = []"]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    assert escaped.isprintable(), f"not printable: {text!r}"
    return f'"{escaped}"'


def _time(text: str) -> int:
    return parse_time(text, NEW_YORK, "a scenario's time")


def _happens(event: dict[str, Any], path: Path) -> list[Put | Command]:
    kind = next((key for key in ("rain", "stream", "do") if key in event), "")
    if unknown := set(event) - _EVENT_KEYS[kind] - {"at", kind}:
        raise AssertionError(f"{path}: event {kind or 'clock'} has no {', '.join(sorted(unknown))}: {event}")
    at_us = _time(event["at"])
    if kind == "rain":
        return _puts(event, at_us, event.get("gauge", "gauge/rain.tips"), _tips(event))
    if kind == "stream":
        return _puts(event, at_us, event["stream"], _values(event))
    return [Command(at_us, event.get("do", ""), event.get("show", False), event.get("file"))]


def _tips(event: dict[str, Any]) -> list[tuple[int, float | None]]:
    """(µs after the start, 1), evenly, on whole seconds."""
    depth = parse_depth(event["rain"])
    count = int(depth.mm / _TIP.mm)
    assert _TIP * count == depth, f"{event['rain']} is no whole number of tips"
    over_us = parse_duration_us(event.get("over", "0 min"))
    return [(over_us * n // count // 1_000_000 * 1_000_000, 1.0) for n in range(1, count + 1)]


def _values(event: dict[str, Any]) -> list[tuple[int, float | None]]:
    every_us, chance = parse_duration_us(event.get("every", "15 min")), random.Random(event["stream"])
    if "values" in event:
        values: list[Any] = event["values"]
    else:
        count = parse_duration_us(event.get("over", "0 min")) // every_us + 1
        values = [None if "null" in event else event["value"]] * count
    noise = event.get("noise", 0)
    return [(n * every_us, _number(each, chance.gauss(0, noise) if noise else 0)) for n, each in enumerate(values)]


def _number(value: Any, noise: float) -> float | None:
    if isinstance(value, str):
        value = parse_quantity(value, FACTORS[value.split()[-1]][1])
    return None if value is None else float(value) + noise


def _puts(
    event: dict[str, Any], at_us: int, datastream: str, readings: list[tuple[int, float | None]]
) -> list[Put | Command]:
    null = event.get("null", "")
    if "measured" in event:
        start_us = _time(event["measured"])
        return [Put(at_us, datastream, tuple((start_us + after_us, value) for after_us, value in readings), null)]
    return [Put(at_us + after_us, datastream, ((at_us + after_us, value),), null) for after_us, value in readings]
