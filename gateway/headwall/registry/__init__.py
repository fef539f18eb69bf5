"""The dated registry: who and what stands where, and since when."""

from headwall.registry.load import load_registry
from headwall.registry.registry import Registry

__all__ = ["Registry", "load_registry"]
