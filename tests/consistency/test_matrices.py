"""Terms of  M v̇ + C v + D + g + F = τ  as methods, the damping matrix, and differences of configurations."""

import dataclasses

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics, library
from hydromechs.compiler import jacobian_program, trace
from hydromechs.errors import UnsupportedFeature
from hydromechs.library import random_tree, serial_chain
from hydromechs.model import MovingStep
from hydromechs.spatial import quaternion_exp

EPS = np.finfo(float).eps
SEEDS = range(8)


def case(seed, **options):
    """A random tree, a random state and joint force."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, **options)
    q = dynamics.integrate(model, model.initial().q, rng.normal(size=model.nv), 1.0)
    return rng, model, q, rng.normal(size=model.nv), 5.0 * rng.normal(size=model.nv)


def flow(rng, model, per_body):
    shape = (model.nb, 3) if per_body else (3,)
    return rng.normal(size=shape), rng.normal(size=shape)


def residual(terms, vdot, q, v, tau, u, a):
    """M v̇ + C v + D + g + F − τ over the size of its terms; `terms` has the functions."""
    parts = [
        terms.mass_matrix(q) @ vdot,
        terms.coriolis_matrix(q, v, fluid_velocity=u) @ v,
        terms.damping_force(q, v, fluid_velocity=u),
        terms.restoring_force(q),
        terms.flow_force(q, v, fluid_velocity=u, fluid_acceleration=a),
        -tau,
    ]
    return np.abs(sum(parts)).max(initial=0.0) / max(np.abs(p).max(initial=0.0) for p in parts)


class Functions:
    """The uncompiled functions of a model as methods."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        return lambda *arrays, **options: getattr(hm.equations, name)(self.model, *arrays, **options)


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_add_up_to_forward_dynamics_in_a_current(seed):
    """The accelerations of the articulated bodies fulfil the closed form, with current and its acceleration."""
    rng, model, q, v, tau = case(seed)
    u, a = flow(rng, model, per_body=bool(seed % 2))
    vdot = hm.forward_dynamics(model, q, v, tau, fluid_velocity=u, fluid_acceleration=a)
    # rounding of v̇ comes back multiplied by M: eps times the condition of the articulated inertias, 1e5 at most here
    assert residual(Functions(model), vdot, q, v, tau, u, a) < 1e-10


@pytest.mark.parametrize(("name", "per_body"), [("tiburon_titan2", True), ("puma560", False)])
def test_compiled_terms_add_up_too(name, per_body):
    model, rng = library.load(name), np.random.default_rng(3)
    q = dynamics.integrate(model, model.initial().q, rng.normal(size=model.nv), 0.5)
    v, tau = rng.normal(size=(2, model.nv))
    u, a = flow(rng, model, per_body)
    dyn = hm.compile(model, lanes=1)
    vdot = dyn.forward_dynamics(q, v, tau, fluid_velocity=u, fluid_acceleration=a)
    assert residual(dyn, vdot, q, v, tau, u, a) < 1e-11
    np.testing.assert_allclose(
        dyn.damping_matrix(q, v, fluid_velocity=u),
        hm.equations.damping_matrix(model, q, v, fluid_velocity=u),
        rtol=1e-12,
        atol=1e-10,
    )


def test_flow_force_vanishes_in_still_water():
    _, model, q, v, _ = case(1)
    np.testing.assert_array_equal(hm.equations.flow_force(model, q, v), np.zeros(model.nv))


class Accelerating:
    """Hydrodynamics of a user whose damping grows with the acceleration of the water: the two cannot be distinguished."""

    def added_mass(self, body, motion):
        return np.diag([5.0, 6.0, 7.0, 0.5, 0.6, 0.7])

    def wrench(self, body, motion):
        return -(1.0 + 0.1 * (motion.a_fg @ motion.a_fg)) * np.array([3.0, 4.0, 5.0, 1.0, 2.0, 3.0]) * motion.velocity


def test_terms_add_up_for_custom_hydrodynamics():
    """D takes no acceleration of the water, so F must take what is left, also where damping depends on it."""
    inertia = hm.Inertia(mass=10.0, com=(0.1, -0.2, 0.3), tensor=(1.0, 1.2, 1.5, 0.1, 0.0, -0.1))
    model = hm.Model(bodies=(hm.Body(name="b", inertia=inertia, hydro=Accelerating()),))
    rng = np.random.default_rng(0)
    q = dynamics.integrate(model, model.neutral()[0], rng.normal(size=6), 1.0)
    v, tau = rng.normal(size=(2, 6))
    u, a = rng.normal(size=(2, 3))
    vdot = hm.forward_dynamics(model, q, v, tau, fluid_velocity=u, fluid_acceleration=a)
    assert residual(Functions(model), vdot, q, v, tau, u, a) < 1e-13
    terms = hm.equations.closed_form(model, q, v, fluid_velocity=u, fluid_acceleration=a)
    np.testing.assert_allclose(terms.D, hm.equations.damping_force(model, q, v, fluid_velocity=u), rtol=1e-13)
    with pytest.raises(UnsupportedFeature, match="body 'b': Accelerating has no method damping_matrix"):
        hm.equations.damping_matrix(model, q, v)


# -- the damping matrix -----------------------------------------------------------------------------------------------------

PLACE = hm.Origin((0.2, -0.3, 0.1), (0.4, -0.7, 1.1))
DRAG = {
    "cylinder": hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.between((0.1, 0.2, -0.3), (0.7, -0.4, 0.5), radius=0.1), coefficient=1.1, end_coefficient=0.8),
    "box": hm.drag.ShapeDrag(shape=hm.geometry.Placed(shape=hm.geometry.Box(size=(0.5, 0.3, 0.9)), origin=PLACE), coefficient=(1.0, 1.5, 0.7), points=3),
    "sphere": hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.2).at((0.1, 0.3, -0.2)), coefficient=0.5),
    "ellipsoid": hm.drag.ShapeDrag(shape=hm.geometry.Placed(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.2, 0.3)), origin=PLACE), coefficient=(0.2, 1.0, 0.7)),
    "diagonal": hm.drag.Damping(linear=(1, 2, 3, 4, 5, 6), quadratic=(6, 5, 4, 3, 2, 1)),
}  # fmt: skip
"""Drag that opposes the motion."""
OTHER = {
    "coupled": hm.drag.Damping(linear=np.arange(36.0).reshape(6, 6), quadratic=np.eye(6) + 0.1, coupled={"Y|r|v": 3.0, "N|v|r": 2.0}),
    "foil": hm.drag.Foil(area=0.3, lift_slope=4.0, drag_parallel=0.02, drag_normal=1.2, position=(0.1, 0.2, -0.4),
                         chord=(1.0, 0.3, 0.0), normal=(-0.3, 1.0, 0.0)),
}  # fmt: skip
"""Damping that is not symmetric."""


@pytest.mark.parametrize("name", [*DRAG, *OTHER])
def test_matrix_times_velocity_is_the_drag(name):
    rng = np.random.default_rng(5)
    element = (DRAG | OTHER)[name]
    for _ in range(20):
        V = rng.normal(size=6)
        F = element.wrench(V, 1025.0)
        D = element.matrix(V, 1025.0)
        np.testing.assert_allclose(-D @ V, F, rtol=0, atol=50 * EPS * np.abs(D).max() * np.abs(V).max())


@pytest.mark.parametrize("name", DRAG)
def test_drag_matrix_is_symmetric_and_positive_semidefinite(name):
    rng = np.random.default_rng(6)
    for _ in range(20):
        D = DRAG[name].matrix(rng.normal(size=6), 1025.0)
        np.testing.assert_allclose(D, D.T, rtol=0, atol=4 * EPS * np.abs(D).max())
        assert np.linalg.eigvalsh(D).min() >= -20 * EPS * np.abs(D).max()


def test_drag_matrix_is_finite_at_rest():
    for element in (DRAG | OTHER).values():
        assert np.isfinite(element.matrix(np.zeros(6), 1025.0)).all()


def test_lift_is_the_skew_part():
    """Lift does no work: V·D V is that of the foil without lift."""
    rng = np.random.default_rng(7)
    foil = OTHER["foil"]
    for _ in range(10):
        V = rng.normal(size=6)
        D = foil.matrix(V, 1025.0)
        without = dataclasses.replace(foil, lift_slope=0.0).matrix(V, 1025.0)
        np.testing.assert_allclose(0.5 * (D + D.T), without, rtol=0, atol=20 * EPS * np.abs(D).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_damping_matrix_times_velocity_is_the_damping_force(seed):
    _, model, q, v, _ = case(seed)
    D, force = hm.equations.damping_matrix(model, q, v), hm.equations.damping_force(model, q, v)
    scale = max(np.abs(D).max(initial=0.0) * np.abs(v).max(initial=0.0), 1e-300)
    np.testing.assert_allclose(D @ v, force, rtol=0, atol=200 * EPS * scale)
    np.testing.assert_allclose(D, D.T, rtol=0, atol=100 * EPS * scale)
    if model.nv:
        assert np.linalg.eigvalsh(0.5 * (D + D.T)).min() >= -100 * EPS * np.abs(D).max()


def test_damping_matrix_in_a_current_takes_the_relative_velocity():
    """With free roots and a uniform current, D v_r is the damping force, v_r = v − (Rᵀ u, 0, …)."""
    model = serial_chain(3)
    rng = np.random.default_rng(8)
    q = dynamics.integrate(model, model.initial().q, rng.normal(size=model.nv), 1.0)
    v, u = rng.normal(size=model.nv), np.array([0.4, -0.3, 0.2])
    relative = v.copy()
    relative[:3] -= hm.kinematics(model, q, v).X_WB[0, :3, :3].T @ u
    D = hm.equations.damping_matrix(model, q, v, fluid_velocity=u)
    force = hm.equations.damping_force(model, q, v, fluid_velocity=u)
    np.testing.assert_allclose(D @ relative, force, rtol=0, atol=100 * EPS * np.abs(D).max())
    np.testing.assert_allclose(D, hm.equations.damping_matrix(model, q, relative), rtol=0, atol=100 * EPS * np.abs(D).max())


class WithMatrix(Accelerating):
    """As above, with the matrix of its damping in water that does not accelerate."""

    def damping_matrix(self, body, motion):
        return (1.0 + 0.1 * (motion.a_fg @ motion.a_fg)) * np.diag([3.0, 4.0, 5.0, 1.0, 2.0, 3.0])


def test_custom_hydrodynamics_can_give_its_matrix():
    inertia = hm.Inertia(mass=10.0, tensor=(1.0, 1.2, 1.5, 0, 0, 0))
    model = hm.Model(bodies=(hm.Body(name="b", inertia=inertia, hydro=WithMatrix()),))
    q, v = np.array([0.1, 0.2, 0.3, 0.6, 0.8, 0.0, 0.0]), np.arange(1.0, 7.0)
    np.testing.assert_allclose(
        hm.equations.damping_matrix(model, q, v) @ v, hm.equations.damping_force(model, q, v), rtol=1e-14
    )


# -- differences of configurations ------------------------------------------------------------------------------------------


def quaternions(model):
    """Start of each quaternion in q."""
    moving = [step for steps in model.steps for step in steps if isinstance(step, MovingStep)]
    return [step.iq + step.quaternion for step in moving if step.quaternion is not None]


def same_sign(model, q, reference):
    """q with the quaternions that are nearest to those of `reference`: q and −q are one orientation."""
    q = q.copy()
    for start in quaternions(model):
        at = slice(start, start + 4)
        q[at] *= np.copysign(1.0, q[at] @ reference[at])
    return q


@pytest.mark.parametrize("seed", SEEDS)
def test_difference_is_the_inverse_of_integrate(seed):
    rng, model, q0, _, _ = case(seed)
    q = dynamics.integrate(model, model.initial().q, 2.0 * rng.normal(size=model.nv), 1.0)
    back = hm.integrate(model, q0, hm.difference(model, q0, q), 1.0)
    # a rotation by θ loses eps θ, and a position as much of its length
    np.testing.assert_allclose(same_sign(model, back, q), q, rtol=0, atol=100 * EPS * max(1.0, np.abs(q).max(initial=0.0)))


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-3, 0.24, 0.26, 1.0, 3.0, np.pi - 1e-6])
def test_difference_returns_the_displacement(angle):
    """integrate after difference and difference after integrate, of a free body, from no rotation to almost half a turn."""
    model = hm.Model(bodies=(hm.Body(name="b", inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))),))
    axis = np.array([0.36, 0.48, -0.8])
    d = np.concatenate([[0.7, -1.3, 2.1], angle * axis])
    q0 = np.concatenate([[5.0, -3.0, 2.0], quaternion_exp(np.array([0.4, 1.0, -0.7]))])
    np.testing.assert_allclose(hm.difference(model, q0, hm.integrate(model, q0, d, 1.0)), d, rtol=0, atol=50 * EPS * 5.0)


def test_difference_does_not_care_for_the_sign_of_quaternions():
    rng, model, q0, _, _ = case(4, kinds=("free", "ball"))
    q = dynamics.integrate(model, q0, rng.normal(size=model.nv), 1.0)
    flipped = q.copy()
    for start in quaternions(model):
        flipped[start : start + 4] *= -1.0
    np.testing.assert_allclose(hm.difference(model, q0, flipped), hm.difference(model, q0, q), rtol=0, atol=1e-13)


def test_compiled_difference():
    model, rng = library.load("tiburon_titan2"), np.random.default_rng(9)
    q0, q = (
        np.stack([dynamics.integrate(model, model.initial().q, rng.normal(size=model.nv), 1.0) for _ in range(5)]) for _ in "ab"
    )
    got = hm.compile(model).difference(q0, q)
    np.testing.assert_allclose(got, [hm.difference(model, a, b) for a, b in zip(q0, q, strict=True)], rtol=0, atol=100 * EPS)


def test_derivative_of_the_difference_at_no_rotation():
    """d difference(q, q ⊕ δ)/dδ is the identity at δ = 0, and near it: a filter or an optimiser starts there."""
    model, rng = serial_chain(1), np.random.default_rng(10)
    q = dynamics.integrate(model, model.initial().q, rng.normal(size=model.nv), 1.0)
    program = trace(
        lambda q, d: dynamics.displacement(model, q, dynamics.integrate(model, q, d, 1.0)),
        {"q": (model.nq,), "d": (model.nv,)},
        name="there_and_back",
    )
    jacobian = jacobian_program(program, ("d",))
    for size in (0.0, 1e-14, 1e-9, 1e-5, 0.2):
        J = np.asarray(jacobian(q, size * np.ones(model.nv))[0])
        # the second factor of integrate is noisy near no rotation, as eps/θ, but only times θ
        np.testing.assert_allclose(J.reshape(model.nv, model.nv), np.eye(model.nv), rtol=0, atol=1e-7)


def test_wrong_configurations_name_their_argument():
    model = serial_chain(1)
    q, _ = model.neutral()
    with pytest.raises(ValueError, match=r"q0\[3:7\], the quaternion of body 'vehicle'"):
        hm.difference(model, 2.0 * q, q)
    with pytest.raises(ValueError, match="q must have shape"):
        hm.difference(model, q, q[1:])


@pytest.mark.parametrize("seed", range(4))
def test_mass_matrix_from_columns_is_the_mass_matrix(seed):
    """Joint motions moved outwards against forces moved inwards, and the columns against velocities."""
    model = random_tree(np.random.default_rng(seed), wet=bool(seed % 2))
    state = model.initial()
    kin = dynamics.kinematics(model, state.q, state.v)
    columns = dynamics.columns_outwards(model, kin)
    for V, own in zip(kin.V, columns, strict=True):
        np.testing.assert_allclose(sum((c * state.v[k] for k, c in own.items()), np.zeros(6)), V, atol=1e-12)
    inertia = [None if r is None else r.matrix for r in model.rigid]
    M = dynamics.mass_matrix(model, kin, inertia)
    np.testing.assert_allclose(dynamics.mass_matrix_from_columns(model, kin, inertia, columns), M, atol=1e-12 * np.abs(M).max())


def test_closed_chains_with_wrenches_agree_with_the_dense_solution():
    """A dry mechanism takes external wrenches in its cheaper recursion: f and v̇ fulfil M v̇ = τ − b + Jᵀ f."""
    from hydromechs.bench._mechanisms import arms_on_load

    model, load, holdings = arms_on_load(2, 6)
    rng = np.random.default_rng(3)
    q, v, tau = model.initial().q.copy(), rng.normal(size=model.nv), rng.normal(size=model.nv)
    q[:12] = rng.uniform(-1.0, 1.0, 12)
    wrench = rng.normal(size=(model.nb, 6))
    b, _ = hm.equations.balance(model, q, v, wrench=wrench)
    vdot, forces, _ = dynamics.closed_chain_dynamics(model, b, tau, load, holdings)
    pushed = wrench.copy()
    for holding, f in zip(holdings, forces, strict=True):
        pushed[load] += holding.load_path.force_back(f)
        pushed[holding.body] -= holding.path.force_back(f)
    np.testing.assert_allclose(hm.forward_dynamics(model, q, v, tau, wrench=pushed), vdot, atol=1e-9 * np.abs(vdot).max())
