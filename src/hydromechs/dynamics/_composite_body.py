"""Joint-space inertia matrix by composite bodies with rigid or full 6×6 body inertias (McMillan 1994, App. B.3, Table 27)."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hydromechs.model import Model
from hydromechs.spatial import Path, Screw
from hydromechs.values import Array

from ._kinematics import Kinematics
from ._pseudo_inertia import PseudoInertia, axis_part, moved_back, pseudo_inertia

BodyInertia: TypeAlias = PseudoInertia | Array | None
"""Inertia of one body: moments of mass, a 6×6 matrix, or None for zero."""


def mass_matrix(model: Model, kin: Kinematics, inertia: Sequence[Array | None]) -> Array:
    """Return the joint-space inertia matrix M of the mechanism including the fluid, symmetric, shape (nv, nv).

        K_i = I_i^H + Σ Xᵀ K_outboard X,    M_ii = ϕ_iᵀ K_i ϕ_i,    M_ji = ϕ_jᵀ (Xᵀ … Xᵀ) K_i ϕ_i  for j inboard of i

    If no body from i outwards has an added inertia, K_i is stored as moments of mass. The mass on the axis of a revolute joint
    is then assigned to the inboard body (see `axis_part`), which does not change M. Only the configuration in `kin` is used.
    `inertia` contains I^H (6, 6), the sum of rigid and added inertia, of each body in its own frame, or None. A body without
    added inertia is identified by the matrix of `model.rigid`.
    """
    K = composite_inertias(model, kin, inertia)
    rows: list[list] = [[0.0] * model.nv for _ in range(model.nv)]
    for i in range(model.nb):
        own = K[i]
        if own is None:
            continue
        for column, force in zip(range(model.nv)[model.v_slices[i]], (_matrix(own) @ kin.subspaces[i]).T, strict=True):
            j = i
            while j >= 0:
                for row, value in zip(range(model.nv)[model.v_slices[j]], kin.subspaces[j].T @ force, strict=True):
                    if model.owner[i] in model.sections:  # sections of a flexible link share their modes
                        if j == i and row > column:
                            continue
                        value = rows[row][column] + value
                    rows[row][column] = rows[column][row] = value
                force = kin.paths[j].force_back(force)
                j = model.parent[j]
    return np.array(rows).reshape(model.nv, model.nv)


def columns_outwards(model: Model, kin: Kinematics) -> list[dict[int, Array]]:
    """Return the nonzero columns of each body's Jacobian in the body's axes, keyed by degree of freedom, shape (6,) each.

    V_i = Σ columns · v. The motion ϕ of each joint is transformed from link to link outwards.
    """
    out: list[dict[int, Array]] = []
    for i, (parent, path, phi) in enumerate(zip(model.parent, kin.paths, kin.subspaces, strict=True)):
        carried = {} if parent < 0 else {k: path.motion(column) for k, column in out[parent].items()}
        out.append(carried | dict(zip(range(model.nv)[model.v_slices[i]], phi.T, strict=True)))
    return out


def mass_matrix_from_columns(
    model: Model, kin: Kinematics, inertia: Sequence[Array | None], columns: Sequence[Mapping[int, Array]]
) -> Array:
    """Return the same matrix as `mass_matrix`, at lower cost if `columns_outwards` are required anyway, shape (nv, nv).

    M_ij = (K_i ϕ_i)ᵀ (column j of body i) (Lilly and Orin 1991, Method III).
    """
    rows: list[list] = [[0.0] * model.nv for _ in range(model.nv)]
    for i, own in enumerate(composite_inertias(model, kin, inertia)):
        if own is None:
            continue
        at = model.v_slices[i]
        for k, force in zip(range(model.nv)[at], (_matrix(own) @ kin.subspaces[i]).T, strict=True):
            for j, column in columns[i].items():
                value = column @ force
                if model.owner[i] in model.sections:
                    if at.start <= j < at.stop and j > k:
                        continue
                    value = rows[j][k] + value
                rows[j][k] = rows[k][j] = value
    return np.array(rows).reshape(model.nv, model.nv)


def body_inertias(model: Model, inertia: Sequence[Array | None]) -> list[BodyInertia]:
    """Return a `PseudoInertia` for each rigid body, a 6×6 matrix for each body with added mass, else None."""
    pairs = zip(inertia, model.rigid, strict=True)
    return [pseudo_inertia(rigid) if rigid is not None and I is rigid.matrix else I for I, rigid in pairs]


def turning_axis(model: Model, i: int) -> int | None:
    """Return the coordinate axis of a body's revolute joint, 0, 1 or 2; None for all other joints."""
    rows = model.free_rows[i]
    return rows[0] - 3 if rows is not None and len(rows) == 1 and rows[0] >= 3 else None


def pass_axis_masses(model: Model, paths: Sequence[Path], inertias: list[BodyInertia]) -> list[BodyInertia]:
    """Return the inertias after transfer of masses on revolute joint axes to the inboard bodies, along the given paths."""
    out = list(inertias)
    for i in reversed(range(model.nb)):
        axis, J = turning_axis(model, i), out[i]
        if axis is not None and isinstance(J, PseudoInertia):
            passed, out[i] = axis_part(J, axis)
            parent, (*before, last) = model.parent[i], paths[i].steps
            if parent >= 0 and isinstance(last, Screw):  # the last step of a revolute joint is a Screw
                still = Screw(last.axis, last.distance, 1.0, 0.0)  # independent of the joint's angle
                out[parent] = _sum(out[parent], moved_back((*before, still), passed))
    return out


def composite_inertias(model: Model, kin: Kinematics, inertia: Sequence[Array | None]) -> list[BodyInertia]:
    """Return the composite inertia K_i of each body with all bodies that it carries; arguments as in `mass_matrix`."""
    K = pass_axis_masses(model, kin.paths, body_inertias(model, inertia))
    for i in reversed(range(model.nb)):
        parent, path, own = model.parent[i], kin.paths[i], K[i]
        if parent >= 0 and own is not None:
            moved = moved_back(path.steps, own) if isinstance(own, PseudoInertia) else path.inertia_back(own)
            K[parent] = _sum(K[parent], moved)
    return K


def _sum(a: BodyInertia, b: BodyInertia) -> BodyInertia:
    """Return the sum of two inertias, each of which is a `PseudoInertia`, a 6×6 matrix or None."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, PseudoInertia) and isinstance(b, PseudoInertia):
        return a.plus(b)
    return _matrix(a) + _matrix(b)


def _matrix(K: PseudoInertia | Array) -> Array:
    return K.matrix if isinstance(K, PseudoInertia) else K
