"""Sliding-block methods: coefficients against the textbooks', orders of convergence on quaternions, lanes against one after another.

The mechanism is that of `test_integrators`: a tumbling vehicle with a pod on a ball joint and an arm, in a current.
"""

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, Compiled, Recipe
from hydromechs.errors import SimulationDiverged
from hydromechs.integrators import SlidingBlock, block_named, corrector_weights, method_named, predictor_weights
from hydromechs.integrators._block_methods import amplification

SPEC = importlib.util.spec_from_file_location("integrators_tested", Path(__file__).with_name("test_integrators.py"))
SHARED = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SHARED)
CURRENT, TAU, T, distance, orders = SHARED.CURRENT, SHARED.TAU, SHARED.T, SHARED.distance, SHARED.orders
start, tumbler, truth, wet = SHARED.start, SHARED.tumbler, SHARED.truth, SHARED.wet

EPS = np.finfo(float).eps
INPUTS = {"tau": TAU, "fluid_velocity": CURRENT}
PAIRS = [(k, p) for k in range(2, 11) for p in range(1, k)]

# -- coefficients ---------------------------------------------------------------------------------------------------------


def test_one_point_weights_are_those_of_adams():
    """Verify Adams-Bashforth and Adams-Moulton of orders 2 to 5 (Hairer, Nørsett, Wanner, III.1), newest derivative last."""
    bashforth = {2: (-1, 3), 3: (5, -16, 23), 4: (-9, 37, -59, 55), 5: (251, -1274, 2616, -2774, 1901)}
    moulton = {2: (1, 1), 3: (-1, 8, 5), 4: (1, -5, 19, 9), 5: (-19, 106, -264, 646, 251)}
    divisor = {2: 2, 3: 12, 4: 24, 5: 720}
    for k in range(2, 6):
        assert predictor_weights(k, 1) == [tuple(Fraction(x, divisor[k]) for x in bashforth[k])]
        assert corrector_weights(k, 1) == [tuple(Fraction(x, divisor[k]) for x in moulton[k])]


def test_last_point_of_a_full_block_is_corrected_by_newton_and_cotes():
    """With p = k − 1 the corrector of the last point is Simpson's rule (k = 3), Boole's (k = 5) and so on."""
    assert corrector_weights(3, 2)[-1] == (Fraction(1, 3), Fraction(4, 3), Fraction(1, 3))
    assert corrector_weights(5, 4)[-1] == tuple(2 * Fraction(x, 45) for x in (7, 32, 12, 32, 7))


@pytest.mark.parametrize(("k", "p"), PAIRS)
def test_weights_integrate_polynomials_exactly(k, p):
    """Σ w_i node_i^r = j^(r+1)/(r+1) for r = 0 ... k − 1, in whole fractions; the sum of the weights is the length j."""
    for weights, nodes in ((predictor_weights(k, p), range(1 - k, 1)), (corrector_weights(k, p), range(p + 1 - k, p + 1))):
        for j, row in enumerate(weights, start=1):
            assert sum(row) == j
            for r in range(k):
                assert sum(w * Fraction(node) ** r for w, node in zip(row, nodes, strict=True)) == Fraction(j ** (r + 1), r + 1)


@pytest.mark.parametrize(("k", "p"), PAIRS)
def test_a_block_follows_the_exponential(k, p):
    """Of ẏ = λ y the principal root of a block is exp(p z) with an error of z^(k+1)."""
    for z in (0.02, -0.02, 0.02j):
        root = np.linalg.eigvals(amplification(k, p, z))
        nearest = root[np.argmin(np.abs(root - np.exp(p * z)))]
        # error constants of blocks stay below (2 p)^(k+1); rounding of the roots of a matrix of size 2^k
        assert abs(nearest - np.exp(p * z)) < (2.0 * p * abs(z)) ** (k + 1) + 2.0**k * 100 * EPS


def test_stability_is_known():
    """PECE of order 2 is stable to h λ = −2, of order 4 to −1.28 (Hairer and Wanner V.1); larger blocks are less stable."""
    assert SlidingBlock(order=2, points=1).stability == pytest.approx(2.0, abs=1e-3)
    assert SlidingBlock(order=4, points=1).stability == pytest.approx(1.28, abs=0.01)
    limits = [SlidingBlock(points=p).stability for p in (1, 2, 4)]
    assert limits == sorted(limits, reverse=True)
    assert all(0.0 < SlidingBlock(points=p).oscillation < 1.0 for p in (1, 2, 4))


# -- names and errors -----------------------------------------------------------------------------------------------------


def test_names():
    assert method_named("b4pc5") == SlidingBlock(points=4, order=5)
    assert method_named("b2pc7").name == "b2pc7"
    assert block_named("rk4") is None
    method = SlidingBlock(points=2)
    assert method_named(method) is method


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: method_named("b5pc5"), "points is 5 with order 5; this leaves no old derivative"),
        (lambda: method_named("b0pc5"), "points is 0; use at least 1"),
        (lambda: SlidingBlock(order=11, points=1), "order is 11; use 2 to 10"),
        (lambda: SlidingBlock(points=2.5), "points is 2.5; enter an integer"),
        (lambda: SlidingBlock(points=4, tasks=3), "tasks is 3; use a divisor of the 4 points"),
        (lambda: method_named("b5"), "no integrator 'b5'"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_inputs_that_jump_are_rejected(wet):
    q, v = start(wet.model)
    with pytest.raises(ValueError, match="tau changes with every step, but b4pc5"):
        hm.rollout(wet, q, v, np.zeros((20, wet.model.nv)), 0.01, 20, method="b4pc5")


# -- orders ---------------------------------------------------------------------------------------------------------------


def errors_of(dyn, exact, method, counts):
    """Error at T for numbers of steps."""
    q, v = start(dyn.model)
    out = []
    for n in counts:
        r = hm.rollout(dyn, q, v, INPUTS, T / n, n, method=method, record=n)
        assert r.good == n
        out.append(distance(dyn.model, exact(T), (r.q[-1], r.v[-1])))
    return out


@pytest.mark.parametrize(
    ("name", "order", "steps"),
    [
        ("b1pc2", 2, 160),
        ("b1pc3", 3, 80),
        ("b2pc3", 4, 80),
        ("b1pc4", 4, 80),
        ("b1pc5", 5, 160),
        ("b2pc5", 5, 160),
        ("b4pc5", 6, 120),
    ],
)
def test_order_of_convergence(wet, truth, name, order, steps):
    """Halving the step divides the error by 2^order, or more.

    A full block of an odd order is better by one: the rule of its last point, Simpson's or Boole's, is exact for one
    power more. Terms of the next order make the observed one larger as long as they count: it may be up to one more.
    """
    found = orders(errors_of(wet, truth, name, (steps, 2 * steps, 4 * steps)))
    assert order - 0.35 < found[-1] < order + 1.0, found


@pytest.mark.parametrize("name", ["b1pc7", "b3pc6", "b2pc8"])
def test_start_does_not_spoil_high_orders(wet, truth, name):
    """Orders above 5, though the start is of order 5: it takes shorter steps."""
    found = orders(errors_of(wet, truth, name, (80, 160, 320)))
    assert found.max() > method_named(name).order - 0.6, found


# -- lanes, batches, rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "k"), [(2, 5), (5, 6)])
def test_points_on_lanes_are_points_one_after_another(wet, p, k):
    """The same operations in another order of fused products: equal to rounding, grown by the motion's own divergence."""
    q, v = start(wet.model)
    paths = [
        hm.rollout(wet, q, v, INPUTS, 1e-3, 203, method=SlidingBlock(order=k, points=p, tasks=tasks)) for tasks in (None, 1)
    ]
    for one, other in zip(paths[0][1:3], paths[1][1:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=5000 * EPS)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_worlds_on_lanes(wet, lanes):
    """A batch gives each world what it gets alone."""
    rng = np.random.default_rng(1)
    q, v = start(wet.model)
    V = v + 0.3 * rng.normal(size=(5, v.size))
    batch = hm.rollout(wet.on(lanes=lanes), q, V, INPUTS, 2e-3, 51, method="b2pc5", record=17)
    for k in range(5):
        alone = hm.rollout(wet, q, V[k], INPUTS, 2e-3, 51, method="b2pc5", record=17)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=2000 * EPS)
        np.testing.assert_allclose(batch.v[k], alone.v, rtol=0, atol=2000 * EPS)


@pytest.mark.parametrize(
    ("steps", "record"), [(n, k) for n in (1, 3, 4, 5, 7, 8, 9, 15, 20, 30) for k in (1, 3, 4, 5) if n % k == 0]
)
def test_any_number_of_steps(wet, steps, record):
    """Whatever is left of whole blocks is taken by the start; rows are where they belong, up to the error of the methods."""
    q, v = start(wet.model)
    block = hm.rollout(wet, q, v, INPUTS, 1e-3, steps, method="b4pc5", record=record)
    fine = hm.rollout(wet, q, v, INPUTS, 1e-3, steps, method="rk4", record=record)
    assert block.q.shape == fine.q.shape
    assert block.good == steps
    # local errors of rk4 at h = 1e-3 are some 1e-13 a step
    np.testing.assert_allclose(block.q, fine.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(block.v, fine.v, rtol=0, atol=1e-10)


def test_divergence_is_reported(wet):
    """A step far too long: the world stays at its last finite state."""
    q, v = start(wet.model)
    r = hm.rollout(wet, q, 100.0 * v, INPUTS, 1.0, 400, method="b4pc5")
    assert r.good < 400
    assert np.isfinite(r.q).all() and np.isfinite(r.v).all()
    np.testing.assert_array_equal(r.v[-1], r.v[int(r.good)])


def test_call_on_lanes_everywhere():
    """Points on lanes in machine code of 1, 4 and 8 worlds, interpreted, and with numbers, are the same points."""
    inner = compiler.trace(
        lambda a, x: (np.array([np.sin(a[()]) * x[0], np.tanh(x[1]) * a[()]]), x[0] / (2.0 + x[1] * x[1])),
        {"a": (), "x": (2,)},
        name="inner",
    )

    def points(a, x, shared):
        y, z = compiler.call_on_lanes(inner, a, x)
        again = compiler.call_on_lanes(inner, z, y)[0]
        both = compiler.call_on_lanes(inner, np.array([0.5, 0.25, -1.0]), np.broadcast_to(shared, (3, 2)))[0]
        return y + again, z, both

    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 4, 5, 8, 11):
        a, x, shared = rng.normal(size=(7, count)), rng.normal(size=(7, count, 2)), rng.normal(size=(7, 2))
        shapes = {"a": (count,), "x": (count, 2), "shared": (2,)}
        program = compiler.trace(points, shapes)
        assert program.count().sines_cosines == (2 * count + 3) * inner.count().sines_cosines
        outputs = tuple(Argument(n, s) for n, s in (("y", (count, 2)), ("z", (count,)), ("both", (3, 2))))
        want = [points(a[w], x[w], shared[w]) for w in range(7)]
        for lanes in (1, 4, 8):
            code = Compiled(Recipe("points", points, tuple(Argument(n, s) for n, s in shapes.items()), outputs, None), lanes, 1)
            for worlds in (slice(0, 1), slice(0, 7)):
                got = code([a[worlds], x[worlds], shared[worlds]])
                for w in range(worlds.stop):
                    for one, other in zip([y[w] for y in got], want[w], strict=True):
                        np.testing.assert_allclose(one, other, rtol=20 * EPS, atol=20 * EPS)
        for one, other in zip(program(a[0], x[0], shared[0]), want[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=20 * EPS, atol=20 * EPS)
    with pytest.raises(ValueError, match="equal numbers of points"):
        compiler.call_on_lanes(inner, np.zeros(3), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"x of 2 points must have shape \(2, 2\)"):
        compiler.call_on_lanes(inner, np.zeros(2), np.zeros((2, 3)))


def test_difference_undoes_retract():
    """(q ⊕ u) ⊖ q = u for angles up to π, also traced, and smooth at 0."""
    model = tumbler(drag=False, gravity=9.81)
    program = compiler.trace(lambda q, r: dynamics.difference(model, q, r), {"q": (model.nq,), "r": (model.nq,)})
    rng = np.random.default_rng(2)
    q, _ = start(model)
    for size in (0.0, 1e-200, 1e-9, 1e-3, 1.0, 3.1):
        u = rng.normal(size=model.nv)
        for at in (slice(3, 6), slice(6, 9)):
            u[at] *= size / np.linalg.norm(u[at])
        other = dynamics.retract(model, q, u)
        for got in (dynamics.difference(model, q, other), program(q, other)[0], dynamics.difference(model, q, _flipped(other))):
            # quaternions have errors of ε, and angles near π are as sensitive as 1/cos(θ/2) to their lengths
            np.testing.assert_allclose(got, u, rtol=0, atol=60 * EPS)


def _flipped(q):
    """The same configuration with the other sign of the vehicle's quaternion."""
    return np.concatenate([q[:3], -q[3:7], q[7:]])


# -- Simulation -----------------------------------------------------------------------------------------------------------


def simulation(integrator, step=2e-3, **options):
    model = tumbler(drag=True, gravity=9.81)
    current = hm.hydro.Current(velocity=tuple(CURRENT))
    return hm.Simulation(
        model, environment=hm.hydro.Environment(current=current), integrator=integrator, step=step, record=0.02, **options
    )


@pytest.mark.parametrize("period", [None, 0.02, 0.05])
def test_simulation_agrees_and_resumes(period):
    """A block method in a simulation, with ticks that leave no integer number of blocks; resumed, it is the same to the last bit."""
    options = {} if period is None else {"controller": lambda state: None, "period": period}
    sim = simulation("b4pc5", **options)
    q, v = start(sim.model)
    sim.reset(hm.model.State(q=q, v=v))
    middle = sim.run(0.4)
    assert middle.recording.sizes["time"] == 21
    end = sim.run(0.4).state
    sim.reset(middle.state)
    again = sim.run(0.4).state
    np.testing.assert_array_equal(again.q, end.q)
    np.testing.assert_array_equal(again.v, end.v)
    fine = simulation("rk4", step=5e-4)
    fine.reset(hm.model.State(q=q, v=v))
    there = fine.run(0.8).state
    # b4pc5 has an error of 1.6e-8 at a step of 1/320 s over 1 s (see the orders), and less here
    assert distance(sim.model, (there.q, there.v), (end.q, end.v)) < 1e-8


def test_simulation_that_diverges_reports_it():
    sim = simulation("b4pc5", step=0.02)
    q, v = start(sim.model)
    sim.reset(hm.model.State(q=q, v=1e6 * v))
    with pytest.raises(SimulationDiverged, match="the next step is not finite"):
        sim.run(20.0)
