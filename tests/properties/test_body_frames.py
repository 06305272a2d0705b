"""Frame invariance: the same machine described in other body frames feels the same forces and moves alike.

Every body frame is moved and turned at random, and all that refers to it is expressed again. Wrenches, accelerations, rates of
internal states, powers and energies of the same instant must agree to 1e-9 of the largest of their kind; trajectories to the
order of the integrator. `ELEMENTS` and `COMPONENTS` are tables of every force of the package: add a row for a new one.
"""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import actuation, contact, geometry, hydro, lines
from hydromechs.actuation import drives
from hydromechs.contact import Terrain
from hydromechs.contact._touching import Touching
from hydromechs.hydro import Current, DepthTable, Environment, FreeSurface, Gusts, JonswapSea, PowerLaw, RegularWave
from hydromechs.model import component
from hydromechs.simulation import Plant, components_of, evaluate
from hydromechs.simulation._initial_instant import InitialInstant
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix, tensor_matrix

T = 0.83
"""Time of the instant that is compared [s]."""
TOLERANCE = 1e-9

# -- the same machine in other frames -----------------------------------------------------------------------------------------


class Pose:
    """A frame at p with the axes R."""

    def __init__(self, R=None, p=(0.0, 0.0, 0.0)):
        self.R, self.p = np.eye(3) if R is None else np.array(R), np.array(p, dtype=float)

    def __matmul__(self, other):
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    @property
    def inverse(self):
        return Pose(self.R.T, -self.R.T @ self.p)

    def motion(self, V):
        """A motion or its rate about the old frame, about this one."""
        return np.concatenate([self.R.T @ (V[:3] + np.cross(V[3:], self.p)), self.R.T @ V[3:]])

    def wrench(self, F):
        """A wrench about the old frame, about this one."""
        return np.concatenate([self.R.T @ F[:3], self.R.T @ (F[3:] - np.cross(self.p, F[:3]))])


def pose_of(origin):
    return Pose(origin.R, origin.xyz)


def origin_of(pose):
    return hm.Origin(tuple(pose.p.tolist()), tuple(np.asarray(rpy_from_matrix(pose.R)).tolist()))


def random_poses(model, seed):
    """A new frame on each body: anywhere, but on the axis of a hinge and at the centre of a ball joint."""
    rng = np.random.default_rng(seed)
    out = []
    for body in model.bodies:
        p = rng.uniform(-0.6, 0.6, 3)
        if isinstance(body.joint, hm.joints.Revolute):
            axis = np.array(body.joint.axis) / np.linalg.norm(body.joint.axis)
            p = rng.uniform(-0.6, 0.6) * axis
        if isinstance(body.joint, hm.joints.Ball):
            p = np.zeros(3)
        out.append(Pose(matrix_from_rpy(rng.uniform(-3.0, 3.0, 3)), p))
    return out


def element_in(element, X):
    """An element of added mass or drag, a shape or a frame, seen from the frame X."""
    back = X.inverse
    changes = {}
    if hasattr(element, "origin"):
        changes["origin"] = origin_of(back @ pose_of(element.origin))
    if isinstance(getattr(element, "shape", None), hm.geometry.Placed):
        changes["shape"] = element_in(element.shape, X)
    names = {f.name for f in fields(element)}
    for name in {"start", "end", "center", "position"} & names:
        changes[name] = tuple((back.p + back.R @ np.array(getattr(element, name))).tolist())
    for name in {"chord", "normal", "axis"} & names:
        changes[name] = tuple((back.R @ np.array(getattr(element, name))).tolist())
    return replace(element, **changes)


def body_in(body, X, above):
    """A body in its new frame X, on a parent whose new frame is `above`."""
    inertia = body.inertia
    tensor = X.R.T @ tensor_matrix(inertia.tensor) @ X.R
    rows = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
    com = X.inverse.p + X.inverse.R @ np.array(inertia.com)
    water = body.hydro
    if water is not None:
        center = X.inverse.p + X.inverse.R @ np.array(water.buoyancy_center)
        water = replace(
            water,
            buoyancy_center=tuple(center.tolist()),
            added_mass=tuple(element_in(e, X) for e in water.added_mass),
            drag=tuple(element_in(e, X) for e in water.drag),
        )
    joint = body.joint
    placement = above.inverse @ pose_of(joint.placement)
    if isinstance(joint, hm.joints.Free):
        joint = replace(joint, placement=origin_of(placement))  # the state has the rest
    elif hasattr(joint, "axis"):  # T(q) X = X T'(q) with the axis seen from X
        joint = replace(joint, placement=origin_of(placement @ X), axis=tuple((X.R.T @ np.array(joint.axis)).tolist()))
    else:
        joint = replace(joint, placement=origin_of(placement @ X))
    return replace(
        body,
        joint=joint,
        inertia=hm.Inertia(mass=inertia.mass, com=tuple(com.tolist()), tensor=tuple(float(x) for x in rows)),
        hydro=water,
        frames=tuple(element_in(f, X) for f in body.frames),
        shapes=tuple(element_in(s, X) for s in body.shapes),
    )


def model_in(model, poses):
    at = dict(zip(model.body_names, poses, strict=True))
    bodies = [body_in(b, at[b.name], Pose() if b.parent is None else at[b.parent]) for b in model.bodies]
    return replace(model, bodies=tuple(bodies))


def state_in(model, poses, q, v):
    """Configuration and velocity in the new frames."""
    q, v = q.copy(), v.copy()
    for body, X, at_q, at_v in zip(model.bodies, poses, model.q_slices, model.v_slices, strict=True):
        if isinstance(body.joint, hm.joints.Free):
            here = Pose(quaternion_matrix(q[at_q][3:]), q[at_q][:3]) @ X
            q[at_q] = [*here.p, *quaternion_from_matrix(here.R)]
            v[at_v] = X.motion(v[at_v])
        elif isinstance(body.joint, hm.joints.Ball):
            q[at_q] = quaternion_from_matrix(X.R.T @ np.array(quaternion_matrix(q[at_q])) @ X.R)
            v[at_v] = X.R.T @ v[at_v]
    return q, v


# -- machines -----------------------------------------------------------------------------------------------------------------

B = 0.4 * np.random.default_rng(5).normal(size=(6, 6))
WEDGE = hm.geometry.Convex(
    points=((1.0, 0.0, 0.0), (1.8, 0.0, 0.0), (1.0, 0.5, 0.0), (1.8, 0.5, 0.0), (1.0, 0.2, 0.6), (1.8, 0.2, 0.6))
)
"""A solid far from the origin of its own axes, as in mesh files."""
MAP_ANGLES = (-np.pi, -1.0, 0.0, 0.5, np.pi), (-0.5 * np.pi, 0.0, 0.5 * np.pi)
MAP = tuple(
    tuple(
        (-np.cos(a) * np.cos(b), -1.2 * np.sin(b), -1.5 * np.sin(a) * np.cos(b), 0.01, 0.1 * a, 0.1 * b) for b in MAP_ANGLES[1]
    )
    for a in MAP_ANGLES[0]
)
"""Coefficients of drag in all directions, with some moments."""
ELEMENTS = {
    "drag cylinder": hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.between((0.1, -0.6, 0.2), (0.3, 1.4, -0.1), radius=0.1), coefficient=1.1),
    "drag box": hm.drag.ShapeDrag(shape=hm.geometry.Box(size=(0.9, 0.5, 0.3)).at((0.2, 0.1, -0.1), (0.3, 0.5, 0.2)), coefficient=(0.8, 1.0, 1.2)),
    "drag sphere": hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.2).at((0.3, -0.2, 0.1)), coefficient=0.5),
    "drag ellipsoid": hm.drag.ShapeDrag(shape=hm.geometry.Ellipsoid(axes=(0.6, 0.3, 0.2)).at((0.1, 0.2, 0.3), (0.4, 0.1, 0.2)), coefficient=(0.3, 0.7, 0.9)),
    "damping": hm.drag.Damping(
        linear=(5, 6, 7, 1, 2, 3),
        quadratic=tuple(map(tuple, (np.diag((20, 30, 40, 2, 3, 4)) + 0.3).tolist())),
        coupled=(("Y|r|v", 1.5), ("M|q|w", 0.4)),
        origin=hm.Origin((0.1, -0.1, 0.2), (0.1, 0.2, 0.3)),
    ),
    "foil": hm.drag.Foil(
        area=0.3, lift_slope=4.0, drag_parallel=0.02, drag_normal=1.1, position=(0.5, 0.1, -0.2), chord=(0.6, 0.8, 0.0), normal=(0.8, -0.6, 0.0)
    ),
    "drag surface": hm.drag.SurfaceDrag(shape=hm.geometry.Cylinder(radius=0.2, length=0.7).at((0.2, 0.1, -0.1), (0.3, 0.5, 0.2)), coefficient=1.1, sides=8),
    "drag surface off its origin": hm.drag.SurfaceDrag(shape=WEDGE.at((-0.7, 0.4, 0.3), (0.3, 0.5, 0.2)), coefficient=0.9),
    "drag map": hm.drag.CoefficientMap(
        alpha=MAP_ANGLES[0], beta=MAP_ANGLES[1], coefficients=MAP, area=0.4, length=1.2, origin=hm.Origin((0.2, -0.1, 0.1), (0.4, 0.1, 0.9))
    ),
    "potential damping": hm.drag.PotentialDamping(damping=tuple(map(tuple, (B @ B.T).tolist())), origin=hm.Origin((0.1, -0.2, 0.2), (0.2, 0.6, 0.3))),
    "skin friction": hm.drag.SkinFriction(wetted_area=2.0, length=1.5, axis=(0.6, 0.0, 0.8), position=(0.1, 0.2, -0.1)),
    "wave drift damping": hm.drag.WaveDriftDamping(drift=200.0, slope=30.0, frequency=0.9, amplitude=0.8, axis=(0.0, 0.6, 0.8), position=(0.2, 0.3, 0.1)),
    "vortex damping": hm.drag.VortexDamping(coefficient=1.1, height=0.3, length=2.0, axis=(0.6, 0.8, 0.0), normal=(0.8, -0.6, 0.0), position=(0.1, 0.2, 0.3)),
    "matrix": hm.added_mass.Matrix(tuple(map(tuple, (B @ B.T + np.diag((20, 30, 40, 1, 2, 3))).tolist())), hm.Origin((0.1, 0.2, 0.1), (0.2, 0.1, 0.4))),
    "diagonal": hm.added_mass.Diagonal((20, 30, 45, 1, 2, 3), hm.Origin((-0.1, 0.2, 0.1), (0.7, 0.1, 0.4))),
    "added sphere": hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.25).at((0.2, -0.1, 0.3))),
    "added ellipsoid": hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(0.7, 0.3, 0.2)).at((0.1, 0.1, 0.2), (0.3, 0.6, 0.1))),
    "added cylinder": hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0.1, -0.6, 0.2), (0.3, 1.4, -0.1), radius=0.1)),
    "added box": hm.added_mass.ShapeAddedMass(shape=hm.geometry.Box(size=(0.9, 0.5, 0.3)).at((0.2, 0.1, -0.1), (0.3, 0.5, 0.2))),
}  # fmt: skip
"""Every element of drag and added mass, one on each body."""
HULLS = (
    hm.geometry.Box(size=(1.2, 0.5, 0.4)).at((0.2, 0.1, 0.0), (0.2, 0.3, 0.4)),
    hm.geometry.Capsule(radius=0.15, length=1.5).at((0.0, 0.2, 0.1), (0.9, 0.2, 0.1)),
    hm.geometry.Cylinder(radius=0.1, length=4.0).at((0.1, 0.0, 0.2), (0.3, 0.8, 0.1)),
    hm.geometry.Sphere(radius=0.3).at((0.1, 0.2, -0.1)),
    hm.geometry.Box(size=(0.6, 0.6, 0.6)).at((0.2, 0.1, 0.0), (0.2, 0.3, 0.4)),
    hm.geometry.Box(size=(0.9, 0.9, 0.1)).at((0.2, 0.1, 0.0), (0.2, 0.3, 0.4)),
    hm.geometry.Cylinder(radius=0.5, length=0.1).at((0.1, 0.0, 0.2), (0.3, 0.8, 0.1)),
)
"""Hulls that are long, longer than the waves, round, and flat with two equal moments."""
INERTIA = hm.Inertia(mass=60.0, com=(0.1, 0.05, 0.1), tensor=(6.0, 8.0, 9.0, 0.3, -0.2, 0.1))


def element_bodies():
    """One free body for each element, and one for each hull without any."""
    out = []
    for k, (name, element) in enumerate(ELEMENTS.items()):
        kind = "added_mass" if type(element).__module__.endswith("added_mass") else "drag"
        water = hm.Hydro(volume=0.05, buoyancy_center=(0.15, 0.1, -0.05), **{kind: element})
        shapes = HULLS[k % len(HULLS) : k % len(HULLS) + 1]
        out.append(hm.Body(name=name, joint=hm.joints.Free(), inertia=INERTIA, hydro=water, shapes=shapes))
    for k, shape in enumerate(HULLS):
        water = hm.Hydro(volume=0.06, buoyancy_center=(0.1, 0.1, 0.0))
        out.append(hm.Body(name=f"hull {k}", joint=hm.joints.Free(), inertia=INERTIA, hydro=water, shapes=(shape,)))
    return hm.Model(name="elements", bodies=out)


def machine():
    """A vehicle with a hinged and a sliding link, a ball joint and a fixed tool, and a crate in its hand."""
    water = hm.Hydro(
        volume=0.05,
        buoyancy_center=(0.05, -0.1, -0.1),
        added_mass=(ELEMENTS["matrix"], ELEMENTS["added cylinder"]),
        drag=(ELEMENTS["damping"], ELEMENTS["drag box"]),
    )
    small = hm.Hydro(
        volume=0.004,
        buoyancy_center=(0.2, 0.0, 0.0),
        added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.along("x", 0.0, 0.5, radius=0.05)),
        drag=hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.along("x", 0.0, 0.5, radius=0.05), coefficient=1.0),
    )
    light = hm.Inertia(mass=5.0, com=(0.2, 0.01, 0.02), tensor=(0.05, 0.2, 0.2, 0.01, 0, 0))
    rod = (hm.geometry.Capsule(radius=0.05, length=0.4).at((0.25, 0, 0), (0, np.pi / 2, 0)),)
    bodies = [
        hm.Body(
            name="vehicle",
            joint=hm.joints.Free(),
            inertia=INERTIA,
            hydro=water,
            frames=(
                hm.Frame("port", hm.Origin((-0.4, -0.3, 0.1), (0.1, 0.2, 0.3))),
                hm.Frame("keel", hm.Origin((0.1, 0.1, 0.5), (0.3, 0.2, 0.1))),
            ),
            shapes=(HULLS[0],),
        ),
        hm.Body(
            name="arm",
            parent="vehicle",
            joint=hm.joints.Revolute(placement=hm.Origin((0.5, 0.1, 0.2), (0.2, 0.3, 0.4)), axis=(0.3, 1.0, 0.2), limits=(-0.2, 0.3)),
            inertia=light,
            hydro=small,
            shapes=rod,
        ),
        hm.Body(
            name="slide",
            parent="arm",
            joint=hm.joints.Prismatic(placement=hm.Origin((0.5, 0.0, 0.1), (0.1, 0.5, 0.2)), axis=(1.0, 0.2, 0.1)),
            inertia=light,
            hydro=small,
        ),
        hm.Body(
            name="tool",
            parent="slide",
            joint=hm.joints.Fixed(placement=hm.Origin((0.4, 0.1, 0.0), (0.3, 0.2, 0.9))),
            inertia=light,
            hydro=small,
            frames=(hm.Frame("hand", hm.Origin((0.3, 0.0, 0.1), (0.5, 0.1, 0.2))),),
            shapes=rod,
        ),
        hm.Body(
            name="tail",
            parent="vehicle",
            joint=hm.joints.Ball(placement=hm.Origin((-0.6, 0.0, 0.1), (0.2, 0.1, 0.3)), stiffness=(9.0, 9.0, 9.0), damping=0.3),
            inertia=light,
            hydro=small,
            shapes=rod,
        ),
        hm.Body(
            name="crate",
            joint=hm.joints.Free(),
            inertia=hm.Inertia(mass=20.0, com=(0.05, 0.1, 0.0), tensor=(1, 1.2, 1.4, 0.1, 0, 0)),
            hydro=hm.Hydro(volume=0.015, buoyancy_center=(0.0, 0.1, 0.05), added_mass=ELEMENTS["diagonal"], drag=ELEMENTS["drag sphere"]),
            frames=(hm.Frame("handle", hm.Origin((0.1, 0.2, 0.3), (0.2, 0.4, 0.1))),),
            shapes=(hm.geometry.Sphere(radius=0.3).at((0.1, 0.1, 0.0)),),
        ),
    ]  # fmt: skip
    return hm.Model(name="machine", bodies=bodies)


ENVIRONMENTS = {
    "still": Environment(),
    "current and gusts": Environment(current=Current(velocity=(0.4, -0.2, 0.1)), gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=5.0, interval=0.5)),
    "power law": Environment(current=Current(times=(0.0, 5.0), velocities=((0.4, 0.1, 0.0), (0.8, -0.2, 0.1)), profile=PowerLaw(depth=9.0))),
    "table over depth": Environment(current=Current(velocity=(0.5, 0.2, 0.05), profile=DepthTable(depths=(0.0, 2.1, 7.0), factors=(1.0, 0.6, 0.2)))),
    "waves": Environment(waves=[RegularWave(height=0.6, period=3.0, direction=0.4), RegularWave(height=0.2, period=2.0, direction=-1.0)]),
    "sea over a bed": Environment(waves=[JonswapSea(significant_height=0.5, peak_period=4.0, components=6)], water_depth=9.0, current=Current(velocity=(0.3, 0.0, 0.0))),
    "level surface": Environment(surface=FreeSurface()),
    "shear below a level surface": Environment(current=Current(velocity=(0.5, 0.2, 0.0), profile=PowerLaw(depth=9.0)), surface=FreeSurface()),
    "waves on the surface": Environment(waves=[RegularWave(height=0.4, period=3.0, direction=0.4), RegularWave(height=0.1, period=2.0)], surface=FreeSurface()),
}  # fmt: skip
"""Every motion of the water."""


def internal_in(plant, poses, z):
    """Internal states in the new frames: the deflection of a contact between bodies is in axes of the second."""
    z = z.copy()
    for c, places in zip(plant.components, plant.layout.z, strict=True):
        if isinstance(c, contact.Pair) and not isinstance(c, contact.ConvexPair) and c.other is not None:
            at = list(places.values())
            z[at] = poses[c.other].R.T @ z[at]
    return z


def instant(plant, q, v, poses=None, wrench=None):
    """One instant of a plant in floats; internal states and commands at random but the same each time."""
    layout, rng = plant.layout, np.random.default_rng(0)
    now = InitialInstant(plant, T, q, v, {})
    states = layout.start(layout.state_slots, now)
    z = np.concatenate([states + 0.01 * rng.normal(size=len(states)), np.zeros(len(layout.causes))])
    z = z if poses is None else internal_in(plant, poses, z)
    given = layout.start(layout.input_slots, now)
    for k, slot in enumerate(layout.input_slots):
        given[k] = given[k] if slot.setting else given[k] + rng.normal()
    if wrench is not None:
        given[-6:] = wrench
    data, _ = plant.data(hydro.UniformFlow(plant.environment, plant.seed), T, {})
    return evaluate(plant, T, q, v, z, np.concatenate([given, data]))


def same(what, names, got, expected, large=0.0):
    """Rows of bodies agree to `TOLERANCE` of the largest of their kind, or of 1e-6 of what is large beside it."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    for k, part in ((slice(0, 3), "linear"), (slice(3, 6), "angular")):
        scale = max(np.abs(expected[:, k]).max(initial=0.0), 1e-3 * np.abs(expected).max(initial=0.0), 1e-6 * large, 1e-12)
        off = np.abs(got[:, k] - expected[:, k]).max(axis=1) / scale
        worst = int(np.argmax(off))
        assert off[worst] <= TOLERANCE, f"{what} of {names[worst]!r} ({part}) depends on its frame: {off[worst]:.2e}"


def compare(model, poses, old, new, plant):
    """All that holds in an instant."""
    old = old._replace(zdot=internal_in(plant, poses, np.asarray(old.zdot, dtype=float)))
    names = model.body_names
    large = max(np.abs(np.asarray(F, dtype=float)).max() for F in old.forces.values())
    for label, F in old.forces.items():
        same(label, names, new.forces[label], [X.wrench(f) for X, f in zip(poses, F, strict=True)], large)
    pulled = [X.wrench(f) for X, f in zip(poses, old.constraint_wrench, strict=True)]
    same("constraint", names, new.constraint_wrench, pulled, large)
    same("acceleration", names, new.acceleration, [X.motion(a) for X, a in zip(poses, old.acceleration, strict=True)])
    np.testing.assert_allclose(new.fluid_velocity, old.fluid_velocity, rtol=0, atol=TOLERANCE)
    for name in ("zdot", "elastic_energy", "kinetic_energy_body", "kinetic_energy_fluid", "potential_energy"):
        x, y = np.asarray(getattr(new, name), dtype=float), np.asarray(getattr(old, name), dtype=float)
        np.testing.assert_allclose(x, y, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, np.abs(y).max(initial=0.0)), err_msg=name)


def random_state(model, seed, depth):
    """A configuration around a depth, and a velocity."""
    rng = np.random.default_rng(seed)
    q, v = model.initial().q.copy(), 0.6 * rng.normal(size=model.nv)
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        if isinstance(body.joint, hm.joints.Free | hm.joints.Ball):
            turn = rng.normal(size=4)
            q[at][-4:] = turn / np.linalg.norm(turn)
        if isinstance(body.joint, hm.joints.Free):
            q[at][:3] = [*rng.uniform(-4.0, 4.0, 2), depth + rng.uniform(-0.3, 0.3)]
        elif len(q[at]) == 1:
            q[at] = rng.uniform(-0.4, 0.4)
    return q, v


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_elements_of_water(name, seed):
    """Every element and hull in every water: forces, moments, accelerations and powers of an instant."""
    environment, model = ENVIRONMENTS[name], element_bodies()
    poses = random_poses(model, seed)
    other = model_in(model, poses)
    q, v = random_state(model, seed, 0.1 if environment.surface is not None else 3.0)
    old = instant(Plant(model=model, environment=environment), q, v)
    plant = Plant(model=other, environment=environment)
    new = instant(plant, *state_in(model, poses, q, v), poses)
    compare(model, poses, old, new, plant)
    if environment.surface is not None:
        from_water = np.abs(np.asarray(old.forces["buoyancy"], dtype=float)[:, :3]).max(axis=1)
        assert (from_water > 1e-3).sum() >= len(model.bodies) // 2  # many are wet


def test_axes_of_a_solid_do_not_matter():
    """Surface drag of the same wedge, described by points in other axes: meshes come with any origin."""
    environment, back = ENVIRONMENTS["waves"], Pose(matrix_from_rpy((0.4, -1.0, 2.0)), (2.0, -1.0, 0.5))
    forces = []
    for X in (Pose(), back):
        points = tuple(tuple((X.inverse.p + X.inverse.R @ np.array(p)).tolist()) for p in WEDGE.points)
        solid = hm.geometry.Placed(shape=hm.geometry.Convex(points=points), origin=origin_of(Pose(p=(-0.7, 0.4, 0.3)) @ X))
        water = hm.Hydro(
            volume=0.05,
            buoyancy_center=(0.1, 0.2, 0.0),
            drag=hm.drag.SurfaceDrag(shape=solid, coefficient=0.9, reference="wetted"),
        )
        model = hm.Model(bodies=[hm.Body(name="hull", joint=hm.joints.Free(), inertia=INERTIA, hydro=water)])
        now = instant(Plant(model=model, environment=environment), *random_state(model, 1, 2.0))
        forces.append(np.asarray(now.forces["drag"], dtype=float))
    same("drag", ["hull"], forces[1], forces[0])


# -- the forces on a machine ---------------------------------------------------------------------------------------------------

MATERIAL = contact.Material(
    law=contact.NonlinearContact(stiffness=3e4, damping_factor=0.4),
    friction=contact.DryFriction(static=0.8, kinetic=0.5, stiffness=1e4, damping=30.0),
)
WALL = Terrain(name="wall", material=MATERIAL, shape=geometry.Plane.through((0.2, 0.0, 0.0), (-1.0, 0.2, 0.1)))
CABLE = lines.Cable(diameter=0.02, mass=0.6, axial_stiffness=2e4, axial_damping=50.0, bending_stiffness=1.0)
TOP = lines.SwayingPoint(position=(1.0, 0.5, -4.0), amplitude=(0.1, 0.0, 0.3), ramp=0.0)
COMPONENTS = {
    "thruster": dict(components=[actuation.Thruster(name="port", frame="port", curve=actuation.linear_curve(60.0, 45.0), time_constant=0.2, zero_thrust_speed=3.0, radius=0.2)]),
    "servo": dict(components=[drives.Servo(joint="arm", stiffness=80.0, damping=5.0)]),
    "torque": dict(components=[drives.Torque(joint="slide", limit=50.0)]),
    "motor with a rotor": dict(components=[drives.Motor(joint="arm", resistance=1.2, torque_constant=0.05, gear_ratio=60.0, inductance=0.05, rotor_inertia=1e-4, voltage_limit=24.0)]),
    "hydraulic drive": dict(components=[drives.Hydraulic(joint="arm", supply_pressure=10e6, displacement=2e-5, flow_coefficient=5e-9, bulk_modulus=8e7, chamber_volume=1e-4, spool_time_constant=0.02)]),
    "friction": dict(components=[drives.JointFriction(joint="arm", viscous=2.0, coulomb=3.0)]),
    "stops": dict(components=[drives.JointStops(joint="arm", lower=-0.05, upper=0.05, stiffness=500.0, damping=10.0)]),
    "spring": dict(components=[actuation.JointSpring(joints=("slide",), stiffness=300.0, rest=0.1)]),
    "elastic ball joint": dict(),
    "rotor": dict(components=[actuation.JointRotor(joint="arm", inertia=0.7)]),
    "given motion": dict(components=[hm.actuation.JointMotion(joint="arm", motion=actuation.motions.Sine(amplitude=0.3, period=4.0))]),
    "external wrench": dict(components=[hm.actuation.ExternalWrench(body="tool")]),
    "contact with terrain": dict(components=[WALL, hm.contact.PointContact(frame="keel"), hm.contact.PointContact(frame="hand")]),
    "contact of convex solids": dict(components=[hm.contact.BodyContact(bodies=("vehicle", "tool"), material=MATERIAL), Terrain(name="block", material=MATERIAL, shape=geometry.Box(size=(200.0, 200.0, 200.0)))]),
    "contact of bodies": dict(components=[hm.contact.CollisionGroup(bodies=("vehicle", "tool", "crate"), material=MATERIAL), hm.contact.ContactExclusion(bodies=("vehicle", "tool"))]),
    "grasp": dict(components=[contact.Grasp(name="hold", holder="hand", held="handle", tolerance=1e6)]),
    "hinge as a grasp": dict(components=[contact.Grasp(name="hold", holder="hand", held="handle", free=("rz",), tolerance=1e6)]),
    "loop": dict(loops=[hm.Loop(name="hold", holder="hand", held="handle", tolerance=1e6)]),
    "universal joint as a loop": dict(loops=[hm.Loop(name="hold", holder="hand", held="handle", free=("rx", "ry"), tolerance=1e6)]),
    "coupling": dict(loops=[hm.model.Coupling(name="gear", joint="slide", of="arm", coefficients=(0.1, 0.4, 0.2), tolerance=1e6)]),
    "grip": dict(components=[contact.Grip(name="grip", holder="hand", held="handle", stiffness=(900.0,) * 3, damping=(30.0,) * 3, turning_stiffness=(9.0, 5.0, 7.0), turning_damping=(1.0,) * 3, reach=20.0, closed=True)]),
    "tether": dict(components=[lines.Tether(name="tether", frame="keel", top=TOP, cable=CABLE, length=12.0, segments=5)]),
    "tether between bodies": dict(components=[lines.Tether(name="tether", frame="handle", top=lines.FramePoint(name="port"), cable=CABLE, length=12.0, segments=4)]),
    "hanging line": dict(components=[lines.HangingLine(name="line", frame="keel", top=TOP, cable=CABLE, length=12.0)]),
    "lifted line": dict(components=[lines.LiftedLine(name="line", body="vehicle", weight=3.0, place=(-0.3, 0.2, 0.4), height=-4.0)]),
}  # fmt: skip
"""Every component: arguments of `components_of`, and loops of the model."""
STOPS = drives.JointStops(joint="arm", lower=-0.2, upper=0.3, stiffness=500.0, damping=10.0)
"""In models with loops: default stops follow from the inertia in the nearest closed state, which depends on the frames."""
MACHINE_WATER = {
    "waves": ENVIRONMENTS["waves"],
    "waves on the surface": ENVIRONMENTS["waves on the surface"],
    "current and gusts": ENVIRONMENTS["current and gusts"],
}


def machine_of(name):
    """The machine with the loops of a row of the table."""
    return replace(machine(), loops=tuple(COMPONENTS[name].get("loops", ())))


def built(model, name, poses=None):
    """Components of a row of the table on a model, what refers to body frames in the new ones."""
    given = dict(COMPONENTS[name])
    if poses is not None and name == "lifted line":
        (line,) = given["components"]
        X = poses[model.body_index(line.body)].inverse
        given["components"] = [replace(line, place=tuple((X.p + X.R @ np.array(line.place)).tolist()))]
    return components_of(model, given.get("components", (STOPS,) if model.loops else ()))


@pytest.mark.parametrize("water", MACHINE_WATER)
@pytest.mark.parametrize("name", COMPONENTS)
def test_components(name, water):
    """Every component on a machine with all kinds of joints."""
    environment, model, seed = MACHINE_WATER[water], machine_of(name), 3
    poses = random_poses(model, seed)
    other = model_in(model, poses)
    q, v = random_state(model, seed, 0.3 if environment.surface is not None else 2.6)
    crate, vehicle = (model.q_slices[model.body_index(x)] for x in ("crate", "vehicle"))
    q[vehicle][:2] = 0.0
    q[crate][:3] = q[vehicle][:3] + np.array([0.1, 0.2, 0.1])
    wrench = np.array([10.0, -20.0, 5.0, 3.0, 2.0, -1.0]) if name == "external wrench" else None
    turned = None if wrench is None else poses[model.body_index("tool")].wrench(wrench)
    old = instant(Plant(model=model, environment=environment, components=built(model, name)), q, v, wrench=wrench)
    plant = Plant(model=other, environment=environment, components=built(other, name, poses))
    new = instant(plant, *state_in(model, poses, q, v), poses, wrench=turned)
    compare(model, poses, old, new, plant)
    acting = built(model, name)
    labels = {c.label for c in acting if c.label in old.forces}
    if labels:  # the row of the table does something
        assert max(np.abs(np.asarray(old.forces[label], dtype=float)).max() for label in labels) > 1e-3, labels


def test_the_table_has_every_component():
    """All classes of components of the package but what third-party engines use are in the table."""
    for name in ("actuation", "contact", "lines"):
        __import__(f"hydromechs.{name}")
    found, left = set(), list(component.Component.__subclasses__())
    while left:
        cls = left.pop()
        if issubclass(cls, Terrain | Touching):  # contacts act in their place
            continue
        left += cls.__subclasses__()
        if cls.__module__.split(".")[:2] in (["hydromechs", "actuation"], ["hydromechs", "contact"], ["hydromechs", "lines"]):
            found.add(cls.__name__)
    used = {type(c).__name__ for name in COMPONENTS for c in built(machine_of(name), name)}
    assert found - {"InJoint", "InJoints", "Drive"} <= used, sorted(found - used)


def test_the_table_has_every_element():
    """All elements of drag and added mass are in the table."""
    wanted = {*hm.drag.TYPES.values(), *(getattr(hm.added_mass, name) for name in hm.added_mass.__all__)}
    assert wanted <= {type(e) for e in ELEMENTS.values()}


def test_trajectories_converge_at_the_order_of_the_integrator():
    """A vehicle and its arm in waves at the surface: paths of two descriptions differ by the error of integration, h⁴."""
    environment, model, seed = ENVIRONMENTS["waves on the surface"], machine(), 3
    model = replace(model, bodies=tuple(b for b in model.bodies if b.name in ("vehicle", "arm")))
    poses = random_poses(model, seed)
    q, v = random_state(model, seed, 0.6)
    v = 0.2 * v
    apart = []
    sims = [(m, s) for m, s in ((model, (q, v)), (model_in(model, poses), state_in(model, poses, q, v)))]
    for h in (0.04, 0.02):
        paths = []
        for m, (q0, v0) in sims:
            ds = (
                hm.Simulation(
                    m,
                    environment=environment,
                    step=h,
                    record=0.2,
                    state=hm.State(q=q0, v=v0),
                    components=[hm.drives.JointStops(joint="arm")],
                )
                .run(1.2)
                .recording
            )
            R = np.array([quaternion_matrix(x) for x in ds.orientation.values[:, 0]])
            paths.append(ds.position.values[:, 0] + np.einsum("nij,j->ni", R, m.bodies[0].inertia.com))
        apart.append(np.abs(paths[0] - paths[1]).max())
    assert apart[0] > 1e-12
    assert math.log2(apart[0] / apart[1]) > 3.3, apart  # drag has kinks
    assert apart[1] < 1e-4
