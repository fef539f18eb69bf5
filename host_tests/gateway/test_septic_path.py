"""A septic tank from its readings to duty, case, mail, entry and closing, under two codes; late and shuffled data."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from headwall.cases import steps
from headwall.ledger import approvals, cases
from headwall.ledger.approvals import SpecialConditions
from headwall.ledger.entries import (
    Body,
    PumpOut,
    SepticCertificate,
    SepticMeasurement,
    SepticRepair,
    Withdrawal,
)
from headwall.rules import duties
from headwall.rules.duties import Duty
from headwall.rules.facts import ClauseDuty, SiteSign
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rules_house import HOUR, MINUTE, House, at
from support.septic_house import IN, SITE, TANK, Probe, septic_registry

DAY = 24 * HOUR
START = at("2026-06-01 04:00")  # midnight in New York
_OFFICER = """
[[people]]
id = "hal"
name = "Hal Ward"
email = "hal@village.example"
roles = [{ role = "smo", municipality = "hillburn", from = 2020-01-01 }]
"""
#: where the other code differs in ids
INSPECTION = {"hillburn": "hillburn-192-15b1a-inspection", "bayville": "bayville-63a-9b1a-inspection"}


class TankHouse(House):
    """A house whose tank is under a code; levels in inches as its probes have them."""

    def __init__(self, folder: Path, code: str, *changes: tuple[str, str]) -> None:
        registry = septic_registry(
            folder,
            ('profile = "hillburn"\n', f'profile = "{code}"\n{_OFFICER}'),
            ("dwell_min = 60", "dwell_min = 120"),
            *changes,
        )
        super().__init__(registry, START)
        self.probe = Probe(self.ledger)
        self.accept(TANK, "liquid.level", "scum.level", "sludge.level")

    def levels(self, of: str, *readings: tuple[int, float]) -> None:
        """Readings as they come, the clock at the newest; judged."""
        self.probe.put(f"{of}.level", *((time_us, inches * IN) for time_us, inches in readings))
        self.judge(max(self.clock.now, *(time_us for time_us, _ in readings)))

    def enter(self, body: Body, done_us: int, by: str = "Ida Brook", replaces: int | None = None) -> int:
        self.clock.now = max(self.clock.now, done_us)
        number = self.entered(SITE, body, done_us, by=by, replaces=replaces)
        self.judge()
        return number

    def declare(self, from_us: int, to_us: int | None = None) -> None:
        body = SpecialConditions(
            provision="x", holder="all systems", granted_by="Hal Ward", reference="resolution 12 of 2026"
        )
        self.clock.now = max(self.clock.now, from_us)
        with self.ledger.begin() as conn:
            approvals.add_approval(
                conn, body, municipality="hillburn", site=None, from_us=from_us, to_us=to_us, by="Hal", now_us=0
            )
        self.judge()

    def cases(self) -> list[cases.Case]:
        with self.ledger.read() as conn:
            return cases.listed(conn)

    def asked(self, kind: str = "") -> list[Duty[Any]]:
        with self.ledger.read() as conn:
            found = duties.listed(conn, everything=True)
        return [each for each in found if isinstance(each.body, ClauseDuty) and kind in each.body.provision]

    def mails(self) -> list[tuple[str, str, bool]]:
        """(what, how, present) of signs that are told."""
        return [(f.what, how, f.present) for _, _, how, f in self.outbox() if isinstance(f, SiteSign)]


@pytest.fixture
def tanks(tmp_path: Path) -> Iterator[Callable[..., TankHouse]]:
    with ExitStack() as made:

        def make(code: str = "hillburn", *changes: tuple[str, str]) -> TankHouse:
            house = TankHouse(tmp_path, code, *changes)
            made.callback(house.close)
            return house

        yield make


def every(minutes: int, start_us: int, *inches: float) -> list[tuple[int, float]]:
    return [(start_us + n * minutes * MINUTE, each) for n, each in enumerate(inches)]


# ---- liquid above the outlet invert


@pytest.mark.parametrize("code", ["hillburn", "bayville"])
def test_liquid_above_the_invert_is_a_suspicion_at_once_and_present_after_its_dwell(
    tanks: Callable[..., TankHouse], code: str
) -> None:
    house = tanks(code)
    house.levels("liquid", *every(15, START, 0.0, 0.2, 0.8))
    (case,) = house.cases()
    assert (case.kind, case.state, case.site) == ("failing_system", "suspected", SITE)
    assert house.mails() == [("liquid_level", "digest", False)]
    house.levels("liquid", *every(15, START + 45 * MINUTE, *[1.0] * 8))
    (case,) = house.cases()
    assert (case.state, [step.action for step in case.steps]) == ("suspected", ["open", "say_present"])
    assert house.mails() == [("liquid_level", "now", True)]
    with house.ledger.begin() as conn:
        told = steps.Told("Hal Ward", house.clock.now, "sewage stands above the outlet, seen from the lid")
        steps.take(conn, house.registry, case.id, "confirm", told, now_us=house.clock.now)
    (case,) = house.cases()
    assert case.state == "confirmed"
    assert case.steps[-1].provision == f"{code}-{'192-13' if code == 'hillburn' else '63a-7'}-failing-system"


def test_liquid_that_goes_down_before_its_dwell_leaves_nothing_to_tell(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.levels("liquid", *every(15, START, 0.0, 0.8, 0.9))
    house.levels("liquid", *every(15, START + 45 * MINUTE, 0.4, 0.1))
    (case,) = house.cases()
    assert case.state == "taken_back"
    assert house.mails() == []


def test_a_case_that_a_person_has_looked_at_is_not_taken_back(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.levels("liquid", *every(15, START, 0.0, 0.8))
    with house.ledger.begin() as conn:
        told = steps.Told("Hal Ward", house.clock.now)
        steps.take(conn, house.registry, 1, "review", told, now_us=house.clock.now)
    house.levels("liquid", *every(15, START + 30 * MINUTE, 0.0))
    assert house.cases()[0].state == "under_review"


def test_instant_mode_takes_each_reading(tanks: Callable[..., TankHouse]) -> None:
    house = tanks("hillburn", ("dwell_min = 120", "dwell_min = 0"))
    house.levels("liquid", *every(15, START, 0.0, 0.8, 0.0))
    assert [case.state for case in house.cases()] == ["suspected"]
    assert house.mails() == [("liquid_level", "now", True)]


def test_level_that_wavers_at_the_tolerance_is_one_case(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.levels("liquid", *every(15, START, *[0.55, 0.45] * 20))
    assert len(house.cases()) == 1


def test_where_the_ground_does_not_drain_to_the_sewer_no_case_is_made(tanks: Callable[..., TankHouse]) -> None:
    said = 'not_tributary = [{ from = 2020-01-01, by = "Hal Ward", reason = "drains to the lake" }]\nlevels = [\n'
    house = tanks("hillburn", ("levels = [\n", said))
    house.levels("liquid", *every(15, START, *[2.0] * 20))
    assert house.cases() == []


def test_a_code_without_such_a_clause_gets_no_case(tanks: Callable[..., TankHouse]) -> None:
    house = tanks("elmsford")
    house.levels("liquid", *every(15, START, *[2.0] * 20))
    assert house.cases() == []


def test_maintenance_and_what_a_person_flags_as_failed_show_nothing(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.maintain(START, START + HOUR, TANK)
    house.levels("liquid", *every(15, START, 3.0, 3.0, 3.0))
    assert house.cases() == []
    house.levels("liquid", *every(15, START + 2 * HOUR, *[3.0] * 12))
    assert [case.state for case in house.cases()] == ["suspected"]
    _flag(house, START + HOUR, START + 6 * HOUR)
    assert [case.state for case in house.cases()] == ["taken_back"]


def _flag(house: TankHouse, start_us: int, end_us: int) -> None:
    from headwall.ledger.quality_edits import add_edit

    with house.ledger.begin() as conn:
        said = {"node": TANK, "stream": "liquid.level", "start_us": start_us, "end_us": end_us, "flag": 4}
        add_edit(conn, **said, by="Ada", reason="probe hung in scum", now_us=house.clock.now)
    house.judge()


# ---- the yearly inspection


@pytest.mark.parametrize("code", ["hillburn", "bayville"])
def test_inspection_is_advice_until_the_officer_declares_the_special_conditions(
    tanks: Callable[..., TankHouse], code: str
) -> None:
    house = tanks(code)
    house.judge()
    (advice,) = house.asked("inspection")
    assert (advice.body.advice, advice.body.due_us, advice.state) == (True, None, "open")
    house.declare(at("2026-07-01 04:00"))
    (duty,) = [each for each in house.asked("inspection") if not each.body.advice]
    assert duty.body.provision == INSPECTION[code]
    assert duty.body.due_us == at("2027-07-01 20:30")  # the office closes at 16:30
    assert duty.body.evidence["special conditions"] == "resolution 12 of 2026"
    house.enter(_looked(), at("2026-08-03 15:00"))
    first, second = (each for each in house.asked("inspection") if not each.body.advice)
    assert (first.state, first.closed_by) == ("received", "Ida Brook")
    assert (second.state, second.body.due_us) == ("open", at("2027-08-03 20:30"))


def _looked(scum: str = "6 in", sludge: str = "12 in") -> SepticMeasurement:
    return SepticMeasurement(scum_clearance=scum, sludge=sludge)


def test_neither_a_sensor_nor_half_a_look_is_the_inspection(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.declare(START)
    house.levels("scum", *every(60, START + HOUR, *[-6.0] * 5))
    house.levels("sludge", *every(60, START + HOUR, *[12.0] * 5))
    house.enter(SepticMeasurement(sludge="12 in", liquid="0 in"), START + 9 * HOUR)
    assert [each.state for each in house.asked("inspection") if not each.body.advice] == ["open"]


def test_an_inspection_of_the_year_before_the_declaration_counts(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.enter(_looked(), at("2026-03-02 15:00"))
    house.declare(START)
    (duty,) = [each for each in house.asked("inspection") if not each.body.advice]
    assert duty.body.due_us == at("2027-03-02 21:30")


def test_by_calendar_years_the_inspection_is_due_at_the_end_of_the_next_one(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    _choose(house, "septic.period", "calendar_year")
    house.declare(START)
    house.enter(_looked(), at("2026-08-03 15:00"))
    dues = [each.body.due_us for each in house.asked("inspection") if not each.body.advice]
    assert dues == [at("2026-12-31 21:30"), at("2027-12-31 21:30")]


def _choose(house: TankHouse, key: str, value: Any) -> None:
    from datetime import date

    from headwall.codes import choose
    from headwall.law.choices import Choice
    from headwall.law.profile import load_profile

    choice = Choice.model_validate({"key": key, "value": value, "from": date(2020, 1, 1), "by": "Hal", "reason": "so"})
    with house.ledger.begin() as conn:
        choose(conn, load_profile("hillburn"), choice, house.clock.now)
    house.judge()


def test_a_withdrawn_inspection_opens_the_year_again(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.declare(START)
    entry = house.enter(_looked(), START + 9 * HOUR)
    house.enter(Withdrawal(reason="another tank"), START + 9 * HOUR, replaces=entry)
    (duty,) = [each for each in house.asked("inspection") if not each.body.advice and not each.body.trigger_gone]
    assert (duty.state, duty.body.due_us) == ("open", at("2027-06-01 20:30"))


def test_declarations_that_overlap_are_one(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.declare(START, START + 90 * DAY)
    house.enter(_looked(), START + 9 * DAY)
    house.declare(START + 30 * DAY)
    _, duty = [each for each in house.asked("inspection") if not each.body.advice]
    assert (duty.state, duty.body.due_us) == ("open", at("2027-06-10 20:30"))
    house.judge(START + 100 * DAY)
    assert [each.state for each in house.asked("inspection") if not each.body.advice] == ["received", "open"]


def test_after_a_pause_of_the_declaration_the_year_goes_on_from_the_last_inspection(
    tanks: Callable[..., TankHouse],
) -> None:
    house = tanks()
    house.declare(START, START + 30 * DAY)
    house.enter(_looked(), START + 9 * DAY)
    house.judge(START + 40 * DAY)
    assert [each.state for each in house.asked("inspection") if not each.body.advice] == ["received", "gone"]
    house.declare(START + 60 * DAY)
    _, duty = [each for each in house.asked("inspection") if not each.body.advice]
    assert (duty.state, duty.body.due_us) == ("open", at("2027-06-10 20:30"))


# ---- pump-outs


@pytest.mark.parametrize("code", ["hillburn", "bayville"])
def test_scum_by_the_sensor_asks_for_a_look_by_hand_and_a_pump_out_closes_it(
    tanks: Callable[..., TankHouse], code: str
) -> None:
    """The baffle ends 16 in below the invert: scum down to 13 in is exactly 3 in away."""
    house = tanks(code)
    house.declare(START)
    house.levels("scum", *every(60, START + HOUR, -12.0, -12.0, -13.0, -13.2, -13.4))
    (duty,) = house.asked("pump-out")
    assert (duty.state, duty.body.advice, duty.body.due_us) == ("open", False, None)
    assert duty.body.asks.startswith("Measure scum and sludge by hand")
    assert duty.body.starts == {"discovery": START + 3 * HOUR}
    house.enter(SepticMeasurement(scum_clearance="2.5 in", sludge="12 in"), START + DAY)
    (duty,) = house.asked("pump-out")
    assert duty.body.asks.startswith("Pump out the septic tank")
    house.enter(PumpOut(hauler="Clean Co"), START + 3 * DAY)
    (duty,) = [each for each in house.asked("pump-out") if not each.body.advice]
    assert (duty.state, duty.closed_by) == ("received", "Ida Brook")


def test_what_is_measured_by_hand_takes_the_place_of_what_the_sensor_showed(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.declare(START)
    house.levels("scum", *every(60, START + HOUR, -13.5, -13.5))
    house.enter(_looked("5 in"), START + DAY)
    (duty,) = house.asked("pump-out")
    assert duty.state == "gone"
    assert "5.0 in" in duty.body.trigger_gone


def test_without_a_declaration_a_full_tank_is_advice(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.levels("sludge", *every(60, START, 20.0, 22.0, 22.5))  # the floor is 48 in down: 10 in are left at 22
    (advice,) = house.asked("pump-out")
    assert advice.body.advice
    assert advice.body.starts == {"discovery": START + HOUR}


@pytest.mark.parametrize(("margin", "asked"), [("0", 0), ("0.5", 1)])
def test_margin_lets_a_reading_count_earlier(tanks: Callable[..., TankHouse], margin: str, asked: int) -> None:
    house = tanks()
    _choose(house, "septic.margin_in", margin)
    house.levels("scum", *every(60, START, -12.6, -12.6))
    assert len(house.asked("pump-out")) == asked


def test_advice_of_two_and_of_three_years_is_never_overdue(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.enter(PumpOut(), START)
    house.judge(at("2028-06-01 20:29"))
    assert house.asked("15b1e") == []
    house.judge(at("2028-06-01 20:30"))
    (first,) = house.asked("15b1e")
    assert (first.body.advice, first.body.due_us) == (True, at("2028-06-01 20:30"))
    house.judge(at("2029-06-02 12:00"))
    assert [each.body.advice for each in house.asked("15b1e")] == [True, True]


# ---- certificates


def test_repair_asks_for_the_certificates_of_the_code(tanks: Callable[..., TankHouse]) -> None:
    for code, names in (("hillburn", ["compliance", "county_approval"]), ("bayville", ["compliance"])):
        house = tanks(code)
        house.declare(START)
        house.enter(SepticRepair(work="repair", designer="Dana Drew PE"), START + DAY)
        asked = [each for each in house.asked("repair") if not each.body.advice]
        assert [each.body.occurrence.split()[0] for each in asked] == names
        came = SepticCertificate(certificate="compliance", issued_by="Dana Drew PE", reference="C-12")
        house.enter(came, START + 2 * DAY)
        states = {each.body.occurrence.split()[0]: each.state for each in house.asked("repair")}
        assert states == {name: "received" if name == "compliance" else "open" for name in names}


# ---- signs


def test_a_tank_that_leaks_overnight_is_told_in_the_digest(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    sinking = [-0.6 - 0.05 * n for n in range(48)]
    house.levels("liquid", *every(15, START, *sinking))
    assert house.mails() == [("tank_leak", "digest", False)]
    assert house.cases() == []


def test_surges_of_a_week_are_told_once(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    for day in range(3):
        house.levels("liquid", *every(10, START + day * DAY, 0.0, 3.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    surges = [fact for *_, fact in house.outbox() if isinstance(fact, SiteSign) and fact.what == "tank_surges"]
    assert [fact.evidence["times"] for fact in surges] == [3]


def test_sensor_that_differs_from_the_stick_is_told(tanks: Callable[..., TankHouse]) -> None:
    house = tanks()
    house.levels("sludge", *every(60, START, 12.0, 12.0))
    house.enter(_looked(sludge="12.5 in"), START + 2 * HOUR)
    assert house.mails() == []
    house.enter(_looked(sludge="15 in"), START + 3 * HOUR)
    assert house.mails() == [("hand_differs", "digest", False)]


# ---- late and shuffled


_LEVELS = st.lists(st.sampled_from([-0.8, -0.2, 0.0, 0.3, 0.6, 1.0, 3.0]), min_size=8, max_size=32)


@settings(max_examples=6)
@given(_LEVELS, st.integers(1, 5), st.booleans())
def test_late_and_shuffled_readings_end_where_those_on_time_do(
    tmp_path_factory: pytest.TempPathFactory, inches: list[float], seed: int, gap: bool
) -> None:
    readings = every(40, START, *inches)
    if gap:
        half = len(inches) // 2
        readings = readings[:half] + [(time_us + 30 * HOUR, each) for time_us, each in readings[half:]]
    ends = []
    for shuffled in (False, True):
        house = TankHouse(tmp_path_factory.mktemp("tank"), "hillburn")
        order = list(readings)
        if shuffled:
            random.Random(seed).shuffle(order)
            house.clock.now = readings[-1][0]
        for first in range(0, len(order), 4):
            house.levels("liquid", *order[first : first + 4])
        open_cases = sorted((c.from_us, c.until_us) for c in house.cases() if c.state == "suspected")
        notices = sorted(
            (n.body["what"], n.body["start_us"], n.body["end_us"], n.body["present"], n.body["ongoing"])
            for n in house.notices("site_sign")
            if n.closed_us is None
        )
        ends.append((open_cases, notices))
        house.close()
    assert ends[0] == ends[1]


# ---- whose house it is


@pytest.mark.parametrize(("sold", "owes"), [("2027-06-20", "Nora Next"), ("2027-07-20", "Otto Owner")])
def test_inspection_is_owed_by_who_had_the_house_when_it_was_due(
    tanks: Callable[..., TankHouse], sold: str, owes: str
) -> None:
    people = "".join(
        f'[[people]]\nid = "{name.split()[0].lower()}"\nname = "{name}"\nemail = "x@house.example"\n\n'
        for name in ("Otto Owner", "Nora Next")
    )
    parts = f'people = [{{ person = "otto", role = "owner", from = 2020-01-01, to = {sold} }}, '
    parts += f'{{ person = "nora", role = "owner", from = {sold} }}]\nlevels = [\n'
    house = tanks(
        "hillburn", ("levels = [\n", parts), ('[[people]]\nid = "officer"', people + '[[people]]\nid = "officer"')
    )
    house.declare(at("2026-07-01 04:00"))
    house.clock.now = at("2027-08-01 12:00")
    house.judge()
    (duty,) = [each for each in house.asked("inspection") if not each.body.advice]
    assert (duty.body.due_us, duty.body.owed_by) == (at("2027-07-01 20:30"), owes)
