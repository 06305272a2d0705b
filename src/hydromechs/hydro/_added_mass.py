"""The force that the velocity products of added mass make (seed 000 eqs. 11-16)."""

from __future__ import annotations

from hydromechs.spatial import cross, force_cross

__all__ = ["added_mass_bias"]


def added_mass_bias(M_A, V_r, a_fg):
    """Force of the fluid on a body from its added mass, all but −M_A a' (seed 000 eq. 16), shape (6,).

        β^A = M_A (a_f − g + ω × v_r, 0) − V_r ×* (M_A V_r)

    The second part does no work, V_r · (V_r ×* M_A V_r) = 0, and contains the Munk moment. All velocities are relative
    to the fluid (print has v in one place of eq. 16 and v_r in Table I; only v_r lets a body drift with a current freely).

    Args:
        M_A: Added mass about the body origin in body axes [kg, kg·m, kg·m²], shape (6, 6).
        V_r: Velocity relative to the fluid, in body axes [m/s, rad/s], shape (6,).
        a_fg: Acceleration of the fluid less that of gravity, in body axes [m/s²], shape (3,).
    """
    linear = a_fg + cross(V_r[3:], V_r[:3])
    return M_A[:, :3] @ linear - force_cross(V_r, M_A @ V_r)
