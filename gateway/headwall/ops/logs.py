"""How the service logs: one line an event, key=value for people, JSON for machines, to standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

import structlog


class _StandardError:
    """Standard error as it is when a line is written: whoever replaced it meanwhile may have closed the one before."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logs(*, json_lines: bool = False, level: int = logging.INFO) -> None:
    """Set up structlog for the process. Secrets never reach it: settings hold them as SecretStr."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, _StandardError())),
        cache_logger_on_first_use=True,
    )
