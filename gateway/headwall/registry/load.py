"""Reading registry.toml: by shape first, then as a whole; every fault is reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import ValidationError

from headwall.errors import ConfigurationError
from headwall.registry.checks import faults_of
from headwall.registry.model import RegistryFile
from headwall.registry.registry import Registry


def load_registry(path: Path) -> Registry:
    """The registry in a TOML file.

    Raises:
        ConfigurationError: the file is missing, is no TOML, or does not hold together; carries every fault.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            str(path), [f"cannot be read: {error.strerror}; set `registry` to the file"]
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(path), [f"is not TOML: {error}"]) from error
    try:
        file = RegistryFile.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(str(path), [_line(fault) for fault in _details(error)]) from error
    faults = faults_of(file)
    if faults:
        raise ConfigurationError(str(path), faults)
    return Registry(file)


def _details(error: ValidationError) -> list[tuple[str, str]]:
    return [(".".join(str(part) for part in fault["loc"]), fault["msg"]) for fault in error.errors()]


def _line(fault: tuple[str, str]) -> str:
    where, what = fault
    return f"{where}: {what}"
