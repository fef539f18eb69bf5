"""What is asked of a site, as `headwall site show` tells it: its open duties with their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from headwall.cli.opened import Opened, minute
from headwall.cli.site_parts import Found, cited, row
from headwall.registry.model import Site
from headwall.rules import duties


def gathered(conn: sa.Connection, at: Opened, site: Site, at_us: int) -> list[Found]:
    provisions = {each.id: each for each in at.code_of(site.municipality).provisions}
    found = []
    for duty in duties.listed(conn, site=site.id):
        body, clause = duty.body, provisions.get(duty.body.provision)
        found.append(
            {
                "duty": duty.id,
                "due_us": body.due_us,
                "asked": body.asked,
                "overdue": body.late(at_us),
                "provision": None if clause is None else cited(clause),
            }
        )
    return found


def lines(clocks: Sequence[Found], at: Opened) -> Iterator[str]:
    yield "What is asked"
    for clock in clocks:
        due = "no date" if clock["due_us"] is None else minute(clock["due_us"], at.zone)
        late = "overdue: " if clock["overdue"] else ""
        where = "" if clock["provision"] is None else f" ({clock['provision']['citation']})"
        yield row(due, f"{late}{clock['asked']}{where}, duty {clock['duty']}")
    if not clocks:
        yield row("", "nothing is open; that is no word on whether an inspection is needed")
