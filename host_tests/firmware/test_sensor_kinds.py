"""Every kind of sensor is whole: settings, driver, page, test; and nothing is left over."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mp
import pytest

NODE = mp.FIRMWARE / "headwall_node"
DOCS = mp.ROOT / "docs" / "sensors"


@pytest.fixture(scope="module")
def specs() -> Any:
    """The board's own package of specs; it is plain Python and runs here as it does there."""
    sys.path.insert(0, str(mp.FIRMWARE))
    yield importlib.import_module("headwall_node.specs")
    sys.path.remove(str(mp.FIRMWARE))
    for name in [name for name in sys.modules if name.startswith("headwall_node")]:
        del sys.modules[name]


def spec_of(kind: str) -> ModuleType:
    return importlib.import_module(f"headwall_node.specs.{kind}")


def names(folder: Path, *but: str) -> set[str]:
    return {path.stem for path in folder.glob("*.py")} - {"__init__", *but}


def test_every_kind_has_settings_and_a_driver_and_there_are_no_others(specs: Any) -> None:
    assert names(NODE / "specs", "check") == set(specs.KINDS)
    assert names(NODE / "sensors") == set(specs.KINDS)
    assert len(set(specs.KINDS)) == len(specs.KINDS)


def test_every_kind_has_a_page_that_tells_every_setting_with_its_default(specs: Any) -> None:
    missing = []
    for kind in specs.KINDS:
        page = DOCS / f"{kind}.md"
        text = page.read_text() if page.exists() else ""
        rows = re.findall(r"^\|(.+?)\|(.*?)\|", text, re.M)
        spec = spec_of(kind)
        for key, rule in [
            *spec.SPEC.items(),
            *(r for items in getattr(spec, "ITEMS", {}).values() for r in items.items()),
        ]:
            told = [default for keys, default in rows if f"`{key}`" in keys]
            wanted = "needed" if rule[1] is None else json.dumps(rule[1])
            if not any(wanted in default for default in told):
                missing.append(f"{page.name}: `{key}` with default {wanted}")
    assert missing == []


def test_the_overview_names_every_kind_and_every_common_setting(specs: Any) -> None:
    text = (DOCS / "README.md").read_text()
    assert [kind for kind in specs.KINDS if f"[{kind}.md]" not in text] == []
    assert [key for key in specs.SAMPLED if f"`{key}`" not in text] == []


def test_every_kind_has_a_test_of_its_own(specs: Any) -> None:
    tests = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert [kind for kind in specs.KINDS if f"test_{kind}.py" not in tests] == []


def test_every_driver_says_range_resolution_timing_wiring_and_source(specs: Any) -> None:
    missing = []
    for kind in specs.KINDS:
        header = (NODE / "sensors" / f"{kind}.py").read_text().split('"""')[1]
        missing += [f"{kind}: {word}" for word in ("range", "resolution", "wiring") if f"\n    {word} " not in header]
    assert missing == []


def test_every_example_of_the_pages_is_taken_by_the_boards_own_check(specs: Any) -> None:
    check = importlib.import_module("headwall_node.specs.check")
    found = 0
    for page in sorted(DOCS.glob("*.md")):
        for block in re.findall(r"^```json\n(.*?)^```", page.read_text(), re.M | re.S):
            pins: dict[str, Any] = {}
            streams: dict[str, str] = {}
            text = block.strip()
            while text:
                sensor, end = json.JSONDecoder().raw_decode(text)
                assert check.sensor_faults(f"{page.name}: ", sensor, pins, streams) == []
                text = text[end:].lstrip(" \n,")
                found += 1
    assert found >= len(specs.KINDS)
