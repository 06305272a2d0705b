"""Alternative algorithms for the accelerations in water (McMillan 1994).

The algorithms are composite bodies of a star (ch. 5), decoupled dynamics (7.5.2), and arms that hold one load (ch. 2, 4).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import dynamics
from hydromechs.dynamics import Balance, Holding
from hydromechs.model import Model
from hydromechs.spatial import Path, Shift, Turn
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import FlowOptions, prepared


def star_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Return the accelerations (nv,) of a star for given joint forces, by composite bodies.

    The arguments are those of `forward_dynamics`. A star is a base body with unbranched chains; any other tree raises
    `UnsupportedFeature`, which names the branching body.
    """
    if arguments.without_loops(model).wet:
        return dynamics.star_dynamics(*prepared(model, q, v, tau, flow))
    model, q, v = arguments.state(model, q, v)
    tau, external = arguments.torques(model, tau), arguments.dry(model, **flow)
    return dynamics.rigid_star_dynamics(model, dynamics.kinematics(model, q, v), tau, external)


def arm_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, vdot_base: ArrayLike, **flow: Unpack[FlowOptions]
) -> Array:
    """Return the accelerations (nv,) for given joint forces and a given acceleration of the base.

    The algorithm is that of articulated bodies in water. If the acceleration of the base equals the result of
    `forward_dynamics`, so do all other accelerations. The function costs less, and suits a base whose motion is prescribed or
    computed by a separate model.

    One base must carry all other bodies. `vdot_base` is v̇ of the base's joint, shape (6,) for a free base; entries of `tau`
    for this joint have no effect. The other arguments are those of `forward_dynamics`.
    """
    model, b, tau = _prepared(model, q, v, tau, flow)
    n = model.bodies[0].joint.nv
    vdot_base = arguments.array(vdot_base, ((n,),), "vdot_base", "acceleration of the base's joint")
    return dynamics.arm_dynamics(model, b, tau, vdot_base)


def decoupled_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **flow: Unpack[FlowOptions]) -> Array:
    """Return the accelerations (nv,) without reaction of the arms on the base.

    The equation of the base alone gives its acceleration, and `arm_dynamics` the others. The base carries neither reaction nor
    weight and buoyancy of the arms; trim the base alone.

    One base must carry all other bodies; the arguments are those of `forward_dynamics`.
    """
    return dynamics.decoupled_dynamics(*_prepared(model, q, v, tau, flow))


def _prepared(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, flow: FlowOptions) -> tuple[Model, Balance, Array]:
    dynamics.base_bodies(arguments.without_loops(model))  # report several bases before any computation
    return prepared(model, q, v, tau, flow)


class Grip(dynamics.Joined, Protocol):
    """Properties of a grasp that the equations use; `contact.Grasp` provides them."""

    @property
    def name(self) -> str:
        """Name of the grasp in messages."""


def _on_body(model: Model, name: str) -> tuple[int, Path]:
    """Return the index of the body of a frame or body, and the constant path from the body's frame."""
    i, p, R = model.locate(name)
    shift = (Shift(p),) if p.any() else ()
    turn = () if np.array_equal(R, np.eye(3)) else (Turn(R, np.zeros(3)),)
    return i, Path((*shift, *turn))


class HeldMotion(NamedTuple):
    """Accelerations of arms that hold a load, and the forces of the grasps on the load."""

    vdot: Array
    """Accelerations v̇ of arms and load, shape (nv,)."""
    forces: Array
    """Force of each grasp's holder on the load in the axes of the grasp [N, N·m], 0 in free directions, shape (ng, 6)."""


@dataclass(frozen=True)
class HeldLoad:
    """Load held by grasps of a model, used in place of an equation name in methods of compiled equations.

    The equation is `closed_chain_dynamics` with the inputs `q`, `v` and `tau` and the outputs `vdot` and `forces`.
    """

    load: str
    """Name of the load's body."""
    grasps: tuple[Grip, ...]
    """Grasps whose `held` is on the load, such as `hydromechs.contact.Grasp`."""

    def __str__(self) -> str:
        places = (f"{g.name} {g.holder} {g.held} {tuple(g.rows)}" for g in self.grasps)
        return f"{self.load}: {', '.join(places)}"

    def holdings(self, model: Model) -> tuple[int, list[Holding]]:
        """Return the index of the load, and its grips."""
        body, out = model.body_index(self.load), []
        if not self.grasps:
            raise ValueError(f"nothing holds {self.load!r}; add at least one grasp whose `held` is on this body")
        for grasp in self.grasps:
            (holder, path), (held, load_path) = _on_body(model, grasp.holder), _on_body(model, grasp.held)
            if held != body:
                raise ValueError(
                    f"grasp {grasp.name!r} holds {grasp.held!r}, which is not on the load {self.load!r}; change held or load"
                )
            out.append(Holding(holder, path, load_path, tuple(grasp.rows)))
        return body, out

    def motion(self, model: Model, motion: dynamics.ClosedChains) -> HeldMotion:
        """Return the accelerations, and the force of each grasp on the load."""
        load, holdings = self.holdings(model)
        forces: dict[int, Array] = {}
        for (_, grips), f, D in zip(dynamics.held_trees(model, load, holdings), motion.forces, motion.directions, strict=True):
            start = 0
            for grip in grips:
                at = slice(start, start + len(grip.rows))
                forces[id(grip)] = D[at].T @ f[at]
                start += len(grip.rows)
        return HeldMotion(motion.vdot, np.stack([forces[id(grip)] for grip in holdings]))


def held_by_tips(model: Model) -> HeldLoad:
    """Return the last free body without children as a load, held at the origins of all other bodies without children."""
    tips = [i for i in range(model.nb) if i not in model.parent]
    free = [i for i in tips if model.parent[i] < 0 and model.free_rows[i] == (0, 1, 2, 3, 4, 5)]
    if not free or len(tips) < 2:
        raise ValueError(f"model {model.name!r} has no arms with a free body to hold; specify `load` and `grasps`")
    name = model.body_names[free[-1]]
    return HeldLoad(name, tuple(_Hand(model.body_names[i], model.body_names[i], name) for i in tips if i != free[-1]))


class _Hand(NamedTuple):
    """Grasp that holds all six directions."""

    name: str
    holder: str
    held: str
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)


def closed_chain_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, load: str, grasps: Iterable[Grip], **flow: Unpack[FlowOptions]
) -> HeldMotion:
    """Return the accelerations of nonsingular arms that hold a load, and the forces of the grasps on the load.

    `model` contains the arms, and the load as a free body. `q` is a configuration in which the grasps are closed, shape (nq,).
    `load` is the name of the load's body, and `grasps` are `hydromechs.contact.Grasp` objects whose `held` is on the load. `v`
    and `tau`, and `fluid_velocity`, `fluid_acceleration` and `wrench` in `flow`, are as in `forward_dynamics`.
    """
    held = HeldLoad(load, tuple(grasps))
    at = prepared(arguments.without_loops(model), q, v, tau, flow)
    grips = held.holdings(at[0])
    long = dynamics.has_long_arms(at[0], *grips)
    return held.motion(at[0], (dynamics.long_arm_dynamics if long else dynamics.closed_chain_dynamics)(*at, *grips))


def singular_chain_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    load: str,
    grasps: Iterable[Grip],
    threshold: float = 1e8,
    **flow: Unpack[FlowOptions],
) -> tuple[HeldMotion, dynamics.LoadSolution]:
    """Return `closed_chain_dynamics` for floats with arms at or near singularities, and a report of singular arms.

    The arguments are those of `closed_chain_dynamics`: `model`, `q`, `v`, `tau`, `load`, `grasps` and `flow`. `threshold` is
    the condition number of Λ⁻¹ above which an arm counts as singular.
    """
    held, at = HeldLoad(load, tuple(grasps)), prepared(arguments.without_loops(model), q, v, tau, flow)
    motion, solution = dynamics.singular_chain_dynamics(*at, *held.holdings(at[0]), threshold=threshold)
    return held.motion(at[0], motion), solution
