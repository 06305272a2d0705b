"""A user's custom joint: the carriage of the documentation against Lagrange's equation, on every back end, everywhere joints go."""

from __future__ import annotations

import math
import pickle
import re
import shutil
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import hydromechs as hm
from hydromechs.equations import export_source

EPS = np.finfo(float).eps
PAGE = Path(__file__).parents[2] / "docs" / "own_joint.md"
TILT = (0.4, -0.7, 0.9)
A, B = 1.3, 0.6
MASS, COM, TENSOR = 3.0, (0.11, -0.07, 0.05), (0.05, 0.06, 0.08, 0.01, -0.004, 0.006)
VOLUME, CENTER = 0.0021, (0.03, 0.09, -0.02)
_G = np.random.default_rng(8).normal(size=(6, 6)) * np.array([0.8, 0.9, 1.0, 0.1, 0.1, 0.1])[:, None]
ADDED = 0.5 * (_G @ _G.T + (_G @ _G.T).T)
LINEAR, QUADRATIC = (2.0, 3.0, 1.0, 0.1, 0.2, 0.3), (5.0, 4.0, 3.0, 0.05, 0.04, 0.06)


def _module():
    """The classes of the documentation as a module that can be imported."""
    name = "own_joint_of_the_docs"
    if name not in sys.modules:
        block = re.search(r"```python\n(.*?)\nrail = ", PAGE.read_text(), flags=re.S)[1]
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(block, PAGE.name, "exec", dont_inherit=True), vars(module))
    return sys.modules[name]


EllipticRail = _module().EllipticRail


def carriage(wet: bool, drag: bool = False, **joint) -> hm.Model:
    """A carriage with an offset centre of mass on a tilted rail."""
    damping = [hm.drag.Damping(linear=LINEAR, quadratic=QUADRATIC)] if drag else []
    body = hm.Body(
        name="carriage",
        joint=EllipticRail(a=A, b=B, placement=hm.Origin((0.3, 0.2, 4.0), TILT), **joint),
        inertia=hm.Inertia(mass=MASS, com=COM, tensor=TENSOR),
        hydro=hm.Hydro(volume=VOLUME, buoyancy_center=CENTER, added_mass=hm.added_mass.Matrix(ADDED), drag=damping)
        if wet
        else None,
    )
    return hm.Model(name="rail", bodies=[body])


def lagrange(wet: bool, drag: bool):
    """q̈(q, q̇) by Lagrange's equation d/dt ∂T/∂q̇ − ∂T/∂q + ∂U/∂q = Q, from position and angle alone."""
    q = casadi.SX.sym("q")
    p = casadi.vertcat(A * casadi.cos(q), B * casadi.sin(q), 0.0)
    angle = casadi.atan2(B * casadi.cos(q), -A * casadi.sin(q))
    R = casadi.vertcat(
        casadi.horzcat(casadi.cos(angle), -casadi.sin(angle), 0),
        casadi.horzcat(casadi.sin(angle), casadi.cos(angle), 0),
        casadi.horzcat(0, 0, 1),
    )
    g = hm.spatial.matrix_from_rpy(TILT).T @ np.array([0.0, 0.0, 9.81])  # gravity in the axes of the rail; NED
    center = p + R @ casadi.DM(COM)
    turn = casadi.jacobian(angle, q)
    speed = casadi.jacobian(center, q)
    M = MASS * casadi.dot(speed, speed) + TENSOR[2] * turn**2
    U = -MASS * casadi.dot(casadi.DM(g), center)
    s = casadi.vertcat(R.T @ casadi.jacobian(p, q), 0, 0, turn)  # velocity in body axes for q̇ = 1
    Q = casadi.SX(0)
    rate = casadi.SX.sym("rate")
    if wet:
        M += casadi.bilin(casadi.DM(ADDED), s, s)
        U += 1025.0 * VOLUME * casadi.dot(casadi.DM(g), p + R @ casadi.DM(CENTER))
    if drag:
        V = s * rate
        Q = -casadi.dot(s, casadi.DM(LINEAR) * V + casadi.DM(QUADRATIC) * casadi.fabs(V) * V)
    acceleration = (Q - 0.5 * casadi.jacobian(M, q) * rate**2 - casadi.jacobian(U, q)) / M
    f = casadi.Function("f", [q, rate], [acceleration])
    m = casadi.Function("m", [q], [M])
    return (lambda q, rate: float(f(q, rate))), (lambda q: float(m(q)))


@pytest.mark.parametrize(("wet", "drag"), [(False, False), (True, False), (True, True)])
def test_a_carriage_on_a_tilted_rail(wet, drag):
    """Accelerations and mass agree with Lagrange's equation to rounding, a run with SciPy's integration of it."""
    model, (f, m) = carriage(wet, drag, position=0.3, velocity=1.5), lagrange(wet, drag)
    rng = np.random.default_rng(0)
    for q, v in rng.uniform(-3, 3, (5, 2)):
        expected = f(q, v)
        assert hm.forward_dynamics(model, [q], [v], [0.0])[0] == pytest.approx(expected, rel=1e-12, abs=1e-11)
        assert hm.mass_matrix(model, [q])[0, 0] == pytest.approx(m(q), rel=1e-13)
        tau = hm.inverse_dynamics(model, [q], [v], [expected])[0]
        assert abs(tau) < 1e-11 * m(q) * max(1.0, abs(expected))
    run = hm.Simulation(model, step=1e-3).run(2.0)
    solved = solve_ivp(lambda t, y: [y[1], f(*y)], (0, 2), [0.3, 1.5], method="DOP853", rtol=1e-12, atol=1e-12)
    # RK4: (2π/T h)⁴ with the fastest motion of some 10 rad/s
    np.testing.assert_allclose([run.state.q[0], run.state.v[0]], solved.y[:, -1], rtol=0, atol=1e-7)
    if not drag:
        E = hm.energy(model, [0.3], [1.5]), hm.energy(model, run.state.q, run.state.v)
        assert sum(E[1]) == pytest.approx(sum(E[0]), rel=1e-8)
    assert float(np.abs(run.recording.energy_residual).max()) < 1e-6


def surface(x, y):
    """Height of a hilly surface and its derivatives [m, -, 1/m]: z, z_x, z_y, z_xx, z_xy, z_yy."""
    c, s = np.cos(1.5 * x), np.sin(1.5 * x)
    C, S = np.cos(0.8 * y), np.sin(0.8 * y)
    return 0.4 * s * C, 0.6 * c * C, -0.32 * s * S, -0.9 * s * C, -0.48 * c * S, -0.256 * s * C


@dataclass(frozen=True, kw_only=True)
class OnSurface(hm.joints.CustomJoint):
    """A body that slides on a hilly surface and does not turn: q = (x, y)."""

    scale: float = 1.0

    neutral_q = (0.0, 0.0)
    unit = "m"

    def pose(self, q):
        return np.eye(3), np.array([q[0], q[1], self.scale * surface(*q)[0]])

    def subspace(self, q):
        _, zx, zy, *_ = surface(*q)
        return np.array([[1.0, 0], [0, 1], [self.scale * zx, self.scale * zy], [0, 0], [0, 0], [0, 0]])

    def subspace_rate(self, q, v):
        *_, xx, xy, yy = surface(*q)
        rows = np.zeros((6, 2), dtype=object)
        rows[2] = [self.scale * (xx * v[0] + xy * v[1]), self.scale * (xy * v[0] + yy * v[1])]
        return rows


@dataclass(frozen=True, kw_only=True)
class Tumbler(hm.joints.CustomJoint):
    """A ball joint by a user, whose velocities are turned against the body's axes: ω = T v."""

    neutral_q = (1.0, 0.0, 0.0, 0.0)
    velocities = 3
    quaternion = 0

    T = hm.spatial.matrix_from_rpy((0.3, 0.5, -0.8))

    def pose(self, q):
        return hm.spatial.quaternion_matrix(q), np.zeros(3)

    def subspace(self, q):
        return np.concatenate([np.zeros((3, 3)), self.T])

    def subspace_rate(self, q, v):
        return np.zeros((6, 3))

    def retract(self, q, u):
        return hm.spatial.quaternion_product(q, hm.spatial.quaternion_exp(self.T @ u))

    def chart_rate(self, q, u, v):
        return self.T.T @ hm.spatial.turning_rate(self.T @ u, self.T @ v)

    def difference(self, q, q_other):
        return self.T.T @ hm.spatial.rotation_between(q, q_other)


@dataclass(frozen=True, kw_only=True)
class Halving(hm.joints.CustomJoint):
    """A slider that uses its number in a way that cannot be traced."""

    a: float

    def pose(self, q):
        return np.eye(3), np.array([math.sqrt(self.a) * q[0], 0.0, 0.0])

    def subspace(self, q):
        return np.array([[math.sqrt(self.a)], [0.0], [0.0], [0.0], [0.0], [0.0]])

    def subspace_rate(self, q, v):
        return np.zeros((6, 1))


def donor(seed):
    return hm.library.random_tree(np.random.default_rng(seed), max_bodies=1, kinds=("free",)).bodies[0]


def tree(rails=1, wet=True) -> hm.Model:
    """Joints of users between others, in general position: one after the other, and in a composition."""
    rng = np.random.default_rng(5)
    bodies: list[hm.Body] = []

    def add(name, joint, **placed):
        given = donor(len(bodies))
        parent = bodies[-1].name if bodies else None
        hydro = given.hydro if wet and not bodies else None
        bodies.append(hm.Body(name=name, parent=parent, joint=joint(**placed), inertia=given.inertia, hydro=hydro))

    def origin():
        return hm.Origin(rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3))

    for k in range(rails):
        add(f"rail{k}", EllipticRail, a=float(rng.uniform(0.5, 2)), b=float(rng.uniform(0.5, 2)), placement=origin())
    add("hill", OnSurface, placement=origin())
    add("ball", Tumbler, placement=origin())
    parts = (EllipticRail(a=0.4, b=0.9, placement=origin()), hm.joints.Revolute(axis=(1, 0, 0), placement=origin()))
    add("last", hm.joints.Composite, parts=parts)
    return hm.Model(name="own", bodies=bodies)


def state(model, seed=3, n=None):
    rng = np.random.default_rng(seed)
    shape = () if n is None else (n,)
    q = rng.uniform(-1.5, 1.5, (*shape, model.nq))
    for step in (s for steps in model.steps for s in steps if getattr(s, "quaternion", None) is not None):
        at = slice(step.iq + step.quaternion, step.iq + step.quaternion + 4)
        q[..., at] /= np.linalg.norm(q[..., at], axis=-1, keepdims=True)
    return q, rng.normal(size=(*shape, model.nv)), rng.normal(size=(*shape, model.nv))


@pytest.fixture(scope="module")
def own() -> hm.Model:
    return tree()


def test_algorithms_agree_with_each_other(own):
    """Forward undoes inverse dynamics; M, C and the derivatives of M along velocities are those of differences."""
    q, v, vdot = state(own)
    tau = hm.inverse_dynamics(own, q, v, vdot)
    M = np.array(hm.mass_matrix(own, q), dtype=float)
    scale = 1e3 * EPS * np.linalg.cond(M) * np.abs(vdot).max()
    np.testing.assert_allclose(hm.forward_dynamics(own, q, v, tau), vdot, atol=scale)
    C, other = hm.coriolis_matrix(own, q, v), hm.equations.coriolis_matrix_lagrange(own, q, v)
    dry = tree(wet=False)
    bias = hm.inverse_dynamics(dry, q, v, 0 * v) - hm.inverse_dynamics(dry, q, 0 * v, 0 * v)
    np.testing.assert_allclose(hm.coriolis_matrix(dry, q, v) @ v, bias, atol=1e-12 * np.abs(bias).max())
    np.testing.assert_allclose(C @ v, other @ v, atol=1e-12 * np.abs(C @ v).max())
    h = 1e-5
    ahead, behind = (hm.mass_matrix(own, hm.integrate(own, q, v, s * h)) for s in (1.0, -1.0))
    rate = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(C + C.T, rate, atol=1e-8 * np.abs(rate).max())  # Ṁ − 2C is skew


def test_it_is_the_ball_joint(own):
    """`Tumbler` with v turned gives the accelerations of a ball joint."""
    q, v, tau = state(own)
    ball = hm.Model(
        bodies=[
            hm.Body(
                name=b.name,
                parent=b.parent,
                joint=hm.joints.Ball(placement=b.joint.placement) if b.name == "ball" else b.joint,
                inertia=b.inertia,
                hydro=b.hydro,
            )
            for b in own.bodies
        ]
    )
    at, T = own.joint_part("ball").v, Tumbler.T
    w, torque = v.copy(), tau.copy()
    w[at], torque[at] = T @ v[at], T @ tau[at]
    expected = hm.forward_dynamics(ball, q, w, torque)
    expected[at] = T.T @ expected[at]
    np.testing.assert_allclose(hm.forward_dynamics(own, q, v, tau), expected, atol=1e-10 * np.abs(expected).max())


def test_lanes_agree_with_floats(own):
    """Forward and inverse dynamics, mass matrix of eight states on lanes."""
    q, v, tau = state(own, n=8)
    dyn = hm.compile(own)
    floats = np.array([hm.forward_dynamics(own, *x) for x in zip(q, v, tau, strict=True)])
    M = np.array([hm.mass_matrix(own, x) for x in q])
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau), floats, rtol=1e-12, atol=1e-12 * np.abs(floats).max())
    np.testing.assert_allclose(dyn.mass_matrix(q), M, rtol=1e-12, atol=1e-12 * np.abs(M).max())


def test_rolled():
    """The loop over the bodies has one program for all joints of a class, whatever their numbers."""
    from hydromechs.equations._kinds import joint_of, kinds_of

    long = tree(rails=6)
    rails = [i for i, b in enumerate(long.bodies) if b.name.startswith("rail")]
    assert len(set(kinds_of([joint_of(long, i, None) for i in range(long.nb)]).of[rails])) == 1
    q, v, tau = state(long, n=4)
    rolled = hm.compile(long, form="rolled")
    floats = np.array([hm.forward_dynamics(long, *x) for x in zip(q, v, tau, strict=True)])
    np.testing.assert_allclose(rolled.forward_dynamics(q, v, tau), floats, rtol=0, atol=1e-12 * np.abs(floats).max())
    with pytest.raises(hm.UnsupportedFeature, match="pose of joint type Halving cannot be traced.*rolled form"):
        bodies = [hm.Body(name=f"b{k}", joint=Halving(a=1.0 + k), inertia=donor(k).inertia) for k in range(2)]
        hm.compile(hm.Model(bodies=bodies), form="rolled").forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_c_agrees_with_floats(own, tmp_path):
    """The exported file checks itself: three random states of each function, to 1e-12 or what the condition of M leaves."""
    names = ("forward_dynamics", "kinematics", "integrate")
    header, source, test = export_source(own, tmp_path, names)
    assert "EllipticRail [rad]" in header.read_text()
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", source, test, "-lm", "-o", tmp_path / "check"], check=True)
    result = subprocess.run([tmp_path / "check"], capture_output=True, text=True)
    assert result.returncode == 0 and "agree" in result.stdout, result.stdout


def one(joint, **fields) -> hm.Model:
    """One body on a joint."""
    inertia = hm.Inertia(mass=MASS, com=COM, tensor=TENSOR)
    return hm.Model(name="one", bodies=[hm.Body(name="b", joint=joint, inertia=inertia, **fields)])


def changed(base, **methods):
    """A class with other methods, made again."""
    return dataclass(frozen=True, kw_only=True)(type(base.__name__, (base,), methods))


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (
            lambda: Wrong(subspace_rate=lambda self, q, v: np.zeros((6, 1))),
            "subspace_rate.* disagrees with the rate of subspace",
        ),
        (
            lambda: Wrong(subspace=lambda self, q: 1.01 * EllipticRail.subspace(self, q)),
            "column 0 of subspace.* the velocity of pose",
        ),
        (
            lambda: Wrong(subspace=lambda self, q: np.zeros((6, 2))),
            r"subspace\(q\) has the shape \(6, 2\); return the shape \(6, 1\)",
        ),
        (lambda: Wrong(pose=lambda self, q: (2.0 * np.eye(3), np.zeros(3))), "is not a rotation"),
        (lambda: Wrong(pose=lambda self, q: np.eye(4)), "return axes R"),
        (lambda: Wrong(pose=lambda self, q: (np.eye(3), np.array([np.sqrt(q[0] - 9.0), 0, 0]))), "not finite"),
        (lambda: Wrong(pose=lambda self, q: 1 / 0), "cannot be evaluated: ZeroDivisionError"),
        (lambda: Wrong(chart_rate=lambda self, q, u, v: 2.0 * v), r"chart_rate\(q, 0, v\) disagrees with v"),
        (lambda: Wrong(difference=lambda self, q, p: q - p), r"difference\(q, retract\(q, u\)\) disagrees with u"),
        (lambda: EllipticRail(a=1.0, b=-1.0), "joint.b is -1( m)?, must be finite and > 0"),
        (lambda: EllipticRail(a=1.0, b=1.0, position=(1.0, 2.0)), "joint.position has 2 numbers; use 1"),
        (lambda: EllipticRail(a=1.0, b=1.0, limits=(1.0, 2.0)), "initial joint position 0 rad is outside the limits"),
        (lambda: OnSurface(limits=(0.0, 1.0)), "the joint has 2 coordinates"),
        (lambda: changed(OnSurface, velocities=3)(), "2 coordinates and 3 velocities; define the chart"),
        (lambda: type("Plain", (EllipticRail,), {})(a=1.0, b=1.0), "Plain must be a dataclass"),
        (lambda: Tumbler(position=(1.0, 1.0, 0.0, 0.0)), "must be a unit quaternion"),
    ],
)
def test_what_does_not_agree_is_rejected(joint, words):
    with pytest.raises(hm.ModelError, match=f"body 'b': .*{words}"):
        one(joint())


def Wrong(**methods):
    return changed(EllipticRail, **methods)(a=1.0, b=0.6)


def test_linearised_and_moved_on_its_manifold(own):
    """A and B are those of differences in tangent coordinates; configurations come back from their charts."""
    from hydromechs.dynamics import difference, retract

    q, v, tau = state(own)
    there = hm.integrate(own, q, v, 0.3)
    np.testing.assert_allclose(hm.difference(own, q, there), 0.3 * v, atol=1e-13)
    np.testing.assert_allclose(retract(own, q, difference(own, q, there)), there, atol=1e-13)
    part = one(Tumbler())
    q, v, tau = state(part)
    A, _ = hm.compile(part).linearize(q, v, tau)
    h, n = 1e-5, part.nv

    def flow(d, dv, dt):
        """The displacement from the undisturbed motion after a short time."""
        ends = []
        for x, w in ((q, v), (hm.integrate(part, q, d, 1.0), v + dv)):
            a = hm.forward_dynamics(part, x, w, tau)
            ends.append((hm.integrate(part, x, w + 0.5 * dt * a, dt), w + dt * a))
        return np.concatenate([hm.difference(part, ends[0][0], ends[1][0]), ends[1][1] - ends[0][1]])

    for k, unit in enumerate(np.eye(2 * n)):
        d = 1e-3 * unit
        ahead, behind = (flow(s * d[:n], s * d[n:], h) for s in (1.0, -1.0))
        rate = ((ahead - behind) / 2.0 - d) / h / 1e-3
        np.testing.assert_allclose(A[:, k], rate, atol=1e-3)  # the midpoint's error is of the order of h


def test_it_acts_like_other_joints():
    """Damping, friction, limits and drives act in it; it is recorded, copied, opened; third-party engines reject it."""
    down = {"placement": hm.Origin((0, 0, 3), (np.pi / 2, 0, 0))}  # the lowest point is at q = π/2
    rail = EllipticRail(a=1.0, b=0.6, position=1.0, damping=4.0, **down)
    model = one(rail)
    run = hm.Simulation(model, step=2e-3).run(8.0)
    lowest = run.recording.position.sel(body="b", xyz="z").values
    assert lowest[-1] > lowest[0] and abs(run.state.v[0]) < 0.01
    assert run.recording.q.coords["coordinate"].values.tolist() == ["b"]
    held = hm.Simulation(model, components=[hm.drives.Servo(joint="b", stiffness=4e3, damping=100.0)], step=2e-3).run(2.0)
    assert held.state.q[0] == pytest.approx(1.0, abs=0.02)
    stopped = hm.Simulation(one(EllipticRail(a=1.0, b=0.6, damping=1.0, limits=(-0.5, 0.5), **down)), step=1e-3).run(3.0)
    assert stopped.state.q[0] == pytest.approx(0.5, abs=0.03)
    assert pickle.loads(pickle.dumps(model)) == model
    dyn = hm.compile(model, parameters=["b.joint.a"])
    for a in (1.0, 1.7):
        expected = hm.forward_dynamics(one(EllipticRail(a=a, b=0.6, **down)), [0.4], [1.0], [0.0])
        np.testing.assert_allclose(dyn.forward_dynamics([0.4], [1.0], [0.0], parameters={"b.joint.a": a}), expected, rtol=1e-12)
    for engine in ("mujoco", "dart", "bullet"):
        assert "has no own_joint_of_the_docs:EllipticRail joint" in hm.hybrid.Hybrid(engine=engine).faults(held_plant(model))[0]


def test_what_cannot_be_traced_is_named():
    model = one(
        changed(Halving, pose=lambda self, q: (np.eye(3), np.array([math.sqrt(self.a) * float(q[0]), 0.0, 0.0])))(a=4.0)
    )
    assert hm.mass_matrix(model, [0.1])[0, 0] == pytest.approx(4.0 * MASS)
    with pytest.raises(hm.UnsupportedFeature, match=r"pose of joint type Halving cannot be traced.*np.cos"):
        hm.compile(model).mass_matrix([0.1])


def held_plant(model):
    return hm.Simulation(model).plant


def test_several_velocities_and_a_chart():
    """A servo turns `Tumbler` to its target; free, it is the ball joint, also for a method of blocks."""
    model = one(Tumbler(damping=0.1))
    sim = hm.Simulation(model, components=[hm.drives.Servo(joint="b", stiffness=60.0, damping=4.0)], step=2e-3)
    assert sim.actuators == ("b.v1", "b.v2", "b.v3") and model.coordinate_names[1] == ("b.v1", "b.v2", "b.v3")
    sim.command = target = np.array([0.3, -0.2, 0.4])
    run = sim.run(3.0)
    torque = np.array(hm.inverse_dynamics(model, run.state.q, np.zeros(3), np.zeros(3)))
    there = hm.integrate(model, model.neutral()[0], target, 1.0)
    np.testing.assert_allclose(60.0 * hm.difference(model, run.state.q, there), torque, atol=0.05)
    v = np.array([0.5, -1.0, 0.8])
    ball = hm.rollout(hm.compile(one(hm.joints.Ball())), [1.0, 0, 0, 0], Tumbler.T @ v, np.zeros(3), 2e-3, 200)
    for method in ("rk4", "b2pc5"):
        ours = hm.rollout(hm.compile(one(Tumbler())), [1.0, 0, 0, 0], v, np.zeros(3), 2e-3, 200, method=method)
        np.testing.assert_allclose(ours.q[-1], ball.q[-1], atol=1e-9)
