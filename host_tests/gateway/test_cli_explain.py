"""`headwall explain` as a person types it; docs/values.md shows the same text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headwall.errors import InputError, UnknownThingError
from support.desk import Desk
from support.place_house import Readings
from support.rules_house import MINUTE, at

_DOCS = Path(__file__).parents[2] / "docs"
_T = at("2026-06-10 12:00")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    (tmp_path / "registry.toml").write_bytes((_DOCS / "examples" / "registry-sensors.toml").read_bytes())
    readings = Readings(made.url)
    readings.put("stage.distance", (_T, 1.0922), (_T + MINUTE, None), node="outfall-7")
    readings.put("air.temperature", (_T - 5 * MINUTE, 9.8), node="outfall-7")
    readings.ledger.close()
    return made


def test_a_flow_is_explained_as_the_docs_show_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = desk.run("explain", "outfall-7/flow", "2026-06-10 08:00")
    assert said in (_DOCS / "values.md").read_text("utf-8"), said


def test_json_has_si_units_and_every_layer(desk: Desk) -> None:
    body = json.loads(desk.run("explain", "outfall-7/flow", "2026-06-10 08:00", "--json"))
    assert body["unit"] == "m3/s"
    assert [layer["step"] for layer in body["layers"]] == ["reading", "compensation", "height", "correction", "rating"]
    assert body["value"] == body["layers"][-1]["value"] > 0


def test_a_null_says_why(desk: Desk) -> None:
    said = desk.run("explain", "outfall-7/flow", "2026-06-10 08:01")
    assert "outfall-7/flow at 2026-06-10 08:01:00: no value" in said
    assert "null: no echo" in said
    assert "missing" in said


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("outfall-9/flow",), UnknownThingError, "no site 'outfall-9'"),
        (("outfall-7/flow", "yesterday"), InputError, "TIME 'yesterday' is no time"),
        (("outfall-7/flow", "2026-06-09 08:00"), UnknownThingError, "no reading of outfall-7/stage.distance in the 24"),
        (("outfall-7/flow", "2026-06-10 08:00", "--within", "x"), InputError, "--within 'x' is no duration"),
        (("brook-lane-12/flow",), UnknownThingError, "it has sludge"),
    ],
)
def test_what_cannot_be_explained_says_why(
    desk: Desk, arguments: tuple[str, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as raised:
        desk.run("explain", *arguments)
    assert says in str(raised.value)
