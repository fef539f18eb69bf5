"""How much of a long test is run: `make test` repeats less of the same kind, HEADWALL_LONG=1 all of it."""

from __future__ import annotations

import os

LONG = os.environ.get("HEADWALL_LONG") == "1"
