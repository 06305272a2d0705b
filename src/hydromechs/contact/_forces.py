"""Forces of one contact on both bodies, with stored and dissipated energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hydromechs.errors import noted
from hydromechs.geometry import HeightField
from hydromechs.spatial import cross, norm
from hydromechs.values import Array, Scalar

from ._law import SMOOTH

if TYPE_CHECKING:
    from ._pair import Pair


class Contact(NamedTuple):
    """Forces and energies of one pair. Wrenches are in body axes about the body origins."""

    wrench_A: Array
    """Wrench on the body that carries the probe [N, N·m], shape (6,)."""
    wrench_B: Array | None
    """Wrench on the body that carries the solid [N, N·m], shape (6,); None for terrain."""
    s_rate: Array
    """Rate of the tangential deflection [m/s], shape (3,)."""
    loss: Scalar
    """Dissipated power, at least 0 [W]."""
    stored: Scalar
    """Elastic energy, normal and tangential [J]."""
    normal_force: Scalar
    """Normal force, at least 0 [N]."""
    gap: Scalar
    """Distance of the surfaces, negative in contact [m]."""
    sliding_speed: Scalar
    """Speed of the probe's deepest point along the surface, also without contact [m/s]."""


def contact_wrench(
    pair: Pair,
    X_A: tuple[Array, Array],
    V_A: Array,
    X_B: tuple[Array, Array] | None,
    V_B: Array | None,
    s: Array,
    down: Array,
) -> Contact:
    """Return the forces of one pair. C is the frame that carries the solid: the world for terrain, else body B.

        d = r − φ(c),   ḋ = −∇φ · v,   f = N(d, ḋ) ∇φ − f_t(N, s, v_t)   at the probe's deepest point x = c − r n,

    v the velocity of x on A less that on B. Both bodies feel f at x, with opposite signs, so that
    wrench_A · V_A + wrench_B · V_B = −loss − d(stored)/dt holds exactly.

    Bodies have poses X in the world, (R (3, 3), p (3,) [m]), and velocities V in their axes at their origins [m/s, rad/s],
    shape (6,); B has none for terrain. `s` is the tangential deflection in axes of C [m], `down` a constant unit vector in the
    world, shape (3,) each.
    """
    R, p = X_A if X_B is None else (X_B[0].T @ X_A[0], X_B[0].T @ (X_A[1] - X_B[1]))
    r = pair.probe.radius
    point = pair.probe.nearest(pair.solid, R, p)
    distance, slope = pair.solid.distance(p + R @ point, down)
    # a height field's distance has a gradient of another length than 1 off the surface
    size = norm(slope) if isinstance(pair.solid.shape, HeightField) else 1.0
    n = slope / size
    arm = point - r * (R.T @ n)
    v = R @ (V_A[:3] + cross(V_A[3:], arm))
    x = p + R @ arm
    if V_B is not None:
        v = v - V_B[:3] - cross(V_B[3:], x)
    v_n = n @ v
    v_t = v - v_n * n
    rate = -size * v_n
    with noted(f"in the contact law ({type(pair.material.law).__name__})"):
        normal = pair.material.law.force(r - distance, rate)
    pushed = normal.force * size
    rough = pair.material.friction
    friction = SMOOTH if rough is None else rough.force(pushed, n, s, v_t)
    f = pushed * n - friction.force
    f_A = R.T @ f
    return Contact(
        wrench_A=np.concatenate([f_A, cross(arm, f_A)]),
        wrench_B=None if X_B is None else -np.concatenate([f, cross(x, f)]),
        s_rate=friction.rate,
        loss=(normal.force - normal.elastic) * rate + friction.loss,
        stored=normal.stored + friction.stored,
        normal_force=pushed,
        gap=distance - r,
        sliding_speed=norm(v_t),
    )
