"""Synthetic years of an outfall whose truth is known, to judge rules that look for illicit discharges.

year.py makes a year, truth.py says what a rule may see and what it may not, score.py compares, fixed_threshold.py is
the plain rule to compare with. The generator was committed before any rule and does not change after it: seeds of
TUNING_SEEDS are for building a rule, HELD_OUT_SEEDS are looked at once, to report.
"""

TUNING_SEEDS = range(24)
HELD_OUT_SEEDS = range(1000, 1024)
