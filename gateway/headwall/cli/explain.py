"""`headwall explain`: a value from its reading up, each layer with its source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from headwall.cli.common import DEFAULT_CONFIG, ConfigOption, parse_duration_us, wrapped
from headwall.cli.opened import Opened, opened, parse_time
from headwall.derive.explanation import FLAG_TEXT, Explanation, explain
from headwall.law import localtime
from headwall.officer_units import shown_derived


def register(app: typer.Typer) -> None:
    app.command("explain")(explain_value)


def explain_value(
    name: Annotated[
        str, typer.Argument(metavar="DATASTREAM", help="NODE/STREAM, or SITE/QUANTITY such as outfall-7/flow")
    ],
    time: Annotated[str | None, typer.Argument(metavar="[TIME]", help="e.g. '2026-06-10 15:42'; default: now")] = None,
    within: Annotated[str, typer.Option("--within", help="how old the reading may be")] = "1d",
    as_json: Annotated[bool, typer.Option("--json", help="as JSON, SI units")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """How a value came about: the reading at or before a time, and every layer over it, with the source of each."""
    with opened(config) as at:
        at_us = at.clock.now_us() if time is None else parse_time(time, at.zone, "TIME")
        with at.ledger.read() as conn:
            found = explain(conn, at.registry, name, at_us, parse_duration_us(within, "--within"))
        print(json.dumps(_body(found), indent=2, ensure_ascii=False) if as_json else "\n".join(_lines(found, at)))


def _lines(found: Explanation, at: Opened) -> Iterator[str]:
    when = localtime.iso(found.time_us, at.zone)[:19].replace("T", " ")
    yield f"{found.name} at {when}: {shown_derived(found.value, found.unit)}"
    width = max(len(layer.step) for layer in found.layers)
    for layer in found.layers:
        value = layer.derived.value
        si = f"{value:.6g} {layer.unit}" if value is not None else shown_derived(layer.derived, layer.unit)
        yield wrapped(f"  {layer.step:{width}}  {si:16}  ", layer.source)
    why = f" ({found.flag_why})" if found.flag_why else ""
    yield wrapped(f"  {'quality':{width}}  ", f"{FLAG_TEXT[found.flag]}{why}")
    for remark in found.remarks:
        yield wrapped(f"  {'':{width}}  ", remark)


def _body(found: Explanation) -> dict[str, object]:
    return {
        "name": found.name,
        "time_us": found.time_us,
        "datastream": found.datastream,
        "jid": found.jid,
        "seq": found.seq,
        "value": found.value.value,
        "unit": found.unit,
        "flag": found.flag,
        "flag_why": found.flag_why,
        "layers": [
            {
                "step": layer.step,
                "value": layer.derived.value,
                "why_none": layer.derived.flag,
                "limit": layer.derived.limit,
                "unit": layer.unit,
                "source": layer.source,
            }
            for layer in found.layers
        ],
        "remarks": list(found.remarks),
    }
