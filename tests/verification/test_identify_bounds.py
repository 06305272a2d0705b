"""Bounds that act: the rest is found as if what a bound holds were known, and what holds it is said."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.identification import validation
from hydromechs.identification._normal import Normal

IMU = identification.Instrument(
    name="imu", body="plate", channels=(identification.MeasuredChannel(quantity="pitch", deviation=2e-3),)
)
LINEAR = identification.Number(name="plate.hydro.drag.0.linear", index=(4,), value=0.05, deviation=10.0)
QUADRATIC = identification.Number(name="plate.hydro.drag.0.quadratic", index=(4,), value=0.2, deviation=10.0)
TENSOR = identification.Positive(name="plate.inertia.tensor", index=(1,), value=0.04, deviation=1.0)


@pytest.fixture(scope="module")
def plant():
    """A weighted plate on a hinge."""
    plate = hm.Body(
        name="plate",
        joint=hm.joints.Revolute(axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=2.0, com=(0.03, 0.0, 0.2), tensor=(0.03, 0.03, 0.002, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.001, drag=hm.drag.Damping(linear=(0, 0, 0, 0, 0.1, 0), quadratic=(0, 0, 0, 0, 0.1, 0))),
    )
    return hm.Plant(model=hm.Model(name="plate", bodies=[plate]))


@pytest.fixture(scope="module")
def trial(plant):
    """A decay, with noise."""
    run = hm.Simulation(plant, step=0.05, record=0.05, state=hm.State(q=np.array([0.6]), v=np.zeros(1))).run(3.0).recording
    pitch = run.q.values[:, 0] + 2e-3 * np.random.default_rng(0).normal(size=len(run.time))
    samples = {"imu.pitch": identification.ChannelSamples(run.time.values, pitch)}
    return identification.Trial(name="decay", start=0.0, end=3.0, q=np.array([0.58]), v=np.zeros(1), samples=samples)


def identified(plant, trial, unknowns, **how):
    return hm.identify(plant, [trial], [IMU], unknowns, start=[0.1, 0.1], step=0.05, gain=1e-9, **how)


@pytest.mark.parametrize(
    ("side", "bound", "value", "interval"), [("upper", 0.06, 0.05, None), ("upper", 0.06, 0.3, 0.5), ("lower", 0.16, 0.3, None)]
)
def test_a_bound_that_acts_is_the_same_as_knowing_the_number(plant, trial, side, bound, value, interval):
    """Of a number that trades against others: their values and deviations, and the cost, whole and in pieces."""
    how = {"shooting_interval": interval}
    free = [replace(LINEAR, value=value, **{side: bound}), QUADRATIC, TENSOR]
    found = identified(plant, trial, free, **how)
    known = identified(plant, trial, [replace(LINEAR, value=bound, deviation=1e-9), QUADRATIC, TENSOR], **how)
    assert found.converged and known.converged
    first, *others = found.found
    assert first.value == bound and first.bound == side and math.isnan(first.deviation) and math.isnan(first.clustered)
    for a, b in zip(others, known.found[1:], strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-3 * b.deviation) and not a.bound
        assert a.deviation == pytest.approx(b.deviation, rel=1e-4)
    prior = 0.5 * ((bound - value) / LINEAR.deviation) ** 2
    assert found.solution.cost - prior == pytest.approx(known.solution.cost, rel=1e-8)
    assert validation.found_cells(first._asdict())[1:4] == [f"{bound:g}", f"at {side} bound", "–"]
    assert f"held at its {side} bound" in found.summary() and not found.directions
    np.testing.assert_allclose(found.correlations[1:, 1:], known.correlations[1:, 1:], atol=1e-4)
    assert found.solution.cost > 1.2 * identified(plant, trial, [LINEAR, QUADRATIC, TENSOR], **how).solution.cost


def test_bounds_that_do_not_act_change_nothing(plant, trial):
    """A search that touches a bound on its way leaves it again."""
    free = identified(plant, trial, [LINEAR, QUADRATIC, TENSOR])
    for value, lower, upper in ((0.05, 0.0, 1.0), (0.0, 0.0, 0.2), (0.15, 0.05, 0.15)):
        bounded = identified(plant, trial, [replace(LINEAR, value=value, lower=lower, upper=upper), QUADRATIC, TENSOR])
        assert bounded.converged and not any(row.bound for row in bounded.found)
        for a, b in zip(bounded.found, free.found, strict=True):
            assert a.value == pytest.approx(b.value, abs=1e-3 * b.deviation)
            assert a.deviation == pytest.approx(b.deviation, rel=1e-4)


def test_bounds_that_hold_everything_and_bounds_without_room(plant, trial):
    held = identified(plant, trial, [replace(LINEAR, lower=0.05, upper=0.05), replace(QUADRATIC, upper=0.1)])
    assert held.converged and [row.value for row in held.found] == [0.05, 0.1] and all(row.bound for row in held.found)
    assert not held.directions and held.summary().count("held at its upper bound") == 2
    with pytest.raises(ValueError, match=r"linear\[4\]: lower bound 1 .* upper bound 0.5"):
        replace(LINEAR, lower=1.0, upper=0.5)
    with pytest.raises(ValueError, match=r"tensor\[1\]: upper bound 0 is not above 0"):
        replace(TENSOR, upper=0.0)


def test_linear_problems_within_bounds_are_solved():
    """Many of them, badly scaled, some with conditions: what is free has no slope, what is held has one that points outward."""
    rng, acted = np.random.default_rng(5), 0
    for case in range(60):
        n, gaps = 9, 3 * (case % 2)
        scale = 10.0 ** rng.uniform(-3, 3, size=n)
        J = rng.normal(size=(12, n)) * scale
        C, d = rng.normal(size=(gaps, n)) * scale, rng.normal(size=gaps)
        upper = np.append(rng.uniform(0.0, 0.5, size=5) * rng.integers(0, 2, size=5), [np.inf] * 4) / scale
        lower = -np.append(rng.uniform(0.0, 0.5, size=5), [np.inf] * 4) / scale
        linear = Normal(J.T @ J, J.T @ rng.normal(size=12), C, d, (), lower, upper)
        damping = [0.0, 0.1][case % 4 // 2]
        change, push, side = linear.step(damping)
        assert (change >= lower).all() and (change <= upper).all()
        np.testing.assert_allclose(C @ change, -d / (1.0 + damping), atol=1e-9)
        slope = (linear.H @ change + damping * np.diag(linear.H) * change + linear.b + C.T @ push) / scale
        np.testing.assert_allclose(slope[side == 0], 0.0, atol=1e-9)
        assert (side * slope <= 1e-9).all()
        np.testing.assert_array_equal(change[side > 0], upper[side > 0])
        np.testing.assert_array_equal(change[side < 0], lower[side < 0])
        acted += bool(side.any())
    assert acted > 50
