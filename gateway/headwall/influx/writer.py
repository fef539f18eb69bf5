"""One write to InfluxDB, and what its answer means for the points in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException

from headwall.settings import InfluxSettings

#: milliseconds; together below the ten seconds in which the service must stop
CONNECT_TIMEOUT_MS, READ_TIMEOUT_MS = 2000, 5000
#: a Retry-After beyond this is cut, so that a wrong one does not stop forwarding for days
LONGEST_WAIT_S = 3600.0


class Meaning(Enum):
    """What an answer means."""

    DONE = auto()  # every point is in
    TOO_LARGE = auto()  # nothing is in: send less at once
    UNPARSED = auto()  # nothing is in: some line is not line protocol
    PARTIAL = auto()  # all but `dropped` points are in
    REFUSED = auto()  # nothing is in, and waiting alone does not help: token, bucket, address
    BUSY = auto()  # nothing is known to be in: try again later


@dataclass(frozen=True)
class Answer:
    """The answer to a write.

    Attributes:
        detail: what InfluxDB or the network said, for people.
        dropped: PARTIAL: how many points are not in; 0 where it did not say.
        wait_s: BUSY: how long to wait where it was told.
    """

    meaning: Meaning
    detail: str = ""
    dropped: int = 0
    wait_s: float | None = None


class InfluxWriter:
    """Writes bodies of line protocol to one bucket, synchronously; never raises for what a server may do."""

    def __init__(self, settings: InfluxSettings) -> None:
        self.where = f"{settings.url}, organisation {settings.org}, bucket {settings.bucket}"
        self._bucket = settings.bucket
        self._client = InfluxDBClient(
            url=settings.url,
            token=settings.token.get_secret_value() if settings.token else "",
            org=settings.org,
            timeout=(CONNECT_TIMEOUT_MS, READ_TIMEOUT_MS),
            retries=False,  # urllib3 would try again at once and hide the reason; we wait and say so
        )
        self._api = self._client.write_api(write_options=SYNCHRONOUS)

    def write(self, lines: list[str]) -> Answer:
        """Send lines in one request and wait for the answer."""
        try:
            self._api.write(self._bucket, record="\n".join(lines).encode())
        except ApiException as error:
            return _answer(error)
        except urllib3.exceptions.HTTPError as error:
            return Answer(Meaning.BUSY, f"no answer ({_network_reason(error)})")
        return Answer(Meaning.DONE)

    def close(self) -> None:
        """Release the connections."""
        self._client.close()  # type: ignore[no-untyped-call]


def _answer(error: ApiException) -> Answer:
    status, detail = error.status or 0, _message(error)
    if status == 413:
        return Answer(Meaning.TOO_LARGE, detail)
    if status == 422:
        dropped = re.search(r"dropped=(\d+)", detail)
        return Answer(Meaning.PARTIAL, detail, dropped=int(dropped[1]) if dropped else 0)
    # every other 400 (unknown precision, no organisation, …) is about the request and would condemn good points
    if status == 400 and "unable to parse" in detail:
        return Answer(Meaning.UNPARSED, detail)
    if status == 429 or status >= 500:
        return Answer(Meaning.BUSY, detail, wait_s=_retry_after(error))
    return Answer(Meaning.REFUSED, detail)


def _message(error: ApiException) -> str:
    body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else str(error.body or error.reason)
    said = re.search(r'"message":\s*"((?:[^"\\]|\\.)*)"', body)
    return f"{error.status}: {said[1] if said else body[:500]}"


def _retry_after(error: ApiException) -> float | None:
    headers: Any = error.headers or {}
    told = headers.get("Retry-After")
    if told is None or not str(told).strip().isdigit():
        return None
    return min(float(told), LONGEST_WAIT_S)


def _network_reason(error: urllib3.exceptions.HTTPError) -> str:
    return str(error).split(": ", 1)[-1].strip(" '\"()") or type(error).__name__
