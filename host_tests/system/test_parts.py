"""The fixtures' servers answer, and an absent part skips or fails by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from headwall_sim.influx_server import InfluxServer

HOST_TESTS = Path(__file__).parents[1]


@pytest.mark.influxdb
def test_influx_bucket_is_new_and_empty(influx: InfluxServer) -> None:
    found = influx.call("GET", f"/api/v2/buckets?name={influx.bucket}")
    assert [bucket["name"] for bucket in found["buckets"]] == [influx.bucket]


@pytest.mark.influxdb
def test_influx_starts_again_after_kill(own_influx: InfluxServer) -> None:
    first = own_influx.pid
    own_influx.kill()
    own_influx.start()
    assert own_influx.pid not in (None, first)
    assert own_influx.call("GET", "/api/v2/buckets?name=first")["buckets"]


@pytest.mark.postgresql
def test_postgres_database_is_new_and_empty(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    with engine.connect() as conn:
        assert conn.scalar(sa.text("select count(*) from pg_tables where schemaname = 'public'")) == 0
    engine.dispose()


@pytest.mark.chromium
def test_chromium_runs(chromium_path: Path) -> None:
    said = subprocess.run([str(chromium_path), "--version"], capture_output=True, text=True, check=True).stdout
    assert "Chrom" in said


def run_inner(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest of its own, over one test that wants mosquitto and one that wants nothing."""
    test = tmp_path / "test_inner.py"
    test.write_text(
        "import pytest\n@pytest.mark.mosquitto\ndef test_wants(): pass\ndef test_other(): pass\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-c",
        str(HOST_TESTS.parent / "pyproject.toml"),
    ]
    command += ["--rootdir", str(tmp_path), "-p", "conftest", str(test)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADWALL_")}
    inner = {**kept, "PYTHONPATH": str(HOST_TESTS), **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=inner, check=False)


@pytest.fixture(params=["HIDE", "PATH"])
def hidden(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment without mosquitto and InfluxDB: by name, or really not to be found."""
    if request.param == "HIDE":
        return {"HEADWALL_HIDE": "mosquitto,influxdb"}
    return {"PATH": str(tmp_path), "HEADWALL_CACHE": str(tmp_path)}


def test_absent_part_skips_and_is_named_with_what_to_do(tmp_path: Path, hidden: dict[str, str]) -> None:
    run = run_inner(tmp_path, **hidden)
    assert run.returncode == 0, run.stdout
    assert "1 passed, 1 skipped" in run.stdout
    assert "mosquitto: 1 tests skipped; " in run.stdout
    assert "Next: make system-deps" in run.stdout


def test_absent_part_fails_the_run_where_all_are_required(tmp_path: Path, hidden: dict[str, str]) -> None:
    run = run_inner(tmp_path, HEADWALL_REQUIRE_PARTS="1", **hidden)
    assert run.returncode == 1
    assert "mosquitto: 1 tests failed; " in run.stdout
    assert "influxdb: 0 tests failed; influxdb is " in run.stdout
