"""Branches of one body side by side on lanes: against the articulated-body algorithm of the whole tree."""

import dataclasses

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, library
from hydromechs.compiler import Argument, Compiled, Recipe
from hydromechs.equations import BranchesOnLanes
from hydromechs.errors import UnsupportedFeature

EPS = np.finfo(float).eps


def four_arms() -> hm.Model:
    """A floating body with four PUMA 560, a quarter turn apart: some of their numbers are 0 in one arm and not in another."""
    base = hm.Body(
        name="base", inertia=hm.Inertia(mass=200.0, com=(0.05, -0.03, 0.1), tensor=(20.0, 25.0, 30.0, 1.0, -2.0, 1.5))
    )
    bodies = [base]
    for k in range(4):
        for body in library.load("puma560").bodies[1:]:
            parent = "base" if body.parent == "pedestal" else f"{body.parent}_{k}"
            joint = body.joint
            if parent == "base":
                place = hm.Origin((0.5 * np.cos(k * np.pi / 2), 0.5 * np.sin(k * np.pi / 2), 0.2), (0.0, 0.0, k * np.pi / 2))
                joint = hm.joints.Revolute(placement=place)
            bodies.append(dataclasses.replace(body, name=f"{body.name}_{k}", parent=parent, joint=joint, frames=()))
    return hm.Model(name="four_arms", bodies=bodies)


def six_legs() -> hm.Model:
    """Legs with a ball joint, an oblique slide and a fixed foot, in water; bodies of the legs are mixed up."""
    rng = np.random.default_rng(5)

    def water(scale):
        B = scale * rng.normal(size=(6, 6))
        return hm.Hydro(
            volume=0.004 * scale,
            buoyancy_center=rng.normal(size=3) * 0.05,
            added_mass=hm.added_mass.Matrix(B @ B.T + np.eye(6)),
            drag=[hm.drag.Damping(linear=rng.uniform(1, 2, 6), quadratic=rng.uniform(1, 2, 6))],
        )

    def inertia():
        tensor = (*rng.uniform(0.2, 0.3, 3), *rng.uniform(-0.02, 0.02, 3))
        return hm.Inertia(mass=rng.uniform(1, 3), com=rng.uniform(-0.1, 0.1, 3), tensor=tensor)

    bodies = [hm.Body(name="hull", inertia=inertia(), hydro=water(2.0))]
    parts = {"hip": hm.joints.Ball, "shin": hm.joints.Prismatic, "foot": hm.joints.Fixed}
    for part, parent in (("hip", None), ("shin", "hip"), ("foot", "shin")):
        for k in range(6):
            place = hm.Origin(rng.uniform(-0.5, 0.5, 3), rng.uniform(-1, 1, 3))
            options = {"axis": (0.3, 0.4, 0.866)} if part == "shin" else {}
            joint = parts[part](placement=place, **options)
            on = "hull" if parent is None else f"{parent}{k}"
            bodies.append(hm.Body(name=f"{part}{k}", parent=on, joint=joint, inertia=inertia(), hydro=water(1.0)))
    return hm.Model(name="six_legs", bodies=bodies)


def legs_that_differ_in_water() -> hm.Model:
    """Legs with the same joints and inertias and other added mass: what an end of a leg carries is constant, but not the same."""
    inertia = hm.Inertia(mass=2.0, com=(0.1, 0.02, -0.05), tensor=(0.03, 0.04, 0.05, 0.001, 0.002, -0.001))
    bodies = [hm.Body(name="hull", inertia=hm.Inertia(mass=20.0, com=(0.05, 0, 0.1), tensor=(1.0, 1.2, 1.4, 0, 0, 0)))]
    for k in range(2):
        hydro = hm.Hydro(
            volume=0.001, added_mass=hm.added_mass.Diagonal((1.0 + 0.1 * k, 2.0, 3.0 - 0.2 * k, 0.1, 0.2 + 0.05 * k, 0.3))
        )
        hip = hm.joints.Revolute(axis=(1, 0, 0), placement=hm.Origin((0.3, 0.2 * (1 - 2 * k), 0)))
        knee = hm.joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0.3, 0, 0)))
        bodies.append(hm.Body(name=f"hip{k}", parent="hull", joint=hip, inertia=inertia, hydro=hydro))
        bodies.append(hm.Body(name=f"knee{k}", parent=f"hip{k}", joint=knee, inertia=inertia, hydro=hydro))
    return hm.Model(name="legs_that_differ_in_water", bodies=bodies)


MODELS = {
    "differ_in_water": legs_that_differ_in_water,
    "star_2x3": lambda: library.star(2, 3),
    "star_6x3": lambda: library.star(6, 3),
    "star_6x3_dry": lambda: library.star(6, 3, wet=False),
    "star_9x2": lambda: library.star(9, 2),
    "four_arms": four_arms,
    "six_legs": six_legs,
}


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_are_those_of_the_tree(name):
    """In machine code of 1 and 4 worlds, in a current that accelerates; the same algorithm, so the same up to rounding."""
    model = MODELS[name]()
    star = BranchesOnLanes(model)
    rng = np.random.default_rng(0)
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "u_f": (3,), "a_f": (3,)}

    def vdot(q, v, tau, u_f, a_f):
        return star.forward_dynamics(q, v, tau, fluid_velocity=u_f, fluid_acceleration=a_f)

    inputs = tuple(Argument(n, s) for n, s in shapes.items())
    recipe = Recipe("star", vdot, inputs, (Argument("vdot", (model.nv,)),), None)
    code = Compiled(recipe, 4, 1)
    q = np.array([hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.5) for _ in range(6)])
    v, tau = rng.normal(size=(2, 6, model.nv))
    u_f, a_f = rng.normal(size=(2, 6, 3))
    (batch,) = code([q, v, tau, u_f, a_f])
    for w in range(6):
        want = hm.forward_dynamics(model, q[w], v[w], tau[w], fluid_velocity=u_f[w], fluid_acceleration=a_f[w])
        (one,) = code([q[w], v[w], tau[w], u_f[w], a_f[w]])
        for got in (batch[w], one):
            # elimination along a chain of n bodies amplifies rounding by the ratio of inertias, some hundreds here
            np.testing.assert_allclose(got, want, rtol=0, atol=2000 * EPS * np.abs(want).max())


def test_numbers_without_a_compiler():
    """Called with floats it is the slow reference."""
    model = library.star(2, 2)
    q, v = hm.integrate(model, model.neutral()[0], np.ones(model.nv), 0.3), 0.1 * np.arange(model.nv)
    got = BranchesOnLanes(model).forward_dynamics(q, v, 0.5 * v)
    want = hm.forward_dynamics(model, q, v, 0.5 * v)
    np.testing.assert_allclose(got, want, rtol=0, atol=1000 * EPS * np.abs(want).max())


def test_folding_leaves_no_more_operations_than_the_tree_has():
    """Numbers that differ between branches are folded in advance: the count is that of the plain trace within 1 %."""
    model = library.star(6, 3)
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    star = BranchesOnLanes(model)
    lanes = compiler.trace(lambda q, v, tau: star.forward_dynamics(q, v, tau), shapes).count().papers
    plain = compiler.trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), shapes).count().papers
    assert lanes[0] < 1.01 * plain[0] and lanes[1] < 1.01 * plain[1]


def test_errors():
    """Models that cannot use lanes are rejected with the reason."""
    unequal = library.star(2, 3)
    with pytest.raises(UnsupportedFeature, match="branches of 3, 2 bodies"):
        BranchesOnLanes(dataclasses.replace(unequal, bodies=unequal.bodies[:-1]))
    with pytest.raises(UnsupportedFeature, match="has branches of 6 bodies"):
        BranchesOnLanes(library.serial_chain(6))
    with pytest.raises(UnsupportedFeature, match="no free joint|several roots"):
        BranchesOnLanes(library.serial_chain(3, base="fixed"))
    slide = dataclasses.replace(unequal.bodies[-1], joint=hm.joints.Prismatic(placement=hm.Origin((0.1, 0.2, 0.3))))
    mixed = BranchesOnLanes(dataclasses.replace(unequal, bodies=(*unequal.bodies[:-1], slide)))
    with pytest.raises(UnsupportedFeature, match="branches differ in more than parameters"):
        mixed.forward_dynamics(*unequal.neutral(), np.zeros(unequal.nv))


def legs_and_a_boom() -> hm.Model:
    """Three legs of two links, a tail of one and a fixed plate: the body carries more than its equal branches."""
    model = library.star(3, 2)
    chain = library.serial_chain(1, seed=7)
    tail = dataclasses.replace(chain.bodies[1], name="tail", parent="vehicle")
    plate = dataclasses.replace(chain.bodies[1], name="plate", parent="vehicle", joint=hm.joints.Fixed())
    return hm.Model(name="with_tail", bodies=(*model.bodies[:3], tail, plate, *model.bodies[3:]), world=model.world)


def test_compiled_models_have_equal_branches_on_lanes_where_one_state_is_evaluated():
    """Chosen on its own for branches of two bodies and more; batches, programs and derivatives are the specialised ones."""
    model = legs_and_a_boom()
    dyn = hm.compile(model, lanes=4)
    assert dyn.form == "branches" and "branches" in repr(dyn)
    rng = np.random.default_rng(2)
    q = np.array([hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.5) for _ in range(3)])
    v, tau = rng.normal(size=(2, 3, model.nv))
    given = dict(fluid_velocity=(0.2, -0.1, 0.3), fluid_acceleration=(0.1, 0.0, 0.2))
    batch = dyn.forward_dynamics(q, v, tau, **given)
    for k in range(3):
        want = hm.forward_dynamics(model, q[k], v[k], tau[k], **given)
        one = dyn.forward_dynamics(q[k], v[k], tau[k], **given)
        for got in (one, batch[k]):
            np.testing.assert_allclose(got, want, rtol=0, atol=2000 * EPS * np.abs(want).max())
    recipe = dyn._compiled("forward_dynamics").recipe
    assert (
        recipe.single_world is not None and dyn._compiled("forward_dynamics", variant="specialised").recipe.single_world is None
    )
    assert not dyn.program("forward_dynamics").calls


def test_forms_of_models():
    assert hm.compile(library.load("aquarobot")).form == "branches"
    assert hm.compile(library.load("aquarobot"), form="specialised").form == "specialised"
    for name in ("tiburon_titan2", "dante", "puma560"):  # a chain, legs of one body, no free base
        assert hm.compile(library.load(name)).form == "specialised"
    star = library.star(2, 2)
    assert hm.compile(star, parameters=["vehicle.inertia.mass"]).form == "specialised"
    with pytest.raises(UnsupportedFeature, match="has branches of 6 bodies"):
        hm.compile(library.serial_chain(6), form="branches")
    with pytest.raises(ValueError, match="form is 'branches', must be 'specialised' or 'rolled'"):
        hm.Plant(model=star, form="branches")
