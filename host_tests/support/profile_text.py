"""The text of a profile that comes with headwall, for tests that change something in it."""

from __future__ import annotations

from importlib.resources import files


def profile_text(name: str) -> str:
    """Its TOML."""
    return files("headwall.law").joinpath("profiles", f"{name}.toml").read_text("utf-8")
