"""Integrators: orders of convergence, the compiled step against NumPy, conservation over 100 s, tolerance, stiffness.

The mechanism is a tumbling free vehicle with a pod on a ball joint and an arm on an oblique hinge, with offset centres of mass and
buoyancy, full added masses, drag and a current. Its drag is smooth (|v| v of vectors that do not vanish): |v| v of single
components has jumps in its second derivative, at which no method can keep an order above 2.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import hydromechs as hm
from hydromechs import actuation, contact, dynamics, geometry, integrators
from hydromechs.integrators import AdaptiveSteps, Stepper
from hydromechs.model.component import FastMode
from hydromechs.simulation import step_limit
from hydromechs.simulation._stiffness import StepChecks
from hydromechs.spatial import quaternion_matrix, where
from hydromechs.worlds._mechanism import model_stepper as _stepper

EPS = np.finfo(float).eps
CURRENT = np.array([0.5, -0.3, 0.2])
TAU = np.array([3.0, -2.0, 1.0, 0.5, -1.0, 0.7, 0.2, -0.3, 0.1, 0.4])
T = 1.0


def full(seed, scale, diagonal):
    """A full positive definite 6×6 matrix."""
    B = scale * np.random.default_rng(seed).normal(size=(6, 6))
    return hm.added_mass.Matrix(B @ B.T + np.diag(diagonal))


def tumbler(*, drag: bool, gravity: float) -> hm.Model:
    """Vehicle, pod on a ball joint, arm on a hinge."""

    def water(volume, center, added, *elements):
        return hm.Hydro(volume=volume, buoyancy_center=center, added_mass=added, drag=elements if drag else ())

    vehicle = hm.Body(
        name="vehicle",
        inertia=hm.Inertia(mass=60.0, com=(0.05, -0.03, 0.08), tensor=(3.0, 4.0, 5.0, 0.1, -0.2, 0.15)),
        hydro=water(
            0.06,
            (-0.02, 0.01, -0.05),
            full(1, 1.5, (30, 50, 60, 2, 3, 3)),
            hm.drag.ShapeDrag(shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)), coefficient=(0.3, 0.8, 1.0)),
            hm.drag.Damping(linear=(5.0, 8.0, 9.0, 2.0, 3.0, 2.5)),
        ),
    )
    pod = hm.Body(
        name="pod",
        parent="vehicle",
        joint=hm.joints.Ball(placement=hm.Origin((0.4, 0.1, 0.2), (0.3, -0.4, 0.5))),
        inertia=hm.Inertia(mass=8.0, com=(0.02, 0.03, 0.2), tensor=(0.2, 0.25, 0.15, 0.01, -0.02, 0.01)),
        hydro=water(
            0.007,
            (0.0, 0.01, 0.15),
            full(2, 0.5, (4, 4, 3, 0.1, 0.1, 0.05)),
            hm.drag.ShapeDrag(
                shape=hm.geometry.Cylinder.between((0, 0, 0), (0, 0.05, 0.4), radius=0.06),
                coefficient=1.1,
                end_coefficient=0.0,
                points=2,
            ),
        ),
    )
    arm = hm.Body(
        name="arm",
        parent="vehicle",
        joint=hm.joints.Revolute(placement=hm.Origin((-0.4, 0.1, 0.2), (1.3, 0.4, -0.5)), axis=(0.2, 1.0, 0.3)),
        inertia=hm.Inertia(mass=5.0, com=(0.15, 0.02, 0.03), tensor=(0.05, 0.15, 0.15, 0.01, -0.02, 0.01)),
        hydro=water(0.004, (0.12, 0.01, 0.0), full(4, 0.4, (3, 4, 4, 0.05, 0.1, 0.1))),
    )
    return hm.Model(name="tumbler", world=hm.World(gravity=gravity), bodies=[vehicle, pod, arm])


def start(model):
    rng = np.random.default_rng(0)
    q = hm.integrate(model, model.neutral()[0], rng.normal(size=model.nv), 0.5)
    return q, rng.normal(size=model.nv)


@pytest.fixture(scope="module")
def wet():
    return hm.compile(tumbler(drag=True, gravity=9.81), lanes=1)


def quaternion_rate(quaternion, w):
    """½ q ⊗ (0, ω)."""
    a, b, c, d = quaternion
    x, y, z = w
    return 0.5 * np.array([-b * x - c * y - d * z, a * x + c * z - d * y, a * y + d * x - b * z, a * z + b * y - c * x])


@pytest.fixture(scope="module")
def truth(wet):
    """Dense solution of q̇, v̇ in plain coordinates, by SciPy to 14 digits: it shares no chart and no method with ours."""
    model = wet.model
    nq = model.nq

    def rate(t, s):
        q, v = s[:nq], s[nq:]
        qd = [quaternion_matrix(q[3:7]) @ v[:3], quaternion_rate(q[3:7], v[3:6]), quaternion_rate(q[7:11], v[6:9]), v[9:]]
        return np.concatenate([*qd, wet.forward_dynamics(q, v, TAU, fluid_velocity=CURRENT)])

    solution = solve_ivp(
        rate, (0.0, T), np.concatenate(start(model)), method="DOP853", rtol=3e-14, atol=1e-14, dense_output=True
    )
    return lambda t: (solution.sol(t)[:nq], solution.sol(t)[nq:])


def distance(model, here, there):
    """Norm of the difference of two states, configurations in the chart."""
    return np.hypot(np.linalg.norm(dynamics.difference(model, here[0], there[0])), np.linalg.norm(here[1] - there[1]))


def orders(errors):
    """log2 of the ratio of errors at a step and at half of it."""
    return np.log2(np.array(errors[:-1]) / errors[1:])


@dataclass(frozen=True)
class Undivided(integrators.FixedStep):
    """The steps of `LinearlyImplicit` whole, whatever their error."""

    name = "undivided"
    order = 2
    stages = 2

    def longest_step(self, frequency, decay):
        return np.inf

    def step(self, system, t, q, x, h):
        return integrators.LinearlyImplicit().step(system, t, q, x, h)


@pytest.mark.parametrize(
    ("name", "order", "steps"),
    [("euler", 1, 160), ("semi_implicit_euler", 1, 80), ("rk4", 4, 40), ("linearly_implicit", 2, 40)],
)
def test_order_of_convergence(wet, truth, name, order, steps):
    """Halving the step divides the error by 2^order.

    The next term of the error is a part C h of the first; the observed order is off by that, and that halves with every
    halving of the step: the last of three orders must be within 0.1, and not further off than the one before it.
    """
    q, v = start(wet.model)
    errors = []
    for n in (steps, 2 * steps, 4 * steps, 8 * steps):
        method = Undivided() if name == "linearly_implicit" else name
        r = hm.rollout(wet, q, v, {"tau": TAU, "fluid_velocity": CURRENT}, T / n, n, method=method, record=n)
        assert r.good == n
        errors.append(distance(wet.model, truth(T), (r.q[-1], r.v[-1])))
    found = orders(errors)
    assert abs(found[-1] - order) < 0.1, (errors, found)
    assert abs(found[-1] - order) <= abs(found[-2] - order) + 0.02, found


def dormand_prince(wet):
    return _stepper(wet, integrators.DormandPrince(), ("tau", "fluid_velocity"))


def test_order_of_dormand_prince(wet, truth):
    """Fixed steps of the embedded program converge with order 5; the error estimate, of order 5 locally, must follow h⁵."""
    stepper = dormand_prince(wet)
    model, ends, estimates = wet.model, [], []
    counts = (40, 80, 160)
    for n in counts:
        (q, x), h = start(model), T / n
        estimate = 0.0
        for k in range(n):
            q, x, error, _ = stepper.embedded([k * h, q, x, h, TAU, CURRENT])
            estimate = max(estimate, np.linalg.norm(error))
        ends.append(distance(model, truth(T), (q, x)))
        estimates.append(estimate)
    # order 5: from 40 to 80 steps the term of order 6 is still seen; beyond 80, rounding of the reference (1e-13) is not yet
    assert 4.9 < orders(ends)[-1] < 5.7, ends
    assert abs(orders(estimates)[-1] - 5.0) < 0.3, estimates


@pytest.mark.parametrize("name", ["euler", "semi_implicit_euler", "rk4", "linearly_implicit", "dormand_prince"])
def test_compiled_step_is_the_reference_step(wet, name):
    """One step in machine code and in NumPy agree to the rounding of the accelerations.

    The accelerations come from elimination with the mass matrix, so they have a relative error of n ε κ(M); a step passes
    them on with h. The implicit step solves with 1 − γ h J besides; J has the same error.
    """
    method = integrators.method_named(name)
    stepper = _stepper(wet, method, ("tau", "fluid_velocity"))
    model, h = wet.model, 0.02
    q, x = start(model)
    inputs = {"tau": TAU, "fluid_velocity": CURRENT}
    want = method.step(stepper.reference(inputs), 0.3, q, x, h)
    if name == "dormand_prince":
        got = stepper.embedded([0.3, q, x, h, TAU, CURRENT])[:2]
    else:
        march = stepper.march([np.zeros(1), q[None], x[None]], [np.array([h]), np.array([0.3]), TAU[None], CURRENT[None]], 1)
        got = march.ends[1][0], march.ends[2][0]
        assert march.ends[0][0] == 1.0 and march.good[0] == 1.0
    vdot = np.linalg.norm(wet.forward_dynamics(q, x, TAU, fluid_velocity=CURRENT))
    kappa = np.linalg.cond(hm.mass_matrix(model, q))
    assert distance(model, want, got) < 10 * model.nv * EPS * kappa * h * vdot + 50 * EPS
    assert distance(model, want, (q, x)) > 0.01  # it moved


def test_adaptive_error_follows_the_tolerance(wet, truth):
    """The error at the end is within 100 times the tolerance of a step.

    A tolerance 100 times tighter takes about 100^(1/5) times the steps.
    """
    stepper = dormand_prince(wet)
    model = wet.model
    q, x = start(model)

    class Counting:
        def __init__(self, compiled):
            self.compiled, self.calls = compiled, 0

        def __call__(self, arrays):
            self.calls += 1
            return self.compiled([*arrays[:-1], TAU, CURRENT])

    errors, calls = [], []
    for relative in (1e-4, 1e-6, 1e-8, 1e-10):
        steps = AdaptiveSteps(stepper)
        steps.method = integrators.DormandPrince(relative=relative, absolute=relative * 1e-3)
        counting = Counting(stepper.embedded)
        steps.stepper = _Stub(model, counting, stepper.reference, stepper.counted)
        t, q1, x1 = steps.advance(integrators.Point(0.0, q, x), None, T, 1e-3)
        assert t == T
        errors.append(distance(model, truth(T), (q1, x1)))
        calls.append(counting.calls)
    tolerances = np.array([1e-4, 1e-6, 1e-8, 1e-10])
    assert np.all(errors < 100 * tolerances), errors
    assert np.all(errors > 1e-3 * tolerances), errors  # it does not waste steps either
    growth = np.array(calls[2:]) / calls[1:-1]
    assert np.all(growth < 1.3 * 100**0.2) and np.all(growth > 100**0.2 / 1.3), calls


class _Stub:
    """A stepper with another embedded step."""

    def __init__(self, model, embedded, reference, counted):
        self.model, self.embedded, self.reference, self.counted = model, embedded, reference, counted


@pytest.fixture(scope="module")
def free():
    return hm.compile(tumbler(drag=False, gravity=0.0), lanes=1)


@pytest.mark.parametrize(("name", "n"), [("rk4", 100_000), ("linearly_implicit", 20_000)])
def test_quaternions_stay_unit(free, name, n):
    """Nothing renormalises: a step multiplies by exp(u), which is unit but for rounding.

    Independent roundings of about ε a step walk to √n ε; 3 rad/s and more in steps of 1 ms.
    """
    q, v = start(free.model)
    r = hm.rollout(free, q, 3.0 * v, np.zeros(free.model.nv), 0.001, n, method=name, record=2000)
    assert r.good == n
    assert np.linalg.norm(r.v[:, 6:9], axis=1).mean() > 3.0
    for at in (slice(3, 7), slice(7, 11)):
        assert np.abs(np.linalg.norm(r.q[:, at], axis=1) - 1.0).max() < 4 * np.sqrt(n) * EPS


@pytest.mark.parametrize(("name", "order"), [("rk4", 4), ("linearly_implicit", 2)])
def test_energy_and_momentum_of_body_and_water_for_100_seconds(free, name, order):
    """Without drag, gravity and buoyancy the energy and the momentum of bodies and water (Kirchhoff) do not change.

    A method keeps them to its order: half the step divides the drift by 2^order. The motion is slow enough (two turns) not to
    be chaotic.
    """
    model = free.model
    q, v = start(model)
    v = 0.1 * v
    E0, P0 = sum(hm.energy(model, q, v)), hm.equations.momentum(model, q, v)
    drifts = []
    for h in (0.08, 0.04, 0.02):
        n = round(100.0 / h)
        method = Undivided() if name == "linearly_implicit" else name
        r = hm.rollout(free, q, v, np.zeros(model.nv), h, n, method=method, record=n // 25)
        assert r.good == n
        E = np.array([sum(hm.energy(model, a, b)) for a, b in zip(r.q, r.v, strict=True)])
        P = np.array([hm.equations.momentum(model, a, b) for a, b in zip(r.q, r.v, strict=True)])
        # angular momentum about the world's origin has the size |P| times the way gone
        size = np.linalg.norm(P0[:3]) * np.array([1.0] * 3 + [1.0 + np.abs(r.q[:, :3]).max()] * 3)
        drifts.append([np.abs(E / E0 - 1.0).max(), np.abs((P - P0) / size).max()])
    ratios = np.log2(np.array(drifts[:-1]) / drifts[1:])
    assert np.abs(ratios - order).max() < 0.15, (drifts, ratios)
    assert np.max(drifts[-1]) < {"rk4": 1e-10, "linearly_implicit": 1e-5}[name], drifts


def lever(stiffness, damping):
    """A dry hinge without gravity, and its servo: I q̈ = k (c − q) − d q̇, I = 0.05 + 2 · 0.1²."""
    body = hm.Body(
        name="lever",
        joint=hm.joints.Revolute(axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=2.0, com=(0.1, 0, 0), tensor=(0.05,) * 3 + (0,) * 3),
    )
    model = hm.Model(name="lever", world=hm.World(gravity=0.0), bodies=[body])
    return model, [actuation.drives.Servo(joint="lever", stiffness=stiffness, damping=damping)]


def test_linearly_implicit_step_is_its_stability_function():
    """On the linear system of a servo a step is R(h A) x exactly, R(z) = (1 + (1 − 2γ) z) / (1 − γ z)²: L-stable, R(∞) = 0."""
    k, d, h = 1e6, 3e3, 0.01
    model, servo = lever(k, d)
    inertia = 0.05 + 2.0 * 0.1**2
    sim = hm.Simulation(model, components=[*servo], integrator=Undivided(), step=h)
    sim.state = hm.State(q=np.array([0.3]), v=np.array([2.0]))
    A = np.array([[0.0, 1.0], [-k / inertia, -d / inertia]])
    W = np.linalg.inv(np.eye(2) - (1.0 - np.sqrt(0.5)) * h * A)
    R = W @ W @ (np.eye(2) + (1.0 - 2.0 * (1.0 - np.sqrt(0.5))) * h * A)
    x = np.array([0.3, 2.0])
    for _ in range(4):
        state = sim.step({"lever": 0.0})
        x = R @ x
        # rounding of the solve, with W of condition κ
        size = EPS * np.linalg.cond(np.linalg.inv(W)) * np.abs(R).sum(axis=1) * 2.5
        np.testing.assert_allclose([state.q[0], state.v[0]], x, rtol=1e-9, atol=10 * size.max())
    # |h λ| is 350 and 4300: after 4 steps of a stable but not L-stable method (trapezoidal, |R| → 1) 0.3 rad would still be there
    assert abs(state.q[0]) < 0.3 * abs((1 - (1 - 2 * (1.0 - np.sqrt(0.5))) * 350) / (1 + (1.0 - np.sqrt(0.5)) * 350) ** 2) ** 2


def test_rk4_diverges_on_a_stiff_servo_and_reports_it(monkeypatch):
    """RK4 at h λ = −43 grows by R ≈ z⁴/24 a step until numbers end; the error reports when, which body, what to do, and keeps the last state."""
    model, servo = lever(1e6, 3e3)
    sim = hm.Simulation(model, components=[*servo], step=1e-3)
    sim.state = hm.State(q=np.array([0.3]), v=np.array([0.0]), command=np.array([0.5]))
    with pytest.raises(ValueError, match="servo of joint 'lever' is too stiff"):
        sim.run(1.0)
    monkeypatch.setattr(StepChecks, "look", lambda *a: None)  # as if it had become stiff later
    with pytest.raises(hm.SimulationDiverged) as caught:
        sim.step(duration=1.0)
    text = str(caught.value)
    assert "t = " in text and "'lever'" in text and "linearly_implicit" in text
    state = caught.value.state
    assert 0.0 < state.t < 1.0
    assert np.isfinite(state.q).all() and np.isfinite(state.v).all() and np.isfinite(state.internal).all()
    # the fast root grows by R(z) a step; powers go with its square, so numbers end where it is 1e154
    fast = -np.abs(np.roots([1.0, 3e3 / 0.07, 1e6 / 0.07])).max() * 1e-3
    growth = np.log(abs(1 + fast + fast**2 / 2 + fast**3 / 6 + fast**4 / 24))
    assert state.t == pytest.approx(1e-3 * np.log(1e154) / growth, rel=0.05)
    stiff = hm.Simulation(model, components=[*servo], integrator="linearly_implicit", step=1e-3)
    stiff.state = hm.State(q=np.array([0.3]), v=np.array([0.0]), command=np.array([0.5]))
    run = stiff.run(1.0)
    slow = np.abs(np.roots([1.0, 3e3 / 0.07, 1e6 / 0.07])).min()
    assert run.messages == []
    q = run.recording.q.values[:, 0]
    # the slow root decays as e^(−slow t); ROS2 is off by (slow h)²/6 of slow t at most
    np.testing.assert_allclose(q[1:] - 0.5, -0.2 * np.exp(-slow * run.recording.time.values[1:]), atol=0.2 * (slow * 1e-3) ** 2)


def test_diverging_tumbler_reports_it_too():
    """Angles of 1e27 rad a step leave no unit quaternion; the error must be the divergence, not the quaternion."""
    top = hm.Body(
        name="top",
        joint=hm.joints.Free(velocity=(0, 0, 0, 1.0, 0.5, 0.2)),
        inertia=hm.Inertia(mass=1.0, tensor=(0.1, 0.12, 0.15, 0, 0, 0)),
        hydro=hm.Hydro(volume=1 / 1025, drag=hm.drag.Damping(linear=(1, 1, 1, 40, 40, 40))),
    )
    sim = hm.Simulation(hm.Model(name="top", bodies=[top]), step=1e-2, record=1e-2, integrator="semi_implicit_euler")
    with pytest.raises(hm.SimulationDiverged, match="'top'") as caught:
        sim.run(5.0)
    assert np.isfinite(caught.value.state.v).all()


@pytest.mark.parametrize("z", [-0.5, -3.0, 2.0j])
@pytest.mark.parametrize("name", ["euler", "rk4", "linearly_implicit", "dormand_prince"])
def test_stability_function(name, z):
    """One step of ẏ = λ y through the stepper is R(h λ), known for each method, for a decay and for an oscillation.

    A slider (x, v) carries the two parts: v̇ = −ω² x, or −d v.
    """
    model = hm.Model(
        name="slider",
        world=hm.World(gravity=0.0),
        bodies=[hm.Body(name="slider", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=hm.Inertia(mass=1.0))],
    )
    A = np.array([[0.0, 1.0], [-4.0, 0.0]]) if isinstance(z, complex) else np.array([[0.0, 0.0], [0.0, z]])
    h = abs(z) / 2.0 if isinstance(z, complex) else 1.0
    method = integrators.method_named(name)
    stepper = Stepper(
        model,
        lambda t, q, y: A @ np.array([q[0] + y[0], y[1]]),
        0,
        (),
        method,
        name="linear",
        identity=None,
        lanes=1,
        threads=1,
    )
    system = stepper.reference({})
    q1, x1 = method.step(system, 0.0, np.array([0.7]), np.array([0.4]), h)
    B, one = h * A, np.eye(2)
    power = [np.linalg.matrix_power(B, k) for k in range(7)]
    R = {
        "euler": one + B,
        "rk4": one + B + power[2] / 2 + power[3] / 6 + power[4] / 24,
        "dormand_prince": one + B + power[2] / 2 + power[3] / 6 + power[4] / 24 + power[5] / 120 + power[6] / 600,
        "linearly_implicit": np.linalg.matrix_power(np.linalg.inv(one - (1.0 - np.sqrt(0.5)) * B), 2)
        @ (one + (1 - 2 * (1.0 - np.sqrt(0.5))) * B),
    }[name]
    np.testing.assert_allclose([q1[0], x1[0]], R @ [0.7, 0.4], atol=50 * EPS * np.abs(R).max())


def amplification(name, h, w, d):
    """Largest |eigenvalue| of a step of ẍ + d ẋ + w² x = 0."""
    A, one = h * np.array([[0.0, 1.0], [-w * w, -d]]), np.eye(2)
    if name == "semi_implicit_euler":
        R = np.array([[1 - (h * w) ** 2, h * (1 - h * d)], [-h * w * w, 1 - h * d]])
    else:
        terms = {"euler": 1, "rk4": 4}[name]
        R = sum((np.linalg.matrix_power(A, k) / math.factorial(k) for k in range(1, terms + 1)), one)
    return np.abs(np.linalg.eigvals(R)).max()


@pytest.mark.parametrize("name", ["euler", "semi_implicit_euler", "rk4"])
def test_step_limits_that_are_advised_are_the_limits_of_stability(name):
    """At the advised limit a mode does not grow (2 % below it surely); a third above it, it does, so no step is wasted."""
    method = integrators.method_named(name)
    for d in (0.05, 0.1, 0.19, 0.21, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 20.0):
        limit = step_limit(FastMode("mode", 30.0, 30.0 * d), method)
        assert amplification(name, 0.98 * limit, 30.0, 30.0 * d) < 1.0 + 1e-9, d
        assert amplification(name, 1.33 * limit, 30.0, 30.0 * d) > 1.0, d
    lag = step_limit(FastMode("lag", 0.0, 5.0), method)
    assert amplification(name, 0.98 * lag, 0.0, 5.0) < 1.0 + 1e-9 and amplification(name, 1.1 * lag, 0.0, 5.0) > 1.0


def ball_on_rock(position, velocity, **options):
    """2 kg on 1e7 N/m: ω = 2236 1/s."""
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, position), velocity=(0, 0, velocity, 0, 0, 0)),
        inertia=hm.Inertia(mass=2.0, tensor=(0.1,) * 3 + (0,) * 3),
        shapes=(hm.geometry.Sphere(radius=0.1),),
    )
    grip = contact.DryFriction(static=0.5, kinetic=0.5, stiffness=1e6, damping=2e3)
    law = contact.LinearContact(stiffness=1e7, damping=2e3)
    rock = contact.Terrain(
        name="rock", material=contact.Material(law=law, friction=grip), shape=geometry.Plane.through((0, 0, 0), (0, 0, -1))
    )
    return hm.Simulation(hm.Model(name="ball", bodies=[ball]), components=[rock], **options)


@pytest.mark.filterwarnings("ignore:.*contact 'ball on rock'")
def test_stiff_contact_that_stands(monkeypatch):
    """A contact that stands is settled at m g/k with 11 rad of its oscillation a step, where RK4 throws the ball away."""
    k, mass, h = 1e7, 2.0, 5e-3
    sink = mass * 9.81 / k
    run = ball_on_rock(-0.1 + 1.5 * sink, 0.0, step=h, integrator="linearly_implicit").run(1.0)
    assert run.recording.contact_gap.values[-1, 0] == pytest.approx(-sink, rel=1e-9)
    assert run.recording.contact_force.values[-1, 0] == pytest.approx(mass * 9.81, rel=1e-9)
    assert abs(run.state.v[2]) < 1e-12
    thrown = ball_on_rock(-0.1 + 1.5 * sink, 0.0, step=h)
    with pytest.raises(ValueError, match="contact 'ball on rock' is too stiff"):
        thrown.run(1.0)
    monkeypatch.setattr(StepChecks, "look", lambda *a: None)
    assert max(abs(thrown.step().v[2]) for _ in range(200)) > 1.0


@pytest.mark.parametrize("h", [8e-4, 5e-3, 0.05])
def test_impact_within_a_step_is_resolved(h):
    """A stiff impact, h ω up to 112: the ball comes back with the speed that the closed form of a damped spring has, unwarned.

    v_out/v_in = exp(−2 ζ arccos ζ/√(1 − ζ²)), ζ = c/(2 √(k m)); gravity changes it by some (g/(ω v))² and parts of 1e-3.
    """
    sim = ball_on_rock(-0.105, 0.5, step=h, record=h, integrator="linearly_implicit")
    run = sim.run(0.05)
    assert run.messages == []
    zeta = 2e3 / (2.0 * np.sqrt(1e7 * 2.0))
    met = np.sqrt(0.5**2 + 2 * 9.81 * 0.005)
    out = met * np.exp(-2.0 * zeta * np.arccos(zeta) / np.sqrt(1.0 - zeta**2))
    time = (met - 0.5) / 9.81 + (np.pi - np.arccos(zeta)) / np.sqrt(1e7 / 2.0)
    assert run.state.v[2] == pytest.approx(-out + 9.81 * (0.05 - time), abs=5e-3)


STEPS = (1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1)


def sliding_box(h, **options):
    """8 kg on four corners from its rest depth, at 1 m/s along the floor."""
    law = contact.LinearContact(stiffness=1e5, damping=300.0)
    grip = contact.DryFriction(static=0.5, kinetic=0.5, stiffness=5e4, damping=300.0)
    box = hm.Body(
        name="box",
        joint=hm.joints.Free(position=(0, 0, -0.1 + 8.0 * 9.81 / 4e5), velocity=(1.0, 0, 0, 0, 0, 0)),
        inertia=hm.Inertia(mass=8.0, tensor=(0.05, 0.12, 0.13, 0, 0, 0)),
        shapes=[hm.geometry.Box(size=(0.4, 0.3, 0.2))],
    )
    floor = contact.Terrain(
        name="floor", material=contact.Material(law=law, friction=grip), shape=geometry.Plane.through((0, 0, 0), (0, 0, -1))
    )
    return hm.Simulation(hm.Model(name="box", bodies=[box]), components=[floor], step=h, record=max(h, 0.1), **options)


def test_sliding_box_stops_where_it_must_at_every_step():
    """rk4 at 10 µs, and v²/(2 μ g) less what the anchored springs give; 5e-6 m is 5e-5 of the way, parts have 1e-3 of the speed."""
    truth = sliding_box(1e-5).run(1.0)
    assert truth.state.q[0] == pytest.approx(1.0 / (2.0 * 0.5 * 9.81), abs=3e-3)
    for h in STEPS:
        run = sliding_box(h, integrator="linearly_implicit").run(1.0)
        assert run.messages == []
        assert np.abs(run.state.q[:3] - truth.state.q[:3]).max() < 5e-6, h
        assert np.abs(run.state.v).max() < 1e-6, h
        assert np.abs(run.recording.energy_residual).max() < 4.0 * 1e-4, h  # of 4 J


@pytest.mark.parametrize(("command", "spool"), [(-0.5, 0.0), (0.05, 0.01), (0.0, 0.01)])
def test_overrun_hydraulic_drive_is_right_at_every_step(command, spool):
    """An arm that swings against its valve, pressure above the supply's: as Radau has it, within the tolerance of its parts."""
    drive = actuation.drives.Hydraulic(
        joint="arm",
        supply_pressure=2e7,
        displacement=4e-5,
        flow_coefficient=2.2e-8,
        bulk_modulus=1e9,
        chamber_volume=2e-4,
        spool_time_constant=spool,
    )
    inertia = 5.0 + 10.0 * 0.3**2
    body = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 0, 1), velocity=20.0),
        inertia=hm.Inertia(mass=10.0, com=(0.3, 0, 0), tensor=(0.5, 5.0, 5.0, 0, 0, 0)),
    )

    def rate(t, y):
        force = drive.force(command, y[0], y[1], y[2:])
        return [y[1], force / inertia, *drive.rates(command, y[0], y[1], y[2:])]

    start = [0.0, 20.0, *([0.0] * len(drive.state_names))]
    truth = solve_ivp(rate, (0.0, 1.0), start, method="Radau", rtol=1e-9, atol=1e-9).y[:, -1]
    for h in STEPS:
        sim = hm.Simulation(
            hm.Model(name="arm", bodies=[body]),
            components=[drive],
            commands={"arm": command},
            integrator="linearly_implicit",
            step=h,
            record=max(h, 0.1),
        )
        run = sim.run(1.0)
        assert run.messages == []
        # relative to 20 rad/s and the 0.5 rad of its swing: some hundred parts of 1e-3 each, most of which cancel
        assert abs(run.state.q[0] - truth[0]) < 1e-3, h
        assert abs(run.state.v[0] - truth[1]) < 0.1, h


def test_divided_steps_resume_and_roll_out():
    """A run that is stopped and resumed is the same to the last bit, worlds on lanes are the same to rounding."""
    whole = sliding_box(0.02, integrator="linearly_implicit").run(0.4)
    first = sliding_box(0.02, integrator="linearly_implicit").run(0.14)
    later = sliding_box(0.02, integrator="linearly_implicit")
    later.reset(first.state)
    assert np.array_equal(later.run(0.26).state.q, whole.state.q)
    assert np.array_equal(later.state.internal, whole.state.internal)
    sim = sliding_box(0.02)
    q, v = np.stack([sim.state.q] * 3), np.stack([sim.state.v * speed for speed in (1.0, 0.3, 0.0)])
    r = hm.rollout(sim.plant, q, v, {}, 0.02, 20, method="linearly_implicit", record=10, lanes=4)
    assert np.array_equal(r.good, [20, 20, 20]) and r.q.shape == (3, 3, 7)
    np.testing.assert_allclose(r.q[0, -1], whole.state.q, rtol=0, atol=1e-8)
    assert r.q[0, -1, 0] > 10.0 * r.q[1, -1, 0] > 10.0 * abs(r.q[2, -1, 0])


def test_recorded_work_is_omitted_of_the_jacobian():
    """It changes nothing and is only summed: neither differentiated nor solved for, and its size does not divide steps."""
    sim = sliding_box(0.01, integrator="linearly_implicit")
    stepper = sim._programs.stepper
    n = 2 * 6 + 3 * 8  # with the anchors of eight corners
    assert stepper.n == n + len(sim.plant.layout.causes) and stepper.work_count == len(sim.plant.layout.causes)
    assert stepper.jacobian_program.outputs[0].shape == (n, n)
    inputs = sim._inputs(0.0)[0]
    x = np.concatenate([sim.state.v, sim.state.internal])
    one = integrators.implicit_step(stepper.reference({"inputs": inputs}), 0.0, sim.state.q, x, 1e-3)
    x[-1] += 1e6
    two = integrators.implicit_step(stepper.reference({"inputs": inputs}), 0.0, sim.state.q, x, 1e-3)
    assert np.array_equal(one[0], two[0]) and np.array_equal(one[1][:-1], two[1][:-1]) and one[2] == two[2]
    assert two[1][-1] - 1e6 == pytest.approx(one[1][-1], abs=1e-9)


@dataclass(frozen=True, kw_only=True)
class Relay(hm.Component):
    """A push against the motion whose sign jumps."""

    name: str = "relay"
    size: float

    def act(self, now, z, u):
        joint = now.joint("slider")
        return hm.Action(joint_forces=[joint.force(np.array([where(joint.v[0] > 0.0, -self.size, self.size)]))])


def test_jump_that_no_part_of_a_step_resolves_is_said():
    """±1 N hold a slider of 1 kg still, in many parts; ±1e7 N would need parts of 1e-12 s."""
    slider = hm.Body(name="slider", joint=hm.joints.Prismatic(axis=(1, 0, 0), velocity=0.1), inertia=hm.Inertia(mass=1.0))
    model = hm.Model(name="slider", world=hm.World(gravity=0.0), bodies=[slider])
    sim = hm.Simulation(model, components=[Relay(size=1.0)], integrator="linearly_implicit", step=0.01, record=0.01)
    state = sim.run(0.2).state
    assert abs(state.v[0]) < 1e-5 and state.q[0] == pytest.approx(0.1**2 / 2, abs=1e-5)
    sim = hm.Simulation(model, components=[Relay(size=1e7)], integrator="linearly_implicit", step=0.01, record=0.01)
    with pytest.raises(hm.SimulationDiverged, match="too small a step; smooth forces that jump") as caught:
        sim.run(0.2)
    assert np.isfinite(caught.value.state.q).all()


def test_samples_of_an_adaptive_run():
    """Samples lie on their grid and on the closed form w_t tanh(t/T) of a sinking sphere, to the tolerance."""
    r, C, mass = 0.1, 0.47, 8.0
    V = 4 / 3 * np.pi * r**3
    sphere = hm.Body(
        name="sphere",
        inertia=hm.Inertia(mass=mass, tensor=(0.1,) * 3 + (0,) * 3),
        hydro=hm.Hydro(
            volume=V,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=r)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=r), coefficient=C),
        ),
    )
    model = hm.Model(name="sphere", bodies=[sphere])
    sim = hm.Simulation(model, integrator=integrators.DormandPrince(relative=1e-8), record=0.013)
    ds = sim.run(3.0).recording
    t = ds.time.values
    np.testing.assert_allclose(t, [*(0.013 * np.arange(len(t) - 1)), 3.0], atol=1e-12)  # and the end of the run
    assert len(t) == 232
    W = (mass - 1025.0 * V) * 9.81
    w_t = math.sqrt(2 * W / (1025.0 * C * math.pi * r**2))
    T = (mass + 0.5 * 1025.0 * V) * w_t / W
    # 100 times the tolerance, as above
    np.testing.assert_allclose(ds.v.values[:, 2], w_t * np.tanh(t / T), atol=1e-6)
    np.testing.assert_allclose(ds.q.values[:, 2], w_t * T * np.log(np.cosh(t / T)), atol=1e-6)


def test_unknown_method_and_bad_tolerance():
    with pytest.raises(ValueError, match="no integrator 'rk5'; available: euler"):
        integrators.method_named("rk5")
    with pytest.raises(ValueError, match=r"integrator\.relative is 0"):
        integrators.DormandPrince(relative=0)


@pytest.mark.parametrize("name", ["rk4", "semi_implicit_euler", "euler", "linearly_implicit", "dormand_prince", "b4pc5"])
@pytest.mark.parametrize("mode", [(50.0, 1e299), (1e299, 50.0), (1e299, 1e299), (1e-200, 1.0)])
def test_longest_steps_of_extreme_modes_are_numbers(name, mode):
    method = integrators.method_named(name)
    assert all(h >= 0.0 for h in (method.longest_step(*mode), method.longest_internal_step(*mode)))
    assert FastMode(name="m", frequency=mode[0], decay=mode[1]).fastest >= max(mode[0], 0.5 * mode[1])
