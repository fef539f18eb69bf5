"""Headwall: from field sensors to the duties of a municipal stormwater code."""

__version__ = "0.1.0"
