"""Missions in the page's engine under Node against `Simulation`."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import browser, drag
from hydromechs.actuation import ExternalWrench, Thruster, linear_curve
from hydromechs.browser import compile_scenario, fly_again
from hydromechs.browser._gains import gain_row
from hydromechs.contact import Grasp
from hydromechs.hydro import Current, Environment, Gusts, PiersonMoskowitzSea, RegularWave
from hydromechs.scenario import ModelStart
from hydromechs.simulation import Event, PythonBlock, TracedBlock, Update
from hydromechs.spatial import where

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: install node 20 or later")
ENGINE = Path(browser.__file__).parent / "engine.js"
RUN = """
const [engine, folder, script] = process.argv.slice(1);
const fs = require("fs");
const read = (name) => fs.readFileSync(`${folder}/${name}`);
const world = require(engine).instantiateSync(read("mission.wasm"), JSON.parse(read("manifest.json")));
const save = (name, data) => fs.writeFileSync(`${folder}/${name}`, data);
console.log(JSON.stringify(new Function("world", "save", script)(world, save) ?? null));
"""


def flown(module, folder, script):
    """Return the result of a script on a world of a module."""
    (folder / "mission.wasm").write_bytes(module.wasm)
    (folder / "manifest.json").write_text(json.dumps(module.manifest, allow_nan=False))
    command = [NODE, "-e", RUN, str(ENGINE), str(folder), script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_same(recording, other, tolerance=1e-9):
    """Compare all variables of two recordings, and their messages."""
    assert set(recording.data_vars) == set(other.data_vars)
    for name, wanted in recording.data_vars.items():
        got = other[name]
        assert got.dims == wanted.dims and got.dtype == wanted.dtype, name
        scale = tolerance * (1.0 + np.nanmax(np.abs(wanted.values.astype(float)), initial=0.0))
        np.testing.assert_allclose(got.values, wanted.values, rtol=0.0, atol=scale, err_msg=str(name))
    for name in recording.coords:
        np.testing.assert_array_equal(other[name].values.astype(recording[name].dtype), recording[name].values)
    said = [text for text in json.loads(recording.attrs["messages"]) if not text.startswith("energy residual")]
    assert json.loads(other.attrs["messages"]) == said


@pytest.mark.optimised
def test_sinking_chain(tmp_path):
    """Contacts, an event by a compiled guard, and checks, over 1000 steps."""
    scenario = hm.load_scenario("sinking_chain").with_fields(duration=2.0)
    got = flown(
        compile_scenario(scenario),
        tmp_path,
        'world.advance(2); save("a.nc", world.recording()); return [world.checks(), world.t];',
    )
    recording = hm.Simulation(scenario).run(2.0).recording
    assert_same(recording, hm.load_recording(tmp_path / "a.nc"))
    assert got[1] == 2.0
    for check, found in zip(scenario.checks, got[0], strict=True):
        expected = check.judge(recording)
        assert found["passed"] == expected.passed and found["limit"] == expected.limit
        np.testing.assert_allclose(np.nan if found["value"] is None else found["value"], expected.value, rtol=1e-9, atol=1e-9)


class Damping(TracedBlock):
    """Slows the boat; reports once when it was fast."""

    period = 0.02
    message_texts = {"fast": "speed {0:.3g} m/s after {1:.0f} ticks".format}

    def prepare(self, site):
        self.commanded, self.signals, self.first_memory = ("thruster",), {"speed": "m/s"}, {"ticks_so_far": 0.0}

    def update(self, tick):
        n = tick.memory["ticks_so_far"]
        fast = where(n == 2.0, 1.0, 0.0)
        return Update(
            commands={"thruster": 0.5 - tick.v[0]},
            memory={"ticks_so_far": n + 1.0},
            signals={"speed": tick.v[0]},
            messages={"fast": (fast, tick.v[0], n)},
        )


def body(name, mass, x, **options):
    return hm.Body(
        name=name,
        joint=hm.joints.Free(position=(x, 0.0, 3.0)),
        inertia=hm.Inertia(mass=mass, com=(0.02, 0.0, 0.01), tensor=(2, 3, 4, 0, 0.1, 0)),
        hydro=hm.Hydro(
            volume=0.98 * mass / 1000.0,
            buoyancy_center=(0.0, 0.01, -0.05),
            added_mass=hm.added_mass.Diagonal((5, 9, 9, 0.2, 0.3, 0.3)),
            drag=drag.Damping(linear=(10, 20, 20, 1, 1, 1)),
        ),
        **options,
    )


def harbour(**changes):
    """Two boats that a grasp joins, in a current with knots, gusts and a sea; a block, and events of all kinds."""
    boats = hm.Model(
        name="boats",
        bodies=[
            body("boat", 60.0, 0.0, frames=(hm.Frame("nose", hm.Origin((0.5, 0, 0))), hm.Frame("screw"))),
            body("raft", 30.0, 1.0, frames=(hm.Frame("ring", hm.Origin((-0.5, 0, 0))),)),
        ],
    )
    waves = (PiersonMoskowitzSea(significant_height=0.4, peak_period=4.0, components=5), RegularWave(height=0.1, period=3.0))
    water = Environment(
        current=Current(times=(0.0, 0.31, 0.7), velocities=((0.2, 0, 0), (0.3, 0.1, 0), (-0.1, 0, 0))),
        gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.1),
        waves=waves,
    )
    given = {
        "models": (ModelStart(model=boats),),
        "components": (
            Thruster(name="thruster", frame="screw", curve=linear_curve(40.0, 30.0)),
            ExternalWrench(body="raft"),
            Grasp(name="rope", holder="nose", held="ring", tolerance=0.05, closed=False),
        ),
        "blocks": (PythonBlock(controller=Damping()),),
        "environment": water,
        "events": (
            Event(name="tie", quantity="time", level=0.123, grasp=("rope",)),
            Event(
                name="push", quantity="position.boat.x", level=0.012, direction="rising", wrench={"raft": (9, 3, 0, 0, 0, 0)}
            ),
            Event(name="idle", quantity="signal.speed", level=0.12, control="off", command={"thruster": 0.4}),
            Event(name="untie", quantity="time", level=0.8001, release=("rope",)),
            Event(name="worked", quantity="work.thrusters", level=0.4, command={"thruster": 0.3}),
            Event(name="end", quantity="time", level=1.7003, stop=True),
        ),
        "integrator": "rk4",
        "step": 0.01,
        "record": 0.05,
        "duration": 2.0,
        "seed": 3,
    }
    return hm.Scenario(**{"name": "harbour", **given, **changes})


@pytest.fixture(scope="module")
def module():
    return compile_scenario(harbour(), {"boat.inertia.mass": (50.0, 70.0)})


def test_events_impulses_gusts_and_waves(module, tmp_path):
    """Located instants, an impulse, a block that reports, control off, a stop; any calls of `advance` give the same numbers."""
    script = """
        for (let k = 1; k < 200; k++) world.advance(0.0137 * k);
        save("parts.nc", world.recording());
        const [other] = world.worlds(1);
        other.advance(2);
        save("whole.nc", other.recording());
        return [world.ended(), other.ended(), world.t];
    """
    ended, same, t = flown(module, tmp_path, script)
    run = hm.Simulation(harbour(), parameters=["boat.inertia.mass"]).run(2.0)
    assert_same(run.recording, hm.load_recording(tmp_path / "whole.nc"))
    assert_same(run.recording, hm.load_recording(tmp_path / "parts.nc"))
    assert ended["reason"] == same["reason"] == run.stopped and not ended["error"]
    assert abs(t - run.state.t) < 1e-9 and len(run.messages) > 5


def test_flight_is_repeated_in_python(module, tmp_path):
    """Commands, settings, parameters and the control at any instant; another seed, and initial parameters."""
    script = """
        world.reset({ seed: 5, parameters: { "boat.inertia.mass": 66 } });
        world.advance(0.2);
        world.setParameter("boat.inertia.mass", 52);
        world.advance(0.313);
        world.setControl(false);
        world.setCommand("thruster", 0.9);
        const [other] = world.worlds(1);
        const kept = world.state();
        world.advance(0.5);
        world.setHeld("external.raft.X", 4);
        world.setControl(true);
        world.advance(1.0);
        save("a.nc", world.recording());
        const position = world.quantity("position.boat.x");
        other.restore(kept);
        other.advance(0.5);
        other.setHeld("external.raft.X", 4);
        other.setControl(true);
        other.advance(1.0);
        return [position, other.quantity("position.boat.x"), world.series("q.boat.x").values.length, world.rows];
    """
    here, there, n, rows = flown(module, tmp_path, script)
    assert here == there and n == rows
    run = fly_again(tmp_path / "a.nc", harbour())
    assert_same(run.recording, hm.load_recording(tmp_path / "a.nc"))


class Push(TracedBlock):
    """Thrust in proportion to the square of a gain, which it computes in advance."""

    def __init__(self, *, gain: float = 0.5, sign: float = 1.0, period: float = 0.02):
        self.gain, self.sign, self.period = gain, sign, period

    def prepare(self, site):
        self.commanded, self.design = ("thruster",), {"other": np.ones(3), "square": self.gain**2}

    def update(self, tick):
        return Update(commands={"thruster": self.sign * tick.design["square"] - 0.1 * tick.v[0]})


def test_gains_change_in_the_page_and_in_its_repetition(tmp_path):
    """The value on the slider is rounded to one of those computed in advance; copies of a world have their own."""
    pushed = harbour(blocks=(PythonBlock(controller=Damping(), name="first"), PythonBlock(controller=Push(), name="second")))
    pushed = pushed.with_fields(events=(), seed=4)
    module = compile_scenario(pushed, {"second.gain": (0.2, 0.8)})
    script = """
        world.reset({ parameters: { "second.gain": 0.33 } });
        world.advance(0.2);
        const kept = world.state();
        const [other] = world.worlds(1);
        other.advance(0.3);
        world.setParameter("second.gain", 0.79);
        world.advance(0.5);
        save("a.nc", world.recording());
        const speed = world.quantity("v.boat.u");
        world.restore(kept);
        world.setParameter("second.gain", 0.8);
        world.advance(0.5);
        return [speed, world.quantity("v.boat.u"), other.quantity("v.boat.u"), world.inputs().entries[0].value];
    """
    speed, same, other, value = flown(module, tmp_path, script)
    assert speed == same != other and value == [0.8]
    assert_same(fly_again(tmp_path / "a.nc", pushed).recording, hm.load_recording(tmp_path / "a.nc"))
    assert 0.5 in gain_row(pushed, hm.Simulation(pushed), "second.gain", 1.0, 2.0)["values"]  # that of the scenario
    with pytest.raises(hm.UnsupportedFeature, match="'second.sign' is part of the program of Push"):
        compile_scenario(pushed, ["second.sign"])
    with pytest.raises(ValueError, match="changes one number of a controller"):
        compile_scenario(pushed, ["second.gain", "second.period"])


def test_inputs_out_of_range_name_item_value_and_fix(module, tmp_path):
    script = """
        const said = (f) => { try { f(); return ""; } catch (error) { return `${error.name}: ${error.message}`; } };
        return [
          said(() => world.setParameter("boat.inertia.mass", 90)),
          said(() => world.reset({ parameters: { mass: 1 } })),
          said(() => world.reset({ seed: 1e6 })),
          said(() => world.setCommand("screw", 1)),
          said(() => world.setHeld("rope.closed", 0.5)),
          said(() => { world.setHeld("external.raft.Y", 4000); world.advance(0.1); world.setHeld("rope.closed", 1); }),
          said(() => world.advance(NaN)),
          said(() => world.quantity("depth.anchor")),
        ];
    """
    expected = (
        "RangeError: parameter 'boat.inertia.mass' is 90, outside its range 50 to 70 kg",
        "RangeError: no parameter 'mass'; the page has boat.inertia.mass",
        "RangeError: seed is 1000000, but this page has waves of the seeds 3 to",
        "Error: no actuator 'screw'; actuators are thruster",
        "Error: held input 'rope.closed' is 0.5, must be 0",
        "Error: t = 0.1 s: grasp 'rope': 'nose' and 'ring' do not meet: the frames are",
        "Error: until is NaN",
        "Error: unknown quantity 'depth.anchor'",
    )
    for text, wanted in zip(flown(module, tmp_path, script), expected, strict=True):
        assert text.startswith(wanted), text


def test_what_cannot_be_compiled_is_named():
    """Adaptive steps, blocks in Python, a third-party engine."""

    def law(state):
        return {"thruster": 1.0}

    plain = harbour(blocks=(), events=())
    with pytest.raises(hm.UnsupportedFeature, match="'dormand_prince' is adaptive.*set 'integrator: rk4'"):
        compile_scenario(plain.with_fields(integrator="dormand_prince"))
    in_python = Damping()
    in_python.compiled = False
    with pytest.raises(hm.UnsupportedFeature, match="block Damping runs in Python.*TracedBlock"):
        compile_scenario(harbour(blocks=(PythonBlock(controller=in_python),)))
    with pytest.raises(ValueError, match="range of parameter 'boat.inertia.mass' is -1.0"):
        compile_scenario(plain, {"boat.inertia.mass": (-1.0, 2.0)})
    with pytest.raises(ValueError, match="is not from a page"):
        fly_again(hm.Simulation(plain).run(0.05).recording)
