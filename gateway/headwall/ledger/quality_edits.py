"""What a person says of the quality of a stretch of readings: records beside the tests, never over the readings.

Of several edits that cover a reading the newest counts; one without a flag takes back those before it, so that the
tests speak again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import sqlalchemy as sa

from headwall.errors import InputError
from headwall.ledger import schema

#: QARTOD flags that a person may set, by their names
EDIT_FLAGS: Final = {"pass": 1, "suspect": 3, "fail": 4}
_TEXT_CHARS: Final = 2000


class QualityEdit(msgspec.Struct, frozen=True):
    """A person's word on the readings of a datastream with start_us <= time < end_us.

    Attributes:
        flag: 1 pass, 3 suspect, 4 fail; None takes back the edits before it.
    """

    id: int
    node: str
    stream: str
    start_us: int
    end_us: int
    flag: int | None
    by: str
    reason: str
    at_us: int

    def covers(self, time_us: int) -> bool:
        return self.start_us <= time_us < self.end_us


def add_edit(
    conn: sa.Connection,
    *,
    node: str,
    stream: str,
    start_us: int,
    end_us: int,
    flag: int | None,
    by: str,
    reason: str,
    now_us: int,
) -> QualityEdit:
    """Put an edit into the ledger.

    Raises:
        InputError: a stretch without length, a flag that no person sets, or no reason.
    """
    if not start_us < end_us:
        raise InputError("the stretch must end after it begins")
    if flag is not None and flag not in EDIT_FLAGS.values():
        raise InputError(f"{flag} is no flag that a person sets; these are {', '.join(EDIT_FLAGS)}, or none")
    if not reason.strip() or len(reason) > _TEXT_CHARS:
        raise InputError(f"a flag needs its reason, in at most {_TEXT_CHARS} characters")
    row = {"node": node, "stream": stream, "start_us": start_us, "end_us": end_us, "flag": flag}
    row |= {"by": by, "reason": reason.strip(), "at_us": now_us}
    table = schema.quality_edits
    number: int = conn.execute(table.insert().values(**row).returning(table.c.id)).scalar_one()
    return msgspec.convert({"id": number, **row}, QualityEdit)


def edits_of(
    conn: sa.Connection,
    node: str | None = None,
    stream: str | None = None,
    *,
    start_us: int = 0,
    end_us: int | None = None,
) -> list[QualityEdit]:
    """Edits that touch the stretch, of one node or datastream if asked so, in the order in which they were made."""
    c = schema.quality_edits.c
    query = sa.select(c.id, c.node, c.stream, c.start_us, c.end_us, c.flag, c.by, c.reason, c.at_us)
    if node is not None:
        query = query.where(c.node == node)
    if stream is not None:
        query = query.where(c.stream == stream)
    if end_us is not None:
        query = query.where(c.start_us < end_us)
    query = query.where(c.end_us > start_us)
    return [QualityEdit(*row) for row in conn.execute(query.order_by(c.id))]


def edit_at(edits: Sequence[QualityEdit], time_us: int) -> QualityEdit | None:
    """The edit that counts for a reading of that time; None where no person says anything, or took it back.

    Args:
        edits: of the reading's datastream, in the order in which they were made.
    """
    newest = next((edit for edit in reversed(edits) if edit.covers(time_us)), None)
    return None if newest is None or newest.flag is None else newest
