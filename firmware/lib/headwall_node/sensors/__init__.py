"""Drivers, one a file."""
