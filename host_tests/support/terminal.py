"""A command at a terminal of its own, where it asks and a person types."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

_PATIENCE_S = 60


def typed(command: Sequence[str], folder: Path, dialogue: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run a command at a pseudo terminal; exit code, and all that was to be seen there.

    Args:
        dialogue: (what it asks, what is typed then), in order; typed once the question is to be seen.
    """
    master, slave = os.openpty()
    process = subprocess.Popen(
        command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, close_fds=True
    )
    os.close(slave)
    seen, answered = "", 0
    deadline = time.monotonic() + _PATIENCE_S
    waiting = list(dialogue)
    while True:
        if select.select([master], [], [], 0.2)[0]:
            try:
                seen += os.read(master, 65536).decode(errors="replace")
            except OSError:  # the other end is closed: it has ended
                break
        if waiting and waiting[0][0] in seen[answered:]:
            answered = len(seen)
            os.write(master, f"{waiting.pop(0)[1]}\n".encode())
        assert time.monotonic() < deadline, f"it asks for something else:\n{seen}"
    os.close(master)
    return process.wait(), seen
