"""What a trial found out."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one trial.

    Attributes:
        part: what was tried, e.g. "broker login".
        ok: whether it works.
        what: what was seen, for people.
        mend: what to do, when it does not work.
    """

    part: str
    ok: bool
    what: str
    mend: str = ""


def works(part: str, what: str) -> Finding:
    """A trial that went well."""
    return Finding(part, True, what)


def fails(part: str, what: str, mend: str) -> Finding:
    """A trial that did not."""
    return Finding(part, False, what, mend)
