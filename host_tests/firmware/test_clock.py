"""Uptime, UTC and SNTP on a board that may not know the time."""

from __future__ import annotations

import socket
import struct
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")

PRELUDE = """
import asyncio, machine
import time as real
from headwall_node import BUILD_MS, clock, sntp


class Fake:
    "Board time: 30-bit ticks as on ESP32, a time of day that is set only by the RTC."
    ticks, day_ms = 0, 0
    gmtime = staticmethod(real.gmtime)
    def ticks_ms(): return Fake.ticks % (1 << 30)
    def ticks_diff(a, b): return (a - b + (1 << 29)) % (1 << 30) - (1 << 29)
    def time_ns(): return Fake.day_ms * 1000000
    def pass_ms(ms): Fake.ticks += ms; Fake.day_ms += ms

def rtc(self, t):
    Fake.day_ms = real.mktime(t[:3] + t[4:7] + (0, 0)) * 1000 + t[7] // 1000
machine.RTC.datetime = rtc
"""
FAKE = PRELUDE + "clock.time = Fake\n"
T = 1781000000123


def run(script: str, prelude: str = FAKE) -> list[str]:
    return mp.run(prelude + f"T = {T}\n" + textwrap.dedent(script)).splitlines()


def test_uptime_survives_the_wrap_of_the_ticks() -> None:
    said = run(
        """
        Fake.ticks = (1 << 30) - 5
        c = clock.Clock()
        wrong = 0
        for i in range(1, 60):       # 59 half-days: the ticks wrap twice
            Fake.pass_ms(43200000)
            wrong += c.uptime_ms() != i * 43200000
        print(wrong, c.up_at((Fake.ticks - 77) % (1 << 30)) - c.uptime_ms())
        """
    )
    assert said == ["0 -77"]


def test_uptime_read_inside_an_interrupt_counts_nothing_twice() -> None:
    said = run(
        """
        c = clock.Clock()
        Fake.pass_ms(1 << 28)
        real_diff = Fake.ticks_diff
        def diff(a, b):              # an interrupt comes in the middle of the calculation and reads the uptime too
            Fake.ticks_diff = real_diff
            Fake.pass_ms(7); c.uptime_ms(); Fake.pass_ms(1)
            return real_diff(a, b)
        Fake.pass_ms(5)
        Fake.ticks_diff = diff
        c.uptime_ms()
        print(c.uptime_ms() - (1 << 28))
        """
    )
    assert said == ["13"]


def test_utc_is_unknown_until_set_and_then_runs_with_the_uptime() -> None:
    said = run(
        """
        c = clock.Clock()
        print(c.utc_ms(), c.synced, c.anchor)
        Fake.pass_ms(1000)
        print(c.set_utc_ms(T, "ntp", up_ms=400), c.utc_ms() - T, c.utc_at(0) - T, c.source)
        Fake.pass_ms(50)
        print(c.anchor == (c.boot_id, 1050, T + 650), len(c.boot_id), Fake.day_ms - T)
        """
    )
    assert said == ["None False None", "True 600 -400 ntp", "True 8 650"]


@pytest.mark.parametrize("ms", [0, 946684800000, 1767225599999, 4102444800000, 2**62])
def test_absurd_time_is_refused(ms: int) -> None:
    assert run(f"""c = clock.Clock(); print(c.set_utc_ms({ms}, "ntp"), c.synced)""") == ["False False"]


def test_lesser_source_does_not_overrule_a_better_one_within_a_day() -> None:
    said = run(
        """
        c = clock.Clock()
        print(c.set_utc_ms(T, "ds3231"), c.set_utc_ms(T + 1, "custody"), c.set_utc_ms(T + 2, "ntp"),
              c.set_utc_ms(T + 3, "custody"), c.set_utc_ms(T + 4, "ntp"), c.utc_ms() - T)
        Fake.pass_ms(86400000)
        print(c.set_utc_ms(T + 5, "custody"), c.source)
        """
    )
    assert said == ["True True True False True 4", "True custody"]


def test_deep_sleep_keeps_boot_id_uptime_and_time() -> None:
    said = run(
        """
        c = clock.Clock()
        c.set_utc_ms(T, "ntp"); Fake.pass_ms(5000)
        carried = c.carry()
        Fake.day_ms += 900000; Fake.ticks = 3            # asleep: only the time of day goes on
        d = clock.Clock(carried, slept=True)
        print(d.boot_id == c.boot_id, d.uptime_ms(), d.utc_ms() - T, d.source)
        """
    )
    assert said == ["True 905000 905000 ntp"]


def test_deep_sleep_without_known_time_can_be_dated_by_a_later_anchor() -> None:
    said = run(
        """
        c = clock.Clock(); Fake.pass_ms(5000)
        early = c.uptime_ms()
        carried = c.carry()
        Fake.day_ms += 900000; Fake.ticks = 3
        d = clock.Clock(carried, slept=True)
        print(d.synced)
        d.set_utc_ms(T, "ntp")
        boot, up, utc = d.anchor
        print(boot == c.boot_id, utc - (up - early) == T - 900000)
        carried = d.carry(); Fake.day_ms += 900000; Fake.ticks = 9
        print(clock.Clock(carried, slept=True).utc_ms() - T)
        """
    )
    assert said == ["False", "True True", "900000"]


def test_other_reset_keeps_the_time_under_a_new_boot_id() -> None:
    said = run(
        """
        c = clock.Clock(); c.set_utc_ms(T, "ntp"); Fake.pass_ms(5000)
        carried = c.carry(); Fake.day_ms += 2000; Fake.ticks = 0
        d = clock.Clock(carried)
        print(d.boot_id != c.boot_id, d.uptime_ms(), d.utc_ms() - T)
        """
    )
    assert said == ["True 0 7000"]


def test_age_of_the_time_counts_through_sleeps_and_resets() -> None:
    """Else a board that sleeps would never let the gateway correct a time that NTP told long ago."""
    said = run(
        """
        c = clock.Clock(); Fake.pass_ms(1000); c.set_utc_ms(T, "ntp"); Fake.pass_ms(5000)
        print(c.age_ms)
        for slept in (True, False, True):
            carried = c.carry(); Fake.day_ms += 30000000; Fake.ticks = 0
            c = clock.Clock(carried, slept)
            print(c.age_ms, c.before_ms)
        print(c.set_utc_ms(T + 7, "custody"), c.source)
        """
    )
    assert said == ["5000", "30005000 None", "60005000 60006000", "90005000 None", "True custody"]


def test_chip_corrects_the_time_after_a_sleep_and_the_source_stays() -> None:
    said = run(
        """
        c = clock.Clock(); c.set_utc_ms(T, "ntp")
        carried = c.carry(); Fake.day_ms += 1700000
        d = clock.Clock(carried, slept=True)
        d.agree(T + 1800000); up = d.uptime_ms()
        print(d.utc_ms() - T, d.source, d.age_ms, up)
        carried = d.carry(); Fake.day_ms += 1000
        print(clock.Clock(carried, slept=True).utc_ms() - T)
        """
    )
    assert said == ["1800000 ntp 1700000 1700000", "1801000"]


def test_whoever_keeps_the_time_is_told_when_it_is_set() -> None:
    said = run(
        """
        c = clock.Clock(); kept = []
        c.on_set = lambda: kept.append(c.carry())
        c.set_utc_ms(T, "ntp"); c.set_utc_ms(5, "ntp"); c.agree(T + 5)
        print(len(kept), clock.Clock(kept[-1]).utc_ms() - T)
        """
    )
    assert said == ["2 5"]


def test_carried_time_that_the_time_of_day_belies_is_not_trusted() -> None:
    said = run(
        """
        c = clock.Clock(); c.set_utc_ms(T, "ntp")
        carried = c.carry(); Fake.day_ms = 0
        print(clock.Clock(carried, slept=True).synced)
        """
    )
    assert said == ["False"]


def test_bootstrap_moves_the_time_of_day_for_tls_but_is_not_synced() -> None:
    said = run(
        """
        c = clock.Clock()
        c.bootstrap(); print(Fake.day_ms == BUILD_MS, c.synced, c.utc_ms())
        c.bootstrap(T); print(Fake.day_ms == T, c.synced, c.best_guess_ms(T) == T, c.best_guess_ms(5) == BUILD_MS)
        Fake.pass_ms(10); c.bootstrap(T); print(Fake.day_ms - T)
        carried = c.carry(); print(clock.Clock(carried, slept=True).synced)
        """
    )
    assert said == ["True False None", "True False True True", "10", "False"]


def test_port_whose_epoch_is_2000_gives_the_same_instants() -> None:
    said = run(
        """
        SHIFT = 946684800
        clock._EPOCH_MS = SHIFT * 1000
        Fake.gmtime = staticmethod(lambda s: real.gmtime(s + SHIFT))
        old = machine.RTC.datetime
        def rtc_2000(self, t): old(self, t); Fake.day_ms -= SHIFT * 1000
        machine.RTC.datetime = rtc_2000
        c = clock.Clock(); c.set_utc_ms(T, "ntp"); Fake.pass_ms(500)
        carried = c.carry(); Fake.day_ms += 1000; Fake.ticks = 0
        print(Fake.day_ms == T + 1500 - SHIFT * 1000, clock.Clock(carried, slept=True).utc_ms() - T)
        """
    )
    assert said == ["True 1500"]


def test_no_float_appears_in_any_time() -> None:
    said = run(
        """
        c = clock.Clock(); c.set_utc_ms(T, "ntp", 3); Fake.pass_ms(1234567)
        times = (c.uptime_ms(), c.utc_ms(), c.up_at(5), c.best_guess_ms(7)) + c.anchor[1:] + c.carry()[1:3]
        print(all(type(t) is int for t in times))
        """
    )
    assert said == ["True"]


# -- SNTP

NTP_EPOCH_S = 2208988800
Server = Callable[[bytes], list[bytes]]


def reply(request: bytes, ms: int = T, first: int = 0x24, stratum: int = 2) -> bytes:
    seconds = (ms // 1000 + NTP_EPOCH_S) % 2**32
    stamp = struct.pack(">II", seconds, (ms % 1000 << 32) // 1000 + 1)
    return struct.pack(">BB22x", first, stratum) + request[40:48] + stamp + stamp


@contextmanager
def ntp_server(answer: Server) -> Iterator[int]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(0.1)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                request, address = sock.recvfrom(100)
            except TimeoutError:
                continue
            for data in answer(request):
                sock.sendto(data, address)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield sock.getsockname()[1]
    finally:
        stop.set()
        thread.join()
        sock.close()


def ask(answer: Server, timeout_ms: int = 2000) -> list[str]:
    with ntp_server(answer) as port:
        return run(
            f"""
            c = clock.Clock()
            print(asyncio.run(sntp.ask(c, "127.0.0.1", {port}, {timeout_ms})))
            print(c.synced and 0 <= c.utc_ms() - T < 2000, c.source)
            """,
            PRELUDE,
        )


def test_sntp_sets_the_clock() -> None:
    assert ask(lambda request: [reply(request)]) == ["None", "True ntp"]


@pytest.mark.parametrize("first", [0x64, 0xA4])
def test_sntp_announcing_a_leap_second_is_believed(first: int) -> None:
    assert ask(lambda request: [reply(request, first=first)]) == ["None", "True ntp"]


def test_second_that_ntp_counts_twice_and_one_that_is_smeared_step_the_time_and_not_the_uptime() -> None:
    """NTP has no number for 23:59:60: it repeats a second, or a server stretches the hours around it."""
    said = run(
        """
        c = clock.Clock(); c.set_utc_ms(T, "ntp")
        told = []
        for off in (0, -1000, -1000, -500, -11):     # ms that the server is behind a clock that knows of no leap
            Fake.pass_ms(5000)
            c.set_utc_ms(T + c.uptime_ms() + off, "ntp"); told.append((c.uptime_ms(), c.utc_ms() - T - c.uptime_ms()))
        print(told)
        """
    )
    assert said == ["[(5000, 0), (10000, -1000), (15000, -1000), (20000, -500), (25000, -11)]"]


def test_sntp_ignores_a_reply_to_somebody_else() -> None:
    assert ask(lambda request: [reply(bytes(48), T + 10**9), reply(request)]) == ["None", "True ntp"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda request: [reply(request, stratum=0)], "kiss-o'-death"),
        (lambda request: [reply(request, first=0xE4)], "not synchronised"),
        (lambda request: [reply(request, stratum=16)], "not synchronised"),
        (lambda request: [reply(request, first=0x23)], "mode 3"),
        (lambda request: [reply(request)[:40] + bytes(8)], "empty time"),
        (lambda request: [reply(request)[:44]], "44 bytes"),
        (lambda request: [reply(request, ms=1_600_000_000_000)], "after 2100"),
        (lambda _: [b"\x24" + bytes(47)], "no answer in 300 ms"),
        (lambda _: [], "no answer in 300 ms"),
    ],
)
def test_sntp_reply_that_cannot_be_trusted_leaves_the_clock_unknown(answer: Server, why: str) -> None:
    first, second = ask(answer, 300)
    assert why in first
    assert second == "False None"


def test_sntp_fifty_failures_leave_no_socket_open_and_no_hold() -> None:
    with ntp_server(lambda _: []) as port:
        said = run(
            f"""
            import os
            from headwall_node import power
            c = clock.Clock()
            before = len(list(os.ilistdir("/proc/self/fd")))
            faults = 0
            for i in range(50):
                faults += asyncio.run(sntp.ask(c, "127.0.0.1", {port}, 1)) is not None
            print(faults, len(list(os.ilistdir("/proc/self/fd"))) - before, power.holds, c.synced)
            """,
            PRELUDE,
        )
    assert said == ["50 0 {} False"]


def test_sntp_to_a_name_that_does_not_exist_tells_why() -> None:
    (said,) = run("""print(asyncio.run(sntp.ask(clock.Clock(), "no-such-host.invalid", 123, 100)))""", PRELUDE)
    assert said.startswith("NTP server no-such-host.invalid:123 cannot be asked")


def test_ntp_time_is_exact_to_a_millisecond_on_both_sides_of_2036() -> None:
    said = run(
        f"""
        import struct
        wrong = 0
        def check(ms):
            global wrong
            stamp = struct.pack(">II", (ms // 1000 + {NTP_EPOCH_S}) % (1 << 32), ((ms % 1000 << 32) + 999) // 1000)
            wrong += sntp.ntp_time(b"\\x24\\x02" + bytes(38) + stamp, clock.BUILD_MS) != (ms, None)
        for ms in range(1767225600000, 4102444800000, 1000000007): check(ms)
        turn = 2085978496000         # 2036-02-07T06:28:16Z, written as 0: not to be told from an empty field
        for ms in range(turn - 10, turn + 10):
            if ms != turn: check(ms)
        print(wrong)
        """
    )
    assert said == ["0"]
