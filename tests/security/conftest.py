"""Hostile files, and a limit of time: a reader that waits for a pipe or a device must fail the test, not stop the suite."""

import signal
import sys
from pathlib import Path

import pytest

from hydromechs.cli import _pilot, _show

LIMIT = 120
"""Seconds after which a test is taken to hang."""
EVIL = """
from dataclasses import dataclass

import numpy as np

import hydromechs as hm
from hydromechs import joints

open({mark!r}, "w").close()


@dataclass(frozen=True, kw_only=True)
class Rail(joints.CustomJoint):
    neutral_q = (0.0,)

    def pose(self, q):
        return np.eye(3), np.array([q[0], 0.0, 0.0])

    def subspace(self, q):
        return np.eye(6)[:, :1]

    def subspace_rate(self, q, v):
        return np.zeros((6, 1))


class Hold(hm.Controller):
    period = 0.1

    def __init__(self, *, period):
        self.period = period

    def __call__(self, state):
        return {{}}


class Ballast(hm.Component):
    name = "ballast"

    def act(self, now, z, u):
        return hm.Action()
"""
BODY = """
  hull:
    joint: free
    inertia: {mass: 10, tensor: [1, 1, 1, 0, 0, 0]}
    hydro: {volume: 0.01}
    frames: {stern: {xyz: [-1, 0, 0]}}
"""
JOINT = """
  carriage:
    parent: hull
    joint: {type: 'REFERENCE'}
    inertia: {mass: 1, tensor: [1, 1, 1, 0, 0, 0]}
"""
PART = """
  carriage:
    parent: hull
    joint:
      type: composite
      parts:
        - {type: revolute}
        - {type: 'REFERENCE'}
    inertia: {mass: 1, tensor: [1, 1, 1, 0, 0, 0]}
"""
SCENARIO = "hydromechs_scenario: 2\nname: s\nrun: {duration: 0.1}\nmodels:\n  m: {model: ./plain.yaml, position: [0, 0, 3]}\n"
SWEEP = "hydromechs_sweep: 2\nname: st\n{}\nparameters: {{depth: {{path: models.0.position.z, low: 2, high: 10, steps: 2}}}}\nresults: {{z: {{quantity: position.hull.z}}}}\n"
VALIDATION = """
hydromechs_validation: 2
name: v
model: ./joint.yaml
step: 0.01
logs: {imu: {file: '{trial}.csv', time: t, columns: {}}}
joints: {}
start: {position: 1, attitude: 1, velocity: 1, rates: 1}
trials: {find: imu, names: '*', begins: {file: '{trial}.yaml', key: t}}
instruments: {}
unknowns: []
judged: []
"""


@pytest.fixture(autouse=True)
def hangs():
    """Raise in a test that takes too long."""

    def stop(number, frame):
        raise TimeoutError("the reader hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def ran(tmp_path):
    """The file that exists once hostile code has run."""
    return tmp_path / "ran"


def hostile_files(folder, ran, name="evil.py"):
    """Write files that name code in every place where a file can name some; return them by name."""
    (folder / name).with_suffix(".py").write_text(EVIL.format(mark=str(ran)))
    rail, hold, weight = (f"{name}:{kind}" for kind in ("Rail", "Hold", "Ballast"))
    head = "hydromechs_model: 2\nname: m\nbodies:"
    thruster = "thrusters: {stern: {curve: {type: newtons, forward: 9, reverse: 9}}}\n"
    texts = {
        "plain": head + BODY,
        "joint": head + BODY + JOINT.replace("REFERENCE", rail),
        "part": head + BODY + PART.replace("REFERENCE", rail),
        "controller": SCENARIO + f"blocks: {{hold: {{type: '{hold}', period: 0.1}}}}\n",
        "component": SCENARIO + f"components: {{ballast: {{type: '{weight}'}}}}\n" + thruster,
        "of_model": SCENARIO.replace("plain", "joint") + thruster,
        "of_plant": SCENARIO.replace("model: ./plain.yaml", "plant: ./of_model.yaml"),
        "sweep": SWEEP.format("scenario: ./component.yaml"),
        "sweep_of_model": SWEEP.format("model: ./joint.yaml\nchanges: {duration: 0.1, models.0.position: [0, 0, 3]}"),
        "validation": VALIDATION,
    }
    for key, text in texts.items():
        (folder / f"{key}.yaml").write_text(text)
    return {key: Path(f"{key}.yaml") for key in texts if key != "plain"}


@pytest.fixture
def hostile(request, tmp_path, monkeypatch, ran):
    """Hostile files in the current folder, by name; code of "evil.py", or of the parameter."""
    monkeypatch.chdir(tmp_path)
    name = getattr(request, "param", "evil.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return hostile_files(tmp_path, ran, name)


@pytest.fixture
def no_pages(monkeypatch):
    """Pages that are not served."""
    monkeypatch.setattr(_show, "serve", lambda page, *others: page.close())
    monkeypatch.setattr(_pilot.time, "sleep", lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt))
