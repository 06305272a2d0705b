"""The undisturbed water around the bodies at one instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hydromechs import dynamics, hydro
from hydromechs.model import Model
from hydromechs.model.component import WaterPoint
from hydromechs.spatial import norm
from hydromechs.values import Array, Scalar

from ._plant import Plant, Waves

__all__ = ["PointMotion", "Water", "below_the_bed", "fluid_at", "point_motion"]


class PointMotion(NamedTuple):
    """Motion of the undisturbed water at a point, in world axes."""

    velocity: Array
    """[m/s], shape (3,)."""
    acceleration: Array
    """Of a particle of the water [m/s²], shape (3,)."""
    elevation: Scalar
    """Height of the surface over its mean [m]."""
    gradient: Array
    """∂v_i/∂x_j [1/s], shape (3, 3)."""
    slope: Array | None = None
    """∇η of the surface over it [-], shape (3,); this and the next only where waves move a free surface."""
    curvature: Array | None = None
    """∂²η/∂x_i∂x_j [1/m], shape (3, 3)."""
    rise: Scalar | None = None
    """∂η/∂t [m/s]."""
    turn: Array | None = None
    """∂∇η/∂t [1/s], shape (3,)."""


def below_the_bed(model: Model, environment: hydro.Environment, q: np.ndarray) -> list[str]:
    """What to say of a current or gusts that flow, but above the bed of a profile that all bodies are below; or waves.

    Args:
        model: The mechanism.
        environment: The water.
        q: Configuration, shape (nq,).
    """
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
        "current": f"there is no current where it starts: {deep}, the profile has its bed at {{:g}} m, and below the bed the "
        "water rests; give profile.depth the depth of the bed below the mean surface",
        "waves": f"it starts below the bed of its waves: {deep}, water_depth is {{:g}} m, and below it the waves mean nothing; "
        "give water_depth the depth of the bed below the mean surface, or leave it out for deep water",
    }
    return [words[what].format(bed) for what, bed in beds.items() if depths and min(depths) >= bed]


def point_motion(plant: Plant, waves: Waves, p: Array, t: Scalar, U: Array, rate: Array) -> PointMotion:
    """The water at a point.

    Args:
        plant: What is simulated.
        waves: The waves, and the velocity with which a steady current carries them [m/s], shape (3,).
        p: The point in world axes [m], shape (3,).
        t: Time [s].
        U: Velocity of current and gusts at the surface [m/s], shape (3,).
        rate: Its rate of change [m/s²], shape (3,).
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
    s = hydro.wave_surface(components, p - carried * t, t)  # η(p − c t, t): ∂/∂t has −c·∇ too
    rise, turn = s.rise - s.slope @ carried, s.turn - s.curvature @ carried
    return motion._replace(slope=s.slope, curvature=s.curvature, rise=rise, turn=turn)


def fluid_at(plant: Plant, u: Array, p: Array, t: Scalar, U: Array, rate: Array) -> PointMotion:
    """As `point_motion`, with the waves from the inputs u, shape (nu,)."""
    rows, carried = None, None
    if plant.waves is not None:
        rows, carried = plant.layout.array("waves", u), plant.layout.array("carried", u)
    return point_motion(plant, plant.waves_of(rows, carried), p, t, U, rate)


class Water:
    """The undisturbed water at one instant; its motion at a body is found when it is asked for.

    Args:
        plant: What is simulated.
        t: Time [s].
        points: Origin of each body in the world [m], shape (3,) each.
        u: Inputs, shape (nu,).
        motion: The water at a point, as `fluid_at`.
    """

    def __init__(self, plant: Plant, t: Scalar, points: Sequence[Array], u: Array, motion: Callable[..., PointMotion]) -> None:
        self.plant, self.t, self.points, self.u, self.motion = plant, t, points, u, motion
        self.U, self.rate = np.zeros(3), np.zeros(3)
        if plant.streams:
            flow = plant.layout.array("flow", u)
            self.rate = np.array(flow[3:6])
            self.U = np.array(flow[:3]) + self.rate * (t - flow[6])
        place = plant.surface_place
        self.height: Scalar | None = None if place is None else u[place]
        """Height of the mean surface above the world's origin [m]; None for water without a free surface."""
        self._at: dict[int, PointMotion] = {}

    def _moving(self, p: Array) -> PointMotion:
        """Return the water's motion at a place p in world axes [m], shape (3,)."""
        if self.plant.uniform:
            return PointMotion(self.U, self.rate, 0.0, np.zeros((3, 3)))
        if self.height is not None:  # waves and profiles of currents count depth from the mean surface
            p = p + self.height * self.plant.model.world.down
        return self.motion(self.plant, self.u, p, self.t, self.U, self.rate)

    def _depth(self, p: Array, here: PointMotion) -> Scalar | None:
        """Return the depth of a place p below the free surface [m]; None for water without one."""
        return None if self.height is None else self.plant.model.world.down @ p + self.height + here.elevation

    def at(self, body: int) -> PointMotion:
        """The water at a body's origin."""
        if body not in self._at:
            self._at[body] = self._moving(self.points[body])
        return self._at[body]

    def velocity_at(self, body: int, away: Array) -> Array:
        """Velocity at a place `away` from a body's origin, in world axes [m/s], shape (3,)."""
        here = self.at(body)
        return here.velocity if self.plant.uniform else here.velocity + here.gradient @ away

    def depth_at(self, body: int, away: Array) -> Scalar | None:
        """Depth of such a place below the free surface [m]; None where the water has none."""
        return self._depth(self.points[body] + away, self.at(body))

    def point(self, p: Array) -> WaterPoint:
        """The water at any place p in world axes [m], shape (3,)."""
        here = self._moving(p)
        depth = self._depth(p, here)
        if here.rise is None or here.slope is None:
            return WaterPoint(here.velocity, here.acceleration, depth, 0.0, np.zeros(3))
        return WaterPoint(here.velocity, here.acceleration, depth, here.rise, here.slope)

    def waves_at(self, p: Array) -> tuple[Scalar, Scalar]:
        """Height of the waves over a place p above the mean surface [m], and its rate there [m/s]."""
        plant = self.plant
        if plant.waves is None:
            return 0.0, 0.0
        carried = plant.layout.array("carried", self.u)
        components, _ = plant.waves_of(plant.layout.array("waves", self.u), carried)
        at = p - carried * self.t
        s = hydro.wave_surface(components, at, self.t)
        height = hydro.wave_motion(components, plant.model.world.down, at, self.t).elevation
        return height, s.rise - s.slope @ carried

    def _rows(self, name: str) -> Array:
        """Of all bodies that the water touches, zero for the others, shape (nb, 3)."""
        wet = [body.hydro is not None or i in self._at for i, body in enumerate(self.plant.model.bodies)]
        return np.stack([getattr(self.at(i), name) if here else np.zeros(3) for i, here in enumerate(wet)])

    @cached_property
    def velocity(self) -> Array:
        """In world axes [m/s], shape (3,) or one row per body (nb, 3)."""
        return self.U if self.plant.uniform else self._rows("velocity")

    @cached_property
    def acceleration(self) -> Array:
        """Of the water's particles [m/s²], shaped alike."""
        return self.rate if self.plant.uniform else self._rows("acceleration")

    def surface(self, kin: dynamics.Kinematics) -> list[hydro.LocalSurface] | None:
        """The free surface at each body, across ∇(depth + η); None where the water has none.

        Args:
            kin: Poses and velocities of the bodies, seen from the world.
        """
        down = self.plant.model.world.down
        if self.height is None:
            return None
        flat = hydro.LocalSurface(self.height, down, 0.0, np.zeros(3))
        out = []
        for i, body in enumerate(self.plant.model.bodies):
            if body.hydro is None:
                out.append(flat)
                continue
            v = kin.R_WB[i] @ kin.V[i][:3]
            here = self.at(i)
            if here.slope is None or here.curvature is None or here.turn is None or here.rise is None:
                out.append(flat._replace(depth_rate=down @ v))
                continue
            across, across_rate = down + here.slope, here.turn + here.curvature @ v
            length = norm(across)
            n = across / length
            n_rate = (across_rate - n * (n @ across_rate)) / length
            out.append(hydro.LocalSurface(self.height + here.elevation, n, (down + here.slope) @ v + here.rise, n_rate))
        return out
