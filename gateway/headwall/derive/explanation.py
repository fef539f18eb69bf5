"""How a derived value came about: the reading, every layer over it with its source, and what is said of its quality."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from headwall.derive.calibration_due import due_of
from headwall.derive.derivation import Derivation, Segment, Value
from headwall.derive.quality import judged
from headwall.derive.samples import Sample, newest_at, samples_of
from headwall.derive.steps import NEAREST_US
from headwall.derive.tip_depth import tip_at
from headwall.errors import UnknownThingError
from headwall.hydrology.derived import Derived
from headwall.hydrology.undercatch import LOST_US, corrected, depth_of
from headwall.ledger.calibrations import Calibration
from headwall.registry import Registry
from headwall.wire.contract import UNIT_OF

#: how far back the tip before is looked for: beyond, nothing is lost that shows
_UNDERCATCH_US = 6 * 3_600_000_000
#: QARTOD flags in words
FLAG_TEXT = {1: "pass", 2: "not evaluated", 3: "suspect", 4: "fail", 9: "missing"}


class Layer(NamedTuple):
    """One step: what it made of the value before it, in which unit, and why."""

    step: str
    derived: Derived
    unit: str
    source: str


class Explanation(NamedTuple):
    """A derived value from the reading up.

    Attributes:
        datastream, jid, seq: the reading it is made of.
        layers: the reading first; the last one is the value. A layer without a value ends them.
        flag, flag_why: its quality: the tests' word, or a person's.
        remarks: what else bears on it.
    """

    name: str
    time_us: int
    datastream: str
    jid: str
    seq: int
    layers: tuple[Layer, ...]
    flag: int
    flag_why: str
    remarks: tuple[str, ...]

    @property
    def value(self) -> Derived:
        return self.layers[-1].derived

    @property
    def unit(self) -> str:
        return self.layers[-1].unit


def explain(conn: sa.Connection, registry: Registry, name: str, at_us: int, within_us: int) -> Explanation:
    """The value of the newest reading at or before an instant.

    Args:
        name: NODE/STREAM or SITE/QUANTITY, see `derivation`.
        within_us: how old the reading may be.

    Raises:
        UnknownThingError: no such name, or no reading then.
    """
    derivation = Derivation(conn, registry)
    (there,) = derivation.segments(name, at_us, at_us + 1)
    sample = None if there.datastream is None else newest_at(conn, there.datastream, at_us, within_us)
    if sample is None or there.datastream is None:
        of = there.datastream or f"{name}: no sensor of the registry gives it then"
        raise UnknownThingError(f"no reading of {of} in the {within_us // 3_600_000_000} hours before")
    (segment,) = derivation.segments(name, sample.time_us, sample.time_us + 1)
    if segment.datastream is None:
        raise UnknownThingError(f"{name} was not set up when the newest reading of {there.datastream} was taken")
    flag, why = _quality(conn, registry, segment.datastream, sample)
    layers = _layers(derivation, segment, sample, name)
    remarks = _remarks(derivation, segment.datastream, sample.time_us)
    due = due_of(conn, registry, segment.datastream, sample.time_us)
    if due is not None and due.overdue(sample.time_us):
        remarks.append(f"its calibration was overdue: every {due.every_days} days")
    if segment.datastream.endswith(".tips"):
        remarks += _undercatch(conn, registry, segment.datastream, sample)
    return Explanation(
        name, sample.time_us, segment.datastream, sample.jid, sample.seq, layers, flag, why, tuple(remarks)
    )


def _layers(derivation: Derivation, segment: Segment, sample: Sample, name: str) -> tuple[Layer, ...]:
    assert segment.datastream is not None
    unit = UNIT_OF[segment.datastream.rpartition(".")[2]]
    came = f"{segment.datastream}, journal {sample.jid}, number {sample.seq}"
    (first,) = derivation.computed(segment._replace(steps=()), [sample])
    layers = [Layer("reading", first.derived, unit, f"{came}{': ' if sample.why else ''}{sample.why}")]
    if segment.meter is not None:
        return (*layers, _metered(derivation, segment, name, sample))
    for step in segment.steps:
        value = layers[-1].derived.value
        if value is None:
            break
        derived = step.apply(sample.time_us, value)
        layers.append(Layer(step.name, derived, step.unit, step.source(sample.time_us)))
    return tuple(layers)


def _metered(derivation: Derivation, segment: Segment, name: str, sample: Sample) -> Layer:
    assert segment.meter is not None
    found: list[Value] = derivation.series(name, sample.time_us - NEAREST_US, sample.time_us + 1)
    source = f"the count less the one before it x {segment.meter.pulse:.6g} m³ over the time between; registry, from "
    return Layer("meter", found[-1].derived, "m3/s", f"{source}{segment.meter.valid_from}")


def _quality(conn: sa.Connection, registry: Registry, datastream: str, sample: Sample) -> tuple[int, str]:
    here = judged(conn, registry, datastream, sample.time_us, sample.time_us + 1)
    found = next((each for each in here if (each.reading.jid, each.reading.seq) == (sample.jid, sample.seq)), None)
    if found is None:
        return sample.flag, sample.why
    if found.edit is not None:
        return found.flag, f"by {found.edit.by}: {found.edit.reason}"
    return found.flag, ", ".join(found.verdict.reasons).replace("_", " ")


def _undercatch(conn: sa.Connection, registry: Registry, datastream: str, sample: Sample) -> list[str]:
    """What the tips stand for when the rain is counted that fell past the bucket while it turned."""
    before = samples_of(conn, datastream, sample.time_us - _UNDERCATCH_US, sample.time_us + 1)
    rain = [(each.time_us, round(each.value)) for each in before if each.value]
    tip = tip_at(conn, registry, datastream, sample.time_us)
    if not sample.value or tip is None or len(rain) < 2:
        return []
    found = corrected(rain)[-1]
    text = depth_of(found.parts, tip.depth)
    since_s = (rain[-1][0] - rain[-2][0]) / 1e6
    least = "at least " if found.at_least else ""
    return [
        f"corrected for undercatch {least}{text}: the tip before came {since_s:,.0f} s earlier, and "
        f"{LOST_US / 1e6:g} s of rain are lost in a tip (J. Atmos. Oceanic Technol. 31(6))"
    ]


def _remarks(derivation: Derivation, datastream: str, at_us: int) -> list[str]:
    calibrations = derivation.calibrations(datastream)
    record, later = calibrations.at(at_us), calibrations.next_after(at_us)
    remarks = []
    if record is None:
        remarks.append("no calibration of this sensor is on record for that time")
    elif record.verdict == "pass":
        remarks.append(f"calibration of {record.at:%Y-%m-%d} {record.summary}: readings stand as they are")
    if later is not None and later.as_found and later.verdict == "fail":
        remarks.append(f"the next calibration, of {later.at:%Y-%m-%d}, found it off: {_found(later)}")
    return remarks


def _found(record: Calibration) -> str:
    worst = max(record.as_found, key=lambda point: abs(point.reading - point.reference))
    return f"{worst.reading} for {worst.reference} {record.unit}"
