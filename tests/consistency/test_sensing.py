"""Sensors and filter as nodes of a routine: lanes, worlds, runs in parts, and floats."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.instruments import world_arrays, world_places
from benchmarks.navigation_study import FLOOR, IMU, RATE, SENSORS, small_vehicle
from tests.staged_routine import StagedRoutine

import hydromechs as hm
from hydromechs.compiler import Routine, RoutineCode, recipe_of
from hydromechs.navigation import ErrorStateFilter, Navigation, Sensing
from hydromechs.sensors import Noise

EVERY = (
    replace(
        IMU, misalignment=0.01, dropout=0.05, gyroscope=Noise(density=0.01, bias=0.01, walk=0.001, resolution=0.001, limit=1.0)
    ),
    *(replace(s, dropout=0.1, outages=((1.0, 1.5),), seed=3) for s in SENSORS[1:]),
)


@pytest.fixture(scope="module")
def sensing():
    """Every kind of error; the filter beside it."""
    plant = hm.Plant(model=small_vehicle())
    navigation = Navigation(filter=ErrorStateFilter(patience=2, gate=0.5))
    return Sensing(plant, EVERY, navigation, [FLOOR], 0.01)


def routine_of(sensing):
    """Ticks one after another of a vehicle at rest."""
    sizes = {name: x.size for name, x in sensing.state.items()} | world_arrays(sensing.plant)
    sizes |= {"signals": len(sensing.signals), "reports": 5 * len(sensing.texts)}
    r = Routine(
        "sensing",
        sizes,
        {k: x.size for k, x in sensing.inputs.items()} | {"inputs": sensing.plant.layout.size},
        ("signals", "reports"),
    )
    out = sensing.add(r, world_places(r))
    for name in ("signals", "reports"):
        r.copy(getattr(out, name), r[name])
    shapes = {"t": (), "tick": ()}
    r.call(
        recipe_of("next", lambda t, tick: ((tick + 1.0) / RATE, tick + 1.0), shapes, shapes),
        [r["t"], r["tick"]],
        [r["t"], r["tick"]],
    )
    r.sample()
    return r


def start(sensing, worlds):
    q, v = sensing.plant.model.neutral()
    q[2] = 10.0
    given = {"t": [0.0], "tick": [0.0], "q": q, "x": np.zeros(len(v) + sensing.plant.layout.nz)}
    state = {name: np.tile(np.ravel(x), (worlds, 1)).astype(float) for name, x in (sensing.state | given).items()}
    state |= {"seed": 5.0 + np.arange(worlds)[:, None] // 2, "world": np.arange(worlds)[:, None] % 2 * 1.0}
    return state | {"signals": np.zeros((worlds, len(sensing.signals))), "reports": np.zeros((worlds, 5 * len(sensing.texts)))}


def run(sensing, lanes, worlds, parts, state=None):
    routine, state = routine_of(sensing), start(sensing, worlds) if state is None else state
    given = {k: x[None] for k, x in sensing.inputs.items()} | {"inputs": np.zeros((1, sensing.plant.layout.size))}
    code, found = RoutineCode(routine, lanes, 1), []
    for passes in parts:
        records = {k: np.zeros((worlds, passes, routine.state[k])) for k in routine.sampled}
        code.run(state, given, passes, records)
        found.append(records)
    return {k: np.concatenate([x[k] for x in found], axis=1) for k in routine.sampled}, state


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_lanes_agree_and_worlds_are_their_own(sensing, lanes):
    """Same noise, same gaps, same reports on all lanes; a world alone has the bits that it has among others."""
    worlds = 9
    rows, _ = run(sensing, lanes, worlds, [80])
    expected, _ = run(sensing, 1, worlds, [80])
    np.testing.assert_array_equal(np.isnan(rows["signals"]), np.isnan(expected["signals"]))
    np.testing.assert_allclose(rows["signals"], expected["signals"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows["reports"], expected["reports"], rtol=1e-9, atol=1e-9)
    assert (rows["reports"][:, :, 5::5] > 0.0).any()
    state = {k: x[4:5].copy() for k, x in start(sensing, worlds).items()}
    alone, _ = run(sensing, lanes, 1, [80], state)
    np.testing.assert_array_equal(alone["signals"][0], rows["signals"][4])
    names = list(sensing.signals)
    depth = rows["signals"][:, :, names.index("depth.depth")]
    assert len({*depth[:, 0].tolist()}) == worlds  # each seed and world has its own noise


def test_runs_in_parts_have_the_bits_of_one_run(sensing):
    """Interrupted after every tick."""
    whole, end = run(sensing, 8, 3, [60])
    parts, after = run(sensing, 8, 3, [1] * 60)
    for k, x in whole.items():
        np.testing.assert_array_equal(x, parts[k])
    for k, x in end.items():
        np.testing.assert_array_equal(x, after[k])


def test_machine_code_equals_floats(sensing):
    """Node by node in floats: the same noise bits, all else to rounding."""
    routine, state, expected = routine_of(sensing), start(sensing, 2), start(sensing, 2)
    given = {k: x[None] for k, x in sensing.inputs.items()} | {"inputs": np.zeros((1, sensing.plant.layout.size))}
    RoutineCode(routine, 1, 1).run(state, given, 40)

    StagedRoutine(routine).run(expected, given, 40)
    for k, x in state.items():
        np.testing.assert_allclose(x, expected[k], rtol=1e-9, atol=1e-9, err_msg=k)
