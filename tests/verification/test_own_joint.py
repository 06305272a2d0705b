"""A user's own joint: the carriage of the documentation against Lagrange's equation, on every back end, everywhere joints go."""

from __future__ import annotations

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
from hydromechs.equations import export_c

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
        exec(block, vars(module))
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
class OnSurface(hm.joints.OwnJoint):
    """A body on a hilly surface that turns about z as it likes not to: q = (x, y)."""

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
class Tumbler(hm.joints.OwnJoint):
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
        from hydromechs.model._steps import turning_rate

        return self.T.T @ turning_rate(self.T @ u, self.T @ v)

    def difference(self, q, q_other):
        return self.T.T @ hm.spatial.rotation_between(q, q_other)


def donor(seed):
    return hm.library.random_tree(np.random.default_rng(seed), max_bodies=1, kinds=("free",)).bodies[0]


def tree(rails=2, wet=True) -> hm.Model:
    """Joints of users between others, in general position: on a free body, one after the other, in a composition."""
    rng = np.random.default_rng(5)

    def body(name, parent, joint, seed):
        given = donor(seed)
        return hm.Body(name=name, parent=parent, joint=joint, inertia=given.inertia, hydro=given.hydro if wet else None)

    def origin():
        return hm.Origin(rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3))

    bodies = [body("base", None, hm.joints.Free(), 0)]
    for k in range(rails):
        joint = EllipticRail(a=float(rng.uniform(0.5, 2)), b=float(rng.uniform(0.5, 2)), placement=origin())
        bodies.append(body(f"rail{k}", bodies[-1].name, joint, k + 1))
    bodies.append(body("hinge", "rail0", hm.joints.Revolute(placement=origin()), 9))
    bodies.append(body("hill", "hinge", OnSurface(placement=origin()), 10))
    bodies.append(body("ball", "rail0", Tumbler(placement=origin()), 11))
    parts = (EllipticRail(a=0.4, b=0.9, placement=origin()), hm.joints.Revolute(axis=(1, 0, 0), placement=origin()))
    bodies.append(body("last", "hill", hm.joints.Composite(parts=parts), 12))
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
    C, other = hm.coriolis_matrix(own, q, v), hm.coriolis_matrix_lagrange(own, q, v)
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


def test_rolled(own):
    """The loop over the bodies has one program for all joints of a class, whatever their numbers."""
    from hydromechs.equations._kinds import joint_of, kinds_of

    long = tree(rails=12)
    rails = [i for i, b in enumerate(long.bodies) if b.name.startswith("rail")]
    assert len(set(kinds_of([joint_of(long, i, None) for i in range(long.nb)]).of[rails])) == 1
    for model in (own, long):
        q, v, tau = state(model, n=4)
        rolled = hm.compile(model, form="rolled")
        floats = np.array([hm.forward_dynamics(model, *x) for x in zip(q, v, tau, strict=True)])
        np.testing.assert_allclose(rolled.forward_dynamics(q, v, tau), floats, rtol=0, atol=1e-11 * np.abs(floats).max())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
def test_c_agrees_with_floats(own, tmp_path):
    """The exported file checks itself: three random states of each function, to 1e-12 or what the condition of M leaves."""
    names = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "kinematics", "integrate")
    header, source, test = export_c(own, tmp_path, names)
    assert "EllipticRail [rad]" in header.read_text()
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", source, test, "-lm", "-o", tmp_path / "check"], check=True)
    result = subprocess.run([tmp_path / "check"], capture_output=True, text=True)
    assert result.returncode == 0 and "agree" in result.stdout, result.stdout
