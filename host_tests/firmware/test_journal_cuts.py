"""The journal when power is cut: at every flash operation of appends, of a sector's reuse and of a new start."""

from __future__ import annotations

import mp
import pytest

pytestmark = pytest.mark.usefixtures("form")


@pytest.mark.parametrize("torn", ["head", "tail"])
def test_cut_at_every_operation_of_200_appends_loses_at_most_the_record_in_hand(torn: str) -> None:
    said = mp.run(mp.SCRIPTS / "journal_cuts.py", 3, 0, 200, torn, heap="4M")
    assert said == "held 203 cuts; erases 1\n"


@pytest.mark.parametrize("torn", ["head", "tail"])
def test_cut_at_every_operation_while_sectors_are_reused_loses_at_most_the_record_in_hand(torn: str) -> None:
    said = mp.run(mp.SCRIPTS / "journal_cuts.py", 3, 300, 200, torn, heap="4M")
    assert said == "held 208 cuts; erases 2\n"


@pytest.mark.parametrize("why", ["blank", "nvs", "cloned", "restored"])
def test_cut_at_every_operation_of_a_new_start_leaves_nothing_half_way(why: str) -> None:
    said = mp.run(
        """
        import sys
        from flash import NVS, Flash, Power, PowerCut
        from headwall_node.journal import Journal
        why = sys.argv[1]
        uid = b"machine one"
        flash, nvs = Flash(3), NVS()
        if why != "blank":
            old = Journal(flash, nvs, uid)
            for i in range(150):
                old.append_tip("rain.tips", 1781000000000 + i, None, None)
            if why == "nvs":
                nvs.kept["journal"] = bytes(12)
            if why == "cloned":
                uid = b"machine two"
            if why == "restored":
                early = bytes(flash.image)
                for i in range(130):
                    old.append_tip("rain.tips", 1781000000000 + i, None, None)
                flash.image[:] = early
        for cut in range(1, 20):
            for torn_head in (True, False):
                power = Power(cut, torn_head)
                f, n = Flash(3, power, bytes(flash.image)), NVS(power, nvs.kept)
                try:
                    j = Journal(f, n, uid)
                    for _ in range(5):
                        j.append("rain.tips", 0, 1781000000000, total=j.total)
                    assert cut > 3
                except PowerCut:
                    assert cut <= 8
                f.power = n.power = Power()
                j = Journal(f, n, uid)
                assert cut > 3 or j.started, cut
                assert j.next == 1 + max(0, min(cut - 4, 5)) and j.floor == 1 and j.total == 0, (cut, j.next)
                assert [r[0] for r in j.read(0, 99)] == list(range(1, j.next))
                assert why == "blank" or j.jid != old.jid
                assert Journal(f, n, uid).jid == j.jid
        print("held")
        """,
        why,
        heap="2M",
    )
    assert said == "held\n"
