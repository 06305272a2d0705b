"""Accelerations of an imported MJCF file against MuJoCo's own reading of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs import dynamics, equations
from hydromechs.actuation import JointRotor
from hydromechs.bench.peers import import_peer
from hydromechs.formats import Imported
from hydromechs.model import Model, joints
from hydromechs.model.component import Now, StillWater
from hydromechs.simulation import Plant
from hydromechs.spatial import quaternion_matrix

__all__ = ["mujoco_difference"]

STATES = 5
"""Random states of each robot."""
OFF = ("CONTACT", "CONSTRAINT", "ACTUATION", "SPRING", "DAMPER", "PASSIVE")
"""Quantities that MuJoCo computes without."""


def mujoco_difference(imported: Imported, rng: np.random.Generator) -> float:
    """Largest difference of dry accelerations from MuJoCo's, each over the largest acceleration of its degree of freedom.

    MuJoCo runs without contacts, constraints, actuators, springs, damping and fluid; gravity and armature count. It finds the
    principal axes of a mesh's inertia to about 1e-7 rad only, so files with meshes can differ by as much.

    Args:
        imported: What we have read.
        rng: Random numbers.
    """
    mujoco = import_peer("mujoco")
    there = mujoco.MjModel.from_xml_path(imported.source)
    for name in OFF:
        there.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0))
    there.opt.density = there.opt.viscosity = 0.0
    model = replace(imported.model, bodies=tuple(replace(body, hydro=None) for body in imported.model.bodies))
    if (model.nq, model.nv) != (there.nq, there.nv):
        raise ValueError(f"MuJoCo has {there.nv} degrees of freedom, not {model.nv}")
    rotors = tuple(c for c in imported.components if isinstance(c, JointRotor))
    armature = Plant(model=model, components=rotors).armature
    data, worst, largest = mujoco.MjData(there), np.zeros(model.nv), np.zeros(model.nv)
    for _ in range(STATES):
        q, v, tau = _state(model, rng)
        b, _ = equations.balance(model, q, v)
        now, total = Now(model, 0.0, q, v, b.kin, StillWater(None)), tau.copy()
        for force in (force for c in rotors for force in c.act(now, {}, {}).joint_forces):
            total[force.dofs] += force.tau
        vdot = dynamics.articulated_body(model, b, total, armature)
        theirs = _their_accelerations(mujoco, there, data, model, q, v, tau)
        worst, largest = np.maximum(worst, np.abs(vdot - theirs)), np.maximum(largest, np.abs(theirs))
    return float(np.max(worst / np.where(largest > 0.0, largest, 1.0)))


def _state(model: Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random configuration, velocity and joint force."""
    q, v, tau = rng.uniform(-1.0, 1.0, model.nq), rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-1.0, 1.0, model.nv)
    for part in model.joint_parts.values():
        if isinstance(part.joint, joints.Free | joints.Ball):
            q[part.q.stop - 4 : part.q.stop] /= np.linalg.norm(q[part.q.stop - 4 : part.q.stop])
    return q, v, tau


def _their_accelerations(
    mujoco: Any, there: Any, data: Any, model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> np.ndarray:
    """MuJoCo's accelerations as our numbers: it has the linear velocity of free joints in world axes, shape (nv,)."""
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    free = []
    for part in model.joint_parts.values():
        if isinstance(part.joint, joints.Free):
            R, at = quaternion_matrix(q[part.q][3:]), slice(part.v.start, part.v.start + 3)
            data.qvel[at], data.qfrc_applied[at] = R @ v[at], R @ tau[at]
            free.append((R, at, np.cross(v[part.v][3:], v[at])))
    mujoco.mj_forward(there, data)
    out = np.array(data.qacc)
    for R, at, turning in free:
        out[at] = R.T @ out[at] - turning
    return out
