"""Dry friction with a stick phase: a spring and a damper, anchored through a slider that yields at a limit."""

import numpy as np

from hydromechs.values import Array, Scalar

from ._choice import where
from ._rotation import Vector, norm


def stick_slip(stiffness: Scalar, damping: Scalar, limit: Scalar, s: Vector, v: Vector) -> tuple[Array, Array]:
    """Force of a spring k [N/m] and damper c [N·s/m] in parallel, in series with a slider that yields at `limit` [N].

        trial = k s + c v,    f = trial · min(1, limit / |trial|),    ṡ = (f − k s) / c

    While it sticks, ṡ = v and the spring is anchored: no creep. While it slips, |f| = limit and the deflection settles with
    the time constant c/k. The force on the moving body is −f; of its power f · v, c |ṡ|² + f · (v − ṡ) ≥ 0 is lost and the rest
    is stored in ½ k |s|².

    Returns:
        f [N] and ṡ [m/s] for a deflection s [m] and the velocity v [m/s] of the body over the ground, shape (n,) each.
    """
    s, v = np.asarray(s), np.asarray(v)
    trial = stiffness * s + damping * v
    size = norm(trial)
    f = trial * where(size > limit, limit / (size + 1e-300), 1.0)
    return f, (f - stiffness * s) / damping
