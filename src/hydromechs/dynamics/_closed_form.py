"""Closed-form matrices of a forest on its configuration manifold: M, C and their derivatives from body Jacobians.

The formulation is that of From, Pettersen and Gravdahl 2010.

The configuration is a product of Lie groups, one for every moving step of every joint: SE(3) for a free joint, SO(3) for a ball
joint, the real line for other joints. The vector v contains the left-invariant velocities. ∂_k f is the derivative of f along
velocity k, d/dε f(Q exp(ε e_k)) at ε = 0. The paper writes it as ∂f/∂φ_k at φ = 0; for an angle it is ∂f/∂q_k.

Every body has a 6×6 inertia, the sum of rigid and added inertia. Water enters only through inertias and momenta.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.model import Model, MovingStep
from hydromechs.spatial import Path, cross, motion_cross, skew
from hydromechs.values import Array

from ._kinematics import Kinematics


class BodyJacobian(NamedTuple):
    """Matrix J with V = J v for the origin of one body in its axes, without zero columns."""

    dofs: tuple[int, ...]
    """Indices of the n velocities that move the body, ordered from the root to the body."""
    stage: tuple[int, ...]
    """Index of the moving step of each velocity on the path from the root; j is upstream of k if stage[j] < stage[k]."""
    J: Array
    """Nonzero columns of the Jacobian, shape (6, n)."""
    rate: Array
    """Time derivative J̇ at the velocity v, shape (6, n)."""
    bends: tuple[tuple[int, int, Array], ...] = ()
    """Derivatives (k, j, ∂_k J_j) of configuration-dependent subspaces; k and j are indices into `dofs`."""


class Blocks(NamedTuple):
    """Matrix in the block form of eq. (12): V are the six velocities of the vehicle, q all other velocities."""

    VV: Array
    """Vehicle-vehicle block, shape (6, 6)."""
    Vq: Array
    """Vehicle-joint block, shape (6, nv − 6)."""
    qV: Array
    """Joint-vehicle block, shape (nv − 6, 6)."""
    qq: Array
    """Joint-joint block, shape (nv − 6, nv − 6)."""


def ad_matrix(V: Array) -> Array:
    """Return ad_V with ad_V W = V × W for motions V = (v, ω): [[ω̂, v̂], [0, ω̂]], shape (6, 6)."""
    w = skew(V[3:])
    return np.concatenate([np.concatenate([w, skew(V[:3])], axis=1), np.concatenate([np.zeros((3, 3)), w], axis=1)])


def momentum_matrix(h: Array) -> Array:
    """Return the skew-symmetric matrix B with B V = V ×* h = −ad_Vᵀ h for a momentum h = (p, l), shape (6, 6).

    B = −[[0, p̂], [p̂, l̂]].
    """
    p = -skew(h[:3])
    return np.concatenate([np.concatenate([np.zeros((3, 3)), p], axis=1), np.concatenate([p, -skew(h[3:])], axis=1)])


def body_jacobians(model: Model, kin: Kinematics, v: Array) -> tuple[BodyJacobian, ...]:
    """Return J and J̇ of every body, from the roots to the tips.

    A step with the velocity V_J transforms the preceding columns and adds its own columns ϕ:

        J = (X J_before, ϕ),       J̇ = (X J̇_before − V_J × (X J_before), ϕ̇)

    The rate ϕ̇ = Σ ∂_k ϕ v_k is nonzero only for custom joints.
    """
    out: list[BodyJacobian] = []
    root = BodyJacobian((), (), np.zeros((6, 0)), np.zeros((6, 0)))
    for parent, steps, path, subspaces in zip(model.parent, model.steps, kin.paths, kin.own, strict=True):
        dofs, stage, J, rate, bends = root if parent < 0 else out[parent]
        for step, X, own in zip(steps, path.steps, subspaces, strict=True):
            J, rate = Path((X,)).motion(J), Path((X,)).motion(rate)
            bends = tuple((k, j, Path((X,)).motion(column)) for k, j, column in bends)
            if own is not None:
                n, m, moving = step.nv, len(dofs), v[step.at_v]
                own_rate = np.zeros((6, n))
                if own.changes is not None:
                    own_rate = sum((change * x for change, x in zip(own.changes, moving, strict=True)), own_rate)
                    bends += tuple((m + k, m + j, own.changes[k][:, j]) for k in range(n) for j in range(n))
                rate = np.concatenate([rate - motion_cross(own.S @ moving, J), own_rate], axis=1)
                J = np.concatenate([J, own.S], axis=1)
                stage = (*stage, *[stage[-1] + 1 if stage else 0] * n)
                dofs = (*dofs, *range(step.iv, step.iv + n))
        out.append(BodyJacobian(dofs, stage, J, rate, bends))
    return tuple(out)


def transposed_times(model: Model, jacobians: Sequence[BodyJacobian], wrenches: Array | Sequence[Array | None]) -> Array:
    """Return Σ J_iᵀ F_i, the generalised force (nv,) of wrenches F (6,) on bodies, each in its body's frame, or None."""
    out: list = [0.0] * model.nv
    for body, F in zip(jacobians, wrenches, strict=True):
        if F is not None:
            for k, column in zip(body.dofs, body.J.T, strict=True):
                out[k] = out[k] + column @ F
    return np.array(out)


def mass_matrix_from_jacobians(model: Model, jacobians: Sequence[BodyJacobian], inertia: Sequence[Array | None]) -> Array:
    """Return the symmetric M = Σ J_iᵀ I_i J_i, eqs. (8) and (9), shape (nv, nv).

    `inertia` contains the 6×6 inertia of each body in its own frame, or None.
    """
    rows = _square(model)
    for body, I in zip(jacobians, inertia, strict=True):
        if I is None:
            continue
        for j, force in zip(body.dofs, (I @ body.J).T, strict=True):
            for k, column in zip(body.dofs, body.J.T, strict=True):
                if k <= j:
                    rows[j][k] = rows[k][j] = rows[j][k] + column @ force
    return np.array(rows).reshape(model.nv, model.nv)


def matrix_from_jacobians(model: Model, jacobians: Sequence[BodyJacobian], matrices: Sequence[Array | None]) -> Array:
    """Return Σ J_iᵀ A_i J_i, shape (nv, nv), for matrices A (6, 6), symmetric or not, in each body's frame, or None."""
    return _summed(model, jacobians, (None if A is None else A @ b.J for b, A in zip(jacobians, matrices, strict=True)))


def _summed(model: Model, jacobians: Sequence[BodyJacobian], forces: Iterable[Array | None]) -> Array:
    """Return Σ J_iᵀ F_i, shape (nv, nv); F_i (6, n) contains a force of body i for each of its n velocities, or is None."""
    rows = _square(model)
    for body, force in zip(jacobians, forces, strict=True):
        if force is not None:
            for j, row in zip(body.dofs, body.J.T @ force, strict=True):
                for k, value in zip(body.dofs, row, strict=True):
                    rows[j][k] = rows[j][k] + value
    return np.array(rows).reshape(model.nv, model.nv)


def coriolis_matrix(
    model: Model, jacobians: Sequence[BodyJacobian], inertia: Sequence[Array | None], momenta: Sequence[Array | None]
) -> Array:
    """Return a matrix C(Q, v) for which Ṁ − 2C is skew-symmetric, shape (nv, nv).

        C = Σ J_iᵀ (I_i J̇_i + B_i J_i),     B_i = −[[0, p̂], [p̂, l̂]],     (p, l) = momentum of body i

    B_i is skew-symmetric with B_i V_i = V_i ×* (p, l), so that C v contains all velocity products. The symmetric part of C
    follows from Ṁ = Σ J̇ᵀ I J + Jᵀ I J̇.

    The Jacobians are computed by `body_jacobians` at the velocity v. Each body has a total inertia I (6, 6), the sum of rigid
    and added inertia, and a momentum (p, l) (6,), which equals I V in still water. Both are expressed in the body's frame; None
    means zero.
    """
    forces: list[Array | None] = []
    for body, I, h in zip(jacobians, inertia, momenta, strict=True):
        if I is None or h is None:
            forces.append(None)
            continue
        p, l, linear, angular = h[:3], h[3:], body.J[:3], body.J[3:]
        forces.append(I @ body.rate - np.concatenate([cross(p, angular), cross(p, linear) + cross(l, angular)]))
    return _summed(model, jacobians, forces)


def jacobian_derivatives(body: BodyJacobian) -> Array:
    """Return ∂_k J of one body, indexed [k, :, j], shape (n, 6, n).

    Column j is −J_k × J_j if j is upstream of k, else 0. Seen from a moving frame, preceding frames move in the opposite
    direction, while the frame itself and subsequent frames are unchanged. Custom joints add the derivatives of
    configuration-dependent subspaces.
    """
    n = len(body.dofs)
    out = np.zeros((n, 6, n), dtype=body.J.dtype)
    for k in range(n):
        before = sum(s < body.stage[k] for s in body.stage)  # stages ascend
        out[k, :, :before] = -motion_cross(body.J[:, k], body.J[:, :before])
    for k, j, column in body.bends:
        out[k, :, j] = column
    return out


def mass_matrix_derivatives(model: Model, jacobians: Sequence[BodyJacobian], inertia: Sequence[Array | None]) -> Array:
    """Return ∂_k M for constant body inertias, eq. (32), indexed [k, i, j], shape (nv, nv, nv).

    ∂_k M = Σ ∂_k J_iᵀ I_i J_i + J_iᵀ I_i ∂_k J_i; an inertia may be None.
    """
    out = [_square(model) for _ in range(model.nv)]
    for body, I in zip(jacobians, inertia, strict=True):
        if I is None:
            continue
        force = I @ body.J
        for k, change in zip(body.dofs, jacobian_derivatives(body), strict=True):
            half = change.T @ force
            for a, i in enumerate(body.dofs):
                for b, j in enumerate(body.dofs):
                    out[k][i][j] = out[k][i][j] + half[a, b] + half[b, a]
    return np.array(out).reshape(model.nv, model.nv, model.nv)


def structure_matrix(model: Model, kin: Kinematics, momentum: Array) -> Array:
    """Return G with G_ij = Σ_k μ_k c^k_ij for the momentum μ = M v (nv,), shape (nv, nv).

    The structure constants of the joints' groups are defined by [e_i, e_j] = Σ_k c^k_ij e_k. The diagonal block is −[[0, p̂],
    [p̂, l̂]] with μ = (p, l) for a free joint, −l̂ with μ = l for a ball joint, and 0 for other joints. Blocks between
    different joints are 0.
    """
    rows = _square(model)
    for steps, subspaces in zip(model.steps, kin.own, strict=True):
        for step, own in zip(steps, subspaces, strict=True):
            if isinstance(step, MovingStep) and own is not None and own.brackets is not None:
                mu = momentum[step.at_v]
                for i in range(step.nv):
                    for j in range(step.nv):
                        rows[step.iv + i][step.iv + j] = mu @ own.brackets[:, i, j]
    return np.array(rows).reshape(model.nv, model.nv)


def coriolis_matrix_lagrange(
    model: Model, kin: Kinematics, jacobians: Sequence[BodyJacobian], inertia: Sequence[Array | None], v: Array
) -> Array:
    """Return C(Q, v) of Lagrange's equations in quasi-velocities, shape (nv, nv).

        C_ij = Σ_k ∂_k M_ij v_k − ½ Σ_l ∂_i M_jl v_l + Σ_k c^k_ij (M v)_k

    These are eqs. (6) and (20) with their errors corrected. The product C v equals that of `coriolis_matrix`, but Ṁ − 2C is not
    skew-symmetric. The water is assumed to be still.

    Only the configuration in `kin` is used. Inertias (6, 6) are constant in the body's frame, or None.
    """
    M = mass_matrix_from_jacobians(model, jacobians, inertia)
    changes = mass_matrix_derivatives(model, jacobians, inertia)
    C = structure_matrix(model, kin, M @ v)
    for k in range(model.nv):
        C = C + changes[k] * v[k]
    return C - 0.5 * np.stack([change @ v for change in changes]) if model.nv else C


def adjoint(kin: Kinematics, i: int, j: int) -> Array:
    """Return Ad(g_ij) = [[R, p̂R], [0, R]] of the pose of body j in body i, −1 for the world, shape (6, 6).

    Ad(g_ij) transforms motions from frame j to frame i.
    """
    (R_i, p_i), (R_j, p_j) = ((kin.R_WB[b], kin.p_WB[b]) if b >= 0 else (np.eye(3), np.zeros(3)) for b in (i, j))
    R, p = R_i.T @ R_j, R_i.T @ (p_j - p_i)
    return np.concatenate([np.concatenate([R, skew(p) @ R], axis=1), np.concatenate([np.zeros((3, 3)), R], axis=1)])


def adjoint_derivative(kin: Kinematics, jacobians: Sequence[BodyJacobian], i: int, j: int, k: int) -> Array:
    """Return ∂_k Ad of g_ij along velocity k for any two bodies of a forest, −1 for the world, shape (6, 6).

        ∂_k Ad = Ad ad(J_jk) − ad(J_ik) Ad,     0 if k moves both bodies or neither

    With J_jk = Ad_{j(k−1)} X_k this is the term ±Ad_{i(k−1)} ad(X_k) Ad_{(k−1)j} of Prop. 1.
    """
    moves_i, moves_j = (b >= 0 and k in jacobians[b].dofs for b in (i, j))
    if moves_i == moves_j:
        return np.zeros((6, 6))
    Ad = adjoint(kin, i, j)
    if moves_j:
        return Ad @ ad_matrix(_column(jacobians[j], k))
    return -ad_matrix(_column(jacobians[i], k)) @ Ad


def check_vehicle(model: Model) -> None:
    """Raise `ValueError` unless the first body is free."""
    if model.free_rows[0] != (0, 1, 2, 3, 4, 5) or model.parent[0] >= 0:
        body = model.bodies[0]
        raise ValueError(
            f"{model.name}: the first body {body.name!r} has a {body.joint.kind} joint; make the first body a free vehicle"
        )


def vehicle_blocks(model: Model, matrix: Array) -> Blocks:
    """Return the blocks VV, Vq, qV and qq of M or C (nv, nv), eq. (12), for a model with a free first body."""
    check_vehicle(model)
    matrix = np.asarray(matrix)
    return Blocks(matrix[:6, :6], matrix[:6, 6:], matrix[6:, :6], matrix[6:, 6:])


def _column(body: BodyJacobian, k: int) -> Array:
    return body.J[:, body.dofs.index(k)]


def _square(model: Model) -> list[list]:
    return [[0.0] * model.nv for _ in range(model.nv)]
