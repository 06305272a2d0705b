"""Sensors against closed forms, differences of recorded motions, and the statistics of their noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.instruments import Instruments
from tests.sensed import Watch, sensed

import hydromechs as hm
from hydromechs import geometry
from hydromechs.contact import Grasp, LinearContact, Material, Terrain
from hydromechs.navigation import ErrorStateFilter
from hydromechs.navigation._covariance import difference, moved
from hydromechs.sensors import (
    Compass,
    ContactSwitch,
    DepthGauge,
    Dvl,
    ForceTorque,
    Imu,
    JointEncoders,
    Noise,
    Tachometer,
    Usbl,
)
from hydromechs.spatial import quaternion_exp, quaternion_matrix, quaternion_product

EPS = np.finfo(float).eps
TURNED = tuple(quaternion_exp(np.array([0.5, -0.8, 0.3])))
R = quaternion_matrix(TURNED)
LEVER = hm.Origin((0.4, -0.3, 0.2), (0.2, -0.5, 1.1))
GROUND = Material(law=LinearContact(stiffness=1e4))


def body(wet=False, velocity=(0.0,) * 6, tensor=(0.3, 0.4, 0.5, 0, 0, 0), com=(0, 0, 0)):
    water = hm.Hydro(volume=0.004, added_mass=hm.added_mass.Diagonal((4.0, 4.0, 4.0, 0, 0, 0))) if wet else None
    return hm.Body(
        name="body",
        joint=hm.joints.Free(orientation=TURNED, velocity=velocity),
        inertia=hm.Inertia(mass=8.0, tensor=tensor, com=com),
        hydro=water,
        frames=(hm.Frame("place", LEVER),),
    )


def watched(model, sensors, duration, **options):
    """Times (n,) and signals by name (n,) of a run without control."""
    sim = hm.Simulation(model, controller=sensed(Watch(sensors), sensors=sensors), **options)
    run = sim.run(duration)
    rows = np.array(sim.controller.rows)
    return rows[:, 0], dict(zip(sim.signals, rows[:, 1:].T, strict=True)), run


def readings(model, sensors, terrain=(), **options):
    """True values of sensors at the start."""
    sim = hm.Simulation(model, **options)
    instruments = Instruments(sim.plant, sensors, sim.step_size, terrain)
    return [r.value for r in instruments.sample(instruments.pack.views(instruments.start()), sim.state)]


def now(model, sensors, terrain=(), **options):
    """True values of one sensor at the start."""
    return readings(model, sensors, terrain, **options)[0]


# -- inertial -------------------------------------------------------------------------------------------------------------------


def test_accelerometer_of_a_dry_free_body_reads_the_force_and_not_gravity():
    """A free body that a force pushes: f = F/m in its axes, wherever gravity points; without a force, 0."""
    sim_options = {"components": [hm.actuation.ExternalWrench(body="body")]}
    model = hm.Model(name="free", bodies=[body()])
    sim = hm.Simulation(model, **sim_options)
    sim.set_wrench("body", [8.0, -4.0, 2.0, 0, 0, 0])
    instruments = Instruments(sim.plant, [Imu(name="imu", frame="body", rate=100.0)], sim.step_size)
    memory = instruments.pack.views(instruments.start())
    f = instruments.sample(memory, sim.state)[0].value
    np.testing.assert_allclose(f, [1.0, -0.5, 0.25, 0, 0, 0], atol=20 * EPS * 9.81)
    assert np.abs(now(model, [Imu(name="imu", frame="body", rate=100.0)])).max() <= 20 * EPS * 9.81


def test_accelerometer_in_water_reads_the_acceleration_less_gravity():
    """A sphere of mass m, volume V, added mass m_a sinks from rest with a = (m − ρV) g/(m + m_a): f = a − g, turned."""
    model = hm.Model(name="sinking", bodies=[body(wet=True)])
    g = model.world.gravity
    a = (8.0 - 1025.0 * 0.004) * g / 12.0
    f = now(model, [Imu(name="imu", frame="place", rate=100.0)])
    np.testing.assert_allclose(f[:3], LEVER.R.T @ R.T @ np.array([0, 0, a - g]), atol=50 * EPS * g)


def test_lever_arm_counts():
    """A ball that spins: f = ω × (ω × p) at the frame, in its axes; the gyroscope turns with the frame."""
    w = np.array([1.5, -2.0, 0.7])
    model = hm.Model(name="spin", bodies=[body(velocity=(0.3, 0.2, -0.4, *w), tensor=(0.4, 0.4, 0.4, 0, 0, 0))])
    y = now(model, [Imu(name="imu", frame="place", rate=100.0)])
    p = np.array(LEVER.xyz)
    np.testing.assert_allclose(y[:3], LEVER.R.T @ np.cross(w, np.cross(w, p)), atol=50 * EPS * 9.81)
    np.testing.assert_allclose(y[3:], LEVER.R.T @ w, atol=20 * EPS)


def test_imu_agrees_with_differences_of_recorded_poses():
    """A tumbling body in water in a current, with an offset centre of mass: second differences of the frame's place."""
    model = hm.Model(
        name="tumbling", bodies=[body(wet=True, velocity=(0.3, 0.2, -0.4, 0.9, -0.6, 0.5), com=(0.05, -0.02, 0.03))]
    )
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.3, -0.2, 0.1)))
    imu = Imu(name="imu", frame="place", rate=1000.0)
    _, signals, run = watched(model, [imu], 0.2, environment=current, record=0.001, step=0.001)
    ds = run.recording
    Rs = np.array([quaternion_matrix(q) for q in ds.orientation.values[:, 0]])
    p = ds.position.values[:, 0] + Rs @ np.array(LEVER.xyz)
    h = 0.001
    a = (p[2:] - 2 * p[1:-1] + p[:-2]) / h**2
    axes = Rs @ LEVER.R
    f = np.einsum("tji,tj->ti", axes[1:-1], a - model.world.gravity_vector)
    S = np.einsum("tji,tjk->tik", axes[:-2], axes[2:])
    w = np.stack([S[:, 2, 1] - S[:, 1, 2], S[:, 0, 2] - S[:, 2, 0], S[:, 1, 0] - S[:, 0, 1]], axis=1) / (4 * h)
    measured = np.stack([signals[f"imu.{x}"] for x in ("fx", "fy", "fz", "wx", "wy", "wz")], axis=1)
    means = 0.5 * (measured[1:-1] + measured[2:])  # over the period before and the one after: as central as f and w
    # means of f are off by h²/8 d²f/dt² (some 5e-6), second differences by less, rounding by 4 eps |p|/h² (some 1e-9)
    np.testing.assert_allclose(means[:, :3], f[: len(means)], atol=1e-5)
    np.testing.assert_allclose(means[:, 3:], w[: len(means)], atol=3e-6)


def test_imu_loses_no_blow_between_its_readings():
    """A body that is thrown about: strapdown with ideal readings has velocity and attitude at each to rounding."""
    rng = np.random.default_rng(2)
    model = hm.Model(name="struck", bodies=[body()])
    sim = hm.Simulation(model)
    imu = Imu(name="imu", frame="place", rate=50.0, misalignment=0.1)
    instruments = Instruments(sim.plant, [imu], sim.step_size)
    navigator = ErrorStateFilter().on(model, [imu])
    memory, state = instruments.pack.views(instruments.start()), sim.state
    first = instruments.pack.views(instruments.start())
    instruments.sample(first, state)
    turned = quaternion_exp(first["sensor turns"])  # from the frame to the IMU, which is misaligned

    def true(state):
        x = navigator.true(state)
        return np.concatenate([x[:6], quaternion_product(x[6:10], turned), x[10:]])

    x = true(state)
    for k in range(20):
        y = instruments.sample(memory, state)[0].value
        if k:
            x = moved(x, y[:3], y[3:], 0.02, model.world.gravity_vector, 0.0)
        off = difference(true(state), x)
        # k steps of rounding, of velocities and specific forces of some 10 and 500
        np.testing.assert_allclose(off[3:9], 0.0, atol=100 * (k + 1) * EPS * 10)
        q = np.concatenate([state.q[:3], quaternion_product(state.q[3:], quaternion_exp(0.3 * rng.normal(size=3)))])
        state = replace(state, t=0.02 * (k + 1), q=q, v=rng.normal(size=6))


def test_imu_starts_again_after_a_gap():
    """Without a reading a period ago it reads the instant, as at its first."""
    model = hm.Model(name="free", bodies=[body()])
    sim = hm.Simulation(model)
    instruments = Instruments(sim.plant, [Imu(name="imu", frame="place", rate=50.0)], sim.step_size)
    memory, moving = instruments.pack.views(instruments.start()), replace(sim.state, v=np.array([1.0, 0, 0, 0, 0, 0]))
    read = [instruments.sample(memory, replace(moving, t=t))[0].value for t in (0.0, 0.06, 0.08)]
    np.testing.assert_allclose(read[0], 0.0, atol=20 * EPS * 9.81)
    assert (read[1] == read[0]).all()
    # it did not fall within 0.02 s
    np.testing.assert_allclose(read[2][:3], LEVER.R.T @ R.T @ -model.world.gravity_vector, atol=20 * EPS * 9.81)


@pytest.mark.parametrize("wet", [False, True])
def test_recorded_acceleration_is_the_rate_of_the_recorded_velocity(wet):
    """Of a vehicle with a joint, in differences over five points, dry and in a current."""
    arm = hm.Body(
        name="arm",
        parent="body",
        joint=hm.joints.Revolute(placement=hm.Origin((0.3, 0.1, 0.2), (0.4, 0.2, -0.3)), axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=2.0, com=(0.3, 0.02, 0), tensor=(0.01, 0.05, 0.05, 0, 0, 0)),
    )
    model = hm.Model(name="pair", bodies=[body(wet=wet, velocity=(0.3, 0.2, -0.4, 0.9, -0.6, 0.5)), arm])
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.3, -0.2, 0.1)))
    ds = hm.Simulation(model, environment=current, record=0.001).run(0.05).recording
    v = ds.velocity.values
    rate = (8.0 * (v[3:-1] - v[1:-3]) - (v[4:] - v[:-4])) / 0.012
    # five points: h⁴/30 of the fifth derivative (some 1e4/s⁵), and rounding, eps |v|/h
    np.testing.assert_allclose(ds.acceleration.values[2:-2], rate, atol=1e-9)


# -- others ------------------------------------------------------------------------------------------------------------------------


def test_dvl_beams_depth_compass_and_usbl_have_their_geometry():
    V = np.array([0.3, 0.2, -0.4, 0.9, -0.6, 0.5])
    model = hm.Model(name="free", bodies=[body(velocity=tuple(V))])
    floor = Terrain(name="floor", material=GROUND, shape=geometry.Plane.through((0, 0, 6.0), (0, 0, -1)))
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.5, 0.1, 0.0)))
    v = LEVER.R.T @ (V[:3] + np.cross(V[3:], LEVER.xyz))
    c = LEVER.R.T @ R.T @ [0.5, 0.1, 0.0]
    dvl = Dvl(name="dvl", frame="place", rate=10.0, water_noise=Noise())
    y = now(model, [dvl], [floor], environment=current)
    Z = R @ LEVER.R @ dvl.beams.T  # beams in the world
    place = R @ np.array(LEVER.xyz)
    reach = (6.0 - place[2]) / Z[2]
    locked = (reach > 0) & (reach < 50.0)
    np.testing.assert_allclose(y[:4], np.where(locked, dvl.beams @ v, np.nan), atol=20 * EPS)
    np.testing.assert_allclose(y[4:], np.where(locked, np.nan, dvl.beams @ (v - c)), atol=20 * EPS)
    near = now(model, [Dvl(name="dvl", frame="place", rate=10.0, range=0.5 * reach.max())], [floor])
    assert np.isnan(near).any()
    assert now(model, [DepthGauge(name="depth", frame="place", rate=10.0)]) == pytest.approx(place[2], abs=10 * EPS)
    x = (R @ LEVER.R)[:, 0]
    assert now(model, [Compass(name="c", frame="place", rate=10.0)]) == pytest.approx(math.atan2(x[1], x[0]), abs=10 * EPS)
    usbl = Usbl(name="usbl", frame="place", rate=1.0, transceiver=(10.0, 2.0, 1.0))
    np.testing.assert_allclose(now(model, [usbl]), place - [10.0, 2.0, 1.0], atol=20 * EPS)


@pytest.mark.parametrize("solid", ["plane", "box", "sphere"])
def test_dvl_finds_the_ground_along_its_beams(solid):
    """Level, 4 m over the ground with beams of 30°: the distance is that of the geometry."""
    tilt = math.radians(30.0)
    grounds = {
        "plane": (
            Terrain(name="g", material=GROUND, shape=geometry.Plane.through((0, 0, 4), (0, 0, -1))),
            4 / math.cos(tilt),
            1e-11,
        ),
        "box": (
            Terrain(name="g", material=GROUND, origin=hm.Origin((0, 0, 5), (0, 0, 0)), shape=geometry.Box(size=(40, 40, 2))),
            4 / math.cos(tilt),
            1e-11,
        ),
        # |r b − c| = 6 for a sphere about (0, 0, 10): r = 10 cos − √(36 − 100 sin²)
        "sphere": (
            Terrain(name="g", material=GROUND, shape=geometry.Sphere(radius=6.0).at((0, 0, 10))),
            10 * math.cos(tilt) - math.sqrt(36 - 100 * math.sin(tilt) ** 2),
            1e-11,
        ),
    }
    ground, distance, tolerance = grounds[solid]
    model = hm.Model(
        name="level",
        bodies=[hm.Body(name="body", joint=hm.joints.Free(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))],
    )
    ranges = {"far": distance + tolerance, "near": distance - tolerance}
    sensors = [Dvl(name=name, frame="body", rate=1.0, tilt=tilt, range=x) for name, x in ranges.items()]
    far, near = readings(model, sensors, [ground])
    assert np.isfinite(far).all() and np.isnan(near).all()


def test_dvl_beams_that_pass_beside_a_sphere_do_not_lock():
    """Beams of 30° pass a point 10 m below at 5 m."""
    model = hm.Model(
        name="free", bodies=[hm.Body(name="b", joint=hm.joints.Free(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))]
    )
    dvl = Dvl(name="dvl", frame="b", rate=1.0, tilt=math.radians(30.0))
    for radius, locked in ((4.99, False), (5.01, True)):
        y = now(model, [dvl], [Terrain(name="g", material=GROUND, shape=geometry.Sphere(radius=radius).at((0, 0, 10)))])
        assert np.isfinite(y).tolist() == [locked] * 4


def arm_with_load(closed):
    """A hinged arm that holds a box in a grasp at its end."""
    arm = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(placement=hm.Origin((0, 0, 0), (0.3, 0.2, 0.1)), axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=3.0, com=(0.4, 0.02, 0.01), tensor=(0.02, 0.1, 0.1, 0, 0, 0)),
        frames=(hm.Frame("hand", hm.Origin((0.8, 0, 0), (0, 0, 0))),),
    )
    hand = hm.Origin((0, 0, 0), (0.3, 0.2, 0.1)).R @ [0.8, 0, 0]
    load = hm.Body(
        name="load",
        joint=hm.joints.Free(position=tuple(hand), orientation=tuple(quaternion_from_rpy((0.3, 0.2, 0.1)))),
        inertia=hm.Inertia(mass=2.0, com=(0.1, 0.05, -0.03), tensor=(0.02, 0.03, 0.04, 0, 0, 0)),
    )
    model = hm.Model(name="holding", bodies=[arm, load])
    return model, {
        "components": [
            Grasp(name="grip", holder="hand", held="load", closed=closed),
            hm.drives.Torque(joint="arm"),
        ],
    }


def quaternion_from_rpy(rpy):
    from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix

    return quaternion_from_matrix(matrix_from_rpy(rpy))


@pytest.mark.parametrize("closed", [False, True])
def test_force_torque_carries_all_that_hangs_on_it(closed):
    """About the joint's axis it is the drive's torque; in all, momentum changes by it and by weight: Σ m (a_c − g)."""
    model, options = arm_with_load(closed)
    commands = {"arm": 7.0}
    y = now(model, [ForceTorque(name="ft", frame="arm", rate=10.0)], commands=commands, **options)
    assert y[4] == pytest.approx(7.0, abs=1e3 * EPS * 20.0)
    observed = hm.Simulation(model, commands=commands, **options).observe()
    turns = [quaternion_matrix(q) for q in observed["orientation"]]
    p = np.zeros(3)
    for i in range(2 if closed else 1):
        com = np.array(model.bodies[i].inertia.com)
        a, Ri = observed["acceleration"][i], turns[i]  # at rest: no centripetal parts
        p += model.bodies[i].inertia.mass * (Ri @ (a[:3] + np.cross(a[3:], com)) - model.world.gravity_vector)
    np.testing.assert_allclose(turns[0] @ y[:3], p, atol=1e3 * EPS * 50.0)


@pytest.mark.parametrize("wet", [False, True])
def test_force_torque_on_a_fixed_tool_in_motion(wet):
    """The same reading through a fixed joint as through a hinge that the motion does not turn, dry and in water."""
    J, readings = hm.joints, []
    place = hm.Origin((1.0, 0.0, 0.0))
    water = (
        hm.Hydro(volume=0.001, buoyancy_center=(0.4, 0, 0), added_mass=hm.added_mass.Diagonal((1, 3, 2, 0, 0.1, 0)))
        if wet
        else None
    )
    for joint in (J.Fixed(placement=place), J.Revolute(axis=(0, 0, 1), placement=place)):
        arm = hm.Body(
            name="arm",
            joint=J.Revolute(axis=(0, 1, 0), velocity=3.0),
            inertia=hm.Inertia(mass=3.0, com=(0.5, 0, 0.1), tensor=(0.01, 0.02, 0.03, 0, 0, 0)),
        )
        tool = hm.Body(
            name="tool",
            parent="arm",
            joint=joint,
            inertia=hm.Inertia(mass=2.0, com=(0.5, 0, 0.2), tensor=(0.015, 0.02, 0.03, 0, 0.002, 0)),
            hydro=water,
        )
        tip = hm.Body(
            name="tip",
            parent="tool",
            joint=J.Fixed(placement=hm.Origin((0.3, 0, 0))),
            inertia=hm.Inertia(mass=0.5, com=(0.1, 0, 0), tensor=(0.01,) * 3 + (0,) * 3),
        )
        readings.append(
            now(
                hm.Model(bodies=[arm, tool, tip], world=hm.World(gravity=9.81 if wet else 0.0)),
                [ForceTorque(name="ft", frame="tool", rate=10.0)],
            )
        )
    np.testing.assert_allclose(readings[0], readings[1], atol=1e-12 * np.abs(readings[1]).max())
    if not wet:  # no weight, and it turns steadily
        assert readings[0][0] == pytest.approx(-9.0 * (2.0 * 1.5 + 0.5 * 1.4), rel=1e-12)


def test_encoders_tachometer_and_switch():
    rov = hm.load("bluerov2_heavy_alpha5")
    thruster = hm.Thruster(name="t", frame="thruster_1", curve=hm.actuation.linear_curve(50.0, 40.0))
    speed = now(
        rov, [Tachometer(name="n", thruster="t", full_speed=300.0, rate=10.0)], components=[thruster], commands={"t": -0.3}
    )
    assert speed == pytest.approx(-300.0 * math.sqrt(0.3 * 40.0 / 50.0), rel=1e-12)
    names = ("elbow", "shoulder")
    y = now(rov, [JointEncoders(name="e", joints=names, rate=10.0)])
    assert y.tolist() == [*(rov.initial().q[rov.joint_part(n).q][0] for n in names), 0.0, 0.0]
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(position=(0, 0, -0.2)),
        inertia=hm.Inertia(mass=2.0, tensor=(0.01, 0.01, 0.01, 0, 0, 0)),
        shapes=(hm.geometry.Sphere(radius=0.1),),
    )
    floor = Terrain(name="floor", material=GROUND, shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)))
    model = hm.Model(name="drop", bodies=[ball])
    switch = ContactSwitch(name="s", frame="ball", rate=1000.0, threshold=3.0)
    _, signals, run = watched(model, [switch], 0.3, components=[floor], record=0.001)
    force = -run.recording.force_contact.values[:-1, 0, 2]
    assert signals["s.closed"].tolist() == (force > 3.0).astype(float).tolist() and 0 < signals["s.closed"].mean() < 1


# -- errors --------------------------------------------------------------------------------------------------------------------------


def samples(sensor, n, seed=0, terrain=()):
    """Measurements of a body that drifts freely, shape (n, channels); the plant is not moved."""
    model = hm.Model(name="free", world=hm.World(gravity=0.0), bodies=[body()])
    sim = hm.Simulation(model, seed=seed)
    instruments = Instruments(sim.plant, [sensor], sim.step_size, terrain)
    memory = instruments.pack.views(instruments.start())
    rows = [instruments.sample(memory, replace(sim.state, t=k / sensor.rate)) for k in range(n)]
    return np.array([row[0].value for row in rows if row])


def test_noise_density_and_random_walk_are_those_of_theory():
    """ARW: the integral of white noise over τ has the deviation N √τ; the bias walks by K √t (Allan's two slopes)."""
    rate, n, N, K = 50.0, 8_000, 0.02, 0.03
    y = samples(Imu(name="imu", frame="body", rate=rate, gyroscope=Noise(density=N), accelerometer=Noise(walk=K)), n)
    white = y[:, 3:]
    m = 100
    angle = white.reshape(n // m, m, 3).sum(axis=1) / rate
    # the deviation of k normal numbers is off by 1/√(2k): 3.9 sigma for three groups of 80
    assert np.abs(angle.std(axis=0) / (N * math.sqrt(m / rate)) - 1).max() < 3.9 / math.sqrt(2 * n / m)
    assert np.abs(white.std() / (N * math.sqrt(rate)) - 1) < 3.9 / math.sqrt(6 * n)
    steps = np.diff(y[::m, :3], axis=0)
    assert np.abs(steps.std() / (K * math.sqrt(m / rate)) - 1) < 3.9 / math.sqrt(6 * len(steps))
    assert abs(np.corrcoef(white[1:, 0], white[:-1, 0])[0, 1]) < 3.9 / math.sqrt(n)


def test_bias_resolution_limits_and_drop_outs():
    biases = np.array(
        [samples(DepthGauge(name="d", frame="place", rate=1.0, noise=Noise(bias=0.4)), 1, seed)[0, 0] for seed in range(25)]
    )
    depth = (R @ np.array(LEVER.xyz))[2]
    assert abs((biases - depth).std() / 0.4 - 1) < 3.9 / math.sqrt(50)
    y = samples(DepthGauge(name="d", frame="place", rate=1.0, noise=Noise(sigma=1.0, resolution=0.25, limit=1.5)), 200)
    assert set(np.unique(y)) <= set(np.arange(-1.5, 1.51, 0.25)) and y.max() == 1.5
    lost = np.isnan(samples(DepthGauge(name="d", frame="place", rate=10.0, dropout=0.2, outages=((5.0, 6.0),)), 1000)).ravel()
    assert lost[50:60].all() and abs(np.delete(lost, slice(50, 60)).mean() - 0.2) < 3.9 * 0.4 / math.sqrt(990)


def test_usbl_is_worse_across_than_along():
    usbl = Usbl(name="u", frame="body", rate=1.0, transceiver=(30.0, -40.0, 0.0), range_sigma=0.1, bearing_sigma=0.02)
    r = samples(usbl, 2000) - [-30.0, 40.0, 0.0]
    u = np.array([-0.6, 0.8, 0.0])
    across = r - np.outer(r @ u, u)
    assert abs((r @ u).std() / 0.1 - 1) < 3.9 / math.sqrt(4000)
    assert abs(across.std() * math.sqrt(3 / 2) / 1.0 - 1) < 3.9 / math.sqrt(8000)
    np.testing.assert_allclose(np.cov(r.T), usbl.covariance(np.array([-30.0, 40.0, 0.0]), None), atol=0.1)


def test_misalignment_turns_what_is_measured():
    """A small rotation, the same in every sample, of the size that was said."""
    model = hm.Model(name="free", bodies=[body(velocity=(0, 0, 0, 0.5, -0.2, 0.3))])
    w = np.array([0.5, -0.2, 0.3])
    off = []
    for seed in range(20):
        y = now(model, [Imu(name="imu", frame="body", rate=10.0, misalignment=0.01)], seed=seed)[3:]
        assert np.linalg.norm(y) == pytest.approx(np.linalg.norm(w), rel=1e-12)
        off.append(np.linalg.norm(y - w) ** 2)
    # |φ × ω|² = 2 σ² |ω|² on average over φ; its deviation over 20 draws is 1/√20 of it
    assert abs(np.mean(off) / (2 * 1e-4 * (w @ w)) - 1) < 3.9 / math.sqrt(20)


def test_measurements_come_late_and_in_order():
    """0.25 s late at 10 Hz: what is shown at t was measured at t − 0.25, to the tick."""
    model = hm.Model(
        name="falling",
        bodies=[hm.Body(name="body", joint=hm.joints.Free(), inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)))],
    )
    sensors = [Imu(name="imu", frame="body", rate=100.0), DepthGauge(name="late", frame="body", rate=10.0, latency=0.25)]
    times, signals, _ = watched(model, sensors, 1.0, step=0.01, record=0.01)
    shown = signals["late.depth"]
    taken = np.floor((times - 0.25) * 10 + 1e-6) / 10
    expected = np.where(taken >= 0, 0.5 * 9.81 * np.maximum(taken, 0) ** 2, np.nan)
    np.testing.assert_allclose(shown, expected, atol=1e-12)


def test_noise_does_not_depend_on_other_sensors_or_on_the_start():
    """A function of seed, name and sample number alone."""
    depth = DepthGauge(name="depth", frame="body", rate=10.0, noise=Noise(sigma=1.0))
    model = hm.Model(name="free", world=hm.World(gravity=0.0), bodies=[body()])
    alone = watched(model, [depth], 1.0)[1]["depth.depth"]
    both = watched(model, [Compass(name="other", frame="body", rate=20.0, noise=Noise(sigma=1.0)), depth], 1.0)[1][
        "depth.depth"
    ]
    late = watched(model, [depth], 0.5, state=hm.State(t=0.5, q=model.initial().q, v=model.initial().v))[1]["depth.depth"]
    assert both[::2].tolist() == alone.tolist() and late.tolist() == alone[5:].tolist()
    assert watched(model, [depth], 1.0, seed=1)[1]["depth.depth"][0] != alone[0]


# -- what is rejected ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: [Imu(name="imu", frame="nowhere", rate=100.0)], r"sensor 'imu': free has no frame or body 'nowhere'.*available: place, body"),
        (lambda: [Imu(name="a", frame="body", rate=100.0), Compass(name="c", frame="body", rate=30.0)], r"'c' measures at 30 Hz.*100 Hz of 'a'.*set 33.3333 or 25 Hz"),
        (lambda: [Imu(name="a", frame="body", rate=100.0), Compass(name="a", frame="body", rate=10.0)], r"several sensors are named 'a'"),
        (lambda: [Compass(name="c", frame="body", rate=0.0)], r"sensor 'c'.rate is 0, must be finite and > 0"),
        (lambda: [Compass(name="c", frame="body", rate=1.0, outages=((3.0, 2.0),))], r"outages is \[3.0, 2.0\], must be increasing"),
        (lambda: [JointEncoders(name="e", joints=("elbow",), rate=10.0)], r"sensor 'e': free has no joint 'elbow'"),
        (lambda: [JointEncoders(name="e", joints=("body",), rate=10.0)], r"joint 'body' is free; use encoders only for revolute"),
        (lambda: [Tachometer(name="n", thruster="t", full_speed=1.0, rate=1.0)], r"sensor 'n'.thruster is 't', must be the name of a thruster; available: none"),
        (lambda: [ForceTorque(name="ft", frame="body", rate=10.0)], r"'body' has no parent"),
        (lambda: [Imu(name="imu", frame="body", rate=300.0)], r"period is 0.00333333 s, must be an integer multiple of the step"),
        (list, "sensors is empty"),
    ],
)  # fmt: skip
def test_what_is_rejected_is_named(make, words):
    with pytest.raises((ValueError, KeyError), match=words):
        hm.Simulation(hm.Model(name="free", bodies=[body()]), controller=sensed(sensors=make()))
