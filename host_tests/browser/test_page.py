"""The page as a person meets it: a real Chromium on the real server, JavaScript off and on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from headwall.ledger import schema
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox
from headwall.rules import duties
from headwall.rules.facts import GaugeSilent, to_body
from headwall.web.app import create_app
from headwall.web.server import WebServer
from playwright.sync_api import Browser, Page
from support.mail_facts import (
    CROSSING_US,
    GAUGE,
    HOUR_US,
    MINUTE_US,
    SITES,
    add_tips,
    duty,
    open_duty,
    open_ledger,
    profiles,
    registry,
    storm_tips,
    tell,
)
from support.set_clock import SetClock

pytestmark = pytest.mark.chromium
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    yield page
    context.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A storm with one open duty, a silent gauge, a board that sends attacks, and a mail that was refused."""
    ledger = open_ledger(tmp_path, accepted=["gauge-a"])
    add_tips(ledger, storm_tips(50))
    open_duty(ledger, duty())
    silent = GaugeSilent("elmsford", ["site-2"], "gauge-b/rain.tips", None, CROSSING_US, 60)
    with ledger.begin() as conn:
        opened = {"subject": "gauge-b/rain.tips", "opened_us": CROSSING_US, "key": "silent/1"}
        conn.execute(schema.notices.insert().values(kind="gauge_silent", body=to_body(silent), **opened))
        state = {"status": "online", "body": {"faults": [ATTACK], "synced": False}, "received_us": CROSSING_US}
        conn.execute(schema.node_states.insert().values(node="gauge-a", last_data_us=CROSSING_US, **state))
        conn.execute(
            schema.node_states.insert().values(node="<b>ff00</b>", status="unclaimed", body={}, received_us=CROSSING_US)
        )
    tell(ledger, "duty/1/1", duty(), CROSSING_US)
    with ledger.read() as conn:
        rows = outbox.waiting(conn)
    mail = outbox.NewMail("<1@x>", "smo@village.example", "Saw Mill North", b"", f"550 no such mailbox {ATTACK}")
    assert outbox.queue(ledger, mail, rows, CROSSING_US)
    yield ledger
    ledger.close()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(CROSSING_US + 5 * MINUTE_US)


@pytest.fixture
def url(ledger: Ledger, clock: SetClock) -> Iterator[str]:
    sites = [dict(SITES[0], name=f"Saw Mill North {ATTACK}"), SITES[1]]
    health = {"influx": f"not reachable {ATTACK}"}
    app = create_app(ledger, registry(sites), profiles(), clock, lambda: health)
    server = WebServer(app, "127.0.0.1", 0)
    server.start()
    yield server.url
    server.stop()


def test_page_shows_every_kind_of_thing(page: Page, url: str) -> None:
    page.goto(url)

    assert "influx" in page.inner_text("#alarms")
    assert "1 failed mail" in page.inner_text("#alarms")
    assert "Thu Jun 11 2026, 15:42 EDT" in page.inner_text("#duties")
    gauges = page.inner_text("#gauges")
    assert "0.50 in" in gauges
    assert "going on" in gauges
    assert "silent: check by hand" in gauges
    assert "cannot rule out a qualifying storm, check by hand" in page.inner_text("#notices")
    boards = page.inner_text("#boards")
    assert "reporting" in boards
    assert "never heard" in boards
    assert "unclaimed" in boards
    assert "550 no such mailbox" in page.inner_text("#mails")


def test_text_of_boards_and_reasons_stays_text(page: Page, url: str) -> None:
    page.goto(url)
    assert page.title() == "Headwall"
    assert page.locator("main script, main img, main b:has-text('ff00')").count() == 0
    assert page.locator("text=<b>ff00</b>").count() == 1

    page.goto(f"{url}/duties/1")
    assert page.title().startswith("Duty 1: Saw Mill North <script>")
    assert page.locator("main script").count() == 0
    assert page.locator("main img").count() == 1


def test_link_leads_from_the_page_to_the_duty_and_its_picture(page: Page, url: str) -> None:
    page.goto(url)
    page.click("#duties a >> nth=0")
    page.wait_for_load_state("load")

    text = page.inner_text("main")
    assert "From first rain" in text
    assert "headwall duty received 1 --by NAME" in text
    assert "§ 288-8A(2)" in text
    assert page.locator("#versions tr").count() == 2
    drawn = page.evaluate("() => { const i = document.querySelector('img'); return [i.complete, i.naturalWidth]; }")
    assert drawn == [True, 1024]


def test_page_asks_nothing_of_other_hosts_and_fits_a_phone(page: Page, url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(url)
    page.goto(f"{url}/duties/1")

    assert len(asked) >= 3
    assert all(each.startswith(url) for each in asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_page_without_javascript_is_whole_and_comes_anew(chromium: Browser, url: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)

    assert "Saw Mill North" in page.inner_text("#duties")
    assert page.locator('meta[http-equiv="refresh"]').count() == 1
    context.close()


def test_reload_shows_a_duty_overdue_and_then_closed(page: Page, url: str, ledger: Ledger, clock: SetClock) -> None:
    clock.now = CROSSING_US + 25 * HOUR_US
    page.goto(url)
    assert "open, overdue" in page.inner_text("#duties")
    assert "silent: check by hand" in page.locator("#gauges tr", has_text=GAUGE).inner_text()

    with ledger.begin() as conn:
        duties.close_duty(conn, 1, "received", by="Ruth Adler", at_us=clock.now, now_us=clock.now)
    page.reload()
    assert "received" in page.inner_text("#duties")
    assert "by Ruth Adler" in page.inner_text("#duties")
    assert "overdue" not in page.inner_text("main").lower()
