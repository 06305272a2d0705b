"""Walking controllers: machine code on lanes against floats at states of a walk, and geometry of symbols against numbers."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry
from hydromechs.compiler import compile_function
from hydromechs.contact import MATERIALS, Terrain, ground_height
from hydromechs.walking import AlternatingSupport, Gait, Legs, Step, SupportGait, Tripod

TIMES = {
    "hexapod_walk": (1.5, 1.78, 2.6),  # standing up, in a swing, in the next one
    "aquarobot_rubble": (1.5, 3.6),
    "k2t_walk": (1.5, 3.0, 5.6),
    "dante_step": (1.5, 3.0, 5.6),
    "waav_step": (0.5, 4.0, 9.0),
}


@pytest.fixture(scope="module", params=list(TIMES))
def walk(request):
    """A block, and rows of its arguments: the first tick, ticks during the walk, and each step or swing that begins."""
    scenario = hm.load_scenario(request.param)
    sim = scenario.simulation()
    block, rows, last = sim.controller, [], 0.0

    def row():
        s = sim.state
        inputs = np.concatenate([s.command, s.held])
        return [s.t, s.q, s.v, inputs, np.zeros(block._sensors.size), s.memory, block.design_values]

    rows.append(row())
    for t in TIMES[request.param]:
        sim.run(t - last)
        last = t
        rows.append(row())
    return block, [np.array(x, dtype=float) for x in zip(*rows, strict=True)]


def begins(block, rows):
    """The same states with memory of a machine that is about to plan: all feet stand, and the next step is due."""
    rows = [x.copy() for x in rows]
    for k, flat in enumerate(rows[5]):
        m = block.pack.views(flat)
        if k and "swings" in m:
            m["swings"][...] = 0.0
        if k and "when" in m:
            rows[0][k] = block.start_time + m["number"] * block.gait.period
    return rows


def close(got, want):
    """Within rounding; searches for angles end at 1e-7 m, and rays to the ground start 10 km above it."""
    for x, rows in zip(got, zip(*want, strict=True), strict=True):
        rows = np.array(rows, dtype=float)
        np.testing.assert_allclose(x, rows, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(rows[np.isfinite(rows)]).max(initial=0.0)))


@pytest.mark.parametrize("planning", [False, True])
def test_machine_code_against_floats(walk, planning):
    """Each world on its lane as `update` in floats, in worlds that plan and in worlds that do not, side by side."""
    block, rows = walk
    given = begins(block, rows) if planning else rows
    want = [block.evaluate(*row) for row in zip(*given, strict=True)]
    for lanes in (1, 8):
        close(block.program(lanes=lanes)(given), want)


def test_a_debugger_sees_the_same_walk(monkeypatch):
    scenario = hm.load_scenario("k2t_walk")

    def run():
        return scenario.simulation().run(1.02).recording

    compiled = run()
    monkeypatch.setattr(AlternatingSupport, "compiled", False)
    floats = run()
    np.testing.assert_allclose(floats.q.values, compiled.q.values, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(floats.signal.values, compiled.signal.values, rtol=0.0, atol=1e-11)


def test_legs_that_cannot_reach_end_where_they_are_nearest():
    """On lanes beside legs that can: each machine's legs stop on their own."""
    legs = Legs(hm.load("aquarobot"), [f"foot{k}" for k in range(1, 7)], "body")
    start = hm.load("aquarobot").initial().q[legs.at].reshape(6, 3)
    homes = legs.positions(start)[0]
    places = np.array([homes, homes * [1.02, 1.02, 1.0], homes + np.array([0.0, 0.0, 3.0]), homes * [3.0, 3.0, 1.0]])
    shapes = {"places": (6, 3), "start": (6, 3)}
    code = compile_function("legs", legs.angles, shapes, {"angles": (6, 3), "left": (6,)}, lanes=8)
    angles, left = code([places, np.tile(start, (4, 1, 1))])
    for k, place in enumerate(places):
        found, off = legs.angles(place, start)
        np.testing.assert_allclose(left[k], off, atol=1e-9)
        if k < 2:
            np.testing.assert_allclose(angles[k], found, atol=1e-12)
            np.testing.assert_allclose(legs.positions(angles[k])[0], place, atol=1e-6)
        else:
            assert off.min() > 0.5


def test_the_ground_of_symbols_is_that_of_numbers():
    down = np.array([0.0, 0.0, 1.0])
    rock = MATERIALS["rock"]
    waves = geometry.height_field(heights=lambda x, y: -5.0 + 0.3 * np.sin(x) * np.cos(y), x=(-2, 2), y=(-2, 2), spacing=0.2)
    crate = Terrain(
        name="c", material=rock, origin=hm.Origin((0.2, 0.1, 4.6), (0.1, 0.2, 0.3)), shape=geometry.Box(size=(1, 1, 1))
    )
    solids = [
        Terrain(name="b", material=rock, shape=waves),
        Terrain(name="p", material=rock, shape=geometry.Plane.through((0, 0, 5.5), (0.3, 0.1, -1))),
        Terrain(name="o", material=rock, shape=geometry.Plane.through((0, 0, 5.5), (0.3, 0.1, 1))),
        crate,
    ]
    at = np.random.default_rng(1).uniform(-3.0, 3.0, (40, 3, 2))
    for some in (solids, [crate]):
        code = compile_function(
            "height",
            lambda at, some=some: ground_height(some, at[:, 0], at[:, 1], down),
            {"at": (3, 2)},
            {"h": (3,)},
        )
        want = ground_height(some, at[..., 0], at[..., 1], down)
        assert np.isneginf(want).any() == (len(some) == 1)
        np.testing.assert_allclose(code([at])[0], want, rtol=0.0, atol=1e-11)


class Branching(Gait):
    """A gait that branches on the time, which cannot be compiled."""

    def offsets(self, places):
        return np.zeros(len(places))

    def progress(self, t, offsets):
        return np.full(len(offsets), -1.0 if t < 3.0 else 0.5)


def test_a_gait_that_cannot_be_compiled_is_named():
    scenario = hm.load_scenario("hexapod_walk")
    sim = scenario.simulation()
    walk = type(sim.controller)(**{**sim.controller.arguments, "gait": Branching(period=2.0, duty=0.7)})
    with pytest.raises(TypeError, match="must not branch on a value") as caught:
        hm.Simulation(sim.plant, controller=walk, step=0.001, state=sim.state)
    frames = [(entry.path.name, entry.name) for entry in caught.traceback]
    assert ("test_walking_blocks.py", "progress") in frames


class Pilgrim(SupportGait):
    """Three steps of growing length, and so on from the last."""

    def __init__(self):
        super().__init__(lift=0.5, move=1.5, lower=0.5, shift=0.2)
        self.asked = []

    def step(self, number):
        self.asked.append(number)
        return Step(stride=0.1 * min(number + 1, 3), turn=0.0)


def test_a_gait_is_asked_for_its_steps_once():
    sim = hm.load_scenario("k2t_walk").simulation()
    walk = AlternatingSupport(**{**sim.controller.arguments, "gait": Pilgrim(), "distance": None})
    other = hm.Simulation(sim.plant, controller=walk, step=sim.step_size, record=0.05, state=sim.state)
    leads = []
    for _ in range(4):
        memory = other.run(2.7).state.memory
        leads.append(float(other.controller.pack.views(memory)["lead"]))
    assert leads == pytest.approx([0.05, 0.1, 0.15, 0.15])
    assert other.controller.gait.asked == list(range(1000))


def test_swings_begin_at_the_tick_that_their_offsets_name():
    """Also where time and period are no binary fractions: a swing of period 1.6 s that begins every 80 ticks of 0.02 s."""
    gait = Tripod(period=1.6, duty=0.6)
    code = compile_function("gait", lambda t: gait.progress(t + 1e-9, np.array([0.0, 0.5])), {"t": ()}, {"s": (2,)}, lanes=8)
    ticks = np.arange(800)
    swing = code([ticks * 0.02])[0]
    for column, offset in zip(swing.T, (0, 40), strict=True):
        begins = np.flatnonzero((column[1:] >= 0.0) & (column[:-1] < 0.0)) + 1
        assert set((begins - offset) % 80) == {0}
