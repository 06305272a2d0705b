"""What the bodies of a mechanism mean together: joints that move no inertia, added masses to look at."""

from __future__ import annotations

import numpy as np

from hydromechs.spatial import Path, skew

from . import added_mass
from ._body import Body, Hydro
from ._checks import TOO_LARGE, given_added_mass, is_small
from ._fault import Fault
from ._steps import motion_subspace, transformation
from ._values import plain
from .joints import Ball, Composite, Free

__all__ = ["mechanism_faults", "warnings_of"]


@np.errstate(over="ignore", invalid="ignore")
def mechanism_faults(model) -> list[Fault]:
    """Joints whose motion meets no inertia, so that its acceleration would be undefined.

    The joint-space inertia M = Σ Jᵀ I J is formed at the initial and at a general configuration. It cannot be singular
    where every moving body has a positive definite inertia of its own, and then this is skipped.
    """
    inertia = [
        np.zeros((6, 6)) if r is None else r.matrix + _inertia_for_check(b.hydro)
        for b, r in zip(model.bodies, model.rigid, strict=True)
    ]
    for i, body in enumerate(model.bodies):
        if body.joint.nv == 0 and model.parent[i] >= 0 and body.hydro is not None:
            inertia[i] = _inertia_for_check(body.hydro)
    moving = [i for i, b in enumerate(model.bodies) if b.joint.nv]
    if all(_relative_lowest(inertia[i])[0] > 1e-12 for i in moving):
        return []
    general = np.array([0.3 + 0.7 * np.sin(1.0 + 2.0 * k) for k in range(model.nq)])
    for q in (model.initial().q, general):
        for body, at in zip(model.bodies, model.q_slices, strict=True):
            if body.joint.nq != body.joint.nv:
                _normalize_quaternions(body.joint, q[at])
        M = np.zeros((model.nv, model.nv))
        jacobians: list[np.ndarray] = []
        for i, steps in enumerate(model.steps):
            at_q = [transformation(s, q) for s in steps]
            R, p = Path(at_q).pose()
            X = np.block([[R.T, -R.T @ skew(p)], [np.zeros((3, 3)), R.T]])
            J = X @ jacobians[model.parent[i]] if model.parent[i] >= 0 else np.zeros((6, model.nv))
            J[:, model.v_slices[i]] += motion_subspace(steps, at_q)
            jacobians.append(J)
            M += J.T @ inertia[i] @ J
            if not is_small(M):
                what = f"body {model.bodies[i].name!r}: its inertia or its distance from its parents"
                return [Fault(("bodies", i, "joint"), f"{what} is {TOO_LARGE}")]
        lowest, vector = _relative_lowest(M)
        if lowest <= 1e-13:
            k = int(np.argmax(np.abs(vector)))
            i = next(i for i, s in enumerate(model.v_slices) if s.start <= k < s.stop)
            body = model.bodies[i]
            return [
                Fault(
                    ("bodies", i, "inertia"),
                    f"body {body.name!r}: its {body.joint.kind} joint moves no inertia (mass {plain(body.inertia.mass)} kg), "
                    "so its acceleration is undefined; give the body or what it carries a mass and a tensor, or make the "
                    "joint fixed",
                )
            ]
    return []


def _inertia_for_check(hydro) -> np.ndarray:
    """Added mass as far as it matters for a singularity: shapes count as a unit inertia of their rank."""
    if not isinstance(hydro, Hydro):
        return np.zeros((6, 6))
    total = given_added_mass(hydro)
    for element in hydro.added_mass:
        if isinstance(element, added_mass.Ellipsoid | added_mass.Cylinder | added_mass.Box | added_mass.Sphere):
            total = total + np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return total


def _relative_lowest(M: np.ndarray) -> tuple[float, np.ndarray]:
    """Lowest eigenvalue and its vector, of M scaled to a unit diagonal; 0 where a diagonal entry is not positive."""
    diagonal = np.diag(M)
    if diagonal.min(initial=1.0) <= 0:
        return 0.0, np.eye(len(M))[int(np.argmin(diagonal))]
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    return float(values[0]), vectors[:, 0]


def _normalize_quaternions(joint, q: np.ndarray) -> None:
    """Make the quaternions of one joint's part of `q` unit, in place."""
    at = 0
    for part in joint.parts if isinstance(joint, Composite) else (joint,):
        if isinstance(part, Free | Ball):
            quaternion = q[at + part.nq - 4 : at + part.nq]
            quaternion /= np.linalg.norm(quaternion)
        at += part.nq


def warnings_of(bodies: tuple[Body, ...]) -> list[str]:
    """What is allowed but deserves a look."""
    out = []
    for body in bodies:
        if isinstance(body.hydro, Hydro):
            given = given_added_mass(body.hydro)
            lowest = float(np.linalg.eigvalsh(given)[0])
            if lowest < -1e-9 * np.abs(given).max(initial=0.0):
                out.append(
                    f"body {body.name!r}: its added mass is not positive semi-definite by itself (eigenvalue {lowest:.4g}); "
                    "identified values often are not, and the total inertia is"
                )
    return out
