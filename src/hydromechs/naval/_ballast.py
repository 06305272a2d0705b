"""Ballast: weight and float for a required buoyancy and attitude of a vehicle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from hydromechs import dynamics
from hydromechs.geometry import Mesh
from hydromechs.model import Body, Hydro, Inertia, Model, joints
from hydromechs.spatial import rigid_inertia, tensor_matrix
from hydromechs.values import Array, nearest

from ._hydrostatics import Hydrostatics, Sums, down_in_body, hydrostatics, sums_of
from ._parts import SIDES, check_angle, check_finite, check_model, configuration, part_of, solid_or_drawn

LEAD, FOAM = 11_340.0, 200.0
"""Densities of lead and of foam for small vehicles [kg/m³]."""
ARM = 0.01
"""Default height of the centre of buoyancy above the centre of mass, relative to the cube root of the volume."""
LOW = 1e-3
"""Cost of the height of a piece; for equal masses, weights are as low and floats as high as possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Piece of ballast, a weight or a float."""

    kind: str
    """Kind: "weight" or "float"."""
    mass: float
    """Mass [kg]."""
    volume: float
    """Volume [m³]."""
    position: tuple[float, float, float]
    """Centre relative to the body origin, in body axes [m], shape (3,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ballast:
    """Result of `ballast`."""

    body: str
    """Name of the body that carries the pieces."""
    pieces: tuple[Piece, ...]
    """Pieces: a weight, a float, both, or none."""
    model: Model
    """Model with the pieces."""
    before: Hydrostatics
    after: Hydrostatics
    """Hydrostatics of the model with the pieces."""

    def __str__(self) -> str:
        rows = [
            f"{p.kind} of {p.mass:.4g} kg ({1e3 * p.volume:.4g} L) at ({', '.join(_short(x) for x in p.position)}) m "
            f"on {self.body}"
            for p in self.pieces
        ]
        roll, pitch = (round(math.degrees(a), 1) + 0.0 for a in self.after.rest)
        arm = float(np.linalg.norm(self.after.com - self.after.cob))
        rest = f"at rest: roll {roll:.1f}°, pitch {pitch:.1f}°, centre of buoyancy {1e3 * arm:.3g} mm above the centre of mass"
        return "\n".join([*(rows or ["no ballast needed"]), rest])


def _short(x: float) -> str:
    """Return a coordinate [m] as text with four digits; rounding errors become 0."""
    return f"{round(x, 9) + 0.0:.4g}"


def ballast(
    model: Model,
    *,
    body: str | None = None,
    q: Array | None = None,
    roll: float = 0.0,
    pitch: float = 0.0,
    buoyancy: float = 0.0,
    stability: float | None = None,
    box: tuple[Sequence[float], Sequence[float]] | None = None,
    weight_density: float = LEAD,
    float_density: float = FOAM,
) -> Ballast:
    """Return the minimum ballast for a required buoyancy and equilibrium attitude; `hm.trim` finds commands instead.

    The vehicle has the mass m and first moment μ, the displaced water m_f and μ_f, and d points down in body axes at the
    required attitude. Then m_f − m = buoyancy/g, and μ/m − μ_f/m_f, from the centre of buoyancy to the centre of mass, is along
    d and at least `stability` long. A weight and a float inside a box fulfil this, found by a linear programme over the
    corners. Joints are held.

    Args:
        model: The model, with hydrodynamics.
        body: Name of the body that carries the ballast: the freely floating body, or a body fixed to it. Defaults to the
            freely floating body or, if it has no hydrodynamics, the largest body fixed to it.
        q: Configuration, shape (nq,). Defaults to the initial configuration.
        roll: Required roll of the freely floating body at equilibrium, −π to π [rad].
        pitch: Required pitch of this body at equilibrium, −π/2 to π/2 [rad].
        buoyancy: Required net upward force [N].
        stability: Minimum height of the centre of buoyancy above the centre of mass at rest, above 0 [m]; defaults to 1 % of
            the cube root of the displaced volume, since without any height every attitude would be an equilibrium.
        box: Minimum and maximum x, y, z of ballast in the body's frame [m]; the box around the body's shapes, or
            around its estimated hull, by default.
        weight_density: Density of a weight, above that of water [kg/m³]; defaults to lead.
        float_density: Density of a float, below that of water [kg/m³]; defaults to light foam.

    Returns:
        The pieces, and the model that carries them.

    Raises:
        ValueError: The model does not float freely or is dry, or no ballast in the box meets the requirements.
    """
    check_model("ballast", model)
    check_angle("ballast", "roll", roll, math.pi)
    check_angle("ballast", "pitch", pitch, 0.5 * math.pi)
    check_finite("ballast", buoyancy=buoyancy, weight_density=weight_density, float_density=float_density)
    if stability is not None:
        check_finite("ballast", stability=stability)
        if stability <= 0.0:
            raise ValueError(f"ballast: stability is {stability:g} m, must be above 0 to right the vehicle")
    root, index = _carrier(model, body)
    water = model.world.water_density
    if not float_density < water < weight_density:
        raise ValueError(
            f"weight_density is {weight_density:g} kg/m³ and float_density {float_density:g} kg/m³; choose values above and "
            f"below the water density of {water:g} kg/m³"
        )
    q = configuration("ballast", model, q)
    carrier = model.bodies[index]
    low, high = box_of(carrier) if box is None else (np.asarray(x, dtype=float) for x in box)
    if low.shape != (3,) or high.shape != (3,) or not (low <= high).all() or not np.isfinite([low, high]).all():
        raise ValueError(f"box is {box!r}, must be the minimum and the maximum x, y, z [m]")
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    sums = sums_of(model, kin, range(model.nb), kin.p_WB[root], kin.R_WB[root])  # in the frame of the root
    most = max(sums.mass, sums.water) * model.world.gravity
    if abs(buoyancy) > most:
        raise ValueError(
            f"ballast: buoyancy is {buoyancy:g} N, more than the weight or displacement of the vehicle, {most:.4g} N; "
            "reduce `buoyancy`, for example to 20 N for a small vehicle"
        )
    corners = np.array(list(product(*zip(low, high, strict=True))))
    places = (corners @ kin.R_WB[index].T + kin.p_WB[index] - kin.p_WB[root]) @ kin.R_WB[root]
    densities = np.repeat([weight_density, float_density], len(corners))
    masses = _masses(
        sums,
        lift=buoyancy / model.world.gravity,
        down=down_in_body(model, roll, pitch),
        stability=stability,
        places=np.concatenate([places, places]),
        share=water / densities,
        water=water,
    )
    pieces = []
    for kind, density, part in zip(("weight", "float"), (weight_density, float_density), np.split(masses, 2), strict=True):
        mass = float(part.sum())
        if mass > NOTHING * sums.mass:
            pieces.append(Piece(kind=kind, mass=mass, volume=mass / density, position=tuple((part @ corners / mass).tolist())))
    loaded = tuple(_loaded(b, pieces) if i == index else b for i, b in enumerate(model.bodies))
    new = replace(model, bodies=loaded)
    before, after = hydrostatics(model, q), hydrostatics(new, q)
    return Ballast(body=carrier.name, pieces=tuple(pieces), model=new, before=before, after=after)


ROUNDS = 50
"""Maximum number of iterations for the mass of the pieces."""
HALVINGS = 30
"""Number of bisections for the maximum stability in the box, for the error message."""
NOTHING = 1e-9
"""Fraction of the vehicle mass below which a piece is omitted."""


def _masses(
    sums: Sums, *, lift: float, down: Array, stability: float | None, places: Array, share: Array, water: float
) -> Array:
    """Return the minimum masses of pieces at all positions [kg], shape (n,), by iteration over m_f/m and the height."""
    masses = np.zeros(len(places))
    for _ in range(ROUNDS):
        last, total = masses, sums.mass + float(masses.sum())
        height = ARM * max((total + lift) / water, 0.0) ** (1.0 / 3.0) if stability is None else stability
        found = _programme(sums, lift, down, height, places, share, total)
        if found is None:
            raise ValueError(_refusal(sums, lift, down, height, places, share, total))
        masses = found
        if np.abs(masses - last).max() <= NOTHING * sums.mass:
            return masses
    raise ValueError(
        f"ballast: no convergence, {masses.sum():.3g} kg after {ROUNDS} iterations; set a larger `box`, less `stability` or "
        "less `buoyancy`"
    )


def _programme(
    sums: Sums, lift: float, down: Array, stability: float | None, places: Array, share: Array, total: float
) -> Array | None:
    """Return the minimum masses of pieces at all positions [kg], shape (n,), or None if there is no solution.

    The difference between the displaced mass and the mass of the pieces is `lift` [kg]. The centre of buoyancy is at least
    `stability` [m] above the centre of mass; None omits this condition. `down`, shape (3,), and the positions [m], shape
    (n, 3), are in root axes. `share`, shape (n,), is the ratio of displaced mass to mass of a piece, and `total` [kg] is the
    mass with the pieces of the last iteration.
    """
    from scipy.optimize import linprog

    scale = 1.0 + lift / total
    moments, given = _arms(sums, scale, places, share)
    across = np.linalg.svd(down[None])[2][1:]
    equal = np.concatenate([(1.0 - share)[None], across @ moments.T])
    wanted = np.concatenate([[sums.water - sums.mass - lift], -across @ given])
    depth = places @ down
    depth = (depth - depth.mean()) / max(np.ptp(depth), 1e-9)
    cost = 1.0 - LOW * depth * np.sign(1.0 - share)
    least = {}
    if stability is not None:
        least = {"A_ub": (stability - moments @ down)[None], "b_ub": [float(down @ given) - stability * (sums.mass + lift)]}
    found = linprog(cost, A_eq=equal, b_eq=wanted, bounds=(0.0, None), **least)
    return np.asarray(found.x) if found.success else None


def _arms(sums: Sums, scale: float, places: Array, share: Array) -> tuple[Array, Array]:
    """Return the change of m_f (μ/m − μ_f/m_f) per kilogram at each position [m], shape (n, 3), and its value [kg·m], (3,)."""
    return (scale - share)[:, None] * places, scale * sums.moment - sums.water_moment


def _refusal(sums: Sums, lift: float, down: Array, wanted: float, places: Array, share: Array, total: float) -> str:
    """Return the reason why no ballast is possible: the maximum stability in the box, or an impossible attitude."""
    bare = _programme(sums, lift, down, None, places, share, total)
    size = " × ".join(f"{x:.3g}" for x in np.linalg.norm(places[[4, 2, 1]] - places[0], axis=1))  # as `product` orders corners
    if bare is None:
        return (
            f"ballast: vehicle of {sums.mass:.4g} kg that displaces {sums.water:.4g} kg: no weights and floats in the box of "
            f"{size} m give a net lift of {lift:.4g} kg at this attitude; set a larger `box` or another attitude"
        )
    moments, given = _arms(sums, 1.0 + lift / total, places, share)
    least, most = float(down @ (given + bare @ moments)) / (sums.mass + float(bare.sum()) + lift), wanted
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        reached = _programme(sums, lift, down, middle, places, share, total) is not None
        least, most = (middle, most) if reached else (least, middle)
    return (
        f"ballast: `stability` of {wanted:.3g} m is out of reach: weights and floats in the box of {size} m give at most "
        f"{least:.3g} m; set a larger `box`, less `stability`, or another attitude"
    )


def _carrier(model: Model, name: str | None) -> tuple[int, int]:
    """Return the indices of the freely floating body and of the body that carries the ballast."""
    roots = [i for i in range(model.nb) if model.parent[i] < 0 and isinstance(model.bodies[i].joint, joints.Free)]
    if len(roots) != 1:
        raise ValueError(f"ballast: {model.name} has {len(roots)} freely floating bodies, must have exactly one")
    if name is not None and name not in model.body_names:
        raise KeyError(f"ballast: {model.name} has no body {name!r}{nearest(name, model.body_names)}")
    root = roots[0]
    group = [root]
    for i, body in enumerate(model.bodies):
        if model.parent[i] in group and isinstance(body.joint, joints.Fixed):
            group.append(i)
    wet = sorted((i for i in group if isinstance(model.bodies[i].hydro, Hydro)), key=lambda i: -_hydro(model.bodies[i]).volume)
    free, names = model.body_names[root], ", ".join(model.body_names[i] for i in group)
    if not wet:
        raise ValueError(
            f"ballast: there are no hydrodynamics to change on {names}; estimate them with hm.add_water, "
            f"from shapes or with meshes={{{model.body_names[group[-1]]!r}: FILE}}"
        )
    if name is None:
        return root, root if root in wet else wet[0]
    index = model.body_index(name)
    if index not in group:
        raise ValueError(f"ballast: body {name!r} is not fixed to {free!r}, which floats freely; choose one of {names}")
    if index not in wet:
        has = "no hydrodynamics" if model.bodies[index].hydro is None else "custom hydrodynamics"
        raise ValueError(f"ballast: body {name!r} has {has}; use body={model.body_names[wet[0]]!r}")
    return root, index


def _hydro(body: Body) -> Hydro:
    """Return the hydrodynamics of the body that carries ballast, which `_carrier` has checked."""
    assert isinstance(body.hydro, Hydro)
    return body.hydro


def box_of(body: Body) -> tuple[Array, Array]:
    """Return the minimum and maximum x, y, z of a body in body axes [m], shape (3,) each.

    The box contains the solid shapes, otherwise the shapes for appearance. Without shapes, the box is a cube with the displaced
    volume or, for a dry body, with the volume of its mass of water.
    """
    for things in solid_or_drawn(body):
        found = [part_of(x, Path()) for x in things if not isinstance(x.shape, Mesh) or x.shape.path.is_file()]
        parts = [part for part in found if part is not None]
        if parts:
            points = np.concatenate([part.triangulate(SIDES).vertices for part in parts])
            return points.min(axis=0), points.max(axis=0)
    wet = isinstance(body.hydro, Hydro) and body.hydro.volume > 0.0
    half = 0.5 * (_hydro(body).volume if wet else body.inertia.mass / 1000.0) ** (1.0 / 3.0)
    center = np.array(_hydro(body).buoyancy_center if wet else body.inertia.com)
    return center - half, center + half


def _loaded(body: Body, pieces: Sequence[Piece]) -> Body:
    """Return the body with the pieces as spheres; their added mass and drag are neglected."""
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
