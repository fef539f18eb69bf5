"""What an officer reads on the command line is words: clocks, states, what was declared. No name is asked in vain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.errors import InputError
from headwall.ledger import schema
from support.desk import Desk
from support.outfall_house import SITE, folder_with_a_suspicion
from support.septic_house import SITE as TANK
from support.septic_house import septic_registry

BY = ("--by", "Olive Officer")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose ledger holds a case with a notice served and an appeal filed, long ago."""
    folder = folder_with_a_suspicion(tmp_path_factory.mktemp("served"))
    desk = Desk(folder)
    desk.run("case", "confirm", "1", *BY, "--reason", "dye test", "--at", "2026-06-09 14:00")
    given = ("--dated", "2026-06-09 15:00", "--correct-by", "2026-06-30", "--means", "certified mail")
    desk.run("case", "serve", "1", *BY, "--at", "2026-06-10 11:00", *given)
    desk.run("case", "open", "--site", SITE, *BY, "--reason", "oil on the water", "--at", "2026-06-09 12:00")
    return folder


@pytest.fixture
def desk(served: Path, tmp_path: Path) -> Iterator[Desk]:
    for name in ("headwall.db", "registry.toml"):
        (tmp_path / name).write_bytes((served / name).read_bytes())
    yield Desk(tmp_path)


def test_clocks_are_told_by_what_they_wait_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    asked = ("law", "due", "elmsford-288-28-appeal", "--start", "receipt=2026-06-26 10:00")
    assert "hear the appeal" in desk.run(*asked)
    assert "hear" in [each["clock"] for each in json.loads(desk.run(*asked, "--json"))]  # scripts keep the name


def test_a_list_of_cases_hides_no_clock_that_has_passed_while_it_is_owed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    listed = desk.run("case", "list")
    assert "2026-07-01 00:00 (passed) correct what the notice orders" in listed
    desk.run("case", "appeal", "1", *BY, "--at", "2026-06-15 10:00", "--received", "2026-06-15 10:00")
    listed = desk.run("case", "list")
    assert "(passed) hear the appeal" in listed


def test_a_step_that_may_not_follow_says_so_in_words(desk: Desk) -> None:
    with pytest.raises(InputError, match="is a step from notice served, in correction, decided") as refused:
        desk.run("case", "request", "2", *BY)
    assert "_" not in str(refused.value)


def test_a_draft_is_shown_without_a_name_and_nothing_else_is(desk: Desk) -> None:
    said = desk.run("case", "letter", "1", "--text")
    assert "NOTICE OF VIOLATION" in said
    shown = json.loads(desk.run("case", "letter", "1", "--text", "--json"))
    assert (shown["kind"], shown["text"]) == ("notice", said)
    for more in ((), ("--sign",)):
        with pytest.raises(InputError, match="write --by"):
            desk.run("case", "letter", "1", *more)
    assert "case_letter" not in {row.kind for row in desk.rows(schema.records)}


def test_what_an_officer_has_declared_is_said_once_he_has(tmp_path: Path) -> None:
    septic_registry(tmp_path)
    desk = Desk(tmp_path)
    before = " ".join(desk.run("site", "show", TANK).split())
    assert "holds if the officer has declared the special conditions" in before
    given = ("--site", TANK, "--holder", "the Village", "--granted-by", "Olive Officer", "--reference", "Res. 12")
    desk.run("approval", "add", "special-conditions", *given, *BY, "--from", "2026-01-01 00:00")
    after = " ".join(desk.run("site", "show", TANK).split())
    assert "it holds as declared: Res. 12" in after
    assert "if the officer has declared" not in after
