"""The register of connections to the storm sewer: what is on no approved plan, or can never be approved, is shown.

The newest entry about a connection counts, whenever the connection was made: none is lawful by its age. That it is an
illicit one a person finds, in a case.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwall.law.provision import Provision
from headwall.law.provisions import IllicitConnection
from headwall.ledger import cases
from headwall.ledger.entries import Connection, Entry
from headwall.rules.clauses.expected import Done, Expected
from headwall.rules.clauses.look import Look

_SEWAGE = "sewage"
_CASE = "illicit_connection"


def illicit_connection(look: Look, clause: Provision) -> Iterator[Expected]:
    """Once for each connection that is not documented and approved, from when on it was found so."""
    if not isinstance(clause, IllicitConnection):
        return
    history: dict[str, list[Entry[Connection]]] = {}
    for entry in look.entries(Connection):
        history.setdefault(entry.body.name, []).append(entry)
    opened = _looked_into(look) if history else []
    for name, known in history.items():
        found = next((entry for entry in known if _why(clause, entry.body)), None)
        if found is None:
            continue
        newest = known[-1]
        why = _why(clause, newest.body)
        entries = {str(entry.id) for entry in known}
        yield Expected(
            clause,
            "",
            f"{name[:48]} {look.iso(found.done_us)}",
            {"discovery": found.done_us},
            f"Look into the connection {name}: {why or 'as it was found'}",
            evidence={"what": newest.body.what.replace("_", " "), "since": newest.body.since or "not known"},
            answer=f"headwall case open --kind {_CASE} --site {look.site.id} --connection {newest.id} --by NAME",
            done=next((done for number, done in opened if number in entries), None),
            gone="" if why else _gone(newest.body),
        )


def _why(clause: IllicitConnection, body: Connection) -> str:
    """Why a person has to look; empty: documented and approved, or there no longer."""
    if body.removed:
        return ""
    if body.what == _SEWAGE:
        named = (
            "the code names it as a violation by itself" if clause.sewage_line else "what it carries is no stormwater"
        )
        return f"a line with sewage; {named}"
    if body.what in clause.never:
        return f"{clause.never[body.what]}, which no approval covers"
    if not body.documented:
        return "it is on no approved plan"
    return "" if body.approved else "nothing on record approves it"


def _gone(body: Connection) -> str:
    return "it was removed" if body.removed else f"it is documented and approved: {body.approved}"


def _looked_into(look: Look) -> list[tuple[str, Done]]:
    """Cases that persons have opened for a connection, by the number of its entry."""
    found = []
    for case in cases.listed(look.conn, site=look.site.id):
        first = case.steps[0]
        if case.kind == _CASE and first.details.get("connection") and first.done_us <= look.now_us:
            found.append((first.details["connection"], Done(first.done_us, first.by, f"case {case.id}")))
    return found
