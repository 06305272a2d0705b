"""The force that added mass makes with velocities and with the fluid's acceleration (seed 000 eqs. 11-16, 23-27)."""

from __future__ import annotations

import numpy as np

from hydromechs.spatial import cross, force_cross, skew

__all__ = ["added_mass_bias", "fluid_acceleration_force"]


def added_mass_bias(M_A, V_r, a_fg):
    """Force of the fluid on a body from its added mass, all but −M_A a' with the true acceleration (eq. 16), shape (6,).

        β^A = M_A (a_f − g + ω × v_r, 0) − V_r ×* (M_A V_r)

    The second part does no work, V_r · (V_r ×* M_A V_r) = 0, and contains the Munk moment. All velocities are relative
    to the fluid (print has v in one place of eq. 16 and v_r in Table I; only v_r lets a body drift with a current freely).
    For an acceleration that is the derivative of the numbers in V_r, the term M_A (ω × v_r, 0) drops out.

    Args:
        M_A: Added mass about the body origin in body axes [kg, kg·m, kg·m²], shape (6, 6).
        V_r: Velocity relative to the fluid, in body axes [m/s, rad/s], shape (6,).
        a_fg: Acceleration of the fluid less that of gravity, in body axes [m/s²], shape (3,).
    """
    linear = a_fg + cross(V_r[3:], V_r[:3])
    return M_A[:, :3] @ linear - force_cross(V_r, M_A @ V_r)


def fluid_acceleration_force(M_A, displaced, a_fg):
    """M_A (a_f − g, 0) and the total buoyancy m_f (a_f − g) at the centre of buoyancy in one product, shape (6,).

    Args:
        M_A: Added mass, shape (6, 6).
        displaced: Mass of the displaced water m_f [kg] and its first moment m_f b [kg·m], shape (3,).
        a_fg: Acceleration of the fluid less that of gravity, in body axes [m/s²], shape (3,).
    """
    mass, moment = displaced
    K = M_A[:, :3] + np.concatenate([mass * np.eye(3), skew(moment)])
    return K @ a_fg
