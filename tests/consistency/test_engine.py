"""Missions in the page's engine under Node against `Simulation`."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import browser
from hydromechs.browser import compile_scenario

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
    assert json.loads(other.attrs["messages"]) == json.loads(recording.attrs["messages"])


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
