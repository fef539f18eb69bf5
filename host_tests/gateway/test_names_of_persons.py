"""What a person decides carries a name that he can be found by: not the program's, and not one that nobody sees."""

from __future__ import annotations

import pytest
from headwall.cli.opened import named
from headwall.errors import InputError
from headwall.ledger import acknowledgements, cases, log_book
from headwall.ledger.ledger import Ledger

NOBODY = [
    "",
    "  ",
    "headwall",
    " HeadWall ",
    "\u200b",
    "Olive\u202e",
    "12",
    "-",
    ".",
    "x" * 101,
    "Olive\x00",
    "head\u200bwall",
]


@pytest.mark.parametrize("by", NOBODY)
def test_what_is_no_name_decides_nothing_at_the_command_line(by: str) -> None:
    for option in ("--by", "--granted-by", "--ended-by"):
        with pytest.raises(InputError):
            named(by, option)


@pytest.mark.parametrize("by", NOBODY)
def test_what_is_no_name_has_seen_nothing(by: str) -> None:
    ledger = Ledger.open("sqlite://")
    columns = {"kind": "spill", "provision": "", "municipality": "town", "site": "yard", "notice": None}
    times = {"from_us": 1, "until_us": 1, "at_us": 1}
    with ledger.begin() as conn:
        number = cases.add(conn, **columns, **times, state="suspected", historical=False)
        with pytest.raises(InputError):
            acknowledgements.add(conn, f"case/{number}", by=by, now_us=2)
        assert not list(log_book.rows(conn))
    ledger.close()


def test_names_of_persons_are_names() -> None:
    for by in ("Olive Officer", "Zoë Ní Bhriain", "李", "O'Brien, P.E.", "J. de la Cruz-Ortiz 3rd"):
        assert named(by) == log_book.person(f"  {by} ") == by
    assert named("12", "--reference") == "12"
