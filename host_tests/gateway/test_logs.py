"""Where log lines go."""

from __future__ import annotations

import io

import pytest
import structlog
from headwall.ops.logs import configure_logs


def test_a_logger_outlives_the_standard_error_it_was_first_used_with(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", before)
    configure_logs()
    log = structlog.get_logger("test")
    log.info("first")
    monkeypatch.setattr("sys.stderr", after)
    before.close()
    log.info("second")
    assert "second" in after.getvalue()
