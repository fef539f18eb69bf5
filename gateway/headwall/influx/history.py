"""What a datastream read between two instants, from the ledger or from InfluxDB, alike.

The ledger is the truth; InfluxDB takes the load of charts off it. Both give the same readings once the forwarder
has caught up (tests run one suite over both).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

import msgspec
import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException

from headwall.clock import to_us
from headwall.errors import HeadwallError
from headwall.influx.lines import series_of
from headwall.ledger.ledger import Ledger
from headwall.ledger.reads import readings_of
from headwall.settings import InfluxSettings

#: milliseconds; a year of minutes takes seconds
_CONNECT_TIMEOUT_MS, _READ_TIMEOUT_MS = 3_000, 60_000
#: what may stand in a query as a node, measurement or sensor (see the registry's patterns)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class HistoryUnavailableError(HeadwallError):
    """InfluxDB did not answer a query; the ledger still can."""


class Past(msgspec.Struct, frozen=True, gc=False):
    """One reading as it was.

    Attributes:
        time_us: UTC instant.
        value: in the SenML unit of the quantity; None for a null, with its reason.
        total: the journal's running count, where the sensor counts.
        jid, seq: with the node, its identity.
    """

    time_us: int
    value: float | None
    null_reason: str | None
    total: int | None
    jid: str
    seq: int


class History(Protocol):
    """Where the past can be read."""

    def readings(self, node: str, stream: str, start_us: int, end_us: int) -> list[Past]:
        """Readings of a datastream with start_us <= time < end_us, in order of time, journal and number.

        Nulls are in; quarantined readings and those without a known time are not.
        """


class LedgerHistory:
    """The past from the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def readings(self, node: str, stream: str, start_us: int, end_us: int) -> list[Past]:
        with self._ledger.read() as conn:
            found = readings_of(conn, node, stream, start_us, end_us)
        return [
            Past(r.time_us, r.value, r.null_reason, r.total, r.jid, r.seq)
            for r in found
            if r.time_us is not None and r.quarantine is None
        ]


class InfluxHistory:
    """The past from InfluxDB, as far as the forwarder has come and the bucket keeps."""

    def __init__(self, settings: InfluxSettings) -> None:
        self._bucket = settings.bucket
        self._where = f"{settings.url}, bucket {settings.bucket}"
        self._client = InfluxDBClient(
            url=settings.url,
            token=settings.token.get_secret_value() if settings.token else "",
            org=settings.org,
            timeout=(_CONNECT_TIMEOUT_MS, _READ_TIMEOUT_MS),
        )

    def readings(self, node: str, stream: str, start_us: int, end_us: int) -> list[Past]:
        if end_us <= start_us:  # InfluxDB calls an empty range an error
            return []
        return sorted(self._rows(self._flux(node, stream, start_us, end_us)), key=lambda p: (p.time_us, p.jid, p.seq))

    def close(self) -> None:
        """Release the connections."""
        self._client.close()  # type: ignore[no-untyped-call]

    def _flux(self, node: str, stream: str, start_us: int, end_us: int) -> str:
        measurement, sensor = series_of(stream)
        for name in (node, measurement, sensor):
            if not _PLAIN_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a node or stream")
        steps = [
            f'from(bucket: "{self._bucket}")',
            f"range(start: time(v: {start_us * 1000}), stop: time(v: {end_us * 1000}))",
            f'filter(fn: (r) => r._measurement == "{measurement}" and r.node == "{node}" and r.sensor == "{sensor}")',
            'pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")',
        ]
        return " |> ".join(steps)

    def _rows(self, flux: str) -> Iterator[Past]:
        try:
            answer = self._client.query_api().query_raw(flux)
            text = answer.data.decode("utf-8")
        except (ApiException, urllib3.exceptions.HTTPError) as error:
            said = error.message if isinstance(error, ApiException) else error
            raise HistoryUnavailableError(f"InfluxDB at {self._where} did not answer a query: {said}") from error
        for table in text.replace("\r\n", "\n").split("\n\n"):
            lines = [line for line in table.split("\n") if line and not line.startswith("#")]  # "#": annotations
            for row in csv.DictReader(lines):
                if not row.get("quarantine"):
                    yield _past(row)


def _past(row: dict[str, str]) -> Past:
    value, total = row.get("value"), row.get("total")
    return Past(
        time_us=to_us(datetime.fromisoformat(row["_time"])),  # cuts the nanoseconds that tell readings apart
        value=float(value) if value else None,
        null_reason=row.get("reason") or None,
        total=int(float(total)) if total else None,
        jid=row["jid"],
        seq=int(float(row["seq"])),
    )
