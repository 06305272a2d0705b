"""Generated mechanisms with general (not special) numbers, for tests and benchmarks."""

from typing import Any

import numpy as np

from hydromechs.geometry import Cylinder
from hydromechs.model import (
    Body,
    Frame,
    Hydro,
    Inertia,
    Mdh,
    Model,
    Origin,
    World,
    added_mass,
    drag,
    joints,
    motion_subspace,
    transformation,
)
from hydromechs.values import Array


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _random_inertia(rng: np.random.Generator) -> Inertia:
    """A physically possible inertia with an offset centre of mass and a full tensor: eight point masses in a box."""
    masses = rng.uniform(0.2, 1.5, 8)
    points = rng.uniform(-0.4, 0.4, (8, 3)) + rng.uniform(-0.2, 0.2, 3)
    com = masses @ points / masses.sum()
    d = points - com
    tensor = (masses * (d**2).sum(1)).sum() * np.eye(3) - (d.T * masses) @ d
    xx, yy, zz = np.diag(tensor)
    return Inertia(mass=masses.sum(), com=_three(com), tensor=(xx, yy, zz, tensor[0, 1], tensor[0, 2], tensor[1, 2]))


def _random_hydro(rng: np.random.Generator) -> Hydro:
    """Full added mass, buoyancy with an offset centre, and a cylinder's strip drag along x."""
    A = rng.normal(size=(6, 6))
    return Hydro(
        volume=rng.uniform(0.001, 0.01),
        buoyancy_center=_three(rng.uniform(-0.2, 0.2, 3)),
        added_mass=(added_mass.Matrix(tuple(map(tuple, (A @ A.T).tolist()))),),
        drag=(
            drag.ShapeDrag(
                shape=Cylinder.along("x", 0.0, rng.uniform(0.3, 0.8), radius=rng.uniform(0.03, 0.1)),
                coefficient=rng.uniform(0.8, 1.2),
            ),
        ),
    )


def _vehicle(rng: np.random.Generator, wet: bool) -> Body:
    return Body(name="vehicle", joint=joints.Free(), inertia=_random_inertia(rng), hydro=_random_hydro(rng) if wet else None)


def _chain(rng: np.random.Generator, n: int, parent: str | None, prefix: str, wet: bool, branch: bool) -> list[Body]:
    """Links with general MDH parameters and revolute joints; the first is placed with branch parameters if asked for."""
    bodies = []
    for i in range(n):
        a, alpha, d, theta = rng.uniform(0.1, 0.6), rng.uniform(0.3, 1.2), rng.uniform(0.1, 0.5), 0.0
        if i == 0 and not branch:
            a = alpha = d = 0.0  # the base frame lies on the first joint, as in the papers
        extra = {"branch_d": rng.uniform(-0.5, 0.5), "branch_theta": rng.uniform(-3.0, 3.0)} if i == 0 and branch else {}
        joint = joints.Revolute(placement=Mdh(a=a, alpha=alpha, d=d, theta=theta, **extra))
        hydro = _random_hydro(rng) if wet else None
        name = f"{prefix}{i + 1}"
        bodies.append(Body(name=name, parent=parent, joint=joint, inertia=_random_inertia(rng), hydro=hydro))
        parent = name
    return bodies


def serial_chain(n: int, *, base: str = "free", wet: bool = True, seed: int = 1) -> Model:
    """A chain of `n` revolute links with general parameters on a vehicle or on the world.

    Args:
        n: Number of links.
        base: "free" for a vehicle that carries the chain (its frame on the first joint, as in the papers), "fixed" for
            a chain on the world.
        wet: Whether all bodies have full added mass, buoyancy and strip drag.
        seed: Seed of the numbers.
    """
    if base not in ("free", "fixed"):
        raise ValueError(f"base is {base!r}, must be 'free' or 'fixed'")
    rng = np.random.default_rng(seed)
    root = [_vehicle(rng, wet)] if base == "free" else []
    bodies = [*root, *_chain(rng, n, root[0].name if root else None, "link", wet, branch=False)]
    return Model(name=f"chain_{n}_{base}_{'wet' if wet else 'dry'}", bodies=tuple(bodies))


def star(m: int, n: int, *, wet: bool = True, seed: int = 1) -> Model:
    """A vehicle with `m` chains of `n` revolute links each, placed with branch parameters: a walker, a vehicle with arms.

    Args:
        m: Number of chains.
        n: Links per chain.
        wet: Whether all bodies have full added mass, buoyancy and strip drag.
        seed: Seed of the numbers.
    """
    rng = np.random.default_rng(seed)
    bodies = [_vehicle(rng, wet)]
    for k in range(m):
        bodies += _chain(rng, n, "vehicle", f"chain{k + 1}_link", wet, branch=True)
    return Model(name=f"star_{m}x{n}_{'wet' if wet else 'dry'}", bodies=tuple(bodies))


def _random_placement(rng: np.random.Generator) -> Origin | Mdh:
    kind = rng.integers(3)
    if kind == 0:
        return Origin(_three(rng.uniform(-0.5, 0.5, 3)), _three(rng.uniform(-3.0, 3.0, 3)))
    extra = {"branch_d": rng.uniform(-0.5, 0.5), "branch_theta": rng.uniform(-3.0, 3.0)} if kind == 2 else {}
    return Mdh(
        a=rng.uniform(-0.5, 0.5), alpha=rng.uniform(-3.0, 3.0), d=rng.uniform(-0.5, 0.5), theta=rng.uniform(-3.0, 3.0), **extra
    )


def _random_quaternion(rng: np.random.Generator) -> tuple[float, float, float, float]:
    quaternion = rng.normal(size=4)
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    return w, x, y, z


def _random_joint(rng: np.random.Generator, kind: str) -> Any:
    placement = _random_placement(rng)
    match kind:
        case "fixed":
            return joints.Fixed(placement=placement)
        case "free":
            return joints.Free(
                placement=placement,
                position=_three(rng.uniform(-2, 2, 3)),
                orientation=_random_quaternion(rng),
                velocity=tuple(rng.normal(size=6).tolist()),
            )
        case "ball":
            return joints.Ball(placement=placement, orientation=_random_quaternion(rng), velocity=_three(rng.normal(size=3)))
        case "composite":
            n = int(rng.integers(2, 4))
            while True:  # until its motions are well apart: two nearly equal ones do not make a joint that anybody builds
                joint = joints.Composite(
                    parts=tuple(_random_joint(rng, str(rng.choice(["revolute", "prismatic"]))) for _ in range(n))
                )
                steps = joint.steps(0, 0)
                S = motion_subspace(steps, [transformation(s, joint.initial_q) for s in steps], joint.initial_q)
                if np.linalg.cond(S) < 8.0:
                    return joint
    axis = (0.0, 0.0, 1.0)
    if isinstance(placement, Origin):  # along a coordinate axis or along none
        axis = _three(rng.normal(size=3) if rng.random() < 0.5 else rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)])
    kind_of = joints.Revolute if kind == "revolute" else joints.Prismatic
    return kind_of(placement=placement, axis=axis, position=rng.uniform(-2, 2), velocity=rng.normal())


JOINT_KINDS = ("revolute", "prismatic", "ball", "fixed", "free", "composite")


def random_tree(
    rng: np.random.Generator, *, max_bodies: int = 12, kinds: tuple[str, ...] = JOINT_KINDS, wet: bool = True
) -> Model:
    """A random forest: all joint types, branching, several roots, tilted bases, random initial state.

    Args:
        rng: Source of the numbers.
        max_bodies: Largest number of bodies.
        kinds: Joint types to draw from; a root is free or one of these.
        wet: Whether bodies have full added mass, buoyancy and strip drag.
    """
    bodies: list[Body] = []
    n = int(rng.integers(1, max_bodies + 1))
    for i in range(n):
        parent = None if i == 0 or rng.random() < 0.08 else bodies[int(rng.integers(max(0, i - 4), i))].name
        kind = "free" if parent is None and "free" in kinds and rng.random() < 0.7 else str(rng.choice(kinds))
        if i == n - 1 and kind == "fixed" and not any(b.joint.nv for b in bodies):
            kind = "revolute"
        bodies.append(
            Body(
                name=f"body{i}",
                parent=parent,
                joint=_random_joint(rng, kind),
                inertia=_random_inertia(rng),
                hydro=_random_hydro(rng) if wet else None,
                frames=(Frame(f"frame{i}", Origin(_three(rng.uniform(-1, 1, 3)), _three(rng.uniform(-3, 3, 3)))),),
            )
        )
    ned = str(rng.choice(["NED", "ENU"])) == "NED"
    world = World(axes="NED" if ned else "ENU", gravity=rng.uniform(5, 12), water_density=rng.uniform(900, 1100))
    return Model(name="random_tree", bodies=tuple(bodies), world=world)
