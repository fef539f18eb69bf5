"""The same rain under each municipality's code: what the rules make of it is what that code says."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.law.profile import load_profile, profile_names
from headwall.registry import Registry
from headwall.rules import duties
from headwall.web.status import gauges_at
from support.rules_house import HOUR, House, at, make_registry

CHECKOUT = Path(__file__).parents[2]
STORM = at("2026-06-10 12:00")


def judged(registry: Registry, tips: int) -> list[duties.Duty]:
    house = House(registry, STORM + 24 * HOUR)
    house.rain(STORM, tips)
    house.judge()
    with house.ledger.read() as conn:
        found = duties.listed(conn, everything=True)
    house.close()
    return found


@pytest.mark.parametrize("profile", profile_names())
def test_two_inches_of_rain_make_a_report_due_in_elmsford_alone(profile: str, tmp_path: Path) -> None:
    found = [each.body.provision for each in judged(make_registry(tmp_path, code=profile), 200)]
    assert found == (["elmsford-288-8a2-storm"] if profile == "elmsford" else [])


def test_code_of_a_sixth_municipality_is_judged_by_its_own_numbers(tmp_path: Path) -> None:
    own = tmp_path / "nowhere.toml"
    own.write_text((CHECKOUT / "docs/templates/municipality.toml").read_text("utf-8"), "utf-8")
    registry = make_registry(tmp_path, code=str(own))
    assert judged(registry, 99) == []  # an inch is asked for
    (duty,) = judged(registry, 100)
    assert duty.body.provision == "nowhere-1-1-storm"
    assert duty.body.due_us == duty.body.storm.end_us + 12 * HOUR  # twelve hours from the end


@pytest.mark.parametrize("profile", profile_names())
def test_page_shows_the_gauges_of_every_municipality(profile: str, tmp_path: Path) -> None:
    registry = make_registry(tmp_path, code=profile)
    house = House(registry, STORM + 24 * HOUR)
    house.rain(STORM, 60)
    house.judge()
    with house.ledger.read() as conn:
        (gauge,) = gauges_at(conn, registry, {profile: load_profile(profile)}, STORM + HOUR)
    house.close()
    assert gauge.datastream == "board-a/rain.tips"


# --- a clause that ends, and one that begins ---

AMENDED = """
[[provision]]
id = "nowhere-1-1-storm-amended"
kind = "storm_report"
citation = "§ 1-1"
confidence = "P"
subject = "A report after half an inch of rain"
requirement = "A report within 24 hours after a storm of half an inch."
from = 2026-06-14
owed_by = "the developer"
report_contains = ["what was found"]
storm = { depth = "0.5 in", due = "24 h" }
"""


def amended(folder: Path) -> Registry:
    """A code whose storm clause ends when a stricter one begins."""
    text = (CHECKOUT / "docs/templates/municipality.toml").read_text("utf-8")
    old = 'kind = "storm_report" #'
    assert old in text
    own = folder / "nowhere.toml"
    own.write_text(text.replace(old, f"to = 2026-06-14\n{old}") + AMENDED, "utf-8")
    return make_registry(folder, code=str(own))


@pytest.mark.parametrize(
    ("start", "tips", "provision"),
    [
        ("2026-06-10 12:00", 60, None),
        ("2026-06-10 12:00", 110, "nowhere-1-1-storm"),
        ("2026-06-15 12:00", 60, "nowhere-1-1-storm-amended"),
        ("2026-06-13 23:00", 60, None),  # in force at the instant the depth is reached: 23:50 UTC, 19:50 there
        ("2026-06-14 04:00", 60, "nowhere-1-1-storm-amended"),  # midnight there
    ],
)
def test_storm_is_judged_by_the_clause_in_force_when_it_falls(
    start: str, tips: int, provision: str | None, tmp_path: Path
) -> None:
    house = House(amended(tmp_path), at("2026-06-20 12:00"))
    house.rain(at(start), tips)
    house.judge()
    found = [each.body.provision for each in house.duties(everything=True)]
    house.close()
    assert found == ([provision] if provision else [])


def test_two_storms_on_both_sides_of_an_amendment_are_each_judged_by_their_own_clause(tmp_path: Path) -> None:
    house = House(amended(tmp_path), at("2026-06-20 12:00"))
    house.rain(at("2026-06-15 12:00"), 110)
    house.rain(at("2026-06-10 12:00"), 110)  # late
    house.judge()
    found = {each.body.provision: each.body for each in house.duties(everything=True)}
    house.close()
    assert set(found) == {"nowhere-1-1-storm", "nowhere-1-1-storm-amended"}
    old, new = found["nowhere-1-1-storm"], found["nowhere-1-1-storm-amended"]
    assert old.due_us is not None and new.due_us is not None
    assert old.due_us == old.span[1] + 12 * HOUR
    assert new.due_us == new.span[1] + 24 * HOUR  # the municipality's choice of the end holds for both
