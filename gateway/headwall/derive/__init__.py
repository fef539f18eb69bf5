"""Derived values: dated layers over the ledger's readings, from calibration to flow, each of which can be explained."""
