"""The part of a mail about a storm: one gauge, one storm, and every site at which it made a report due."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import tzinfo
from decimal import Decimal
from functools import partial

from headwall.law.choices import Choice
from headwall.law.localtime import day_of, short
from headwall.law.profile import CONFIDENCE_TEXT, Confidence, StormReport
from headwall.notify import gauge_rows, hyetograph, wording
from headwall.notify.content import Block, Picture, Row, Section, Tone, row
from headwall.notify.lookup import Lookup
from headwall.notify.permit_rows import permit_rows
from headwall.registry.model import Person
from headwall.rules.facts import StormDuty
from headwall.units import parse_depth

_ROLES = (("trained_contractor", "Trained contractor"), ("developer", "Developer"))
_FIRED = {
    "event": "the storm's own total",
    "rolling24h": "the total of the 24 hours before",
    "day": "the total of the calendar day",
}
_CLOCK = {"first": "From first rain", "crossing": "From depth reached", "end": "From end of storm"}
_GONE = {
    "rain": "the rain that counts no longer reaches the depth",
    "site": "the site was not active, or had another gauge, when the depth was reached",
    "merged": "its storm turned out to be one with an earlier storm",
}
_NAMED = 2  # so many sites stand in a heading by name; of more it has the number
_CAME_LATE = "This corrects an earlier mail, since data came late."
_CLOSE = "Close the duty when the report has come in (below). It stays open until a named person does."


class StormSection:
    """Composes one section. All duties share gauge, storm and due time.

    Args:
        page: where the page is; "" on the page itself.
        late_us: learned later than this after the crossing, the section says so.
    """

    def __init__(self, look: Lookup, duties: Sequence[StormDuty], reader: Person, page: str, late_us: int) -> None:
        self._look = look
        self._duties = duties
        self._reader = reader
        self._page = page
        self._late_us = late_us
        self._one = duties[0]
        self._zone: tzinfo = look.zone(self._one.municipality)
        self._provision: StormReport | None = look.storm_report(self._one.municipality, self._one.provision)

    # --- the whole ---

    def build(self, cid: str | None) -> Section:
        """The section; without a picture, but with the way to it, where `cid` is None."""
        one = self._one
        picture = self._picture(cid) if cid else None
        return Section(
            heading=self.heading(),
            tone=self._tone(),
            lead=tuple(self._lead()),
            steps=tuple(self._steps()),
            blocks=(
                *(self._site_block(duty) for duty in self._duties),
                self._rain_block(pictured=cid is not None),
                self._clock_block(),
                self._rule_block(),
                *self._companion_blocks(),
                gauge_rows.doubt_block(self._look, one.datastream, one.municipality),
            ),
            picture=picture,
            picture_after=len(self._duties) + 1,
        )

    def heading(self) -> str:
        """E.g. "Saw Mill North: inspection report due Thu Jun 11 2026, 15:42 EDT"."""
        if self._one.trigger_gone:
            return f"{self.places()}: the reason for an inspection report has changed"
        many = "s" if len(self._duties) > 1 else ""
        return f"{self.places()}: inspection report{many} {self._due_words()} {self.due()}"

    def places(self) -> str:
        if len(self._duties) > _NAMED:
            return f"{len(self._duties)} sites"
        return wording.listed([self._look.site_name(duty.site) for duty in self._duties])

    def due(self) -> str:
        return wording.full_time(self._one.due_us, self._zone)

    def due_short(self) -> str:
        return short(self._one.due_us, self._zone)

    def subject(self) -> str:
        """Place, depth and due time."""
        reports = "report" if len(self._duties) == 1 else "reports"
        due = f"{reports} {self._due_words()} {self.due_short()}"
        text = f"{self.places()}: {wording.inches(self._one.storm.depth_in)} of rain, {due}"
        if self._one.trigger_gone or self._corrected:
            return f"Correction: {text}"
        if self._overdue_when_learned:
            return f"{text} (learned {self._bare(self._one.learned_us)})"
        return text

    @property
    def duties(self) -> Sequence[StormDuty]:
        return self._duties

    # --- judgements on the facts ---

    @property
    def _overdue_when_learned(self) -> bool:
        return self._one.learned_us > self._one.due_us

    @property
    def _learned_late(self) -> bool:
        return self._overdue_when_learned or self._one.learned_us - self._one.crossing_us > self._late_us

    @property
    def _corrected(self) -> bool:
        return self._one.previous_due_us is not None

    def _due_words(self) -> str:
        return "was due" if self._one.due_us < self._look.now_us else "due"

    def _tone(self) -> Tone:
        if self._corrected or self._one.trigger_gone:
            return "change"
        return "late" if self._overdue_when_learned else "due"

    def _bare(self, instant_us: int) -> str:
        """A short time without the zone, which stands beside it."""
        return short(instant_us, self._zone).rpartition(" ")[0]

    # --- lead and steps ---

    def _lead(self) -> list[str]:
        one = self._one
        lines = gauge_rows.commissioning_lead(self._look, one.datastream)
        if one.trigger_gone:
            lines += self._gone_lead()
        if self._corrected:
            lines += self._correction_lead()
        if self._overdue_when_learned:
            lines.append(
                f"Learned {self._bare(one.learned_us)}, was due {self._bare(one.due_us)} ({self._zone_name()}): "
                "the gauge's data came late."
            )
        elif self._learned_late:
            lines.append(
                f"Learned {self._bare(one.learned_us)}, reached {self._bare(one.crossing_us)} ({self._zone_name()}): "
                f"the gauge's data came late, the clock has been running for "
                f"{wording.duration(one.learned_us - one.crossing_us)}."
            )
        doubt = gauge_rows.doubt_lead(self._look, one.datastream, one.storm)
        return [*lines, self._what_happened(), *self._sites(), *doubt, *self._closed_lead()]

    def _sites(self) -> list[str]:
        """Which sites, where the heading only counts them."""
        if len(self._duties) <= _NAMED:
            return []
        return [f"The sites: {wording.listed([self._look.site_name(duty.site) for duty in self._duties])}."]

    def _zone_name(self) -> str:
        return short(self._one.due_us, self._zone).rpartition(" ")[2]

    def _what_happened(self) -> str:
        one = self._one
        depth = wording.depth(one.storm.depth_in, one.storm.depth_mm)
        fell, over = ("fell", "; the storm is over") if one.storm.ended else ("has fallen so far", "")
        by, reached = wording.first_upper(_FIRED.get(one.fired_by, one.fired_by)), short(one.crossing_us, self._zone)
        judged = "had been judged to reach" if one.trigger_gone else "reached"
        return f"{depth} of rain {fell} at {self._where()}{over}. {by} {judged} {self._trigger_text()} on {reached}."

    def _where(self) -> str:
        """Whose rain it is, in a few words; what each gave stands under What fell."""
        one = self._one
        gauges = "the site's gauges" if one.storm.parts else f"the gauge “{self._look.gauge_place(one.datastream)}”"
        by_hand = sum(Decimal(each.depth_in) for each in one.storm.by_hand)
        people = wording.listed(list(dict.fromkeys(each.by for each in one.storm.by_hand)))
        return gauges + (f", {wording.inches(str(by_hand))} of it snow water entered by {people}" if people else "")

    def _trigger_text(self) -> str:
        if self._provision is None:
            return "the depth that the code asks about"
        depth = parse_depth(self._provision.storm_on(day_of(self._one.crossing_us, self._zone)).depth)
        return wording.depth(depth.text_in, depth.text_mm)

    def _gone_lead(self) -> list[str]:
        one = self._one
        why = _GONE.get(one.trigger_gone, one.trigger_gone)
        into = f" (now duty {one.merged_into})" if one.merged_into is not None else ""
        what = f"Changed by an entry ({one.because})" if one.because else "Late data changed this"
        return [f"{what}: {why}{into}. The duty stays open until a named person closes it: your decision."]

    def _correction_lead(self) -> list[str]:
        one = self._one
        assert one.previous_due_us is not None
        lines = [f"This corrects an earlier mail. What changed: {one.because}." if one.because else _CAME_LATE]
        if one.previous_due_us != one.due_us:
            lines.append(f"Due: was {wording.full_time(one.previous_due_us, self._zone)}; now {self.due()}.")
        if one.previous_depth_in is not None:
            now = wording.inches(one.storm.depth_in)
            lines.append(f"Depth: was {wording.inches(one.previous_depth_in)}; now {now}.")
        return lines

    def _closed_lead(self) -> list[str]:
        lines = []
        for duty in self._duties:
            closed = self._look.closed(duty.duty)
            if closed is not None:
                state, name, at_us = closed
                how = "recorded as received" if state == "received" else f"closed ({state.replace('_', ' ')})"
                site = self._look.site_name(duty.site)
                lines.append(f"{site}: {how} by {name} on {short(at_us, self._zone)}.")
        return lines

    def _steps(self) -> list[str]:
        if self._one.trigger_gone:
            return ["Look at what the gauge shows now, and decide whether the report is still to be made.", _CLOSE]
        if not self._look.accepted(self._one.datastream):
            return self._commissioning_steps()
        asked = wording.listed(self._to_call(), "or") or "the developer or the trained contractor (see the site's file)"
        report = "the inspection report" if len(self._duties) == 1 else "the inspection reports, one a site"
        steps = [f"Call {asked} and ask for {report}; {self._due_words()} {self.due_short()}."]
        if self._provision is not None:
            contains = wording.listed(self._provision.report_contains)
            it = "It" if len(self._duties) == 1 else "Each"
            steps.append(f"{it} has to contain {contains}.")
            to, copies = self._provision.owed_to, wording.listed(self._provision.copied_to)
            goes = [f"goes to {to}"] * bool(to) + [f"is copied to {copies}"] * bool(copies)
            steps += [f"{it} {' and '.join(goes)}."] if goes else []
        return [*steps, _CLOSE]

    def _commissioning_steps(self) -> list[str]:
        officers = self._look.registry.officers(self._one.municipality, self._one.crossing_us)
        officer = wording.listed([wording.called(each) for each in officers], "or") or "the officer"
        return [
            "Check whether this rain is real: a neighbouring gauge, a known volume through the funnel.",
            f"If it is, tell {officer} by other means: nobody else has been told, and the clock runs all the same.",
            "Have the gauge accepted when it can be relied on (command above).",
        ]

    def _to_call(self) -> list[str]:
        found = {
            person.id: wording.called(person)
            for role, _ in _ROLES
            for duty in self._duties
            for person in self._look.people(duty.site, role, duty.crossing_us)
        }
        return list(found.values()) if len(found) <= 4 else ["those who owe it (phones below)"]

    # --- blocks ---

    def _site_block(self, duty: StormDuty) -> Block:
        look, by = self._look, shlex.quote(self._reader.name)
        site = look.registry.site(duty.site)
        gauges = look.registry.gauges_of_site(duty.site, duty.crossing_us) if site else []
        far = next((each.distance_m for each in gauges if each.datastream == duty.datastream), None)
        rows = [
            row("Site", look.site_name(duty.site), site.place if site else "not in the registry"),
            row("Permit and status", self._permit(duty)),
            *(self._people_row(duty, role, label) for role, label in _ROLES),
            row("Owed to", *self._owed_to()),
            row("Due", self.due()),
            row("From gauge to site", "unknown" if far is None else wording.distance(far)),
            row(
                "Report has come in",
                f"headwall duty received {duty.duty} --by {by}",
            ),
            row(
                "You decide otherwise",
                f"headwall duty not-needed {duty.duty} --by {by} --reason TEXT",
            ),
            *([row("See it", f"{self._page}/duties/{duty.duty}")] if self._page else []),
            row("Reference", f"duty {duty.duty}, version {duty.version}, ledger {look.ledger.id}"),
        ]
        return Block(f"Who owes it: {look.site_name(duty.site)}", tuple(rows))

    def _permit(self, duty: StormDuty) -> str:
        site = self._look.registry.site(duty.site)
        if site is None:
            return "not in the registry"
        status = self._look.registry.status_of(duty.site, duty.crossing_us)
        if status is None:
            return f"{site.permit or 'no permit number'}; no status for that time"
        known = f"{status.status.replace('_', ' ')} since {status.valid_from:%Y-%m-%d}, said {status.by}"
        return f"{site.permit or 'no permit number'}; {known}"

    def _people_row(self, duty: StormDuty, role: str, label: str) -> Row:
        people = self._look.people(duty.site, role, duty.crossing_us)
        lines = [line for person in people for line in wording.contact(person)]
        return Row(label, tuple(lines) or ("none in the registry for that day: look in the permit",))

    def _owed_to(self) -> tuple[str, ...]:
        profile = self._look.profile(self._one.municipality)
        office = profile.officer if profile else "the officer"
        officers = self._look.registry.officers(self._one.municipality, self._one.crossing_us)
        named = wording.listed([officer.name for officer in officers])
        return (f"{office}, {self._look.municipality_name(self._one.municipality)}", *([named] if named else []))

    def _rain_block(self, *, pictured: bool) -> Block:
        one, look, zone = self._one, self._look, self._zone
        until_us = one.storm.end_us if one.storm.ended else look.now_us
        rows = [
            *gauge_rows.storm_rows(look, one.datastream, one.storm, self._provision, zone),
            row(
                "Depth reached",
                f"{self._trigger_text()} on {wording.full_time(one.crossing_us, zone)}",
                f"by {_FIRED.get(one.fired_by, one.fired_by)}",
            ),
            *gauge_rows.gauge_rows(look, one.datastream, one.crossing_us),
            gauge_rows.gap_row(look, one, until_us, zone),
        ]
        if not pictured:
            rows.append(row("Hyetograph", f"{self._page}/duties/{one.duty}"))
        return Block("What fell", tuple(rows))

    def _clock_block(self) -> Block:
        clocks, zone = self._one.clocks, self._zone
        instants = {"first": clocks.first_due_us, "crossing": clocks.crossing_due_us, "end": clocks.end_due_us}
        rows = [
            row(
                _CLOCK[clock],
                ("not known while the storm goes on" if at_us is None else wording.full_time(at_us, zone))
                + (" (taken here)" if clock == clocks.chosen else ""),
            )
            for clock, at_us in instants.items()
        ]
        doubts = self._provision.ambiguities if self._provision else []
        if doubts:
            rows.append(Row("Left open by the code", tuple(doubts)))
        rows.append(row("Which reading applies", *self._choice_lines()))
        return Block("The clock: due, by where it starts", tuple(rows))

    def _choice_lines(self) -> tuple[str, ...]:
        ask = "The municipality's counsel may be asked which reading applies."
        made = self._provision.choices_on(day_of(self._one.crossing_us, self._zone)) if self._provision else []
        if not made:
            return "The code does not say; the cautious default is taken here.", ask
        return (*(_chosen(each) for each in made), ask)

    def _rule_block(self) -> Block:
        rule = self._provision
        if rule is None:
            return Block("The rule", (row("Provision", f"{self._one.provision}, not in the profile any more"),))
        profile = self._look.profile(self._one.municipality)
        cited = profile.cited(rule) if profile else rule.citation
        return Block(
            "The rule",
            (
                row("Citation", cited, f"({rule.confidence_text})"),
                row("What it asks", rule.requirement),
                row("Owed by", rule.owed_by),
                row("In force", f"since {': '.join(filter(None, (rule.valid_from.isoformat(), rule.enacted_by)))}"),
            ),
        )

    def _companion_blocks(self) -> list[Block]:
        if self._provision is None:
            return []
        others = self._provision.companions
        rows = [row(each.citation, each.text, *self._mark_beside_rule(each.confidence)) for each in others]
        rows += permit_rows(self._look, self._one.municipality, self._one.site, self._one.crossing_us)
        return [Block("Also due there", tuple(rows))] if rows else []

    def _mark_beside_rule(self, mark: Confidence) -> list[str]:
        """How sure another citation is, where that differs from the rule's, which stands right above."""
        same = self._provision is not None and mark == self._provision.confidence
        return [] if same else [f"({CONFIDENCE_TEXT[mark]})"]

    # --- picture ---

    def _picture(self, cid: str) -> Picture | None:
        """The hyetograph; None where the gauge is not a tipping bucket or nothing valid is on record for the storm."""
        rain = self._look.rain(self._one)
        if rain is None or self._provision is None:
            return None
        place = self._look.gauge_place(self._one.datastream)
        drawn = hyetograph.of_storm(self._one, rain, self._provision, place, self._zone, self._look.now_us)
        return Picture(cid, partial(hyetograph.draw, drawn), hyetograph.in_words(drawn, self._one.storm))


def _chosen(choice: Choice) -> str:
    reason = f": {choice.reason}" if choice.reason else ""
    value = f"“{choice.value}” for {choice.key}"
    return f"{value} was chosen by {choice.by}, from {choice.valid_from.isoformat()} on{reason}."
