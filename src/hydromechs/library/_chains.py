"""Generated chains that are machines: a swimming snake of n modules, an umbilical of n segments."""

import math
from dataclasses import replace
from typing import Any

from hydromechs.geometry import Capsule, Cylinder, Origin, Sphere
from hydromechs.model import Body, BodyShape, Frame, Hydro, Inertia, Model, World, added_mass, drag, joints
from hydromechs.values import not_negative, positive, whole

ALONG_X = Origin((0.0, 0.0, 0.0), (0.0, math.pi / 2, 0.0))
"""A frame whose z axis is x of the body."""
END = 0.2
"""Drag coefficient of a snake's round ends together, on the area π·radius² [-]."""
ESTIMATED = "estimated: a solid cylinder; added mass and strip drag of cylinders, drag coefficient 1.1"


def _cylinder(mass: float, radius: float, length: float) -> Inertia:
    """Solid cylinder on x, from the origin on."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return Inertia(mass=mass, com=(0.5 * length, 0.0, 0.0), tensor=(0.5 * mass * radius**2, across, across, 0.0, 0.0, 0.0))


def _water(radius: float, length: float, coefficient: float, end_coefficient: float | None = None) -> Hydro:
    """Of a cylinder on x, from the origin on."""
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
    """A swimming snake: `n` equal modules in a row, joined about z and y in turn. World NED; the first, the head, is free.

    All of it is an estimate. The head looks along −x, so that the other modules follow along x; frames "head" and "tail" are
    its ends. Joints stop at 90°. Across, modules have the strip drag of cylinders; along, skin friction, and head and tail a
    face each, with a drag coefficient of 0.2 as of round ends.

    Args:
        n: Number of modules, named "module1" (the head) to "module<n>".
        length: Of a module [m].
        radius: Of a module [m].
        relative_density: Mass of a module over that of the water it displaces [-].
        axes: Axes that joints turn about in turn, of "y" and "z"; "z" for a snake that bends sideways only.
        friction: Drag coefficient along a module on its wetted area [-] (0.03 after Kelasidi et al. 2014).
    """
    n = whole(n, "n", least=1)
    if not axes or set(axes) - set("yz"):
        raise ValueError(f"axes is {axes!r}, must be made of 'y' and 'z', as 'zy'")
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
    """A hanging umbilical: `n` equal straight segments on ball joints, the first on the world. World NED; it hangs at zero.

    It has weight, buoyancy, added mass, strip drag, and stiffness in bending and torsion: springs EI n/length and GJ n/length
    in the joints, twice that in the first, which stands for half a segment up to the end that is clamped. It does not stretch.
    Frame "end" is its lower end.

    Args:
        n: Number of segments, named "segment1" (the upper one) to "segment<n>".
        length: Of all of it [m].
        diameter: Outer diameter [m].
        mass_per_length: Mass in air [kg/m].
        coefficient: Drag coefficient across [-].
        bending_stiffness: EI [N·m²]; 0 for none.
        torsion_stiffness: GJ [N·m²]; 0 for none.
        damping: Moment per rate of curvature and of twist [N·m²·s].
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
