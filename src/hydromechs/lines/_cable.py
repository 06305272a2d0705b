"""What a line is made of, per length."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hydromechs.values import Checked, NotNegative, Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable(Checked):
    """A round cable. Coefficients of the water are those of long cylinders unless given."""

    diameter: Positive
    """Outer diameter d [m]."""
    mass: Positive
    """Mass per length m, dry [kg/m]."""
    axial_stiffness: Positive
    """EA, force per strain [N]; the cable only pulls."""
    axial_damping: NotNegative = 0.0
    """CA, force per rate of strain [N·s]."""
    bending_stiffness: NotNegative = 0.0
    """EI, moment per curvature [N·m²]."""
    normal_drag: NotNegative = 1.2
    """C_n, by d and the length [-]."""
    tangential_drag: NotNegative = 0.01
    """C_t, by π d and the length [-]."""
    normal_added_mass: NotNegative = 1.0
    """C_an, by the water displaced [-]."""
    tangential_added_mass: NotNegative = 0.0
    """C_at, by the water displaced [-]."""

    def displaced(self, density: float) -> float:
        """Mass of water of a density [kg/m³] that it displaces per length, ρ π d²/4 [kg/m]."""
        return density * math.pi / 4.0 * self.diameter**2

    def weight(self, density: float, gravity: float) -> float:
        """Weight in water of a density [kg/m³] per length, below 0 where it floats [N/m]; gravity g [m/s²]."""
        return (self.mass - self.displaced(density)) * gravity
