"""Notice before stages of work: each of which the officer asks to be told, with the day for which it is planned."""

from __future__ import annotations

from collections.abc import Iterator

from headwall.law import localtime
from headwall.law.deadlines import Start
from headwall.law.provision import Provision
from headwall.law.provisions import StageNotice
from headwall.ledger.entries import StageTold
from headwall.registry.project import SiteProject, Stage
from headwall.rules.clauses.construction import applies, owing
from headwall.rules.clauses.expected import Expected, recorded
from headwall.rules.clauses.look import FOREVER_US, Look


def stage_notice(look: Look, provision: Provision) -> Iterator[Expected]:
    """One for each stage that the registry has of a project; a stage that is a completion counts by its planned day."""
    assert isinstance(provision, StageNotice)
    for project in look.projects:
        look.wake(project.span.start_us)
        if project.span.start_us > look.now_us or not applies(look, project, project.span.start_us).yes:
            continue
        for stage in project.entry.stages:
            if stage.stage in provision.stages:
                yield _stage(look, provision, project, stage)


def _stage(look: Look, provision: StageNotice, project: SiteProject, stage: Stage) -> Expected:
    since_us, until_us = project.span.start_us, project.span.end_us or FOREVER_US
    told = next(
        (
            each
            for each in look.entries(StageTold)
            if each.body.stage == stage.stage and since_us <= each.done_us < until_us
        ),
        None,
    )
    starts: dict[Start, int] = {"stage": localtime.midnight_us(stage.planned, look.where)}
    due_us = look.due(provision, "notice", starts).taken_us
    # a notice that was due while the project stood is still owed
    over = told is None and until_us <= look.now_us and (due_us or FOREVER_US) > until_us
    return Expected(
        provision,
        name="notice",
        occurrence=f"{stage.stage}, project of {look.day(since_us)}",
        starts=starts,
        asks=f"Notice of {stage.stage}, planned for {stage.planned}, to {provision.owed_to}",
        owed_by=owing(look, due_us, recorded(told), "applicant", "developer"),
        answer=f"headwall record stage {look.site.id} --stage '{stage.stage}' --told-to NAME --by NAME",
        done=recorded(told),
        gone=f"the project is over since {look.day(until_us)}" if over else "",
    )
