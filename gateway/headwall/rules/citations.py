"""Section numbers of a code that a person has looked up in the municipality's own code: rows of the log book.

A confirmation holds for the section number that was confirmed: once a profile cites another, it no longer counts.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TypeVar

import sqlalchemy as sa

from headwall.law.localtime import day_of
from headwall.law.profile import Profile
from headwall.law.provision import Confirmed, Provision
from headwall.ledger import log_book, schema

_KIND = "citation_confirmed"
_R = schema.records.c
_CONFIRMED = sa.select(_R.by, _R.at_us, _R.body).where(_R.kind == _KIND).order_by(_R.n.desc())
P = TypeVar("P", bound=Provision)


def confirm(conn: sa.Connection, profile: Profile, provision: Provision, by: str, now_us: int) -> None:
    """A named person says that the citation is right."""
    log_book.append(conn, _KIND, by, _named(profile, provision), now_us)


def with_confirmation(conn: sa.Connection, profile: Profile, provision: P, where: tzinfo) -> P:
    """The provision with its newest confirmation, if there is one.

    Args:
        where: whose local day a confirmation is of.
    """
    named = _named(profile, provision)
    found = next((row for row in conn.execute(_CONFIRMED) if row.body == named), None)
    if found is None:
        return provision
    return provision.model_copy(update={"confirmed": Confirmed(by=found.by, on=day_of(found.at_us, where))})


def _named(profile: Profile, provision: Provision) -> dict[str, str]:
    return {"municipality": profile.municipality, "provision": provision.id, "citation": provision.citation}
