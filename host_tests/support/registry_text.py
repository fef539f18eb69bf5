"""Nodes with their datastreams, and sites, as a registry.toml has them."""

from __future__ import annotations

SINCE = "2020-01-01"
ACTIVE = '[{ status = "active", from = 2020-01-01, by = "Olive Officer" }]'


def stream(name: str, *more: str) -> str:
    """A datastream whose quantity is the last part of its name."""
    given = (f'name = "{name}"', f'quantity = "{name.rpartition(".")[2]}"', *more, f"from = {SINCE}")
    return _table("nodes.datastreams", given)


def node(name: str, mac: str, *streams: str, place: str = "south gate", installer: str = "installer") -> str:
    """A node with datastreams, each a name or the text of one."""
    given = (
        f'id = "{name}"',
        f'mac = "{mac}"',
        f'place = "{place}"',
        'legal_basis = "municipal_land"',
        'legal_reference = "map 12"',
        f'installer = "{installer}"',
        f"from = {SINCE}",
    )
    return _table("nodes", given) + "".join(each if "[[" in each else stream(each) for each in streams)


def site(
    name: str,
    kind: str,
    *more: str,
    title: str = "",
    place: str = "1 Main Street",
    municipality: str = "elmsford",
    status: str = ACTIVE,
) -> str:
    """A site; `more` is what only its kind has, tables of it last."""
    given = (
        f'id = "{name}"',
        f'kind = "{kind}"',
        f'name = "{title or name.replace("-", " ").capitalize()}"',
        f'place = "{place}"',
        f'municipality = "{municipality}"',
        f"status = {status}",
    )
    return _table("sites", (*given, *more))


def gauges(*datastreams: str) -> str:
    """The rain gauges of a site."""
    each = (f'{{ datastream = "{name}", distance_m = 5, from = {SINCE} }}' for name in datastreams)
    return f"gauges = [{', '.join(each)}]"


def sensors(roles: dict[str, str]) -> str:
    """The sensors of a site: datastream → what it measures there."""
    each = (f'{{ datastream = "{name}", of = "{role}", from = {SINCE} }}' for name, role in roles.items())
    return f"sensors = [{', '.join(each)}]"


def _table(name: str, lines: tuple[str, ...]) -> str:
    return "\n".join((f"[[{name}]]", *lines, ""))
