"""Fixtures of the tests that run the board's files in the real MicroPython."""

from __future__ import annotations

from pathlib import Path

import mp
import pytest


@pytest.fixture(params=["py", "mpy"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The board's files as text and as compiled for a release: the test runs with both. Gives their folder."""
    folder = mp.FIRMWARE if request.param == "py" else mp.compiled()
    monkeypatch.setattr(mp, "library", folder)
    return folder
