"""Long records of chaotic machines: pieces that join, where a simulation of the whole runs away from every guess."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.identification import Nodes

STEP, NOISE = 0.02, 5e-3
"""Step of the simulation [s], deviation of the measured angles [rad]."""
TRUTH = {"lower.inertia.mass": 0.5, "upper.inertia.com[2]": -0.1, "lower.hydro.drag.0.linear[3]": 0.003}


def rod(name, parent, place, mass):
    """A rod that hangs 0.2 m down from a hinge."""
    return hm.Body(
        name=name,
        parent=parent,
        joint=hm.joints.Revolute(axis=(1, 0, 0), placement=hm.Origin(place)),
        inertia=hm.Inertia(mass=mass, com=(0, 0, -0.1), tensor=(0.002, 0.002, 1e-4, 0, 0, 0)),
        hydro=hm.Hydro(volume=1e-4, drag=hm.drag.Damping(linear=(0, 0, 0, 0.003, 0, 0))),
    )


@pytest.fixture(scope="module")
def plant():
    """A double pendulum."""
    rods = [rod("upper", None, (0, 0, 1), 1.0), rod("lower", "upper", (0, 0, -0.2), 0.5)]
    return hm.Plant(model=hm.Model(name="double_pendulum", bodies=rods, world=hm.World(axes="ENU")))


@pytest.fixture(scope="module")
def angles(plant):
    """Times and both angles of a fall from high up, without noise."""
    start = hm.State(q=np.array([2.0, 1.0]), v=np.zeros(2))
    run = hm.Simulation(plant, step=STEP, record=STEP, state=start).run(4.0).recording
    return run.time.values, run.q.values[:, 0], run.q.values.sum(axis=1)


IMUS = [
    identification.Instrument(
        name=name, body=name, channels=(identification.MeasuredChannel(quantity="roll", deviation=NOISE),)
    )
    for name in ("upper", "lower")
]
UNKNOWNS = [
    identification.Positive(name="lower.inertia.mass", value=0.65, deviation=0.5),
    identification.Number(name="upper.inertia.com", index=(2,), value=-0.09, deviation=0.05),
    identification.Positive(name="lower.hydro.drag.0.linear", index=(3,), value=0.006, deviation=1.0),
]


def recorded(angles, end, seed):
    """A trial with noise, whose start is known to some degrees."""
    t, *columns = angles
    rng, kept = np.random.default_rng(seed), slice(0, round(end / STEP) + 1)
    samples = {
        f"{imu.name}.roll": identification.ChannelSamples(t[kept], x[kept] + NOISE * rng.normal(size=len(t[kept])))
        for imu, x in zip(IMUS, columns, strict=True)
    }
    return identification.Trial(name="fall", start=0.0, end=end, q=np.array([2.05, 0.95]), v=np.zeros(2), samples=samples)


def identified(plant, trial, **how):
    return hm.identify(plant, [trial], IMUS, UNKNOWNS, start=[0.2, 0.2, 0.5, 0.5], step=STEP, **how)


def test_a_chaotic_record_is_fitted_where_a_single_simulation_fails(plant, angles):
    """From the same start: pieces land within their error bars in 95 % of cases, the whole nowhere near the noise."""
    off = []
    for seed in range(4):
        found = identified(plant, recorded(angles, 4.0, seed), shooting_interval=0.5)
        assert found.converged and found.solution.gap < 1e-7 and found.solution.iterations < 12
        off += [abs(row.value - TRUTH[row.name]) / row.deviation for row in found.found]
        assert found.solution.cost == pytest.approx(201, rel=0.2)  # that of the noise, half of 402 samples
    print(f"{sum(x < 1.96 for x in off)} of {len(off)} estimates lie within 1.96 of their deviations")
    assert sum(x < 1.96 for x in off) >= len(off) - 2 and 0.5 < np.sqrt(np.mean(np.square(off))) < 1.5
    whole = identified(plant, recorded(angles, 4.0, 0), most=4)
    assert whole.solution.cost > 1000.0 * 201 and not whole.converged
    (states,) = found.states
    np.testing.assert_allclose(states.times, np.arange(0.0, 3.6, 0.5))
    at = np.searchsorted(angles[0], states.times - 1e-9)
    np.testing.assert_allclose(states.q[:, 0], angles[1][at], atol=4.0 * NOISE)


def test_pieces_give_what_the_whole_gives_where_that_works(plant, angles):
    """Values, deviations and cost of short records of other lengths, one with a pause longer than a piece."""
    trials = [recorded(angles, 1.0, 3), replace(recorded(angles, 0.7, 4), name="short")]
    paused = {
        name: identification.ChannelSamples(*(np.concatenate([x[:10], x[34:]]) for x in both))
        for name, both in trials[0].samples.items()
    }
    trials[0] = replace(trials[0], samples=paused)
    how = {"start": [0.2, 0.2, 0.5, 0.5], "step": STEP, "gain": 1e-12}
    whole, pieces = (hm.identify(plant, trials, IMUS, UNKNOWNS, **how, shooting_interval=interval) for interval in (None, 0.2))
    assert whole.converged and pieces.converged and [len(s.times) for s in pieces.states] == [5, 4]
    assert pieces.solution.cost == pytest.approx(whole.solution.cost, rel=1e-9)
    np.testing.assert_allclose(pieces.solution.at.own, whole.solution.at.own, rtol=1e-4, atol=1e-6)
    for a, b in zip(pieces.found, whole.found, strict=True):
        assert a.value == pytest.approx(b.value, rel=1e-5) and a.deviation == pytest.approx(b.deviation, rel=1e-4)
        assert a.clustered == pytest.approx(b.clustered, rel=1e-3)
    np.testing.assert_allclose(pieces.covariance, whole.covariance, rtol=1e-3, atol=1e-12)
    alone = [hm.identify(plant, trials[:1], IMUS, UNKNOWNS, **how, shooting_interval=interval) for interval in (None, 0.2)]
    assert alone[1].converged and alone[1].solution.cost == pytest.approx(alone[0].solution.cost, rel=1e-6)


def test_derivatives_of_gaps_agree_with_differences():
    """Of a body that floats and turns, with gaps that are large, to 1e-6 of the largest."""
    hull = hm.Body(
        name="hull",
        joint=hm.joints.Free(),
        inertia=hm.Inertia(mass=10.0, com=(0.0, 0.0, -0.02), tensor=(0.3, 0.4, 0.5, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.01, drag=hm.drag.Damping(linear=(5, 5, 5, 1, 1, 1))),
    )
    imu = identification.Instrument(
        name="imu", body="hull", channels=(identification.MeasuredChannel(quantity="roll", deviation=0.01),)
    )
    unknowns = [identification.Positive(name="hull.inertia.mass", deviation=0.1)]
    times = np.array([0.02, 0.06])
    trial = identification.Trial(
        name="t", start=0.0, end=0.08, q=np.array([0, 0, 0, 1.0, 0, 0, 0]), v=np.array([0.5, 0, 0, 1.0, 2.0, 0.5]),
        samples={"imu.roll": identification.ChannelSamples(times, 0.0 * times)},
    )  # fmt: skip
    plant = hm.Plant(model=hm.Model(name="float", bodies=[hull]))
    problem = identification.Problem(plant, [trial], [imu], unknowns, start=[0.1] * 12, step=0.02, shooting_interval=0.04)
    nodes = Nodes(np.array([[0.2, 0.1, 0.0, 0.8, 0.4, -0.4, 0.2]]), np.array([[0.1, 0.2, 0.3, -0.5, 0.4, 0.3]]))
    shared, own = problem.guess, 0.1 * np.ones((1, 12))

    def gap(shared, own, change):
        return problem.joined(shared, own, problem.moved_nodes(nodes, change[None]))[1]

    exact, still, h = gap(shared, own, np.zeros(12)), np.zeros(12), 1e-5
    assert np.abs(exact.size).max() > 0.5
    e = np.eye(12) * h
    columns = {"by_node": [gap(shared, own, s * x) for x in e for s in (1, -1)]}
    columns["by_before"] = [gap(shared, own + s * x, still) for x in e for s in (1, -1)]
    columns["by_shared"] = [gap(shared + s * h, own, still) for s in (1, -1)]
    for name, rows in columns.items():
        found = np.stack([(a.size - b.size)[0] / (2.0 * h) for a, b in zip(rows[::2], rows[1::2], strict=True)], axis=1)
        np.testing.assert_allclose(getattr(exact, name)[0], found, atol=1e-6 * np.abs(found).max(), err_msg=name)


def test_pieces_that_make_no_sense_are_rejected(plant, angles):
    trial = recorded(angles, 1.0, 0)
    with pytest.raises(ValueError, match=r"shooting_interval is 0.001 s, below the step of 0.02 s"):
        identified(plant, trial, shooting_interval=0.001)
    with pytest.raises(ValueError, match="omit before or shooting_interval"):
        identified(plant, trial, shooting_interval=0.5, before=[0.5])
    found = identified(plant, replace(trial, end=0.6), shooting_interval=5.0)  # longer than the record: as a whole
    assert found.converged and len(found.states[0].times) == 1


@pytest.mark.parametrize("start", [None, [0.2, 0.2, 0.0, 0.0]], ids=["exact", "velocities exact"])
def test_starts_that_are_known_stay(plant, angles, start):
    """All or some of the start exact: pieces give what a simulation of the whole gives."""
    trial = recorded(angles, 1.0, 0)
    trial = trial if start else replace(trial, q=np.array([2.0, 1.0]))
    whole, pieces = (
        hm.identify(plant, [trial], IMUS, UNKNOWNS, start=start, step=STEP, gain=1e-8, shooting_interval=length)
        for length in (None, 0.25)
    )
    assert pieces.converged and pieces.solution.gap < 1e-7
    for a, b in zip(whole.found, pieces.found, strict=True):
        assert b.value == pytest.approx(a.value, abs=1e-2 * a.deviation) and b.deviation == pytest.approx(a.deviation, rel=1e-2)
    (states,) = pieces.states
    np.testing.assert_array_equal(states.x[0], 0.0)
