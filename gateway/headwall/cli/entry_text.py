"""What an entry says, in words and as data, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headwall.hydrology.field_sample import UNITS
from headwall.ledger import entries


def said(body: entries.Body) -> str:
    """What an entry says, in a line for people."""
    text = _WORDS[type(body)](body)
    return f"{text} ({body.note})" if body.note else text


def _snow_said(body: Any) -> str:
    return f"{body.depth} of water from snow"


def _pump_said(body: Any) -> str:
    by = f" by {body.hauler}" if body.hauler else ""
    found = f"; found: {body.found}" if body.found else ""
    return f"pumped out{by}" + (f", {body.volume}" if body.volume else "") + found


def _repair_said(body: Any) -> str:
    return f"{body.work} of the septic system" + (f", designed by {body.designer}" if body.designer else "")


def _certificate_said(body: Any) -> str:
    return f"certificate of {body.certificate.replace('_', ' ')} by {body.issued_by}: {body.reference}"


def _removed_said(body: Any) -> str:
    much = f", {body.volume}" if body.volume else ""
    return f"sediment removed{much}" + (f", taken to {body.taken_to}" if body.taken_to else "")


def _septic_said(body: Any) -> str:
    parts = {
        "no scum": body.no_scum or None,
        "scum clearance": body.scum_clearance,
        "bottom of scum": body.scum_bottom and f"{body.scum_bottom} below the invert",
        "sludge": body.sludge and f"{body.sludge} thick",
        "liquid": body.liquid and f"{body.liquid} above the invert",
    }
    return ", ".join(name if value is True else f"{name} {value}" for name, value in parts.items() if value)


def _sediment_said(body: Any) -> str:
    return f"{body.depth} of sediment"


def _sample_said(body: Any) -> str:
    results = {of: getattr(body, of) for of in UNITS}
    return ", ".join(f"{sample_name(of)} {text} {UNITS[of]}".strip() for of, text in results.items() if text)


def sample_name(of: str) -> str:
    """What a result is called."""
    return "pH" if of == "ph" else of


def _sewer_said(body: Any) -> str:
    verdict = "not exceeded: passed" if body.passed else "exceeded: not passed"
    return f"{body.method}, {body.leaked_gal} gal leaked, {body.allowed_gal} gal allowed, {verdict}"


def _offence_said(body: Any) -> str:
    convicted = "convicted" if body.convicted_us is not None else "nobody was convicted"
    return f"offence of {body.violator} against {body.provision}, {convicted}, {body.reference}"


def _remedy_said(body: Any) -> str:
    recommended = f"recommended by {body.recommended_by}, " if body.recommended_by else ""
    return f"{body.remedy}, by {body.violator}, case {body.case}; {recommended}agreed by {body.agreed_by}"


def _report_said(body: Any) -> str:
    signed = ", ".join(f"{each.name} ({each.role.replace('_', ' ')})" for each in body.signed)
    to = f", delivered to {body.delivered_to}" if body.delivered_to else ""
    copy = ", in the site log book" if body.in_log_book else ""
    found = f": {body.found}" if body.found else ""
    return f"inspection report signed by {signed}{to}{copy}{found}"


def _presence_said(body: Any) -> str:
    if not body.work:
        return f"no work on {body.day}"
    return f"work on {body.day}, trained contractor there: {', '.join(body.contractors) or 'none'}"


def _plan_said(body: Any) -> str:
    return "SWPPP found at the site" if body.there else "SWPPP not found at the site"


def _connection_said(body: Any) -> str:
    state = "removed" if body.removed else "there"
    on = "documented" if body.documented else "on no approved plan"
    approved = f"approved: {body.approved}" if body.approved else "not approved"
    since = f", since {body.since}" if body.since else ""
    return f"connection {body.name} ({body.what.replace('_', ' ')}), {state}, {on}, {approved}{since}"


def _obstruction_said(body: Any) -> str:
    how = f" {body.means}" if body.means else ""
    return f"{body.what} removed" if body.step == "removed" else f"removal of {body.what} asked for{how}"


def _training_said(body: Any) -> str:
    by = f", endorsed by {body.endorsed_by}" if body.endorsed_by else ""
    return f"credential: {body.credential}" if body.credential else f"{body.hours} h of training{by}, {body.reference}"


def _milestone_said(body: Any) -> str:
    by = f", by {body.certified_by}" if body.certified_by else ""
    return f"{body.step.replace('_', ' ')}: {body.reference}{by}"


_WORDS: dict[type[entries.Body], Callable[[Any], str]] = {
    entries.SnowWater: _snow_said,
    entries.PumpOut: _pump_said,
    entries.SepticMeasurement: _septic_said,
    entries.SepticRepair: _repair_said,
    entries.SepticCertificate: _certificate_said,
    entries.SedimentRemoved: _removed_said,
    entries.SedimentSurvey: _sediment_said,
    entries.FieldSample: _sample_said,
    entries.SewerTest: _sewer_said,
    entries.Offence: _offence_said,
    entries.AlternativeRemedy: _remedy_said,
    entries.SiteReport: _report_said,
    entries.Presence: _presence_said,
    entries.PlanSeen: _plan_said,
    entries.Connection: _connection_said,
    entries.Maintenance: lambda body: f"maintained: {body.work}",
    entries.Obstruction: _obstruction_said,
    entries.Training: _training_said,
    entries.Certification: lambda body: f"certification signed by {body.person}, {body.title}, {body.firm}",
    entries.StageTold: lambda body: f"notice of {body.stage} to {body.told_to}",
    entries.Milestone: _milestone_said,
    entries.Escrow: lambda body: f"escrow, {body.move} of ${body.amount}: {body.reference}",
    entries.CostStatement: lambda body: f"statements of ${body.amount} to {len(body.lots)} lots: {body.reference}",
    entries.CostPayment: lambda body: f"${body.amount} paid by {body.lot} of {body.statement}",
    entries.SewerJob: lambda body: f"sewer job {body.sewer} is planned",
    entries.SewerStep: lambda body: f"{body.step.replace('_', ' ')} of {body.sewer} to {body.to}",
    entries.Variance: lambda body: f"{body.provision} of {body.sewer} varied to {body.value} by {body.decided_by}",
    entries.MonitoringOrder: lambda body: f"{body.what} every {body.every_days} days: {body.order}",
    entries.MonitoringReport: lambda body: f"report under {body.order}: {body.reference}",
    entries.Withdrawal: lambda body: f"withdrawn: {body.reason}",
}


def as_data(entry: entries.Entry[Any], replaced_by: int | None = None) -> dict[str, Any]:
    """An entry for scripts."""
    return {
        "id": entry.id,
        "subject": entry.subject,
        "done_us": entry.done_us,
        "by": entry.by,
        "entered_us": entry.at_us,
        "replaces": entry.replaces,
        "replaced_by": replaced_by,
        **msgspec.to_builtins(entry.body),
    }
