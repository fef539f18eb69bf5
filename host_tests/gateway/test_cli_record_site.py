"""`headwall record report|inspection|delivery|presence|plan`, and what the commands say of the duties of clauses."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from headwall.clock import SystemClock
from headwall.errors import InputError
from headwall.law.profile import load_profile
from headwall.ledger import schema
from headwall.rules.duties import DutyClosedError
from headwall.web.app import create_app
from headwall.web.server import WebServer
from support.building_house import project
from support.desk import Desk
from support.registry_text import site
from support.rules_house import HOUR, House, make_registry


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    make_registry(tmp_path, more=project(start="2026-01-05") + site("pipe", "outfall"))
    return made


def _judged(desk: Desk) -> None:
    house = _house(desk)
    house.judge()
    house.close()


def _house(desk: Desk, *, accepted: bool = True) -> House:
    registry = make_registry(desk.folder, more=project(start="2026-01-05"))
    return House(registry, SystemClock().now_us(), accepted=accepted, url=desk.url)


def test_a_report_keeps_who_signed_its_delivery_and_its_file(desk: Desk) -> None:
    file = desk.folder / "report.pdf"
    file.write_bytes(b"%PDF-1.7 report")
    told = desk.run(
        *("record", "report", "yard", "--by", "Tom", "--inspector", "Ina", "--visited", "2026-02-03 10:00"),
        *("--at", "2026-02-03 15:00", "--delivered-to", "Olive", "--means", "by hand", "--in-log-book"),
        *("--attach", str(file), "--found", "all hold", "--json"),
    )
    entry = json.loads(told)
    assert [(each["name"], each["role"]) for each in entry["signed"]] == [
        ("Tom", "trained_contractor"),
        ("Ina", "qualified_inspector"),
    ]
    assert (entry["delivered_to"], entry["means"], entry["in_log_book"]) == ("Olive", "by hand", True)
    assert entry["done_us"] - entry["visited_us"] == 5 * HOUR
    (attached,) = (row for row in desk.rows(schema.records) if row.kind == "attachment")
    assert attached.body["digest"] == entry["attachments"][0]


def test_a_delivery_is_entered_of_the_report_by_who_knows_of_it(desk: Desk) -> None:
    desk.run("record", "report", "yard", "--by", "Tom", "--at", "2026-02-03 15:00")
    told = desk.run("record", "delivery", "1", "--to", "Olive", "--by", "Olive", "--at", "2026-02-04 09:00", "--json")
    entry = json.loads(told)
    assert (entry["by"], entry["delivery_by"], entry["replaces"]) == ("Tom", "Olive", 1)
    assert [row.by for row in desk.rows(schema.records) if row.kind == "entry"] == ["Tom", "Olive"]
    with pytest.raises(InputError, match="delivered to Olive already"):
        desk.run("record", "delivery", "2", "--to", "Olive", "--by", "Olive")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("report pipe --by Tom", "outfall site"),
        ("report yard --by Tom --at 2126-01-01", "future"),
        ("report yard --by Tom --at 2026-02-03T10:00 --visited 2026-02-03T11:00", "after the visit"),
        ("report yard --by Tom --means email", "--delivered-to"),
        ("report yard --by Tom --at 2026-02-03 --delivered-to O --delivered 2026-02-02", "delivered after"),
        ("report yard --by Tom --storm 9", "no duty 9"),
        ("presence yard --by B --day yesterday", "no day"),
        ("presence yard --by B --day 2126-01-01", "future"),
        ("presence yard --by B --no-work --contractor Tom", "nobody worked"),
        ("delivery 7 --to O --by O", "no report"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(desk: Desk, command: str, said: str) -> None:
    with pytest.raises(InputError, match=said) if "no duty" not in said else pytest.raises(Exception, match=said):
        desk.run("record", *command.split())
    assert desk.rows(schema.entries) == []


def test_a_report_closes_the_duty_of_a_storm_by_name(desk: Desk) -> None:
    house, now_us = _house(desk), SystemClock().now_us()
    house.rain(now_us - 2 * HOUR, 50)
    house.judge()
    house.close()
    storm = next(each for each in json.loads(desk.run("duty", "list", "--json")) if each["type"] == "storm_duty")
    desk.run("record", "report", "yard", "--by", "Tom", "--storm", str(storm["id"]))
    closed = json.loads(desk.run("duty", "show", str(storm["id"]), "--json"))
    assert (closed["state"], closed["closed_by"]) == ("received", "Tom")


def test_duty_show_tells_what_is_asked_and_how_to_enter_it(desk: Desk) -> None:
    _judged(desk)
    told = desk.run("duty", "show", "1")
    assert "inspection report every seven days" in " ".join(told.split())
    assert "§ 288-8A(2)" in told
    assert "headwall record report yard --by NAME" in told
    assert "(taken here)" in told
    with pytest.raises(DutyClosedError, match="headwall record report yard"):
        desk.run("duty", "received", "1", "--by", "Olive")


def test_site_show_says_what_nobody_has_told(desk: Desk) -> None:
    _judged(desk)
    told = desk.run("site", "show", "yard")
    assert "nobody has said" in told
    assert "State-permit schedule not entered" in told
    assert "no inspection" not in told
    found = json.loads(desk.run("site", "show", "yard", "--json"))["construction"]
    assert found["project"]["applies"] is True
    assert {each["overdue"] for each in found["clocks"] if each["due_us"]} == {True}


def test_the_page_shows_duties_of_clauses_beside_those_of_storms(desk: Desk) -> None:
    _judged(desk)
    house = _house(desk, accepted=False)
    profiles = {each.profile: load_profile(each.profile) for each in house.registry.municipalities}
    server = WebServer(create_app(house.ledger, house.registry, profiles, house.clock, dict), "127.0.0.1", 0)
    server.start()
    with httpx.Client(base_url=server.url, timeout=30) as client:
        assert "Inspection report every seven days" in client.get("/").text
        assert "overdue" in client.get("/duties/1").text
        lines = client.get("/api/status").json()["duties"]
    server.stop()
    house.close()
    assert {line["depth_in"] for line in lines} == {None}
    assert any(line["due_us"] is None for line in lines)
