"""The force of the fluid's acceleration, by added mass and by buoyancy (McMillan, Orin and McGhee 1995, eqs. 14-16, 23-27).

The velocity products of added mass, −V_r ×* (M_A V_r), are those of any inertia: `dynamics.velocity_force`. They do no work and
contain the Munk moment. All velocities in them are relative to the fluid (the paper has v in one place of eq. 16 and v_r
in Table I; only with v_r can a body drift freely with a current). The term M_A (ω × v_r, 0) of eq. 16 belongs to true
accelerations and drops out for derivatives of the numbers in V_r, which wet mechanisms use.
"""

from __future__ import annotations

import numpy as np

from hydromechs.spatial import skew
from hydromechs.values import Array, Scalar


def fluid_acceleration_force(M_A: Array, displaced: tuple[Scalar, Array], a_fg: Array) -> Array:
    """M_A (a_f − g, 0) and the total buoyancy m_f (a_f − g) of m_f [kg] and m_f b [kg·m] in one product, shape (6,)."""
    mass, moment = displaced
    K = M_A[:, :3] + np.concatenate([mass * np.eye(3), skew(moment)])
    return K @ a_fg
