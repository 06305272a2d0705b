"""Forces in a lumped line: stretch, bending, ground. In world axes, for floats or symbols.

A line of n equal masses has n + 2 points: the lower end, the masses at the middles of n equal pieces, the upper end. Between
the points are n + 1 segments of the lengths ½, 1, ..., 1, ½ pieces, so that all of the line's mass is in its masses and the
ends, which belong to others, carry none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.errors import noted
from hydromechs.spatial import maximum, norm
from hydromechs.values import Array, Scalar

from ._cable import Cable

CREEP = 0.02
"""Speed at which friction on the ground has 0.7 of its full size [m/s]."""


def pieces(n: int) -> list[float]:
    """Lengths of the segments in pieces, n + 1 of them."""
    return [0.5, *[1.0] * (n - 1), 0.5]


class Segment(NamedTuple):
    """Line between two points."""

    rest: Scalar
    """Unstretched length [m]."""
    length: Scalar
    """Length [m]."""
    t: Array
    """Unit vector towards the upper end, shape (3,)."""
    strain: Scalar
    """Stretch over the unstretched length, 0 where it is slack [-]."""
    strain_rate: Scalar
    """Rate of the length over the unstretched length, also where it is slack [1/s]."""
    tension: Scalar
    """max(0, EA strain + CA rate) [N]."""
    damper: Scalar
    """Part of the tension besides EA strain [N]; damper · strain_rate is a loss, never negative."""

    def stored(self, cable: Cable) -> Scalar:
        """½ EA strain² over its length [J]."""
        return 0.5 * cable.axial_stiffness * self.strain * self.strain * self.rest


def segment_of(cable: Cable, chord: Array, rest: Scalar) -> Segment:
    """The segment along a chord (3,) [m] of an unstretched length [m], without the rate of its strain."""
    length = norm(chord)
    strain = maximum(length / rest - 1.0, 0.0)
    return Segment(rest, length, chord / length, strain, 0.0, cable.axial_stiffness * strain, 0.0)


def damped(cable: Cable, segment: Segment, spread: Array) -> Segment:
    """Return the segment with the rate of its strain and the corresponding damping.

    `spread` is the velocity of the material at its upper point minus that at its lower [m/s], shape (3,).
    """
    rate = (segment.t @ spread) / segment.rest
    tension = maximum(segment.tension + cable.axial_damping * rate, 0.0)
    return segment._replace(strain_rate=rate, tension=tension, damper=tension - segment.tension)


class Bending(NamedTuple):
    """Forces of bending where two segments meet: `below` − `above` on the mass there, their opposites on its neighbours."""

    below: Array
    """[N], shape (3,)."""
    above: Array
    """[N], shape (3,)."""
    energy: Scalar
    """Energy of bending [J]."""


def bending(stiffness: float, a: Segment, b: Segment) -> Bending:
    """Bending of a stiffness [N·m²] where the segments a and b meet.

        E = EI/l (1 − t_a · t_b)   ≈ ½ EI θ²/l,   l the mean length of the segments, which meet at an angle θ

    The ends of a line are free to turn.
    """
    if not stiffness:
        return Bending(np.zeros(3), np.zeros(3), 0.0)
    g = 2.0 * stiffness / (a.rest + b.rest)
    c = a.t @ b.t
    return Bending((g / a.length) * (b.t - c * a.t), (g / b.length) * (a.t - c * b.t), g * (1.0 - c))


class GroundForce(NamedTuple):
    """Terrain forces on one mass."""

    force: Array
    """Total force [N], shape (3,)."""
    elastic: Array
    """Force of its springs alone [N], shape (3,)."""
    loss: Scalar
    """Power lost [W]."""
    stored: Scalar
    """Energy of its springs [J]."""


def ground_force(ground: Sequence[Terrain], p: Array, u: Array, radius: float, down: Array) -> GroundForce:
    """Return the force of terrain on a mass of a line at p [m] with the velocity u [m/s], shape (3,) each, and a radius [m].

    The normal force is that of the terrain's material; friction has its kinetic coefficient, −μ N v/√(v² + v_0²): it creeps
    instead of sticking.
    """
    F, elastic = np.zeros(3), np.zeros(3)
    loss: Scalar = 0.0
    stored: Scalar = 0.0
    for solid in ground:
        distance, n = solid.distance(p, down)
        rate = -(n @ u)
        with noted(f"in the contact law ({type(solid.material.law).__name__})"):
            normal = solid.material.law.force(radius - distance, rate)
        F, elastic, stored = F + normal.force * n, elastic + normal.elastic * n, stored + normal.stored
        loss = loss + (normal.force - normal.elastic) * rate
        if solid.material.friction is not None:
            slide = u + rate * n
            drag = normal.force * solid.material.friction.kinetic / np.sqrt(slide @ slide + CREEP**2)
            F, loss = F - drag * slide, loss + drag * (slide @ slide)
    return GroundForce(F, elastic, loss, stored)
