"""Trying InfluxDB: address, then a point into the bucket. Its clock is compared with ours on the way."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from headwall.clock import Clock, to_us
from headwall.influx.writer import Answer, InfluxWriter, Meaning
from headwall.ops.checks.finding import Finding, fails, works
from headwall.settings import InfluxSettings

_TIMEOUT_S = 5.0
_MOST_APART_S = 5.0


def check_influx(settings: InfluxSettings, clock: Clock) -> Iterator[Finding]:
    """Reach it, compare clocks, write one point of measurement headwall_check."""
    try:
        with urllib.request.urlopen(f"{settings.url.rstrip('/')}/health", timeout=_TIMEOUT_S) as answer:
            said = answer.headers.get("Date")
    except urllib.error.HTTPError as error:
        mend = "set influx.url to InfluxDB 2 itself, such as http://127.0.0.1:8086"
        yield fails("InfluxDB", f"{settings.url} answers {error.code} to /health", mend)
        return
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        yield fails("InfluxDB", f"{settings.url} does not answer ({reason})", "start InfluxDB, or correct influx.url")
        return
    yield works("InfluxDB", f"{settings.url} answers")
    if said is not None:
        yield _compare(to_us(parsedate_to_datetime(said)), clock)
    yield _write(settings, clock)


def _compare(theirs_us: int, clock: Clock) -> Finding:
    apart_s = (clock.now_us() - theirs_us) / 1e6 - 0.5  # HTTP tells whole seconds
    if abs(apart_s) > _MOST_APART_S:
        what = f"this machine's clock is {apart_s:+.0f} s from InfluxDB's"
        return fails("clock and InfluxDB", what, "let NTP keep both clocks: due times are counted by ours")
    return works("clock and InfluxDB", "agree")


def _write(settings: InfluxSettings, clock: Clock) -> Finding:
    part = "InfluxDB write"
    writer = InfluxWriter(settings)
    try:
        answer = writer.write([f"headwall_check value=1 {clock.now_us() * 1000}"])
    finally:
        writer.close()
    if answer.meaning is Meaning.DONE:
        return works(part, f"a point written to bucket {settings.bucket}")
    return fails(part, f"{writer.where}: {answer.detail}", _mend(answer))


def _mend(answer: Answer) -> str:
    code = answer.detail.partition(":")[0]
    if code == "401":
        return "correct influx.token_file: the token is unknown or may not write this bucket"
    if code == "403":
        return "give the token write permission for the bucket"
    if code == "404":
        return "make the bucket, or correct influx.org and influx.bucket"
    return "see InfluxDB's own log"
