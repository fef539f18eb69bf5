"""How mails say times and lists: a day that is over is named by that day, and what a long mail holds comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest
from headwall.law import localtime
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox, wording
from headwall.notify.compose import Contents
from headwall.notify.content import Content
from headwall.notify.grouping import Batch
from headwall.notify.render import line_html, render_html, render_text
from headwall.registry.model import Person
from headwall.reports import log_book
from headwall.rules.facts import ClauseDuty, Fact, to_body
from headwall.settings import NotifySettings
from hypothesis import given
from hypothesis import strategies as st
from support.mail_facts import CROSSING_US, ZONE, at, duty, open_ledger, profiles, registry, site

RUTH = Person(id="ruth-adler", name="Ruth Adler", email="smo@village.example")
REPORT = ClauseDuty(
    duty=1,
    version=1,
    municipality="elmsford",
    site="site-1",
    provision="elmsford-288-8a2-seven-day",
    name="next",
    occurrence="since the last",
    starts={"last_report": at("06-04 15:42"), "discovery": at("06-04 15:42")},
    asks="Report to Voss Building Corp.",
    owed_by="Dana Voss",
    strict_us=at("06-12 00:00"),
    lenient_us=at("06-12 00:00"),
    due_us=at("06-12 00:00"),
    learned_us=at("06-10 15:00"),
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = open_ledger(tmp_path)
    yield ledger
    ledger.close()


def mail(ledger: Ledger, facts: Sequence[Fact], now_us: int = CROSSING_US) -> Content:
    sites = [site(n, f"Lot {n}", f"{n} Main Street") for n in range(1, 41)]
    rows = tuple(outbox.Waiting(n, f"x/{n}", RUTH.id, "now", to_body(fact), now_us) for n, fact in enumerate(facts))
    return Contents(NotifySettings(), ledger, registry(sites), profiles()).content(
        Batch(RUTH.id, False, rows), RUTH, now_us
    )


def changed(**fields: object) -> ClauseDuty:
    return ClauseDuty(**{**{name: getattr(REPORT, name) for name in REPORT.__struct_fields__}, **fields})


@given(st.dates(date(2020, 1, 1), date(2040, 1, 1)), st.integers(1, 22 * 60))
def test_a_time_at_midnight_is_the_end_of_the_day_before_and_any_other_is_itself(day: date, minutes: int) -> None:
    midnight_us = localtime.midnight_us(day, ZONE)
    before = day - timedelta(days=1)
    assert localtime.until(midnight_us, ZONE) == f"end of {before:%b} {before.day}"
    assert wording.due_time(midnight_us, ZONE) == f"end of {before:%a %b} {before.day} {before.year}"
    later_us = midnight_us + minutes * 60_000_000
    assert wording.due_time(later_us, ZONE) == wording.full_time(later_us, ZONE)
    assert localtime.until(later_us, ZONE) == localtime.short(later_us, ZONE)


def test_a_sentence_has_one_full_stop_and_an_abbreviation_stays() -> None:
    assert wording.sentence("report to Voss Building Corp.") == "Report to Voss Building Corp."
    assert wording.sentence("report to Voss") == "Report to Voss."
    assert (wording.first_lower("SWPPP at the site"), wording.first_lower("Report")) == ("SWPPP at the site", "report")


def test_a_phone_number_and_a_section_are_never_cut_in_two() -> None:
    assert '<span class="kept">§ 288-11A(6)</span>' in line_html("By § 288-11A(6), appeal")
    assert '<a href="tel:+1-800-457-7362">1-800-457-7362</a>' in line_html("Call 1-800-457-7362: now")


@pytest.mark.parametrize(
    ("fields", "heading", "lead"),
    [
        ({}, "due end of Thu Jun 11 2026", "For Dana Voss to do, in 32 h 18 min at the latest."),
        (
            {"due_us": at("06-10 00:00")},
            "was due end of Tue Jun 9 2026",
            "For Dana Voss to do: the time was over 15 h 42 min ago, and nothing that answers it is on record.",
        ),
        ({"due_us": None}, "Corp.", "For Dana Voss to do; no time is known for it (see The clock)."),
        (
            {"not_before": True},
            "not before Fri Jun 12 2026, 00:00 EDT",
            "For Dana Voss to do, in 32 h 18 min at the earliest.",
        ),
        ({"advice": True}, "advice for end of Thu Jun 11 2026", "For Dana Voss to do."),
    ],
)
def test_a_duty_says_whose_it_is_and_how_long_there_is_for_it(
    ledger: Ledger, fields: dict[str, object], heading: str, lead: str
) -> None:
    (section,) = mail(ledger, [changed(**fields)]).sections
    assert section.heading.endswith(heading)
    assert section.lead[-1] == lead


def test_an_officer_is_not_told_to_ask_for_what_is_his_own_to_do(ledger: Ledger) -> None:
    officer = "the Stormwater Management Officer"
    steps = [mail(ledger, [changed(owed_by=who)]).sections[0].steps[0] for who in (officer, "Dana Voss")]
    assert steps[0].startswith("See that it is done.")
    assert steps[1].startswith("Ask Dana Voss for it, or see that it is done.")


def test_what_was_noticed_is_called_no_violation(ledger: Ledger) -> None:
    said = render_text(mail(ledger, [REPORT]))
    assert "First seen" in said
    assert "violation" not in said


def test_a_mail_of_many_matters_begins_with_a_list_of_them(ledger: Ledger) -> None:
    many = mail(ledger, [changed(site=f"site-{n}", duty=n) for n in range(1, 4)])
    for said in (render_text(many), render_html(many)):
        head = said[said.index("In this mail") : said.index("What to do now")]
        assert all(f"Lot {n}: report" in head for n in range(1, 4))
    assert "In this mail" not in render_text(mail(ledger, [REPORT, changed(site="site-2", duty=2)]))


def test_a_storm_over_many_sites_names_them_before_their_blocks(ledger: Ledger) -> None:
    (section,) = mail(ledger, [duty(duty=n, site=f"site-{n}") for n in range(1, 41)]).sections
    assert section.heading.startswith("40 sites: ")
    (named,) = (line for line in section.lead if line.startswith("The sites: "))
    assert all(f"Lot {n}" in named for n in range(1, 41))


def test_the_log_book_on_paper_has_words_for_states_and_leaves_files_as_they_are_named() -> None:
    digest = "0123456789ab" + "c" * 52
    told = f"state notice_served; clause elmsford-288-11a-notice; name photo_of_brook.jpg; file {digest}"
    said = "state notice served; clause elmsford-288-11a-notice; name photo_of_brook.jpg; file 0123456789ab…"
    assert log_book.shown(told) == said


def test_advice_stands_behind_what_is_owed(ledger: Ledger) -> None:
    found = mail(ledger, [changed(duty=1, advice=True), changed(duty=2)])
    assert ["advice" in section.heading for section in found.sections] == [False, True]
    assert "advice" not in found.subject
