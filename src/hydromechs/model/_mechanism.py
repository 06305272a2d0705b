"""Checks of complete mechanisms: indefinite inertia, joints that move no inertia, dependent motions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hydromechs.errors import Fault
from hydromechs.spatial import Path
from hydromechs.values import plain

from ._added_mass_matrix import total_added_mass
from ._body import Body, Hydro
from ._checks import ADDED_MASS_SIGN, TOO_LARGE, is_small
from ._unit_mistakes import placement_mistakes, unit_mistakes
from .joints import Composite
from .joints._moving import motion_subspace, transformation

if TYPE_CHECKING:
    from ._model import Model


@np.errstate(over="ignore", invalid="ignore")
def mechanism_faults(model: Model) -> list[Fault]:
    """Return the errors that only the complete mechanism reveals and that would make accelerations undefined."""
    inertia = _total_inertias(model)
    faults = _negative_inertias(model, inertia)
    configurations = _configurations(model)
    for which, q in configurations.items():
        if not faults:
            faults = _dependent_motions(model, q, which)
    # with independent motions M is regular if every moving body has a positive definite inertia
    moving = [I for I, body in zip(inertia, model.bodies, strict=True) if body.joint.nv]
    if not faults and any(_relative_lowest(I, np.diag(I)) <= 1e-12 for I in moving):
        for q in configurations.values():
            faults = faults or _motions_without_inertia(model, inertia, q)
    return faults


def dry_faults(model: Model) -> list[Fault]:
    """Return errors about joints that move added mass but no rigid mass: out of the water, their accelerations are undefined.

    A model is accepted if the sum of rigid and added inertia is positive definite, because a model does not specify a free
    surface. With a free surface, bodies can leave the water, and the rigid inertia alone must be positive definite.
    """
    inertia = [np.zeros((6, 6)) if rigid is None else rigid.matrix for rigid in model.rigid]
    out: list[Fault] = []
    for q in _configurations(model).values():
        for fault in _motions_without_inertia(model, inertia, q):
            text = f"{fault.text}; with a free surface, the added mass vanishes out of the water"
            out.append(Fault(fault.path, text))
            i = fault.path[1]
            inertia[i] = inertia[i] + np.eye(6)  # reported once
    return out


def _total_inertias(model: Model) -> list[np.ndarray]:
    """Return the sum of rigid and added inertia of each moving body with all bodies fixed to it, shape (6, 6) each.

    The matrix of a fixed body is zero. Custom hydrodynamics counts as a unit inertia, because its value is unknown before a
    run.
    """
    total = [np.zeros((6, 6)) if r is None else r.matrix for r in model.rigid]
    for i in reversed(range(model.nb)):
        hydro = model.bodies[i].hydro
        if isinstance(hydro, Hydro):
            total[i] = total[i] + total_added_mass(hydro.added_mass, model.world.water_density)
        elif hydro is not None:
            total[i] = total[i] + np.eye(6)
        if model.bodies[i].joint.nv == 0:
            if model.parent[i] >= 0:
                total[model.parent[i]] = total[model.parent[i]] + Path(model.steps[i]).inertia_back(total[i])
            total[i] = np.zeros((6, 6))
    return total


def _negative_inertias(model: Model, inertia: list[np.ndarray]) -> list[Fault]:
    """Return errors about bodies whose sum of rigid and added inertia is not positive semidefinite."""
    out = []
    for i, (body, I) in enumerate(zip(model.bodies, inertia, strict=True)):
        if not is_small(I):
            out.append(Fault(("bodies", i), f"body {body.name!r}: the sum of inertia and added mass is {TOO_LARGE}"))
            continue
        lowest = float(np.linalg.eigvalsh(I)[0])
        if lowest < -1e-9 * np.abs(I).max():
            text = (
                f"body {body.name!r}: the sum of added mass and rigid inertia (with the bodies fixed to it) has "
                f"the eigenvalue {lowest:.4g}, must be positive definite; {ADDED_MASS_SIGN}"
            )
            out.append(Fault(("bodies", i, "hydro", "added_mass"), text))
    return out


def _configurations(model: Model) -> dict[str, np.ndarray]:
    """Return the configurations at which accelerations must be defined, keyed by name, shape (nq,) each."""
    rng = np.random.default_rng(0)  # a generic configuration
    own = [body for i, body in enumerate(model.bodies) if model.owner[i] == i]
    general = [p.random_q(rng, 1)[0] for body in own for p in body.joint.parts]
    return {"the initial": model.initial().q, "a general": np.concatenate([np.zeros(0), *general])}


def _dependent_motions(model: Model, q: np.ndarray, which: str) -> list[Fault]:
    """Return errors about composite joints whose parts do not move the body independently."""
    out = []
    for i, (body, steps) in enumerate(zip(model.bodies, model.steps, strict=True)):
        if isinstance(body.joint, Composite):
            S = motion_subspace(steps, [transformation(s, q) for s in steps], q)
            if np.linalg.svd(S / np.linalg.norm(S, axis=0), compute_uv=False)[-1] < 1e-9:
                kinds = ", ".join(p.kind for p in body.joint.parts)
                text = (
                    f"body {body.name!r}: the parts of its joint ({kinds}) do not move it independently at {which} "
                    "position; change an axis, an origin or the initial position, or remove a part"
                )
                out.append(Fault(("bodies", i, "joint"), text))
    return out


def _motions_without_inertia(model: Model, inertia: list[np.ndarray], q: np.ndarray) -> list[Fault]:
    """Return errors about joints that move no inertia at a configuration, outermost first.

    A joint with an error counts as repaired for the joints that carry it: its body receives a unit inertia.

    One pass runs from the leaves to the roots. M = Lᵀ D L is singular if a block D = Sᵀ A S is singular, where A is the
    articulated inertia of the subtree. D is compared with Sᵀ C S, where C is the composite inertia of the subtree.
    """
    articulated, composite = list(inertia), list(inertia)
    out: list[Fault] = []
    shared: dict[int, tuple] = {}
    for i in reversed(range(model.nb)):
        at_q = [transformation(s, q) for s in model.steps[i]]
        S, A, C, path = motion_subspace(model.steps[i], at_q, q), articulated[i], composite[i], Path(at_q)
        if model.owner[i] in model.sections:  # the modes of all sections are eliminated at the first section
            U = np.stack([path.force_back(f) for f in (A @ S).T], axis=1)
            added = (S.T @ A @ S, S.T @ C @ S, U, path.inertia_back(A))
            before = shared.get(model.owner[i], (0.0,) * 4)
            D, carried, U, A = shared[model.owner[i]] = tuple(x + y for x, y in zip(before, added, strict=True))
            composite[model.parent[i]] = composite[model.parent[i]] + path.inertia_back(C)
            if model.owner[i] == i:
                if _relative_lowest(D, np.diag(carried)) <= 1e-13:
                    name = model.bodies[model.parent[i]].name
                    text = f"body {name!r}: a mode of its flexible link moves no mass; remove the mode"
                    out.append(Fault(("bodies", model.parent[i], "flexible"), text))
                    continue
                articulated[model.parent[i]] = articulated[model.parent[i]] + A - U @ np.linalg.solve(D, U.T)
            continue
        if S.shape[1]:
            body, carried = model.bodies[i], S.T @ C @ S
            if not is_small(carried):
                text = f"body {body.name!r}: the inertia that its joint moves is {TOO_LARGE}"
                return [*out, Fault(("bodies", i, "joint"), text)]
            D = S.T @ A @ S
            if _relative_lowest(D, np.diag(carried)) <= 1e-13:
                remedy = "set mass and tensor of the body or of a body outboard, or make the joint fixed"
                text = (
                    f"body {body.name!r}: its {body.joint.kind} joint moves no inertia (mass {plain(body.inertia.mass)} kg), "
                    f"so its acceleration is undefined; {remedy}"
                )
                out.append(Fault(("bodies", i, "inertia" if body.inertia.mass else "joint"), text, remedy=remedy))
                A, C = A + np.eye(6), C + np.eye(6)
                D = S.T @ A @ S
            A = A - A @ S @ np.linalg.solve(D, S.T @ A)
        parent = model.parent[i]
        if parent >= 0:
            articulated[parent] = articulated[parent] + path.inertia_back(0.5 * (A + A.T))
            composite[parent] = composite[parent] + path.inertia_back(C)
    return out


def _relative_lowest(M: np.ndarray, diagonal: np.ndarray) -> float:
    """Return the smallest eigenvalue of M scaled to a unit `diagonal`; 0 if an entry of `diagonal` is not positive."""
    if diagonal.min(initial=1.0) <= 0:
        return 0.0
    scale = 1.0 / np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(M * np.outer(scale, scale))[0])


def warnings_of(bodies: tuple[Body, ...], density: float) -> list[str]:
    """Return warnings about added mass that is not positive semidefinite, and about likely unit mistakes."""
    out = []
    for body in bodies:
        if isinstance(body.hydro, Hydro):
            total = total_added_mass(body.hydro.added_mass, density)
            lowest = float(np.linalg.eigvalsh(total)[0])
            if lowest < -1e-9 * np.abs(total).max(initial=0.0):
                negative = bool((np.diag(total) < 0.0).any())
                out.append(
                    f"body {body.name!r}: the added mass alone is not positive semidefinite (eigenvalue {lowest:.4g}); "
                    + (ADDED_MASS_SIGN if negative else "identified values often are not, and the total inertia is")
                )
        out += [f"body {body.name!r}: {text}" for text in unit_mistakes(body, density)]
    return [*out, *placement_mistakes(bodies)]
