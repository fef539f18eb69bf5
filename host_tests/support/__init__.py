"""Helpers that tests of several parts share. The real servers' runners are in tools/headwall_sim."""
