"""A municipality that nobody has thought of: a TOML file alone, and rain, septic systems and cases go by its code."""

from __future__ import annotations

from pathlib import Path

from support.scenario import read_scenario
from support.scenario_town import play

TEMPLATE = (Path(__file__).parents[2] / "docs/templates/municipality.toml").read_text("utf-8")


def outcome(folder: Path, scenario: str, profile: str = TEMPLATE) -> dict[str, list[str]]:
    own = folder / "nowhere.toml"
    own.write_text(profile, "utf-8")
    path = folder / "town" / "scenario.toml"
    path.parent.mkdir()
    path.write_text(f'as = "{own}"\n{scenario}', "utf-8")
    return play(read_scenario(path), folder)


def test_storm_of_an_inch_in_a_day_makes_its_report_due_twelve_hours_from_the_end(tmp_path: Path) -> None:
    found = outcome(
        tmp_path,
        """
begins = "2026-06-10 00:00"
places = ["yard"]
[[event]]
at = "2026-06-10 08:00"
rain = "1.2 in"
over = "4 h"
[[event]]
at = "2026-06-10 13:00"
stream = "gauge/rain.tips"
value = 0
every = "2 h"
over = "24 h"
[[event]]
at = "2026-06-12 00:00"
rain = "0.9 in"
over = "2 h"
""",
    )
    (duty,) = found["duties"]
    assert duty.startswith("Thu 2026-06-11 00:00 EDT | open | yard | nowhere-1-1-storm storm | 1.2 in, reached Wed")
    assert any("report due Jun 11 00:00 EDT" in mail for mail in found["mails"])


def test_septic_tank_is_inspected_every_year_and_pumped_at_its_own_distances(tmp_path: Path) -> None:
    found = outcome(
        tmp_path,
        r'''
begins = "2026-03-02 09:00"
places = ["tank"]
leaves_out = ["mails"]
[[event]]
at = "2026-03-02 09:00"
do = """approval add special-conditions --site tank --holder 'the Village' --granted-by 'Olive Officer' \
  --reference 'memo 4' --by 'Olive Officer'"""
[[event]]
at = "2026-05-04 09:00"
do = "record septic tank --scum-clearance '2.5 in' --sludge '10 in' --by 'Ida Inspector'"
[[event]]
at = "2026-06-01 09:00"
do = "record septic tank --scum-clearance '1.5 in' --sludge '10 in' --by 'Ida Inspector'"
[[event]]
at = "2026-06-02 09:00"
''',
    )
    assert found["refused"] == []
    duties = found["duties"]
    assert any(
        each.startswith("Tue 2027-06-01 16:30 EDT | open | tank | nowhere-1-2-inspection next") for each in duties
    )
    (pump_out,) = [each for each in duties if "nowhere-1-2-pump-out" in each]  # at 2 in, so the first was none
    assert "first on record" in pump_out


def test_discharge_goes_from_notice_to_appeal_by_its_own_clock(tmp_path: Path) -> None:
    found = outcome(
        tmp_path,
        """
begins = "2026-06-09 00:00"
places = ["outfall"]
leaves_out = ["mails"]
[[event]]
at = "2026-06-09 10:00"
do = "case open --site outfall --by 'Olive Officer' --reason 'soap'"
[[event]]
at = "2026-06-10 15:00"
do = "case confirm 1 --by 'Olive Officer' --reason 'dye'"
[[event]]
at = "2026-06-12 11:00"
do = "case serve 1 --by 'Olive Officer' --means mail --issued '2026-06-12 10:00'"
[[event]]
at = "2026-06-12 12:00"
""",
    )
    assert found["refused"] == []
    steps = [each for each in found["cases"] if "| step |" in each]
    assert [each.rpartition(" | ")[2] for each in steps if "serve" in each] == ["nowhere-1-4-notice"]
    (clock,) = [each for each in found["cases"] if "| clock |" in each]
    assert "nowhere-1-5-appeal file | strict Thu 2026-07-02 16:30 EDT" in clock


def test_what_its_code_does_not_have_is_refused_with_its_name(tmp_path: Path) -> None:
    found = outcome(
        tmp_path,
        r'''
begins = "2026-06-09 00:00"
places = ["outfall"]
[[event]]
at = "2026-06-09 10:00"
do = """approval add dye-test --site outfall --holder P --granted-by O --reference r --dye d --place p \
  --told '2026-06-09 09:00' --means writing --to '2026-06-09 12:00' --by O"""
''',
    )
    assert "Village of Nowhere" in found["refused"][0]
