"""Behind the link of a mail: who is offered as having seen it, and whose word is taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from headwall.ledger import schema
from headwall.notify import outbox
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch
from headwall.settings import NotifySettings, SmtpSettings
from headwall.web.app import create_app
from support.mail_facts import CROSSING_US, PEOPLE, SITES, duty, open_duty, open_ledger, profiles, registry, tell
from support.set_clock import SetClock

OTHERS = [
    {
        "id": "dep-fay", "name": "Fay Deputy", "email": "fay@village.example",
        "roles": [{"role": "smo", "municipality": "elmsford", "order": 2, "from": "2025-01-01"}],
    },
    {
        "id": "gone-gus", "name": "Gus Gone", "email": "gus@village.example",
        "roles": [{"role": "smo", "municipality": "elmsford", "order": 2, "from": "2020-01-01", "to": "2025-01-01"}],
    },
    {
        "id": "ivan", "name": "Ivan Installer", "email": "ivan@village.example",
        "roles": [{"role": "installer", "municipality": "elmsford", "from": "2025-01-01"}],
    },
]  # fmt: skip


@pytest.fixture
def page(tmp_path: Path) -> tuple[TestClient, str]:
    """The page, and the path of the link of a mail about a duty."""
    ledger, people = open_ledger(tmp_path), registry(SITES, [*PEOPLE, *OTHERS])
    notify = NotifySettings(link_key=tmp_path / "link.key")
    fact = open_duty(ledger, duty(site="site-1"))
    tell(ledger, f"duty/{fact.duty}/1", fact, CROSSING_US)
    with ledger.read() as conn:
        rows = outbox.waiting(conn)
    smtp = SmtpSettings(host="127.0.0.1", sender="headwall@village.example")
    composer = Composer(smtp, notify, ledger, people, profiles())
    mail = composer.mail(Batch("ruth-adler", False, tuple(rows)), CROSSING_US)
    assert outbox.queue(ledger, mail, rows, CROSSING_US)
    found = re.search(rb"/seen/([\w.=\r\n-]+)", mail.eml)
    assert found is not None
    token = found[1].replace(b"=\r\n", b"").decode().split()[0]
    app = create_app(ledger, people, profiles(), SetClock(CROSSING_US), dict, notify)
    return TestClient(app, follow_redirects=False), f"/seen/{token}"


def test_only_those_who_act_for_the_municipality_then_are_offered(page: tuple[TestClient, str]) -> None:
    client, link = page
    offered = re.findall(r'<option value="([\w-]+)"', client.get(link).text)
    assert offered == ["ruth-adler", "dep-fay", "sam-okafor"]  # officer, deputy, operator


def test_a_person_who_is_not_offered_is_not_taken_by_choice(page: tuple[TestClient, str], tmp_path: Path) -> None:
    client, link = page
    word = re.search(r'name="form" value="([^"]+)"', client.get(link).text)
    assert word is not None
    said = {"matter": "duty/1", "form": word[1]}
    for chosen in ("dana-voss", "gone-gus", "ivan", "nobody"):
        refused = client.post(link, data={**said, "person": chosen})
        assert (refused.status_code, "Choose your name, or type it" in refused.text) == (400, True)
    assert client.post(link, data={**said, "person": "dep-fay"}).status_code == 303
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    with engine.connect() as conn:
        assert conn.execute(sa.select(schema.acknowledgements.c.by)).scalars().all() == ["Fay Deputy"]
    engine.dispose()
