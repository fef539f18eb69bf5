"""Reports of monitoring that the officer has ordered: the order gives the period, since the code gives none."""

from __future__ import annotations

from collections.abc import Iterator

from headwall.law.deadlines import Deadline, Start
from headwall.law.provision import Provision
from headwall.ledger.entries import Entry, MonitoringOrder, MonitoringReport
from headwall.rules.clauses.construction import who
from headwall.rules.clauses.expected import Expected, recorded
from headwall.rules.clauses.look import FOREVER_US, Look


def monitoring_reports(look: Look, provision: Provision) -> Iterator[Expected]:
    """From order to report, and from report to report, until the order ends."""
    for order in look.latest(MonitoringOrder, lambda body: body.order):
        ordered = _with_period(provision, order.body.every_days)
        until_us = order.body.until_us or FOREVER_US
        look.wake(until_us)
        came = {
            each.done_us: each
            for each in look.entries(MonitoringReport)
            if each.body.order == order.body.order and order.done_us < each.done_us <= until_us
        }
        since_us = order.done_us
        for report in [*came.values(), None]:
            yield _report(look, ordered, order, since_us, report, until_us)
            since_us = since_us if report is None else report.done_us


def _report(
    look: Look,
    ordered: Provision,
    order: Entry[MonitoringOrder],
    since_us: int,
    report: Entry[MonitoringReport] | None,
    until_us: int,
) -> Expected:
    starts: dict[Start, int] = {"last_report": since_us}
    over = False  # one that was due while the order stood is still owed
    if report is None and until_us <= look.now_us:
        over = (look.due(ordered, "report", starts).taken_us or FOREVER_US) > until_us
    return Expected(
        ordered,
        name="report",
        occurrence=f"after {look.iso(since_us)}, {order.body.order}",
        starts=starts,
        asks=f"Report of {order.body.what}, every {order.body.every_days} days by {order.body.order}",
        owed_by=who(look, since_us, "owner", "applicant", "developer"),
        evidence={"ordered": f"{look.day(order.done_us)} by {order.by}, entry {order.id}"},
        answer=f"headwall record monitoring {look.site.id} --order TEXT --reference TEXT --by NAME",
        done=recorded(report),
        gone=f"the order ended {look.day(until_us)}" if over else "",
    )


def _with_period(provision: Provision, days: int) -> Provision:
    """The clause with the order's period as a deadline."""
    period = Deadline(name="report", count=days, unit="days", starts="last_report", takes="earlier")
    return provision.model_copy(update={"deadlines": [*provision.deadlines, period]})
