"""What is wired to a simulated board beside its contacts: models of devices, what they measure, and their faults.

The models are in board/devices/, in MicroPython; board/_wiring.py reads the file written here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

#: instants in us and the true value at them, linear between; None: there is nothing to measure
Points = Sequence[tuple[int, float | None]]


@dataclass(frozen=True)
class Fault:
    """Something wrong with a device from an instant to another; names as in board/devices/faults.py."""

    from_us: int
    to_us: int
    name: Literal["unplugged", "late", "truncated", "garbled", "flooding", "stuck"]
    argument: int = 0


@dataclass(frozen=True)
class Wired:
    """One device on one bus.

    Attributes:
        device, model: the module in board/devices/ and its class.
        bus, number, address: where it is: UART or I2C, which one, and on I2C at which address; of 1-Wire the pin.
            A device on pins, ADC or pulse counter names them itself in `args`.
        world: what it measures.
        args: more arguments of the model, by name.
    """

    device: str
    model: str
    bus: Literal["uart", "i2c", "pins", "onewire"]
    number: int
    world: Points
    address: int | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Fault] = ()


def write_wiring(wired: Sequence[Wired], folder: Path) -> None:
    """Write the file that the board reads at each start."""
    text = json.dumps([asdict(each) for each in wired])
    (folder / "wiring.json").write_text(text)
