"""Hydrodynamic terms in the equations of motion of each body (McMillan, Orin and McGhee 1995, eqs. 14-16, 23-27).

The velocity products of added mass, −V_r ×* (M_A V_r), have the same form as for any inertia (`dynamics.velocity_force`). They
do no work and contain the Munk moment. All velocities are relative to the fluid: the paper has v once in eq. 16, but v_r in
Table I, and only v_r allows a body to drift freely with a current. The term M_A (ω × v_r, 0) of eq. 16 applies to true
accelerations; it vanishes for derivatives of the components of V_r, which wet mechanisms use.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from hydromechs.errors import UnsupportedFeature, noted
from hydromechs.model import Body, Hydro, Model, World, total_added_mass
from hydromechs.spatial import cross, norm, skew
from hydromechs.values import Array, Scalar

from ._around import (
    Flow,
    SurroundingWater,
    WetStrip,
    added_mass_force,
    drag_of,
    gradient_power,
    hull_points,
    mean_of,
    relative_velocity,
    wet_hull,
)
from ._sampling import AddedMassAt, WetSampling
from ._surface import crossing, hull_cells, hull_length, immersion, wetting


class WetMotion(NamedTuple):
    """Motion of one body and the water around it (mean over the hull, see `WetSampling`), in body axes at the body origin."""

    velocity: Array
    """Velocity relative to the water V_r [m/s, rad/s], shape (6,)."""
    a_fg: Array
    """Acceleration of the water minus gravity, a_f − g [m/s²], shape (3,)."""
    R_WB: Array
    """Rotation matrix from body to world axes, shape (3, 3)."""
    p_WB: Array
    """Body origin in world axes [m], shape (3,)."""
    depth: Scalar
    """Depth of the body origin below the world origin, positive downwards [m]."""
    density: Scalar
    """Density of the water [kg/m³]."""
    wet: Scalar = 1.0
    """Fraction of the volume of the body under water, 0 to 1."""
    wet_moment: Array | None = None
    """First moment of the wet part about the body origin, divided by the whole volume [m], shape (3,); None for a
    submerged body."""
    head: Scalar | None = None
    """Depth of the wet part, see `Immersion.head` [m]; None for a submerged body."""
    wet_rate: Scalar = 0.0
    """Rate of change of the wet fraction [1/s]."""
    push: Scalar = 0.0
    """Factor in the force while the wet part changes; see `Crossing` [1/s]."""
    loss: Scalar = 0.0
    """Factor in the dissipated power while the wet part changes; see `Crossing` [1/s]."""
    around: SurroundingWater | None = None
    """Water at the elements of the body; None if the water is uniform over the body."""


class LocalSurface(NamedTuple):
    """Plane that approximates the free surface near a body."""

    elevation: Scalar
    """Height of the surface above the world origin [m]."""
    down: Array
    """Unit normal into the water, in world axes, shape (3,)."""
    depth_rate: Scalar
    """Rate of change of the depth of the body origin below the surface, due to motions of body and surface [m/s]."""
    down_rate: Array
    """Rate of change of `down` while the body moves along the surface, in world axes [1/s], shape (3,)."""


class Poses(Protocol):
    """Interface of the poses of bodies, which kinematics provides."""

    @property
    def R_WB(self) -> Sequence[Array]:
        """Rotation matrix of each body from body to world axes, shape (3, 3) each."""

    @property
    def p_WB(self) -> Sequence[Array]:
        """Origin of each body in world axes [m], shape (3,) each."""


def body_motions(
    model: Model, kin: Poses, velocities: Sequence[Array], a_fg: Sequence[Array], surface: Sequence[LocalSurface] | None = None
) -> list[WetMotion]:
    """Return the motion of each body relative to the water.

    Args:
        model: The model.
        kin: Poses of the bodies.
        velocities: Velocity of each body relative to the water, in body axes [m/s, rad/s], shape (6,) each.
        a_fg: Acceleration of the water minus gravity at each body, in body axes [m/s²], shape (3,) each.
        surface: Free surface near each body. Defaults to unbounded water.
    """
    down, density = model.world.down, model.world.water_density
    out = [WetMotion(V, a, R, p, down @ p, density) for V, a, R, p in zip(velocities, a_fg, kin.R_WB, kin.p_WB, strict=True)]
    if surface is None:
        return out
    for i, (body, motion) in enumerate(zip(model.bodies, out, strict=True)):
        cells = hull_cells(body)
        if cells:
            height, across, depth_rate, across_rate = surface[i]
            n, cosine, depth = motion.R_WB.T @ across, across @ down, motion.depth + height
            wet = immersion(cells, n, depth * cosine)
            n_rate = motion.R_WB.T @ across_rate - cross(motion.velocity[3:], n)
            rate = wetting(cells, n, depth * cosine, n_rate, depth_rate * cosine + depth * (across_rate @ down))
            push, loss = crossing(hull_length(cells), rate, model.world.gravity)
            out[i] = motion._replace(
                wet=wet.fraction, wet_moment=wet.moment, head=wet.head, wet_rate=rate, push=push, loss=loss
            )
    return out


def motion_in(sampling: WetSampling, V: Array, flows: Sequence[Flow], R_WB: Array, p_WB: Array, world: World) -> WetMotion:
    """Return the motion of a submerged body in non-uniform water.

    Args:
        sampling: Points at which the body samples the water.
        V: Velocity of the body relative to the world, in body axes [m/s, rad/s], shape (6,).
        flows: Water at the sampling points, in body axes.
        R_WB: Rotation matrix from body to world axes, shape (3, 3).
        p_WB: Body origin in world axes [m], shape (3,).
        world: World with gravity and water density.
    """
    around = SurroundingWater(sampling, V, tuple(flows), hull_points(sampling, flows))
    a_fg = mean_of(sampling.mean, lambda i: flows[i].a_fg)
    V_r = relative_velocity(around, sampling.mean)
    return WetMotion(V_r, a_fg, R_WB, p_WB, world.down @ p_WB, world.water_density, around=around)


def wetted(
    body: Body, motion: WetMotion, strips: Sequence[WetStrip], a_fg: Sequence[Sequence[Array]], gravity: Scalar
) -> WetMotion:
    """Return the motion of a body at the free surface in non-uniform water.

    Args:
        body: The body.
        motion: Motion as a submerged body.
        strips: Wet strips of the hull.
        a_fg: Acceleration of the water minus gravity at the points of each strip, in body axes [m/s²], shape (3,) each.
        gravity: Acceleration of gravity [m/s²].
    """
    assert motion.around is not None
    wet, head, rate, moment = 0.0, 0.0, 0.0, np.zeros(3)
    for strip in strips:
        wet, head, rate = wet + strip.share * strip.fraction, head + strip.share * strip.head, rate + strip.share * strip.rate
        moment = moment + strip.share * strip.moment
    push, loss = crossing(hull_length(hull_cells(body)), rate, gravity)
    around = motion.around._replace(hull=wet_hull(strips, a_fg))
    return motion._replace(wet=wet, wet_moment=moment, head=head, wet_rate=rate, push=push, loss=loss, around=around)


def displaced_mass(body: Body, density: Scalar) -> tuple[Scalar, Array]:
    """Return the mass [kg] of the displaced water and its first moment about the body origin [kg·m], shape (3,).

    Both are zero for custom hydrodynamics.
    """
    if not isinstance(body.hydro, Hydro):
        return 0.0, np.zeros(3)
    mass = density * body.hydro.volume
    return mass, mass * np.array(body.hydro.buoyancy_center)


def _displaced(body: Body, motion: WetMotion) -> tuple[Scalar, Array]:
    """Return the mass [kg] and first moment [kg·m] of the water displaced by the wet part; see `displaced_mass`."""
    mass, moment = displaced_mass(body, motion.density)
    return (mass, moment) if motion.wet_moment is None else (mass * motion.wet, mass * motion.wet_moment)


def total_buoyancy(body: Body, motion: WetMotion) -> Array:
    """Return the wrench of buoyancy and fluid acceleration, f = m_f (a_f − g) at the centre of buoyancy [N, N·m], shape (6,).

    See eqs. 23-27 of the paper of 1995. In non-uniform water, a part of the force acts at each point of the hull.
    """
    if motion.around is None:
        mass, moment = _displaced(body, motion)
        return np.concatenate([mass * motion.a_fg, cross(moment, motion.a_fg)])
    mass, _ = displaced_mass(body, motion.density)
    F = np.zeros(6)
    for point in motion.around.hull:
        F = F + mass * np.concatenate([point.part * point.a_fg, cross(point.moment, point.a_fg)])
    return F


def still_buoyancy(body: Body, motion: WetMotion, gravity_B: Array) -> Array:
    """Return the buoyancy in still water, −m_f g at the centre of the displaced volume [N, N·m], shape (6,)."""
    return total_buoyancy(body, motion._replace(a_fg=-gravity_B, around=None))


def froude_krylov_force(body: Body, motion: WetMotion, gravity_B: Array) -> Array:
    """Return the wrench m_f a_f of the displaced water, in waves the Froude-Krylov force [N, N·m], shape (6,)."""
    if motion.around is None:
        return total_buoyancy(body, motion._replace(a_fg=motion.a_fg + gravity_B))
    hull = tuple(point._replace(a_fg=point.a_fg + gravity_B) for point in motion.around.hull)
    return total_buoyancy(body, motion._replace(around=motion.around._replace(hull=hull)))


def water_potential(body: Body, motion: WetMotion) -> Scalar:
    """Return the potential energy of the conservative forces of the water on a body, zero at the world origin [J].

    At a free surface, the energy is |a_fg| m_f times the depth `head` of the wet part, zero in air. For custom hydrodynamics,
    the method `potential_energy(body, motion)` returns the energy; without this method the energy is 0.
    """
    if isinstance(body.hydro, Hydro):
        mass, moment = displaced_mass(body, motion.density)
        if motion.head is not None:
            return norm(motion.a_fg) * mass * motion.head
        return -motion.a_fg @ (mass * (motion.R_WB.T @ motion.p_WB) + moment)
    return _called(body, motion, "potential_energy") if hasattr(body.hydro, "potential_energy") else 0.0


def added_mass(body: Body, motion: WetMotion) -> Array:
    """Return the added mass of a body about its origin [kg, kg·m, kg·m²], shape (6, 6)."""
    if body.hydro is None:
        return np.zeros((6, 6))
    if not isinstance(body.hydro, Hydro):
        M_A = _shaped(body, motion, "added_mass", (6, 6))
        if M_A.dtype != object and not np.allclose(M_A, M_A.T, rtol=1e-9, atol=1e-12 * np.abs(M_A).max()):
            raise ValueError(
                f"body {body.name!r}: {type(body.hydro).__name__}.added_mass returned an asymmetric matrix; return M = Mᵀ"
            )
        return M_A
    total = total_added_mass(body.hydro.added_mass, motion.density)
    return total if motion.wet_moment is None else total * motion.wet


def crossing_wrench(body: Body, motion: WetMotion) -> Array:
    """Return the wrench −push M_A V_r while the wet part changes, with M_A of the whole body [N, N·m], shape (6,).

    See `crossing`. The wrench is zero for a submerged body, and for custom hydrodynamics.
    """
    if motion.wet_moment is None or not isinstance(body.hydro, Hydro):
        return np.zeros(6)
    total = np.zeros(6)
    for M_A, V_r in _momenta(body, motion):
        total = total + M_A @ V_r
    return -motion.push * total


def crossing_loss(body: Body, motion: WetMotion) -> Scalar:
    """Return the power dissipated while the wet part changes, loss V_rᵀ M_A V_r ≥ 0 [W]."""
    if motion.wet_moment is None or not isinstance(body.hydro, Hydro):
        return 0.0
    total: Scalar = 0.0
    for M_A, V_r in _momenta(body, motion):
        total = total + V_r @ (M_A @ V_r)
    return motion.loss * total


def _momenta(body: Body, motion: WetMotion) -> list[tuple[Array, Array]]:
    """Return each added mass of the fully submerged body with its velocity relative to the water."""
    assert isinstance(body.hydro, Hydro)
    if motion.around is None:
        return [(total_added_mass(body.hydro.added_mass, motion.density), motion.velocity)]
    around = motion.around
    return [(item.matrix, relative_velocity(around, item.shares)) for item in around.sampling.added_mass]


def added_parts(body: Body, motion: WetMotion) -> list[AddedMassAt]:
    """Return the added masses of the wet part of a body in non-uniform water."""
    assert motion.around is not None
    sampling = motion.around.sampling
    if not isinstance(body.hydro, Hydro):
        return [AddedMassAt(added_mass(body, motion), sampling.mean)]
    if motion.wet_moment is None:
        return list(sampling.added_mass)
    return [AddedMassAt(item.matrix * motion.wet, item.shares) for item in sampling.added_mass]


def added_mass_reaction(body: Body, motion: WetMotion, a: Array) -> tuple[Array, Scalar]:
    """Return the wrench of the added mass on a body in non-uniform water, and the power drawn from the moving water.

    With the force F_i and energy T_i of each part, the power is Σ F_i · V + dT_i/dt [W]. The wrench [N, N·m] has the shape
    (6,). `a` is the derivative of the velocity components in body axes minus gravity [m/s², rad/s²], shape (6,).
    """
    assert motion.around is not None
    around, total = motion.around, np.zeros(6)
    power: Scalar = 0.0
    for item in added_parts(body, motion):
        F = added_mass_force(around, item) - item.matrix @ a
        V_r = relative_velocity(around, item.shares)
        total = total + F
        power = power + F @ (around.V - V_r) - gradient_power(around, item)
    if motion.wet_moment is not None and isinstance(body.hydro, Hydro):
        total = total + crossing_wrench(body, motion)
        for M_A, V_r in _momenta(body, motion):
            power = power - motion.push * ((M_A @ V_r) @ (around.V - V_r))
    return total, power


def fluid_energy(body: Body, motion: WetMotion) -> Scalar:
    """Return the kinetic energy ½ Σ V_rᵀ M_A V_r of the water that moves with a body [J]."""
    if motion.around is None:
        return 0.5 * (motion.velocity @ (added_mass(body, motion) @ motion.velocity))
    total: Scalar = 0.0
    for item in added_parts(body, motion):
        V_r = relative_velocity(motion.around, item.shares)
        total = total + 0.5 * (V_r @ (item.matrix @ V_r))
    return total


def viscous_wrench(body: Body, motion: WetMotion) -> Array:
    """Return the wrench of drag, damping and lift about the body origin, or the custom wrench [N, N·m], shape (6,)."""
    if body.hydro is None:
        return np.zeros(6)
    if not isinstance(body.hydro, Hydro):
        return _shaped(body, motion, "wrench", (6,))
    F = np.zeros(6)
    for part, _ in _drags(body.hydro, motion):
        F = F + part
    return F if motion.wet_moment is None else F * motion.wet


def _drags(hydro: Hydro, motion: WetMotion) -> list[tuple[Array, Array]]:
    """Return the wrench of each drag element of a submerged body, and the velocity of the element relative to the water."""
    if motion.around is not None:
        return [drag_of(motion.around, item) for item in motion.around.sampling.drag]
    return [(element.wrench(motion.velocity, motion.density), motion.velocity) for element in hydro.drag]


def viscous_power(body: Body, motion: WetMotion, drag: Array) -> Scalar:
    """Return the power Σ F · V_r of drag, damping and lift relative to the water [W], for the total wrench `drag`, (6,)."""
    if motion.around is None or not isinstance(body.hydro, Hydro):
        return drag @ motion.velocity
    total: Scalar = 0.0
    for F, V_r in _drags(body.hydro, motion):
        total = total + F @ V_r
    return total if motion.wet_moment is None else total * motion.wet


def viscous_matrix(body: Body, motion: WetMotion) -> Array:
    """Return the damping matrix D about the body origin, D V_r = −`viscous_wrench` [N·s/m, N·s, N·m·s], shape (6, 6).

    For custom hydrodynamics, the method `damping_matrix(body, motion)` returns the matrix.
    """
    if body.hydro is None:
        return np.zeros((6, 6))
    if not isinstance(body.hydro, Hydro):
        if not hasattr(body.hydro, "damping_matrix"):
            raise UnsupportedFeature(
                f"body {body.name!r}: {type(body.hydro).__name__} has no method damping_matrix(body, motion); "
                "add it, or use damping_force"
            )
        return _shaped(body, motion, "damping_matrix", (6, 6))
    D = np.zeros((6, 6))
    for element in body.hydro.drag:
        D = D + element.matrix(motion.velocity, motion.density)
    return D if motion.wet_moment is None else D * motion.wet


def _called(body: Body, motion: WetMotion, method: str) -> Any:
    with noted(f"in {method} of the hydrodynamics of the body {body.name!r} ({type(body.hydro).__name__})"):
        return getattr(body.hydro, method)(body, motion)


def _shaped(body: Body, motion: WetMotion, method: str, shape: tuple[int, ...]) -> Array:
    """Return the result of a custom method as an array with a checked shape."""
    out = np.asarray(_called(body, motion, method))
    if out.shape != shape:
        raise ValueError(
            f"body {body.name!r}: {type(body.hydro).__name__}.{method} returned shape {out.shape}; return shape {shape}"
        )
    return out


def added_inertias(model: Model, motions: Sequence[WetMotion]) -> list[Array | None]:
    """Return the added-mass matrix I^A of each body [kg, kg·m, kg·m²], shape (6, 6), or None for a dry body."""
    return [None if b.hydro is None else added_mass(b, m) for b, m in zip(model.bodies, motions, strict=True)]


def water_wrench(body: Body, motion: WetMotion, M_A: Array) -> Array:
    """Return the wrench of the water on a body without the terms −M_A a' and −V_r ×* (M_A V_r) [N, N·m], shape (6,).

    In non-uniform water, only −M_A a' is excluded; each element contributes the other terms with its own water velocity.
    """
    if motion.around is not None:
        F = total_buoyancy(body, motion) + viscous_wrench(body, motion)
        for item in added_parts(body, motion):
            F = F + added_mass_force(motion.around, item)
        return F if motion.wet_moment is None else F + crossing_wrench(body, motion)
    F = fluid_acceleration_force(M_A, _displaced(body, motion), motion.a_fg) + viscous_wrench(body, motion)
    return F if motion.wet_moment is None else F + crossing_wrench(body, motion)


def fluid_acceleration_force(M_A: Array, displaced: tuple[Scalar, Array], a_fg: Array) -> Array:
    """Return M_A (a_f − g, 0) plus the total buoyancy m_f (a_f − g) at b in one matrix product [N, N·m], shape (6,).

    `displaced` contains m_f [kg] and m_f b [kg·m].
    """
    mass, moment = displaced
    K = M_A[:, :3] + np.concatenate([mass * np.eye(3), skew(moment)])
    return K @ a_fg
