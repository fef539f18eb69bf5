"""Steps of projects and premises that are records: what one step asks for until another answers it.

A gate is a step before which another has to stand; where it did not, the missing one is asked for. Guarantees and
projects that rest have clocks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.law.provisions import AsBuilt
from headwall.ledger.entries import Entry, Milestone
from headwall.rules.clauses.construction import owing, who
from headwall.rules.clauses.expected import Done, Expected, recorded
from headwall.rules.clauses.look import FOREVER_US, Look

#: kind of provision → steps that it looks for, with what they say
STEPS: Final[dict[str, dict[str, str]]] = {
    "plan_before_review": {
        "plan_received": "the approving authority has the plan",
        "review_began": "the review of an application began",
    },
    "easement": {
        "easement_recorded": "easement and maintenance agreement are recorded",
        "easement_not_needed": "none is needed, with the reason as reference",
        "approved": "the project was approved",
    },
    "as_built": {
        "built": "final construction is over",
        "as_built": "as-built plans were handed in",
        "practices_inspected": "the officer inspected the practices",
    },
    "occupancy": {
        "occupancy_held": "the officer prevents occupancy",
        "occupancy_released": "occupancy is allowed again",
        "restoration_asked": "the violator was told to restore the land",
        "restored": "the land is restored",
    },
    "guarantee": {
        "accepted": "final acceptance",
        "found_acceptable": "an inspection found the facilities acceptable",
        "guarantee_released": "the guarantee was released",
    },
    "project_lapse": {
        "activity": "something was done on a project that was approved before the code",
        "conforms": "a project that rested too long conforms to the code",
    },
    "escrow": {"escrow_told": "the applicant was told in writing to restore the escrow"},
    "bmp_order": {
        "practices_ordered": "the officer ordered practices",
        "practices_in_place": "the practices are in place",
    },
    "bmp_log": {
        "log_missing": "the log of practices was asked for and not shown",
        "log_shown": "the log of practices was shown",
    },
    "compliance_records": {
        "records_asked": "records that show compliance were asked for",
        "records_shown": "records that show compliance were shown",
    },
}


@dataclass(frozen=True)
class _Pair:
    """A step that asks for another.

    Attributes:
        gate: what answers it should stand before it.
        starts: of the clause's own deadline, where it has one of that start.
    """

    asked: str
    answers: tuple[str, ...]
    asks: str
    gate: bool = False
    starts: Start | None = None


_PAIRS: Final[dict[str, _Pair]] = {
    "plan_before_review": _Pair("review_began", ("plan_received",), "Get the plan: the review waits for it", gate=True),
    "easement": _Pair(
        "approved",
        ("easement_recorded", "easement_not_needed"),
        "Have easement and maintenance agreement recorded: they come before approval",
        gate=True,
    ),
    "as_built": _Pair("built", ("as_built",), "Get the as-built plans"),
    "occupancy": _Pair("restoration_asked", ("restored",), "The land is to be restored", starts="notification"),
    "bmp_order": _Pair("practices_ordered", ("practices_in_place",), "The ordered practices are to be in place"),
    "bmp_log": _Pair("log_missing", ("log_shown",), "The log of practices is to be shown"),
    "compliance_records": _Pair("records_asked", ("records_shown",), "The records of compliance are to be shown"),
}
_INSPECTION: Final = _Pair("built", ("practices_inspected",), "Inspect the practices that were built")


def answered(look: Look, provision: Provision) -> Iterator[Expected]:
    """Each step that asks for another, with what has answered it."""
    pair = _PAIRS[provision.kind]
    if isinstance(provision, AsBuilt):
        more = f"{pair.asks}, certified by {provision.certified_by}"
        yield from _asked(look, provision, pair, more)
        if provision.officer_inspects:
            yield from _asked(look, provision, _INSPECTION, _INSPECTION.asks, owed_by=look.profile.officer)
    else:
        yield from _asked(look, provision, pair, pair.asks)


def _asked(look: Look, provision: Provision, pair: _Pair, asks: str, *, owed_by: str = "") -> Iterator[Expected]:
    name = next((each.name for each in provision.deadlines if each.starts == pair.starts), "")
    told = set()
    for entry in steps(look, pair.asked):
        occurrence = f"{pair.answers[0]} for {pair.asked} {look.iso(entry.done_us)}"
        if occurrence in told:
            continue
        told.add(occurrence)
        starts: dict[Start, int] = {pair.starts: entry.done_us} if pair.starts else {}
        yield Expected(
            provision,
            name=name,
            occurrence=occurrence,
            starts=starts,
            asks=asks,
            owed_by=owed_by or who(look, entry.done_us, "applicant", "developer", "owner"),
            evidence={pair.asked: f"{look.day(entry.done_us)}, {entry.body.reference}, entry {entry.id}"},
            answer=command(look, pair.answers[0]),
            done=_answer(look, pair, entry),
        )


def _answer(look: Look, pair: _Pair, asked: Entry[Milestone]) -> Done | None:
    """The first after it; of a gate also the last before it."""
    found = steps(look, *pair.answers)
    before = [each for each in found if each.done_us <= asked.done_us]
    if pair.gate and before:
        return recorded(before[-1])
    return next((recorded(each) for each in found if each.done_us >= asked.done_us), None)


def guarantee(look: Look, provision: Provision) -> Iterator[Expected]:
    """After final acceptance a guarantee stays for its time and until an inspection; before that it may not end."""
    for accepted in _once(look, "accepted"):
        starts: dict[Start, int] = {"acceptance": accepted.done_us}
        due_us = look.due(provision, "release", starts).taken_us or FOREVER_US
        look.wake(due_us)
        good = next((each for each in steps(look, "found_acceptable") if each.done_us >= due_us), None)
        released = next((each for each in steps(look, "guarantee_released") if each.done_us >= accepted.done_us), None)
        yield Expected(
            provision,
            name="release",
            occurrence=f"accepted {look.iso(accepted.done_us)}",
            starts=starts,
            asks="Inspect the facilities, and decide whether the guarantee is released: not before then",
            owed_by=look.profile.officer,
            evidence={"inspection then": "none on record" if good is None else f"acceptable, entry {good.id}"},
            answer=command(look, "found_acceptable" if good is None else "guarantee_released"),
            done=None if good is None or released is None or released.done_us < good.done_us else recorded(released),
        )
        early = released is not None and (released.done_us < due_us or good is None or released.done_us < good.done_us)
        yield from _ends_early(look, provision, accepted.done_us, due_us)
        if released is not None and early:
            yield Expected(
                provision,
                name="",
                occurrence=f"released {look.iso(released.done_us)}",
                starts={},
                asks="The guarantee was released too early or without an inspection: see what is to be done",
                owed_by=look.profile.officer,
                evidence={"released": f"{look.day(released.done_us)}, {released.body.reference}, entry {released.id}"},
            )


def _ends_early(look: Look, provision: Provision, since_us: int, due_us: int) -> Iterator[Expected]:
    """Guarantees of the registry that end before they may, with none in their stead."""
    held, told = [span for project in look.projects for span in project.guarantees], set()
    for span in held:
        if span.end_us is None or not since_us <= span.end_us < due_us or (span.end_us, span.entry.reference) in told:
            continue
        told.add((span.end_us, span.entry.reference))
        instead = any(each.start_us <= span.end_us < (each.end_us or FOREVER_US) for each in held if each is not span)
        if instead:
            continue
        yield Expected(
            provision,
            name="",
            occurrence=f"ends {look.iso(span.end_us)} {span.entry.reference}"[:96],
            starts={},
            asks=f"{span.entry.kind} {span.entry.reference} ends {look.day(span.end_us)}, too early: have it renewed",
            owed_by=owing(look, max(since_us, span.start_us), None, "applicant", "developer"),
            evidence={"amount": f"${span.entry.amount}", "may be released": str(look.day(due_us))},
        )


def project_lapse(look: Look, provision: Provision) -> Iterator[Expected]:
    """An older project that rests: when it lapses, and that it conforms before it goes on."""
    active = _once(look, "activity")
    for last, following in zip(active, [*active, None][1:], strict=True):
        starts: dict[Start, int] = {"last_activity": last.done_us}
        due_us = look.due(provision, "lapse", starts).taken_us or FOREVER_US
        conforms = next((each for each in steps(look, "conforms") if each.done_us >= last.done_us), None)
        resumed = following if following is not None and following.done_us < due_us else conforms
        yield Expected(
            provision,
            name="lapse",
            occurrence=f"rests since {look.iso(last.done_us)}",
            starts=starts,
            asks=f"Rests since {look.day(last.done_us)}: after that time it resumes only in conformity",
            owed_by=owing(look, due_us, recorded(resumed), "owner", "developer"),
            evidence={"resumed": str(look.day(following.done_us))} if following and resumed is not following else {},
            answer=command(look, "activity" if look.now_us < due_us else "conforms"),
            done=recorded(resumed),
        )


def steps(look: Look, *names: str) -> list[Entry[Milestone]]:
    """Entries of some steps, by time."""
    found = [each for each in look.entries(Milestone) if each.body.step in names]
    return sorted(found, key=lambda each: (each.done_us, each.digest))


def command(look: Look, step: str) -> str:
    return f"headwall record step {look.site.id} {step} --reference TEXT --by NAME"


def _once(look: Look, name: str) -> list[Entry[Milestone]]:
    """Those of a step, one for each instant."""
    return list({each.done_us: each for each in reversed(steps(look, name))}.values())[::-1]
