"""Bodies at and near the surface in a simulation: slopes of waves, waves on a current, thrusters that come out, books of energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import hydromechs as hm
from hydromechs.control import FollowPath
from hydromechs.hydro import Current, Environment, FreeSurface, RegularWave, fluid_motion, wave_components


@pytest.mark.parametrize("axes", ["NED", "ENU"])
@pytest.mark.parametrize("com", [0.15, -0.05])
def test_a_float_follows_the_slope_of_a_long_wave(axes, com):
    """Verify that pitch over slope is 1 in a wave 100 times as long as the barge, with its weight above or below buoyancy."""
    down = 1.0 if axes == "NED" else -1.0
    length, width, height, draft = 2.0, 1.0, 0.4, 0.2
    mass = 1025.0 * length * width * draft
    tensor = mass / 12.0 * np.array([width**2 + height**2, length**2 + height**2, length**2 + width**2])
    barge = hm.Body(
        name="barge",
        joint=hm.joints.Free(),
        inertia=hm.Inertia(mass=mass, com=(0, 0, -down * com), tensor=(*tensor, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=length * width * height,
            added_mass=hm.added_mass.Diagonal((20, 50, 400, 10, 100, 10)),
            drag=hm.drag.Damping(linear=(20, 20, 900, 150, 400, 100)),
        ),
        shapes=(hm.geometry.Box(size=(length, width, height)),),
    )
    model = hm.Model(name="barge", bodies=[barge], world=hm.World(axes=axes))
    period, wave = 12.0, 1.0
    k = (2 * np.pi / period) ** 2 / 9.81
    water = Environment(waves=[RegularWave(height=wave, period=period)], surface=FreeSurface())
    ds = hm.Simulation(model, environment=water, step=0.01, record=0.1).run(5 * period).recording
    t, x, q = ds.time.values, ds.position.values[:, 0, 0], ds.orientation.values[:, 0]
    late = t > 3 * period
    slope = -k * wave / 2 * np.sin(k * x - 2 * np.pi / period * t) * down  # bow up is +y in NED, −y in ENU
    pitch = 2 * q[:, 2] / q[:, 0]
    ratio = (slope[late] @ pitch[late]) / (slope[late] @ slope[late])
    # the barge is 1/112 of the wave's length and its pitch resonance 0.1 of the wave's period: both change the ratio by about 1 %
    assert ratio == pytest.approx(1.0, abs=0.02)


def test_waves_on_a_current_still_fit_their_surface():
    """Verify Dv/Dt = −g ∇η at the mean surface for waves that a steady current carries along, to second order in the steepness."""
    height, U = 0.01, np.array([1.5, -0.4, 0.0])
    waves = wave_components(Environment(waves=[RegularWave(height=height, period=4.0, direction=0.3)]), 9.81, 0)
    uniform, down, t, h = Environment().profile, np.array([0.0, 0.0, 1.0]), 3.7, 1e-4

    def at(p):
        return fluid_motion(uniform, waves, down, np.asarray(p, dtype=float), t, U, np.zeros(3), U)

    p = np.array([2.0, 1.0, 0.0])
    slope = [(at(p + h * e).elevation - at(p - h * e).elevation) / (2 * h) for e in np.eye(3)[:2]]
    # (v·∇)v of the wave itself is of the order a² ω² k, 2e-3 of the linear part here
    np.testing.assert_allclose(at(p).acceleration[:2], -9.81 * np.array(slope), atol=3e-3 * 9.81 * np.abs(slope).max())


def test_a_float_in_two_waves_and_a_current_against_scipy():
    """Verify a floating sphere, with added mass and drag, against an equation of its own solved by SciPy, and the order of rk4.

        (m + w M_A) dv/dt = m g + w (m_f (a_w − g) + M_A (a_f − v_r × curl v_f)) − p(ẇ) M_A v_r − ½ w ρ π r² C |v_r| v_r

    with the water's acceleration a_f at its centre and a_w at the centre of its wet part; only above the mean surface does the
    field of the waves have a curl. The centre of the sphere goes up and down through the mean surface, where an acceleration that jumps would leave first order.
    """
    r, mass, rho, g, C, U = 0.3, 50.0, 1025.0, 9.81, 0.6, np.array([0.5, -0.2, 0.0])
    volume = 4 / 3 * np.pi * r**3
    m_f, M_A = rho * volume, 0.5 * rho * volume
    slow = 0.1 * np.sqrt(g / volume ** (1 / 3))
    waves = [(0.2, 2 * np.pi / 3.1, 0.4, 0.0), (0.1, 2 * np.pi / 2.3, -0.9, 1.0)]  # amplitude, ω, direction, phase
    down = np.array([0.0, 0.0, 1.0])

    def above(kd):
        return 1.0 - (1.0 - np.exp(np.minimum(kd, 0.0))) ** 4

    def velocity(p, t):
        out = U.copy()
        for a, omega, direction, phase in waves:
            k, n = omega**2 / g, np.array([np.cos(direction), np.sin(direction), 0.0])
            theta = k * n @ (p - U * t) - omega * t + phase
            kd = k * p[2]
            out += a * omega * np.exp(-kd) * above(kd) * (np.cos(theta) * n - np.sin(theta) * down)
        return out

    def elevation(p, t):
        return sum(
            a * np.cos(omega**2 / g * np.array([np.cos(d), np.sin(d), 0.0]) @ (p - U * t) - omega * t + phase)
            for a, omega, d, phase in waves
        )

    def across(p, t):
        e = 1e-4
        slope = [(elevation(p + e * x, t) - elevation(p - e * x, t)) / (2 * e) for x in np.eye(3)]
        length = np.linalg.norm(down + slope)
        return (down + slope) / length, np.clip((p[2] + elevation(p, t)) / length / r, -1.0, 1.0)

    def wet(p, t):
        _, s = across(p, t)
        return (1 + s) ** 2 * (2 - s) / 4

    def wet_center(p, t):
        n, s = across(p, t)
        return p + 3 / 16 * (1 - s * s) ** 2 * r / wet(p, t) * n

    def acceleration(p, t):
        e, flow = 1e-4, velocity(p, t)
        return (velocity(p + e * flow, t + e) - velocity(p - e * flow, t - e)) / (2 * e)

    def rate(t, y):
        p, v, e = y[:3], y[3:], 1e-4
        flow, a_f, a_w = velocity(p, t), acceleration(p, t), acceleration(wet_center(p, t), t)
        w, w_rate = wet(p, t), (wet(p + e * v, t + e) - wet(p - e * v, t - e)) / (2 * e)
        v_r = v - flow
        slopes = np.column_stack([(velocity(p + e * x, t) - velocity(p - e * x, t)) / (2 * e) for x in np.eye(3)])
        a_f = a_f + (slopes - slopes.T) @ v_r
        push = 0.5 * w_rate * (1 + w_rate / np.hypot(w_rate, slow))
        force = mass * g * down + w * (m_f * (a_w - g * down) + M_A * a_f) - push * M_A * v_r
        force -= 0.5 * w * rho * np.pi * r**2 * C * np.linalg.norm(v_r) * v_r
        return np.concatenate([v, force / (mass + w * M_A)])

    start = np.concatenate([-elevation(np.zeros(3), 0.0) * down, velocity(np.zeros(3), 0.0)])
    truth = solve_ivp(rate, (0.0, 6.0), start, method="DOP853", rtol=1e-11, atol=1e-12, dense_output=True)
    body = hm.Body(
        name="float",
        joint=hm.joints.Free(position=tuple(start[:3]), velocity=(*start[3:], 0, 0, 0)),
        inertia=hm.Inertia(mass=mass, tensor=(2, 2, 2, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=volume,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=r)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=r), coefficient=C),
        ),
        shapes=(hm.geometry.Sphere(radius=r),),
    )
    model = hm.Model(name="float", bodies=[body], world=hm.World(water_density=rho, gravity=g))
    water = Environment(
        waves=[RegularWave(height=2 * a, period=2 * np.pi / w, direction=d, phase=f) for a, w, d, f in waves],
        current=Current(velocity=tuple(U)),
        surface=FreeSurface(),
    )
    depth = truth.sol(np.linspace(0, 6, 200))[2]
    assert np.sum(np.diff(np.sign(depth)) != 0) >= 3
    parts = [wet(truth.sol(t)[:3], t) for t in np.linspace(0, 6, 200)]
    assert 0.0 < min(parts) < max(parts) - 0.15 < 0.85
    off = []
    for h in (0.04, 0.02, 0.01, 0.005):
        ds = hm.Simulation(model, environment=water, step=h, record=0.2).run(6.0).recording
        off.append(np.abs(ds.position.values[:, 0] - truth.sol(ds.time.values)[:3].T).max())
    orders = np.log2(np.array(off[:-1]) / off[1:])
    # differences of 1e-4 in the reference leave 1e-8 of the accelerations
    assert off[-1] < 2e-7, off
    assert orders[:2].mean() > 3.7, (off, orders)
    for method, order in (("euler", 1), ("semi_implicit_euler", 1), ("linearly_implicit", 2)):
        off = []
        for h in (0.002, 0.001):
            ds = hm.Simulation(model, environment=water, step=h, record=0.2, integrator=method).run(6.0).recording
            off.append(np.abs(ds.position.values[:, 0] - truth.sol(ds.time.values)[:3].T).max())
        assert np.log2(off[0] / off[1]) > order - 0.2, (method, off)


def test_a_thruster_in_the_air_gives_nothing():
    body = hm.Body(name="hull", joint=hm.joints.Free(), inertia=hm.Inertia(mass=10.0, tensor=(1, 1, 1, 0, 0, 0)), frames=(hm.Frame("jet"),),
                   hydro=hm.Hydro(volume=0.01), shapes=(hm.geometry.Sphere(radius=0.13),))  # fmt: skip
    model = hm.Model(name="hull", bodies=[body])
    jet = hm.Thruster(name="jet", frame="jet", curve=hm.actuation.ideal_curve(50.0, 50.0), radius=0.2)
    forces = []
    for depth in (-5.0, -0.1, 0.0, 0.1, 5.0):
        start = model.initial()
        start.q[2] = depth
        sim = hm.Simulation(model, components=[jet], environment=Environment(surface=FreeSurface()), state=start)
        sim.command = {"jet": 50.0}
        forces.append(float(sim.observe()["actuator_force"][0]))
    assert forces[0] == 0.0 and forces[4] == 50.0 and forces[2] == pytest.approx(25.0)
    assert 0.0 < forces[1] < 25.0 < forces[3] < 50.0


class Spring:
    """Hydrodynamics of a user: a buoyancy that grows with depth, with its potential."""

    def added_mass(self, body, motion):
        return np.diag([5.0, 6.0, 7.0, 0.1, 0.1, 0.1])

    def wrench(self, body, motion):
        down = motion.R_WB.T @ np.array([0.0, 0.0, 1.0])
        return np.concatenate([-(150.0 * motion.depth) * down - 3.0 * motion.velocity[:3], np.zeros(3)])

    def potential_energy(self, body, motion):
        return 75.0 * motion.depth * motion.depth


def test_the_energy_balance_close_with_hydrodynamics_of_a_user():
    body = hm.Body(
        name="hull", joint=hm.joints.Free(), inertia=hm.Inertia(mass=10.0, tensor=(1, 1, 1, 0, 0, 0)), hydro=Spring()
    )
    model = hm.Model(name="hull", bodies=[body])
    run = hm.Simulation(model, step=0.002).run(2.0)
    assert float(np.abs(run.recording.kinetic_energy_body).max()) > 5.0
    assert float(np.abs(run.recording.energy_residual).max()) < 1e-9  # rk4 at h ω = 0.006


def test_a_turn_does_not_turn_the_integral():
    """Verify that a vehicle that turns about in a current is pushed off by less than when it met the current first."""
    model = hm.load("bluerov2_heavy_alpha5")
    frames = [name for name in model.frames if name.startswith("thruster")]
    curve = hm.actuation.ideal_curve(60.0, 60.0)
    turn = [
        {"t": 0, "position": [0, 0, 0]},
        {"t": 40, "position": [0, 0, 0]},
        {"t": 46, "position": [0, 0, 0], "heading_deg": 180},
    ]
    sim = hm.Simulation(
        model,
        environment=Environment(current=Current(velocity=(0.3, 0.2, 0.0))),
        components=[
            *[hm.Thruster(name=f, frame=f, curve=curve) for f in frames],
            *(hm.drives.Servo(joint=joint, stiffness=5.0, damping=0.2) for joint in ("shoulder", "upper_arm", "elbow")),
            hm.drives.JointFriction(joint="wrist", viscous=0.01),
        ],
        controller=FollowPath(waypoints=turn, frequency=1.5, period=0.05),
        step=0.002,
        record=0.05,
    )
    ds = sim.run(60.0).recording
    off = np.linalg.norm(ds.position.sel(body="vehicle").values[:, :2], axis=1)
    t = ds.time.values
    assert off[t > 40].max() < 0.5 * off[t < 20].max()
