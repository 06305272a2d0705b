"""Pages of the library's scenarios: sizes, agreement with `Simulation`, speed under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import browser
from hydromechs.browser import compile_scenario, scenario_page, usual_parameters
from hydromechs.errors import UnsupportedFeature, message_of
from hydromechs.library import scenario_names
from hydromechs.station import helmed

STEPS = 1000
"""Number of steps that are compared."""
AGREE, LARGEST, PACKED = 1e-9, 5e6, 2e6
"""Limits: difference of q and v over 1 + their largest value, size of a page [bytes], compressed size [bytes].

Other variables are reported only: where a vehicle pierces waves, moving its start by 1e-15 m changes accelerations by 1e-9.
"""
RUN = """
const [engine, folder, time, duration] = process.argv.slice(1);
const fs = require("fs");
const read = (name) => fs.readFileSync(`${folder}/${name}`);
const world = require(engine).instantiateSync(read("mission.wasm"), JSON.parse(read("manifest.json")));
world.advance(Number(time));
fs.writeFileSync(`${folder}/start.nc`, world.recording());
world.reset({});
const before = process.cpuUsage();
world.advance(Number(duration));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpu: 1e-6 * (user + system), t: world.t, ended: world.ended() }));
"""


def study_pages(names: Sequence[str] = (), said: Callable[[dict[str, Any]], None] = lambda row: None) -> dict[str, Any]:
    """Return rows with sizes [bytes], difference over 1000 steps and its variable, speed in units of real time."""
    node = shutil.which("node")
    if node is None:
        raise ModuleNotFoundError("pages are compared under Node: install node 20 or later")
    rows = []
    for name in names or scenario_names():
        rows.append({"scenario": name, **_row(node, name)})
        said(rows[-1])
    return {"rows": rows, "passed": all(row["good"] for row in rows)}


def _row(node: str, name: str) -> dict[str, Any]:
    scenario = hm.load_scenario(name)
    began = time.process_time()
    flown, parameters = helmed(scenario), usual_parameters(scenario)
    try:
        module = compile_scenario(flown, parameters, source=scenario)
    except UnsupportedFeature as error:
        return {"good": True, "rejected": message_of(error)}
    compiled = time.process_time() - began
    text = scenario_page(scenario)
    size, packed = len(text.encode()), len(zlib.compress(text.encode(), 6))
    t = STEPS * flown.step
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "mission.wasm").write_bytes(module.wasm)
        (folder / "manifest.json").write_text(json.dumps(module.manifest))
        engine = Path(browser.__file__).parent / "engine.js"
        command = [node, "-e", RUN, str(engine), place, repr(t), repr(flown.duration)]
        done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        got = hm.load_recording(folder / "start.nc").load()
    wanted = hm.Simulation(flown, parameters=list(parameters)).run(t).recording
    found = {str(v): _difference(wanted[v].values, got[v].values) for v in wanted.data_vars}
    variable, state = max(found, key=lambda name: found[name]), max(found["q"], found["v"])
    good = state < AGREE and size <= LARGEST and packed <= PACKED and not (done["ended"] or {}).get("error")
    out: dict[str, object] = {"good": good, "size": size, "packed": packed, "state": state, "compiled": compiled}
    out |= {"difference": found[variable], "variable": variable}
    return out | {"factor": done["t"] / done["cpu"], "pilot": flown is not scenario}


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference over 1 + the largest value; infinite if shapes or missing values differ."""
    a, b = a.astype(float), b.astype(float)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    return float(np.nanmax(np.abs(a - b), initial=0.0) / (1.0 + np.nanmax(np.abs(a), initial=0.0)))
