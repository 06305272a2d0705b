"""A function at several points: calls of one program give what copies of its operations give."""

from __future__ import annotations

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler
from hydromechs.compiler import compile_function
from hydromechs.simulation import PlantPrograms
from hydromechs.simulation._evaluate import derivative
from hydromechs.spatial import norm, where

POINTS = 11
"""One full vector of eight lanes and a part of another."""


def stretched(X, k):
    """Tension of springs between points, of a stiffness that follows from an input, and a part that is constant."""
    stiffness = k * k

    def spring(a, b, rest):
        inner = compiler.each(lambda x: np.sin(x) * stiffness, [a[0], b[0], a[1]])
        strain = where(norm(b - a) > rest, norm(b - a) / rest - 1.0, 0.0)
        return (b - a) * stiffness * strain, (sum(inner), 3.0, None)

    found = compiler.each(spring, X[:-1], X[1:], [0.1 + 0.01 * j for j in range(POINTS)])
    assert all(more[1] == 3.0 and more[2] is None for _, more in found)  # constants stay constants
    return np.stack([f for f, _ in found]), np.array([more[0] for _, more in found])


@pytest.mark.parametrize("lanes", [1, compiler.native_lanes()])
def test_calls_equal_the_function(lanes):
    """With symbols of the function around it, calls in calls, tuples, constants and None."""
    rng = np.random.default_rng(3)
    X, k = rng.normal(size=(16, POINTS + 1, 3)), rng.normal(size=16)
    shapes = {"X": (POINTS + 1, 3), "k": ()}
    code = compile_function("stretched", stretched, shapes, {"f": (POINTS, 3), "s": (POINTS,)}, lanes=lanes)
    f, s = code([X, k])
    for world in range(16):
        wanted = stretched(X[world], k[world])
        scale = 20 * np.finfo(float).eps  # some ten operations
        assert np.allclose(f[world], wanted[0], rtol=0, atol=scale * np.abs(wanted[0]).max())
        assert np.allclose(s[world], wanted[1], rtol=0, atol=scale * np.abs(wanted[1]).max())


def test_program_has_one_copy():
    """The operations are in the program once; with `least` they are copied."""

    def sums(X, least=0):
        return np.array(compiler.each(lambda x: np.exp(np.sin(x @ x)), list(X), least=least))

    calls = compiler.trace(sums, {"X": (POINTS, 3)})
    copies = compiler.trace(lambda X: sums(X, 10_000), {"X": (POINTS, 3)})
    assert [call.callee.points for call in calls.calls] == [POINTS] and not copies.calls
    assert sum(op.kind == "exp" for op in calls.operations) == 0
    assert sum(op.kind == "exp" for op in copies.operations) == POINTS


@pytest.mark.parametrize("lanes", [1, compiler.native_lanes()])
def test_tether_and_contacts_equal_floats(lanes):
    """A tether that lies on the bed, and a vehicle with many contact points on it."""
    scenario = hm.load_scenario("tethered_rov")
    sim = scenario.simulation()
    plant = sim.plant
    programs = PlantPrograms(plant, sim.method, lanes=lanes)
    callees = [call.callee for call in programs.stepper.derivative_program.calls]
    assert any(getattr(c, "points", 0) > 20 for c in callees)  # the contacts act together
    rng = np.random.default_rng(4)
    nv, n = plant.model.nv, programs.stepper.n
    state = sim.state
    y = np.concatenate([np.zeros(nv), state.v, state.internal]) + 1e-4 * rng.normal(size=n)
    q = state.q.copy()
    q[2] = 63.9  # metres: some points of the vehicle are below the bed
    u = np.concatenate([state.command, state.held, plant.data(plant.flow(), 0.0, {}, plant.waves)[0]])
    given = {"t": 0.3, "q": q, "y": y, "inputs": u}
    shapes = {name: np.shape(x) for name, x in given.items()}
    code = compile_function("rates", programs.stepper.derivative, shapes, {"ydot": (n,)}, lanes=lanes, rarely_called=True)
    (rates,) = code([np.repeat(np.asarray(x)[None], 8, axis=0) for x in given.values()])
    wanted = derivative(plant, 0.3, q, y[:nv], y[nv : 2 * nv], y[2 * nv :], u)
    for row in rates:
        assert np.allclose(row, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())  # a stiff line: 20 kN per unit strain
