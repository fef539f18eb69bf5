"""The page behind the link of a mail, in a real Chromium: it shows, and only its form notes who has seen it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from headwall.ledger import log_book, schema
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch
from headwall.notify.links import Links
from headwall.settings import NotifySettings, SmtpSettings
from headwall.web.app import create_app
from headwall.web.server import WebServer
from playwright.sync_api import Browser, Page
from support.mail_facts import (
    CROSSING_US,
    HOUR_US,
    MINUTE_US,
    PEOPLE,
    SITES,
    duty,
    open_duty,
    open_ledger,
    profiles,
    registry,
    tell,
)
from support.set_clock import SetClock

pytestmark = pytest.mark.chromium
ATTACK = "<img src=x onerror=\"document.title='taken'\">"
SMTP = SmtpSettings(host="127.0.0.1", sender="headwall@village.example")


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    yield context.new_page()
    context.close()


class House:
    """A mail about two duties was sent, and the page is served."""

    def __init__(self, folder: Path) -> None:
        self.ledger: Ledger = open_ledger(folder)
        self.clock = SetClock(CROSSING_US)
        people = [dict(PEOPLE[0], name=f"Ruth Adler {ATTACK}"), *PEOPLE[1:]]
        self.registry = registry(SITES, people)
        self.notify = NotifySettings(link_key=folder / "link.key")
        app = create_app(self.ledger, self.registry, profiles(), self.clock, dict, self.notify)
        self.server = WebServer(app, "127.0.0.1", 0)
        self.server.start()
        self.notify = NotifySettings(link_key=folder / "link.key", public_url=self.server.url)
        for site in ("site-1", "site-2"):
            fact = open_duty(self.ledger, duty(site=site))
            tell(self.ledger, f"duty/{fact.duty}/1", fact, CROSSING_US)
        with self.ledger.read() as conn:
            rows = outbox.waiting(conn)
        mail = Composer(SMTP, self.notify, self.ledger, self.registry, profiles()).mail(
            Batch("ruth-adler", False, tuple(rows)), CROSSING_US
        )
        assert outbox.queue(self.ledger, mail, rows, CROSSING_US)
        found = re.search(rb"/seen/([\w.=\r\n-]+)", mail.eml)
        assert found is not None
        self.token = found[1].replace(b"=\r\n", b"").decode().split()[0]
        self.link = f"{self.server.url}/seen/{self.token}"

    def noted(self) -> list[tuple[Any, ...]]:
        query = sa.select(schema.acknowledgements.c.matter, schema.acknowledgements.c.by).order_by("id")
        with self.ledger.read() as conn:
            return [tuple(row) for row in conn.execute(query)]

    def records(self) -> list[tuple[str, str]]:
        with self.ledger.read() as conn:
            return [(row.kind, row.by) for row in log_book.rows(conn) if row.kind.endswith("acknowledged")]

    def states(self) -> set[str]:
        with self.ledger.read() as conn:
            return set(conn.execute(sa.select(schema.duties.c.state)).scalars())


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.server.stop()
    house.ledger.close()


def test_link_shows_the_matter_on_a_phone_and_changes_nothing(house: House, page: Page) -> None:
    page.goto(house.link)
    text = page.inner_text("main")
    assert "Saw Mill North" in text
    assert "Main Street Lofts" in text
    assert "headwall duty received 1 --by NAME" in text
    assert page.title() != "taken"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("input[type=checkbox]:checked").count() == 2
    for _ in range(3):
        httpx.head(house.link)
        assert httpx.get(house.link).status_code == 200
    assert house.noted() == []
    assert house.records() == []


def test_chosen_person_acknowledges_what_is_ticked_and_it_stays_open(house: House, page: Page) -> None:
    page.goto(house.link)
    page.uncheck("input[value='duty/2']")
    page.select_option("select[name=person]", "sam-okafor")
    house.clock.now = CROSSING_US + 5 * MINUTE_US
    page.click("button")
    page.wait_for_load_state("load")

    assert "Seen by Sam Okafor, Wed Jun 10 2026, 15:47 EDT" in page.inner_text("#seen")
    assert page.url == house.link
    assert house.noted() == [("duty/1", "Sam Okafor")]
    assert house.records() == [("duty_acknowledged", "Sam Okafor")]
    assert house.states() == {"open"}
    page.reload()
    assert house.noted() == [("duty/1", "Sam Okafor")]
    assert page.locator("input[type=checkbox]:checked").count() == 1


def test_typed_name_is_taken_and_twice_is_once(house: House, page: Page) -> None:
    for _ in range(2):
        page.goto(house.link)
        page.check("input[value='duty/1']")
        page.check("input[value='duty/2']")
        page.fill("input[name=name]", "  Deputy   Fay ")
        page.click("button")
        page.wait_for_load_state("load")
    assert house.noted() == [("duty/1", "Deputy Fay"), ("duty/2", "Deputy Fay")]
    assert len(house.records()) == 2


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda page: page.check("input[value='duty/1']"), "Choose your name, or type it"),
        (lambda page: page.fill("input[name=name]", "headwall"), "name of the person"),
        (lambda page: page.uncheck("input[value='duty/1']"), "Choose your name"),
    ],
)
def test_form_without_a_name_is_not_taken_and_says_so(house: House, page: Page, do: Any, said: str) -> None:
    page.goto(house.link)
    do(page)
    page.click("button")
    page.wait_for_load_state("load")
    assert said in page.inner_text("#refused")
    assert house.noted() == []


def test_nothing_ticked_or_two_names_are_not_taken(house: House, page: Page) -> None:
    page.goto(house.link)
    page.uncheck("input[value='duty/1']")
    page.uncheck("input[value='duty/2']")
    page.fill("input[name=name]", "Fay")
    page.click("button")
    page.wait_for_load_state("load")
    assert "tick what you have seen" in page.inner_text("#refused")
    page.check("input[value='duty/1']")
    page.select_option("select[name=person]", "sam-okafor")
    page.fill("input[name=name]", "Fay")
    page.click("button")
    page.wait_for_load_state("load")
    assert "do one of the two" in page.inner_text("#refused")
    assert house.noted() == []


def test_forged_cut_and_old_links_say_what_to_do(house: House, page: Page, tmp_path: Path) -> None:
    other = Links(tmp_path / "other.key", house.server.url, 60).url("<1@x>", CROSSING_US)
    for link in (other, house.link[:-3], f"{house.server.url}/seen/x", house.link[:-1] + "!"):
        page.goto(link)
        assert "copy it by hand" in page.inner_text("#fault")
    house.clock.now = CROSSING_US + 61 * 24 * HOUR_US
    page.goto(house.link)
    assert "headwall mail seen" in page.inner_text("#fault")


def test_post_without_the_form_of_the_page_notes_nothing(house: House, page: Page) -> None:
    page.goto(house.link)
    word = page.get_attribute("input[name=form]", "value") or ""
    said = {"matter": ["duty/1", "duty/9", "case/1"], "name": "Fay", "form": word}
    assert httpx.post(house.link, data={**said, "form": ""}).status_code == 403
    assert httpx.post(house.link, data={**said, "form": house.token}).status_code == 403
    assert httpx.post(house.link, data=said, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert httpx.post(house.link, content=b"x" * 100_000).status_code == 413
    assert httpx.post(house.link, content=b"\xff\xfe=%zz").status_code == 403
    house.clock.now = CROSSING_US + 26 * HOUR_US
    late = httpx.post(house.link, data=said)
    assert (late.status_code, "more than a day" in late.text) == (403, True)
    assert house.noted() == []
    house.clock.now = CROSSING_US
    assert httpx.post(house.link, data=said).status_code == 303
    assert house.noted() == [("duty/1", "Fay")]  # the mail is about no other of them


def test_key_is_for_its_owner_alone_and_lasts(house: House, tmp_path: Path) -> None:
    file = tmp_path / "link.key"
    assert file.stat().st_mode & 0o777 == 0o600
    again = Links(file, house.server.url, 60)
    assert again.url("<1@x>", CROSSING_US) == Links(file, house.server.url, 60).url("<1@x>", CROSSING_US)
    assert again.read(house.token, CROSSING_US)
