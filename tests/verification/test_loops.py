"""Loops in models: a four-bar against its closed form, reduced coordinates, projected starts, errors."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import hydromechs as hm
from hydromechs.model import Coupling, State

FOUR_BAR = hm.load("four_bar")
GROUND, CRANK, COUPLER, ROCKER = 0.5, 0.15, 0.45, 0.35


def closed_angles(crank):
    """Coupler and rocker angle in the world (about −y, from x), of the open assembly: two circles that meet."""
    end = CRANK * np.stack([np.cos(crank), np.sin(crank)])
    away = np.array([GROUND, 0.0])[:, None] - end
    d = np.hypot(*away)
    bend = np.arccos((COUPLER**2 + d**2 - ROCKER**2) / (2.0 * COUPLER * d))
    coupler = np.arctan2(away[1], away[0]) + bend
    tip = end + COUPLER * np.stack([np.cos(coupler), np.sin(coupler)])
    return coupler, np.arctan2(tip[1], tip[0] - GROUND)


def reduced_inertia(crank):
    """Inertia that the crank feels, with the slopes of the closed form [kg·m²]."""
    coupler, rocker = closed_angles(crank)
    rates = np.linalg.solve(
        np.moveaxis(
            np.array(
                [[-COUPLER * np.sin(coupler), ROCKER * np.sin(rocker)], [COUPLER * np.cos(coupler), -ROCKER * np.cos(rocker)]]
            ),
            2,
            0,
        ),
        CRANK * np.stack([np.sin(crank), -np.cos(crank)], axis=-1)[..., None],
    )[..., 0]
    middle = CRANK * np.stack([-np.sin(crank), np.cos(crank)])
    middle = middle + 0.5 * COUPLER * rates[:, 0] * np.stack([-np.sin(coupler), np.cos(coupler)])
    bars = {b.name: b.inertia for b in FOUR_BAR.bodies}
    about = lambda b, r: b.tensor[1] + b.mass * r * r  # noqa: E731
    turning = about(bars["crank"], 0.5 * CRANK) + about(bars["rocker"], 0.5 * ROCKER) * rates[:, 1] ** 2
    return turning + bars["coupler"].tensor[1] * rates[:, 0] ** 2 + bars["coupler"].mass * (middle**2).sum(axis=0)


def test_four_bar_follows_its_closed_form_over_100_turns():
    """Without gravity, from about one turn per second: angles at every sample, and the time that 100 turns take."""
    model = replace(FOUR_BAR, world=replace(FOUR_BAR.world, gravity=0.0))
    start = model.on_loops(State(q=model.initial().q, v=np.array([-6.0, 0.0, 0.0])), held=(0,))
    sim = hm.Simulation(model, state=start, step=5e-4, record=0.05)
    ds = sim.run(100.0).recording
    crank, coupler, rocker = -ds.q.values.T  # revolute about y: positive is from x to −z
    turned, sideways = closed_angles(crank)
    # RK4 with 3e-3 rad per step has an error of 1e-12 each, which the stabilisation holds
    wrapped = lambda x: np.abs((x + np.pi) % (2.0 * np.pi) - np.pi).max()  # noqa: E731
    assert crank[-1] - crank[0] > 2.0 * np.pi * 100.0
    assert wrapped(crank + coupler - turned) < 1e-9
    assert wrapped(rocker - sideways) < 1e-9
    assert ds.loop_error.values.max() < 1e-9
    # ½ I(φ) φ̇² is constant, so that dt = √(I / 2E) dφ
    I0 = reduced_inertia(crank[:1])[0]
    edges = np.linspace(crank[0], crank[-1], 4000)
    nodes, weights = leggauss(8)
    half = 0.5 * np.diff(edges)[:, None]
    angles = 0.5 * (edges[:-1] + edges[1:])[:, None] + half * nodes
    time = (half * weights * np.sqrt(reduced_inertia(angles.ravel()).reshape(angles.shape) / I0)).sum() / 6.0
    assert time == pytest.approx(100.0, abs=1e-5)


def test_couplings_that_contradict_each_other_are_rejected():
    """Each holds alone, both together never."""
    first = Coupling(name="first", joint="rocker", of="crank", coefficients=(0.1, 2.0))
    open_bars = replace(FOUR_BAR, loops=(first,))
    q = open_bars.initial().q
    assert q[2] == pytest.approx(0.1 + 2.0 * q[0], abs=1e-12)
    with pytest.raises(hm.ModelError, match=r"(?s)'first' contradicts other loops.*'rocker'.*'second' contradicts"):
        replace(FOUR_BAR, loops=(first, replace(first, name="second", coefficients=(0.3, 2.0))))


@pytest.mark.parametrize(
    ("q", "v", "text"), [([0.01, 0, 0], [0, 0, 0], "is open"), ([0, 0, 0], [0.1, 0, 0], "opens.* 0.0.* per second")]
)
def test_a_run_starts_on_closed_loops(q, v, text):
    """Velocities that open a loop would let its ends drift apart by millimetres, without an impulse."""
    state = State(q=FOUR_BAR.initial().q + q, v=np.array(v, dtype=float))
    with pytest.raises(ValueError, match=f"loop 'pin' {text}.*on_loops"):
        hm.Simulation(FOUR_BAR, state=state)
    hm.Simulation(FOUR_BAR, state=FOUR_BAR.on_loops(state))
