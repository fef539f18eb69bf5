"""A registry with a septic system, a sediment basin and a rain gauge, and readings put in by hand."""

from __future__ import annotations

from pathlib import Path

from headwall.ledger.ledger import Ledger
from headwall.registry import Registry, load_registry

from support.readings import Board
from support.registry_text import node, sensors, site
from support.rules_house import make_registry

TANK = "septic-12"
SITE = "brook-lane-12"
_LEVELS = """levels = [
  { of = "sludge", method = "level", from = 2020-01-01 },
  { of = "scum", method = "level", from = 2020-01-01 },
  { of = "liquid", method = "level", from = 2020-01-01 },
]"""
#: depths below the outlet invert in inches: floor 48, baffle 16
_TANKS = 'tanks = [{ floor = "48 in", baffle = "16 in", tolerance = "0.5 in", dwell_min = 60, from = 2020-01-01 }]'
_BASIN = """levels = [{ of = "sediment", method = "range_down", zero = "3 m", from = 2020-01-01 }]

[[sites.basins]]
stage_volume = [["0 m", "0 m3"], ["1 m", "100 m3"], ["2 m", "300 m3"]]
design_volume = "200 m3"
design_depth = "2 m"
from = 2020-01-01
"""
_MORE = (
    '[[municipalities]]\nid = "hillburn"\nname = "Village of Hillburn"\nprofile = "hillburn"\n'
    + node(TANK, "240ac400001c", "sludge.level", "scum.level", "liquid.level")
    + node("basin-3", "240ac400001d", "bed.distance", "pool.level", "gate.level")
    + site(
        SITE,
        "septic",
        sensors({f"{TANK}/{of}.level": of for of in ("sludge", "scum", "liquid")}),
        _LEVELS,
        _TANKS,
        title="12 Brook Lane",
        place="12 Brook Lane",
        municipality="hillburn",
    )
    + site(
        "basin-3",
        "basin",
        sensors({"basin-3/bed.distance": "sediment"}),
        _BASIN,
        place="behind the yard",
        municipality="hillburn",
    )
)
IN = 0.0254


def septic_registry(folder: Path, *changes: tuple[str, str]) -> Registry:
    """Written to `folder / "registry.toml"`, with texts in it replaced."""
    make_registry(folder)
    path = folder / "registry.toml"
    text = path.read_text("utf-8") + _MORE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return load_registry(path)


class Probe(Board):
    """Puts readings of the tank, or of another node, into a ledger."""

    def __init__(self, ledger: Ledger, node: str = TANK) -> None:
        super().__init__(ledger, node, null_reason="no_layer", jid="00000000000000bb", quality=2)
