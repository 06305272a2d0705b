"""Recordings that cannot be used, unknowns that cannot be determined, searches that do not end: each said, with what to do."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import identification
from hydromechs.identification import ChannelSamples, Number, Positive

IMU = identification.Instrument(
    name="imu", body="plate", channels=(identification.MeasuredChannel(quantity="pitch", deviation=2e-3),)
)
DRAG = Positive(name="plate.hydro.drag.0.linear", index=(4,))
MASS = Positive(name="plate.inertia.mass")
TENSOR = Positive(name="plate.inertia.tensor", index=(1,))


@pytest.fixture(scope="module")
def plant():
    """A weighted plate on a hinge."""
    plate = hm.Body(
        name="plate",
        joint=hm.joints.Revolute(axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=2.0, com=(0.03, 0.0, 0.2), tensor=(0.03, 0.03, 0.002, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.001, drag=hm.drag.Damping(linear=(0, 0, 0, 0, 0.1, 0))),
    )
    return hm.Plant(model=hm.Model(name="plate", bodies=[plate]))


@pytest.fixture(scope="module")
def trial(plant):
    """A decay, with noise."""
    run = hm.Simulation(plant, step=0.05, record=0.05, state=hm.State(q=np.array([0.6]), v=np.zeros(1))).run(3.0).recording
    pitch = run.q.values[:, 0] + 2e-3 * np.random.default_rng(0).normal(size=len(run.time))
    samples = {"imu.pitch": ChannelSamples(run.time.values, pitch)}
    return identification.Trial(name="decay", start=0.0, end=3.0, q=np.array([0.6]), v=np.zeros(1), samples=samples)


def test_unknowns_that_trade_are_named_with_their_direction(plant, trial):
    """A pendulum in still water tells ratios of mass, inertia and drag; without priors nothing else, and inf is said."""
    found = hm.identify(plant, [trial], [IMU], [MASS, TENSOR, DRAG], step=0.05)
    assert found.converged and [row.deviation for row in found.found] == [math.inf] * 3
    (trade,) = found.directions
    assert {name for name, _ in trade.parts} == {"plate.inertia.mass", "plate.inertia.tensor[1]", DRAG.labels()[0]}
    np.testing.assert_allclose([part for _, part in trade.parts], 3**-0.5, rtol=0.05)  # all three by the same per cent
    assert f"not determined by the data: {trade.text}" in found.summary()
    held = hm.identify(plant, [trial], [IMU], [TENSOR, DRAG], step=0.05)
    assert not held.directions and all(row.deviation < 0.02 * row.value for row in held.found)


def test_an_unknown_without_effect_stays_and_has_no_deviation(plant, trial):
    found = hm.identify(plant, [trial], [IMU], [DRAG, Number(name="plate.inertia.tensor", index=(0,))], step=0.05)
    drag, other = found.found
    assert found.converged and other.value == 0.03 and other.deviation == math.inf and drag.deviation < 0.01
    assert [d.text for d in found.directions] == ["+1.00 plate.inertia.tensor[0]"]


def test_a_search_that_does_not_end_reports_it(plant, trial):
    """With the best so far, and what another iteration promises."""
    costs = []
    far = [replace(DRAG, value=3.0), Number(name="plate.inertia.com", index=(0,), value=-0.2)]
    found = hm.identify(plant, [trial], [IMU], far, step=0.05, most=2, progress=lambda i, cost, damping: costs.append(cost))
    assert not found.converged and found.solution.cost == min(costs)
    assert found.summary().startswith("NOT converged, best result shown, after 2 iterations: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t, x: {"imu.pitch": ChannelSamples(t, np.where(t > 2.01, np.nan, x))},
            "imu.pitch: 20 of 61 samples are not finite",
        ),
        (
            lambda t, x: {"imu.pich": ChannelSamples(t, x)},
            "imu.pich is not a channel of an instrument.*did you mean 'imu.pitch'",
        ),
        (
            lambda t, x: {"imu.pitch": ChannelSamples(t, x), "imu.pich": ChannelSamples(t, x)},
            "imu.pich is not a channel.*mean 'imu.pitch'",
        ),
        (lambda t, x: {"imu.pitch": ChannelSamples(t, np.degrees(x))}, "convert degrees with np.radians"),
        (
            lambda t, x: {"imu.pitch": ChannelSamples(t + 9.0, x)},
            "has samples from 9 to 12 s, outside the trial, from 0 to 3 s",
        ),
        (
            lambda t, x: {"imu.pitch": ChannelSamples(1e3 * t, x)},
            "imu.pitch: 60 of 61 samples, from 0 to 3000 s, are outside the trial, from 0 to 3 s; convert times to s",
        ),
        (lambda t, x: {"imu.pitch": ChannelSamples(t[::-1], x)}, "times must increase: 2.95 s follows 3 s"),
        (lambda t, x: {"imu.pitch": ChannelSamples(t, x[1:])}, r"times have shape \(61,\) and values \(60,\)"),
        (lambda t, x: {}, "has no samples of imu.pitch"),
    ],
)
def test_samples_that_cannot_be_used_are_rejected(plant, trial, change, said):
    bad = replace(trial, samples=change(*trial.samples["imu.pitch"]))
    with pytest.raises(ValueError, match=rf"trial 'decay'.*{said}"):
        hm.identify(plant, [bad], [IMU], [DRAG], step=0.05)


def test_samples_outside_the_trial_are_reported(plant, trial):
    """A part of a log: some samples outside are reported, most of them only if they are omitted on purpose."""
    part = replace(trial, end=2.0)
    found = hm.identify(plant, [part], [IMU], [DRAG], step=0.05)
    said = "trial 'decay': 20 of 61 samples of imu.pitch are outside the trial and are ignored"
    assert found.notes == (said,) and said in found.summary()
    short = replace(trial, end=1.0)
    with pytest.raises(ValueError, match="40 of 61 samples.*windowed"):
        hm.identify(plant, [short], [IMU], [DRAG], step=0.05)
    cut = hm.identify(plant, [short.windowed()], [IMU], [DRAG], step=0.05)
    assert cut.converged and not cut.notes and len(cut.solution.evaluated[0].residual) == 21


def test_other_things_that_make_no_sense_are_rejected(plant, trial):
    with pytest.raises(ValueError, match="no trials are given"):
        hm.identify(plant, [], [IMU], [DRAG], step=0.05)
    with pytest.raises(ValueError, match="'decay' starts at 0 s and ends at -1 s"):
        hm.identify(plant, [replace(trial, end=-1.0)], [IMU], [DRAG], step=0.05)
    with pytest.raises(ValueError, match="'plate.inertia.mass' and 'plate.inertia.mass' denote the same number"):
        hm.identify(plant, [trial], [IMU], [MASS, MASS], step=0.05)
    with pytest.raises(ValueError, match="cannot be simulated to their ends .*: decay; use a smaller step"):
        hm.identify(plant, [trial], [IMU], [replace(DRAG, value=1e6)], step=0.05)


def test_one_factor_on_several_numbers(plant, trial):
    """Drag and inertia of the plate by one factor, which the report shows."""
    factor = identification.Factor(
        name="size", names=("plate.hydro.drag.0.linear", "plate.inertia.tensor"), value=1.3, deviation=0.5
    )
    found = hm.identify(plant, [trial], [IMU], [factor], step=0.05)
    (row,) = found.found
    assert row.name == "size" and row.value == pytest.approx(1.0, abs=4.0 * row.deviation) and row.deviation < 0.05
    np.testing.assert_allclose(found.values()["plate.hydro.drag.0.linear"], [0, 0, 0, 0, 0.1 * row.value, 0])
    with pytest.raises(ValueError, match="size.value is 0, must be finite and > 0"):
        replace(factor, value=0.0)
