"""From the facts of one batch to one mail: grouping into sections, subject, headers, both parts, pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, tzinfo
from decimal import Decimal
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

import msgspec
import structlog

from headwall.cases.kinds import SPILL
from headwall.clock import from_us
from headwall.codes import Codes
from headwall.errors import ConfigurationError
from headwall.law import localtime
from headwall.law.profile import Profile
from headwall.law.state_spill import state_spill
from headwall.ledger.ledger import Ledger
from headwall.notify import (
    clause_section,
    discharge_section,
    matters,
    notice_sections,
    open_section,
    outbox,
    outside_section,
    pace,
    reminder_section,
    sign_section,
    spill_section,
    wording,
)
from headwall.notify.content import Content, Picture, Section
from headwall.notify.grouping import Batch
from headwall.notify.links import Links
from headwall.notify.lookup import Lookup
from headwall.notify.render import render_html, render_text
from headwall.notify.storm_section import StormSection
from headwall.registry import Registry
from headwall.registry.model import Person
from headwall.rules.facts import (
    ClauseDuty,
    Fact,
    GaugeSilent,
    HistoricalSummary,
    InactiveSiteStorm,
    NearThreshold,
    NodeFault,
    OpenMatters,
    OutsideApproval,
    RainMissing,
    Reminder,
    SiteSign,
    SpillReported,
    StormDuty,
    SuspectedDischarge,
    from_body,
)
from headwall.settings import NotifySettings, SmtpSettings

log = structlog.get_logger("mail")

_LONGEST_SUBJECT = 180
_MOST_PICTURES = 8  # each takes a quarter of a second and 50 KB; a front over forty gauges must still go at once
#: what email.headerregistry raises for a text that is no address
_NO_ADDRESS = (ValueError, IndexError, MessageError)
#: a subject of our length on one line: folding it can put all of it on the second, where some readers keep the space
_UNFOLDED = SMTP.clone(max_line_length=900)


class Contents:
    """What mails say. It reads ledger and registry and writes nothing."""

    def __init__(
        self, notify: NotifySettings, ledger: Ledger, registry: Registry, profiles: Mapping[str, Profile]
    ) -> None:
        self._notify = notify
        self._ledger = ledger
        self._registry = registry
        self._profiles = Codes(profiles)

    def content(self, batch: Batch, reader: Person, now_us: int, link: str = "") -> Content:
        """What a mail says, before it is laid out."""
        look = Lookup(self._registry, self._profiles, self._ledger, now_us)
        rows = pace.newest(batch.rows)
        facts = [from_body(row.body) for row in rows]
        storms = [
            StormSection(look, group, reader, self._notify.public_url.rstrip("/"), self._notify.late_after_us)
            for group in _storms([fact for fact in facts if isinstance(fact, StormDuty)])
        ]
        cids = [f"hyetograph-{n}" if n <= _MOST_PICTURES else None for n in range(1, len(storms) + 1)]
        sections = [storm.build(cid) for storm, cid in zip(storms, cids, strict=True)]
        lists = [open_section.open_matters(look, fact) for fact in facts if isinstance(fact, OpenMatters)]
        again = reminder_section.reminders(look, [fact for fact in facts if isinstance(fact, Reminder)], reader)
        others = [
            _came(_notice(look, fact, reader), pace.times(batch.rows, row))
            for row, fact in sorted(zip(rows, facts, strict=True), key=lambda each: _is_advice(each[1]))
            if not isinstance(fact, StormDuty | OpenMatters | Reminder)
        ]
        notices, zone = [*again, *others], look.zone_of(facts[0])
        subject = _subject(storms, lists, notices, batch.digest, localtime.to_local(now_us, zone))
        return Content(
            subject=wording.one_line(subject)[:_LONGEST_SUBJECT],
            title=_title(storms, [*lists, *notices], batch.digest),
            greeting=f"{reader.name}:",
            sections=(*lists, *sections, *notices),
            closing=self._closing(look, facts[0], zone),
            first=state_spill().call_first if any(map(_of_spill, facts)) else (),
            link=link,
        )

    def digest_after(self, row: outbox.Waiting) -> int:
        """The first digest instant after a row was written, by the local time of what it is about."""
        look = Lookup(self._registry, self._profiles, self._ledger, row.at_us)
        try:
            zone = look.zone_of(from_body(row.body))
        except msgspec.ValidationError:
            zone = look.zone("")  # composing will say what is wrong with the row
        return localtime.next_time_us(row.at_us, time.fromisoformat(self._notify.digest_at), zone)

    def quiet_until(self, now_us: int) -> Callable[[outbox.Waiting], int]:
        """When the quiet hours end that an instant lies in, where the fact of a row happened."""
        look = Lookup(self._registry, self._profiles, self._ledger, now_us)

        def until_us(row: outbox.Waiting) -> int:
            try:
                fact = from_body(row.body)
            except msgspec.ValidationError:
                return now_us  # composing will say what is wrong with the row
            return pace.quiet_until(now_us, self._notify.quiet_of(look.municipality_of(fact)), look.zone_of(fact))

        return until_us

    def _closing(self, look: Lookup, fact: Fact, zone: tzinfo) -> tuple[str, ...]:
        municipality = getattr(fact, "municipality", None)
        profile = look.profile(municipality) if municipality else None
        disclaimer = profile.disclaimer if profile else "Gauge data, not a finding."
        return (
            f"{disclaimer} A person decides.",
            f"Times are local, {localtime.zone_name(zone)}. Nobody reads replies to this mail; everything that "
            f"Headwall knows stands at {self._notify.public_url}",
        )


class Composer(Contents):
    """Composes mails."""

    def __init__(
        self,
        smtp: SmtpSettings,
        notify: NotifySettings,
        ledger: Ledger,
        registry: Registry,
        profiles: Mapping[str, Profile],
    ) -> None:
        super().__init__(notify, ledger, registry, profiles)
        self._sender = _checked(smtp.sender)
        self._links = Links.of(notify)

    def mail(self, batch: Batch, now_us: int) -> outbox.NewMail:
        """The mail of a batch, ready to queue; one that nobody can be sent says why in `undeliverable`."""
        person = self._registry.person(batch.person)
        reader = person or Person(id="unknown", name=batch.person, email="")
        message_id = outbox.message_id(self._ledger.id, batch.person, [row.fact for row in batch.rows], self._sender)
        content = self.content(batch, reader, now_us, self._link(batch, message_id, now_us))
        undeliverable = None if person else f"the registry has no person {batch.person!r} any more: add one, with email"
        recipient = reader.email or batch.person
        try:
            eml = self._message(content, reader, message_id, now_us)
        except _NO_ADDRESS as error:
            eml, undeliverable = b"", f"address {recipient!r} cannot be used: {error}; correct it in the registry"
        return outbox.NewMail(message_id, recipient, content.subject, eml, undeliverable)

    def _link(self, batch: Batch, message_id: str, now_us: int) -> str:
        """The link of a mail about a duty or a case; "" for another, or where no key can be had: the mail goes."""
        with self._ledger.read() as conn:
            if self._links is None or not matters.of_rows(conn, batch.rows):
                return ""
        try:
            return self._links.url(message_id, now_us)
        except (OSError, ConfigurationError) as error:
            log.error("no link in this mail", reason=str(error), remedy="see notify.link_key in the settings")
            return ""

    def _message(self, content: Content, reader: Person, message_id: str, now_us: int) -> bytes:
        message = EmailMessage(policy=SMTP)
        message["From"] = Address("Headwall", addr_spec=self._sender)
        message["To"] = Address(wording.one_line(reader.name), addr_spec=reader.email) if reader.email else reader.id
        message["Subject"] = content.subject
        message["Date"] = format_datetime(from_us(now_us).replace(microsecond=0))
        message["Message-ID"] = message_id
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(render_text(content), cte="quoted-printable")
        message.add_alternative(render_html(content), subtype="html", cte="quoted-printable")
        _attach(message, content.pictures, message_id)
        return message.as_bytes(policy=_UNFOLDED)


def _checked(sender: str) -> str:
    """The sender's address; ConfigurationError for what is none, before any mail fails for it."""
    try:
        Address(addr_spec=sender)
    except _NO_ADDRESS as error:
        raise ConfigurationError(
            "settings", [f"smtp.sender {sender!r} is no address ({error}); write one such as headwall@village.example"]
        ) from error
    return sender


def _storms(duties: Sequence[StormDuty]) -> list[list[StormDuty]]:
    """Duties that can be told in one section: one gauge, one storm, one due time; soonest due first."""
    groups: dict[tuple[object, ...], list[StormDuty]] = defaultdict(list)
    for duty in duties:
        said = (duty.previous_due_us, duty.previous_depth_in, duty.trigger_gone, duty.merged_into)
        key = (duty.municipality, duty.datastream, duty.provision, duty.crossing_us, duty.due_us, *said)
        groups[key].append(duty)
    return sorted(groups.values(), key=lambda group: (group[0].due_us, group[0].duty))


def _notice(look: Lookup, fact: Fact, reader: Person) -> Section:
    match fact:
        case GaugeSilent():
            return notice_sections.gauge_silent(look, fact)
        case RainMissing():
            return notice_sections.rain_missing(look, fact)
        case NearThreshold():
            return notice_sections.near_threshold(look, fact)
        case InactiveSiteStorm():
            return notice_sections.inactive_site(look, fact)
        case SuspectedDischarge():
            return discharge_section.suspected_discharge(look, fact)
        case OutsideApproval():
            return outside_section.outside_approval(look, fact)
        case SiteSign():
            return sign_section.site_sign(look, fact)
        case NodeFault():
            return notice_sections.node_fault(look, fact)
        case HistoricalSummary():
            return notice_sections.historical(look, fact)
        case SpillReported():
            return spill_section.spill(look, fact)
        case ClauseDuty():
            return clause_section.clause_duty(look, fact, reader)
        case StormDuty() | Reminder() | OpenMatters():
            raise TypeError(f"{type(fact).__name__} is told in a section of its own")


def _of_spill(fact: Fact) -> bool:
    """Whether a fact is about a spill: then the calls come before everything else."""
    match fact:
        case SpillReported():
            return True
        case Reminder():
            return fact.case_kind == SPILL
        case OpenMatters():
            return any(case.kind == SPILL for case in fact.cases)
    return False


def _is_advice(fact: Fact) -> bool:
    """What is advice stands behind what is owed, or has happened."""
    return isinstance(fact, ClauseDuty) and fact.advice


def _came(section: Section, times: int) -> Section:
    """A notice that came and went says so, and is told once."""
    if times < 2:
        return section
    return replace(section, lead=(f"This came and went {times} times since the last digest.", *section.lead))


def _subject(
    storms: Sequence[StormSection],
    lists: Sequence[Section],
    notices: Sequence[Section],
    digest: bool,
    local: datetime,
) -> str:
    if digest:
        count = len(storms) + len(lists) + len(notices)
        first = storms[0].subject() if storms and not lists else (*lists, *notices)[0].heading
        more = f" and {count - 1} more" if count > 1 else ""
        return f"Digest {local:%b} {local.day}: {first}{more}"
    if len(storms) > 1 and not notices:
        return _storms_subject(storms)
    parts = [storms[0].subject()] if storms else [notices[0].heading]
    others = len(storms) + len(notices) - 1
    if others:
        parts.append(f"and {wording.counted(others, 'more matter')}")
    return ", ".join(parts)


def _storms_subject(storms: Sequence[StormSection]) -> str:
    """Several storms, or one at several gauges: how many places, the greatest depth, the first due time."""
    duties = [duty for storm in storms for duty in storm.duties]
    places = wording.counted(len({duty.site for duty in duties}), "site")
    deepest = max(duties, key=lambda duty: Decimal(duty.storm.depth_in)).storm.depth_in
    corrected = any(duty.previous_due_us is not None or duty.trigger_gone for duty in duties)
    text = f"{places}: up to {wording.inches(deepest)} of rain, reports due from {storms[0].due_short()} on"
    return f"Corrections: {text}" if corrected else text


def _title(storms: Sequence[StormSection], notices: Sequence[Section], digest: bool) -> str:
    headings = [*(storm.heading() for storm in storms), *(notice.heading for notice in notices)]
    if len(headings) == 1:
        return headings[0]
    return f"{'Digest: ' if digest else ''}{wording.counted(len(headings), 'matter')}"


def _attach(message: EmailMessage, pictures: Sequence[Picture], message_id: str) -> None:
    """Pictures go beside the HTML part, found by Content-ID and not listed as attachments."""
    html = message.get_body(("html",))
    assert isinstance(html, EmailMessage)
    for picture in pictures:
        html.add_related(
            picture.draw(),
            "image",
            "png",
            cid=f"<{picture.cid}>",
            filename=f"{picture.cid}.png",
            disposition="inline",
        )
    _set_boundaries(message, message_id)


def _set_boundaries(message: EmailMessage, message_id: str) -> None:
    """Boundaries from the Message-ID instead of chance, so that the same facts make the same bytes."""
    for n, part in enumerate(part for part in message.walk() if part.is_multipart()):
        part.set_boundary(f"headwall-{n}-{message_id.strip('<>').partition('@')[0]}")
