"""The waters in one pipe, mixed: flows add, and temperature, conductivity and turbidity by share of the flow."""

from __future__ import annotations

from headwall_sim.outfall.steps import STEPS


class Mix:
    """Flow in l/s of every step, with its heat, ions and turbidity."""

    def __init__(self) -> None:
        self.flow = [0.0] * STEPS
        self._heat = [0.0] * STEPS
        self._ions = [0.0] * STEPS
        self._solids = [0.0] * STEPS

    def add(self, step: int, flow: float, celsius: float, conductivity: float, turbidity: float) -> None:
        self.flow[step] += flow
        self._heat[step] += flow * celsius
        self._ions[step] += flow * conductivity
        self._solids[step] += flow * turbidity

    def water(self, step: int) -> tuple[float, float, float] | None:
        """Temperature in °C, conductivity in µS/cm and turbidity in NTU; None where there is next to no water."""
        flow = self.flow[step]
        if flow < 0.005:
            return None
        return self._heat[step] / flow, self._ions[step] / flow, self._solids[step] / flow
