"""Planners: for each kind of provision, what it makes due at a site. One module a subject.

A planner that looks at readings stands in `FROM_READINGS` too: it is asked again when sensors of its site have spoken,
while the others are asked when a person has entered something, or an instant that they named has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headwall.rules.clauses import (
    approvals,
    connections,
    construction,
    devices,
    inspections,
    milestones,
    money,
    monitoring,
    people,
    presence,
    sediment,
    septic,
    sewers,
    stages,
    state_permit,
)
from headwall.rules.clauses.expected import Done, Expected, Planner
from headwall.rules.clauses.look import Look

__all__ = ["FROM_READINGS", "PLANNERS", "Done", "Expected", "Look", "Planner"]

#: kind of provision → what it makes due
PLANNERS: Final[Mapping[str, Planner]] = {
    "seven_day_report": inspections.contractor_reports,
    "state_permit": state_permit.entered,
    "qualified_inspector": inspections.inspector_visits,
    "contractor_presence": presence.contractor_presence,
    "plan_on_site": presence.plan_on_site,
    "disturbance_ceiling": construction.too_much_open,
    "dye_test": approvals.dye_test,
    "emergency_approval": approvals.emergency_approval,
    "exemptions": approvals.exemptions,
    "permitted_discharge": approvals.permitted_discharge,
    "proof_of_compliance": approvals.proof_of_compliance,
    "connection_permit": approvals.connection_permit,
    "connection_work": approvals.connection_work,
    "emergency_suspension": approvals.emergency_suspension,
    "termination": approvals.termination,
    "work_hold": approvals.work_under_order,
    "stop_work": approvals.work_under_order,
    "tmdl_change": approvals.tmdl_change,
    "septic_inspection": septic.inspection,
    "septic_pump_out": septic.pump_out,
    "pump_out_advice": septic.advice,
    "design_certificate": septic.certificates,
    "sediment_removal": sediment.removal,
    "watercourse": sediment.watercourse,
    "trained_contractor": people.trained_contractor,
    "contractor_certification": people.certification,
    "stage_notice": stages.stage_notice,
    "plan_before_review": milestones.answered,
    "easement": milestones.answered,
    "as_built": milestones.answered,
    "occupancy": milestones.answered,
    "bmp_order": milestones.answered,
    "bmp_log": milestones.answered,
    "compliance_records": milestones.answered,
    "guarantee": milestones.guarantee,
    "project_lapse": milestones.project_lapse,
    "escrow": money.escrow,
    "unpaid_costs": money.unpaid_costs,
    "sewer_start": sewers.sewer_start,
    "sewer_test": sewers.sewer_test,
    "monitoring_reports": monitoring.monitoring_reports,
    "illicit_connection": connections.illicit_connection,
    "device_care": devices.device_care,
}
#: kinds whose planners look at readings
FROM_READINGS: Final = frozenset({"septic_pump_out", "sediment_removal", "watercourse"})
