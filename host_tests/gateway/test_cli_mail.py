"""`headwall mail`: mails that failed are listed, and go out anew once a person says that the cause is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from headwall.errors import InputError, UnknownThingError
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox
from support.desk import Desk
from support.rules_house import make_registry


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """With a failed mail 1 that carries two facts, a failed mail 2 with one, and mail 3 that was sent."""
    make_registry(tmp_path)
    made = Desk(tmp_path)
    ledger = Ledger.open(made.url)
    with ledger.begin() as conn:
        for number, state in ((1, "failed"), (2, "failed"), (3, "sent")):
            row: dict[str, Any] = {"recipient": "olive@village.example", "subject": f"matter {number}", "eml": b"x"}
            row |= {"tries": 1, "next_try_us": 0, "handing_over": False, "repeats": 0, "last_error": "550 no such user"}
            conn.execute(schema.mails.insert().values(message_id=f"<{number}@x>", state=state, at_us=number, **row))
        for fact, mail in (("a", 1), ("b", 1), ("c", 2), ("d", 3)):
            fields = {"kind": "node_fault", "person": "officer", "how": "now", "body": {}, "at_us": 0}
            conn.execute(schema.outbox.insert().values(fact=fact, mail=mail, **fields))
    ledger.close()
    return made


def _waiting(desk: Desk) -> list[str]:
    ledger = Ledger.open(desk.url)
    with ledger.read() as conn:
        found = [row.fact for row in outbox.waiting(conn)]
    ledger.close()
    return found


def test_failed_mails_are_listed_with_the_reason(desk: Desk) -> None:
    listed = json.loads(desk.run("mail", "list", "--json"))
    assert [(mail["id"], mail["last_error"]) for mail in listed] == [(1, "550 no such user"), (2, "550 no such user")]


def test_what_a_failed_mail_carried_waits_for_a_mail_again(desk: Desk) -> None:
    desk.run("mail", "retry", "1", "--by", "Sam")
    assert _waiting(desk) == ["a", "b"]
    assert [row.id for row in desk.rows(schema.mails)] == [2, 3]
    (record,) = desk.rows(schema.records)
    assert (record.kind, record.by, record.body["message_id"]) == ("mail_retried", "Sam", "<1@x>")


def test_all_that_failed_can_be_tried_again_and_what_was_sent_is_not(desk: Desk) -> None:
    assert "2 to be sent anew" in desk.run("mail", "retry", "--all", "--by", "Sam")
    assert _waiting(desk) == ["a", "b", "c"]
    assert "No mail has failed" in desk.run("mail", "list")


@pytest.mark.parametrize("number", ["3", "7"])
def test_a_mail_that_did_not_fail_is_not_sent_again(desk: Desk, number: str) -> None:
    with pytest.raises(UnknownThingError):
        desk.run("mail", "retry", number, "--by", "Sam")
    assert _waiting(desk) == []


@pytest.mark.parametrize("arguments", [[], ["1", "--all"]])
def test_it_must_be_said_which(desk: Desk, arguments: list[str]) -> None:
    with pytest.raises(InputError):
        desk.run("mail", "retry", *arguments, "--by", "Sam")


def test_what_was_seen_is_noted_once_a_person_and_closes_nothing(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    with ledger.begin() as conn:
        case = {"kind": "spill", "provision": "", "municipality": "elmsford", "site": "yard", "state": "suspected"}
        conn.execute(schema.cases.insert().values(**case, historical=False, from_us=0, until_us=0, at_us=0))
    ledger.close()
    assert "noted, seen by Sam" in desk.run("mail", "seen", "case/1", "--by", "Sam")
    assert "was noted before, seen by Sam" in desk.run("mail", "seen", "case/1", "--by", " Sam ")
    told = json.loads(desk.run("mail", "seen", "case/1", "--by", "Olive", "--json"))
    assert [each["by"] for each in told["seen"]] == ["Sam", "Olive"]
    assert [row.state for row in desk.rows(schema.cases)] == ["suspected"]
    assert [(row.kind, row.by) for row in desk.rows(schema.records)] == [
        ("case_acknowledged", "Sam"), ("case_acknowledged", "Olive"),
    ]  # fmt: skip
    with pytest.raises(UnknownThingError, match="no duty 7"):
        desk.run("mail", "seen", "duty/7", "--by", "Sam")
    with pytest.raises(InputError, match="write duty/12 or case/3"):
        desk.run("mail", "seen", "storm/7", "--by", "Sam")
    with pytest.raises(InputError):
        desk.run("mail", "seen", "case/1", "--by", "headwall")
