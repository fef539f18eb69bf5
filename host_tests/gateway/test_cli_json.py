"""Every command says for scripts what it found or did: `--json`, and what it prints then is JSON and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import headwall_board.cli
import pytest
import typer
from headwall.cli.main import COMMANDS, build
from headwall.clock import SystemClock
from headwall.errors import InputError
from headwall.ingest.batch import Intake
from headwall.ingest.sorting import Message
from headwall.ledger.ledger import Ledger
from headwall.registry import load_registry
from headwall.settings import IngestSettings
from support.desk import Desk
from support.rules_house import GAUGE
from support.septic_house import SITE, septic_registry

#: commands without it, and why
WITHOUT: Final = {
    "run": "runs until it is stopped; --json-logs for its log",
    "demo": "runs for minutes and shows how far it is; --report for its figures as JSON",
    "law page": "prints a page in Markdown, for the documentation",
    "certs acl": "prints mosquitto's own file",
    "board console": "what a board prints, and what is typed to it",
    "board simulate": "is a board until it is stopped",
}
BY: Final = ("--by", "Ruth Adler")
SNOW: Final = ("record", "snow", GAUGE, "--depth", "0.42 in", "--from", "2026-02-03 07:00", "--to", "2026-02-03 15:00")


def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by what is typed after `headwall`."""
    under = getattr(command, "commands", None)
    if under is None:
        yield name, command
    for each, found in (under or {}).items():
        yield from leaves(found, f"{name} {each}".strip())


def every_command() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        if name == "board":  # builds the subcommand alone that is asked for
            for asked in headwall_board.cli.COMMANDS:
                group: Any = typer.main.get_command(headwall_board.cli.build(asked))
                found |= leaves(group.commands[asked], f"board {asked}")
        else:
            group = typer.main.get_command(build(name))
            found |= leaves(group.commands[name], name)
    return found


def test_every_command_has_json_or_says_why_not() -> None:
    found = every_command()
    assert len(found) > 140
    without = {name for name, each in found.items() if not any("--json" in option.opts for option in each.params)}
    assert without == set(WITHOUT)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    septic_registry(tmp_path)
    return Desk(tmp_path)


def told(desk: Desk, *words: str) -> Any:
    return json.loads(desk.run(*words, "--json"))


def test_what_a_person_enters_comes_back_as_json(desk: Desk) -> None:
    snow = told(desk, *SNOW, *BY)
    assert (snow["id"], snow["kind"], snow["depth"]) == (1, "snow_water", "0.42 in")
    assert told(desk, *SNOW, *BY) is None  # it is there already
    assert told(desk, "record", "pump-out", SITE, "--volume", "1000 gal", *BY)["volume"] == "1000 gal"
    taken_back = told(desk, "record", "withdraw", "1", "--reason", "other gauge", *BY)
    assert (taken_back["replaces"], taken_back["reason"]) == (1, "other gauge")


def test_the_state_of_nodes_and_what_is_done_to_them_comes_as_json(desk: Desk) -> None:
    window = told(desk, "maintenance", "board-a", "--for", "30m", *BY)
    assert window["end_us"] - window["start_us"] == 30 * 60_000_000
    (before,) = [each for each in told(desk, "node", "list") if each["node"] == "board-a"]
    assert (before["last_data_us"], before["accepted"]) == (None, [])
    accepted = told(desk, "node", "accept", "board-a", *BY)
    assert (accepted["by"], "rain.tips" in accepted["accepted"], accepted["waiting"]) == ("Ruth Adler", True, [])
    (after,) = [each for each in told(desk, "node", "list") if each["node"] == "board-a"]
    assert {each["by"] for each in after["accepted"]} == {"Ruth Adler"}
    flagged = told(
        desk, "quality", "flag", GAUGE, "2026-02-03 07:00", "2026-02-03 08:00", "--flag", "fail", "--reason", "ice", *BY
    )
    assert (flagged["reason"], flagged["readings"]) == ("ice", 0)


def test_what_is_done_to_the_log_book_comes_as_json(desk: Desk) -> None:
    town = load_registry(desk.folder / "registry.toml").municipalities[0].id
    desk.run(*SNOW, *BY)
    held = told(desk, "logbook", "hold", "--municipality", town, "--reason", "claim", *BY)
    released = told(desk, "logbook", "release", str(held["row"]), "--reason", "settled", *BY)
    assert released["hold"] == held["row"] == 2
    kept = told(desk, "logbook", "keep", "7", "--municipality", town, "--reference", "MU-1", *BY)
    assert (kept["row"], kept["years"]) == (4, 7)
    assert told(desk, "logbook", "redact", "1", "--reason", "request", *BY) == {"row": 1, "file": None}
    out = desk.folder / "book.csv"
    written = told(desk, "logbook", "export", str(out))
    assert (written["rows"], written["of"], out.read_text().count("\n")) == (5, 5, 6)
    with pytest.raises(InputError, match="--json tells of a file"):
        desk.run("logbook", "export", "-", "--json")


def test_a_dead_letter_comes_as_json_with_its_payload_byte_for_byte(desk: Desk) -> None:
    ledger = Ledger.open(desk.url)
    registry, clock = load_registry(desk.folder / "registry.toml"), SystemClock()
    intake = Intake(ledger, registry, IngestSettings(), clock)
    came = Message("headwall/v1/board-a/tele", b"\xff{", clock.now_us())
    intake.store_as_letter(came, "bad_json", "no JSON")
    ledger.close()
    assert told(desk, "dead-letters", "show", "1")["payload_base64"] == "/3s="
    assert told(desk, "dead-letters", "rerun", "1")["taken"] == 0
    assert told(desk, "mail", "retry", "--all", *BY) == []


def test_an_imported_file_is_summed_up_as_json(desk: Desk) -> None:
    file = desk.folder / "rain.csv"
    file.write_text("time,rain_in\n2026-02-03T07:00:00-05:00,0.42\n2026-02-03T08:00:00-05:00,0.30\n")
    given = ("import", str(file), "--datastream", GAUGE, "--interval", "1h", "--unit", "in")
    found = told(desk, *given)
    assert (found["stored"], found["known"], found["depth_in"]) == (2, 0, "0.72")
    assert [each["site"] for each in found["duties"]] == ["yard"]
    assert told(desk, *given)["known"] == 2
