"""A provision in words: rows of what it says, for the command line, the pages and comparisons alike."""

from __future__ import annotations

from typing import Final

from headwall.law.deadlines import START_TEXT, Deadline, Reading
from headwall.law.provision import Provision
from headwall.law.provisions import Certificate, Content, ExemptSource, FailingCondition, Party, PermitType, Tier
from headwall.law.storm_report import Companion, StormLimits

HOUR_US = 3_600_000_000

#: what a code says of a matter, beside its numbers and clocks; in the order in which they are shown
_SAID = {
    "owed_by": "Owed by",
    "owed_to": "Owed to",
    "copied_to": "Copied to",
    "means": "By what means",
    "record": "Record",
}
#: clause and deadline → what it waits for, as people say it; what is not here goes by its own name
_CLOCKS: Final = {
    ("appeal", "file"): "notice of appeal",
    ("appeal", "hear"): "hear the appeal",
    ("appeal", "serve"): "send out the copy of the decision",
    ("corrective_measures", "correct"): "correct what the decision upholds",
    ("corrective_measures", "request_from"): "ask to be let in",
    ("contaminating_activity", "correct"): "end and correct the contaminating activity",
    ("cost_recovery", "tell"): "tell the owner what the abatement cost",
    ("cost_recovery", "protest"): "protest against the cost",
    ("notice_of_violation", "correct_by"): "correct what the notice orders",
    ("spill_report", "confirmation"): "confirm the release in writing",
    ("connection_permit", "renew"): "renew the permit",
    ("connection_work", "restoration"): "tell of the final restoration",
    ("connection_work", "start"): "tell of the start of work",
    ("dye_test", "notice"): "tell of the dye test",
    ("emergency_suspension", "reasons"): "give the reasons of the suspension",
    ("permitted_discharge", "file"): "file a copy of the approval",
    ("septic_inspection", "next"): "inspect the tank",
    ("tmdl_change", "change"): "change the stormwater program",
}


def head_rows(provision: Provision) -> list[tuple[str, str]]:
    """Where it stands, how sure that is, since when."""
    since = provision.valid_from.isoformat() if provision.valid_from else "not in the source"
    until = f" to {provision.valid_to.isoformat()}" if provision.valid_to else ""
    return [
        ("Provision", provision.id),
        ("Kind", provision.kind),
        ("Citation", f"{provision.citation} ({provision.confidence_text})"),
        ("In force since", f"{since}{until}: {provision.enacted_by}"),
    ]


def matter_rows(provision: Provision) -> list[tuple[str, str]]:
    """What it decides: who, clocks, numbers, retention. What is not there has no row."""
    said = [(label, _value(getattr(provision, key))) for key, label in _SAID.items()]
    clocks = [(f"Clock: {each.name.replace('_', ' ')}", clock(each)) for each in provision.deadlines]
    own = [
        (key.replace("_", " ").capitalize(), _value(getattr(provision, key)))
        for key in type(provision).model_fields
        if key not in Provision.model_fields
    ]
    kept = provision.retention
    if kept is not None:
        starts = ", ".join(START_TEXT[start] for start in kept.starts)
        since = f"the latest of {starts}" if len(kept.starts) > 1 else starts
        own.append(("Kept", f"{kept.of}, at least {kept.count} {kept.unit} from {since}"))
    return [(label, text) for label, text in (*said, *clocks, *own) if text]


def doubt_rows(provision: Provision) -> list[tuple[str, str]]:
    """What the code leaves open, and what the source text lacks."""
    rows = [
        ("Left open", " ".join(provision.ambiguities)),
        ("Open questions", ", ".join(provision.questions)),
        ("Text incomplete in source", provision.incomplete),
    ]
    return [(label, text) for label, text in rows if text]


def clock_name(clause: Provision, name: str) -> str:
    """What a clock of a clause waits for, in a few words."""
    return _CLOCKS.get((clause.kind, name), name.replace("_", " "))


def clock(deadline: Deadline) -> str:
    """A deadline in words, with its other reading where the code allows one."""
    told = deadline.text
    for name, reading in (("strict", deadline.strict), ("lenient", deadline.lenient)):
        if reading != Reading():
            told += f"; under the {name} reading {deadline.read(reading).text}"
    if deadline.count and deadline.unit not in ("hours", "business_days") and deadline.holds != "on":
        told += {"no": "; not extended over a weekend or holiday", "yes": "; extended", "open": ""}[deadline.extends]
    return f"{told}; the {deadline.takes} reading counts"


def _value(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(_value, value))
        case dict():
            return "; ".join(f"{key}: {text}" for key, text in value.items())
        case Party():
            return value.name
        case ExemptSource():
            return _with(value.name, [value.only, "by the officer's ruling" if value.ruling else ""])
        case PermitType():
            return _permit(value)
        case FailingCondition() | Content():
            return value.text
        case Certificate():
            return f"{value.text}, by {value.issued_by} ({value.name})"
        case Companion():
            return f"{value.citation}: {value.text.removesuffix('.')}"
        case Tier():
            return _tier(value)
        case StormLimits():
            return f"{value.depth}; due {value.due_us // HOUR_US} h from where its clock starts"
    return str(value)


def _with(name: str, more: list[str]) -> str:
    told = "; ".join(filter(None, more))
    return f"{name} ({told})" if told else name


def _permit(kind: PermitType) -> str:
    more = ["ends with the State's permit" if kind.ends_with_state_permit else ""]
    more += [f"ends with a change of {' or '.join(kind.ends_with_change)}" if kind.ends_with_change else ""]
    more += ["a new owner needs the officer's approval" if kind.transfer_by_approval else ""]
    return _with(kind.name, more)


def _tier(tier: Tier) -> str:
    name = {1: "first offence", 2: "second", 3: "third and later"}[tier.offence]
    fine = f"${tier.fine_min:,}" if tier.fine_min == tier.fine_max else f"${tier.fine_min:,} to ${tier.fine_max:,}"
    return f"{name} {fine}" + (f", up to {tier.jail_max} in jail" if tier.jail_max else "")
