"""Settings of the service (headwall.toml), validated as a whole: every fault is reported at once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MqttSettings(_Section):
    host: str
    port: int = Field(default=8883, gt=0, lt=65536)
    protocol: Literal["5", "3.1.1"] = "5"
    client_id: str = "headwall-gateway"
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    ca_file: Path | None = None  # None: the system's trust store
    tls: bool = True
    receive_maximum: int = Field(default=2000, gt=0, lt=65536)


class LedgerSettings(_Section):
    url: str = "sqlite:///headwall.db"


class InfluxSettings(_Section):
    url: str
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


class NotifySettings(_Section):
    digest_at: str = Field(default="07:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")  # local time of the municipality
    group_s: float = Field(default=900, ge=0)  # after a mail, further facts to the same person wait for each other
    public_url: str = "http://127.0.0.1:8080"


class WebSettings(_Section):
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, lt=65536)
    enabled: bool = True


class IngestSettings(_Section):
    batch_messages: int = Field(default=500, gt=0)
    future_tolerance_s: float = Field(default=300, ge=0)  # a reading later than this is quarantined: clock_future
    oldest: str = "2020-01-01"  # a reading before this is quarantined: clock_past


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
    clock: str = "system"  # or "simulation:SOCKET", for the demo and tests
