"""Which sites and municipalities a row of the log book is about."""

from __future__ import annotations

from typing import Any, NamedTuple

from headwall.ledger import log_book
from headwall.registry import Registry


class Places(NamedTuple):
    """Ids of the registry; none of either for a row that is about no place, as a mail."""

    sites: frozenset[str]
    municipalities: frozenset[str]


_NOWHERE = Places(frozenset(), frozenset())


class RecordPlaces:
    """Finds them. Rows must be asked for in order: one may be about a row before it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._before: dict[int, Places] = {}
        self._towns = {each.id: each.id for each in registry.municipalities}
        self._towns |= {each.name: each.id for each in registry.municipalities}
        self._of_node: dict[str, set[str]] = {}
        for site in registry.sites:
            used = [each.datastream for each in site.sensors] + [each.datastream for each in site.gauges]
            for datastream in used:
                self._of_node.setdefault(datastream.partition("/")[0], set()).add(site.id)

    def of(self, row: log_book.Row) -> Places:
        found = self._of(row.body)
        self._before[row.n] = found
        return found

    def _of(self, body: dict[str, Any]) -> Places:
        for key in ("row", "hold"):
            if isinstance(body.get(key), int):
                return self._before.get(body[key], _NOWHERE)
        sites: set[str] = set()
        for key in ("site", "subject", "node", "datastream"):
            named = body.get(key)
            if isinstance(named, str):
                sites |= {named} if self._registry.site(named) else self._of_node.get(named.partition("/")[0], set())
            if sites and key == "site":
                break  # a duty names its gauge too, which may serve more sites than this one
        towns = {site.municipality for name in sites if (site := self._registry.site(name)) is not None}
        named_town = self._towns.get(str(body.get("municipality")))
        return Places(frozenset(sites), frozenset(towns | ({named_town} if named_town else set())))
