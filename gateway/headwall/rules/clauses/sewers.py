"""New sanitary sewers: notice before the job, cut-sheets before the work, and the leakage test that accepts the sewer.

A variance puts another number in the stead of the code's, for one sewer. None of this judges a sewer in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from headwall.hydrology.sewer_leakage import LeakageTest, Pipe
from headwall.law.provision import Provision
from headwall.law.provisions import SewerTest as SewerTestClause
from headwall.ledger.entries import Entry, SewerJob, SewerStep, SewerTest, Variance
from headwall.rules.clauses.construction import who
from headwall.rules.clauses.expected import Done, Expected, recorded
from headwall.rules.clauses.look import Look


def sewer_start(look: Look, provision: Provision) -> Iterator[Expected]:
    """Notice of each job, at least so long before it starts, and the cut-sheets before any work."""
    for job in _jobs(look):
        sewer, starts_us = job.body.sewer, job.body.starts_us
        varied = variance(look, provision, sewer)
        yield Expected(
            _with_hours(provision, varied),
            name="notice",
            occurrence=sewer,
            starts={"start_of_work": starts_us},
            asks=f"Notice to {provision.owed_to} that the job of {sewer} starts",
            owed_by=_builder(look, job),
            evidence=_varied(varied),
            answer=f"headwall record sewer-step {look.site.id} '{sewer}' notice --to NAME --by NAME",
            done=_step(look, sewer, "notice"),
        )
        yield Expected(
            provision,
            name="",
            occurrence=f"cut-sheets of {sewer}",
            starts={"start_of_work": starts_us},
            asks=f"Cut-sheets of {sewer} to {provision.owed_to}, before any work",
            owed_by=_builder(look, job),
            answer=f"headwall record sewer-step {look.site.id} '{sewer}' cut-sheets --to NAME --by NAME",
            done=_step(look, sewer, "cut_sheets"),
        )


def _jobs(look: Look) -> list[Entry[SewerJob]]:
    return look.latest(SewerJob, lambda body: body.sewer)


def _step(look: Look, sewer: str, step: str) -> Done | None:
    found = (each for each in look.entries(SewerStep) if (each.body.sewer, each.body.step) == (sewer, step))
    return recorded(next(found, None))


def sewer_test(look: Look, provision: Provision) -> Iterator[Expected]:
    """The certified leakage test of each sewer whose job has started, until one is passed."""
    assert isinstance(provision, SewerTestClause)
    for job in _jobs(look):
        look.wake(job.body.starts_us)
        if job.body.starts_us > look.now_us:
            continue
        sewer = job.body.sewer
        tests = [each for each in look.entries(SewerTest) if each.body.sewer == sewer]
        passed = next((each for each in tests if passes(look, provision, each)), None)
        last = (passed or tests[-1]) if tests else None
        yield Expected(
            provision,
            name="",
            occurrence=sewer,
            starts={},
            asks=f"The certified leakage test of {sewer}, passed",
            owed_by=_builder(look, job),
            evidence=({} if last is None else _told(look, provision, last)) | _varied(variance(look, provision, sewer)),
            answer=f"headwall record sewer-test '{sewer}' --site {look.site.id} --by NAME",
            done=recorded(passed),
        )


def passes(look: Look, provision: SewerTestClause, entry: Entry[SewerTest]) -> bool:
    """Judged by what the code or a variance allows, as both are known now."""
    return _test(look, provision, entry).passed


def _test(look: Look, provision: SewerTestClause, entry: Entry[SewerTest]) -> LeakageTest:
    body = entry.body
    pipes = [Pipe(Decimal(each.diameter_in), Decimal(each.length_ft)) for each in body.pipes]
    allowance = allowed(look, provision, body.sewer)
    return LeakageTest(pipes, Decimal(body.hours), Decimal(body.leaked_gal), allowance)


def allowed(look: Look, provision: SewerTestClause, sewer: str) -> Decimal:
    """Gallons per inch of diameter, mile and day: the code's, or those of a variance."""
    varied = variance(look, provision, sewer)
    return Decimal(provision.gallons_per_inch_mile_day if varied is None else varied.body.value)


def _told(look: Look, provision: SewerTestClause, entry: Entry[SewerTest]) -> dict[str, str | int | float]:
    allowed_gal = float(_test(look, provision, entry).allowed_gal)
    body = entry.body
    return {"test": f"{look.day(entry.done_us)}, {body.leaked_gal} gal leaked, {allowed_gal:.2f} gal allowed"}


def variance(look: Look, provision: Provision, sewer: str) -> Entry[Variance] | None:
    """The last decision that puts another number in the stead of the clause's for a sewer."""
    found = [each for each in look.entries(Variance) if (each.body.provision, each.body.sewer) == (provision.id, sewer)]
    return found[-1] if found else None


def _with_hours(provision: Provision, varied: Entry[Variance] | None) -> Provision:
    """The clause with the varied count in its deadline."""
    if varied is None:
        return provision
    count = int(Decimal(varied.body.value))
    return provision.model_copy(
        update={"deadlines": [each.model_copy(update={"count": count}) for each in provision.deadlines]}
    )


def _varied(varied: Entry[Variance] | None) -> dict[str, str | int | float]:
    if varied is None:
        return {}
    return {"varied": f"to {varied.body.value} by {varied.body.decided_by}, {varied.body.reference}, entry {varied.id}"}


def _builder(look: Look, job: Entry[SewerJob]) -> str:
    return who(look, job.body.starts_us, "developer", "applicant")
