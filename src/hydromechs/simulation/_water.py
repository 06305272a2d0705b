"""Motion of the undisturbed water around the bodies at one instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Model
from hydromechs.model.component import WaterPoint
from hydromechs.spatial import cross, norm
from hydromechs.values import Array, Scalar

from ._plant import Plant, Waves


class Moving(Protocol):
    """Poses and velocities of the bodies, as in `Kinematics`."""

    @property
    def R_WB(self) -> Sequence[Array]:
        """Rotation matrix of each body, body to world, shape (3, 3) each."""

    @property
    def p_WB(self) -> Sequence[Array]:
        """Origin of each body in world axes [m], shape (3,) each."""

    @property
    def V(self) -> Sequence[Array]:
        """Velocity of each body in body axes [m/s, rad/s], shape (6,) each."""


class PointMotion(NamedTuple):
    """Motion of the undisturbed water at a point, in world axes."""

    velocity: Array
    """Velocity of the water [m/s], shape (3,)."""
    acceleration: Array
    """Acceleration of a water particle [m/s²], shape (3,)."""
    elevation: Scalar
    """Surface elevation above the mean surface [m]."""
    gradient: Array
    """Velocity gradient ∂v_i/∂x_j [1/s], shape (3, 3)."""
    slope: Array | None = None
    """Slope ∇η of the surface above the point [-], shape (3,). If no free surface moves, this field and the following fields
    are None."""
    curvature: Array | None = None
    """Curvature ∂²η/∂x_i∂x_j of the surface [1/m], shape (3, 3)."""
    rise: Scalar | None = None
    """Rate of elevation ∂η/∂t [m/s]."""
    turn: Array | None = None
    """Rate of slope ∂∇η/∂t [1/s], shape (3,)."""


MotionAt: TypeAlias = Callable[[Plant, Array, Sequence[Array], Scalar, Array, Array], list[PointMotion]]
"""Function of plant, inputs, points in world axes [m], time [s], current with gusts [m/s] and its rate [m/s²] that returns the
water at the points."""


def below_the_bed(model: Model, environment: hydro.Environment, q: np.ndarray) -> list[str]:
    """Return messages if all bodies are below the bed of a current profile or of waves."""
    current, gusts, profile = environment.current, environment.gusts, environment.profile
    flows = gusts is not None or (current is not None and any(any(v) for v in (current.velocity, *current.velocities)))
    beds = {"current": profile.depth} if flows and isinstance(profile, hydro.PowerLaw) else {}
    beds |= {"waves": environment.water_depth} if environment.waves and environment.water_depth is not None else {}
    if not beds:
        return []
    kin = dynamics.kinematics(model, np.asarray(q, dtype=float), np.zeros(model.nv))
    wet = [p for p, body in zip(kin.p_WB, model.bodies, strict=True) if body.hydro is not None]
    depths = [float(model.world.down @ np.asarray(p, dtype=float)) for p in wet]
    low, high = f"{min(depths, default=0.0):.3g}", f"{max(depths, default=0.0):.3g}"
    deep = f"all bodies are {low if low == high else f'{low} to {high}'} m deep"
    words = {
        "current": f"the initial positions are below the bed of the current profile: {deep}, but the bed is at {{:g}} m, "
        "below which the water is still; set profile.depth to the depth of the bed below the mean surface",
        "waves": f"the initial positions are below the bed of the waves: {deep}, but water_depth is {{:g}} m, below which "
        "there are no waves; set water_depth to the depth of the bed below the mean surface, or omit it for deep water",
    }
    return [words[what].format(bed) for what, bed in beds.items() if depths and min(depths) >= bed]


def point_motion(plant: Plant, waves: Waves, p: Array, t: Scalar, U: Array, rate: Array) -> PointMotion:
    """Return the motion of the water at a point.

    `waves`: waves, and the velocity at which a steady current carries them [m/s], shape (3,). `p`: point in world axes [m],
    shape (3,). `U`: velocity of current and gusts at the surface [m/s], shape (3,). `rate`: rate of change of `U` [m/s²],
    shape (3,).
    """
    down, profile = plant.model.world.down, plant.environment.profile
    components, carried = waves
    above = plant.environment.surface is not None
    here = hydro.fluid_motion(profile, components, down, p, t, U, rate, carried, above=above)
    shear = hydro.profile_slope(profile, down @ p) * np.asarray(U)
    gradient = np.outer(shear, down) + hydro.wave_motion(components, down, p - carried * t, t, above=above).gradient
    motion = PointMotion(here.velocity, here.acceleration, here.elevation, gradient)
    if not plant.waves_move_surface:
        return motion
    s = hydro.wave_surface(components, p - carried * t, t)  # η(p − c t, t): ∂/∂t also contains −c·∇
    rise, turn = s.rise - s.slope @ carried, s.turn - s.curvature @ carried
    return motion._replace(slope=s.slope, curvature=s.curvature, rise=rise, turn=turn)


def fluid_at(plant: Plant, u: Array, points: Sequence[Array], t: Scalar, U: Array, rate: Array) -> list[PointMotion]:
    """Return `point_motion` at several points, with waves from the inputs `u`, shape (nu,)."""
    rows, carried = None, None
    if plant.waves is not None:
        rows, carried = plant.layout.array("waves", u), plant.carried(u)
    waves = plant.waves_of(rows, carried)
    return [point_motion(plant, waves, p, t, U, rate) for p in points]


class Water:
    """Undisturbed water at one instant, whose motion at a point is computed on request.

    `kin`: poses and velocities of the bodies. `u`: inputs, shape (nu,). `motion`: function that returns the water at points,
    like `fluid_at`.
    """

    def __init__(self, plant: Plant, t: Scalar, kin: Moving, u: Array, motion: MotionAt) -> None:
        self.plant, self.t, self.kin, self.u, self.motion = plant, t, kin, u, motion
        self.U, self.rate = np.zeros(3), np.zeros(3)
        if plant.streams:
            flow = plant.layout.array("flow", u)
            self.rate = np.array(flow[3:6])
            self.U = np.array(flow[:3]) + self.rate * (t - flow[6])
            if plant.parameters:
                self.U = self.U + plant.open_current
        place = plant.surface_place
        self.height: Scalar | None = None if place is None else u[place]
        """Height of the mean surface above the origin of the world [m]; None without a free surface."""
        self._on_bodies: dict[tuple[int, tuple[float, ...]], WaterPoint] = {}

    def on_body(self, body: int, p_B: Array) -> WaterPoint:
        """Return the water at a point of a body. `body`: index of the body. `p_B`: point in body axes [m], shape (3,)."""
        key = (body, tuple(map(id, p_B) if np.asarray(p_B).dtype == object else np.asarray(p_B).tolist()))
        if key not in self._on_bodies:
            self._on_bodies[key] = self.point(self.kin.p_WB[body] + self.kin.R_WB[body] @ np.asarray(p_B))
        return self._on_bodies[key]

    def _moving(self, points: Sequence[Array]) -> list[PointMotion]:
        """Return the motion of nonuniform water at points in world axes [m], shape (3,) each."""
        if self.height is not None:  # waves and current profiles measure depth from the mean surface
            points = [p + self.height * self.plant.model.world.down for p in points]
        return list(self.motion(self.plant, self.u, points, self.t, self.U, self.rate) if points else ())

    def point(self, p: Array) -> WaterPoint:
        """Return the water at a point `p` in world axes [m], shape (3,)."""
        here = PointMotion(self.U, self.rate, 0.0, np.zeros((3, 3)))
        if not self.plant.uniform:
            (here,) = self._moving([p])
        depth = None if self.height is None else self.plant.model.world.down @ p + self.height + here.elevation
        if here.rise is None or here.slope is None:
            return WaterPoint(here.velocity, here.acceleration, depth, 0.0, np.zeros(3))
        return WaterPoint(here.velocity, here.acceleration, depth, here.rise, here.slope)

    def waves_at(self, p: Array) -> tuple[Scalar, Scalar]:
        """Return the wave elevation [m] and its rate [m/s] at a point `p` in world axes [m], shape (3,)."""
        plant = self.plant
        if plant.waves is None:
            return 0.0, 0.0
        carried = plant.carried(self.u)
        components, _ = plant.waves_of(plant.layout.array("waves", self.u), carried)
        at = p - carried * self.t
        s = hydro.wave_surface(components, at, self.t)
        height = hydro.wave_motion(components, plant.model.world.down, at, self.t).elevation
        return height, s.rise - s.slope @ carried

    def surface(self) -> list[hydro.LocalSurface] | None:
        """Return the level surface of uniform water above each body; None without a free surface."""
        down = self.plant.model.world.down
        if self.height is None:
            return None
        flat = hydro.LocalSurface(self.height, down, 0.0, np.zeros(3))
        each = zip(self.plant.model.bodies, self.kin.R_WB, self.kin.V, strict=True)
        return [flat if body.hydro is None else flat._replace(depth_rate=down @ (R @ V[:3])) for body, R, V in each]

    def motions(self, model: Model) -> list[hydro.WetMotion] | None:
        """Return the motion of each body in nonuniform water; None if the water is uniform."""
        if self.plant.uniform:
            return None
        kin, samplings = self.kin, self.plant.samplings(model)
        points = [
            p + R @ x
            for sampled, R, p in zip(samplings, kin.R_WB, kin.p_WB, strict=True)
            if sampled is not None
            for x in sampled.points
        ]
        found = iter(self._moving(points))
        here = [[] if sampled is None else [next(found) for _ in sampled.points] for sampled in samplings]
        out = []
        for i, (sampled, flows) in enumerate(zip(samplings, here, strict=True)):
            R, p, V = kin.R_WB[i], kin.p_WB[i], kin.V[i]
            if sampled is None:
                still = R.T @ -model.world.gravity_vector
                out.append(hydro.WetMotion(V, still, R, p, model.world.down @ p, model.world.water_density))
                continue
            seen = [hydro.Flow(*in_body_axes(R, x, model.world.gravity_vector)) for x in flows]
            out.append(hydro.motion_in(sampled, V, seen, R, p, model.world))
        return out if self.plant.environment.surface is None else self._at_surface(model, out, samplings, here)

    def _at_surface(
        self,
        model: Model,
        motions: list[hydro.WetMotion],
        samplings: Sequence[hydro.WetSampling | None],
        here: Sequence[Sequence[PointMotion]],
    ) -> list[hydro.WetMotion]:
        """Return the motion of bodies at a free surface, including the wet part of each hull strip."""
        wet: list[list[hydro.WetStrip]] = []
        points: list[Array] = []
        for motion, sampled, flows in zip(motions, samplings, here, strict=True):
            strips = [] if sampled is None else [self._wet(motion, strip, flows) for strip in sampled.hull if strip.cells]
            wet.append(strips)
            points += [motion.p_WB + motion.R_WB @ x for strip in strips for x in strip.points]
        found = iter(self._moving(points))
        gravity = model.world.gravity_vector
        out = []
        for body, motion, sampled, strips in zip(model.bodies, motions, samplings, wet, strict=True):
            if sampled is None or not strips:
                out.append(motion)
                continue
            a_fg = [[motion.R_WB.T @ (next(found).acceleration - gravity) for _ in strip.points] for strip in strips]
            out.append(hydro.wetted(body, motion, strips, a_fg, model.world.gravity))
        return out

    def _wet(self, motion: hydro.WetMotion, strip: hydro.HullStrip, flows: Sequence[PointMotion]) -> hydro.WetStrip:
        """Return the wet part of a strip, below the mean of the tangent planes of the surface above its points."""
        assert motion.around is not None
        down, R, V = self.plant.model.world.down, motion.R_WB, motion.around.V
        v = R @ (V[:3] + cross(V[3:], strip.center))
        depth = down @ (motion.p_WB + R @ strip.center) + self.height
        if not self.plant.waves_move_surface:
            n = R.T @ down
            return hydro.wet_strip(strip, n, -cross(V[3:], n), depth, down @ v)

        points = motion.around.sampling.points

        def mean(value: Callable[[PointMotion, Array], Any]) -> Any:
            """Return the mean of a value over the moving points of the strip."""
            return hydro.mean_of(strip.shares, lambda i: value(flows[i], R @ (V[:3] + cross(V[3:], points[i]))))

        across, across_rate = down + mean(lambda x, _: x.slope), mean(lambda x, u: x.turn + x.curvature @ u)
        length = norm(across)
        n = across / length
        n_rate = (across_rate - n * (n @ across_rate)) / length
        depth, depth_rate = depth + mean(lambda x, _: x.elevation), down @ v + mean(lambda x, u: x.rise + x.slope @ u)
        cosine = n @ down
        seen = R.T @ n
        seen_rate = R.T @ n_rate - cross(V[3:], seen)
        return hydro.wet_strip(strip, seen, seen_rate, depth * cosine, depth_rate * cosine + depth * (n_rate @ down))


def in_body_axes(R: Array, x: PointMotion, gravity: Array) -> tuple[Array, Array, Array]:
    """Return velocity, acceleration minus gravity, and gradient of the water in body axes; see `hydro.Flow`.

    `R`: rotation matrix from body to world, shape (3, 3). `x`: motion of the water in world axes.
    """
    return R.T @ x.velocity, R.T @ (x.acceleration - gravity), R.T @ x.gradient @ R
