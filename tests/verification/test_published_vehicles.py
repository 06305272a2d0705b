"""Single vehicles with published numbers, and free decay: the same numbers, or a reason why not."""

import math

import numpy as np
import pytest
from benchmarks.published_vehicles import published_vehicles, remus_100

import hydromechs as hm
from hydromechs.identification import ChannelSamples
from hydromechs.identification.validation import decay_of

NEAR = {
    "natural frequency of roll": 0.03,
    "damping ratio of roll": 0.03,
    "natural frequency of pitch": 1e-3,
    "damping ratio of pitch": 1e-3,
}
"""Roll and sway, pitch and surge go together: the published formulas of one axis leave that out."""


def test_published_vehicles_have_their_published_numbers():
    for row in published_vehicles():
        assert row.found == pytest.approx(row.published, rel=NEAR.get(row.quantity, 1e-5)), row


def test_a_simulated_roll_decays_as_the_mode_does():
    """The REMUS 100, let go at 2°: its frequency is 2 % above the published one of roll alone, because it sways with it."""
    model = remus_100()
    q = np.array(model.neutral()[0], dtype=float)
    q[3:7] = math.cos(0.0175), math.sin(0.0175), 0.0, 0.0
    run = hm.Simulation(model, step=0.01, record=0.01, state=hm.State(q=q, v=np.zeros(6))).run(2.0).recording
    x = run.q.values
    roll = 2.0 * np.arctan2(x[:, 4], x[:, 3])
    found = decay_of(ChannelSamples(run.time.values, roll), 0.0, 2.0)
    alone = math.sqrt(31.029384975800244 * 9.81 * 0.02 / (0.12442783375295899 + 0.03360482392879167))  # weight, tables of M
    assert alone == pytest.approx(6.2067, abs=1e-3)
    mode = {r.quantity: r for r in published_vehicles()}
    assert math.hypot(found.frequency, found.frequency * found.ratio / math.sqrt(1 - found.ratio**2)) == pytest.approx(
        mode["natural frequency of roll"].found, rel=2e-3
    )
    assert found.ratio == pytest.approx(mode["damping ratio of roll"].found, rel=0.01)


def test_a_decay_is_reported_from_a_slope_and_noise():
    """Frequency and damping ratio of a swing on a slope with noise; short ones and noise alone are not told."""
    t = np.arange(0.0, 7.0, 0.05)
    noise = 1e-4 * np.random.default_rng(0).normal(size=len(t))
    swing = ChannelSamples(t, 0.02 - 0.003 * t + 0.005 * np.exp(-0.2 * t) * np.cos(2.3 * t + 0.4) + noise)
    found = decay_of(swing, 0.0, 7.0)
    assert found.detected and found.frequency == pytest.approx(2.3, abs=0.02)
    assert found.ratio == pytest.approx(0.2 / math.hypot(2.3, 0.2), abs=0.01) and found.amplitude == pytest.approx(
        0.005, rel=0.1
    )
    assert decay_of(swing, 0.0, 3.0) is None and decay_of(swing, 6.8, 7.0) is None
    alone = decay_of(ChannelSamples(t, 20.0 * noise), 0.0, 7.0)
    assert alone is None or not alone.detected
