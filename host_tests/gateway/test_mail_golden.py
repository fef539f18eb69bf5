"""Whole mails compared with golden texts. HEADWALL_UPDATE_GOLDEN=1 writes them anew: then read the difference."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from headwall.errors import ConfigurationError
from headwall.hydrology.rain_doubt import Suspicion
from headwall.ledger.ledger import Ledger
from headwall.notify import outbox
from headwall.notify.compose import Composer
from headwall.notify.grouping import Batch
from headwall.registry.model import Person
from headwall.rules import duties
from headwall.rules.facts import (
    Clocks,
    Disagreement,
    Fact,
    Gap,
    GaugePart,
    GaugeSilent,
    HandRain,
    HistoricalSummary,
    InactiveSiteStorm,
    NearThreshold,
    NodeFault,
    OpenCase,
    OpenDuty,
    OpenMatters,
    OutsideApproval,
    RainMissing,
    Reminder,
    SiteSign,
    SuspectedDischarge,
    to_body,
)
from headwall.settings import NotifySettings, SmtpSettings
from support.mail_facts import (
    CROSSING_US,
    GAUGE,
    HOUR_US,
    MINUTE_US,
    SITES,
    add_tips,
    at,
    duty,
    open_duty,
    open_ledger,
    profiles,
    registry,
    site,
    storm,
    storm_tips,
    tell,
)
from support.plain_words import raw_in_mail

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("HEADWALL_UPDATE_GOLDEN") == "1"
RULE = "elmsford-288-8a2-storm"
#: what no text of headwall may ever say, in any wording that comes to mind
FORBIDDEN = re.compile(
    r"\bno\s+(?:site\s+)?(?:inspections?|reports?|duty|duties|action)\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:needed|required|necessary|due|owed)"
    r"|\bneed(?:s)?\s+not\s+(?:be\s+)?inspect|\bnot\s+need(?:ed)?\s+to\s+inspect|\bnothing\s+to\s+do\b"
    r"|\ball\s+clear\b|\bwithout\s+inspection\b|\bdid\s+not\s+rain\b|\bno\s+rain\s+fell\b|\bit\s+was\s+dry\b",
    re.IGNORECASE,
)

_OVER = storm(63, ended=True)
_OTHER = "gauge-b/rain.tips"
#: over its first half the primary was off for the winter; the rest may be snow
_HALVES = [
    GaugePart(_OTHER, "backup", _OVER.start_us, _OVER.start_us + HOUR_US, "5.08", "0.2"),
    GaugePart(GAUGE, "primary", _OVER.start_us + 2 * HOUR_US, _OVER.end_us, "8.382", "0.33"),
]
_WINTER = msgspec.structs.replace(
    _OVER,
    corrected_mm="16.5",
    corrected_in="0.65",
    corrected_at_least=True,
    parts=_HALVES,
    by_hand=[HandRain(12, "Ruth Adler", GAUGE, at("06-10 12:00"), at("06-10 15:00"), "2.54", "0.1")],
    disagreement=[Disagreement(GAUGE, _OTHER, "8.382", "0.33", "2.032", "0.08")],
)
_GAP = Gap(at("06-10 15:50"), at("06-10 16:31"))
_ENDED_CLOCKS = Clocks(
    CROSSING_US + 24 * HOUR_US, _OVER.start_us + 24 * HOUR_US, _OVER.end_us + 24 * HOUR_US, "crossing"
)

#: name -> (when it is written, to whom, digest, facts)
REMINDER = Reminder(
    stage="before",
    municipality="elmsford",
    site="site-1",
    provision="elmsford-288-8a2-storm",
    asks="inspection report after the storm of Jun 10 12:59 EDT",
    owed_by="",
    due_us=at("06-11 15:42"),
    duty=1,
)
HEARING = ("hear the appeal", at("06-20 16:30"))
OPEN = OpenMatters(
    municipality="elmsford",
    at_us=at("06-12 06:59"),
    soon_us=at("06-15 06:59"),
    overdue=[
        OpenDuty(1, "site-1", REMINDER.provision, REMINDER.asks, "", REMINDER.due_us, ["Ruth Adler"]),
        OpenDuty(
            2, "site-3", REMINDER.provision, "send the report of the week", "Voss Building Corp.", at("06-11 15:40")
        ),
    ],
    soon=[OpenDuty(9, "site-4", "x", "renew the training of the contractor", "Ferrer Site Work", at("06-14 23:59"))],
    cases=[
        OpenCase(3, "suspected_discharge", "site-2", "suspected", at("06-09 10:00")),
        OpenCase(4, "suspected_discharge", "site-2", "appealed", at("05-09 10:00"), *HEARING, ["Fay"]),
    ],
    overdue_count=12,
    soon_count=1,
    case_count=2,
    later_count=31,
)

CASES: dict[str, tuple[int, str, bool, list[Fact]]] = {
    "duty": (CROSSING_US + 5_000_000, "ruth-adler", False, [duty()]),
    "learned_late_before_due": (
        at("06-11 08:10"),
        "ruth-adler",
        False,
        [duty(storm=_OVER, clocks=_ENDED_CLOCKS, learned_us=at("06-11 08:10"), gaps=[_GAP])],
    ),
    "learned_after_due": (
        at("06-12 09:00"),
        "ruth-adler",
        False,
        [duty(storm=_OVER, clocks=_ENDED_CLOCKS, learned_us=at("06-12 09:00"), fired_by="rolling24h")],
    ),
    "correction": (
        at("06-11 08:10"),
        "ruth-adler",
        False,
        [
            duty(
                version=2,
                storm=_OVER,
                clocks=Clocks(at("06-11 15:12"), _ENDED_CLOCKS.first_due_us, _ENDED_CLOCKS.end_due_us, "crossing"),
                crossing_us=at("06-10 15:12"),
                due_us=at("06-11 15:12"),
                previous_due_us=CROSSING_US + 24 * HOUR_US,
                previous_depth_in="0.5",
            )
        ],
    ),
    "trigger_gone": (
        at("06-11 08:10"),
        "ruth-adler",
        False,
        [
            duty(
                version=3,
                storm=storm(48, ended=True),
                clocks=_ENDED_CLOCKS,
                previous_due_us=CROSSING_US + 24 * HOUR_US,
                previous_depth_in="0.5",
                trigger_gone="rain",
            )
        ],
    ),
    "two_sites": (
        CROSSING_US + 5_000_000,
        "ruth-adler",
        False,
        [duty(), duty(duty=2, site="site-3")],
    ),
    "commissioning": (
        CROSSING_US + 5_000_000,
        "sam-okafor",
        False,
        [duty(datastream="gauge-c/rain.tips", site="site-4")],
    ),
    "digest": (
        at("06-11 07:00"),
        "ruth-adler",
        True,
        [
            NearThreshold("elmsford", "site-2", RULE, "gauge-b/rain.tips", storm(49, ended=True), "0.5"),
            InactiveSiteStorm("elmsford", "site-1", RULE, GAUGE, _OVER, CROSSING_US, "shut_down", [_GAP]),
        ],
    ),
    "parts_and_hand": (
        at("06-11 08:10"),
        "ruth-adler",
        False,
        [
            duty(
                version=2,
                storm=_WINTER,
                clocks=_ENDED_CLOCKS,
                gaps=[Gap(_OVER.start_us, at("06-10 15:00"), "off: no heater; maintenance by Sam Okafor"), _GAP],
                previous_due_us=CROSSING_US + 23 * HOUR_US,
                previous_depth_in="0.51",
                because="calibration of 2026-06-10 by Sam Okafor",
            )
        ],
    ),
    "near_by_correction": (
        at("06-11 07:00"),
        "ruth-adler",
        True,
        [
            NearThreshold(
                "elmsford",
                "site-2",
                RULE,
                _OTHER,
                msgspec.structs.replace(storm(48, ended=True), corrected_mm="12.9", corrected_in="0.507"),
                "0.5",
                by_correction=True,
            )
        ],
    ),
    "rain_missing": (
        at("06-11 07:00"),
        "ruth-adler",
        True,
        [
            RainMissing(
                "elmsford",
                ["site-2"],
                _OTHER,
                [
                    Suspicion("neighbours_have_rain", _OVER.start_us, at("06-10 17:00"), {f"{GAUGE}_mm": 16.002}),
                    Suspicion("level_rises", at("06-10 11:00"), at("06-10 17:00"), {"rise_m": 0.24, "at": "site-1"}),
                ],
                at("06-10 17:05"),
            )
        ],
    ),
    "suspected_discharge": (
        at("06-10 16:50"),
        "ruth-adler",
        False,
        [
            SuspectedDischarge(
                municipality="elmsford",
                site="site-2",
                datastream="outfall-7/stage.level",
                start_us=at("06-10 10:00"),
                end_us=at("06-10 16:00"),
                ongoing=True,
                likeness="flushing",
                confidence=0.86,
                evidence={
                    "hours_dry": 112,
                    "hours_dry_known": "yes",
                    "rain_unknown_hours": 0.0,
                    "flow_m3_s": 0.0141,
                    "high_m3_s": 0.0146,
                    "base_m3_s": 0.00204,
                    "noise_m3_s": 0.00003,
                    "night_over_mean": 0.98,
                    "temperature_c": 11.2,
                    "conductivity_s_m": 0.0312,
                    "turbidity_ntu": 8.0,
                    "warmer_c": -0.9,
                    "backwater_hours": 0.0,
                    "signs": "pulse",
                    "suspected_h": 6,
                    "rain_in_72_h_mm": 0.508,
                },
            )
        ],
    ),
    "site_sign": (
        at("06-10 16:50"),
        "ruth-adler",
        False,
        [
            SiteSign(
                municipality="elmsford",
                site="site-2",
                what="turbidity",
                datastream="brook/below.turbidity",
                start_us=at("06-10 10:00"),
                end_us=at("06-10 16:00"),
                ongoing=True,
                evidence={"added_ntu": 82.0, "officers_limit_ntu": 50.0, "dwell_min": 15},
                case="turbidity",
                provision="elmsford-288-7b-turbidity",
                present=True,
            )
        ],
    ),
    "outside_approval": (
        at("06-10 16:50"),
        "ruth-adler",
        False,
        [
            OutsideApproval(
                municipality="elmsford",
                site="site-2",
                datastream="outfall-7/stage.level",
                start_us=at("06-10 10:00"),
                end_us=at("06-10 16:00"),
                ongoing=True,
                likeness="",
                confidence=1.0,
                evidence={"flow_h": 6, "rain_driven_h": 2, "high_m3_s": 0.0146},
                why="terminated",
                provision="elmsford-288-21b-termination",
                reference="letter of June 4",
            )
        ],
    ),
    "gauge_silent": (
        at("06-10 16:50"),
        "ruth-adler",
        False,
        [GaugeSilent("elmsford", ["site-1", "site-3"], GAUGE, at("06-10 15:50"), at("06-10 16:50"), 60)],
    ),
    "node_fault": (
        at("06-11 07:00"),
        "sam-okafor",
        False,
        [
            NodeFault(
                "gauge-a",
                "identity_conflict",
                "Number 17 of journal 0123456789abcdef came twice with different content: the first stays.",
                at("06-11 06:58"),
            )
        ],
    ),
    "reminder": (
        at("06-11 11:42"),
        "ruth-adler",
        False,
        [REMINDER],
    ),
    "overdue": (
        at("06-11 15:42"),
        "ruth-adler",
        False,
        [
            msgspec.structs.replace(REMINDER, stage="overdue"),
            msgspec.structs.replace(REMINDER, stage="overdue", duty=2, site="site-3", due_us=at("06-11 15:40")),
            msgspec.structs.replace(
                REMINDER,
                duty=4,
                site="site-4",
                due_us=at("06-11 19:00"),
                answer="headwall record report site-4 --by NAME",
            ),
        ],
    ),
    "escalated": (
        at("06-12 15:42"),
        "sam-okafor",
        False,
        [
            msgspec.structs.replace(REMINDER, stage="escalated", told=["Ruth Adler"]),
            Reminder(
                stage="escalated",
                municipality="elmsford",
                site="site-2",
                provision="elmsford-288-28-appeal",
                asks="hear: within 15 days of the receipt of the appeal",
                owed_by="the municipality",
                due_us=at("06-11 16:30"),
                case=3,
                told=["Ruth Adler"],
            ),
        ],
    ),
    "daily_list": (
        at("06-12 07:00"),
        "ruth-adler",
        True,
        [OPEN, GaugeSilent("elmsford", [], GAUGE, at("06-11 22:10"), at("06-11 23:10"), 60)],
    ),
    "import": (
        at("06-11 07:00"),
        "ruth-adler",
        False,
        [HistoricalSummary(GAUGE, "rain-2026.csv", [duty(duty=7), duty(duty=8, site="site-3")])],
    ),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    ledger = open_ledger(tmp_path_factory.mktemp("golden"))
    add_tips(ledger, storm_tips(63))
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def compose_anew(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], EmailMessage]:
    others = [site(3, "Winthrop Garages", "8 Winthrop Avenue"), site(4, "Yard", "Village yard", "gauge-c/rain.tips")]
    sites = [*SITES, *others]
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    key = tmp_path_factory.mktemp("key") / "link.key"
    key.write_text("5a" * 32)
    composer = Composer(smtp, NotifySettings(link_key=key), ledger, registry(sites), profiles())

    def compose(name: str) -> EmailMessage:
        now_us, person, digest, facts = CASES[name]
        rows = tuple(
            outbox.Waiting(n, f"{name}/{n}", person, "now", to_body(fact), now_us) for n, fact in enumerate(facts)
        )
        mail = composer.mail(Batch(person, digest, rows), now_us)
        assert mail.undeliverable is None
        message = message_from_bytes(mail.eml, policy=policy.default)
        assert isinstance(message, EmailMessage)
        return message

    return compose


@pytest.fixture(scope="module")
def compose(compose_anew: Callable[[str], EmailMessage]) -> Callable[[str], EmailMessage]:
    """The mail of a case, drawn and laid out once."""
    return cache(compose_anew)


def part(message: EmailMessage, kind: str) -> str:
    found = message.get_body((kind,))
    assert isinstance(found, EmailMessage)
    return str(found.get_content()).replace("\r\n", "\n")


@pytest.mark.parametrize("name", CASES)
def test_mail_is_the_golden_one(compose: Callable[[str], EmailMessage], name: str) -> None:
    message = compose(name)
    head = "".join(f"{key}: {message[key]}\n" for key in ("From", "To", "Subject", "Date", "Message-ID"))
    texts = {"txt": f"{head}\n{part(message, 'plain')}", "html": part(message, "html")}
    for kind, text in texts.items():
        golden = GOLDEN / f"{name}.{kind}"
        if UPDATE:
            GOLDEN.mkdir(exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8"), f"{golden.name} differs; see the head of this file"


@pytest.mark.parametrize("name", CASES)
def test_mail_shows_nothing_that_is_for_programs(compose: Callable[[str], EmailMessage], name: str) -> None:
    assert raw_in_mail(compose(name).as_bytes()) == []


@pytest.mark.parametrize("name", CASES)
def test_text_part_is_wrapped_and_tells_all_that_the_html_tells(
    compose: Callable[[str], EmailMessage], name: str
) -> None:
    message = compose(name)
    text, html = part(message, "plain"), part(message, "html")
    assert max(len(line) for line in text.splitlines()) <= 78
    words = {word.strip("[]") for word in text.split()}
    missing = [word for word in _visible_words(html) if word not in words]
    assert missing == []


@pytest.mark.parametrize("name", ["duty", "digest"])
def test_same_facts_make_the_same_bytes(
    compose: Callable[[str], EmailMessage], compose_anew: Callable[[str], EmailMessage], name: str
) -> None:
    assert compose(name).as_bytes() == compose_anew(name).as_bytes()


def test_duty_mail_says_everything_that_the_officer_needs(compose: Callable[[str], EmailMessage]) -> None:
    message = compose("duty")
    for text in (" ".join(part(message, "plain").split()), _visible_text(part(message, "html"))):
        for wanted in (
            "Luis Ferrer", "914-555-0152", "Dana Voss", "914-555-0141", "Stormwater Management Officer",
            "Thu Jun 11 2026, 15:42 EDT", "0.50 in (12.7 mm)", "Wed Jun 10 2026, 12:59 EDT", "Still raining", "yes",
            "0.40 in/h (10.2 mm/h)", "pole at the north gate, Saw Mill Road", "40 m (131 ft)",
            "2026-03-10 by Sam Okafor", "none known between", "From first rain", "Thu Jun 11 2026, 12:59 EDT",
            "counsel may be asked",
            "§ 288-8A(2)", "section number inferred by counting sections", "every seven days", "What to do now",
            "headwall duty received 1 --by 'Ruth Adler'", "http://127.0.0.1:8080/duties/1", "not a finding",
            "If something looks wrong", "914-555-0130", "SW-2026-001", "duty 1, version 1, ledger 00c0ffee00c0ffee",
        ):  # fmt: skip
            assert wanted in text, wanted
    assert message["Subject"] == "Saw Mill North: 0.50 in of rain, report due Jun 11 15:42 EDT"


def test_learned_late_is_said_with_both_times(compose: Callable[[str], EmailMessage]) -> None:
    assert "Learned Jun 12 09:00, was due Jun 11 15:42 (EDT)" in part(compose("learned_after_due"), "plain")
    assert "Learned Jun 11 08:10, reached Jun 10 15:42 (EDT)" in part(compose("learned_late_before_due"), "plain")


def test_correction_shows_old_and_new(compose: Callable[[str], EmailMessage]) -> None:
    text = " ".join(part(compose("correction"), "plain").split())
    assert "Due: was Thu Jun 11 2026, 15:42 EDT; now Thu Jun 11 2026, 15:12 EDT." in text
    assert "Depth: was 0.50 in; now 0.63 in." in text


def test_headers_and_picture_are_as_mail_programs_expect(compose: Callable[[str], EmailMessage]) -> None:
    message = compose("duty")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"] == "Wed, 10 Jun 2026 19:42:05 +0000"
    assert str(message["Message-ID"]).endswith("@village.example>")
    (picture,) = [each for each in message.walk() if each.get_content_type() == "image/png"]
    assert picture["Content-ID"] == "<hyetograph-1>"
    assert picture.get_content_disposition() == "inline"
    assert picture.get_content().startswith(b"\x89PNG")
    assert 'src="cid:hyetograph-1"' in part(message, "html")
    assert re.search(r'alt="Hyetograph: rain by 15 min and its running total, 0\.50 in', part(message, "html"))


@pytest.mark.parametrize("name", CASES)
def test_lines_on_the_wire_keep_the_limits_of_mail(compose: Callable[[str], EmailMessage], name: str) -> None:
    head, _, body = compose(name).as_bytes().partition(b"\n\n")
    assert max(len(line) for line in body.splitlines()) <= 78
    assert max(len(line) for line in head.splitlines()) <= 998
    assert compose(name)["Subject"] == str(compose(name)["Subject"]).strip()


def test_names_and_reasons_cannot_break_out(ledger: Ledger) -> None:
    attack = "<img src=x onerror=alert(1)>\r\nBcc: all@village.example"
    sites = [dict(SITES[0], name=attack)]
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    composer = Composer(smtp, NotifySettings(), ledger, registry(sites), profiles())
    row = outbox.Waiting(1, "duty/1/1", "ruth-adler", "now", to_body(duty()), CROSSING_US)
    mail = composer.mail(Batch("ruth-adler", False, (row,)), CROSSING_US + MINUTE_US)
    message = message_from_bytes(mail.eml, policy=policy.default)
    assert isinstance(message, EmailMessage)
    assert message["Bcc"] is None
    assert "<img src=x" not in part(message, "html")


@pytest.mark.parametrize("address", ["smo at village\r\nBcc: all@village.example", "a@b@c", "smo", "@", " "])
def test_address_that_is_none_makes_a_failed_mail(ledger: Ledger, address: str) -> None:
    people = [{"id": "ruth-adler", "name": "Ruth Adler", "email": address}]
    people += [
        {"id": each, "name": each, "email": "x@x.example"} for each in ("sam-okafor", "dana-voss", "luis-ferrer")
    ]
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    composer = Composer(smtp, NotifySettings(), ledger, registry(people=people), profiles())
    row = outbox.Waiting(1, "duty/1/1", "ruth-adler", "now", to_body(duty()), CROSSING_US)
    mail = composer.mail(Batch("ruth-adler", False, (row,)), CROSSING_US)
    assert "correct it in the registry" in (mail.undeliverable or "")


@pytest.mark.parametrize("sender", ["Headwall <headwall@village.example>", "headwall", "", "a@b@c", "x@y\r\nBcc: z@z"])
def test_sender_that_is_no_address_is_a_fault_of_the_settings(ledger: Ledger, sender: str) -> None:
    with pytest.raises(ConfigurationError, match=r"smtp\.sender"):
        Composer(SmtpSettings(host="x", sender=sender), NotifySettings(), ledger, registry(), profiles())


def test_front_over_many_gauges_is_one_mail_with_a_bound_of_pictures(ledger: Ledger) -> None:
    composer = Composer(
        SmtpSettings(host="x", sender="headwall@village.example"), NotifySettings(), ledger, registry(), profiles()
    )
    facts = [duty(duty=n, site=f"lot-{n}", due_us=CROSSING_US + 24 * HOUR_US + n) for n in range(1, 11)]
    rows = tuple(
        outbox.Waiting(n, f"duty/{n}/1", "ruth-adler", "now", to_body(fact), CROSSING_US)
        for n, fact in enumerate(facts)
    )
    reader = Person(id="ruth-adler", name="Ruth Adler", email="smo@village.example")
    content = composer.content(Batch("ruth-adler", False, rows), reader, CROSSING_US)
    assert content.subject == "10 sites: up to 0.50 in of rain, reports due from Jun 11 15:42 EDT on"
    assert len(content.pictures) == 8
    ways = [row.lines for section in content.sections for block in section.blocks for row in block.rows]
    assert ways.count(("http://127.0.0.1:8080/duties/10",)) == 2  # in its own row, and for the picture left out


def test_message_id_follows_facts_person_and_ledger() -> None:
    one = outbox.message_id("ledger", "ruth", ["duty/1/1", "duty/2/1"], "headwall@village.example")
    assert one == outbox.message_id("ledger", "ruth", ["duty/2/1", "duty/1/1"], "headwall@village.example")
    others = [
        outbox.message_id("ledger", "sam", ["duty/1/1", "duty/2/1"], "headwall@village.example"),
        outbox.message_id("other", "ruth", ["duty/1/1", "duty/2/1"], "headwall@village.example"),
        outbox.message_id("ledger", "ruth", ["duty/1/2", "duty/2/1"], "headwall@village.example"),
    ]
    assert len({one, *others}) == 4


def test_closed_in_the_meantime_is_said(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    told = open_duty(ledger, duty())
    with ledger.begin() as conn:
        closed_us = at("06-11 09:00")
        duties.close_duty(conn, told.duty, "received", by="Ruth Adler", at_us=closed_us, now_us=closed_us)
    tell(ledger, "duty/1/1", told, CROSSING_US)
    smtp = SmtpSettings(host="mail.example", sender="headwall@village.example")
    composer = Composer(smtp, NotifySettings(), ledger, registry(), profiles())
    with ledger.read() as conn:
        rows = tuple(outbox.waiting(conn))
    reader = Person(id="ruth-adler", name="Ruth Adler", email="smo@village.example")
    content = composer.content(Batch("ruth-adler", False, rows), reader, at("06-11 09:30"))
    ledger.close()
    assert content.sections[0].lead[-1] == "Saw Mill North: recorded as received by Ruth Adler on Jun 11 09:00 EDT."


def test_nothing_ever_says_that_an_inspection_can_be_left_out(compose: Callable[[str], EmailMessage]) -> None:
    gateway = Path(__file__).parents[2] / "gateway" / "headwall"
    sources = [*gateway.rglob("*.py"), *gateway.rglob("*.j2"), *gateway.rglob("*.toml"), *GOLDEN.iterdir()]
    said = {str(path): path.read_text(encoding="utf-8") for path in sources}
    for name in CASES:
        message = compose(name)
        said[f"mail {name}"] = part(message, "plain") + _visible_text(part(message, "html"))
    assert len(said) > 40
    found = {where: match[0] for where, text in said.items() if (match := FORBIDDEN.search(text))}
    assert found == {}


@pytest.mark.parametrize(
    "text", ["No inspection is needed.", "no report due", "It was dry.", "All clear", "you need not inspect"]
)
def test_the_search_for_such_words_finds_them(text: str) -> None:
    assert FORBIDDEN.search(text)


class _Visible(HTMLParser):
    """The text of a page without its head."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("head", "style")
        if tag == "img":
            self.words += (dict(attrs).get("alt") or "").split()

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("head", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words += data.split()


def _visible_words(html: str) -> list[str]:
    """Words as one sees them; tags within a word (a link and the comma after it) do not cut it."""
    parser = _Visible()
    parser.feed(re.sub(r"</?(?:a|code|span)\b[^>]*>", "", html))
    return parser.words


def _visible_text(html: str) -> str:
    return " ".join(_visible_words(html))
