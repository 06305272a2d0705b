"""Decoupled dynamics: exact for the true acceleration of the base, and what is omitted otherwise."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics
from hydromechs.compiler import trace
from hydromechs.equations import arm_dynamics, balance, decoupled_dynamics
from hydromechs.errors import UnsupportedFeature
from hydromechs.library import random_tree, serial_chain, star


def one_root(seed, wet):
    """A random tree with one root, its state, forces and a flow; in every second case per body."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, wet, attempt])
        model = random_tree(rng, wet=wet)
        if model.parent.count(-1) == 1 and model.nb > 2:
            break
    shape = (3,) if seed % 2 else (model.nb, 3)
    flow = dict(
        fluid_velocity=rng.normal(size=shape), fluid_acceleration=rng.normal(size=shape), wrench=rng.normal(size=(model.nb, 6))
    )
    return model, model.initial().q, model.initial().v, 5.0 * rng.normal(size=model.nv), flow


def tolerance(model, q, vdot):
    return max(1e-10, 200 * np.finfo(float).eps * np.linalg.cond(hm.mass_matrix(model, q))) * np.abs(vdot).max()


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_with_the_true_base_acceleration_it_is_the_full_model(seed, wet):
    """Random trees of all joints, fixed parts on the base among them."""
    model, q, v, tau, flow = one_root(seed, wet)
    expected = hm.forward_dynamics(model, q, v, tau, **flow)
    n = model.bodies[0].joint.nv
    blind = np.concatenate([np.full(n, 1e9), tau[n:]])  # the base's own force does not matter
    ours = arm_dynamics(model, q, v, blind, expected[:n], **flow)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance(model, q, expected))


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_base_moves_as_if_it_were_alone(seed, wet):
    model = star(2, 3, wet=wet, seed=seed)
    rng = np.random.default_rng(seed)
    q, _ = model.neutral()
    q[3:7] = (x := rng.normal(size=4)) / np.linalg.norm(x)
    q[7:] = rng.uniform(-2, 2, model.nq - 7)
    v, tau = rng.normal(size=(2, model.nv))
    flow = dict(fluid_velocity=rng.normal(size=3), fluid_acceleration=rng.normal(size=3))
    alone = hm.Model(bodies=model.bodies[:1])
    expected = hm.forward_dynamics(alone, q[:7], v[:6], tau[:6], **flow)
    ours = decoupled_dynamics(model, q, v, tau, **flow)
    np.testing.assert_allclose(ours[:6], expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    again = arm_dynamics(model, q, v, tau, ours[:6], **flow)
    np.testing.assert_allclose(ours, again, rtol=0, atol=1e-11 * np.abs(again).max())


def test_parts_fixed_to_the_base_belong_to_it():
    """The base's equation has the inertia, weight and added mass of what is fixed to it, as the full model without the arm has."""
    vehicle, link, *_ = star(1, 2, seed=3).bodies
    box = hm.Body(
        name="box",
        parent="vehicle",
        joint=hm.joints.Fixed(placement=hm.Origin((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))),
        inertia=link.inertia,
        hydro=link.hydro,
    )
    model = hm.Model(bodies=[vehicle, box, link])
    assert dynamics.base_bodies(model) == (0, 1)
    rng = np.random.default_rng(5)
    q, _ = model.neutral()
    q[3:7], q[7] = (0.5, 0.5, -0.5, 0.5), 0.7
    v, tau = rng.normal(size=(2, model.nv))
    alone = hm.Model(bodies=[vehicle, box])
    expected = hm.forward_dynamics(alone, q[:7], v[:6], tau[:6])
    np.testing.assert_allclose(decoupled_dynamics(model, q, v, tau)[:6], expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_geared_rotors_count():
    model = star(1, 3, seed=2)
    rng = np.random.default_rng(0)
    q, _ = model.neutral()
    v, tau = rng.normal(size=(2, model.nv))
    armature = np.array([0.0] * 6 + [0.5, 1.0, 2.0])
    b, _ = balance(model, q, v)
    expected = dynamics.articulated_body(model, b, tau, armature)
    ours = dynamics.arm_dynamics(model, b, tau, expected[:6], armature)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_error_falls_with_the_mass_of_the_vehicle():
    """The base's error goes like arm mass / vehicle mass: four times the vehicle, about a quarter of the error."""
    errors = []
    for factor in (25.0, 100.0, 400.0):
        vehicle, *arm = serial_chain(3, wet=False).bodies
        I = vehicle.inertia
        heavy = hm.Inertia(mass=factor * I.mass, com=I.com, tensor=tuple(factor * x for x in I.tensor))
        model = hm.Model(bodies=[hm.Body(name="vehicle", joint=hm.joints.Free(), inertia=heavy), *arm])
        q, v = model.neutral()
        tau = np.array([0.0] * 6 + [5.0, -3.0, 2.0])
        error = decoupled_dynamics(model, q, v, tau) - hm.forward_dynamics(model, q, v, tau)
        errors.append(np.abs(error[:6]).max())
    assert 3.0 < errors[0] / errors[1] < 5.0
    assert 3.5 < errors[1] / errors[2] < 4.5  # closer to 4 where the arm matters less


def test_several_bases_are_an_error():
    bodies = [b for k in range(2) for b in [hm.Body(name=f"arm{k}", joint=hm.joints.Revolute(), inertia=_plain())]]
    model = hm.Model(name="two_arms", bodies=bodies)
    q, v = model.neutral()
    with pytest.raises(UnsupportedFeature, match=r"two_arms has 2 bodies without a parent \(arm0, arm1\)"):
        decoupled_dynamics(model, q, v, v)


def test_wrong_size_of_the_base_acceleration():
    model = star(1, 2)
    q, v = model.neutral()
    with pytest.raises(ValueError, match="vdot_base"):
        arm_dynamics(model, q, v, v, np.zeros(3))


def _plain() -> hm.Inertia:
    return hm.Inertia(mass=1.0, com=(0.1, 0.2, 0.3), tensor=(1, 1, 1, 0, 0, 0))


def test_count_is_a_tenth_below_the_thesis():
    """Table 19, decoupled, N = 6, in water that moves and accelerates: [1997, 1733]."""
    model = serial_chain(6, base="free", wet=True)
    sizes = dict(q=model.nq, v=model.nv, tau=model.nv, vdot_base=6, fluid_velocity=3, fluid_acceleration=3)
    program = trace(lambda **arrays: arm_dynamics(model, **arrays), {k: (n,) for k, n in sizes.items()})
    M, A = program.count().papers
    assert M <= 0.9 * 1997 and A <= 0.9 * 1733
