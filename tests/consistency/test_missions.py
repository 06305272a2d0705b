"""Whole missions in compiled code: many worlds against one, one against ticks in Python, and events in each world."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.compiler import native_lanes
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import method_named
from hydromechs.library import scenario_names
from hydromechs.recording import Check, samples_of

SHORT = 1.0
"""Duration of a mission in these tests [s]; up to the first samples after its first event if that is later."""


SAME_BITS = ("fast_manipulation", "hexapod_walk", "tethered_rov", "wave_zone")
"""Missions that also run on the lanes of worlds; their code is the same, but each is traced again."""


def shortened(scenario):
    """The scenario, up to a second after its first event, with the checks that can be judged then."""
    times = [e.level for e in scenario.events if e.quantity == "time"]
    duration = min(scenario.duration, max(SHORT, min(times, default=0.0) + 1.0 if times and min(times) < 6.0 else SHORT))
    events = tuple(e for e in scenario.events if e.quantity != "time" or e.level < duration)
    method = "rk4" if method_named(scenario.integrator).adaptive else scenario.integrator
    return replace(scenario, duration=duration, events=events, checks=(), integrator=method)


def compiled(name):
    scenario = shortened(hm.load_scenario(name))
    sim = scenario.simulation()
    assert not sim.march.python
    return scenario, sim


@pytest.mark.parametrize("name", scenario_names())
def test_worlds_of_a_mission_are_its_simulation(name):
    """Every sample of each world agrees to 1e-9: one-lane and eight-lane code round differently, and contact amplifies it.

    On the lanes of the worlds, a simulation ends in the same state to the last bit: with sensors, filter and an arm, a walker,
    a tether, a sea.
    """
    scenario, sim = compiled(name)
    first = sim.model.coordinate_names[0][0]
    watch = [f"q.{first}", *(f"signal.{s}" for s in list(sim.signals)[:3])]
    run = sim.run(scenario.duration)
    missions = hm.Worlds(scenario, 3, watch=watch)
    missions.run()
    for world in range(3):
        np.testing.assert_allclose(missions.times[world], run.recording["time"], rtol=0, atol=1e-12)
        for quantity in watch:
            want = samples_of(run.recording, quantity)
            scale = 1.0 + np.nanmax(np.abs(want), initial=0.0)
            np.testing.assert_allclose(missions.samples(quantity)[world], want, rtol=0, atol=1e-9 * scale)
    np.testing.assert_array_equal(missions.q[0], missions.q[2])
    np.testing.assert_allclose(missions.q[0], sim.state.q, rtol=0, atol=1e-8)
    if name in SAME_BITS:
        same_bits(scenario, missions, 0)


def same_bits(scenario, worlds, world, **start):
    """A simulation on the lanes of worlds ends as one of them: state, signals and reasons."""
    one = scenario.simulation(lanes=native_lanes())
    one.state = replace(one.state, **start)
    run = one.run(scenario.duration)
    np.testing.assert_array_equal(
        np.concatenate([one.state.q, one.state.v, one.state.internal]), worlds.target.state["y"][world]
    )
    assert one.state.t == worlds.t[world] and (run.stopped is not None) == (world in worlds.ended)


def chain(**changes):
    """A chain that sinks, without checks."""
    return replace(hm.load_scenario("sinking_chain"), **{"checks": (), "duration": 3.0, **changes})


DEPTH = hm.Event(name="deep", quantity="depth.link_1", level=2.4, direction="rising", stop=True)
SPEED = hm.Event(name="fast", quantity="v.link_1.w", level=0.2)


def test_events_are_found_in_each_world_at_its_own_time():
    """Worlds that start at different depths, against one simulation each: times of events to 1e-8 s, states to 1e-9."""
    scenario = chain(events=(DEPTH, SPEED))
    sim = scenario.simulation()
    q = np.tile(sim.state.q, (4, 1))
    q[:, 2] += [0.0, 0.05, 0.1, 0.2]
    missions = hm.Worlds(scenario, 4)
    missions.start_q[:] = q
    missions.reset()
    missions.run()
    for world in range(4):
        one = scenario.simulation()
        one.state = replace(one.state, q=q[world])
        run = one.run(scenario.duration)
        said = [m.text for m in missions.messages if m.world == world and "crosses" in m.text]
        assert [text.partition(" (")[0] for text in said] == [m.partition(": ")[2].partition(" (")[0] for m in run.messages]
        times = [m.t for m in missions.messages if m.world == world and "crosses" in m.text]
        want = [float(m.partition("t = ")[2].partition(" s")[0]) for m in run.messages]
        np.testing.assert_allclose(times, want, rtol=0, atol=1e-6)  # messages have six digits
        assert (world in missions.ended) == (run.stopped is not None)
        np.testing.assert_allclose(missions.q[world], one.state.q, rtol=0, atol=1e-9)
        same_bits(scenario, missions, world, q=q[world])


def test_a_world_does_not_depend_on_its_neighbours():
    scenario = chain(events=(DEPTH,))
    q = np.tile(scenario.simulation().state.q, (3, 1))
    q[:, 2] += [0.0, 0.1, np.nan]
    several, alone = hm.Worlds(scenario, 3), hm.Worlds(scenario, 1)
    for worlds in (several, alone):
        worlds.start_q[:] = q[: len(worlds)]
        worlds.reset()
        worlds.run()
    np.testing.assert_array_equal(several.q[0], alone.q[0])
    assert 2 in several.ended and "finite" in several.ended[2]
    assert not several.passed[2]


PUSH = "external.vehicle.X"


class Braking(hm.Controller):
    """Thrust against the motion, harder with every call: a controller in Python that remembers."""

    period = 0.1
    signals = {"calls": "1"}

    def start(self, simulation):
        self.memory, self.signal_values = np.zeros(1), np.zeros(1)
        self.thruster = simulation.actuators[0]

    def __call__(self, state):
        self.memory = self.memory + 1.0
        self.signal_values = self.memory
        self.messages = ["third call"] if self.memory[0] == 3.0 else []
        push = {PUSH: 20.0} if self.memory[0] == 3.0 else {}
        return {self.thruster: float(np.clip(1500.0 - 400.0 * self.memory[0] * state.v[0], 1100.0, 1900.0)), **push}


class BrakingTogether(Braking):
    """The same for all worlds at once."""

    batched = True
    calls = []

    def __call__(self, state):
        self.calls.append(len(state.q))
        self.memory = self.memory + 1.0
        self.signal_values = self.memory
        self.messages = [["third call"] if x == 3.0 else [] for x in self.memory[:, 0]]
        push = {PUSH: 20.0} if self.memory[0] == 3.0 else {}
        return {self.thruster: np.clip(1500.0 - 400.0 * self.memory[:, 0] * state.v[:, 0], 1100.0, 1900.0), **push}


@pytest.mark.parametrize("kind", [Braking, BrakingTogether])
def test_controllers_in_python_run_in_each_world(kind):
    """A controller with memory, signals, messages and a setting: worlds that start at other speeds are simulations of their own.

    A batched one is called once per tick, with the worlds that reach it.
    """
    BrakingTogether.calls.clear()
    blocks = (hm.simulation.PythonBlock(controller=kind(), period=0.1),)
    scenario = replace(hm.load_scenario("bluerov2_square"), blocks=blocks, events=(), checks=(), duration=0.5)
    scenario = scenario.with_parts(hm.actuation.ExternalWrench(body="vehicle"))
    worlds = hm.Worlds(scenario, 3, watch=["signal.calls"])
    for _ in range(2):
        worlds.start_v[:, 0] = [0.0, 0.1, 0.2]
        worlds.reset()
        worlds.run()
    assert BrakingTogether.calls == [3] * (10 if kind.batched else 0)
    for world, speed in enumerate(worlds.start_v[:, 0]):
        one = scenario.simulation()
        one.state = replace(one.state, v=np.array([speed, *np.zeros(one.model.nv - 1)]))
        run = one.run(scenario.duration)
        np.testing.assert_allclose(worlds.q[world], one.state.q, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(worlds.samples("signal.calls")[world], run.recording.signal.values[:, 0])
        assert [m.text for m in worlds.messages if m.world == world] == ["third call"]
    with pytest.raises(UnsupportedFeature, match="'Braking.*' is Python code, which target 'cuda' cannot run"):
        hm.Worlds(scenario, 2, target="cuda", lanes=1)


def judged(**how):
    return Check(name=str(how), below=1e9, **how)


LATE = {"mean_of": (0.3, 0.8), "before": 0.9}
"""A mean that is known only after samples of the check."""
STATISTICS = [
    judged(quantity="depth.link_1", statistic=statistic, target=0.3, **window)
    for statistic in ("last", "min", "max", "mean", "rms", "max_abs")
    for window in ({}, {"after": 0.4, "before": 0.75}, LATE, {"mean_of": (0.1, 0.3), "after": 0.5}, {"after": 7.0})
] + [
    judged(quantity="energy_residual", statistic="max_abs"),
    judged(quantity="contact_force.*", statistic="mean"),
    judged(quantity="work.contact", statistic="rms"),
    judged(quantity="tilt_deg.link_1", statistic="max"),
    judged(quantity="heading_deg.link_1", statistic="rms", target=10.0, mean_of=(0.0, 0.2), after=0.4),
    judged(quantity="time", statistic="mean", after=0.5),
    judged(quantity="time", statistic="max_abs"),
]


def test_statistics_without_samples_are_those_of_samples():
    """Checks and statistics that compiled code accumulates, against those of all samples, to rounding of the sums.

    One world stops early; another diverges. The number of accumulators does not depend on the duration.
    """
    scenario = chain(checks=tuple(STATISTICS), duration=2.0, events=(DEPTH,))
    q = np.tile(scenario.simulation().state.q, (4, 1))
    q[:, 2] += [0.0, 0.2, -0.1, np.nan]
    kept, summed = (hm.Worlds(scenario, 4, watch=["v.link_1.w"], samples=s) for s in (True, False))
    for worlds in (kept, summed):
        worlds.start_q[:] = q
        worlds.reset()
        worlds.run()
    assert 1 in summed.ended and summed.failed == {3} and summed.ended == kept.ended
    np.testing.assert_array_equal(summed.target.state["y"], kept.target.state["y"])
    for mine, others in zip(summed.judge(), kept.judge(), strict=True):
        for got, want in zip(mine, others, strict=True):
            np.testing.assert_allclose(got.value, want.value, rtol=1e-9, atol=1e-9, err_msg=got.name)
            assert got.passed == want.passed
    np.testing.assert_array_equal(summed.passed, kept.passed)
    assert not any(result.passed for worlds in (kept, summed) for result in worlds.judge()[3])
    assert summed.judge()[1][-1].passed  # an event stopped this world
    w, got = kept.samples("v.link_1.w"), summed.statistics("v.link_1.w")
    for name, want in (
        ("min", np.nanmin(w, axis=1)),
        ("max", np.nanmax(w, axis=1)),
        ("rms", np.sqrt(np.nanmean(w**2, axis=1))),
    ):
        np.testing.assert_allclose(getattr(got, name), want, rtol=1e-12)
    assert got.final[0] == w[0, np.isfinite(kept.times[0])][-1]
    longer = hm.Worlds(replace(scenario, duration=1e5), 4, samples=False)
    assert (
        longer.target.march.code.routine.state["totals"] == summed.target.state["totals"].shape[1] - 6
    )  # less those of one quantity


def test_quantities_without_accumulators_are_named():
    late = judged(quantity="heading_deg.link_1", mean_of=(0.5, 1.0))
    for check, named in ((late, "mean_of"), (judged(quantity="orientation.link_1.w"), "orientation.link_1.w")):
        with pytest.raises(UnsupportedFeature, match=named):
            hm.Worlds(chain(checks=(check,)), 1, samples=False)
    worlds = hm.Worlds(chain(events=(DEPTH,)), 1)
    with pytest.raises(ValueError, match="samples"):
        worlds.statistics("depth.link_1")
