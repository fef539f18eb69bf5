"""A village with two gauges and facts about its storms, for the tests of mails and page. All names are invented."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from headwall.clock import to_us
from headwall.law.profile import Profile, load_profile
from headwall.ledger import schema
from headwall.ledger.append import append_readings
from headwall.ledger.ledger import Ledger
from headwall.registry import Registry
from headwall.registry.model import RegistryFile
from headwall.rules import duties
from headwall.rules.facts import Clocks, Fact, StormDuty, StormSummary, to_body

from support.readings import tip

ZONE = ZoneInfo("America/New_York")
MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
LEDGER_ID = "00c0ffee00c0ffee"
GAUGE = "gauge-a/rain.tips"


def at(text: str) -> int:
    """The instant of a local time of 2026, e.g. at("06-10 15:42")."""
    return to_us(datetime.fromisoformat(f"2026-{text}").replace(tzinfo=ZONE))


PEOPLE: list[dict[str, Any]] = [
    {
        "id": "ruth-adler", "name": "Ruth Adler", "email": "smo@village.example", "phone": "914-555-0110",
        "roles": [{"role": "smo", "municipality": "elmsford", "from": "2025-01-01"}],
    },
    {
        "id": "sam-okafor", "name": "Sam Okafor", "email": "sam@gauges.example", "phone": "914-555-0130",
        "firm": "Okafor Field Instruments",
        "roles": [{"role": "operator", "municipality": "elmsford", "from": "2025-01-01"}],
    },
    {
        "id": "dana-voss", "name": "Dana Voss", "email": "dana@vossbuild.example", "phone": "914-555-0141",
        "firm": "Voss Building Corp.",
    },
    {
        "id": "luis-ferrer", "name": "Luis Ferrer", "email": "luis@ferrersite.example", "phone": "914-555-0152",
        "firm": "Ferrer Site Work",
    },
]  # fmt: skip


def node(name: str, mac: str, place: str) -> dict[str, Any]:
    return {
        "id": name, "mac": mac, "place": place, "legal_basis": "consent", "legal_reference": "consent, 2026-03-02",
        "installer": "sam-okafor", "from": "2026-03-10",
        "datastreams": [{
            "name": "rain.tips", "quantity": "tips", "tip": "0.01 in", "from": "2026-03-10",
            "calibrations": [{"on": "2026-03-10", "by": "Sam Okafor", "note": "500 mL, 1.2 % low as found, set"}],
        }],
    }  # fmt: skip


def site(number: int, name: str, place: str, gauge: str = GAUGE) -> dict[str, Any]:
    return {
        "id": f"site-{number}", "kind": "construction", "name": name, "place": place, "municipality": "elmsford",
        "permit": f"SW-2026-{number:03d}",
        "status": [{"status": "active", "from": "2026-03-15", "by": "Ruth Adler"}],
        "people": [
            {"person": "dana-voss", "role": "developer", "from": "2026-03-01"},
            {"person": "luis-ferrer", "role": "trained_contractor", "from": "2026-03-01"},
        ],
        "gauges": [{"datastream": gauge, "distance_m": 30 + 10 * number, "from": "2026-03-10"}],
    }  # fmt: skip


SITES = [
    site(1, "Saw Mill North", "120 Saw Mill River Road"),
    site(2, "Main Street Lofts", "31 East Main Street", "gauge-b/rain.tips"),
]


def registry(sites: Sequence[dict[str, Any]] = SITES, people: Sequence[dict[str, Any]] = PEOPLE) -> Registry:
    municipality = {"id": "elmsford", "name": "Village of Elmsford", "profile": "elmsford"}
    nodes = [
        node("gauge-a", "240ac400000a", "pole at the north gate, Saw Mill Road"),
        node("gauge-b", "240ac400000b", "roof of the site office, Main Street"),
        node("gauge-c", "240ac400000c", "Village yard, Winthrop Avenue"),
    ]
    return Registry(
        RegistryFile.model_validate(
            {"municipalities": [municipality], "people": people, "nodes": nodes, "sites": list(sites)}
        )
    )


def profiles() -> dict[str, Profile]:
    return {"elmsford": load_profile("elmsford")}


def open_ledger(folder: Path, *, accepted: Sequence[str] = ("gauge-a", "gauge-b")) -> Ledger:
    """A new ledger with a fixed id, so that mails can be compared whole; the gauges out of commissioning."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    with ledger.begin() as conn:
        conn.execute(schema.meta.update().where(schema.meta.c.key == "ledger_id").values(value=LEDGER_ID))
        for name in accepted:
            row = {"node": name, "stream": "rain.tips", "by": "Ruth Adler", "at_us": at("03-20 09:00")}
            conn.execute(schema.acceptances.insert().values(**row))
    ledger.close()
    return Ledger.open(f"sqlite:///{folder / 'ledger.db'}")


#: tips of the storm of June 10: faster in the middle, 0.01 in each, the 50th on Jun 10 15:42 EDT
CROSSING_US = at("06-10 15:42")


def storm_tips(count: int = 63) -> list[int]:
    """Instants of tips around a storm whose 50th tip falls at CROSSING_US."""
    gaps_s = [420 - 330 * min(n, 2 * 30 - n, 25) // 25 if n < 60 else 300 for n in range(max(count, 50))]
    for n in range(50, len(gaps_s) - 1, 2):  # uneven, as rain is and what seeps through a clogged funnel is not
        gaps_s[n], gaps_s[n + 1] = gaps_s[n] + 120, gaps_s[n + 1] - 120
    instants, now = [], 0
    for gap in gaps_s:
        now += gap * 1_000_000
        instants.append(now)
    shift = CROSSING_US - instants[49]
    return [instant + shift for instant in instants[:count]]


def add_tips(ledger: Ledger, instants: Sequence[int], node_id: str = "gauge-a") -> None:
    readings = [
        tip(n, node=node_id, time_us=instant, received_us=instant + 2_000_000) for n, instant in enumerate(instants, 1)
    ]
    with ledger.begin() as conn:
        append_readings(ledger, conn, readings)


def storm(count: int, *, ended: bool = False) -> StormSummary:
    tips = storm_tips(count)
    return StormSummary(
        start_us=tips[0],
        end_us=tips[-1],
        ended=ended,
        depth_mm=f"{count * 254 / 1000:g}",
        depth_in=f"{count / 100:g}",
        peak_15min_mm_h=10.16,
    )


def duty(**changes: Any) -> StormDuty:
    """The duty at Saw Mill North, learned at once, while it still rains."""
    tips = storm_tips(50)
    fields: dict[str, Any] = {
        "duty": 1,
        "version": 1,
        "municipality": "elmsford",
        "site": "site-1",
        "provision": "elmsford-288-8a2-storm",
        "datastream": GAUGE,
        "storm": storm(50),
        "fired_by": "event",
        "crossing_us": CROSSING_US,
        "clocks": Clocks(CROSSING_US + 24 * HOUR_US, tips[0] + 24 * HOUR_US, None, "crossing"),
        "due_us": CROSSING_US + 24 * HOUR_US,
        "learned_us": CROSSING_US + 3_000_000,
    }
    return StormDuty(**{**fields, **changes})


def tell(ledger: Ledger, key: str, fact: Fact, at_us: int, *, person: str = "ruth-adler", how: str = "now") -> None:
    """One outbox row, as a rule writes it."""
    row = {
        "fact": key, "kind": to_body(fact)["type"], "person": person, "how": how, "body": to_body(fact), "at_us": at_us,
    }  # fmt: skip
    with ledger.begin() as conn:
        conn.execute(schema.outbox.insert().values(**row))


def open_duty(ledger: Ledger, fact: StormDuty) -> StormDuty:
    """The duty in the ledger, as a rule opens it."""
    with ledger.begin() as conn:
        return duties.open_duty(conn, fact, fact.learned_us, historical=False)
