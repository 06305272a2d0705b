"""A hydraulic actuator behind a valve."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model.component import FastMode, mode_of
from hydromechs.spatial import clamp, where
from hydromechs.values import Checked, NotNegative, Positive, Scalar, is_zero

from ._drive import Drive

LAMINAR = 1e-3
"""Fraction of the supply pressure below which the flow through a valve is linear in the pressure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydraulic(Checked, Drive):
    """Symmetric hydraulic actuator behind a four-way valve; the command is the valve opening, −1 to 1."""

    unit = "1"

    supply_pressure: Positive
    """Pressure of the supply over the return p_s [Pa]."""
    displacement: Positive
    """Volume per angle D [m³/rad], or the piston area of a prismatic joint [m²]."""
    flow_coefficient: Positive
    """Flow of the open valve per root of the pressure C [m³/(s·√Pa)]: without load it passes C √p_s."""
    bulk_modulus: Positive
    """Bulk modulus of the oil β, with its hoses [Pa]."""
    chamber_volume: Positive
    """Volume of both chambers with their hoses together V [m³]."""
    leakage: NotNegative = 0.0
    """Flow from one chamber to the other per pressure c [m³/(s·Pa)]."""
    spool_time_constant: NotNegative = 0.0
    """Time constant of the valve's spool [s]; 0 for no lag."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """The valve's opening, if its spool lags, and the load pressure [Pa]."""
        return ("pressure",) if is_zero(self.spool_time_constant) else ("opening", "pressure")

    @property
    def limits(self) -> tuple[float, float]:
        return -1.0, 1.0

    def force(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> Scalar:
        """τ = D p, with the load pressure p, the last state."""
        return self.displacement * x[-1]

    def rates(self, command: Scalar, q: Scalar, qd: Scalar, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Oil that flows into one chamber and out of the other is compressed, unless the joint displaces it:

            dp/dt = 4β/V (Q − D q̇ − c p),     Q = C y r(p_s − sgn(y) p),     dy/dt = (command − y)/T

        with the opening y of the valve. r(Δ) is sgn(Δ) √|Δ|, made linear (laminar) within a thousandth of p_s and exact at
        Δ = p_s. A load that drives the pressure above the supply's pushes oil back through the open valve. The valve never
        gives energy.
        """
        y, p = (clamp(command, -1.0, 1.0), x[0]) if is_zero(self.spool_time_constant) else x
        ps = self.supply_pressure
        left = ps - where(y >= 0.0, 1.0, -1.0) * p
        Q = self.flow_coefficient * y * left * np.sqrt((1.0 + LAMINAR) / (abs(left) + LAMINAR * ps))
        rate = 4.0 * self.bulk_modulus / self.chamber_volume * (Q - self.displacement * qd - self.leakage * p)
        if is_zero(self.spool_time_constant):
            return (rate,)
        return (clamp(command, -1.0, 1.0) - y) / self.spool_time_constant, rate

    def joint_modes(self, mobility: float) -> tuple[FastMode, ...]:
        k = 4.0 * self.bulk_modulus / self.chamber_volume * self.displacement * self.displacement
        out: tuple[FastMode, ...] = (
            mode_of(f"oil of the hydraulic drive of joint {self.joint!r}", k, 0.0, mobility, internal=True),
        )
        if self.spool_time_constant:
            out += (FastMode(f"valve of joint {self.joint!r}", 0.0, 1.0 / self.spool_time_constant),)
        return out
