"""RTC memory, holds, deep sleep and the watchdog."""

from __future__ import annotations

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")


def test_rtc_memory_gives_back_all_that_was_saved() -> None:
    said = mp.run(
        """
        from headwall_node import power
        r = power.Retained()
        print(r.clock, r.custody, r.mode, r.closed, r.reported, r.pending)
        r.clock = ("0badcafe", 1781000000123, -7, "ntp", 1781000000100)
        r.custody = ("0123456789abcdef", 4000000000)
        r.mode, r.closed, r.reported[1] = b"x" * 64, 2, 1 << 41
        r.pace, r.orders, r.maintenance = b"p" * 64, b"o" * 64, (-1, 1 << 41)
        for i in range(power.PENDING_MAX):
            r.pending.append((i % 4, 4000000000 + i, "00c0ffee", (1 << 47) + i, None if i % 2 else 1781000000123))
        r.save()
        s = power.Retained()
        for name in ("clock", "custody", "mode", "pace", "orders", "maintenance", "closed", "reported", "pending"):
            print(getattr(s, name) == getattr(r, name))
        import machine
        print(len(machine.RTC.kept) <= 768)
        r.clock = ("0badcafe", 5, None, None, 5); r.save()
        print(power.Retained().clock)
        """
    )
    assert said.splitlines() == [
        "None None b'' 0 [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1] []",
        *["True"] * 10,
        "('0badcafe', 5, None, None, 5)",
    ]


def test_rtc_memory_after_power_loss_or_with_any_bit_flipped_reads_as_empty() -> None:
    said = mp.run(
        """
        import machine
        from headwall_node import power
        r = power.Retained()
        r.pending.append((0, 5, "00c0ffee", 12, None)); r.save()
        good = machine.RTC.kept
        wrong = 0
        for cut in range(len(good)):
            machine.RTC.kept = good[:cut]
            wrong += bool(power.Retained().pending)
        for bit in range(8 * len(good)):
            bad = bytearray(good); bad[bit // 8] ^= 1 << bit % 8
            machine.RTC.kept = bytes(bad)
            wrong += bool(power.Retained().pending)
        machine.RTC.kept = good
        print(wrong, len(power.Retained().pending))
        """
    )
    assert said == "0 1\n"


def test_save_interrupted_by_the_save_of_an_interrupt_keeps_what_the_interrupt_added() -> None:
    said = mp.run(
        """
        import machine
        from headwall_node import power, sleep
        r = power.Retained()
        real = machine.RTC.memory
        def memory(self, data=None):
            if data is not None and not r.pending:       # the tip comes after the first save was packed
                r.pending.append((0, 1, "00c0ffee", 12, None))
                r.save()
            return real(self, data)
        machine.RTC.memory = memory
        r.save()
        print(len(power.Retained().pending))
        """
    )
    assert said == "1\n"


def test_holds_count_and_an_extra_release_is_harmless() -> None:
    said = mp.run(
        """
        from headwall_node import power, sleep
        power.hold("a"); power.hold("a"); power.hold("b")
        power.release("a"); print(sorted(power.holds.items()))
        power.release("a"); power.release("b"); power.release("b"); print(power.holds)
        """
    )
    assert said == "[('a', 1), ('b', 1)]\n{}\n"


def test_deep_sleep_arms_open_contacts_and_leaves_closed_ones_to_the_timer() -> None:
    said = mp.run(
        """
        import esp32, machine
        from headwall_node import power, sleep
        a, b = machine.Pin(4), machine.Pin(5)
        a.level, b.level = 1, 0
        sleep.deep_sleep(60000, ((a, 0), (b, 1)))
        print(esp32.armed, machine.slept)
        esp32.armed.clear(); a.level = 0
        sleep.deep_sleep(0, ((a, 0), (b, 0)))
        print(esp32.armed, machine.slept)
        """
    )
    assert said == "{0: (4, 0), 1: ((5,), True)} [60000]\n{} [60000, 1]\n"


def test_reset_cause_and_waking_contact_are_told_in_the_words_of_the_contract() -> None:
    said = mp.run(
        """
        import machine
        from headwall_node import sleep
        for cause in range(1, 7):
            machine.cause = cause
            print(sleep.reset_cause(), end=" ")
        machine.cause = machine.DEEPSLEEP_RESET
        for machine.reason in (2, 3, 4): print(sleep.woken_by(), end=" ")
        machine.cause, machine.reason = machine.PWRON_RESET, 2
        print(sleep.woken_by())
        """
    )
    assert said == "power_on hard watchdog deep_sleep soft power_on 0 1 None None\n"


def test_watchdog_is_fed_only_while_every_task_progresses() -> None:
    said = mp.run(
        """
        import machine
        from headwall_node import power
        now = 0
        dog = power.Watchdog(60, lambda: now)
        dog.register("gauge", 20); dog.register("uplink", 30)
        print(dog.feed(), machine.fed)
        now = 25000
        dog.progress("uplink")
        print(dog.feed(), machine.fed)
        dog.progress("gauge")
        print(dog.feed(), machine.fed)
        now = 60000
        print(sorted(dog.feed()), machine.fed)
        dog.forget("gauge"); dog.progress("uplink")
        print(dog.feed(), machine.fed)
        try: dog.progress("other")
        except KeyError: print("unknown")
        """
    )
    assert said.splitlines() == ["[] 1", "['gauge'] 1", "[] 2", "['gauge', 'uplink'] 2", "[] 3", "unknown"]
