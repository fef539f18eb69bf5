"""How long a board's flash lasts at the rate at which a simulated one was written."""

from __future__ import annotations

from dataclasses import dataclass

from headwall_sim.simulated_board import FlashCounts

#: erases that each sector of the W25Q32JV stands at least (its data sheet, "more than 100,000 erase/program cycles");
#: the flash of ESP32 modules is of this kind
ERASES_PER_SECTOR = 100_000
#: NVS: a page has 126 entries of 32 bytes, and the journal's mark takes 3 (blob index, blob head, data); ESP-IDF's
#: partition table gives it six pages
_NVS_ENTRIES, _NVS_MARK, _NVS_PAGES = 126, 3, 6
_YEAR_DAYS = 365.25


@dataclass(frozen=True)
class Wear:
    """Erases a day of each part of the flash, and the years until its sectors have had their number.

    Attributes:
        journal, files, nvs: erases a day.
        years: of the part that goes first. The journal's ring uses its sectors in turn; LittleFS and NVS spread
            theirs over what is free, taken here as half of the file system and all pages but one.
    """

    journal: float
    files: float
    nvs: float
    years: float


def wear(counts: FlashCounts, days: float, *, journal_blocks: int, vfs_blocks: int) -> Wear:
    """The wear of a board from what was done to its flash in so many days; its making is counted too."""
    journal, files = counts.journal_erases / days, counts.vfs_erases / days
    nvs = counts.nvs_commits * _NVS_MARK / _NVS_ENTRIES / days
    parts = [(journal, journal_blocks), (files, vfs_blocks // 2), (nvs, _NVS_PAGES - 1)]
    years = min(ERASES_PER_SECTOR * sectors / (rate * _YEAR_DAYS) for rate, sectors in parts if rate)
    return Wear(journal, files, nvs, years)
