"""Ballast: the weight and the float that give a vehicle the buoyancy and the attitude that are wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from hydromechs import dynamics
from hydromechs.hydro import displaced_mass
from hydromechs.model import Body, Hydro, Inertia, Model, joints
from hydromechs.spatial import rigid_inertia, tensor_matrix
from hydromechs.values import Array, nearest

from ._hydrostatics import Hydrostatics, down_in_body, hydrostatics
from ._parts import part_of

__all__ = ["Ballast", "Piece", "ballast"]

LEAD, FOAM = 11_340.0, 200.0
"""Densities of lead and of the foam of small vehicles [kg/m³]."""
LOW = 1e-3
"""Part of the cost of a piece that says how high it is: of the same mass, weights go down and floats go up."""
ROUNDS = 50
"""Most rounds in which the mass of the pieces is found."""
NOTHING = 1e-9
"""Part of the vehicle's mass below which a piece is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A weight or a float."""

    kind: str
    """What it is: "weight" or "float"."""
    mass: float
    """Mass [kg]."""
    volume: float
    """Volume [m³]."""
    position: tuple[float, float, float]
    """Its centre from the origin of the body, in body axes [m], shape (3,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ballast:
    """What `ballast` found."""

    body: str
    """Body that carries the pieces."""
    pieces: tuple[Piece, ...]
    """A weight, a float, both, or none where nothing is needed."""
    model: Model
    """The model with the pieces on it."""
    before: Hydrostatics
    """How the model floated."""
    after: Hydrostatics
    """How it floats now."""

    def __str__(self) -> str:
        rows = [
            f"{p.kind} of {p.mass:.4g} kg ({1e3 * p.volume:.4g} L) at ({', '.join(f'{x:.4g}' for x in p.position)}) m "
            f"on {self.body}"
            for p in self.pieces
        ]
        return "\n".join(rows or ["no ballast needed"])


def ballast(
    model: Model,
    *,
    body: str | None = None,
    q: Array | None = None,
    roll: float = 0.0,
    pitch: float = 0.0,
    buoyancy: float = 0.0,
    stability: float = 0.0,
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    weight_density: float = LEAD,
    float_density: float = FOAM,
) -> Ballast:
    """The least ballast that gives a vehicle a buoyancy and an attitude at rest, joints held; `hm.trim` finds commands instead.

    With mass and first moment m, μ of the vehicle, those of the displaced water m_f, μ_f, and d down in body axes at the
    wanted attitude: m_f − m = buoyancy/g, and μ/m − μ_f/m_f, from the centre of buoyancy to that of mass, is along d and at
    least `stability` long. A weight and a float anywhere in a box do it (a linear programme over its corners).

    Args:
        model: The model, with hydrodynamics.
        body: Body that carries the ballast; the one that floats freely unless given.
        q: Configuration of the joints, shape (nq,); the initial one unless given.
        roll: Wanted roll at rest [rad].
        pitch: Wanted pitch at rest [rad].
        buoyancy: Wanted net force up [N].
        stability: Least height of the centre of buoyancy above the centre of mass [m].
        box: Lowest and highest x, y, z that ballast can have in the body's frame [m]; the box around the body's shapes, or
            around what it looks like, unless given.
        weight_density: Density of a weight, above that of water [kg/m³]; lead unless given.
        float_density: Density of a float, below that of water [kg/m³]; light foam unless given.

    Returns:
        The pieces, and the model that carries them.

    Raises:
        ValueError: The model does not float freely or is dry, or no ballast in the box does what is wanted.
    """
    root = _carrier(model, body)
    water = model.world.water_density
    if not float_density < water < weight_density:
        raise ValueError(
            f"weight_density is {weight_density:g} and float_density {float_density:g} kg/m³; the water's {water:g} must be "
            "between"
        )
    q = model.initial().q if q is None else np.asarray(q, dtype=float)
    carrier = model.bodies[root]
    _hydro(carrier)
    low, high = _box(carrier) if box is None else (np.asarray(x, dtype=float) for x in box)
    if low.shape != (3,) or high.shape != (3,) or not (low <= high).all():
        raise ValueError(f"box is {box!r}, must be the lowest and the highest x, y, z [m]")
    lift = buoyancy / model.world.gravity
    m, mu, m_f, mu_f = _sums(model, root, q)
    down = down_in_body(model, roll, pitch)
    corners = np.array(list(product(*zip(low, high, strict=True))))
    places = np.concatenate([corners, corners])
    densities = np.repeat([weight_density, float_density], len(corners))
    masses = np.zeros(len(places))
    for _ in range(ROUNDS):
        last, masses = (
            masses,
            _programme(m, mu, m_f, mu_f, lift, down, stability, places, water / densities, m + float(masses.sum())),
        )
        if np.abs(masses - last).max() <= NOTHING * m:
            break
    pieces = tuple(
        Piece(
            kind=kind,
            mass=float(part.sum()),
            volume=float(part.sum()) / density,
            position=tuple((part @ corners / part.sum()).tolist()),
        )
        for kind, density, part in (
            ("weight", weight_density, masses[: len(corners)]),
            ("float", float_density, masses[len(corners) :]),
        )
        if part.sum() > NOTHING * m
    )
    loaded = tuple(_loaded(b, pieces) if i == root else b for i, b in enumerate(model.bodies))
    new = replace(model, bodies=loaded)
    return Ballast(body=carrier.name, pieces=pieces, model=new, before=hydrostatics(model, q), after=hydrostatics(new, q))


def _programme(
    m: float,
    mu: Array,
    m_f: float,
    mu_f: Array,
    lift: float,
    down: Array,
    stability: float,
    places: Array,
    share: Array,
    total: float,
) -> Array:
    """Masses of pieces at all places, with the moments of weight scaled by m_f/m of the last round [kg], shape (n,)."""
    from scipy.optimize import linprog

    scale = 1.0 + lift / total
    moments = (scale - share)[:, None] * places
    given = scale * mu - mu_f
    across = np.linalg.svd(down[None])[2][1:]
    equal = np.concatenate([(1.0 - share)[None], across @ moments.T])
    wanted = np.concatenate([[m_f - m - lift], -across @ given])
    depth = places @ down
    depth = (depth - depth.mean()) / max(np.ptp(depth), 1e-9)
    cost = 1.0 - LOW * depth * np.sign(1.0 - share)
    found = linprog(
        cost,
        A_ub=-(moments @ down)[None],
        b_ub=[float(down @ given) - stability * (total + lift)],
        A_eq=equal,
        b_eq=wanted,
        bounds=(0.0, None),
    )
    if not found.success:
        raise ValueError(
            "ballast: no weights and floats in the box do this; give a larger `box`, less `stability`, or another attitude"
        )
    return np.asarray(found.x)


def _carrier(model: Model, name: str | None) -> int:
    """Index of the body that carries the ballast."""
    roots = [i for i in range(model.nb) if model.parent[i] < 0 and isinstance(model.bodies[i].joint, joints.Free)]
    if len(roots) != 1:
        raise ValueError(f"ballast: {model.name} has {len(roots)} bodies that float freely, must have one")
    if name is not None and name not in model.body_names:
        raise KeyError(f"ballast: no body {name!r} in {model.name}{nearest(name, model.body_names)}")
    if name is not None and model.body_index(name) != roots[0]:
        raise ValueError(f"ballast: body {name!r} does not float freely; {model.body_names[roots[0]]!r} does")
    return roots[0]


def _hydro(body: Body) -> Hydro:
    """Hydrodynamics of a body that ballast can change."""
    if not isinstance(body.hydro, Hydro):
        has = "no hydrodynamics; hm.add_water gives it some" if body.hydro is None else "hydrodynamics of your own"
        raise ValueError(f"ballast: body {body.name!r} has {has}")
    return body.hydro


def _sums(model: Model, root: int, q: Array) -> tuple[float, Array, float, Array]:
    """Mass and first moment of the mechanism and of the water that it displaces, about the root's origin in its axes."""
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    R0, p0 = kin.R_WB[root], kin.p_WB[root]
    m = m_f = 0.0
    mu, mu_f = np.zeros(3), np.zeros(3)
    for body, R, p in zip(model.bodies, kin.R_WB, kin.p_WB, strict=True):
        m += body.inertia.mass
        mu += R0.T @ (body.inertia.mass * (p - p0 + R @ np.array(body.inertia.com)))
        water, moment = displaced_mass(body, model.world.water_density)
        m_f += water
        mu_f += R0.T @ (water * (p - p0) + R @ moment)
    return m, mu, m_f, mu_f


def _box(body: Body) -> tuple[Array, Array]:
    """The box around the shapes of a body, or around what it looks like; without either a cube of its volume."""
    for things in (body.shapes, body.visual):
        parts = [
            part for part in (part_of(thing, Path()) for thing in things if not hasattr(thing, "file")) if part is not None
        ]
        if parts:
            points = np.concatenate([part.surface_local.vertices @ part.origin.R.T + part.origin.xyz for part in parts])
            return points.min(axis=0), points.max(axis=0)
    hydro = _hydro(body)
    half = 0.5 * hydro.volume ** (1.0 / 3.0)
    center = np.array(hydro.buoyancy_center)
    return center - half, center + half


def _loaded(body: Body, pieces: Sequence[Piece]) -> Body:
    """The body with the pieces on it, each a ball; their added mass and drag are left out."""
    own, hydro = body.inertia, _hydro(body)
    total = rigid_inertia(own.mass, np.array(own.com), tensor_matrix(own.tensor))
    volume, moment = hydro.volume, hydro.volume * np.array(hydro.buoyancy_center)
    for piece in pieces:
        radius = (piece.volume * 0.75 / math.pi) ** (1.0 / 3.0)
        total = total + rigid_inertia(piece.mass, np.array(piece.position), 0.4 * piece.mass * radius**2 * np.eye(3))
        volume, moment = volume + piece.volume, moment + piece.volume * np.array(piece.position)
    mass = float(total[0, 0])
    com = np.array([total[5, 1], total[3, 2], total[4, 0]]) / mass
    tensor = total[3:, 3:] - mass * (com @ com * np.eye(3) - np.outer(com, com))
    six = (*np.diag(tensor).tolist(), float(tensor[0, 1]), float(tensor[0, 2]), float(tensor[1, 2]))
    return replace(
        body,
        inertia=Inertia(mass=mass, com=tuple(com.tolist()), tensor=six),
        hydro=replace(hydro, volume=volume, buoyancy_center=tuple((moment / volume).tolist()) if volume else (0.0, 0.0, 0.0)),
    )
