"""Inverse dynamics by recursive Newton-Euler (McMillan 1994, App. B.2), for forests, mobile bases and bodies in water."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import Path, Screw, Shift, shift_wrench
from hydromechs.values import Array

from ._composite_body import pass_axis_masses, turning_axis
from ._kinematics import Balance, Bias, Kinematics
from ._pseudo_inertia import PseudoInertia, moment_of_spin, moved_back, pseudo_inertia, spin_matrix
from ._sweeps import arriving, world_acceleration

NOTHING: Mapping[int, Array] = MappingProxyType({})


def accelerations(
    model: Model, kin: Kinematics, bias: Sequence[Bias], vdot: Array, world: Array, known: Mapping[int, Array] = NOTHING
) -> list[Array]:
    """Return the accelerations a_i = X a_p + ϕ_i v̇_i + bias of all bodies, each of shape (6,).

    `bias` is `kin.zeta` or `kin.c`. `world` is (−g, 0) for gravity-biased accelerations, shape (6,). `known` contains
    prescribed accelerations, independent of v̇, keyed by body index, shape (6,) each.
    """
    a: list[Array] = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, kin.paths, kin.subspaces, strict=True)):
        if i in known:
            a.append(known[i])
            continue
        a_i = arriving(path, bias[i], world if parent < 0 else a[parent])
        if phi.shape[1]:
            a_i = a_i + phi @ vdot[model.v_slices[i]]
        a.append(a_i)
    return a


def inverse_dynamics(model: Model, b: Balance, vdot: Array, known: Mapping[int, Array] = NOTHING) -> Array:
    """Return the joint forces τ (nv,) that produce the accelerations v̇ (nv,).

        f_i = I_i^H a'_i − F_i + Σ Xᵀ f_outboard,     τ_i = ϕ_iᵀ f_i

    `known` contains prescribed accelerations a' (6,), independent of v̇, keyed by body index.
    """
    a = accelerations(model, b.kin, b.bias, vdot, world_acceleration(model), known)
    needed = [-F if I is None else I @ a_i - F for I, a_i, F in zip(b.inertia, a, b.force, strict=True)]
    return generalized_force(model, b.kin, needed)


def generalized_force(model: Model, kin: Kinematics, wrenches: Sequence[Array]) -> Array:
    """Return Σ J_iᵀ F_i, shape (nv,), for wrenches F (6,) on all bodies in their frames, summed from the tips inwards."""
    force = list(wrenches)
    tau: dict[int, Array] = {}
    for i in reversed(range(model.nb)):
        own, first = kin.subspaces[i].T @ force[i], model.owner[i]
        tau[first] = tau[first] + own if first in tau else own
        if model.parent[i] >= 0:
            force[model.parent[i]] = force[model.parent[i]] + kin.paths[i].force_back(force[i])
    return np.concatenate([tau[i] for i in sorted(tau)])


class _AxisFrames(NamedTuple):
    """Frames on the axes of revolute joints, at the foot of the common normal from the inboard body.

    The frame of the body is displaced by a constant distance along the joint axis. The offset between two of these frames has
    one component less, and the joint torque is equal about every point of the axis.
    """

    paths: tuple[Path, ...]
    """Transformation from the parent's axis frame to the body's axis frame."""
    offsets: tuple[Array, ...]
    """Origin of the body's frame in its axis frame, which has the same axes [m], shape (3,)."""


def _axis_frames(model: Model, kin: Kinematics) -> _AxisFrames:
    paths: list[Path] = []
    offsets: list[Array] = []
    for i, (parent, path) in enumerate(zip(model.parent, kin.paths, strict=True)):
        steps, offset = list(path.steps), np.zeros(3)
        last = steps[-1] if steps else None
        if turning_axis(model, i) is not None and isinstance(last, Screw):
            steps[-1], offset = Screw(last.axis, 0.0, last.cos, last.sin), last.p
        if parent >= 0 and any(not isinstance(x, float) or x != 0.0 for x in offsets[parent]):
            steps.insert(0, Shift(offsets[parent]))
        paths.append(Path(tuple(steps)))
        offsets.append(offset)
    return _AxisFrames(tuple(paths), tuple(offsets))


def rigid_inverse_dynamics(
    model: Model,
    kin: Kinematics,
    vdot: Array,
    wrenches: Array | Sequence[Array] | None = None,
    known: Mapping[int, Array] = NOTHING,
) -> Array:
    """Return the joint forces (nv,) that produce v̇ for rigid bodies without water, at lower cost than `inverse_dynamics`.

    With the true acceleration a of a frame's origin, the angular acceleration α, and Ω = α̃ + ω̃ ω̃ (McMillan 1994, eqs.
    B.6-B.18):

        α_i = R α_p + bias + ϕ v̇_i,     a_i = R (a_p + Ω_p p) + bias + ϕ v̇_i,     a_world = −g
        f_i = m a_i + Ω_i h + Σ f_outboard,        n_i = h × a_i + ∫ r × Ω_i r dm + Σ (n + p × f)_outboard
        τ_i = ϕ_iᵀ (f_i, n_i)

    In frames on the joint axes, the offsets p have one component less. The mass on a revolute joint's axis is assigned to the
    inboard body, which leaves 7 of 10 numbers for each link (see `axis_part`).

    `wrenches` contains the external wrench on each body in its own frame, shape (6,) each; `known` is as in `inverse_dynamics`.
    """
    links = rigid_links(model, kin, vdot, wrenches, known)
    return generalized_force(model, kin._replace(paths=links.paths), links.force)


class RigidLinks(NamedTuple):
    """Motions of rigid bodies and the required forces, in frames on the joint axes."""

    paths: tuple[Path, ...]
    """Transformation from the parent's axis frame for each body."""
    a: list[tuple[Array, Array]]
    """Gravity-biased linear acceleration [m/s²] and angular acceleration [rad/s²] of each body, shape (3,) each."""
    spin: list[Array]
    """Matrix Ω = α̃ + ω̃ ω̃ of each body [1/s²], shape (3, 3) each."""
    force: list[Array]
    """Required wrench on each body [N, N·m], shape (6,) each."""
    offsets: tuple[Array, ...]
    """Origin of each body's frame in its axis frame [m], shape (3,) each."""

    def own_acceleration(self, i: int) -> Array:
        """Return a' of a body in its own frame, shape (6,)."""
        linear, angular = self.a[i]
        return np.concatenate([linear + self.spin[i] @ self.offsets[i], angular])


def rigid_links(
    model: Model, kin: Kinematics, vdot: Array, wrenches: Array | Sequence[Array] | None, known: Mapping[int, Array]
) -> RigidLinks:
    """Return the result of the outward recursion of `rigid_inverse_dynamics`; the arguments are the same."""
    paths, offsets = _axis_frames(model, kin)
    pairs = zip(model.rigid, offsets, strict=True)
    moments = pass_axis_masses(
        model, paths, [None if r is None else moved_back((Shift(p),), pseudo_inertia(r)) for r, p in pairs]
    )

    a: list[tuple[Array, Array]] = []
    spin: list[Array] = []
    force: list[Array] = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, paths, kin.subspaces, strict=True)):
        if i in known:
            linear, angular = known[i][:3], known[i][3:]
        else:
            if parent < 0:
                linear, angular = path.rotate(-model.world.gravity_vector), np.zeros(3)
            else:
                linear, angular = _across(model, kin, i, path, a[parent], spin[parent], offsets[parent])
            own = kin.zeta[i].own + phi @ vdot[model.v_slices[i]] if phi.shape[1] else kin.zeta[i].own
            linear, angular = linear + own[:3], angular + own[3:]
        w = kin.V[i][3:]
        a.append((linear, angular))
        spin.append(spin_matrix(w, angular))
        J = moments[i]
        f = np.zeros(6)
        if isinstance(J, PseudoInertia):
            f = np.concatenate([J.mass * linear + spin[i] @ J.first, moment_of_spin(w, spin[i], J, linear)])
        if wrenches is not None:
            f = f - shift_wrench(wrenches[i], offsets[i])
        force.append(f)
    return RigidLinks(paths, a, spin, force, offsets)


def _across(
    model: Model, kin: Kinematics, i: int, path: Path, a: tuple[Array, Array], spin: Array, offset: Array
) -> tuple[Array, Array]:
    """Return linear (3,) and angular (3,) acceleration across a joint with v̇ = 0, without `kin.zeta[i].own`.

    For a joint with several moving steps, `swing` contains only the centripetal part of the first step, and `own` the
    remainder.
    """
    linear, angular = a
    if model.free_rows[i] is not None:
        return path.rotate(linear + spin @ path.pose()[1]), path.rotate(angular)
    moved = kin.paths[i].motion(np.concatenate([linear + spin @ offset + kin.zeta[i].swing, angular]))
    return moved[:3], moved[3:]
