"""Where the real parts are that tests and demo run against, and how to get the ones that are not here.

HEADWALL_HIDE names parts (comma-separated) that are to be treated as absent, so that the ways round them
can be tried on a machine that has them all.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

INFLUXDB_VERSION = "2.8.0"
#: part → how to get it
PARTS = {
    "mosquitto": "make system-deps, or apt-get install mosquitto; it must be on the PATH",
    "influxdb": "make system-deps, or tools/build_influxdb.sh (needs go, cargo and clang; about 5 minutes)",
    "chromium": "make system-deps, or apt-get install chromium",
    "postgresql": "make system-deps, or apt-get install postgresql",
}


def cache_folder() -> Path:
    """Where built parts are kept: HEADWALL_CACHE, else ~/.cache/headwall."""
    return Path(os.environ.get("HEADWALL_CACHE") or Path.home() / ".cache" / "headwall")


def find(part: str) -> Path | None:
    """The program of a part, or None where it is absent or hidden.

    Raises:
        ValueError: there is no part of that name.
    """
    if part not in PARTS:
        raise ValueError(f"no part {part!r}; there are {', '.join(PARTS)}")
    if _is_hidden(part):
        return None
    if part == "influxdb":
        return _which("influxd") or _in_cache()
    if part == "postgresql":
        return _which("pg_ctl") or _debian_pg_ctl()
    if part == "chromium":
        return _which("chromium") or _which("chromium-browser") or _which("google-chrome")
    return _which(part)


def why_absent(part: str) -> str:
    """One line that says that a part is absent and how to get it."""
    if _is_hidden(part):
        return f"{part} is hidden by HEADWALL_HIDE"
    if part == "mosquitto" and Path("/usr/sbin/mosquitto").exists():
        return "mosquitto is at /usr/sbin/mosquitto, but that folder is not on the PATH: add it"
    return f"{part} is absent: {PARTS[part]}"


def _is_hidden(part: str) -> bool:
    return part in os.environ.get("HEADWALL_HIDE", "").replace(" ", "").split(",")


def _which(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found) if found else None


def _in_cache() -> Path | None:
    built = cache_folder() / f"influxdb-{INFLUXDB_VERSION}" / "influxd"
    return built if os.access(built, os.X_OK) else None


def _debian_pg_ctl() -> Path | None:
    """Debian keeps the server's programs off the PATH, one folder a version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return found[-1] if found else None
