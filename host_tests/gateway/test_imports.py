"""Who imports whom is what the table in docs/contributor.md allows, and the table has no circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).parents[2]
_HEADWALL = _CHECKOUT / "gateway" / "headwall"
_ROW = re.compile(r"\| (?P<names>`[a-z_]+`(?:, `[a-z_]+`)*) \| [^|]+ \| (?P<may>[^|]+) \|")
_EVERY_ROW_ABOVE = "everything above"
_NOTHING = "nothing of ours"


def _table() -> dict[str, set[str]]:
    """Package → what it may import, in the order of the table, whose rows name only rows above them."""
    text = (_CHECKOUT / "docs" / "contributor.md").read_text("utf-8")
    section = text.partition("## Who may import whom")[2].partition("\n## ")[0]
    allowed: dict[str, set[str]] = {}
    for row in _ROW.finditer(section):
        above, may = set(allowed), row["may"].strip()
        named = {_EVERY_ROW_ABOVE: above, _NOTHING: set[str]()}.get(may)
        named = set(may.split(", ")) if named is None else named
        assert named <= above, f"{row['names']} may import {named - above}, which do not stand above it"
        allowed |= dict.fromkeys(re.findall(r"[a-z_]+", row["names"]), named)
    return allowed


def _imported(file: Path) -> Iterator[str]:
    """Whole dotted names of what a file imports; a name out of a package counts as a module of it."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(package: str) -> list[Path]:
    alone = _HEADWALL / f"{package}.py"
    return [alone] if alone.is_file() else sorted((_HEADWALL / package).rglob("*.py"))


def test_every_package_stands_in_the_table() -> None:
    found = {path.stem for path in _HEADWALL.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - {"__init__", "__main__"} == set(_table())


def test_gateway_has_no_relative_import() -> None:
    for file in _HEADWALL.rglob("*.py"):
        nodes = (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom))
        assert not any(node.level for node in nodes), file


@pytest.mark.parametrize("package", _table())
def test_package_imports_only_what_the_table_allows(package: str) -> None:
    allowed = _table()[package] | {package}
    for file in _files(package):
        ours = {name.split(".")[1] for name in _imported(file) if name.startswith("headwall.")}
        assert ours <= allowed, f"{file.relative_to(_CHECKOUT)} imports {ours - allowed}"


@pytest.mark.parametrize("package", _table())
def test_table_allows_nothing_that_is_not_used(package: str) -> None:
    if package in ("ops", "cli"):
        return  # they may use everything
    used = {name.split(".")[1] for file in _files(package) for name in _imported(file) if name.startswith("headwall.")}
    assert _table()[package] <= used


@pytest.mark.parametrize("package", ["errors", "clock", "units", "wire", "law", "hydrology", "registry"])
def test_package_below_the_ledger_knows_no_storage_network_or_mail(package: str) -> None:
    barred = {"sqlalchemy", "alembic", "paho", "influxdb_client", "smtplib", "socket", "fastapi"}
    for file in _files(package):
        assert not barred & {name.split(".")[0] for name in _imported(file)}, file


def test_gateway_imports_no_tools_and_firmware_no_gateway() -> None:
    for file in _HEADWALL.rglob("*.py"):
        assert not {"headwall_sim", "headwall_board"} & {name.split(".")[0] for name in _imported(file)}, file
    for file in (_CHECKOUT / "firmware").rglob("*.py"):
        roots = {name.split(".")[0] for name in _imported(file)}
        assert not roots & {"headwall", "headwall_sim", "headwall_board"}, file
