"""Drafts of letters about a case: what each code lists for one, what is known of it, and blanks for the rest.

Nothing here is sent, and nothing is found: a named person finishes a draft, signs it, and has it served. No letter
holds an amount of the tables of penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from headwall.cases.known import unstruck
from headwall.cases.states import STATES
from headwall.errors import InputError
from headwall.law.provision import Provision
from headwall.law.provisions import Appeal, CostRecovery, Notice, Penalty, Spill
from headwall.law.state_spill import HOTLINE, state_spill
from headwall.ledger.approvals import approvals_at
from headwall.ledger.cases import CaseStep
from headwall.ledger.log_book import HEADWALL
from headwall.notify.wording import first_upper, sentence
from headwall.reports import evidence
from headwall.reports.letter import BLANK, Form, Heading, Items, Letter, Paragraph, Piece, Row, Rows, without_unseen
from headwall.reports.matter import Matter, P, named

#: what a notice tells of itself; the rest of its contents are what it orders
_TELLS: Final = frozenset({"addressee", "place", "violation", "remedy", "penalties", "appeal"})
#: an order that needs a time by which it is done
_WITH_TIME: Final = frozenset({"abate"})


def draft(matter: Matter, kind: str, given: Mapping[str, str]) -> Letter:
    """A letter about a case.

    Args:
        kind: one of KINDS.
        given: what the officer has filled in, by the key of the blank.

    Raises:
        InputError: the municipality's code has no clause for it, or there is no such letter or blank.
    """
    if kind not in KINDS:
        raise InputError(f"there is no letter {kind!r}; known are {', '.join(KINDS)}")
    form = Form(given)
    letter = KINDS[kind](matter, form, kind)
    form.check_given()
    return without_unseen(letter)


# ---- the notice of violation


def _notice(matter: Matter, form: Form, kind: str) -> Letter:
    clause = _needed(matter, matter.clause(Notice), "notice of violation")
    must = {each.item for each in clause.contents} if clause.mandatory else set()
    confirmed = matter.step("confirm")
    pieces: list[Piece] = [
        Rows(
            (
                *_recipients(matter, form, clause),
                ("Date", (form.blank("date", "date of the notice", demanded=True, known=_dated(matter)),)),
                ("Under", (f"{matter.profile.code}, {matter.cite(clause)}",)),
                ("Given by", (first_upper(clause.owed_by),)),
                ("Case", (f"{matter.case.id}, {matter.site.name}",)),
            )
        ),
        *_service(clause),
        Heading("The place"),
        Paragraph(form.blank("place", "where it is", known=f"{matter.site.name}, {matter.site.place}")),
        Heading("What the violation is"),
        Rows(_violation(matter, form)),
        Heading("What you must do"),
        Rows(_orders(matter, form, clause)),
        *_warnings(clause),
        *_penalties(matter, form, "penalties" in must),
        *_appeal(matter, form),
        *_seen(matter),
    ]
    left = [] if confirmed else [f"Nobody has confirmed this case: headwall case confirm {matter.case.id}."]
    left += [_contents(clause), *_sheet_of_penalties(matter, clause)]
    return _letter(matter, form, kind, "Notice of violation", clause, pieces, left)


def _recipients(matter: Matter, form: Form, clause: Notice) -> list[Row]:
    rows: list[Row] = []
    for n, who in enumerate(clause.told):
        role = next((each for each in ("developer", "owner") if each in who), "")
        key = f"to{n + 1}" if n else "to"
        hint = named(matter.person(role)) if role else ""
        text = form.blank(key, f"name and address of {who}", demanded=n == 0, hint=hint)
        rows.append((first_upper(who), (text,)))
    return rows


def _dated(matter: Matter) -> str:
    served = matter.step("serve")
    times = served.times if served else {}
    known = [times[name] for name in ("dated", "issued") if name in times]
    return matter.time(known[0]) if known else ""


def _service(clause: Notice) -> list[Piece]:
    if not clause.served_by:
        return [Paragraph(f"Served by {BLANK} on {BLANK}.")]
    return [Paragraph("Served by"), Items(tuple(f"{each}: {BLANK}" for each in clause.served_by), boxes=True)]


def _violation(matter: Matter, form: Form) -> tuple[Row, ...]:
    broken, confirmed = matter.code.broken, matter.step("confirm")
    known = confirmed.note if confirmed else ""
    rows: list[Row] = [("Nature", (form.blank("violation", "what the violation is", demanded=True, known=known),))]
    rows.append(("When", (matter.span(),)))
    if broken is not None:
        rows.append(("Clause", (f"{matter.cite(broken)}: {broken.subject}", broken.requirement)))
    if confirmed:
        rows.append(("Found by", (f"{confirmed.by}, {matter.time(confirmed.done_us)}",)))
    return tuple(rows)


def _orders(matter: Matter, form: Form, clause: Notice) -> tuple[Row, ...]:
    """What the code lets it require, and the time for it: where something is abated, or a schedule is wanted."""
    rows, timed = list[Row](), clause.mandatory
    for each in clause.contents:
        if each.item in _TELLS:
            continue
        text = form.blank(each.item, f"{each.text}, if it is required")
        timed = timed or (each.item in _WITH_TIME and each.item in form.given)
        rows.append((first_upper(each.text), (text,)))
    remedy = form.blank("remedy", "what must be done", demanded=clause.mandatory)
    if clause.mandatory or "remedy" in form.given:
        rows.append(("What must be done", (remedy,)))
    known = matter.last_time(clause.kind, "correct_by")
    until = form.blank("until", "time by which it is done", demanded=timed, known=known)
    return (*rows, ("Done by", (until,)))


def _warnings(clause: Notice) -> list[Piece]:
    if not clause.warns:
        return []
    return [Heading("If it is not done in time"), *(Paragraph(sentence(each)) for each in clause.warns)]


def _penalties(matter: Matter, form: Form, demanded: bool) -> list[Piece]:
    """The clause, and a blank: what may be assessed a person writes."""
    clause = matter.clause(Penalty)
    if clause is None:
        return []
    text = form.blank("penalties", f"penalties that shall or may be assessed, by {clause.citation}", demanded=demanded)
    rows = (("Assessed by", (matter.cite(clause),)), ("What shall or may be assessed", (text,)))
    return [Heading("Penalties"), Rows(rows)]


def _sheet_of_penalties(matter: Matter, clause: Notice) -> list[str]:
    """For the officer's page: what the code wants said of penalties, and where the range is that no letter holds."""
    wanted = next((each.text for each in clause.contents if each.item == "penalties"), "")
    penalty = matter.clause(Penalty)
    if penalty is None or not wanted:
        return []
    how = "demands" if clause.mandatory else "allows"
    return [
        f"{clause.citation} {how} a statement of {wanted}. They stand in {penalty.citation}; Headwall puts no amount "
        "into a letter, so the words are yours (--fill penalties=…). The range for this case, for you alone: headwall "
        f"case penalty {matter.case.id} --violator NAME."
    ]


def _appeal(matter: Matter, form: Form) -> list[Piece]:
    clause = matter.clause(Appeal)
    if clause is None:
        return []
    chosen = str(matter.choice("appeal.heard_by"))
    until = form.blank("appeal_until", "last day of an appeal", known=matter.last_time(clause.kind, "file"))
    how = ((f"By a notice of appeal, {', '.join(clause.means)}"),) if clause.means else ()
    rows = (
        ("To", (chosen or clause.heard_by, *how)),
        ("Time", (first_upper(clause.deadline("file").text),)),
        ("Last day", (until,)),
        ("Under", (matter.cite(clause),)),
    )
    return [Heading("Your right to appeal"), Rows(rows)]


def _contents(clause: Notice) -> str:
    """What the code has a notice say, for the officer's page."""
    how = "demands" if clause.mandatory else "allows"
    listed = "; ".join(each.text for each in clause.contents)
    return f"The code {how} these contents: {listed}. A row that is not required is struck out."


# ---- the confirmation of a spill


def _spill(matter: Matter, form: Form, kind: str) -> Letter:
    clause = _needed(matter, matter.clause(Spill), "report of a spill")
    pieces: list[Piece] = [
        Rows(
            (
                ("To", (first_upper(clause.confirmed_to),)),
                ("From", (form.blank("from", f"{clause.owed_by}: name and address", demanded=True),)),
                ("Date", (form.blank("date", "date of the letter", demanded=True),)),
                ("Under", (f"{matter.profile.code}, {matter.cite(clause)}",)),
            )
        ),
        Paragraph("This confirms in writing what was told of a release in person or by telephone."),
        Heading("The release"),
        Rows(
            (
                ("Where", (form.blank("place", "where", known=f"{matter.site.name}, {matter.site.place}"),)),
                ("When", (matter.span(),)),
                ("Known since", (form.blank("known", "when it was known of", demanded=True, known=_known(matter)),)),
                ("What, how much", (form.blank("material", "what was released, and how much", demanded=True),)),
                ("Hazardous or not", (form.blank("hazardous", "whether it is hazardous", known=_hazard(matter)),)),
                ("Where it went", (form.blank("reached", "drain, pipe or water that it reached"),)),
            )
        ),
        Heading("Who was told"),
        Rows(_calls(matter, form, clause)),
        Heading("What was done"),
        Rows(
            (
                ("Found and contained", (form.blank("contained", "how it was found and contained", demanded=True),)),
                ("Cleaned up", (form.blank("cleaned", "how it is or was cleaned up", demanded=True),)),
                ("Against the next one", (form.blank("prevention", "what prevents the next one"),)),
            )
        ),
        *_seen(matter),
    ]
    last = matter.last_time(clause.kind, "confirmation")
    due = f"by {last}" if last else clause.deadline("confirmation").text
    left = [f"Mail it to {clause.confirmed_to} {due}.", sentence(clause.record)]
    return _letter(matter, form, kind, "Confirmation of a release", clause, pieces, left)


def _known(matter: Matter) -> str:
    """Since when a person has said that it was known."""
    told = [step.done_us for step in unstruck(matter.case.steps) if step.action == "know"]
    return matter.time(min(told)) if told else ""


def _hazard(matter: Matter) -> str:
    step = matter.step("classify")
    return "" if step is None else f"{step.outcome}: {step.note}, by {step.by}"


def _calls(matter: Matter, form: Form, clause: Spill) -> tuple[Row, ...]:
    """Whoever is to be told, with the calls that were logged, else a line to write on; then the calls to others."""
    names = {HOTLINE: "the State's spill hotline"} | {key: each.name for key, each in clause.parties.items()}
    calls: dict[str, list[str]] = {}
    for step in unstruck(matter.case.steps):
        if step.action == "call":
            to = str(step.details.get("to", ""))
            calls.setdefault(names.get(to, to), []).append(_call(matter, step))
    rows: list[Row] = []
    for n, who in enumerate(dict.fromkeys(each.name for each in clause.parties.values())):
        asked = f"the call to {who}, where one was made: when, how, by whom"
        known = "\n".join(calls.pop(who, ()))
        rows.append((first_upper(who), tuple(form.blank(f"told{n}" if n else "told", asked, known=known).split("\n"))))
    return (*rows, *((first_upper(who), tuple(lines)) for who, lines in calls.items()))


def _call(matter: Matter, step: CaseStep) -> str:
    """A call as it was logged: when, whom it reached, at which number, how, and who called."""
    reached, number = (str(step.details.get(key, "")) for key in ("reached", "number"))
    told = (matter.time(step.done_us), reached, number, step.means.replace("_", " "), f"by {step.by}", step.note)
    return "; ".join(filter(None, told))


# ---- the statement of costs


def _costs(matter: Matter, form: Form, kind: str) -> Letter:
    recovery = matter.clause(CostRecovery)
    clause: Provision = _needed(
        matter, recovery or matter.clause(Provision, "corrective_measures"), "recovery of costs"
    )
    abated = matter.step("abate")
    known = matter.time(abated.done_us) if abated else ""
    owner = named(matter.person("owner"))
    pieces: list[Piece] = [
        Rows(
            (
                ("To", (form.blank("to", "name and address of the owner", demanded=True, hint=owner),)),
                ("Date", (form.blank("date", "date of the statement", demanded=True),)),
                ("Property", (form.blank("place", "the property", known=f"{matter.site.name}, {matter.site.place}"),)),
                ("Under", (f"{matter.profile.code}, {matter.cite(clause)}",)),
                ("Abated", (form.blank("abated", "when the abatement was complete", demanded=True, known=known),)),
            )
        ),
        Heading("What the abatement cost"),
        Rows(
            (
                ("Work and material", (form.blank("work", "work and material, in dollars"),)),
                ("Contractors", (form.blank("contractors", "contractors, in dollars"),)),
                ("Administration", (form.blank("administration", "administrative costs, in dollars"),)),
                ("Total", (form.blank("total", "the total, in dollars", demanded=True),)),
            )
        ),
        Heading("What the code says of it"),
        Paragraph(clause.requirement),
        *([] if recovery is None else [Rows(_terms(matter, form, recovery))]),
    ]
    left = (
        [] if recovery else ["The code has the owner bear the cost, and gives neither a time to tell it nor a protest."]
    )
    left += [] if abated else ["No abatement stands in the case: headwall case abate."]
    return _letter(matter, form, kind, "Statement of costs", clause, pieces, left)


def _terms(matter: Matter, form: Form, clause: CostRecovery) -> tuple[Row, ...]:
    """Dates and rates, no account."""
    months = matter.choice("abatement.instalment_months")
    method = matter.choice("interest.method")
    rate = f"{clause.interest_percent} percent a year, {method}"
    rate += f", or {clause.interest_cap}, if that is less" if clause.interest_cap else ""
    protest = form.blank("protest_until", "last day of a protest", known=matter.last_time(clause.kind, "protest"))
    interest = form.blank("interest_from", "day from which there is interest", known=_interest(matter, clause))
    every = "month" if months == 1 else f"{months} months"
    return (
        ("Protest", (first_upper(clause.deadline("protest").text), f"Last day: {protest}")),
        ("Payments", (f"At most {clause.payments_max}, equal, one every {every}",)),
        ("Interest", (rate, f"{first_upper(clause.deadline('interest').text)}: {interest}")),
    )


def _interest(matter: Matter, clause: CostRecovery) -> str:
    return matter.last_time(clause.kind, "interest")


# ---- sheets of facts for counsel


def _stop_work(matter: Matter, form: Form, kind: str) -> Letter:
    return _sheet(matter, form, kind, "stop-work order", ("stop_work",))


def _suspension(matter: Matter, form: Form, kind: str) -> Letter:
    return _sheet(matter, form, kind, "suspension of access", ("emergency_suspension", "termination"))


def _sheet(matter: Matter, form: Form, kind: str, what: str, kinds: tuple[str, ...]) -> Letter:
    found = [each for name in kinds if (each := matter.clause(Provision, name)) is not None]
    first = _needed(matter, next(iter(found), None), what)
    counsel = f"The {matter.profile.officer} and counsel decide whether, when and how."
    pieces: list[Piece] = [
        Paragraph(f"Gathered for counsel. {counsel} Nothing here says that the conditions of a clause are met."),
        Heading("What the code has"),
    ]
    for clause in found:
        told = (f"Told in: {', '.join(clause.means)}",) if clause.means else ("The code names no form.",)
        times = tuple(first_upper(each.text) for each in clause.deadlines)
        rows = (clause.subject, clause.requirement, *told, *times, *clause.ambiguities)
        pieces.append(Rows(((matter.cite(clause), rows),)))
    pieces += [
        Heading("The place and the persons"),
        Rows(
            (
                ("Place", (matter.site.name, matter.site.place)),
                ("Owner", (form.blank("owner", "owner", known=named(matter.person("owner"))),)),
                ("At work there", (named(matter.person("developer", "trained_contractor")) or "not in the registry",)),
            )
        ),
        Heading("What is suspected or found"),
        Rows(_case_rows(matter)),
        *_seen(matter),
        Heading("What the register has for that time"),
        *_allowed(matter),
        Heading("For counsel to weigh"),
        Items(
            tuple(
                f"{text}: {form.blank(key, text)}"
                for key, text in (
                    ("danger", "what is in danger, how imminent and how substantial"),
                    ("milder", "what milder step there is"),
                    ("served", "who is told, how and when"),
                    ("ends", "what ends it, and who confirms that"),
                )
            )
        ),
    ]
    return _letter(matter, form, kind, f"Sheet of facts: {what}", first, pieces, [], letter=False)


def _case_rows(matter: Matter) -> tuple[Row, ...]:
    broken = matter.code.broken
    rows: list[Row] = [("When", (matter.span(),)), ("State", (first_upper(STATES[matter.case.state]),))]
    if broken is not None:
        rows.append(("Clause", (f"{matter.cite(broken)}: {broken.subject}", broken.requirement)))
    for step in matter.case.steps:
        said = ", ".join(each.replace("_", " ") for each in (step.action, step.outcome, step.means) if each)
        by = "Headwall" if step.by == HEADWALL else step.by
        rows.append((matter.time(step.done_us), tuple(filter(None, (f"Step “{said}”, by {by}", step.note)))))
    return tuple(rows)


def _allowed(matter: Matter) -> list[Piece]:
    case = matter.case
    found = approvals_at(matter.conn, case.municipality, case.site, case.from_us, case.until_us + 1)
    if not found:
        return [
            Paragraph("The register has no approval for that time. What nobody has entered is not excluded by that.")
        ]
    lines = []
    for each in found:
        until = "until it is ended" if each.to_us is None else f"to {matter.time(each.to_us)}"
        told = f"{each.kind.replace('_', ' ')}, {each.body.holder}, by {each.body.granted_by}, {each.body.reference}"
        lines.append(f"{told}; from {matter.time(each.from_us)} {until}")
    return [Items(tuple(lines))]


# ---- what they share


def _seen(matter: Matter) -> list[Piece]:
    """The evidence, with its plots."""
    rows = evidence.rows(matter.fact)
    conn, registry, case, where = matter.conn, matter.registry, matter.case, matter.where
    known = (
        evidence.picture(conn, registry, case, where),
        evidence.storm(conn, registry, matter.profile, case, where, matter.now_us),
    )
    pictures = [each for each in known if each is not None]
    if not rows and not pictures:
        return []
    found: list[Piece] = [Heading("What the readings show")]
    found += [Rows(tuple(rows))] if rows else []
    return [*found, *pictures, Paragraph("Readings of a sensor: they are evidence, and no finding by themselves.")]


def _needed(matter: Matter, clause: P | None, what: str) -> P:
    if clause is None:
        raise InputError(
            f"{matter.profile.code} of {matter.profile.municipality} has no clause of a {what} that goes with case "
            f"{matter.case.id}; `headwall law list` shows what it has"
        )
    return clause


def _letter(
    matter: Matter,
    form: Form,
    kind: str,
    title: str,
    clause: Provision,
    pieces: list[Piece],
    left: list[str],
    *,
    letter: bool = True,
) -> Letter:
    profile = matter.profile
    officers = matter.registry.officers(matter.case.municipality, matter.now_us)
    spill = state_spill().call_first if isinstance(clause, Spill) else ()
    decides = "A named person decides, finishes this, signs it and has it served."
    warning = [*spill, profile.disclaimer, *([decides] if letter else [])]
    if clause.incomplete:
        warning.append(f"Text incomplete in source: {clause.incomplete}")
    open_ = [
        f"{first_upper(each.says)}{' (not signed without it)' if each.demanded else ''}: --fill {each.key}=…"
        for each in form.blanks
        if not each.filled
    ]
    cited = {each.id: each.citation for each in profile.provisions}
    looked = [
        f"Look up {cited[each]} in the code, then: headwall law confirm {each} --by NAME" for each in matter.uncertain
    ]
    doubts = [f"The code leaves open: {each}" for each in clause.ambiguities]
    sender = (profile.municipality, profile.officer, *(each.name for each in officers))
    if isinstance(clause, Spill):
        sender = ()  # who owes it writes it
    return Letter(
        kind,
        title,
        sender,
        clause.id,
        tuple(pieces),
        tuple(form.blanks),
        tuple(warning),
        (*left, *looked, *open_, *doubts),
        tuple(matter.uncertain),
        letter,
    )


KINDS: Final[Mapping[str, Callable[[Matter, Form, str], Letter]]] = {
    "notice": _notice,
    "spill-confirmation": _spill,
    "costs": _costs,
    "stop-work": _stop_work,
    "suspension": _suspension,
}
