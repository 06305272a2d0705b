"""Routines: the sequencer in machine code against the same routine node by node in floats."""

import numpy as np
import pytest
from tests.staged_routine import StagedRoutine

from hydromechs.compiler import Argument, Recipe, Routine, RoutineCode, StepPlaces
from hydromechs.spatial import where


def recipe(name, function, inputs, outputs):
    given, wanted = (tuple(Argument(*item) for item in shapes.items()) for shapes in (inputs, outputs))
    return Recipe(name, function, given, wanted, None)


def oscillator(n, q, x, h, offset, u):
    """One semi-implicit step of two oscillators; the force depends on time, so that short steps show."""
    v = x + h * (u[0] - q * np.array([3.0, 5.0]) + 0.1 * (offset + n * h))
    return n + 1.0, q + h * v, v


STEP = recipe(
    "step",
    oscillator,
    {"n": (), "q": (2,), "x": (2,), "h": (), "offset": (), "u": (1,)},
    {"n_after": (), "q_after": (2,), "x_after": (2,)},
)
DUE = recipe("due", lambda n: (where(n % 3.0 == 0.0, 1.0, 0.0),), {"n": ()}, {"due": ()})
TICK = recipe(
    "tick", lambda n, u, m: (u * 0.9, m[::-1] + n), {"n": (), "u": (1,), "m": (3,)}, {"u_after": (1,), "m_after": (3,)}
)
PLAN = recipe("plan", lambda n, k: (np.array([n + 2.0, where(k[()] > 2.0, 0.004, 0.0)]),), {"n": (), "k": ()}, {"goal": (2,)})
COUNT = recipe(
    "count",
    lambda k, m: (k + m[0] * 0.0 + 1.0, where(k[()] < m[1], 1.0, 0.0)),
    {"k": (), "m": (3,)},
    {"k_after": (), "open": ()},
)
ONE = recipe("one", lambda: (np.array(1.0),), {}, {"y": ()})


def mission():
    """Ticks at their own period, a nested repetition, pieces of arrays, steps off the grid and back."""
    r = Routine(
        "mission", {"n": 1, "part": 1, "y": 4, "u": 1, "m": 4, "k": 1, "alive": 1}, {"h": 1}, ("n", "part", "y", "u", "m")
    )
    due, goal, open_ = r.scratch("due", 1), r.scratch("goal", 2), r.scratch("open", 1)
    pieces = [r.part("m", 3, 1), r.part("m", 0, 2)]
    r.call(DUE, [r["n"]], [due])
    with r.when(due):
        r.call(TICK, [r["n"], r["u"], pieces], [r["u"], pieces])
        r.call(ONE, [], [open_])
        with r.repeat(open_, 5):
            r.call(COUNT, [r["k"], pieces], [r["k"], open_])
    r.sample()
    r.call(PLAN, [r["n"], r["k"]], [goal])
    places = (r["n"], r["part"], r.part("y", 0, 2), r.part("y", 2, 2), r["u"], r["h"], r["alive"], goal)
    r.steps(STEP, StepPlaces(*places))
    return r


def start(worlds):
    rng = np.random.default_rng(3)
    state = {"n": 1.0 * rng.integers(0, 9, (worlds, 1)), "part": np.zeros((worlds, 1)), "y": rng.normal(size=(worlds, 4))}
    state["part"][::4] = 0.003  # these begin off the grid
    return state | {
        "u": rng.normal(size=(worlds, 1)),
        "m": rng.normal(size=(worlds, 4)),
        "k": np.zeros((worlds, 1)),
        "alive": np.ones((worlds, 1)),
    }


def floats(routine, state, h, passes):
    rows = []
    staged = StagedRoutine(routine)
    staged.run(state, {"h": np.array([[h]])}, passes, lambda which: rows.append({k: state[k].copy() for k in routine.sampled}))
    return {k: np.stack([row[k] for row in rows], axis=1) for k in routine.sampled}


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("worlds", [1, 13])
def test_sequencer_equals_floats(lanes, worlds):
    """Every number of every sample; 4 ulp for each of 40 steps, as machine code fuses products and sums."""
    routine, passes, h = mission(), 20, 0.01
    state, expected = start(worlds), start(worlds)
    rows = floats(routine, expected, h, passes)
    records = {k: np.zeros((worlds, passes, routine.state[k])) for k in routine.sampled}
    count = RoutineCode(routine, lanes, 2).run(state, {"h": np.array([[h]])}, passes, records)
    assert (count == passes).all()
    assert (state["k"] > 0.0).any()  # the repetition ran
    assert (state["part"] > 0.0).any()  # and steps ended off the grid
    for key in routine.sampled:
        np.testing.assert_allclose(records[key], rows[key], rtol=1e-13, atol=1e-13)
    for key, x in state.items():
        np.testing.assert_allclose(x, expected[key], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_bits_of_a_world_do_not_depend_on_its_neighbours(lanes):
    """A world among others, with other numbers on the other lanes, and alone: the same bits."""
    routine, together = mission(), start(13)
    RoutineCode(routine, lanes, 1).run(together, {"h": np.array([[0.01]])}, 20)
    for world in (0, 5, 12):
        alone = {k: x[world : world + 1].copy() for k, x in start(13).items()}
        RoutineCode(routine, lanes, 1).run(alone, {"h": np.array([[0.01]])}, 20)
        for key, x in alone.items():
            np.testing.assert_array_equal(x[0], together[key][world])


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_world_that_is_not_finite_stops_where_it_was(lanes):
    routine, state = mission(), start(9)
    state["y"][4, 3] = np.nan
    before = {k: x[4].copy() for k, x in state.items()}
    expected = start(9)
    RoutineCode(routine, lanes, 1).run(expected, {"h": np.array([[0.01]])}, 8)
    RoutineCode(routine, lanes, 1).run(state, {"h": np.array([[0.01]])}, 8)
    assert state["alive"][4] == 0.0
    np.testing.assert_array_equal(state["n"][4], before["n"])
    np.testing.assert_array_equal(state["y"][4], before["y"])
    for key, x in state.items():
        np.testing.assert_array_equal(np.delete(x, 4, axis=0), np.delete(expected[key], 4, axis=0))


def test_run_in_parts_equals_one_run():
    routine, whole, parts = mission(), start(5), start(5)
    code = RoutineCode(routine, 8, 1)
    code.run(whole, {"h": np.array([[0.01]])}, 20)
    for passes in (1, 7, 12):
        code.run(parts, {"h": np.array([[0.01]])}, passes)
    for key, x in whole.items():
        np.testing.assert_array_equal(x, parts[key])


def test_wrong_sizes_are_named():
    r = mission()
    with pytest.raises(ValueError, match="m of tick have 4 entries; pass 3"):
        r.call(TICK, [r["n"], r["u"], r["m"]], [r["u"], r.part("m", 0, 3)])
    with pytest.raises(ValueError, match="slice 3 to 5 of m"):
        r.part("m", 3, 2)
    with pytest.raises(ValueError, match="y must be contiguous"):
        RoutineCode(r, 1, 1).run(start(2) | {"y": np.zeros((2, 5))}, {"h": np.ones((1, 1))}, 1)
