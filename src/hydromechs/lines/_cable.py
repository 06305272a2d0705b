"""Cable properties per length."""

import math
from dataclasses import dataclass

from hydromechs.values import Checked, NotNegative, Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable(Checked):
    """A round cable. Hydrodynamic coefficients default to those of long cylinders."""

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
    """C_n, referred to d and the length [-]."""
    tangential_drag: NotNegative = 0.01
    """C_t, referred to π d and the length [-]."""
    normal_added_mass: NotNegative = 1.0
    """C_an, referred to the displaced water [-]."""
    tangential_added_mass: NotNegative = 0.0
    """C_at, referred to the displaced water [-]."""

    def displaced(self, density: float) -> float:
        """Return the displaced mass of water per length, ρ π d²/4 [kg/m], for a density [kg/m³]."""
        return density * math.pi / 4.0 * self.diameter**2

    def weight(self, density: float, gravity: float) -> float:
        """Return the weight in water per length [N/m], negative if it floats, for a density [kg/m³] and gravity g [m/s²]."""
        return (self.mass - self.displaced(density)) * gravity
