"""Sensors and navigation in scenario files: a mission by the estimate, and what is rejected with its place."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.compiler import Recipe
from hydromechs.errors import ScenarioError
from hydromechs.formats import dumps_scenario, loads_scenario
from hydromechs.navigation import Navigation
from hydromechs.scenario import unit_mistakes
from hydromechs.sensors import DEVICES, DepthGauge, Dvl, Imu, Noise, Usbl, device
from hydromechs.simulation import PythonBlock

TEXT = (files("hydromechs.library") / "scenarios" / "hold_in_gusts.yaml").read_text(encoding="utf-8")


def test_position_hold_in_gusts():
    """Root mean squares of the distance and of the angle of rotation, from 20 to 60 s."""
    sim = hm.load_scenario("hold_in_gusts").simulation()
    run = sim.run(60.0)
    ds = run.recording.sel(time=slice(20.0, None))
    p = ds.position.sel(body="vehicle").values - [0.0, 0.0, 20.0]
    angle = 2.0 * np.arcsin(np.linalg.norm(ds.orientation.sel(body="vehicle").values[:, 1:], axis=1))
    assert np.sqrt((p**2).sum(axis=1).mean()) < 0.15
    assert np.degrees(np.sqrt((angle**2).mean())) < 1.5
    assert not [text for text in run.messages if not text.startswith("contact of ")]  # it never touches the seabed
    shown = dict(zip(sim.signals, sim.state.signal, strict=True))
    for x in "xyz":
        assert abs(shown[f"navigation.error_{x}"]) < 4.5 * shown[f"navigation.sigma_{x}"] + 0.02  # a bias of the depth gauge


def test_blocks_of_a_simulation_are_those_of_a_scenario():
    """Sensors, a filter, two controllers one after the other: the same run to the last bit, in any order of the blocks."""
    scenario = hm.load_scenario("pick_and_release")
    other = hm.Simulation(
        scenario.model,
        environment=scenario.environment,
        components=scenario.components,
        blocks=(*scenario.controllers, scenario.navigation, *scenario.sensors),
        integrator=scenario.integrator,
        step=scenario.step,
        record=scenario.record,
        seed=scenario.seed,
        state=scenario.start,
        commands=dict(scenario.commands),
    )
    assert other.signals and set(other.signals) == set(scenario.simulation().signals)
    runs = [sim.run(0.3).recording for sim in (scenario.simulation(), other)]
    channels = list(other.signals)
    np.testing.assert_array_equal(*(run.signal.sel(channel=channels).values for run in runs))
    np.testing.assert_array_equal(*(run.q.values for run in runs))


def test_sensors_of_a_simulation_measure_without_a_controller():
    plant = hm.load_plant("bluerov2_heavy")
    imu, depth = Imu(name="imu", frame="vehicle", rate=50.0), DepthGauge(name="depth", frame="vehicle", rate=10.0)
    sim = hm.Simulation(plant, blocks=[depth, imu])
    sim.run(0.1)
    assert next(iter(sim.signals)) == "depth.depth" and np.isfinite(sim.state.signal).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (dict(blocks=[hm.joints.Free()]), ValueError, r"blocks\[0\]"),
        (dict(blocks=[PythonBlock(controller=lambda s: {}, period=0.1)], controller=lambda s: {}, period=0.1), TypeError, "controller"),
        (dict(blocks=[Navigation()]), ValueError, "sensors"),
        (dict(blocks=[Imu(name="a", frame="ball", rate=50.0)] * 2), ValueError, "'a'"),
    ],
)  # fmt: skip
def test_blocks_that_do_not_fit_a_simulation(options, error, words):
    ball = hm.Body(name="ball", joint=hm.joints.Free(), inertia=hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0)))
    with pytest.raises(error, match=words):
        hm.Simulation(hm.Model(name="m", bodies=[ball]), **options)


def test_blocks_beside_a_scenario():
    with pytest.raises(TypeError, match="blocks is given, but the Scenario already"):
        hm.Simulation(hm.load_scenario("sinking_chain"), blocks=[PythonBlock(controller=lambda s: {}, period=0.1)])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("device: dvl_600khz, frame: vehicle", "device: dvl_600khz, frame: nowhere", "sensor 'dvl': tiburon_titan2 has no frame or body 'nowhere'"),
        ("frame: vehicle, rate: 50", "frame: vehicle, rate: 47", "does not divide the 50 Hz of 'encoders', the fastest sensor; set 50 or 25 Hz"),
        ("frame: vehicle, rate: 50", "frame: vehicle, speed: 50", "unknown key 'speed'"),
        ("device: gyrocompass", "device: gyrocompas", "(did you mean 'gyrocompass'?)"),
        ("joints: [shoulder, upper_arm", "joints: [sholder, upper_arm", "sensor 'encoders': tiburon_titan2 has no joint 'sholder'"),
        ("  depth: {device", "  dvl: {device", "the key 'dvl' appears twice"),
        ("period: 0.1", "period: 0.05", "controller.period is 0.05 s, must be an integer multiple of the period of the fastest sensor, 0.02 s; use 0.04 s"),
        ("step: 0.002, record: 0.05", "step: 0.003, record: 0.06", "sensors: 1/rate of the fastest is 0.02 s, must be an integer multiple of the step, 0.003 s"),
        ("frame: vehicle, rate: 50", "frame: vehicle, rate: 50, latency: 0.1", "set latency 0 and the highest rate"),
        ("device: fog_imu", "device: bar30", "found 0 Imu sensors (none); use exactly one"),
        ("  encoders: {type", "  n: {type: tachometer, thruster: t9, full_speed: 9, rate: 5}\n  encoders: {type", "sensor 'n': no thruster is named 't9'"),
        ("error_state_filter, position: 0.3", "error_state_filter, position: -0.3", "blocks.navigation.position is -0.3, must be finite and at least 0"),
    ],
)  # fmt: skip
def test_errors_name_the_sensor_and_the_remedy(old, new, words):
    assert old in TEXT
    with pytest.raises(ScenarioError) as e:
        loads_scenario(TEXT.replace(old, new, 1), "file", ".", library.load, library.load_vehicle)
    assert any(words in problem for problem in e.value.problems), e.value.problems


def test_other_seeds_and_errors_of_sensors_compile_nothing(tmp_path, monkeypatch):
    """The cache gets no new entry, and the sensors are not even traced again."""
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    traced = []
    monkeypatch.setattr(Recipe, "program", lambda recipe, made=Recipe.program: traced.append(recipe.name) or made(recipe))
    ball = hm.Body(
        name="ball", joint=hm.joints.Free(position=(0, 0, 5.0)), inertia=hm.Inertia(mass=2.0, tensor=(1, 1, 1, 0, 0, 0))
    )
    imu = Imu(name="imu", frame="ball", rate=50.0, gyroscope=Noise(density=1e-3), misalignment=0.01)
    scenario = hm.Scenario(
        name="s", models=[hm.scenario.ModelStart(model=hm.Model(name="m", bodies=[ball]))], blocks=[imu], duration=1.0
    )

    def measured(scenario):
        sim = scenario.simulation()
        sim.run(0.1)
        return sim.state.signal

    first = measured(scenario)
    made, _ = sorted(tmp_path.rglob("*.o")), traced.clear()
    loud = replace(imu, gyroscope=Noise(density=1e-2), seed=4, latency=0.02)
    others = [measured(replace(scenario, seed=7)), measured(scenario.with_parts(loud))]
    assert made and sorted(tmp_path.rglob("*.o")) == made and not traced
    assert all((y != first).any() for y in others)


def test_navigation_needs_sensors():
    with pytest.raises(ScenarioError, match="navigation has no sensors"):
        (lambda s: replace(s, blocks=[b for b in s.blocks if b not in s.sensors]))(hm.load_scenario("hold_in_gusts"))


SINKING = """
hydromechs_scenario: 2
name: sinking
models:
  stone: {model: stone.yaml, position: [0, 0, 5], velocity: [0, 0, 1, 0, 0, 0]}
sensors:
  gauge: {type: depth, frame: stone, rate: 10}
events:
  deep: {quantity: signal.gauge.depth, level: 5.45, stop: true}
checks:
  reads: {quantity: signal.gauge.depth, above: 5.3}
run: {step: 0.01, record: 0.1, duration: 2}
"""


def test_signals_of_sensors_are_there_without_a_controller(tmp_path):
    """For events and checks; what a sensor does not give is named at the start, as that of a controller."""
    stone = "hydromechs_model: 2\nname: stone\nbodies: {stone: {joint: free, inertia: {mass: 2, tensor: [1, 1, 1, 0, 0, 0]}}}"
    (tmp_path / "stone.yaml").write_text(stone)
    scenario = loads_scenario(SINKING, "sinking", tmp_path, library.load)
    sim = scenario.simulation()
    assert sim.run(2.0).stopped.startswith("deep at t = ")
    wrong = loads_scenario(SINKING.replace("gauge.depth, level", "gauge.deep, level"), "sinking", tmp_path, library.load)
    with pytest.raises(ScenarioError, match=r"event 'deep': quantity: 'signal.gauge.deep'.*did you mean 'gauge.depth'"):
        wrong.simulation()
    wrong = loads_scenario(SINKING.replace("gauge.depth, above", "gauge.deep, above"), "sinking", tmp_path, library.load)
    with pytest.raises(ScenarioError, match=r"check 'reads': quantity: 'signal.gauge.deep'"):
        wrong.simulation()
    without = SINKING.replace("sensors:\n  gauge: {type: depth, frame: stone, rate: 10}\n", "")
    with pytest.raises(ScenarioError, match="event 'deep': quantity"):
        loads_scenario(without, "sinking", tmp_path, library.load)
    with pytest.raises(
        ScenarioError, match=r"1 problem\(s\)\n  - line 7: sensors.gauge.type is 'dept'"
    ):  # and nothing of its signals
        loads_scenario(SINKING.replace("type: depth", "type: dept"), "sinking", tmp_path, library.load)
    backwards = SINKING.replace("quantity: signal.gauge.depth, level: 5.45", "quantity: time, level: 1, direction: falling")
    with pytest.raises(ScenarioError, match="event 'deep': direction is falling, but time only increases"):
        loads_scenario(backwards, "sinking", tmp_path, library.load)


def test_sensors_go_round_through_a_file():
    """Devices are written out in full; a navigation with defaults alone is kept."""
    scenario = hm.load_scenario("hold_in_gusts")
    assert loads_scenario(dumps_scenario(scenario), "file", ".", library.load, library.load_vehicle) == scenario
    plain = scenario.with_parts(hm.navigation.Navigation())
    assert (
        loads_scenario(dumps_scenario(plain), "file", ".", library.load, library.load_vehicle).navigation
        == hm.navigation.Navigation()
    )


def test_devices_report_where_their_numbers_come_from():
    for model, found in DEVICES.items():
        assert "estimate" in found.source
        assert isinstance(device(model, "one", "vehicle"), found.kind)
    assert device("usbl_survey", "u", "vehicle", {"transceiver": [1, 2, 3]}).transceiver == (1.0, 2.0, 3.0)
    assert isinstance(device("usbl_short", "u", "vehicle"), Usbl)


def test_a_doppler_log_that_never_measures_is_warned_of():
    """Without terrain and without water tracking; either is enough."""
    known = hm.load_scenario("hold_in_gusts")
    assert known.parts(hm.contact.Terrain) and not unit_mistakes(known)
    (dvl,) = (s for s in known.sensors if isinstance(s, Dvl))
    for water, blind in ((None, True), (Noise(sigma=0.01), False)):
        sensors = tuple(replace(s, water_noise=water) if s is dvl else s for s in known.sensors)
        found = unit_mistakes(replace(known, components=(), commands=(), blocks=sensors))
        assert any("'dvl'" in text and "terrain" in text for text in found) is blind, found
