"""The navigation filter: derivatives, consistency over seeds, late and missing measurements, logs, resuming."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import xarray
from benchmarks.navigation_study import (
    FILTER,
    FLOOR,
    FULL_NAVIGATION,
    IMU,
    QUICK_NAVIGATION,
    RATE,
    SENSORS,
    THRUSTERS,
    Flight,
    measure_navigation,
    small_vehicle,
)
from tests.sensed import Watch, sensed, watch_of

import hydromechs as hm
from hydromechs.control import FollowPath
from hydromechs.navigation import ErrorStateFilter, Navigation, log_of
from hydromechs.sensors import DepthGauge, Dvl, Imu, JointEncoders, Noise, Reading, Usbl
from hydromechs.spatial import quaternion_exp

DEPTH = SENSORS[2]


@pytest.fixture(scope="module")
def flight():
    """A curved flight of 8 s with its filter."""
    return Flight(8.0)


@pytest.fixture(scope="module")
def instruments(flight):
    return flight.instruments({})


@pytest.fixture
def navigator(flight):
    return flight.navigator


# -- equations -----------------------------------------------------------------------------------------------------------------


def test_compiled_derivatives_are_differences(navigator):
    """F and H against central differences of the equations themselves, in floats."""
    from hydromechs.navigation._covariance import Believed, difference, moved, plus

    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=6), quaternion_exp(np.array([0.4, -0.9, 0.3])), 0.1 * rng.normal(size=9)])
    u, h = np.concatenate([rng.normal(size=3) - [0, 0, 9.8], rng.normal(size=3)]), 1e-5

    def numerical(f):
        return np.stack([(f(plus(x, h * e)) - f(plus(x, -h * e))) / (2 * h) for e in np.eye(18)], axis=1)

    def after(y):
        return moved(y, u[:3], u[3:], 0.04, np.array([0, 0, 9.81]), 0.01)

    fusion = navigator.fusion
    (F,) = fusion.slope().program()(np.zeros(18), x, u, 0.04)
    # central differences: h² of third derivatives and eps/h
    np.testing.assert_allclose(F, numerical(lambda y: difference(after(y), after(x))), atol=1e-9)
    H = np.concatenate([see.program(np.zeros(18), x, u[3:])[1] for see in fusion.expected])
    world = navigator.model.world

    def seen(y):
        places = [Believed.at(y, u[3:], *fusion.place(s)) for s in navigator.aids]
        return np.concatenate([s.expected(p, world) for s, p in zip(navigator.aids, places, strict=True)])

    np.testing.assert_allclose(H, numerical(seen), atol=1e-8)


def test_covariance_grows_as_that_of_many_runs(navigator):
    """4,000 runs of the strapdown equations with noisy readings and biases, 4 s, against F P Fᵀ + Q."""
    n, steps, fusion = 4000, 100, navigator.fusion
    rng = np.random.default_rng(5)
    x = np.concatenate([[0, 0, 10], [0.5, 0, 0.1], quaternion_exp(np.array([0.2, -0.1, 0.5])), np.zeros(9)])
    m = navigator.pack.views(np.zeros(navigator.pack.size))
    navigator.start(m, x, 0.0)
    P0 = navigator.first_covariance(x)[:15, :15]
    draws = rng.standard_normal((n, 15)) @ np.linalg.cholesky(P0 + 1e-18 * np.eye(15)).T
    many = np.array([navigator.moved(x, d) for d in draws])
    f, w = navigator.imu.accelerometer, navigator.imu.gyroscope
    sigma = np.array([f.density * math.sqrt(RATE)] * 3 + [w.density * math.sqrt(RATE)] * 3)
    walk = np.array([w.walk] * 3 + [f.walk] * 3) / math.sqrt(RATE)
    m["filter started"][...] = 2.0
    move = hm.compiler.compile_function("move", lambda **x: fusion.move(**x), {"x": (19,), "u": (6,), "dt": ()}, {"y": (19,)})
    for k in range(steps):
        u = np.array([0.3 * math.sin(0.1 * k), 0.2, -9.7, 0.05, -0.1 * math.cos(0.07 * k), 0.2])
        m["filter imu"][:] = u  # the same at both ends
        navigator.tick(m, (k + 1) / RATE, u, [])
        noisy = u + sigma * rng.standard_normal((n, 6))
        many = move([many, noisy, np.full(n, 1.0 / RATE)])[0]
        many[:, 10:16] += walk * rng.standard_normal((n, 6))
    from hydromechs.navigation._covariance import difference

    found = np.cov(np.array([difference(y, m["filter x"][:19])[:15] for y in many]).T)
    P = navigator.covariance(m)[:15, :15]
    # a variance of n draws is off by √(2/n), a covariance of a and b by √((1 + ρ²)/n): 4.5 sigma for 120 of them
    scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    assert np.abs((found - P) / scale).max() < 4.5 * math.sqrt(2 / n)


def test_filter_is_consistent():
    """ε = δᵀ P⁻¹ δ, by parts of δ: the short form of `python -m benchmarks navigation`, whose report has the full one."""
    report = measure_navigation(QUICK_NAVIGATION)
    for case in report["cases"]:
        blocks = {row["block"]: row for row in case["blocks"]}
        assert blocks["all"]["inside"] > 0.85  # neighbours in time are alike: 0.95 only in the long run
        assert all(row["low"] < row["mean"] < row["high"] for row in blocks.values())
        assert case["largest_in_sigmas"] < 4.5
    first, gap = report["cases"]
    assert first["flights_with_messages"] == 0 and gap["flights_with_messages"] == report["seeds"]
    assert first["position_rms"] < 0.3 and gap["velocity_rms"] > first["velocity_rms"]


def test_the_study_of_the_documentation_is_consistent():
    """Its saved report: 500 seeds, 90 s with all sensors, 20 s without DVL, 60 s without USBL."""
    report = json.loads((Path(__file__).parents[2] / "docs" / "data" / "navigation.json").read_text())
    assert report["seeds"] == FULL_NAVIGATION.seeds and report["duration"] == FULL_NAVIGATION.duration
    assert report["passed"]
    for case in report["cases"]:
        assert case["position_rms"] < 0.3 and case["largest_in_sigmas"] < 6.0  # 1.7 million numbers
        assert (case["gap"] is None) == (case["flights_with_messages"] == 0)


# -- late, wrong, missing -------------------------------------------------------------------------------------------------------


def linear_filter(latency, **more):
    """Attitude and rates known exactly: position, velocity and bias of the accelerometers are linear."""
    imu = Imu(name="imu", frame="hull", rate=RATE, accelerometer=Noise(density=0.02, bias=0.1, walk=0.01))
    depth = DepthGauge(name="depth", frame="hull", rate=2.5, noise=Noise(sigma=0.05), latency=latency)
    other = DepthGauge(name="other", frame="hull", rate=5.0, noise=Noise(sigma=0.1))
    return ErrorStateFilter(tilt=0.0, heading=0.0, gate=1 - 1e-12), (imu, depth, other)


@pytest.mark.parametrize("latency", [0.2, 0.4, 0.5, 1.3])
def test_a_late_measurement_counts_as_if_it_had_come_in_time(latency):
    """In the linear case all information is used: when the last has arrived, both filters believe the same."""
    rng = np.random.default_rng(8)
    times = np.arange(0, 6.0, 1 / RATE)
    log = {
        "imu": (times, np.tile([0, 0, -9.81, 0, 0, 0], (len(times), 1)) + 0.1 * rng.normal(size=(len(times), 6)) * [1, 1, 1, 0, 0, 0]),
        "depth": (np.arange(0, 4.1, 0.4), 10 + 0.05 * rng.normal(size=(11, 1))),
        "other": (np.arange(0, 6.0, 0.2), 10 + 0.1 * rng.normal(size=(30, 1))),
    }  # fmt: skip
    model = small_vehicle()
    tracks = []
    for late in (0.0, latency):
        settings, sensors = linear_filter(late)
        start = settings.on(model, sensors).true(model.initial())
        tracks.append(settings.run(log, model, sensors, start))
    a, b = tracks
    assert not np.allclose(a.position[60], b.position[60], atol=1e-4)  # underway they know different things
    np.testing.assert_allclose(b.position[-1], a.position[-1], atol=1e-10)
    np.testing.assert_allclose(b.velocity[-1], a.velocity[-1], atol=1e-10)
    np.testing.assert_allclose(b.sigma[-1], a.sigma[-1], atol=1e-10)


def test_covariance_stays_symmetric_and_positive(flight, instruments):
    navigator = flight.navigator
    P = navigator.fusion.layout.matrix(flight.fly(instruments, 0).memory["filter P"])
    assert (P == P.T).all()
    now = P[:15, :15] / np.sqrt(np.outer(np.diag(P)[:15], np.diag(P)[:15]))
    assert np.linalg.eigvalsh(now).min() > 0


def test_outliers_are_rejected(flight, instruments):
    """A USBL fix 20 m off now and then changes nothing; after ten in a row it is believed, and said."""

    def wild(reading: Reading) -> Reading:
        off = 20.0 if reading.sensor == 3 and reading.number % 3 == 1 else 0.0
        return reading._replace(value=reading.value + off)

    errors, P, said, _ = flight.fly(instruments, 1, wild)
    assert not said
    assert np.abs(errors[50:, :3] / np.sqrt(P[50:, range(3), range(3)])).max() < 4.5
    stubborn, _, said, _ = flight.fly(instruments, 1, lambda r: r._replace(value=r.value + 3.0) if r.sensor == 1 else r)
    assert np.abs(stubborn[40, :2]).max() < 1.0
    assert said[:2] == [
        "no measurement of 'depth' was used since t = 0 s; the filter continues without it",
        "'depth' was rejected 10 times in a row; the filter inflates its position uncertainty by 3.1 m and uses the sensor again",
    ]


def test_recovers_from_a_jump_that_nothing_saw(flight, instruments):
    """0.6 m/s that no reading of the IMU has: the DVL is rejected, then P is widened, and all errors fit P again."""
    jump, at = np.array([0.4, -0.3, 0.33]), round(3.0 * RATE)

    def struck(k, m):
        if k == at:
            m["filter x"].reshape(-1, 22)[:, 3:6] -= jump

    errors, P, said, _ = flight.fly(instruments, 1, disturb=struck)
    normalised = np.abs(errors[:, :9]) / np.sqrt(np.diagonal(P, axis1=1, axis2=2)[:, :9])
    assert normalised[at : at + 40].max() > 20  # it knows nothing of it at first
    back = at + round(2.6 * RATE)  # 11 rejections of the DVL, its latency
    assert normalised[back:].max() < 4.5 and np.abs(errors[back:, :3]).max() < 0.5
    words = [text for text in said if "rejected" in text]
    assert any(text.startswith("'dvl' was rejected 10 times in a row; the filter inflates its velocity") for text in words)
    assert len([text for text in words if "'dvl'" in text]) == 1  # once is enough


def test_a_constant_bias_is_not_averaged_out():
    """A depth gauge that is off by its bias for ever: the filter's own error of the depth is that, not σ/√n."""
    imu = Imu(name="imu", frame="hull", rate=RATE, accelerometer=Noise(density=0.02))
    depth = DepthGauge(name="depth", frame="hull", rate=5.0, noise=Noise(sigma=0.01, bias=0.2, walk=0.01))
    model, settings = small_vehicle(), ErrorStateFilter(position=1.0, velocity=0.0, tilt=0.0, heading=0.0)
    navigator = settings.on(model, (imu, depth))
    times = np.arange(0.0, 20.0, 1 / RATE)
    log = {
        "imu": (times, np.tile([0, 0, -9.81, 0, 0, 0], (len(times), 1))),
        "depth": (times[::5], np.full((len(times[::5]), 1), 10.3)),
    }
    track = settings.run(log, model, (imu, depth), navigator.true(model.initial()))
    sigma = track.sigma[:, 2]
    # two unknowns, one measurement: σ² of position 1 and bias 0.2 given their sum; then the bias walks
    first = math.sqrt(1 / (1 / 1.0**2 + 1 / (0.2**2 + 0.01**2)))
    assert sigma[0] == pytest.approx(first, rel=1e-6)
    assert sigma.min() > 0.19 and sigma[-1] < first + 0.01
    assert track.position[-1, 2] == pytest.approx(10 + 0.3 * 1.0 / (1.0 + 0.2**2), rel=0.02)


def hovering(sensors, duration, controller=None, **options):
    """A vehicle that holds its place by its estimate; errors of the estimate (n, 3), its sigma (n, 3), the run."""
    hold = controller or FollowPath(waypoints=[{"position": (0, 0, 10)}], frequency=0.5, period=0.2)
    navigation = Navigation(filter=ErrorStateFilter(position=0.3))
    mission = sensed(hold, Watch(sensors), sensors=sensors, navigation=navigation, terrain=[FLOOR])
    sim = hm.Simulation(small_vehicle(), components=[*THRUSTERS], controller=mission, step=0.02, record=0.2, **options)
    run = sim.run(duration)
    table = dict(zip(["t", *sim.signals], np.array(watch_of(sim).rows).T, strict=True))
    return tuple(np.stack([table[f"navigation.{kind}_{x}"] for x in "xyz"], axis=1) for kind in ("error", "sigma")), run


def test_survives_20_s_without_dvl_and_60_s_without_usbl():
    """The errors stay inside what the filter says of itself, below a metre, and both gaps are in the messages."""
    dvl = Dvl(name="dvl", frame="dvl", rate=5.0, latency=0.2, noise=Noise(sigma=0.01), range=60.0, outages=((5.0, 25.0),))
    usbl = Usbl(
        name="usbl", frame="hull", rate=1.0, latency=0.6, transceiver=(20, -10, 0), range_sigma=0.1, bearing_sigma=0.01,
        outages=((30.0, 90.0),),
    )  # fmt: skip
    (error, sigma), run = hovering((IMU, dvl, DEPTH, SENSORS[3], usbl), 95.0)
    assert np.abs(error / sigma).max() < 4.5 and np.abs(error[100:]).max() < 0.5
    without, recovered = sigma[[int(89.9 * RATE), -1], 0]
    assert without > recovered
    said = "\n".join(run.messages)
    assert "no measurement of 'dvl' was used since t = 5" in said and "'dvl' is available again after 20" in said
    assert "no measurement of 'usbl' was used since t = 29.6" in said and "'usbl' is available again after 61" in said


def test_water_track_estimates_the_current():
    """Over ground that is out of range the DVL tracks water: with position fixes the current comes out."""
    dvl = Dvl(name="dvl", frame="dvl", rate=5.0, noise=Noise(sigma=0.01), water_noise=Noise(sigma=0.01), range=5.0)
    usbl = Usbl(name="usbl", frame="hull", rate=1.0, transceiver=(5, -5, 0), range_sigma=0.05, bearing_sigma=0.005)
    sensors = (IMU, dvl, DEPTH, SENSORS[3], usbl)
    mission = sensed(
        sensors=sensors, navigation=Navigation(filter=ErrorStateFilter(current=0.5, current_time=1000.0)), terrain=[FLOOR]
    )
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.3, -0.2, 0.0)))
    sim = hm.Simulation(small_vehicle(), controller=mission, environment=current, step=0.02, record=0.2)
    sim.run(60.0)
    signals = dict(zip(sim.signals, sim.state.signal, strict=True))
    found = [signals[f"navigation.current_{x}"] for x in "xyz"]
    np.testing.assert_allclose(found, [0.3, -0.2, 0.0], atol=0.03)
    assert all(math.isnan(signals[f"dvl.bottom_{k}"]) for k in (1, 2, 3, 4))


def test_water_track_is_not_taken_for_ground_track():
    """A filter that does not estimate the current leaves it alone, and reports that it continues without the DVL."""
    dvl = Dvl(name="dvl", frame="dvl", rate=5.0, noise=Noise(sigma=0.01), water_noise=Noise(sigma=0.01), range=5.0)
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.3, -0.2, 0.0)))
    navigated = sensed(sensors=(IMU, dvl, DEPTH), navigation=Navigation(filter=FILTER), terrain=[FLOOR])
    run = hm.Simulation(small_vehicle(), controller=navigated, environment=current, step=0.02, record=0.2).run(2.0)
    assert run.messages == ["t = 0.64 s: no measurement of 'dvl' was used since t = 0 s; the filter continues without it"]


# -- in a simulation ------------------------------------------------------------------------------------------------------------


def test_resumes_to_the_last_bit(tmp_path):
    """Biases, delayed measurements in flight, the filter and the inner controller are all in the state."""

    def simulation():
        inner = FollowPath(waypoints=[{"position": (0, 0, 10)}], frequency=0.5, period=0.08)
        navigated = sensed(inner, sensors=SENSORS, navigation=Navigation(filter=FILTER), terrain=[FLOOR])
        return hm.Simulation(small_vehicle(), components=[*THRUSTERS], controller=navigated, step=0.01, record=0.04, seed=3)

    sim = simulation()
    whole = sim.run(2.0).state
    sim.reset()
    hm.save_state(sim.run(0.92).state, tmp_path / "state.json")
    other = simulation()
    other.state = hm.load_state(tmp_path / "state.json")
    assert other.run(1.08).state == whole
    copied = hm.Simulation(small_vehicle(), components=[*THRUSTERS], controller=sim.mission, step=0.01, record=0.04, seed=3)
    assert copied.run(2.0).state == whole  # a controller that is at work can be used for another simulation


def holding(*events):
    """A vehicle that holds its place by its estimate, in a current."""
    inner = FollowPath(waypoints=[{"position": (0, 0, 10)}], frequency=0.5, period=0.08)
    navigated = sensed(inner, sensors=SENSORS, navigation=Navigation(filter=FILTER), terrain=[FLOOR])
    current = hm.Environment(current=hm.hydro.Current(velocity=(0.3, -0.2, 0.0)))
    return hm.Simulation(
        small_vehicle(),
        components=[*THRUSTERS],
        environment=current,
        controller=navigated,
        events=events,
        step=0.01,
        record=0.04,
    )


def worst_error(recording):
    """Largest error of the estimated place over what the filter says of it."""
    error, sigma = (
        recording.signal.sel(channel=[f"navigation.{kind}_{x}" for x in "xyz"]).values for kind in ("error", "sigma")
    )
    return np.abs(error / sigma).max()


def test_sensors_and_filter_continue_while_control_is_off():
    """The vehicle drifts for 3 s without commands; the filter knows where it is, and a resumed run is the same."""
    off = hm.Event(name="off", quantity="time", level=1.013, control="off", command={"t0": 10.0, "t1": 10.0})
    on = hm.Event(name="on", quantity="time", level=4.0, control="on")
    sim = holding(off, on)
    run = sim.run(6.0)
    silent = run.recording.sel(time=slice(1.05, 3.99))
    assert np.isnan(silent.signal.sel(channel="error.x")).all() and not silent.command.diff("time").any()
    assert abs(float(silent.position.sel(body="hull")[-1, 0])) > 0.1
    assert worst_error(silent) < 4.5 and worst_error(run.recording.sel(time=slice(4.04, None))) < 4.5
    assert len(run.messages) == 2  # of the events
    sim.reset()
    state = sim.run(2.02).state
    other = holding(off, on)
    other.state = state
    assert other.run(3.98).state == run.state


def test_a_filter_that_was_not_asked_starts_again():
    """`step` goes without the controller, and so without its filter, which then knows nothing of the way."""
    sim = holding()
    sim.run(1.0)
    state = sim.step(duration=2.5)
    run = sim.run(2.0)
    said = "t = 3.52 s: the filter was not updated since t = 0.96 s and is reset"
    assert run.messages == [said] and worst_error(run.recording.sel(time=slice(3.53, None))) < 4.5
    other = holding()
    other.state = state
    assert other.run(2.0).state == run.state


def test_filter_on_a_log_is_the_filter_in_the_loop(flight, instruments):
    """The same readings, one by one or as a log: the same track to the last bit."""
    rows, sim, navigator = flight.rows, flight.simulation, flight.navigator
    i, m = instruments.pack.views(instruments.start()), navigator.pack.views(np.zeros(navigator.pack.size))
    start = navigator.true(rows[0])
    navigator.start(m, start, 0.0)
    log = {s.name: ([], []) for s in SENSORS}
    for state in rows:
        got = instruments.sample(i, state)
        for r in got:
            times, values = log[SENSORS[r.sensor].name]
            times.append(r.time)
            values.append(r.value)
        navigator.tick(m, state.t, got[0].value, [r._replace(sensor=r.sensor - 1) for r in got[1:]])
    track = FILTER.run({name: (np.array(t), np.array(y)) for name, (t, y) in log.items()}, sim.model, SENSORS, start)
    assert track.position[-1].tolist() == navigator.estimate(m).position.tolist()
    assert np.abs(track.position[-1] - rows[-1].q[:3]).max() < 4.5 * track.sigma[-1, :3].max()


def test_log_comes_out_of_recorded_signals():
    """Each measurement once, with the time at which it was taken, also where latencies are no integer number of periods."""
    late = DepthGauge(name="late", frame="hull", rate=2.5, latency=0.17, dropout=0.3)
    sensors = (*SENSORS, late)

    class Keep(Watch):
        def __call__(self, state):
            self.rows.append((state.t, self.simulation.state.signal, state))

    sim = hm.Simulation(small_vehicle(), controller=sensed(Keep(sensors), sensors=sensors, terrain=[FLOOR]), step=0.01)
    sim.run(4.0)
    times, values, states = zip(*watch_of(sim).rows, strict=True)
    coords = {"time": list(times), "channel": list(sim.signals)}
    recording = xarray.Dataset({"signal": (("time", "channel"), np.array(values))}, coords)
    log = log_of(recording, sim.model, sensors)
    assert [len(log[s.name][0]) for s in sensors] == [100, 19, 20, 20, 4, 10]
    taken, depths = log["late"]
    np.testing.assert_allclose(taken, 0.4 * np.arange(10))
    true = np.array([s.q[2] for s in states])[(taken * RATE).round().astype(int)]
    there = np.isfinite(depths[:, 0])
    assert 0 < there.sum() < 10
    np.testing.assert_allclose(depths[there, 0], true[there], atol=1e-12)
    track = FILTER.run(log, sim.model, sensors, FILTER.on(sim.model, sensors).true(states[0]))
    assert np.abs(track.position[-1] - states[-1].q[:3]).max() < 4.5 * track.sigma[-1, :3].max()
    with pytest.raises(KeyError, match="no signals; add sensors"):
        log_of(xarray.Dataset(), sim.model, sensors)


def test_inner_controller_reads_estimate_encoders_or_truth():
    """Input of the controller: the vehicle as estimated, encoded joints as measured; with read="truth" all as it is."""
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=hm.joints.Revolute(placement=hm.Origin((0.3, 0, 0), (0, 0, 0)), axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=1.0, com=(0.2, 0, 0), tensor=(0.01, 0.01, 0.01, 0, 0, 0)),
    )
    encoders = JointEncoders(name="encoders", joints=("arm",), rate=RATE, position=Noise(sigma=0.5))

    class Told(hm.Controller):
        period = 0.2

        def __call__(self, state):
            self.told = state.q.copy()

    for read in ("estimate", "truth"):
        navigated = sensed(
            Told(),
            sensors=(*SENSORS, encoders),
            navigation=Navigation(filter=FILTER, read=read),
            terrain=[FLOOR],
        )
        sim = hm.Simulation(small_vehicle(arm), controller=navigated, step=0.01)
        sim.run(0.01)
        same = sim.controller.told == sim.model.initial().q
        assert same.all() if read == "truth" else not same[[0, 1, 2, 4, 5, 6, 7]].any()
        assert not sim.run(0.01).messages
    alone = sensed(Told(), sensors=(*SENSORS, encoders), terrain=[FLOOR])
    sim = hm.Simulation(small_vehicle(arm), controller=alone, step=0.01)
    run = sim.run(0.01)
    assert np.array_equal(sim.controller.told[:7], sim.model.initial().q[:7])  # and that is said
    assert any("the true pose and velocity" in text and "'imu'" in text and "Navigation()" in text for text in run.messages)


@pytest.mark.parametrize(
    ("sensors", "words"),
    [
        ([DEPTH], "found 0 Imu sensors .*; use exactly one"),
        ([IMU, DepthGauge(name="fast", frame="hull", rate=50.0)], "'imu': latency is .* set latency 0 and the highest rate"),
        ([Imu(name="imu", frame="arm", rate=RATE)], "frame 'arm' is on body 'arm', which is not free in the world; mount the Imu on the vehicle"),
        ([IMU, DepthGauge(name="d", frame="arm", rate=5.0)], "sensor 'd': frame 'arm' moves relative to 'hull', which carries the Imu"),
    ],
)  # fmt: skip
def test_what_a_filter_cannot_use_is_named(sensors, words):
    joint = hm.joints.Revolute(placement=hm.Origin((0.3, 0, 0), (0, 0, 0)), axis=(0, 1, 0))
    arm = hm.Body(name="arm", parent="hull", joint=joint, inertia=hm.Inertia(mass=1.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)))
    with pytest.raises(ValueError, match=words):
        FILTER.on(small_vehicle(arm), sensors)


def test_periods_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"period of FollowPath is 0.05 s, must be an integer.*0.04 s; use 0.04 s"):
        sensed(FollowPath(waypoints=[{"position": (0, 0, 1)}], period=0.05), sensors=SENSORS)


def test_encoders_that_fail_leave_their_last_reading():
    arm = hm.Body(
        name="arm",
        joint=hm.joints.Revolute(axis=(0, 1, 0), velocity=0.5),
        inertia=hm.Inertia(mass=1.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
    )
    encoders = JointEncoders(name="encoders", joints=("arm",), rate=20.0, outages=((0.3, 9.0),))

    class Told(hm.Controller):
        period = 0.05

        def __call__(self, state):
            self.told = state.q[0], state.v[0]

    model = hm.Model(name="swing", world=hm.World(gravity=0.0), bodies=[arm])
    sim = hm.Simulation(model, controller=sensed(Told(), sensors=[encoders]), step=0.01)
    sim.run(1.0)
    assert sim.controller.told == pytest.approx((0.125, 0.5), abs=1e-12)  # of t = 0.25 s
    assert math.isnan(sim.state.signal[0])
