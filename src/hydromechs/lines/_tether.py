"""Lumped-mass tether between a body and an upper point, with stretch, bending, drag and a winch.

Each mass represents an unstretched length l = L/n of the line. With the material velocity u at the mass,

    ẋ_j = u_j + ṡ_j ∂x/∂s,   u̇_j = a_j + ṡ_j ∂u/∂s
    (m l + M_A) a_j = T_j t_j − T_{j−1} t_{j−1} + bending + weight in water + water forces + ground

The unstretched length from the lower end is s. The masses are at s_j = (j − ½) L/n, so that they remain evenly spaced during
pay-out, and material passes them at −ṡ_j = −(j − ½) L̇/n. Without a winch, ṡ = 0. Torsion is neglected.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Annotated

import numpy as np

from hydromechs.contact import Terrain
from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Slot, Values, WaterPoint, mode_of
from hydromechs.registry import ByName
from hydromechs.spatial import clamp, norm, where
from hydromechs.values import Array, Bound, Positive, Scalar, check_fields

from ._catenary import hanging_chain
from ._ends import TopPoint, check_ends, point_mobility, too_short
from ._mechanics import (
    Bending,
    Cable,
    GroundForce,
    Segment,
    WaterForce,
    bending,
    damped,
    ground_force,
    pieces,
    segment_of,
    water_force,
)

POWERS = ("drag", "added_mass", "damping", "ground", "surface", "top", "winch")
"""Causes that change the energy of a line, in addition to the body at the lower end."""
NOMINAL_SPEED = 2.0
"""Speed through the water at which advice on the step size evaluates drag [m/s]."""
BRAKE = 0.2
"""Distance from the length limits over which a winch slows down [m]."""
Segments = Annotated[int, Bound(least=2, most=400, whole=True)]
"""Number of masses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Winch:
    """Winch: the rate of the unstretched length follows the command with a lag, and stops at the length limits."""

    fastest: Positive = 0.5
    """Maximum rate in both directions [m/s]."""
    shortest: Positive
    """Unstretched length at which hauling in stops [m]; advice on the step size assumes this length."""
    longest: Positive
    """Unstretched length at which paying out stops [m]."""
    time_constant: Positive = 0.5
    """Time constant of the lag between command and rate [s]."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.shortest >= self.longest:
            raise FieldError("Winch.shortest", self.shortest, f"must be below longest, {self.longest:g} m; swap them")

    def speed(self, length: Scalar, rate: Scalar) -> Scalar:
        """Return the rate of the unstretched length [m/s]: the rate of the winch, reduced near the length limits."""
        room = where(rate > 0.0, self.longest - length, length - self.shortest)
        return rate * clamp(room / BRAKE, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tether(Component):
    """A cable from a frame of a body to a point of a ship or of another body; pulls on both ends."""

    kind = "line_point"
    cause = "tether"
    label = "tether"
    refers = MappingProxyType({"frame": "frame or body"})
    outputs = (
        Output("line_position", "m", "point of the line in world axes", ("x", "y", "z"), "xyz"),
        Output("line_tension", "N", "tension at the point of the line"),
        Output("line_power", "W", "power on the line at the point, by cause", POWERS, "line_cause"),
    )

    name: str
    """Name, unique among the components."""
    frame: str
    """Frame or body at the lower end of the line."""
    top: TopPoint
    """Upper end of the line."""
    cable: Cable
    """Cable properties."""
    length: Positive
    """Initial unstretched length L [m]."""
    segments: Segments = 20
    """Number of masses n, each representing an equal part of the line [-]."""
    winch: Winch | None = None
    """Winch that pays out and hauls in; the length is fixed if omitted."""
    ground: Annotated[tuple[Terrain, ...], ByName()] = ()
    """Terrain in contact with the line."""

    def __post_init__(self) -> None:
        check_ends(self, f"tether {self.name!r}")
        if self.winch is not None and not self.winch.shortest <= self.length <= self.winch.longest:
            must = f"must be within the winch limits, {self.winch.shortest:g} to {self.winch.longest:g} m"
            raise FieldError(f"tether {self.name!r}: length", self.length, must)
        object.__setattr__(self, "ground", tuple(self.ground))
        for solid in self.ground:
            if not isinstance(solid, Terrain):
                must = "must be terrain, such as contact.Terrain(...); names are valid only in scenario files"
                raise FieldError(f"tether {self.name!r}: ground", solid, must)

    # -- interface to the plant ----------------------------------------------------------------------------------------------

    def check(self, model: Model) -> None:
        model.locate(self.frame)
        self.top.check(model)

    def check_beside(self, parts: Sequence[Component]) -> None:
        for solid in self.ground:
            if solid not in parts:
                raise ValueError(f"tether {self.name!r}: ground {solid.name!r} is missing from the plant; add it")

    def check_start(self, now: Now) -> None:
        fault = too_short(now, self.frame, self.top, self.length)
        if fault:
            raise ValueError(f"tether {self.name!r} {fault}")

    def entries(self, model: Model) -> list[str]:
        return [f"{self.name}.{k}" for k in range(self.segments + 2)]

    def states(self, model: Model) -> list[Slot]:
        """Return states: positions and velocities of the masses from the lower end; for a winch, paid-out length and rate."""
        shape = lru_cache(maxsize=1)(self.start_shape)  # at one instant, for all masses

        def start(j: int, i: int, now: Now) -> float:
            return float(shape(now)[j, i])

        out = []
        for j in range(self.segments):
            out += [Slot(f"p{j + 1}{x}", partial(start, j, i), "m") for i, x in enumerate("xyz")]
        out += [Slot(f"v{j + 1}{x}", 0.0, "m/s") for j in range(self.segments) for x in "xyz"]
        if self.winch is None:
            return out
        return [*out, Slot("length", self.length, "m", frozen_in_trim=True), Slot("winch_rate", 0.0, "m/s")]

    def inputs(self, model: Model) -> list[Slot]:
        """Return the commanded rate of the winch [m/s] as an input, positive to pay out."""
        if self.winch is None:
            return []
        return [Slot("rate", 0.0, "m/s", limits=(-self.winch.fastest, self.winch.fastest))]

    def start_shape(self, now: Now) -> Array:
        """Return the initial positions of the masses [m], shape (n, 3): hanging in still water, without ground contact.

        A buoyant line hangs upwards. A neutrally buoyant line is treated as having one thousandth of its weight in air.
        """
        a, b, world = now.frame(self.frame).p, self.top.now(now).p, now.model.world
        up = -np.asarray(world.down, dtype=float)
        weight = self.cable.weight(world.water_density, world.gravity)
        least = 1e-3 * self.cable.mass * max(world.gravity, 1.0)
        up, weight = (up, weight) if weight >= 0.0 else (-up, -weight)
        across = (b - a) - (up @ (b - a)) * up
        far = float(np.linalg.norm(across))
        e = across / far if far > 1e-9 * self.length else np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
        s = self.length * (np.arange(self.segments) + 0.5) / self.segments
        if np.linalg.norm(b - a) > self.length:  # the initial state of the model can differ from that of a run
            return a + (s / self.length)[:, None] * (b - a)
        w = max(weight, least)
        ends, piece = (max(far, 1e-6 * self.length), float(up @ (b - a))), self.length / self.segments
        rests, weights = np.array(pieces(self.segments)) * piece, np.full(self.segments, w * piece)
        x, z = hanging_chain(*ends, rests, weights, self.cable.axial_stiffness)
        points = a + x[:, None] * e + z[:, None] * up
        return np.array([self._lifted(p, np.asarray(world.down, dtype=float)) for p in points])

    def _lifted(self, p: Array, down: Array) -> Array:
        for solid in self.ground:
            distance, n = solid.distance(p, down)
            p = p + max(0.0, 0.5 * self.cable.diameter - float(distance)) * np.asarray(n, dtype=float)
        return p

    # -- equations -------------------------------------------------------------------------------------------------------

    def act(self, now: Now, z: Values, u: Values) -> Action:
        n, cable, world = self.segments, self.cable, now.model.world
        density, down = world.water_density, world.down
        bottom, top = now.frame(self.frame), self.top.now(now)
        L: Scalar = z["length"] if self.winch else self.length
        speed: Scalar = self.winch.speed(L, z["winch_rate"]) if self.winch else 0.0
        piece = L / n
        m, weight = cable.mass * piece, cable.weight(density, world.gravity) * piece
        rows = range(1, n + 1)
        X = [bottom.p, *(np.array([z[f"p{j}{x}"] for x in "xyz"]) for j in rows), top.p]
        rests = [k * piece for k in pieces(n)]
        last = segment_of(cable, X[-1] - X[-2], rests[-1])
        passing = (speed * (1.0 + last.strain)) * last.t  # velocity at which the winch pays out material
        U = [bottom.v, *(np.array([z[f"v{j}{x}"] for x in "xyz"]) for j in rows), top.v - passing]

        def segment(a: Array, b: Array, u_a: Array, u_b: Array, rest: Scalar) -> Segment:
            return damped(cable, segment_of(cable, b - a, rest), u_b - u_a)

        def around(
            a: Segment, b: Segment, chord: Array, spread: Array, x: Array, u: Array
        ) -> tuple[Bending, WaterForce, GroundForce, WaterPoint]:
            water = now.water.point(x)
            wet = water_force(cable, density, world.gravity, down, water, chord, u, spread, piece)
            ground = ground_force(self.ground, x, u, 0.5 * cable.diameter, down)
            return bending(cable.bending_stiffness, a, b), wet, ground, water

        parts: list[Segment] = now.each(segment, X[:-1], X[1:], U[:-1], U[1:], rests)
        chords, spreads = ([c - a for a, c in zip(x[:-2], x[2:], strict=True)] for x in (X, U))
        masses = now.each(around, parts[:-1], parts[1:], chords, spreads, X[1:-1], U[1:-1])

        F, damping, carried = ([np.zeros(3) for _ in X] for _ in range(3))  # carried by the added mass of neighbours
        powers: list[dict[str, Scalar]] = [{} for _ in X]
        bent: Scalar = 0.0
        for j, (bend, wet, _, _) in zip(rows, masses, strict=True):
            bent = bent + bend.energy
            F[j - 1], F[j + 1] = F[j - 1] - bend.below - wet.levelling, F[j + 1] + bend.above + wet.levelling
            F[j] = F[j] + bend.below - bend.above + wet.lack
            carried[j - 1], carried[j + 1] = carried[j - 1] - wet.reaction, carried[j + 1] + wet.reaction
        energy = bent
        for k, part in enumerate(parts):
            F[k], F[k + 1] = F[k] + part.tension * part.t, F[k + 1] - part.tension * part.t
            energy = energy + part.stored(cable)
            damping[k], damping[k + 1] = damping[k] + part.damper * part.t, damping[k + 1] - part.damper * part.t
            for at in (k, k + 1):
                powers[at]["damping"] = powers[at].get("damping", 0.0) - 0.5 * part.damper * part.strain_rate * part.rest
        rates: dict[str, Scalar] = {}
        winch: Scalar = -parts[-1].damper * (parts[-1].t @ passing)
        for j, (_, wet, ground, water), chord in zip(rows, masses, chords, strict=True):
            t = chord / norm(chord)
            pushed = wet.driving + wet.turning + carried[j]
            f = F[j] + weight * down + wet.drag + pushed + ground.force
            f_t = t @ f
            a = (f - f_t * t) / (m + wet.added_n) + (f_t / (m + wet.added_t)) * t
            felt = pushed - wet.added_n * (a - (t @ a) * t) - (wet.added_t * (t @ a)) * t
            powers[j] |= {"drag": wet.drag @ U[j], "added_mass": felt @ U[j] + wet.lost, "ground": -ground.loss}
            energy = energy + 0.5 * m * (U[j] @ U[j]) - weight * (down @ X[j]) + ground.stored + wet.stored
            x_rate, u_rate = U[j], a
            if self.winch:
                passed = (j - 0.5) * speed / n  # ṡ of the mass
                apart = parts[j - 1].rest + parts[j].rest
                shift, change = (passed / apart) * chord, (passed / apart) * (U[j + 1] - U[j - 1])
                kept = F[j] - damping[j] + weight * down + ground.elastic
                winch = winch + m * (U[j] @ change) - kept @ shift
                winch = winch + (0.5 * m * (U[j] @ U[j]) - weight * (down @ X[j]) + wet.stored_by_length) * (speed / L)
                x_rate, u_rate = x_rate + shift, u_rate + change
            powers[j]["surface"] = -wet.lost - (wet.lack @ down) * (water.slope @ x_rate + water.rise)
            rates |= {f"p{j}{x}": r for x, r in zip("xyz", x_rate, strict=True)}
            rates |= {f"v{j}{x}": r for x, r in zip("xyz", u_rate, strict=True)}
        for at, v in ((0, bottom.v), (-1, top.v)):
            powers[at]["added_mass"] = carried[at] @ v
            F[at] = F[at] + carried[at]
        powers[-1]["top"] = 0.0 if top.frame else -(F[-1] @ top.v)
        if self.winch:
            for part in parts:
                winch = winch - cable.axial_stiffness * part.strain * (1.0 + 0.5 * part.strain) * part.rest * (speed / L)
            powers[-1]["winch"] = winch - bent * (speed / L)
            target = clamp(u["rate"], -self.winch.fastest, self.winch.fastest)
            rates |= {"length": speed, "winch_rate": (target - z["winch_rate"]) / self.winch.time_constant}
        pulls = [part.tension for part in parts]
        tension = [pulls[0], *(0.5 * (a + b) for a, b in itertools.pairwise(pulls)), pulls[-1]]
        return Action(
            forces=[bottom.force(F[0]), *([top.frame.force(F[-1])] if top.frame else [])],
            rates=rates,
            energy=energy,
            power=sum(x for row in powers for x in row.values()),
            record={
                "line_position": np.stack(X),
                "line_tension": np.array(tension),
                "line_power": np.array([[row.get(cause, 0.0) for cause in POWERS] for row in powers]),
            },
        )

    # -- fast modes -----------------------------------------------------------------------------------------------------

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return fast modes: vibration of the straight line at minimum length, drag, ground contact, winch lag."""
        n, cable, density = self.segments, self.cable, model.world.water_density
        L = self.winch.shortest if self.winch else self.length
        piece = L / n
        rests = np.array(pieces(n)) * piece
        ends = [point_mobility(model, mobility, self.frame), self.top.mobility(model, mobility)]
        carried = cable.displaced(density)
        along = _fastest(cable.axial_stiffness, rests, 1, ends, piece * (cable.mass + carried * cable.tangential_added_mass))
        out = [
            FastMode(
                f"stretch of tether {self.name!r}", along, cable.axial_damping / cable.axial_stiffness * along**2, internal=True
            )
        ]
        across_mass = cable.mass + carried * cable.normal_added_mass
        if cable.bending_stiffness:
            across = _fastest(cable.bending_stiffness, rests, 2, ends, piece * across_mass)
            out.append(FastMode(f"bending of tether {self.name!r}", across, 0.0, internal=True))
        drag = density * cable.normal_drag * cable.diameter * NOMINAL_SPEED / across_mass
        out.append(FastMode(f"drag of tether {self.name!r} at {NOMINAL_SPEED:g} m/s", 0.0, drag))
        for solid in self.ground:
            what = f"tether {self.name!r} on terrain {solid.name!r}"
            out.append(mode_of(what, *solid.material.law.stiffness_at(1e-3), 1.0 / (cable.mass * piece), meets=True))
        if self.winch:
            out.append(FastMode(f"lag of the winch of tether {self.name!r}", 0.0, 1.0 / self.winch.time_constant))
        return out


def _fastest(stiffness: float, rests: Array, order: int, ends: Sequence[float], mass: float) -> float:
    """Return the highest natural frequency of a straight line [rad/s] with unstretched segment lengths (n + 1,) [m].

    The stiffness is EA [N] for stretching, order 1, and EI [N·m²] for bending, order 2. Masses include added mass [kg]; `ends`
    are the accelerations of the ends per force [1/kg].
    """
    D = np.diff(np.eye(len(rests) + 1), axis=0) / rests[:, None]  # slope in each segment
    weight = rests
    if order == 2:
        weight = 0.5 * (rests[:-1] + rests[1:])
        D = np.diff(D, axis=0) / weight[:, None]
    K = stiffness * D.T @ (weight[:, None] * D)
    root = np.sqrt([ends[0], *[1.0 / mass] * (len(rests) - 1), ends[1]])
    return float(np.sqrt(np.linalg.eigvalsh(root[:, None] * K * root)[-1]))
