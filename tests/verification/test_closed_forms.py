"""Closed forms through `hm.Simulation`: drag, floating, pendulums, inclines, impacts, thrusters, motors, waves, drift."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk

import hydromechs as hm
from hydromechs import geometry
from hydromechs.actuation import Thruster, drives, ideal_curve
from hydromechs.contact import DryFriction, LinearContact, Material, NonlinearContact, Terrain
from hydromechs.hydro import Current, DepthTable, Environment, FreeSurface, JonswapSea, PowerLaw, RegularWave
from hydromechs.spatial import quaternion_exp, quaternion_matrix

EPS = np.finfo(float).eps
G, RHO = 9.81, 1025.0
TURNED = tuple(quaternion_exp(np.array([0.5, -0.8, 0.3])))
BEYOND = 1e-9  # RK4 at 1 ms on motions of some 1/s: (h λ)⁴ = 1e-12 and less, times some tens


def body(mass, *, volume=0.0, added=(0.0,) * 6, drag=(), shapes=(), frames=(), wet=True, com=(0, 0, 0), **joint):
    return hm.Body(
        name="body",
        joint=hm.joints.Free(**joint),
        inertia=hm.Inertia(mass=mass, com=com, tensor=(0.3, 0.4, 0.5, 0, 0, 0)),
        hydro=hm.Hydro(volume=volume, added_mass=hm.added_mass.Diagonal(added), drag=drag) if wet else None,
        shapes=shapes,
        frames=frames,
    )


def simulation(thing, *, world=None, **options):
    options.setdefault("record", 0.05)
    return hm.Simulation(hm.Model(name="closed_form", world=world or hm.World(), bodies=[thing]), **options)


def world_velocity(recording):
    """Velocity of the body's origin in world axes, shape (time, 3)."""
    R = np.array([quaternion_matrix(q) for q in recording.q.values[:, 3:7]])
    return np.einsum("tij,tj->ti", R, recording.v.values[:, :3])


# -- drag ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["NED", "ENU"])
def test_sinking_sphere_reaches_terminal_speed(axes):
    """(m + m_a) ẇ = W − ½ ρ C π r² w²: w = w_t tanh(t/T), w_t = √(2 W/(ρ C π r²)), T = (m + m_a) w_t/W, W = (m − ρ V) g.

    The body is turned, so that the way down is no axis of it.
    """
    r, C, mass = 0.1, 0.47, 8.0
    V = 4 / 3 * np.pi * r**3
    sphere = body(
        mass,
        volume=V,
        added=(0.5 * RHO * V,) * 3 + (0, 0, 0),
        drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=r), coefficient=C),
        orientation=TURNED,
    )
    run = simulation(sphere, world=hm.World(axes=axes)).run(4.0)
    W = (mass - RHO * V) * G
    w_t = math.sqrt(2 * W / (RHO * C * math.pi * r**2))
    T = (mass + 0.5 * RHO * V) * w_t / W
    t = run.recording.time.values
    down = np.array([0, 0, 1.0 if axes == "NED" else -1.0])
    np.testing.assert_allclose(world_velocity(run.recording), np.outer(w_t * np.tanh(t / T), down), atol=BEYOND)
    np.testing.assert_allclose(run.recording.depth.values[:, 0], w_t * T * np.log(np.cosh(t / T)), atol=BEYOND)
    assert math.tanh(4.0 / T) > 1.0 - 1e-5  # it is there


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_decay(kind):
    """(m + m_a) u̇ = −D u: u = u₀ e^(−D t/M);  −D u²: u = u₀/(1 + D u₀ t/M); each axis its own."""
    D, added, u0, mass = np.array([20.0, 35.0, 50.0]), np.array([3.0, 7.0, 11.0]), np.array([1.5, -0.8, 0.4]), 10.0
    element = hm.drag.Damping(**{kind: (*D, 0, 0, 0)})
    hull = body(mass, volume=mass / RHO, added=(*added, 1, 1, 1), drag=element, orientation=TURNED, velocity=(0, 0, 0, 0, 0, 0))
    M = mass + added
    for axis in range(3):  # one at a time: two together turn the body by Munk's moment
        sim = simulation(hull)
        start = hm.State(q=sim.state.q, v=np.concatenate([np.where(np.arange(3) == axis, u0, 0.0), np.zeros(3)]))
        sim.state = start
        recording = sim.run(3.0).recording
        t, d, u = recording.time.values, D[axis] / M[axis], u0[axis]
        want = u * np.exp(-d * t) if kind == "linear" else u / (1 + d * abs(u) * t)
        # the linear one decays at 5 1/s: (h λ)⁴ λ t/120 < 1e-10
        np.testing.assert_allclose(recording.v.values[:, axis], want, atol=BEYOND)


# -- the surface ----------------------------------------------------------------------------------------------------------

FLOATERS = {  # shape, displaced volume, waterline area at half immersion, smallest and vertical half size
    "box": (hm.geometry.Box(size=(0.8, 0.5, 0.3)), 0.12, 0.4, 0.15, 0.15),
    "cylinder": (hm.geometry.Cylinder(radius=0.2, length=0.6), np.pi * 0.04 * 0.6, np.pi * 0.04, 0.2, 0.3),
    "sphere": (hm.geometry.Sphere(radius=0.25), 4 / 3 * np.pi * 0.25**3, np.pi * 0.25**2, None, None),
}


@pytest.mark.parametrize("axes", ["NED", "ENU"])
@pytest.mark.parametrize("name", FLOATERS)
def test_heave_at_the_surface(name, axes):
    """A half immersed body bobs with ω = √(ρ g A/(m + m_a)); the added mass counts with its wet half.

    Edges are rounded by 2 % of the smallest half size s, which makes the half height c into √(c² + (0.02 s)²): ω² is that much lower.
    The restoring force of box and cylinder is linear; that of the sphere, ¾ x − ¼ x³ in half of it, and the change of the
    added mass, m_a (½ + ¾ x), lower ω by less than x²; x is 0.004 here.
    """
    shape, V, A, small, half = FLOATERS[name]
    m_a, mass = 40.0, 0.5 * RHO * V
    floater = body(mass, volume=V, added=(m_a,) * 3 + (1, 1, 1), shapes=(shape,), position=(3.0, -2.0, 0.001))
    run = simulation(floater, world=hm.World(axes=axes), environment=Environment(surface=FreeSurface())).run(5.0)
    omega = math.sqrt(RHO * G * A / (mass + 0.5 * m_a))
    if half is not None:
        omega /= (1.0 + (0.02 * small / half) ** 2) ** 0.25
    t, z = run.recording.time.values, run.recording.position.values[:, 0, 2]
    off = 0.004**2 * omega * t.max() if name == "sphere" else 0.0
    # at the second order in the amplitude the added mass's change also shifts the mean and makes a second harmonic, of x a each
    first = 0.001 * 0.01 * m_a / (mass + 0.5 * m_a)
    np.testing.assert_allclose(z, 0.001 * np.cos(omega * t), atol=0.001 * off + first + BEYOND)
    assert omega * 5.0 > 20.0
    assert np.abs(run.recording.position.values[:, 0, :2] - [3.0, -2.0]).max() < 1e-12


# -- pendulums ------------------------------------------------------------------------------------------------------------


def pendulum():
    """On a hinge that is inclined by 0.3 rad to the horizontal; k and I of I q̈ = −k sin q."""
    incline, reach, b, mass, V = 0.3, 0.7, 0.5, 6.0, 0.002
    axis = np.array([math.cos(incline), 0.0, math.sin(incline)])
    hang = np.array([-math.sin(incline), 0.0, math.cos(incline)])  # across the axis, in the vertical plane
    com, cob = reach * hang + 0.2 * axis, b * hang - 0.1 * axis
    M_A = np.diag([2.0, 3.0, 4.0, 0.05, 0.07, 0.09])
    bob = hm.Body(
        name="pendulum",
        joint=hm.joints.Revolute(axis=tuple(axis), placement=hm.Origin((1.0, 2.0, 30.0), (0.0, 0.0, 0.7))),
        inertia=hm.Inertia(mass=mass, com=tuple(com), tensor=(0.2, 0.25, 0.3, 0.01, 0.02, -0.03)),
        hydro=hm.Hydro(volume=V, buoyancy_center=tuple(cob), added_mass=hm.added_mass.Matrix(M_A)),
    )
    tensor = np.array([[0.2, 0.01, 0.02], [0.01, 0.25, -0.03], [0.02, -0.03, 0.3]])
    inertia = axis @ tensor @ axis + mass * (com @ com - (com @ axis) ** 2) + axis @ M_A[3:, 3:] @ axis
    stiffness = (mass * reach - RHO * V * b) * G * math.cos(incline)
    return bob, inertia, stiffness


@pytest.mark.parametrize("angle", [0.001, 1.0, 2.8])
def test_pendulum_under_water(angle):
    """A quarter of the period, found by an event: K(sin²(θ₀/2)) √(I/k), I with added mass, k of weight less buoyancy.

    Events are located to 1e-9 s; RK4 at 1 ms is better than that.
    """
    bob, inertia, stiffness = pendulum()
    down = hm.Event(name="down", quantity="q.pendulum", level=0.0, direction="falling", stop=True)
    sim = simulation(bob, events=[down])
    sim.state = hm.State(q=np.array([angle]), v=np.zeros(1))
    run = sim.run(20.0)
    want = ellipk(math.sin(0.5 * angle) ** 2) * math.sqrt(inertia / stiffness)
    assert run.stopped is not None
    assert run.state.t == pytest.approx(want, abs=3e-9)
    # energy: ½ I q̇² = k (1 − cos θ₀)
    assert run.state.v[0] == pytest.approx(-math.sqrt(2 * stiffness / inertia * (1 - math.cos(angle))), rel=1e-7)
    if angle < 0.01:
        assert want == pytest.approx(0.5 * math.pi * math.sqrt(inertia / stiffness), rel=angle**2)


# -- contact --------------------------------------------------------------------------------------------------------------


def block_on_incline(angle, mu, duration, **options):
    """A dry block on a plane inclined about y, at rest with its corners as deep as its weight needs; the recording."""
    size, mass, k = np.array([0.6, 0.5, 0.1]), 5.0, 2e4
    up = np.array([-math.sin(angle), 0.0, -math.cos(angle)])  # NED; the plane falls towards −x
    depth = mass * G * math.cos(angle) / (4 * k)
    place = up * (0.5 * size[2] - depth)
    grip = DryFriction(static=mu, kinetic=mu, stiffness=2e4, damping=200.0)
    ramp = Terrain(
        name="ramp",
        material=Material(law=LinearContact(stiffness=k, damping=600.0), friction=grip),
        shape=geometry.Plane.through((0, 0, 0), tuple(up)),
    )
    turned = (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)
    block = body(mass, wet=False, shapes=(hm.geometry.Box(size=tuple(size)),), position=tuple(place), orientation=turned)
    np.testing.assert_allclose(quaternion_matrix(np.array(turned))[:, 2], -up, atol=1e-15)
    return simulation(block, components=[ramp], step=5e-4, **options).run(duration).recording


@pytest.mark.parametrize("mu", [0.4])
def test_block_sticks_below_the_angle_of_friction(mu):
    """At 0.98 atan μ it moves no more than the anchored springs of four corners give, and then does not creep at all."""
    angle = 0.98 * math.atan(mu)
    recording = block_on_incline(angle, mu, 2.0)
    moved = np.linalg.norm(recording.position.values[:, 0] - recording.position.values[0, 0], axis=1)
    # m g sin α/(4 k_t) along the plane; the load comes on at once, so at first it overshoots and slips, by some times that
    assert moved.max() < 10 * 5.0 * G * math.sin(angle) / (4 * 2e4)
    late = recording.time.values > 1.0
    assert np.ptp(recording.position.values[late, 0], axis=0).max() < 1e-9  # transients are gone: e^(−60 t)


@pytest.mark.parametrize("mu", [0.4])
def test_block_slips_above_the_angle_of_friction(mu):
    """At 1.02 atan μ it slides with g (sin α − μ cos α), a small number: the angle at which it slips is right to less than 2 %."""
    for factor in (1.02, 2.0):
        angle = factor * math.atan(mu)
        recording = block_on_incline(angle, mu, 2.0)
        speed = np.linalg.norm(recording.v.values[:, :3], axis=1)
        t = recording.time.values
        late = t > 1.0
        slope = np.polyfit(t[late], speed[late], 1)[0]
        want = G * (math.sin(angle) - mu * math.cos(angle))
        # transients of contact and anchors (c/k = 10 ms) are gone after 1 s
        assert slope == pytest.approx(want, rel=1e-6)
        along = np.array([-math.cos(angle), 0.0, math.sin(angle)])
        assert recording.position.values[-1, 0] @ along > 0.4 * want * 2.0**2


@pytest.mark.parametrize(("exponent", "alpha", "speed"), [(1.0, 0.4, 0.8), (1.5, 0.2, 1.5), (1.0, 0.0, 1.0)])
def test_restitution_of_a_bouncing_sphere(exponent, alpha, speed):
    """N = k dⁿ (1 + a ḋ), a = 3/2 α, gives v_i − ln(1 + a v_i)/a = −v_o − ln(1 − a v_o)/a whatever k, n and the mass are (Marhefka and Orin 1999).

    It slides along a smooth floor meanwhile, and its added mass counts.
    """
    floor = Terrain(
        name="floor",
        material=Material(law=NonlinearContact(stiffness=2e4, damping_factor=alpha, exponent=exponent)),
        shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)),
    )
    ball = body(
        3.0,
        volume=3.0 / RHO,
        added=(1.5,) * 3 + (0,) * 3,
        shapes=(hm.geometry.Sphere(radius=0.1),),
        position=(0, 0, -0.15),
        velocity=(0.3, 0, speed, 0, 0, 0),
    )
    run = simulation(ball, components=[floor], step=1e-4).run(0.5)
    a = 1.5 * alpha
    if alpha:
        left = speed - math.log1p(a * speed) / a
        want = brentq(lambda v: left + v + math.log1p(-a * v) / a, 0.1 * speed, speed)
    else:
        want = speed
    # in the steps of touch and release a part of the impulse h² k v/m is lost or won: a tenth of it at most
    np.testing.assert_allclose(run.state.v[:3], [0.3, 0.0, -want], atol=0.1 * 1e-8 * 2e4 / 4.5 * speed)
    assert alpha == 0.0 or want < 0.8 * speed
    lost = 0.5 * 4.5 * (speed**2 - want**2)
    assert -run.recording.work.sel(cause="contact").values[-1] == pytest.approx(lost, abs=2e-5)


# -- actuators ------------------------------------------------------------------------------------------------------------

MOUNT = hm.Frame("mount", hm.Origin((0.0, 0.0, 0.0), (0.4, -0.3, 0.8)))


def test_thruster_step_response():
    """The thrust follows F (1 − e^(−t/T)); the vehicle gains F/M (t − T (1 − e^(−t/T))), along the mount's x axis."""
    F, T, mass = 30.0, 0.35, 20.0
    hull = body(mass, volume=mass / RHO, added=(5.0,) * 3 + (0,) * 3, frames=(MOUNT,), orientation=TURNED)
    thruster = Thruster(name="prop", frame="mount", curve=ideal_curve(50.0, 40.0), time_constant=T)
    sim = simulation(hull, components=[thruster])
    sim.command = {"prop": F}
    recording = sim.run(3.0).recording
    t = recording.time.values
    np.testing.assert_allclose(recording.actuator_force.values[:, 0], F * (1 - np.exp(-t / T)), atol=30 * BEYOND)
    gained = F / 25.0 * (t - T * (1 - np.exp(-t / T)))
    np.testing.assert_allclose(recording.v.values[:, :3], np.outer(gained, MOUNT.origin.R[:, 0]), atol=BEYOND)
    sim.reset()
    sim.command = {"prop": 80.0}  # beyond the curve
    recording = sim.run(3.0).recording
    assert recording.saturated.values.all()
    assert recording.actuator_force.values[-1, 0] == pytest.approx(50.0 * (1 - math.exp(-3.0 / T)), abs=50 * BEYOND)


def test_thruster_loses_to_inflow():
    """At full thrust M u̇ = F (1 − (u − c)/u₀) in a current c along the thrust: u = (c + u₀)(1 − e^(−F t/(M u₀)))."""
    F, u0, c = 50.0, 2.5, 0.4
    hull = body(20.0, volume=20.0 / RHO, frames=(hm.Frame("mount", hm.Origin()),))
    prop = Thruster(name="prop", frame="mount", curve=ideal_curve(F, F), zero_thrust_speed=u0)
    sim = simulation(hull, components=[prop], environment=Environment(current=Current(velocity=(c, 0, 0))))
    sim.command = [F]
    recording = sim.run(3.0).recording
    want = (c + u0) * -np.expm1(-F / (20.0 * u0) * recording.time.values)
    np.testing.assert_allclose(recording.v.values[:, 0], want, atol=BEYOND)


def motor_rig(motor):
    """A dry wheel without gravity on an oblique hinge, whose moment of inertia is 0.5 kg·m²."""
    wheel = hm.Body(
        name="wheel",
        joint=hm.joints.Revolute(axis=(0, 0, 1), placement=hm.Origin((0, 0, 0), (0.3, 0.5, 0.1))),
        inertia=hm.Inertia(mass=4.0, tensor=(0.3, 0.3, 0.5, 0, 0, 0)),
    )
    return simulation(
        wheel,
        world=hm.World(gravity=0.0),
        components=[motor, hm.actuation.ExternalWrench(body="wheel")],
    )


def test_dc_motor_speed_curve():
    """Without load ω = V/(K N) (1 − e^(−t/T)), T = (I + N² J) R/(N K)²; a load τ slows it to (V − τ R/(N K))/(N K)."""
    V, R, K, N, J = 24.0, 1.5, 0.06, 50.0, 2e-4
    sim = motor_rig(drives.Motor(joint="wheel", resistance=R, torque_constant=K, gear_ratio=N, rotor_inertia=J))
    sim.command = {"wheel": V}
    recording = sim.run(2.0).recording
    T = (0.5 + N**2 * J) * R / (N * K) ** 2
    no_load = V / (K * N)
    np.testing.assert_allclose(recording.v.values[:, 0], no_load * -np.expm1(-recording.time.values / T), atol=100 * BEYOND)
    np.testing.assert_allclose(
        recording.kinetic_energy_body, 0.5 * (0.5 + N**2 * J) * recording.v.values[:, 0] ** 2, atol=1e-12
    )
    stall = V * N * K / R
    for part in (0.25, 0.5, 1.0):
        sim.set_wrench("wheel", (0, 0, 0, 0, 0, -part * stall))
        # from no load the speed falls with e^(−t/T): 15 T later it is there
        state = sim.step(duration=round(15 * T + 1, 1))
        assert state.v[0] == pytest.approx(no_load * (1 - part), abs=no_load * math.exp(-15) + 1e-9)


def test_dc_motor_with_inductance():
    """V = L di/dt + R i + K N ω, I ω̇ = N K i: two real roots, closed form by the matrix exponential."""
    from scipy.linalg import expm

    V, R, K, N, J, L = 24.0, 1.5, 0.06, 50.0, 2e-4, 0.02
    sim = motor_rig(drives.Motor(joint="wheel", resistance=R, torque_constant=K, gear_ratio=N, rotor_inertia=J, inductance=L))
    sim.command = [V]
    recording = sim.run(1.0).recording
    A = np.array([[0, N * K / (0.5 + N**2 * J)], [-K * N / L, -R / L]])
    rest = np.linalg.solve(A, [0, -V / L])
    for t, w, i in zip(
        recording.time.values,
        recording.v.values[:, 0],
        recording.internal_state.sel(internal="wheel.current").values,
        strict=True,
    ):
        # h λ = 0.07: (h λ)⁵/120 per time constant, 2e-8 of 16 A
        np.testing.assert_allclose([w, i], rest - expm(A * t) @ rest, atol=1e-6)


# -- moving water ---------------------------------------------------------------------------------------------------------


def airy(waves, p, t):
    """Velocity of deep water waves (amplitude, ω, direction, phase) at p in NED, held above the surface, written out again here."""
    v = np.zeros(3)
    for a, omega, direction, phase in waves:
        k = omega**2 / G
        n = np.array([math.cos(direction), math.sin(direction), 0.0])
        theta = k * (n @ p) - omega * t + phase
        decay = math.exp(-k * max(p[2], 0.0))
        v += a * omega * decay * (math.cos(theta) * n + math.sin(theta) * np.array([0.0, 0.0, -1.0]))
    return v


def drifting(sim, start, flow, duration):
    """Run from rest in the water (turning), and the path of a water particle from the same place."""
    q = np.concatenate([start, TURNED])
    v = np.concatenate([quaternion_matrix(np.array(TURNED)).T @ flow(0.0, start), [0.5, -0.7, 0.9]])
    sim.state = hm.State(q=q, v=v)
    recording = sim.run(duration).recording
    t = recording.time.values
    path = solve_ivp(flow, (0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=t).y.T
    return recording, path


NEUTRAL = dict(
    volume=10.0 / RHO,
    added=(7.0, 3.0, 12.0, 0.2, 0.3, 0.1),
    drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.8),
)


@pytest.mark.parametrize("case", ["waves", "waves on a sheared current", "waves on a changing power-law current"])
def test_neutral_sphere_follows_the_water(case):
    """A small neutrally buoyant body that starts with the water's velocity goes where a water particle goes, whatever its added mass, its attitude and its spin.

    The force of the undisturbed water's acceleration D v/Dt carries it.
    """
    waves = (RegularWave(height=0.6, period=4.0, direction=0.4), RegularWave(height=0.3, period=2.5, direction=-1.1, phase=0.7))
    rows = [(0.3, 2 * np.pi / 4.0, 0.4, 0.0), (0.15, 2 * np.pi / 2.5, -1.1, 0.7)]
    if case == "waves":
        current, U, f = None, lambda t: np.zeros(3), lambda d: 1.0
    elif case == "waves on a sheared current":
        profile = DepthTable(depths=(0.0, 10.0), factors=(1.0, 0.2))
        current = Current(velocity=(0.6, -0.3, 0.0), profile=profile)
        U, f = lambda t: np.array([0.6, -0.3, 0.0]), lambda d: 1.0 - 0.08 * d
    else:
        current = Current(
            times=(0.0, 20.0), velocities=((0.2, 0.1, 0.0), (0.8, -0.5, 0.0)), profile=PowerLaw(depth=12.0, exponent=0.25)
        )
        U, f = lambda t: np.array([0.2 + 0.03 * t, 0.1 - 0.03 * t, 0.0]), lambda d: ((12.0 - d) / 12.0) ** 0.25
    c = np.zeros(3) if current is None else np.array(current.velocity)  # a steady current carries the waves
    sim = simulation(body(10.0, **NEUTRAL), environment=Environment(current=current, waves=waves), record=0.1, step=2e-3)
    recording, path = drifting(sim, np.array([0.3, -0.5, 1.5]), lambda t, p: f(p[2]) * U(t) + airy(rows, p - c * t, t), 10.0)
    np.testing.assert_allclose(recording.position.values[:, 0], path, atol=BEYOND)
    assert np.ptp(path[:, 2]) > 0.2
    np.testing.assert_allclose(
        recording.fluid_velocity.values[:, 0],
        [f(p[2]) * U(t) + airy(rows, p - c * t, t) for t, p in zip(recording.time.values, path, strict=True)],
        atol=BEYOND,
    )
    # the force of the drag is that of rounding and of the method
    assert np.abs(recording.force_drag.values).max() < 1e-6


def test_heavy_sphere_does_not_follow_the_water():
    """The same with twice the mass leaves the particle: the test above can fail."""
    waves = (RegularWave(height=0.6, period=4.0, direction=0.4),)
    sim = simulation(body(20.0, **NEUTRAL), environment=Environment(waves=waves), record=0.1, step=2e-3)
    recording, path = drifting(sim, np.array([0.3, -0.5, 1.5]), lambda t, p: airy([(0.3, np.pi / 2, 0.4, 0.0)], p, t), 3.0)
    assert np.abs(recording.position.values[-1, 0] - path[-1]).max() > 0.1


def test_follows_a_random_sea():
    """In a JONSWAP sea over a bed at 15 m, against the library's own field (whose kinematics are tested elsewhere)."""
    from hydromechs.hydro import wave_components, wave_motion

    sea = Environment(waves=(JonswapSea(significant_height=1.0, peak_period=6.0, components=12),), water_depth=15.0)
    components = wave_components(sea, G, 4)
    sim = simulation(body(10.0, **NEUTRAL), environment=sea, record=0.1, step=2e-3, seed=4)
    recording, path = drifting(
        sim, np.array([0.3, -0.5, 3.0]), lambda t, p: wave_motion(components, [0, 0, 1.0], p, t).velocity, 10.0
    )
    np.testing.assert_allclose(recording.position.values[:, 0], path, atol=BEYOND)


def test_drifting_with_the_current_feels_no_force():
    """With the current's velocity and no spin there is no drag, no added mass force, no Munk moment.

    A neutral body also follows a current that changes with time, exactly: x = ∫ U dt.
    """
    drag = (
        hm.drag.ShapeDrag(
            shape=hm.geometry.Box(size=(0.5, 0.3, 0.2)).at((0.1, 0.05, -0.02), (0.1, 0.2, 0.3)), coefficient=(1.0, 1.1, 1.2)
        ),
        hm.drag.Damping(linear=(5.0, 6.0, 7.0, 1.0, 1.0, 1.0)),
        hm.drag.Foil(area=0.05, lift_slope=4.0, drag_parallel=0.02, drag_normal=1.5, position=(-0.4, 0, 0)),
    )
    hull = body(10.0, volume=10.0 / RHO, added=(7.0, 3.0, 12.0, 0.2, 0.3, 0.1), drag=drag)
    current = Current(times=(0.0, 2.0, 5.0), velocities=((0.3, -0.2, 0.0), (0.9, 0.4, 0.1), (0.9, 0.4, 0.1)))
    sim = simulation(hull, environment=Environment(current=current))
    R = quaternion_matrix(np.array(TURNED))
    sim.state = hm.State(q=np.array([0, 0, 5.0, *TURNED]), v=np.concatenate([R.T @ [0.3, -0.2, 0.0], np.zeros(3)]))
    recording = sim.run(4.0).recording
    t = recording.time.values
    a, b, c = np.array([0.3, -0.2, 0.0]), np.array([0.3, 0.3, 0.05]), np.array([0.9, 0.4, 0.1])
    early = np.minimum(t, 2.0)[:, None]
    want = a * early + 0.5 * b * early**2 + c * np.maximum(t - 2.0, 0.0)[:, None] + [0, 0, 5.0]
    # RK4 is exact for polynomials; rounding of 4000 steps
    np.testing.assert_allclose(recording.position.values[:, 0], want, atol=4000 * EPS * 10)
    np.testing.assert_allclose(recording.q.values[:, 3:7], np.tile(TURNED, (len(t), 1)), atol=1e-12)
    for name in ("force_drag", "force_added_mass"):
        assert np.abs(recording[name].values).max() < 1e-10, name
