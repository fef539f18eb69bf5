"""Headwall's program for a sensor board: MicroPython 1.24 or newer on ESP32, and the Unix port in simulation."""

VERSION = "0.1.0"
#: no clock can rightly show less: 2026-01-01T00:00:00Z, raised with each release (milliseconds, Unix epoch)
BUILD_MS = 1767225600000
