"""`headwall check`: does everything work that the gateway needs?"""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from headwall.cli.common import DEFAULT_CONFIG, ConfigOption, print_json
from headwall.ops.check import check
from headwall.ops.checks.finding import Finding


def register(app: typer.Typer) -> None:
    app.command("check")(run_check)


def run_check(
    config: ConfigOption = DEFAULT_CONFIG,
    mail: Annotated[bool, typer.Option("--mail", help="send a test mail to the operator")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Try configuration, ledger, clock, broker, InfluxDB and SMTP, and say how to mend what fails. Exit 1 on failure.

    Writes a point of measurement headwall_check to InfluxDB and publishes to a board that does not exist.
    """
    findings: list[Finding] = []
    for found in check(config, mail=mail):
        findings.append(found)
        if not as_json:
            _show(found)
    failed = sum(not found.ok for found in findings)
    if as_json:
        print_json({"ok": failed == 0, "findings": msgspec.to_builtins(findings)})
    else:
        print(f"{failed} of {len(findings)} trials failed" if failed else f"all {len(findings)} trials went well")
    raise typer.Exit(1 if failed else 0)


def _show(found: Finding) -> None:
    print(f"{'ok   ' if found.ok else 'FAILS'}  {found.part:<18}  {found.what}")
    if not found.ok:
        print(f"{'':25}  -> {found.mend}")
