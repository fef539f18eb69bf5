"""A sediment basin in `headwall site show`: how much of its capacity is gone, by sensor and by survey."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import (
    WITHIN_DAYS,
    WITHIN_US,
    Found,
    cited,
    clause_lines,
    clause_of,
    length,
    read_text,
    row,
    value_data,
)
from headwall.derive import basins
from headwall.law.provisions import SedimentRemoval
from headwall.officer_units import shown
from headwall.registry.model import Site
from headwall.registry.spans import in_force


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> Found:
    basin = next(in_force(at.registry.measures(site.id).basins, at_us), None)
    clause = clause_of(at, site, SedimentRemoval, at_us)
    recent = basins.filled(conn, at.registry, site.id, at_us - WITHIN_US, at_us + 1)
    surveys = basins.surveyed(conn, at.registry, site.id, at_us)
    share = None if clause is None else basins.share_percent(clause.share)
    return {
        "design": None if basin is None else {"volume_m3": basin.design_volume, "depth_m": basin.design_depth},
        "provision": None if clause is None else {**cited(clause), "share": clause.share},
        "by_sensor": _filled(next((each for each in reversed(recent) if not each.by), None), share),
        "surveyed": _filled(surveys[-1] if surveys else None, share),
    }


def _filled(found: basins.Filled | None, share: float | None) -> Found | None:
    if found is None:
        return None
    readings = {"volume": found.volume_percent, "depth": found.depth_percent}
    reached = [] if share is None else [name for name, lost in readings.items() if basins.reaches(lost, share)]
    return {
        "time_us": found.time_us,
        "by": found.by,
        "flag": found.flag,
        "depth": value_data(found.depth, "m"),
        "volume_percent": value_data(found.volume_percent, "%"),
        "depth_percent": value_data(found.depth_percent, "%"),
        "reached_by": reached,
    }


def lines(found: Found, at: Opened) -> Iterator[str]:
    design = found["design"]
    if design is None:
        yield "Sediment basin: not in the registry; its capacity goes under `basins` of the site"
    else:
        yield f"Sediment basin: design capacity {shown(design['volume_m3'], 'm3')}, depth {length(design['depth_m'])}"
    for head, each in (("by sensor", found["by_sensor"]), ("surveyed", found["surveyed"])):
        if each is None:
            yield row(head, "nothing on record" if head == "surveyed" else f"no reading in {WITHIN_DAYS} days")
            continue
        lost = f"{each['volume_percent']['shown']} of the capacity by volume, {each['depth_percent']['shown']} by depth"
        who = f"{minute(each['time_us'], at.zone)}, by {each['by']}" if each["by"] else read_text(each, at)
        reached = (
            f"; the code's share is reached by {' and by '.join(each['reached_by'])}" if each["reached_by"] else ""
        )
        yield row(head, f"{each['depth']['shown']} of sediment, {lost}, {who}{reached}")
    yield from clause_lines(found["provision"], "no clause of this code says when sediment is taken out")
    if found["provision"] is not None:
        yield row("", f"sediment is taken out at {found['provision']['share']} of the design capacity")
