"""Composite bodies for stars (CRB/DTS) against articulated bodies, and the cheap rigid-body recursions against the general ones."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics
from hydromechs.compiler import trace
from hydromechs.equations import balance, star_dynamics
from hydromechs.errors import UnsupportedFeature
from hydromechs.library import random_tree, serial_chain, star
from hydromechs.library._generators import _random_hydro, _random_inertia, _random_joint

BASES = ("free", "fixed", "revolute", "ball", "world")


def random_star(rng, *, base: str, wet: bool, fixed_parts: bool = True) -> hm.Model:
    """A base with up to four chains of up to four links, joints of all types, tilted and with branch parameters."""

    def body(name, parent, kind):
        hydro = _random_hydro(rng) if wet and rng.random() < 0.8 else None  # some stay dry in between
        return hm.Body(name=name, parent=parent, joint=_random_joint(rng, kind), inertia=_random_inertia(rng), hydro=hydro)

    bodies = [] if base == "world" else [body("base", None, base)]
    kinds = ["revolute", "revolute", "prismatic", "ball", "composite", "free"]
    for k in range(int(rng.integers(1, 5))):
        parent = None if base == "world" else "base"
        if fixed_parts and rng.random() < 0.3:
            bodies.append(body(f"mount{k}", parent, "fixed"))
            parent = f"mount{k}"
        for i in range(int(rng.integers(1, 5))):
            name = f"link{k}_{i}"
            bodies.append(body(name, parent, str(rng.choice(kinds))))
            if fixed_parts and rng.random() < 0.2:
                bodies.append(body(f"tool{k}_{i}", name, "fixed"))
            parent = name
    world = hm.World(axes=str(rng.choice(["NED", "ENU"])), gravity=rng.uniform(5, 12), water_density=rng.uniform(900, 1100))
    return hm.Model(name="random_star", bodies=bodies, world=world)


def flow_of(rng, model, seed):
    """A random flow with external wrenches, uniform or per body."""
    shape = (3,) if seed % 2 else (model.nb, 3)
    return dict(
        fluid_velocity=rng.normal(size=shape),
        fluid_acceleration=rng.normal(size=shape),
        wrench=rng.normal(size=(model.nb, 6)),
    )


def tolerance(model, q, vdot):
    """The issue's 1e-10 of the largest acceleration; more where rounding times the condition of M is more."""
    return max(1e-10, 200 * np.finfo(float).eps * np.linalg.cond(hm.mass_matrix(model, q))) * np.abs(vdot).max()


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("seed", range(4))
def test_star_equals_articulated_bodies(seed, base, wet):
    rng = np.random.default_rng([seed, BASES.index(base), wet])
    model = random_star(rng, base=base, wet=wet)
    state, flow = model.initial(), flow_of(rng, model, seed)
    tau = 5.0 * rng.normal(size=model.nv)
    expected = hm.forward_dynamics(model, state.q, state.v, tau, **flow)
    ours = star_dynamics(model, state.q, state.v, tau, **flow)
    assert ours.dtype == float
    np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance(model, state.q, expected))


@pytest.mark.parametrize("seed", range(10))
def test_dry_star_by_full_inertias_is_the_same(seed):
    """The function for any 6×6 inertias and the one for rigid bodies agree, with geared rotors too."""
    rng = np.random.default_rng(seed)
    model = random_star(rng, base="free", wet=False)
    q, v, tau = model.initial().q, model.initial().v, rng.normal(size=model.nv)
    wrench, armature = rng.normal(size=(model.nb, 6)), np.concatenate([np.zeros(6), rng.uniform(0, 2, model.nv - 6)])
    b, _ = balance(model, q, v, wrench=wrench)
    expected = dynamics.articulated_body(model, b, tau, armature)
    full = dynamics.star_dynamics(model, b, tau, armature)
    rigid = dynamics.rigid_star_dynamics(model, b.kin, tau, wrench, armature)
    for ours in (full, rigid):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance(model, q, expected))


@pytest.mark.parametrize("seed", range(12))
def test_rigid_inverse_dynamics_equals_the_general_one(seed):
    """Frames on the axes, masses passed inwards and Ω change nothing, on random forests with all joints."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, wet=False)
    state, vdot, wrench = model.initial(), rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    b, _ = balance(model, state.q, state.v, wrench=wrench)
    expected = dynamics.inverse_dynamics(model, b, vdot)
    ours = dynamics.rigid_inverse_dynamics(model, b.kin, vdot, wrench)
    # sums of some hundred terms of the size of the largest force
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(10))
def test_mass_matrix_by_moments_equals_that_by_matrices(seed):
    """Composite bodies as moments of mass with masses passed along axes, against 6×6 matrices that hide that they are rigid."""
    model = random_tree(np.random.default_rng(seed), wet=False)
    kin = dynamics.kinematics(model, model.initial().q, np.zeros(model.nv))
    rigid = [None if r is None else r.matrix for r in model.rigid]
    hidden = [None if I is None else I.copy() for I in rigid]
    M = dynamics.mass_matrix(model, kin, rigid)
    expected = dynamics.mass_matrix(model, kin, hidden)
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_structure_of_a_star():
    """Chains from tip to base; what is fixed to the base or to a link is part of it."""
    model = star(2, 2, wet=False)
    assert dynamics.star_of(model) == dynamics.Star((0, 1, 2, 3, 4, 5), ((7, 6), (9, 8)))
    assert dynamics.star_of(serial_chain(3, base="fixed", wet=False)) == dynamics.Star((0,), ((2, 1),))
    mount = hm.Body(name="mount", parent="vehicle", joint=hm.joints.Fixed())
    arms = [hm.Body(name=f"arm{k}", parent="mount", joint=hm.joints.Revolute(), inertia=_plain()) for k in range(2)]
    model = hm.Model(bodies=[hm.Body(name="vehicle", joint=hm.joints.Free(), inertia=_plain()), mount, *arms])
    assert dynamics.star_of(model).chains == ((6,), (7,))


def test_tree_that_branches_outside_the_base_is_named():
    bodies = [hm.Body(name="vehicle", joint=hm.joints.Free(), inertia=_plain())]
    for name, parent in (("arm", "vehicle"), ("left", "arm"), ("right", "arm")):
        bodies.append(hm.Body(name=name, parent=parent, joint=hm.joints.Revolute(), inertia=_plain()))
    model = hm.Model(name="fork", bodies=bodies)
    q, v = model.neutral()
    with pytest.raises(UnsupportedFeature, match="fork is not a star: body 'arm' carries the joints of 'left' and 'right'"):
        star_dynamics(model, q, v, v)


def test_bad_flow_is_an_error_even_where_there_is_no_water():
    model = star(2, 2, wet=False)
    q, v = model.neutral()
    with pytest.raises(ValueError, match="fluid_velocity"):
        star_dynamics(model, q, v, v, fluid_velocity=[1.0, 2.0])


def _plain() -> hm.Inertia:
    return hm.Inertia(mass=1.0, com=(0.1, 0.2, 0.3), tensor=(1, 1, 1, 0, 0, 0))


def test_counts_are_a_tenth_below_the_thesis():
    """Table 12, m = 6, N = 3: [4440, 3944]; Tables 26 and 28, N = 6: [459, 400] and [389, 370]."""
    model = star(6, 3, wet=False)
    M, A = count(star_dynamics, model, q=model.nq, v=model.nv, tau=model.nv)
    assert M <= 0.9 * 4440 and A <= 0.9 * 3944
    chain = serial_chain(6, base="fixed", wet=False)

    def inverse(model, q, v, vdot):
        return dynamics.rigid_inverse_dynamics(model, dynamics.kinematics(model, q, v), vdot)

    M, A = count(inverse, chain, q=6, v=6, vdot=6)
    assert M <= 0.9 * 459 and A <= 0.9 * 400
    M, A = count(hm.mass_matrix, chain, q=6)
    assert M <= 0.9 * 389 and A <= 0.9 * 370


def count(function, model, **sizes) -> tuple[int, int]:
    return trace(lambda **arrays: function(model, **arrays), {k: (n,) for k, n in sizes.items()}).count().papers
