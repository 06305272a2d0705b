"""Dry friction with a stick phase: a spring-damper in series with a slider that yields at a limit."""

import numpy as np

from hydromechs.values import Array, Scalar

from ._choice import where
from ._rotation import Vector, norm


def stick_slip(stiffness: Scalar, damping: Scalar, limit: Scalar, s: Vector, v: Vector) -> tuple[Array, Array]:
    """Return the force and the deflection rate of a spring-damper in series with a slider that yields at `limit` [N].

        trial = k s + c v,    f = trial · min(1, limit / |trial|),    ṡ = (f − k s) / c

    The spring k [N/m] and the damper c [N·s/m] are parallel. During sticking, ṡ = v and the spring is anchored, so the contact
    does not creep. During slipping, |f| = limit and the deflection settles with the time constant c/k. The force on the moving
    body is −f. Of the power f · v, the part c |ṡ|² + f · (v − ṡ) ≥ 0 is dissipated; the rest is stored in ½ k |s|².

    Returns:
        Force f [N] and deflection rate ṡ [m/s], shape (n,) each, for the deflection s [m] and the velocity v [m/s] of the body
        over the ground.
    """
    s, v = np.asarray(s), np.asarray(v)
    trial = stiffness * s + damping * v
    size = norm(trial)
    f = trial * where(size > limit, limit / (size + 1e-300), 1.0)
    return f, (f - stiffness * s) / damping
