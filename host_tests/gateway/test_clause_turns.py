"""Many sites with news at once take turns: whoever else writes to the ledger waits for a few of them only."""

from __future__ import annotations

from pathlib import Path

import pytest
from headwall.ledger import entries
from headwall.rules import clause_duties, duties
from support.building_house import Building, buildings, local, project
from support.registry_text import ACTIVE, site


def others(house: Building) -> list[str]:
    with house.ledger.read() as conn:
        return [each.body.site for each in duties.listed(conn, everything=True) if each.state == "received"]


def test_sites_that_persons_entered_something_of_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = "".join(site(f"yard-{n}", "construction", status=ACTIVE) + project() for n in range(5))
    with buildings(tmp_path) as make:
        house = make(project() + more).at("2026-06-02 09:00")
        assert others(house) == []
        monkeypatch.setattr(clause_duties, "_AT_ONCE", 2)
        for n in range(5):
            house.entered(f"yard-{n}", entries.PlanSeen(there=True), local("2026-06-02 08:00"), by="Tom")
        turns = []
        for _ in range(4):
            house.engine.step()
            turns.append(len(others(house)))
        assert turns == [2, 4, 5, 5]
