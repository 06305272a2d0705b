"""Computed-torque control of several arms that carry one load (thesis sec. 3.5: four PUMA 560 robots lift a load)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydromechs import compiler, contact, dynamics
from hydromechs.actuation import drives
from hydromechs.equations import inverse_dynamics
from hydromechs.model import Model, joints
from hydromechs.simulation import Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import cross, ldl, quaternion_matrix
from hydromechs.values import Array, Positive, Scalar, positive

from ._pose_control import POSE, pose_error, pose_waypoints


def carry_law(
    model: Model,
    load: int,
    grasps: Sequence[contact.Grasp],
    arms: Sequence[Sequence[int]],
    gains: Sequence[Scalar] | Array,
    q: Array,
    v: Array,
    reference: Array,
) -> tuple[Array, Array]:
    """Return joint torques that move a held load along its reference, shape (nv,), and the pose error of the load, shape (6,).

    The load accelerates by a_r = a_ref + 2 ζ ω_0 ė + ω_0² e; the joint accelerations q̈_k satisfy the grasp constraints
    J_k q̈_k + J_r a_r + J̇ v = 0. Inverse dynamics yields τ. The wrench on the load is distributed among the grasps with
    minimum sum of squares. Torques of undriven joints are zero.

    `grasps`: grasps on the load; `arms`: for each grasp, indices in v of the joints of its arm; `gains`: factors of e and ė;
    `reference`: position and roll, pitch, heading, with first and second derivatives, shape (3, 6).
    """
    at = list(range(model.nv)[model.v_slices[load]])
    iq = model.q_slices[load].start
    R = quaternion_matrix(q[iq + 3 : iq + 7])
    e, V, a = pose_error(q[iq : iq + 7], reference)
    own = v[at[0] : at[0] + 6]
    # derivatives of velocity components in body axes
    a = a - np.concatenate([cross(own[3:], R.T @ reference[1, :3]), np.zeros(3)])
    wanted = a + gains[0] * e + gains[1] * (V - own)
    kin = dynamics.kinematics(model, q, v)
    rows = [dynamics.joined_rows(model, kin, g) for g in grasps]
    vdot: list[Scalar] = [0.0] * model.nv
    for k, i in enumerate(at):
        vdot[i] = wanted[k]
    for g, dofs in zip(rows, arms, strict=True):
        J = g.J[:, dofs]
        needed = -(g.J[:, at] @ wanted + g.bias)
        q_k = compiler.solve(J, needed) if len(dofs) == 6 else J.T @ compiler.solve(J @ J.T, needed)
        for i, value in zip(dofs, q_k, strict=True):
            vdot[i] = value
    tau = inverse_dynamics(model, q, v, np.array(vdot))
    G = np.concatenate([g.J[:, at] for g in rows]).T
    share = G.T @ ldl(G @ G.T).solve(tau[at[0] : at[0] + 6])
    out: list[Scalar] = [0.0] * model.nv
    start = 0
    for g, dofs in zip(rows, arms, strict=True):
        f = share[start : start + len(g.bias)]
        for i in dofs:
            out[i] = tau[i] - g.J[:, i] @ f
        start += len(g.bias)
    return np.array(out), np.concatenate([reference[0, :3] - q[iq : iq + 3], e[3:]])


class CarryLoad(TracedBlock):
    """Controller that moves a load held by several arms along waypoints by computed torque.

    Each arm holds the load by one grasp in all six directions and has at least six torque-driven joints. The signals are
    reference and error of the load's pose, named as in `FollowPath`.

    Args:
        load: Name of the load's body.
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg (default 0).
        frequency: ω_0, natural frequency of the feedback [rad/s].
        damping: ζ, damping ratio of the feedback [-].
        period: Command period [s].
    """

    def __init__(
        self,
        *,
        load: str,
        waypoints: Sequence[Mapping[str, Any]],
        frequency: Positive = 20.0,
        damping: Positive = 1.0,
        period: Positive = 0.001,
    ) -> None:
        w, z = positive(frequency, "frequency"), positive(damping, "damping")
        self.load, self.path, self.period = load, pose_waypoints(waypoints), positive(period, "period")
        self.gains = (w**2, 2.0 * z * w)

    def prepare(self, site: Site) -> None:
        model, plant = site.model, site.plant
        load = model.body_index(self.load)
        if isinstance(model.bodies[load].joint, joints.Free):
            check_free_in_world(model, load)
        driven = {c.joint: model.joint_part(c.joint).v.start for c in plant.components if isinstance(c, drives.Torque)}
        grasps, arms = [], []
        for grasp in plant.components:
            if not isinstance(grasp, contact.Grasp) or model.locate(grasp.held).body != load:
                continue
            body = model.locate(grasp.holder).body
            dofs = []
            while body >= 0:
                if model.body_names[body] in driven:
                    dofs.append(driven[model.body_names[body]])
                body = model.parent[body]
            if len(dofs) < 6 or len(grasp.rows) < 6:
                raise ValueError(
                    f"grasp {grasp.name!r}: the grasp fixes {len(grasp.rows)} directions and the arm has {len(dofs)} "
                    "torque-driven joints; fix six directions and use at least six torque-driven joints"
                )
            grasps.append(grasp)
            arms.append(sorted(dofs))
        if not grasps:
            raise ValueError(f"no grasp holds {self.load!r}; set `held` of a grasp to {self.load!r}")
        self._driven, self._arms = driven, (load, grasps, arms)
        self.commanded, self.design = tuple(driven), {"gains": self.gains}
        self.signals = {f"{kind}.{x}": unit for kind in ("reference", "error") for x, unit in POSE.items()}

    def update(self, tick: Tick) -> Update:
        reference = np.array(self.path(tick.t))
        tau, e = carry_law(self.site.model, *self._arms, tick.design["gains"], tick.q, tick.v, reference)
        return Update(
            {name: tau[i] for name, i in self._driven.items()},
            signals=dict(zip(self.signals, np.concatenate([reference[0], e]), strict=True)),
        )
