"""Unknowns of a plant from recordings: exact derivatives, honest error bars, and what the data cannot tell."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.actuation import JointMotion, motions
from hydromechs.simulation import Plant

STEP = 0.02
PAGE = Path(__file__).parents[2] / "docs" / "identification.md"


@pytest.fixture(scope="module")
def plant():
    """A hull on a slant hinge with an arm whose motion is given."""
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Revolute(axis=(0.2, 1.0, 0.1), placement=hm.Origin((0.0, 0.0, 2.0), (0.1, 0.05, 0.3))),
        inertia=hm.Inertia(mass=12.0, com=(0.02, 0.01, 0.3), tensor=(0.5, 0.6, 0.4, 0.01, 0.02, -0.01)),
        hydro=hm.Hydro(
            volume=0.008,
            buoyancy_center=(0.0, 0.0, 0.1),
            added_mass=hm.added_mass.Matrix(tuple(map(tuple, np.diag([4.0, 6.0, 7.0, 0.2, 0.3, 0.2])))),
            drag=hm.drag.Damping(linear=(1.0,) * 6, quadratic=(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)),
        ),
    )
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=hm.joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0.3, 0, 0.2))),
        inertia=hm.Inertia(mass=2.0, com=(0.25, 0, 0), tensor=(0.01, 0.05, 0.05, 0, 0, 0)),
    )
    model = hm.Model(name="hinged", bodies=[hull, arm])
    given = motions.Recorded(pieces=((0.0, 0.0, 0.0, 0.0, 0.0),), end=1.0)
    return Plant(model=model, components=(JointMotion(joint="arm", motion=given),))


UNKNOWNS = (
    identification.Positive(name="hull.hydro.drag.0.linear", index=(4,), deviation=1.0),
    identification.Number(name="hull.hydro.volume", deviation=2e-3),
    identification.Number(name="hull.inertia.com", index=(0,), deviation=0.05),
    identification.JointOffset(joint="arm", deviation=0.1),
)
IMU = identification.Instrument(
    name="imu",
    body="hull",
    channels=(
        identification.MeasuredChannel(quantity="pitch", deviation=2e-3, offset=0.01),
        identification.MeasuredChannel(quantity="q", deviation=5e-3),
        identification.MeasuredChannel(quantity="x", deviation=5e-3),
    ),
    turn=0.1,
    place=0.05,
    delay=0.05,
)
START = [0.1, 0.0, 0.1, 0.0]


def arm_motion(k):
    t = np.linspace(0.0, 4.0, 41)
    return motions.Recorded.of(t, 0.5 * np.sin((1.0 + 0.3 * k) * t) ** 2)


def blank(k, motion):
    """A trial without samples."""
    now = motion.now(0.0)
    times = np.arange(0.0, 3.9, 0.05)
    samples = {f"imu.{c.quantity}": identification.ChannelSamples(times, np.zeros_like(times)) for c in IMU.channels}
    q = np.array([0.2 - 0.15 * k, now.position])
    return identification.Trial(
        name=f"t{k}", start=0.0, end=3.95, q=q, v=np.array([0.0, now.velocity]), samples=samples, motions={"arm": motion}
    )


@pytest.fixture(scope="module")
def problem(plant):
    trials = [blank(k, arm_motion(k)) for k in range(2)]
    return identification.Problem(plant, trials, [IMU], UNKNOWNS, start=START, step=STEP)


def test_derivatives_agree_with_differences(problem):
    """All of them, of numbers of the model, joints, instruments and starts: central differences to 1e-6 of the largest."""
    rng = np.random.default_rng(1)
    g, l = len(problem.guess), len(problem.own_deviation)
    shared = problem.guess + 0.1 * problem.deviation * rng.normal(size=g)
    own = 0.1 * rng.normal(size=(2, l)) * problem.own_deviation
    exact, _ = problem.joined(shared, own)

    def residuals(shared, own):
        return [e.residual for e in problem.joined(shared, own, derivatives=False)[0]]

    for k in range(g):
        h = 2e-4 * problem.deviation[k]
        if problem.labels[k] == "imu.delay":
            h = 1e-7  # the simulated signal is a polygon: differences must stay on one side
        up, down = shared.copy(), shared.copy()
        up[k], down[k] = shared[k] + h, shared[k] - h
        for j, (a, b) in enumerate(zip(residuals(up, own), residuals(down, own), strict=True)):
            found, column = (a - b) / (2.0 * h), exact[j].by_shared[:, k]
            np.testing.assert_allclose(column, found, atol=1e-6 * np.abs(found).max(), err_msg=problem.labels[k])
    for k in range(l):
        h = 2e-4 * problem.own_deviation[k]
        up, down = own.copy(), own.copy()
        up[:, k], down[:, k] = own[:, k] + h, own[:, k] - h
        for j, (a, b) in enumerate(zip(residuals(shared, up), residuals(shared, down), strict=True)):
            found, column = (a - b) / (2.0 * h), exact[j].by_own[:, k]
            np.testing.assert_allclose(column, found, atol=1e-6 * np.abs(found).max(), err_msg=problem.own_labels[k])


def test_trajectories_are_those_of_a_simulation(plant, problem):
    """The same steps as those of `Simulation` with the same motion, to the difference of two ways to write a spline."""
    values, _ = problem.simulate(problem.guess, np.zeros((2, len(problem.own_deviation))), derivatives=False)
    trial = problem.trials[1]
    sim = hm.Simulation(
        plant.model,
        components=[*(hm.actuation.JointMotion(joint=name, motion=motion) for name, motion in dict(trial.motions).items())],
        step=STEP,
        record=0.2,
        state=hm.State(q=trial.q, v=trial.v),
    )
    run = sim.run(3.8).recording
    q = problem.outputs.names.index("imu.q")
    np.testing.assert_allclose(values[:191:10, 1, q], run.velocity.sel(body="hull", nu="q").values, atol=2e-4)


@pytest.fixture(scope="module")
def small(plant):
    """Short trials with coarse steps, and nothing that makes simulated signals bend at samples."""
    imu = identification.Instrument(name="imu", body="hull", channels=IMU.channels[:2], turn=0.1)
    trials = []
    for k in range(2):
        trial = blank(k, arm_motion(k))
        samples = {
            name: identification.ChannelSamples(s.times[:40], s.values[:40])
            for name, s in trial.samples.items()
            if name != "imu.x"
        }
        trials.append(replace(trial, end=2.0, samples=samples))
    return identification.Problem(plant, trials, [imu], UNKNOWNS, start=START, step=0.05)


def synthetic(problem, rng):
    """Known numbers, and trials made with them and with noise."""
    g, l = len(problem.guess), len(problem.own_deviation)
    truth = problem.guess + 0.5 * problem.deviation * rng.normal(size=g)
    own = 0.5 * rng.normal(size=(len(problem.trials), l)) * problem.own_deviation
    (seen, _), trials = problem.joined(truth, own, derivatives=False), []
    for trial, e in zip(problem.trials, seen, strict=True):
        samples = {}
        for c, name in enumerate(problem.outputs.names):
            mine = e.channel == c
            noise = rng.normal(size=mine.sum()) * problem.outputs.channels[c][1].deviation
            samples[name] = identification.ChannelSamples(e.times[mine], e.error[mine] + noise)  # of samples that are 0
        trials.append(replace(trial, samples=samples))
    return truth, trials


def test_truth_is_within_the_error_bars(small):
    """40 times data from known numbers with noise: of 200 estimates 95 % lie within two deviations, ±4 % of chance."""
    rng, clean, inside, total = np.random.default_rng(7), small.trials, 0, 0
    try:
        for _ in range(40):
            small.trials = clean
            truth, small.trials = synthetic(small, rng)
            found = identification.Identification(problem=small, solution=identification.solve(small, most=25, gain=1e-6))
            assert found.converged
            off = np.abs(found.solution.at.shared - truth) / np.sqrt(np.diag(found.covariance))
            inside, total = inside + int((off < 1.96).sum()), total + len(off)
    finally:
        small.trials = clean
    print(f"{inside} of {total} estimates lie within 1.96 of their deviations")
    assert total == 200 and 0.91 < inside / total <= 0.99
    said = re.search(r"(\d+) of 200 estimates lie within 1.96 of their deviations", PAGE.read_text(encoding="utf-8"))
    assert said and abs(int(said[1]) - inside) <= 1, f"docs/identification.md is out of date: {inside}"


def test_what_the_data_cannot_tell_is_named(plant):
    """The drag of a sway that hardly happens is not determined by the data, and said so; that of pitch is."""
    unknowns = (
        identification.Positive(name="hull.hydro.drag.0.linear", index=(4,), deviation=0.5),
        identification.Positive(name="hull.inertia.mass", deviation=0.1),
        identification.Positive(name="hull.hydro.drag.0.linear", index=(1,), deviation=0.5),
    )
    pitch = identification.Instrument(
        name="imu", body="hull", channels=(identification.MeasuredChannel(quantity="pitch", deviation=2e-3),)
    )
    trial = blank(0, arm_motion(0))
    trial = replace(trial, samples={"imu.pitch": trial.samples["imu.pitch"]})
    problem = identification.Problem(plant, [trial], [pitch], unknowns, start=[0.0] * 4, step=STEP)
    values, _ = problem.simulate(problem.guess, np.zeros((1, 0)), derivatives=False)
    times = np.arange(0.0, 3.9, STEP)
    trial = replace(problem.trials[0], samples={"imu.pitch": identification.ChannelSamples(times, values[: len(times), 0, 0])})
    found = hm.identify(plant, [trial], [pitch], unknowns, step=STEP)
    assert found.converged and math.isclose(found.solution.cost, 0.0, abs_tol=1e-9)
    names = {f.name: f for f in found.found}
    assert names["hull.hydro.drag.0.linear[4]"].value == pytest.approx(1.0)
    assert names["hull.hydro.drag.0.linear[4]"].deviation < 0.1
    assert names["hull.hydro.drag.0.linear[1]"].deviation > 0.4
    assert [d.parts[0][0] for d in found.directions] == ["hull.hydro.drag.0.linear[1]"]


def test_inertias_and_added_masses_stay_physical(plant):
    """Whatever the free coordinates are, tensors keep the triangle inequality and added masses are positive."""
    rng = np.random.default_rng(2)
    inertia = identification.InertiaOf(body="hull")
    added = identification.AddedMass(name="hull.hydro.added_mass.0.matrix", coupled=True)
    start = inertia.start(plant)
    mass, com, tensor = np.split(inertia.values(start), [1, 4])
    body = plant.model.bodies[0].inertia
    np.testing.assert_allclose([*mass, *com, *tensor], [body.mass, *body.com, *body.tensor], rtol=1e-12, atol=1e-14)
    for _ in range(50):
        mass, com, tensor = np.split(inertia.values(start + rng.normal(size=10)), [1, 4])
        xx, yy, zz, xy, xz, yz = tensor
        principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert mass > 0.0 and principal[0] > 0.0 and principal[2] < principal[0] + principal[1]
        M = added.values(added.start(plant) + rng.normal(size=21)).reshape(6, 6)
        assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M)[0] >= -1e-12 * np.linalg.eigvalsh(M)[-1]


def test_each_axis_of_an_added_mass_may_have_a_deviation_of_its_own():
    name = "hull.hydro.added_mass.0.matrix"
    each = (0.2, 0.2, 0.5, 0.1, 0.1, 0.1)
    np.testing.assert_array_equal(identification.AddedMass(name=name, deviation=each).deviations(), each)
    np.testing.assert_array_equal(
        identification.AddedMass(name=name, deviation=0.2, coupled=True).deviations(), np.full(21, 0.2)
    )
    for wrong in ({"deviation": (0.2, 0.5)}, {"deviation": each, "coupled": True}, {"deviation": each, "averaged": True}):
        with pytest.raises(ValueError, match=f"deviation has {len(wrong['deviation'])} values"):
            identification.AddedMass(name=name, **wrong)
