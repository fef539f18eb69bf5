"""The journal as the rest of the node uses it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("form")

PRELUDE = """
import gc
from flash import BLOCK, NVS, Flash
from headwall_node.journal import Journal

T = 1781000000123
flash, nvs = Flash(4), NVS()
j = Journal(flash, nvs, b"uid")
"""


def run(script: str) -> str:
    return mp.run(PRELUDE + textwrap.dedent(script), heap="512K")


def test_append_and_mount_again_gives_every_field_back() -> None:
    said = run(
        """
        j.append_tip("rain.tips", T, None, None)
        j.append_tip("rain.tips", None, "00c0ffee", (1 << 47) + 1)
        j.append("rain.tips", 0, T + 5, total=j.total)
        j.append("tank.level", 1.25, T)
        j.append("tank.level", "-0.100", T)
        j.append("tank.level", 12345678901234567890, None, "ffffffff", 0)
        j.append("tank.level", None, T, reason="no_echo")
        j = Journal(flash, nvs, b"uid")
        for r in j.read(1, 9): print(r)
        print(j.floor, j.next, j.total, j.unsent, j.last_ms == T + 5)
        """
    )
    assert said.splitlines() == [
        "(1, 'rain.tips', 1781000000123, None, None, 1, 1, None, False)",
        "(2, 'rain.tips', None, '00c0ffee', 140737488355329, 1, 2, None, False)",
        "(3, 'rain.tips', 1781000000128, None, None, 0, 2, None, False)",
        "(4, 'tank.level', 1781000000123, None, None, '1.25', None, None, False)",
        "(5, 'tank.level', 1781000000123, None, None, '-0.100', None, None, False)",
        "(6, 'tank.level', None, 'ffffffff', 0, 12345678901234567890, None, None, False)",
        "(7, 'tank.level', 1781000000123, None, None, None, None, 'no_echo', False)",
        "1 8 2 7 True",
    ]


@pytest.mark.parametrize("value", ["float('nan')", "float('-inf')", "'1,5'", "''", "'0x10'", "'+5'", "'05'", "'1.'"])
def test_append_of_what_is_no_number_is_refused(value: str) -> None:
    said = run(
        f"""
        try: j.append("tank.level", {value}, T)
        except ValueError as e: print("refused", j.next)
        """
    )
    assert said == "refused 1\n"


def test_append_of_a_value_too_long_or_an_unknown_reason_is_refused_and_nothing_written() -> None:
    said = run(
        """
        for value, reason in (("1" * 60, None), (None, "tired"), (None, None)):
            try: j.append("tank.level", value, T, reason=reason)
            except ValueError: print(j.next, j._end)
        """
    )
    assert said == "1 48\n" * 3


def test_tip_with_or_without_clock_programs_32_bytes_once() -> None:
    said = run(
        """
        j.append_tip("rain.tips", T, None, None)
        for time_ms in (T, None):
            before = flash.programs, flash.programmed
            j.append_tip("rain.tips", time_ms, "0badcafe", 1 << 40)
            print(flash.programs - before[0], flash.programmed - before[1])
        """
    )
    assert said == "1 32\n1 32\n"


def test_ring_full_without_custody_moves_the_floor_and_counts_the_loss() -> None:
    said = run(
        """
        while not j.full: j.append_tip("rain.tips", T, None, None)
        print(j.floor, j.lost, j.unsent == j.next - 1)
        while j.floor == 1: j.append_tip("rain.tips", T, None, None)
        print(j.floor, j.lost, j.through, j.unsent == j.next - j.floor)
        """
    )
    assert said == "1 0 True\n126 125 125 True\n"


def test_ring_full_after_custody_loses_nothing() -> None:
    said = run(
        """
        for i in range(2000):
            j.append_tip("rain.tips", T, None, None)
            j.custody(j.next - 1)
        print(j.lost, j.unsent, j.floor > 1, j.through)
        """
    )
    assert said == "0 0 True 2000\n"


def test_custody_beyond_what_was_written_is_refused_and_a_lower_one_taken() -> None:
    said = run(
        """
        for i in range(9): j.append_tip("rain.tips", T, None, None)
        print(j.custody(9), j.through, j.custody(10), j.through, j.custody(4), j.through, j.unsent)
        """
    )
    assert said == "True 9 False 9 True 4 5\n"


def test_custody_mark_outlives_a_reboot_from_the_last_sector_change() -> None:
    said = run(
        """
        for i in range(300):
            j.append_tip("rain.tips", T, None, None)
            j.custody(i + 1)
        print(Journal(flash, nvs, b"uid").through >= 200)
        """
    )
    assert said == "True\n"


@pytest.mark.parametrize("stream", ["rain.tips", "a-name-of-thirty-two-chars.level"])
def test_at_most_one_erase_in_60_records_even_with_the_longest_records(stream: str) -> None:
    said = run(
        f"""
        erases = flash.erases
        for i in range(1000): j.append({stream!r}, "-1.2345678901234567890123", None, "ffffffff", (1 << 48) - 1)
        print(1000 // (flash.erases - erases))
        """
    )
    assert int(said) >= 60


def test_old_image_restored_starts_a_new_journal() -> None:
    said = run(
        """
        for i in range(20): j.append_tip("rain.tips", T, None, None)
        old = bytes(flash.image)
        for i in range(200): j.append_tip("rain.tips", T, None, None)
        flash.image[:] = old
        k = Journal(flash, nvs, b"uid")
        print(k.started, k.jid != j.jid, k.floor, k.next, k.total, list(k.read(0, 9)))
        """
    )
    assert said == "restored True 1 1 0 []\n"


def test_reformatted_flash_starts_a_new_journal() -> None:
    said = run(
        """
        for i in range(200): j.append_tip("rain.tips", T, None, None)
        k = Journal(Flash(4), nvs, b"uid")
        print(k.started, k.jid != j.jid, k.next)
        """
    )
    assert said == "nvs True 1\n"


def test_flash_and_nvs_cloned_to_another_board_start_a_new_journal() -> None:
    said = run(
        """
        for i in range(200): j.append_tip("rain.tips", T, None, None)
        k = Journal(Flash(4, image=flash.image), NVS(kept=nvs.kept), b"another")
        print(k.started, k.jid != j.jid, k.next)
        """
    )
    assert said == "cloned True 1\n"


def test_reading_taken_in_maintenance_mode_stays_marked() -> None:
    said = run(
        """
        j.marks = lambda boot, up: boot == "0badcafe" and 10 <= up < 20
        for up in (9, 10, 19, 20): j.append_tip("rain.tips", None if up < 15 else T, "0badcafe", up)
        j.append("tank.level", None, T, "0badcafe", 12, reason="fault")
        k = Journal(flash, nvs, b"uid")
        print([r[8] for r in k.read(1, 9)], k.total)
        """
    )
    assert said == "[False, True, True, False, True] 4\n"


def test_record_that_rotted_comes_as_unreadable_and_the_rest_is_kept() -> None:
    said = run(
        """
        for i in range(200): j.append_tip("rain.tips", T + i, None, None)
        flash.image[48 + 48 + 32 * 9 + 20] ^= 4
        k = Journal(flash, nvs, b"uid")
        got = list(k.read(0, 500))
        print([r[0] for r in got] == list(range(1, 201)), [r for r in got if r[1] is None])
        """
    )
    assert said == "True [(11, None, None, None, None, None, None, 'bad_frame', False)]\n"


def test_sector_whose_header_rotted_comes_as_unreadable_and_the_rest_is_kept() -> None:
    said = run(
        """
        for i in range(350): j.append_tip("rain.tips", T + i, None, None)
        flash.image[BLOCK + 9] ^= 4
        k = Journal(flash, nvs, b"uid")
        got = list(k.read(0, 500))
        print([r[0] for r in got] == list(range(1, 351)), [r[0] for r in got if r[1] is None] == list(range(126, 251)))
        """
    )
    assert said == "True True\n"


def test_program_that_fails_is_not_repeated_in_its_slot() -> None:
    said = run(
        """
        j.append_tip("rain.tips", T, None, None)
        real = flash.writeblocks
        def refuse(block, buf, offset=None):
            flash.image[block * BLOCK + offset] &= 0x0F
            raise OSError(5)
        flash.writeblocks = refuse
        try: j.append_tip("rain.tips", T, None, None)
        except OSError: print("refused", j.next, j.total)
        flash.writeblocks = real
        j.append_tip("rain.tips", T + 1, None, None)
        print(list(Journal(flash, nvs, b"uid").read(2, 5)))
        """
    )
    assert said == "refused 2 1\n[(2, 'rain.tips', 1781000000124, None, None, 1, 2, None, False)]\n"


def test_worn_flash_that_does_not_keep_what_is_written_costs_no_reading() -> None:
    """Sector 1 keeps a bit stuck at 0 in its header, sector 2 one in its third record."""
    said = run(
        """
        class Worn(Flash):
            def writeblocks(self, block, buf, offset=None):
                try:
                    super().writeblocks(block, buf, offset)
                except AssertionError:
                    pass
                self.image[BLOCK + 20] &= 0xFE
                self.image[2 * BLOCK + 48 + 32 + 64 + 8] = 0
        flash, nvs = Worn(4), NVS()
        j = Journal(flash, nvs, b"uid")
        refused = 0
        for i in range(300):
            while True:
                try: j.append_tip("rain.tips", T + i, None, None); break
                except OSError: refused += 1
        for k in (j, Journal(flash, nvs, b"uid")):
            print(refused, k.next, k.total, [r[2] - T for r in k.read(0, 999)] == list(range(300)))
        """
    )
    assert said == "1 301 300 True\n" * 2


def test_backlog_of_20000_drains_with_one_pass_over_the_flash() -> None:
    """In packs of 200 whose last record is asked for again, as an uplink does whose pack was full."""
    said = mp.run(
        """
        import gc
        from flash import NVS, Flash
        from headwall_node.journal import Journal
        flash, nvs = Flash(512), NVS()
        j = Journal(flash, nvs, b"uid")
        for i in range(20000): j.append_tip("rain.tips", 1781000000000 + i, None, None)
        reads = 0
        real = flash.readblocks
        def count(block, buf, offset=0):
            global reads
            reads += 1
            real(block, buf, offset)
        flash.readblocks = count
        gc.collect(); free = gc.mem_free(); least = free
        seq = 1
        while seq < j.next:
            for r in j.read(seq, 200):
                if r[0] - seq == 150: break   # the pack was full: this one goes into the next
                assert r[2] - 1781000000000 == r[0] - 1
                last = r[0]
            seq = last + 1
            gc.collect(); least = min(least, gc.mem_free())
        print(reads, free - least)
        """,
        heap="8M",
    )
    reads, memory = (int(word) for word in said.split())
    assert reads < 1.1 * 20000
    assert memory < 4096


def test_compiled_journal_of_512_sectors_mounts_and_works_in_48_kilobytes() -> None:
    """Flash lies in a file here, so that the heap holds the journal alone."""
    said = mp.run(
        """
        import os
        from flash import NVS
        from headwall_node.journal import Journal
        class FileFlash:
            def __init__(self):
                self.f = open("flash.bin", "w+b")
                blank = b"\\xff" * 1024
                for _ in range(512 * 4): self.f.write(blank)
            def readblocks(self, block, buf, offset=0):
                self.f.seek(block * 4096 + offset); self.f.readinto(buf)
            def writeblocks(self, block, buf, offset):
                self.f.seek(block * 4096 + offset); self.f.write(buf)
            def ioctl(self, op, arg=0):
                if op == 6:
                    blank = b"\\xff" * 1024
                    self.f.seek(arg * 4096)
                    for _ in range(4): self.f.write(blank)
                return {4: 512, 5: 4096}.get(op, 0)
        flash, nvs = FileFlash(), NVS()
        j = Journal(flash, nvs, b"uid")
        for i in range(2000): j.append_tip("rain.tips", 1781000000000 + i, None, None)
        j = Journal(flash, nvs, b"uid")
        print(sum(1 for r in j.read(0, 5000)), j.next)
        """,
        lib=mp.compiled(),
        heap="48K",
    )
    assert said == "2000 2001\n"


# -- properties


@dataclass
class Model:
    """What a journal must say after any operations; it learns the floor from the journal and checks it never falls."""

    records: list[list[Any]] = field(default_factory=list)
    floor: int = 1
    total: int = 0


STREAMS = st.sampled_from(["rain.tips", "tank.level", "yard.temperature", "x.battery"])
TIMES = st.none() | st.integers(0, 2**48 - 1)
NUMBERS = st.integers(-(10**20), 10**20) | st.decimals(-9999, 9999, places=4).map(lambda d: f"{d:f}")
APPENDS = st.tuples(st.just("append"), STREAMS, NUMBERS, TIMES, st.none() | st.integers(0, 2**32 - 1), st.none())
NULLS = st.tuples(st.just("append"), STREAMS, st.none(), TIMES, st.none(), st.sampled_from(["stuck", "fault"]))
MANY = st.lists(APPENDS | NULLS, min_size=20, max_size=60)
OTHERS = st.one_of(
    st.tuples(st.just("custody"), st.integers(0, 300)),
    st.tuples(st.just("read"), st.integers(0, 300), st.integers(0, 80)),
    st.tuples(st.just("cut"), st.integers(1, 8), st.booleans()),
    st.tuples(st.just("mount")),
    st.tuples(st.just("start_reader"), st.integers(0, 300), st.integers(1, 200)),
    st.tuples(st.just("step_reader"), st.integers(0, 3)),
).map(lambda op: [op])
OPERATIONS = st.lists(MANY | OTHERS, max_size=16).map(lambda groups: [list(op) for group in groups for op in group])


@pytest.fixture
def session(form: Path) -> Iterator[mp.Session]:
    session = mp.Session(mp.SCRIPTS / "journal_ops.py", lib=form)
    yield session
    session.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sectors=st.integers(2, 4), operations=OPERATIONS)
def test_any_operations_keep_numbers_contiguous_and_content_exact(
    session: mp.Session, sectors: int, operations: list[list[Any]]
) -> None:
    model = Model()
    for op, (outcome, state) in zip(operations, session.ask([sectors, operations]), strict=True):
        _step(model, op, outcome)
        floor, following, total, through, _lost, same_jid, unsent, _full = state
        assert same_jid
        assert following == len(model.records) + 1
        assert model.floor <= floor <= following
        assert total == model.total
        assert floor - 1 <= through < following
        assert unsent == following - 1 - through
        model.floor = floor


def _step(model: Model, op: list[Any], outcome: Any) -> None:
    if op[0] == "append":
        if isinstance(outcome, list):
            assert outcome[0] == "cut"
            assert outcome[1] in (0, 1)
        if not isinstance(outcome, list) or outcome[1]:
            _, stream, value, time_ms, total, reason = op
            model.records.append([len(model.records) + 1, stream, time_ms, value, total, reason])
            model.total = model.total if total is None else total
    elif op[0] == "read":
        first = max(op[1], model.floor)
        assert [_plain(r) for r in outcome] == [_number(r) for r in model.records[first - 1 : first - 1 + op[2]]]
    elif op[0] == "step_reader" and outcome:
        assert _plain(outcome) == _number(model.records[outcome[0] - 1])


def _plain(record: list[Any]) -> list[Any]:
    seq, stream, time_ms, boot, up_ms, value, total, reason, _ = record
    assert (boot, up_ms) == ((None, None) if time_ms is not None else ("0badcafe", 1 << 41))
    return _number([seq, stream, time_ms, value, total, reason])


def _number(record: list[Any]) -> list[Any]:
    """With the value as text of a number: the journal gives an int for "5"."""
    seq, stream, time_ms, value, *rest = record
    return [seq, stream, time_ms, None if value is None else str(value), *rest]
