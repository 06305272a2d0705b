"""Mechanisms and matrices for comparisons of operation counts."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs import dynamics
from hydromechs.dynamics import Balance
from hydromechs.library import serial_chain, star
from hydromechs.model import Body, Inertia, Model, joints
from hydromechs.spatial import Path, Screw
from hydromechs.values import Array


def arms_on_load(m: int, n: int) -> tuple[Model, int, list[dynamics.Holding]]:
    """Return a model of m general arms of `n` revolute joints that hold a load rigidly, with load index and holdings."""
    bodies = []
    for k in range(m):
        for body in serial_chain(n, base="fixed", wet=False, seed=k + 1).bodies:
            parent = None if body.parent is None else f"arm{k}_{body.parent}"
            bodies.append(replace(body, name=f"arm{k}_{body.name}", parent=parent))
    inertia = Inertia(mass=4.0, tensor=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0))
    model = Model(name=f"{m}_arms_of_{n}", bodies=(*bodies, Body(name="load", joint=joints.Free(), inertia=inertia)))
    rng, holdings = np.random.default_rng(0), []
    for k in range(m):
        d, theta, a, alpha = rng.uniform(0.1, 0.4), rng.uniform(-2.0, 2.0), rng.uniform(0.1, 0.4), rng.uniform(0.3, 1.2)
        steps = (Screw(2, -d, np.cos(theta), -np.sin(theta)), Screw(0, -a, np.cos(alpha), -np.sin(alpha)))  # eq. 2.27
        holdings.append(dynamics.Holding(model.body_index(f"arm{k}_link{n}"), Path(()), Path(steps)))
    return model, model.body_index("load"), holdings


def principal_star(m: int, n: int, *, wet: bool) -> Model:
    """Return `library.star` with the vehicle frame along principal axes, as in the thesis."""
    model = star(m, n, wet=wet)
    vehicle = replace(model.bodies[0], inertia=Inertia(mass=20.0, tensor=(1.0, 2.0, 3.0, 0.0, 0.0, 0.0)))
    return Model(name=model.name, bodies=(vehicle, *model.bodies[1:]))


def rigid_balance(model: Model, q: Array, v: Array) -> Balance:
    """Return the force balance of all bodies without water."""
    kin = dynamics.kinematics(model, q, v)
    given = zip(model.rigid, kin.V, strict=True)
    force = [np.zeros(6) if r is None else dynamics.rigid_bias(r, V) for r, V in given]
    return Balance(kin, kin.zeta, [np.zeros((6, 6)) if r is None else r.matrix for r in model.rigid], force)


def symmetric(x: Iterable[Any], rows: Iterable[int]) -> Array:
    """Return the symmetric 6×6 matrix with upper-triangle entries `x` in the given rows and columns, and zeros elsewhere."""
    out = np.full((6, 6), 0.0, dtype=object)
    entries, chosen = iter(x), list(rows)
    for i in chosen:
        for j in chosen:
            if j >= i:
                out[i, j] = out[j, i] = next(entries)
    return out
