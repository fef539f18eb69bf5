"""The trials of `headwall check`, one module a part."""
