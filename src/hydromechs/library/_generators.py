"""Generated mechanisms: a swimming snake, an umbilical, and mechanisms with random parameters for tests and benchmarks."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.geometry import Capsule, Cylinder, Sphere
from hydromechs.model import (
    Body,
    BodyShape,
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
from hydromechs.values import Array, not_negative, positive, whole

ALONG_X = Origin((0.0, 0.0, 0.0), (0.0, math.pi / 2, 0.0))
"""Frame whose z axis is the x axis of the body."""
END = 0.2
"""Drag coefficient of both round ends of a snake together, on the area π·radius² [-]."""
ESTIMATED = "estimated: a solid cylinder; added mass and strip drag of cylinders, drag coefficient 1.1"


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _random_inertia(rng: np.random.Generator) -> Inertia:
    """Return a random physically possible inertia, of eight point masses in a box, with an offset centre of mass."""
    masses = rng.uniform(0.2, 1.5, 8)
    points = rng.uniform(-0.4, 0.4, (8, 3)) + rng.uniform(-0.2, 0.2, 3)
    com = masses @ points / masses.sum()
    d = points - com
    tensor = (masses * (d**2).sum(1)).sum() * np.eye(3) - (d.T * masses) @ d
    xx, yy, zz = np.diag(tensor)
    return Inertia(mass=masses.sum(), com=_three(com), tensor=(xx, yy, zz, tensor[0, 1], tensor[0, 2], tensor[1, 2]))


def _random_hydro(rng: np.random.Generator) -> Hydro:
    """Return random hydrodynamics: full added mass, buoyancy with an offset centre, and strip drag of a cylinder along x."""
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
    """Return links with random MDH parameters and revolute joints; the first link optionally uses branch parameters."""
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
    """Return a chain of `n` revolute links with random parameters on a vehicle or on the world.

    `n`: number of links; `base`: "free" for a chain on a vehicle, whose frame is at the first joint as in the papers, or
    "fixed" for a chain on the world; `wet`: True if all bodies have full added mass, buoyancy and strip drag; `seed`:
    random seed.
    """
    if base not in ("free", "fixed"):
        raise ValueError(f"base is {base!r}, must be 'free' or 'fixed'")
    rng = np.random.default_rng(seed)
    root = [_vehicle(rng, wet)] if base == "free" else []
    bodies = [*root, *_chain(rng, n, root[0].name if root else None, "link", wet, branch=False)]
    return Model(name=f"chain_{n}_{base}_{'wet' if wet else 'dry'}", bodies=tuple(bodies))


def star(m: int, n: int, *, wet: bool = True, seed: int = 1) -> Model:
    """Return a vehicle with `m` chains of `n` revolute links each, such as a walker or a vehicle with arms.

    Branch parameters place the chains.

    `m`: number of chains; `n`: links per chain; `wet`: True if all bodies have full added mass, buoyancy and strip drag;
    `seed`: random seed.
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
            while True:  # until its motions differ clearly, because joints with nearly equal motions are unrealistic
                joint = joints.Composite(
                    parts=tuple(_random_joint(rng, str(rng.choice(["revolute", "prismatic"]))) for _ in range(n))
                )
                steps = joint.steps(0, 0)
                S = motion_subspace(steps, [transformation(s, joint.initial_q) for s in steps], joint.initial_q)
                if np.linalg.cond(S) < 8.0:
                    return joint
    axis = (0.0, 0.0, 1.0)
    if isinstance(placement, Origin):  # along a coordinate axis or in a general direction
        axis = _three(rng.normal(size=3) if rng.random() < 0.5 else rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)])
    kind_of = joints.Revolute if kind == "revolute" else joints.Prismatic
    return kind_of(placement=placement, axis=axis, position=rng.uniform(-2, 2), velocity=rng.normal())


JOINT_KINDS = ("revolute", "prismatic", "ball", "fixed", "free", "composite")


def random_tree(
    rng: np.random.Generator, *, max_bodies: int = 12, kinds: tuple[str, ...] = JOINT_KINDS, wet: bool = True
) -> Model:
    """Return a random forest: all joint types, branching, several roots, tilted bases, random initial state.

    `rng`: random number generator; `max_bodies`: maximum number of bodies; `kinds`: joint types of bodies, and of roots
    that are not free; `wet`: True if bodies have full added mass, buoyancy and strip drag.
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


def _cylinder(mass: float, radius: float, length: float) -> Inertia:
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return Inertia(mass=mass, com=(0.5 * length, 0.0, 0.0), tensor=(0.5 * mass * radius**2, across, across, 0.0, 0.0, 0.0))


def _water(radius: float, length: float, coefficient: float, end_coefficient: float | None = None) -> Hydro:
    rod = Cylinder.along("x", 0.0, length, radius=radius)
    return Hydro(
        volume=math.pi * radius**2 * length,
        buoyancy_center=(0.5 * length, 0.0, 0.0),
        added_mass=(added_mass.ShapeAddedMass(shape=rod),),
        drag=(drag.ShapeDrag(shape=rod, coefficient=coefficient, end_coefficient=end_coefficient),),
    )


def snake(
    n: int,
    *,
    length: float = 0.3,
    radius: float = 0.05,
    relative_density: float = 1.0,
    axes: str = "zy",
    friction: float = 0.03,
) -> Model:
    """Return a swimming snake: `n` equal modules in a row, with joint axes alternating between z and y.

    World axes are NED. The first module, the head, is free. All parameters are estimates. The head points along −x, so that
    the other modules follow along x; frames "head" and "tail" are the ends of the snake. Joint limits are ±90°. Across the
    snake, modules have the strip drag of cylinders. Along the snake, they have skin friction; head and tail have one face
    each with a drag coefficient of 0.2, typical of round ends.

    Args:
        n: Number of modules, named "module1" (the head) to "module<n>".
        length: Length of a module [m].
        radius: Radius of a module [m].
        relative_density: Mass of a module divided by the mass of the displaced water [-].
        axes: Sequence of joint axes, "y" and "z", repeated along the snake; "z" for a snake that bends only sideways.
        friction: Skin friction coefficient along a module, on wetted area [-]; 0.03 after Kelasidi et al. (2014).
    """
    n = whole(n, "n", least=1)
    if not axes or set(axes) - set("yz"):
        raise ValueError(f"axes is {axes!r}, must consist of 'y' and 'z', such as 'zy'")
    friction = not_negative(friction, "friction")
    length, radius = positive(length, "length"), positive(radius, "radius")
    world = World(axes="NED")
    mass = positive(relative_density, "relative_density") * world.water_density * math.pi * radius**2 * length
    middle = Origin((0.5 * length, 0.0, 0.0), ALONG_X.rpy)
    core = BodyShape(
        name="core",
        shape=Capsule(radius=radius, length=max(length - 2.0 * radius, 0.1 * radius)),
        origin=middle,
        roles=("contact", "wetting"),
    )
    drawn: dict[str, Any] = {"origin": middle, "roles": ("appearance",)}
    capsule = Capsule(radius=radius, length=max(length - 2.6 * radius, 0.1 * radius))
    tube = BodyShape(name="tube", shape=capsule, color=(0.95, 0.75, 0.12), **drawn)
    ring = BodyShape(
        name="ring", shape=Cylinder(radius=round(1.03 * radius, 6), length=round(0.3 * radius, 6)), style="frame", **drawn
    )
    water = _water(radius, length, 1.1, 0.0)
    bodies: list[Body] = []
    for k in range(n):
        joint: joints.Joint = joints.Free()
        shapes: tuple[BodyShape, ...] = (core, tube, ring)
        if k:
            about_z = axes[(k - 1) % len(axes)] == "z"
            axis = (0.0, 0.0, 1.0) if about_z else (0.0, 1.0, 0.0)
            turned = Origin() if about_z else Origin((0.0, 0.0, 0.0), (math.pi / 2, 0.0, 0.0))
            joint = joints.Revolute(
                placement=Origin((length, 0.0, 0.0)), axis=axis, limits=(-math.pi / 2, math.pi / 2), damping=0.05
            )
            hinge = Cylinder(radius=0.6 * radius, length=1.7 * radius)
            shapes += (BodyShape(name="hinge", shape=hinge, origin=turned, roles=("appearance",), style="joint"),)
        else:
            eye, place = Sphere(radius=round(0.8 * radius, 6)), Origin((round(0.35 * radius, 6), 0.0, 0.0))
            shapes += (BodyShape(name="eye", shape=eye, origin=place, roles=("appearance",), style="glass"),)
        along = 2.0 * math.pi * radius * length * friction  # m², wetted area times coefficient, and that of the ends
        along += 0.5 * END * math.pi * radius**2 * ((k == 0) + (k == n - 1))
        along_x = drag.Damping(quadratic=(0.5 * world.water_density * along, 0.0, 0.0, 0.0, 0.0, 0.0))  # N·s²/m²
        frames = [Frame("head", Origin())] if k == 0 else []
        frames += [Frame("tail", Origin((length, 0.0, 0.0)))] if k == n - 1 else []
        bodies.append(
            Body(
                name=f"module{k + 1}",
                parent=bodies[-1].name if bodies else None,
                joint=joint,
                inertia=_cylinder(mass, radius, length),
                hydro=replace(water, drag=(*water.drag, along_x)),
                frames=tuple(frames),
                shapes=shapes,
            )
        )
    return Model(name=f"snake_{n}", world=world, bodies=tuple(bodies), sources=(("everything", ESTIMATED),))


def umbilical(
    n: int,
    *,
    length: float = 100.0,
    diameter: float = 0.02,
    mass_per_length: float = 0.4,
    coefficient: float = 1.1,
    bending_stiffness: float = 2.0,
    torsion_stiffness: float = 1.0,
    damping: float = 0.002,
) -> Model:
    """Return a hanging umbilical: `n` equal straight segments on ball joints, with the first segment on the world.

    World axes are NED; the umbilical hangs vertically at zero joint positions. It has weight, buoyancy, added mass, strip drag,
    and stiffness in bending and torsion. Springs in the joints have stiffness EI n/length and GJ n/length; the first joint has
    twice this stiffness, because it represents half a segment up to the clamped end. The umbilical does not stretch. Frame
    "end" is the lower end.

    Args:
        n: Number of segments, named "segment1" (the uppermost) to "segment<n>".
        length: Total length [m].
        diameter: Outer diameter [m].
        mass_per_length: Mass in air [kg/m].
        coefficient: Drag coefficient across the umbilical [-].
        bending_stiffness: Bending stiffness EI [N·m²]; 0 for none.
        torsion_stiffness: Torsional stiffness GJ [N·m²]; 0 for none.
        damping: Damping moment per rate of curvature and of twist per length [N·m²·s].
    """
    n = whole(n, "n", least=1)
    length, radius = positive(length, "length"), 0.5 * positive(diameter, "diameter")
    EI, GJ = not_negative(bending_stiffness, "bending_stiffness"), not_negative(torsion_stiffness, "torsion_stiffness")
    damping = not_negative(damping, "damping")
    part = length / n
    middle = Origin((0.5 * part, 0.0, 0.0), ALONG_X.rpy)
    line = Capsule(radius=radius, length=part)
    tube = BodyShape(name="tube", shape=line, origin=middle, roles=("appearance",), color=(0.95, 0.45, 0.10))
    bodies: list[Body] = []
    for k in range(n):
        placement = Origin((part, 0.0, 0.0)) if k else Origin((0.0, 0.0, 0.0), (0.0, -math.pi / 2, 0.0))
        per = 1.0 / part if k else 2.0 / part
        spring = joints.Ball(placement=placement, stiffness=(GJ * per, EI * per, EI * per), damping=damping * per)
        bodies.append(
            Body(
                name=f"segment{k + 1}",
                parent=bodies[-1].name if bodies else None,
                joint=spring,
                inertia=_cylinder(positive(mass_per_length, "mass_per_length") * part, radius, part),
                hydro=_water(radius, part, coefficient),
                frames=(Frame("end", Origin((part, 0.0, 0.0))),) if k == n - 1 else (),
                shapes=(tube,),
            )
        )
    return Model(name=f"umbilical_{n}", world=World(axes="NED"), bodies=tuple(bodies), sources=(("hydro", ESTIMATED),))
