"""Accelerations of MJCF files with loops: ours against MuJoCo's equations with its equalities held exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

import hydromechs as hm
from hydromechs.values import Array

__all__ = ["LoopComparison", "compare_loops"]

STEP = 1e-5
"""Time between configurations of differences [s]."""


class LoopComparison(NamedTuple):
    """One file."""

    file: str
    """Path."""
    velocities: int
    """Degrees of freedom of the tree."""
    loops: int
    """Loops of our model."""
    equalities: int
    """Equalities of MuJoCo's model."""
    misfit: float
    """Misfit of MuJoCo's equalities in our closed state [m, rad]."""
    difference: float
    """Largest difference of accelerations over the largest acceleration [-]."""


def compare_loops(file: str) -> LoopComparison:
    """Compare a file at its initial configuration, closed, with random velocities that keep it closed.

    M a + Jᵀ λ = −h,  J a = −J̇ v,   with M, h and J of MuJoCo, and J̇ from differences
    """
    model = hm.import_file(file).model
    theirs = mujoco.MjModel.from_xml_path(file)
    theirs.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    off = mujoco.mjtDisableBit
    theirs.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    data, at_q, at_v = mujoco.MjData(theirs), *_coordinates(theirs, model)
    free = [int(theirs.jnt_dofadr[j]) for j in range(theirs.njnt) if theirs.jnt_type[j] == 0]
    start = model.on_loops(hm.State(q=model.initial().q, v=0.3 * np.random.default_rng(0).normal(size=model.nv)))
    q, v = start.q[at_q], start.v[at_v]

    def in_world(x: Array) -> Array:
        out = x.copy()
        for k in free:  # linear velocities of a free joint are in world axes there
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, q[theirs.jnt_qposadr[theirs.dof_jntid[k]] + 3 :][:4])
            out[k : k + 3] = R.reshape(3, 3) @ out[k : k + 3]
        return out

    def rows(at: Array) -> Array:
        data.qpos[:] = at
        mujoco.mj_forward(theirs, data)
        return np.reshape(data.efc_J, (-1, theirs.nv))[: data.nefc].copy()

    rate = in_world(v)
    data.qvel[:] = rate
    J, M = rows(q), np.zeros((theirs.nv, theirs.nv))
    misfit = float(np.abs(data.efc_pos[: data.nefc]).max())
    mujoco.mj_fullM(theirs, data, M)
    h, ahead, behind = data.qfrc_bias.copy(), q.copy(), q.copy()
    mujoco.mj_integratePos(theirs, ahead, rate, STEP)
    mujoco.mj_integratePos(theirs, behind, rate, -STEP)
    drift = (rows(ahead) - rows(behind)) @ rate / (2.0 * STEP)
    system = np.block([[M - np.diag(theirs.dof_armature), J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.lstsq(system, np.concatenate([-h, -drift]), rcond=1e-9)[0][: theirs.nv]
    ours = hm.forward_dynamics(model, start.q, start.v, np.zeros(model.nv))[at_v]
    for k in free:
        ours[k : k + 3] += np.cross(v[k + 3 : k + 6], v[k : k + 3])
    difference = float(np.abs(in_world(ours) - expected).max() / np.abs(expected).max())
    return LoopComparison(file, model.nv, len(model.loops), int(theirs.neq), misfit, difference)


def _coordinates(theirs: Any, model: hm.Model) -> tuple[Array, Array]:
    """Return the index in our q and v of each of MuJoCo's, by the names of the bodies."""
    at_q, at_v, seen = np.zeros(theirs.nq, dtype=int), np.zeros(theirs.nv, dtype=int), dict[str, int]()
    for j in range(theirs.njnt):
        name = str(mujoco.mj_id2name(theirs, mujoco.mjtObj.mjOBJ_BODY, int(theirs.jnt_bodyid[j])))
        seen[name] = seen.get(name, 0) + 1
        part = model.joint_parts.get(name) or model.joint_parts[f"{name}.{seen[name]}"]
        for to, first, own in ((at_q, theirs.jnt_qposadr[j], part.q), (at_v, theirs.jnt_dofadr[j], part.v)):
            to[first : first + own.stop - own.start] = range(own.start, own.stop)
    return at_q, at_v
