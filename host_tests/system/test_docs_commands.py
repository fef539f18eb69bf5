"""Whatever README.md and docs/ tell a reader to type works: each command of a ```console block runs as printed.

A line that begins with "$ " is a command, further lines up to the next one are what it prints; nothing printed means
that only its exit code is looked at. In printed output "…" stands for any text, alone on a line for any lines. A
command whose output begins with "headwall: " ends with 1, every other with 0. Commands that cannot run in a test
stand in COVERED with what is looked at instead; one that stands nowhere is run.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest
from headwall.law.profile import load_profile
from headwall.registry import model as registry_model
from headwall.registry.load import load_registry
from headwall.settings import Settings, load_settings
from headwall.wire.senml import decode
from pydantic import BaseModel
from support.docs_house import CHECKOUT, EXAMPLES, DocsHouse

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?:^|[\s:/])((?:deploy|docs|firmware|tools|host_tests)/[\w./-]+)")
#: commands that end only by Ctrl-C → what they say once they run
_UNTIL = {"headwall run": "running"}


class Printed(NamedTuple):
    """A command as a page prints it, with its output."""

    page: str
    line: int
    command: str
    output: list[str]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.command}"


def pages() -> list[str]:
    found = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("**/*.md"))]
    return [str(page.relative_to(CHECKOUT)) for page in found]


def printed(page: str) -> Iterator[Printed]:
    """The commands of a page in order."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        current: Printed | None = None
        for number, row in enumerate(block[1].splitlines(), line):
            if current is not None and current.command.endswith("\\") and not current.output:
                current = current._replace(command=current.command[:-1] + row.strip())
            elif row.startswith("$ "):
                if current is not None:
                    yield current
                current = Printed(page, number, row.removeprefix("$ "), [])
            else:
                assert current is not None, f"{page}:{number}: output without a command"
                current.output.append(row)
        if current is not None:
            yield current


# --- commands that cannot run in a test ---


def _make_target_exists(command: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert command.split()[1] in targets, f"the Makefile has no target {command.split()[1]}"


def _paths_exist(command: str) -> None:
    for path in _PATH.findall(command):
        assert (CHECKOUT / path).exists(), f"there is no {path}"


def _tested_by(*tests: str) -> Callable[[str], None]:
    def look(command: str) -> None:
        _paths_exist(command)
        for test in tests:
            file, _, name = test.partition("::")
            assert (CHECKOUT / "host_tests" / file).is_file(), f"{file} is to cover this"
            assert not name or f"def {name}(" in (CHECKOUT / "host_tests" / file).read_text(), f"{test} is gone"

    return look


#: pattern of a command → what is looked at instead of running it
COVERED: dict[str, Callable[[str], None]] = {
    r"make demo.*|make test.*|make bench|make lint|make system-deps|make setup|make": lambda command: (
        _make_target_exists(command if " " in command else "make help")
    ),
    r"sudo (cp|make|mkdir|chown|chmod|useradd|apt-get|systemctl|journalctl|mosquitto_passwd|-u mosquitto) .*": (
        _tested_by(
            "system/test_deploy.py::test_shipped_mosquitto_conf_is_accepted_by_mosquitto",
            "system/test_broker_recovery.py::test_corrupt_database_is_refused_and_broker_serves_without_it",
        )
    ),
    r"docker compose .*": _paths_exist,
    r"tools/build_influxdb\.sh": _tested_by("system/test_parts.py"),
    r"headwall board flash .*": _tested_by("system/test_flash_board.py"),
    r"git (pull|diff .*)": _paths_exist,
    r"HEADWALL_UPDATE_GOLDEN=1 .*": _tested_by("gateway/test_mail_golden.py"),
}


def _covered(command: str) -> Callable[[str], None] | None:
    return next((look for pattern, look in COVERED.items() if re.fullmatch(pattern, command)), None)


# --- output ---


def matches(wanted: list[str], said: list[str]) -> bool:
    """Whether the output is as printed, with "…" for any text and a line of "…" for any lines."""
    parts = [r"(?:.*\n)*?" if row.strip() == "…" else _row(row) for row in wanted]
    return re.fullmatch("".join(parts), "".join(f"{row.rstrip()}\n" for row in said)) is not None


def _row(row: str) -> str:
    return ".*".join(re.escape(part) for part in row.rstrip().split("…")) + r" *\n"


@pytest.mark.parametrize(
    ("wanted", "said", "alike"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "…"], ["a", "b", "c"], True),
        (["…", "c"], ["a", "b"], False),
        (["due … EDT"], ["due Jun 11 15:42 EDT"], True),
        (["due … EDT"], ["due Jan 11 15:42 EST"], False),
    ],
)
def test_output_is_compared_but_for_dots(wanted: list[str], said: list[str], alike: bool) -> None:
    assert matches(wanted, said) is alike


# --- the tests ---

PREPARED: dict[str, Callable[[DocsHouse], None]] = {
    "docs/officer.md": DocsHouse.let_it_rain,
    "docs/by-hand.md": DocsHouse.measure_a_tank,
    "docs/operator.md": DocsHouse.send_unregistered,
    "docs/values.md": DocsHouse.let_it_rain,
    "docs/installer.md": DocsHouse.practise,
}
#: commands of a page that stay while the reader goes on → what they say once they run
STAYING: dict[str, dict[str, str]] = {
    "docs/installer.md": {
        "mosquitto -c": "running",
        "headwall run": "running",
        "headwall board simulate": "A simulated board",
    }
}
NEEDS_PARTS = {"docs/installer.md": ("mosquitto",), "docs/operator.md": ("mosquitto", "influxdb")}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in pages() if list(printed(page))])
def test_commands_of_a_page_do_what_it_prints(page: str, tmp_path: Path, needed: Callable[[str], Path]) -> None:
    for part in NEEDS_PARTS.get(page, ()):
        needed(part)
    house = DocsHouse(tmp_path / "headwall")
    PREPARED.get(page, lambda _: None)(house)
    with closing(house), house.parts() if page == "docs/operator.md" else nullcontext():
        _follow(page, house)


def _sign(signs: dict[str, str], command: str) -> str | None:
    return next((sign for start, sign in signs.items() if command.startswith(start)), None)


def _follow(page: str, house: DocsHouse) -> None:
    for one in printed(page):
        look = _covered(one.command)
        if look is not None:
            look(one.command)
            continue
        stays = _sign(STAYING.get(page, {}), one.command)
        done = house.stay(one.command, stays) if stays else house.run(one.command, _sign(_UNTIL, one.command))
        wanted_code = 1 if one.output and one.output[0].startswith("headwall: ") else 0
        assert done.returncode == wanted_code, f"{one}\nended with {done.returncode}:\n{done.stdout}"
        if one.output:
            assert matches(one.output, done.stdout.splitlines()), f"{one}\nsaid:\n{done.stdout}"


@pytest.mark.parametrize("page", pages())
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[\w-]*)?\)", text):
        if "://" not in target:
            assert ((CHECKOUT / page).parent / target).exists(), f"{page} links to {target}"


def test_example_settings_are_accepted_and_name_every_key(tmp_path: Path) -> None:
    house = DocsHouse(tmp_path / "headwall")
    load_settings(house.folder / "headwall.toml")
    text = (EXAMPLES / "headwall.toml").read_text()
    for section, key in _keys(Settings):
        if key not in ("password", "token"):  # better in a file
            assert re.search(rf"^{key} = |`{section}.{key}`", text, re.MULTILINE), (
                f"{section}.{key} is not in the example"
            )


def test_example_registry_holds_together() -> None:
    registry = load_registry(EXAMPLES / "registry.toml")
    assert [node.id for node in registry.nodes] == ["gauge-a"]
    assert [site.id for site in registry.sites] == ["sawmill-north"]
    assert load_profile(registry.municipalities[0].profile).municipality == registry.municipalities[0].name


def test_operators_page_explains_every_key_of_settings_and_registry() -> None:
    text = (CHECKOUT / "docs" / "operator.md").read_text(encoding="utf-8")
    settings, _, registry = text.partition("## registry.toml")
    for section, key in _keys(Settings):
        assert f"`{section}.{key}`" in settings if section else f"`{key}`" in settings, f"{section}.{key}"
    for section, key in _keys(registry_model.RegistryFile):
        assert f"`{key}`" in registry, f"{section}.{key} of the registry"


def test_installers_page_explains_every_key_of_a_board() -> None:
    text = (CHECKOUT / "docs" / "installer.md").read_text(encoding="utf-8")
    source = (CHECKOUT / "firmware/lib/headwall_node/config.py").read_text(encoding="utf-8")
    keys = re.findall(r'^    "(\w+)": \(', source, re.MULTILINE)
    assert len(keys) > 20
    missing = [key for key in keys if f"`{key}`" not in text]
    assert missing == []


def test_wire_pages_pack_is_taken_by_the_gateway() -> None:
    text = (CHECKOUT / "docs" / "wire.md").read_text(encoding="utf-8")
    example = (EXAMPLES / "pack.json").read_text(encoding="utf-8")
    assert example.strip() in text
    pack = decode(example.encode())
    assert f"journal `{pack.jid}`" in text
    assert [record.null_reason for record in pack.records] == [None, None, None, "stuck"]


def test_contributors_table_of_imports_is_what_the_code_does() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", (CHECKOUT / "docs/contributor.md").read_text(), re.MULTILINE
    )
    packages = [name for name, _ in rows]
    allowed = {
        name: set(packages[:n]) if "everything" in text else set(re.findall(r"\w+", re.sub(r"\([^)]*\)", "", text)))
        for n, (name, text) in enumerate(rows)
    }
    found = dict(_imports())
    assert set(packages) == set(found) - {"__init__", "__main__"}
    assert {name: extra for name in packages if (extra := found[name] - allowed[name])} == {}
    for n, name in enumerate(packages):
        assert found[name] <= set(packages[:n]), f"{name} imports from below"


def _imports() -> Iterator[tuple[str, set[str]]]:
    """What each package of the gateway imports of the others."""
    root = CHECKOUT / "gateway" / "headwall"
    for entry in sorted(root.iterdir()):
        files = list(entry.glob("**/*.py")) if entry.is_dir() else [entry]
        used: set[str] = set()
        for node in (node for file in files if file.suffix == ".py" for node in ast.walk(ast.parse(file.read_text()))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "headwall":
                used |= {node.module.split(".")[1]} if "." in node.module else {name.name for name in node.names}
        if files and entry.name != "__pycache__":
            yield entry.stem, used - {entry.stem}


def test_partition_table_leaves_room_for_a_journal() -> None:
    """Each partition begins where the one before ends, and the last ends with the flash."""
    lines = (EXAMPLES / "partitions-4MiB.csv").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if not line.startswith("#")]
    spans = [(int(offset, 16), int(size, 16)) for _, _, _, offset, size in rows]
    assert [start + size for start, size in spans] == [start for start, _ in spans[1:]] + [4 * 1024 * 1024]
    assert all(start % 4096 == size % 4096 == 0 for start, size in spans)
    assert rows[-1][:2] == ["journal", "data"]


def test_example_of_a_boards_settings_is_accepted_by_the_board() -> None:
    with_secrets = json.loads((EXAMPLES / "config.json").read_text()) | json.loads(
        (EXAMPLES / "secrets.json").read_text()
    )
    check = "import json, sys; from headwall_node.config import validate; print(validate(json.load(sys.stdin)))"
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=CHECKOUT / "firmware" / "lib",
        input=json.dumps(with_secrets),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def _keys(model: type[BaseModel], section: str = "") -> Iterator[tuple[str, str]]:
    """(section, key as written in TOML) of every leaf of a settings or registry model, sections included."""
    for name, field in model.model_fields.items():
        inner = _models_in(field.annotation)
        if not inner or section:
            yield section, field.alias or name
        for sub in inner:
            yield from _keys(sub, field.alias or name)


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]
