"""Settings of the service (headwall.toml), validated as a whole: every fault is reported at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from headwall.errors import ConfigurationError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BrokerSettings(_Section):
    """The way to the broker."""

    host: str
    port: int = Field(default=8883, gt=0, lt=65536)
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    ca_file: Path | None = None  # None: the system's trust store
    tls: bool = True


class MqttSettings(BrokerSettings):
    protocol: Literal["5", "3.1.1"] = "5"
    client_id: str = "headwall-gateway"
    receive_maximum: int = Field(default=2000, gt=0, lt=65536)


class LedgerSettings(_Section):
    url: str = "sqlite:///headwall.db"
    attachments: Path = Path("attachments")  # photos and documents of the log book; beside a SQLite ledger if not set


class InfluxSettings(_Section):
    url: str = "http://127.0.0.1:8086"  # InfluxDB's own port on this machine
    org: str
    bucket: str
    token: SecretStr | None = None
    token_file: Path | None = None
    batch: int = Field(default=5000, gt=0, le=50000)
    retention_days: int | None = Field(default=None, gt=0)  # of the bucket, to warn before it drops old points


class SmtpSettings(_Section):
    host: str
    port: int = Field(default=587, gt=0, lt=65536)
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    sender: str
    timeout_s: float = Field(default=20, gt=0)
    give_up_after_h: float = Field(default=48, gt=0)


_TIME = r"([01]\d|2[0-3]):[0-5]\d"
_SPAN = f"^({_TIME}-{_TIME})?$"
_Hours = Annotated[float, Field(gt=0)]


class NotifySettings(_Section):
    digest_at: str = Field(default="07:00", pattern=f"^{_TIME}$")  # local time of the municipality
    group_s: float = Field(default=900, ge=0)  # after a mail, further facts to the same person wait for each other
    late_after_min: float = Field(default=60, gt=0)  # a duty learned later than this after its crossing says so
    late_settle_s: float = Field(default=10, ge=0)  # such a duty waits so long for the rest of the board's backlog
    public_url: str = "http://127.0.0.1:8080"
    remind_h: tuple[_Hours, ...] = (48, 4)  # so long before something is due, its officer is reminded
    escalate_h: float = Field(default=24, gt=0)  # so long after it was due the next person is told, and again the next
    daily_list: bool = True  # the digest lists what is open in each municipality
    due_soon_h: float = Field(default=72, gt=0)  # and what of it is due within
    quiet: str = Field(default="21:00-06:00", pattern=_SPAN)  # local time; what can wait waits; "" for none
    quiet_in: dict[str, Annotated[str, Field(pattern=_SPAN)]] = {}  # by municipality, where it differs
    urgent_h: float = Field(default=48, ge=0)  # what is due within does not wait for the end of the quiet hours
    storm_mails: int = Field(default=3, gt=0)  # so many mails at once to a person about one storm; the rest in one more
    storm_apart_h: float = Field(default=6, gt=0)  # that mail goes when it has been dry for so long,
    storm_due_h: float = Field(default=12, gt=0)  # or so long before the first of it is due
    flap_h: float = Field(default=6, ge=0)  # what clears and comes again within goes into the digest
    link_days: float = Field(default=60, gt=0)  # how long the link of a mail holds
    link_key: Path | None = None  # signs links; made on first use, beside a SQLite ledger or the settings if not set

    @property
    def late_after_us(self) -> int:
        return round(self.late_after_min * 60e6)

    def quiet_of(self, municipality: str) -> tuple[str, str] | None:
        """From when to when it is quiet there, as local "HH:MM"; None where it never is."""
        begins, _, ends = self.quiet_in.get(municipality, self.quiet).partition("-")
        return (begins, ends) if begins != ends else None


class WebSettings(_Section):
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, lt=65536)
    enabled: bool = True


class IngestSettings(_Section):
    batch_messages: int = Field(default=500, gt=0)
    future_tolerance_s: float = Field(default=300, ge=0)  # a reading later than this is quarantined: clock_future
    oldest: str = "2020-01-01"  # a reading before this is quarantined: clock_past


class RulesSettings(_Section):
    batch_readings: int = Field(default=5000, gt=0)
    historical_after_days: float = Field(default=30, gt=0)  # a duty learned so long after its crossing is not mailed


class Settings(_Section):
    """The whole of headwall.toml. Paths in it are relative to the file."""

    registry: Path
    mqtt: MqttSettings
    ledger: LedgerSettings = LedgerSettings()
    influx: InfluxSettings | None = None
    smtp: SmtpSettings
    notify: NotifySettings = NotifySettings()
    web: WebSettings = WebSettings()
    ingest: IngestSettings = IngestSettings()
    rules: RulesSettings = RulesSettings()
    clock: str = "system"  # or "simulation:SOCKET", for the demo and tests


class StationSettings(_Section):
    """The whole of station.toml. Paths in it are relative to the file."""

    node: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    mac: str = Field(pattern=r"^[0-9a-f]{12}$")
    name: str = Field(default="air", pattern=r"^[a-z0-9][a-z0-9_]{0,15}$")
    address: int = Field(default=0x77, ge=0x76, le=0x77)
    period_s: int = Field(default=300, ge=10, le=86400)
    store: Path
    mqtt: BrokerSettings  # under its node's account


_File = TypeVar("_File", Settings, StationSettings)
#: section and key → the key that a file of that name fills in
_SECRET_FILES = {
    ("mqtt", "password_file"): "password",
    ("influx", "token_file"): "token",
    ("smtp", "password_file"): "password",
}
_PATHS = {
    ("registry",),
    ("store",),
    ("ledger", "attachments"),
    ("notify", "link_key"),
    ("mqtt", "ca_file"),
    ("smtp", "ca_file"),
    *_SECRET_FILES,
}
_SQLITE = "sqlite:///"


def load_settings(path: Path) -> Settings:
    """Read and validate a settings file; relative paths in it, of the SQLite ledger too, become absolute.

    Secrets are read from `password_file` and `token_file` into `password` and `token`.

    Raises:
        ConfigurationError: names every fault, each with its key.
    """
    raw = _read_toml(path)
    _place_ledger(raw, path.resolve().parent)
    return _validated(raw, path, Settings)


def load_station_settings(path: Path) -> StationSettings:
    """Read and validate the settings file of a station, as `load_settings` does.

    Raises:
        ConfigurationError: names every fault, each with its key.
    """
    return _validated(_read_toml(path), path, StationSettings)


def _validated(raw: dict[str, Any], path: Path, kind: type[_File]) -> _File:
    faults: list[str] = []
    for keys in sorted(_PATHS):
        _make_absolute(raw, keys, path.resolve().parent)
    for keys, target in _SECRET_FILES.items():
        _read_secret(raw, keys, target, faults)
    try:
        settings = kind.model_validate(raw)
    except ValidationError as error:
        faults += [_fault(detail) for detail in error.errors()]
        raise ConfigurationError(str(path), faults) from None
    faults += _missing_files(settings)
    if faults:
        raise ConfigurationError(str(path), faults)
    return settings


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(str(path), ["there is no such file; give another with --config"]) from None
    except OSError as error:
        raise ConfigurationError(str(path), [f"cannot be read: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(path), [f"is not TOML: {error}"]) from None


def _section(raw: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The table that holds the last of `keys`; an empty one where it is absent or no table."""
    found: Any = raw
    for key in keys[:-1]:
        found = found.get(key)
        if not isinstance(found, dict):
            return {}
    return found  # type: ignore[no-any-return]


def _make_absolute(raw: dict[str, Any], keys: tuple[str, ...], folder: Path) -> None:
    section = _section(raw, keys)
    if isinstance(section.get(keys[-1]), str):
        section[keys[-1]] = str(folder / section[keys[-1]])


def _read_secret(raw: dict[str, Any], keys: tuple[str, ...], target: str, faults: list[str]) -> None:
    section = _section(raw, keys)
    name = section.get(keys[-1])
    if not isinstance(name, str):
        return
    where = ".".join(keys)
    if target in section:
        faults.append(f"{where}: give either {target} or {keys[-1]}, not both")
        return
    try:
        section[target] = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        faults.append(f"{where}: {name} cannot be read ({reason}); write the {target} into it, readable by headwall")
        return
    if not section[target]:
        faults.append(f"{where}: {name} is empty; write the {target} into it")


def _place_ledger(raw: dict[str, Any], folder: Path) -> None:
    ledger = raw.setdefault("ledger", {})
    url = ledger.setdefault("url", LedgerSettings().url) if isinstance(ledger, dict) else None
    if isinstance(url, str) and url.startswith(_SQLITE) and url not in (_SQLITE, f"{_SQLITE}:memory:"):
        file = folder / url.removeprefix(_SQLITE)
        ledger["url"] = _SQLITE + str(file)
        ledger.setdefault("attachments", str(file.parent / "attachments"))
        _set_link_key(raw, str(file.parent / "link.key"))
    elif isinstance(ledger, dict):
        ledger.setdefault("attachments", "attachments")
        _set_link_key(raw, "link.key")


def _set_link_key(raw: dict[str, Any], file: str) -> None:
    notify = raw.setdefault("notify", {})
    if isinstance(notify, dict):
        notify.setdefault("link_key", file)


def _missing_files(settings: Settings | StationSettings) -> list[str]:
    named: dict[str, Path | None] = {"mqtt.ca_file": settings.mqtt.ca_file}
    if isinstance(settings, Settings):
        named = {"registry": settings.registry, **named, "smtp.ca_file": settings.smtp.ca_file}
    return [f"{key}: there is no file {file}" for key, file in named.items() if file is not None and not file.is_file()]


def _fault(detail: Mapping[str, Any]) -> str:
    """One fault of pydantic as a line that starts with the key; never with the value, which may be a secret."""
    key = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        return f"{key}: there is no such key; see docs/operator.md for those there are"
    if detail["type"] == "missing":
        return f"{key}: is needed and not given"
    return f"{key}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
