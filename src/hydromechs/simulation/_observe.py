"""What is recorded of a run: the variables with their units, and the compiled function that computes them from states."""

from __future__ import annotations

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, Compiled, Recipe
from hydromechs.model import joints
from hydromechs.recording import Variable
from hydromechs.spatial import quaternion_from_matrix

from ._evaluate import evaluate, fluid_at
from ._plant import Plant

__all__ = ["coordinate_names", "coordinates", "observed", "observer", "quaternions", "schema"]

FREE_Q, FREE_V = ("x", "y", "z", "qw", "qx", "qy", "qz"), ("u", "v", "w", "p", "q", "r")
BALL_Q, BALL_V = ("qw", "qx", "qy", "qz"), ("p", "q", "r")
SIX = ("X", "Y", "Z", "K", "M", "N")

FORCES = {
    "force_drag": ("drag", "drag, damping and lift of the water"),
    "force_added_mass": ("added_mass", "force of the added mass"),
    "force_buoyancy": ("buoyancy", "buoyancy and acceleration of the water"),
    "force_weight": ("weight", "weight"),
    "force_contact": ("contact", "contact force"),
    "force_thrust": ("thrust", "force of the thrusters"),
    "force_external": ("external", "external force"),
}


def _parts(joint) -> tuple:
    return joint.parts if isinstance(joint, joints.Composite) else (joint,)


def coordinate_names(model) -> tuple[list[str], list[str]]:
    """Names of the entries of q and of v: "vehicle.x", "vehicle.qw", "shoulder", ..."""
    names_q, names_v = [], []
    for body in model.bodies:
        parts = _parts(body.joint)
        for k, part in enumerate(parts):
            base = body.name if len(parts) == 1 else f"{body.name}.{k + 1}"
            for names, free, ball in ((names_q, FREE_Q, BALL_Q), (names_v, FREE_V, BALL_V)):
                if isinstance(part, joints.Free):
                    names += [f"{base}.{x}" for x in free]
                elif isinstance(part, joints.Ball):
                    names += [f"{base}.{x}" for x in ball]
                elif part.nv:
                    names.append(base)
    return names_q, names_v


def coordinates(plant: Plant) -> dict[str, list[str]]:
    """Names along each dimension of a recording."""
    names_q, names_v = coordinate_names(plant.model)
    return {
        "body": list(plant.model.body_names),
        "coordinate": names_q,
        "dof": names_v,
        "xyz": ["x", "y", "z"],
        "wxyz": ["w", "x", "y", "z"],
        "six": list(SIX),
        "nu": list(FREE_V),
        "actuator": list(plant.actuator_names),
        "contact": [pair.name for pair in plant.contacts],
        "grasp": [grasp.name for grasp in plant.grasps],
        "misfit": ["distance", "angle"],
        "cause": list(plant.causes),
        "internal": list(plant.internal_names),
    }


def schema(plant: Plant) -> list[Variable]:
    """The variables of a recording of this plant."""

    def variable(name, dims, units, long_name, dtype="float64"):
        return Variable(name=name, dims=("time", *dims), units=units, long_name=long_name, dtype=dtype)

    out = [
        variable("q", ("coordinate",), "m, 1, m or rad", "configuration"),
        variable("v", ("dof",), "m/s, rad/s", "velocity in body axes, joint rates"),
        variable("tau", ("dof",), "N, N m", "joint force of drives, friction and stops"),
        variable("position", ("body", "xyz"), "m", "position of the body origin in world axes"),
        variable("orientation", ("body", "wxyz"), "1", "orientation, quaternion body to world"),
        variable("velocity", ("body", "nu"), "m/s, rad/s", "velocity of the body in its axes"),
        variable("depth", ("body",), "m", "depth of the body origin below the mean surface"),
    ]
    if plant.wet:
        out.append(
            variable("fluid_velocity", ("body", "xyz"), "m/s", "velocity of the undisturbed water at the body, world axes")
        )
    absent = set() if plant.wet else {"force_drag", "force_added_mass", "force_buoyancy"}
    absent |= set() if plant.contacts else {"force_contact"}
    absent |= set() if plant.thrusters else {"force_thrust"}
    absent |= set() if plant.external else {"force_external"}
    for name, (_, text) in FORCES.items():
        if name not in absent:
            out.append(variable(name, ("body", "six"), "N, N m", f"{text} on the body, in its axes about its origin"))
    if plant.actuator_names:
        out += [
            variable("command", ("actuator",), "N, V, rad, 1", "command of the actuator, in its unit"),
            variable("actuator_force", ("actuator",), "N, N m", "thrust, or force of the drive"),
            variable("saturated", ("actuator",), "1", "1 where the actuator is at a limit", "int8"),
        ]
    if plant.contacts:
        out += [
            variable("contact_force", ("contact",), "N", "normal force"),
            variable("contact_gap", ("contact",), "m", "distance, below 0 in contact"),
        ]
    if plant.grasps:
        out += [
            variable("grasp_force", ("grasp", "six"), "N, N m", "force of the holder on what it holds, in the holder's axes"),
            variable("grasp_error", ("grasp", "misfit"), "m, rad", "distance and angle by which the grasp is off"),
            variable("grasp_free", (), "1", "force components of grasps that could have any value, set to 0"),
            variable("grasp_pivot", (), "1", "smallest over largest pivot of the grasps' equations: small is ill-conditioned"),
        ]
    out += [
        variable("kinetic_energy_body", (), "J", "kinetic energy of the bodies"),
        variable("kinetic_energy_fluid", (), "J", "kinetic energy of the water moved by the bodies"),
        variable("potential_energy", (), "J", "potential energy of weight and buoyancy"),
        variable("elastic_energy", (), "J", "energy stored in contacts, stops and sticking friction"),
        variable("energy_residual", (), "J", "change of all energy less all work: the error of integration"),
    ]
    if plant.causes:
        out.append(variable("work", ("cause",), "J", "work done on the mechanism since the start"))
    if plant.internal_names:
        out.append(
            variable("internal_state", ("internal",), "N, A, Pa, m, J", "internal states of actuators, friction and contacts")
        )
    return out


KEPT = ("tau", "fluid_velocity", "actuator_force", "saturated", "contact_force", "contact_gap")
GRASPS = ("grasp_force", "grasp_error", "grasp_free", "grasp_pivot")
ENERGIES = ("kinetic_energy_body", "kinetic_energy_fluid", "potential_energy", "elastic_energy")


def observed(plant: Plant, t, q, v, z, inputs, motion=fluid_at) -> tuple:
    """Poses, velocities, forces, energies: the arrays that `observer` names, of one instant."""
    model = plant.model
    e = evaluate(plant, t, q, v, z, inputs, motion)
    kin = dynamics.kinematics(model, q, v)
    down = model.world.down
    return (
        np.stack(kin.p_WB),
        np.stack(kin.R_WB),
        np.stack(kin.V),
        np.array([down @ p for p in kin.p_WB]),
        *(getattr(e, name) for name in KEPT),
        *(np.asarray(getattr(e, name)) for name in GRASPS),
        *(getattr(e, name) for name, _ in FORCES.values()),
        *(np.asarray(getattr(e, name)) for name in ENERGIES),
    )


def quaternions(R: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """Quaternions (time, nb, 4) of rotation matrices (time, nb, 3, 3); the sign never jumps, nor from `before` (nb, 4)."""
    q = quaternion_from_matrix(R)
    first = np.array([1.0, 0.0, 0.0, 0.0]) if before is None else before
    chain = np.concatenate([np.broadcast_to(first, (1, *q.shape[1:])), q])
    flips = np.where(np.sum(chain[1:] * chain[:-1], axis=-1) < 0.0, -1.0, 1.0)
    return q * np.cumprod(flips, axis=0)[..., None]


def observer(plant: Plant, motion, identity: str | None) -> Compiled:
    """`observed` compiled: (t, q, x, inputs) to the arrays, each for a batch of instants."""
    model = plant.model
    nv, nb = model.nv, model.nb
    nz, nu, na, nc = len(plant.internal_names), len(plant.input_names), len(plant.actuator_names), len(plant.contacts)
    sizes = {"tau": (nv,), "fluid_velocity": (nb, 3), "actuator_force": (na,), "contact_force": (nc,), "contact_gap": (nc,)}
    outputs = [("position", (nb, 3)), ("R_WB", (nb, 3, 3)), ("velocity", (nb, 6)), ("depth", (nb,))]
    outputs += [(name, sizes.get(name, (len(plant.drives),))) for name in KEPT]
    ng = len(plant.grasps)
    outputs += zip(GRASPS, ((ng, 6), (ng, 2), (), ()), strict=True)
    outputs += [(name, (nb, 6)) for name in FORCES] + [(name, ()) for name in ENERGIES]
    arguments = (Argument("t", ()), Argument("q", (model.nq,)), Argument("x", (nv + nz,)), Argument("inputs", (nu,)))

    def function(t, q, x, inputs):
        return observed(plant, t, q, x[:nv], x[nv:], inputs, motion)

    named = tuple(Argument(name, shape) for name, shape in outputs)
    return compiler.Compiled(
        Recipe("observe", function, arguments, named, None if identity is None else f"{identity} observe"), 1, 1
    )
