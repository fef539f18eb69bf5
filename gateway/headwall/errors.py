"""The exceptions a caller of headwall can meet. Every message says what, where, why and what to do."""

from __future__ import annotations


class HeadwallError(Exception):
    """Base of all errors that headwall raises on purpose; the CLI prints them without a traceback."""


class ConfigurationError(HeadwallError):
    """Settings or registry do not hold together. Carries every fault found, not only the first.

    Args:
        source: the file or other place the configuration came from.
        faults: one line a fault, each naming the key and what to write instead.
    """

    def __init__(self, source: str, faults: list[str]) -> None:
        self.source = source
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"{source}: {count}\n" + "\n".join(f"  - {fault}" for fault in faults))


class InputError(HeadwallError):
    """A data file cannot be taken as it is; the message gives file, line, reason and remedy."""


class UnknownThingError(HeadwallError):
    """A name or number given by a person (node, duty, datastream) does not exist here."""
