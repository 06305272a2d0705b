"""`hydromechs modes`: a table, JSON, a picture, and what is no equilibrium."""

import json
import math

import numpy as np
import pytest

HANGING = """
hydromechs_model: 2
name: buoy
world: {axes: NED, gravity: 9.81, water_density: 1000.0}
bodies:
  float:
    joint: free
    inertia: {mass: 100.0, com: [0, 0, 0.2], tensor: [4, 5, 6, 0, 0, 0]}
    hydro:
      volume: 0.1
      added_mass: {type: diagonal, diagonal: [50, 50, 50, 1, 2, 3]}
      drag: [{type: damping, linear: [20, 20, 20, 2, 2, 2]}]
    shapes: {sphere: {type: sphere, radius: 0.3}}
"""
SCENARIO = """
hydromechs_scenario: 2
name: hanging
title: A buoy of no weight in water
models: {buoy: {model: buoy.yaml, position: [0, 0, 2]%s}}
run: {step: 0.01, record: 0.05, duration: 1}
"""


@pytest.fixture
def hanging(tmp_path):
    def write(more=""):
        (tmp_path / "buoy.yaml").write_text(HANGING)
        path = tmp_path / "hanging.yaml"
        path.write_text(SCENARIO % more)
        return path

    return write


def test_modes_are_printed_and_drawn(run, hanging, tmp_path):
    status, out, _ = run("modes", hanging(), "--out", tmp_path / "modes.png")
    assert status == 0 and "commands held" in out and "float.p" in out and "neutral" in out and "grows" not in out
    assert (tmp_path / "modes.png").stat().st_size > 10_000
    status, out, _ = run("modes", hanging(), "--json")
    found = json.loads(out)
    M = np.array([[150.0, -20.0], [-20.0, 4.0 + 100.0 * 0.2**2 + 1.0]])  # sway and roll
    right = np.linalg.solve(M, np.hstack([-np.diag([0.0, 100.0 * 9.81 * 0.2]), -np.diag([20.0, 2.0])]))
    expected = max(np.linalg.eigvals(np.vstack([np.eye(2, 4, 2), right])), key=lambda x: x.imag)
    (roll,) = (x for x in found if "float.p" in x["who"] and (x["damping_ratio"] or 1.0) < 1.0)
    assert complex(*roll["eigenvalue"]) == pytest.approx(expected, rel=1e-9)
    assert roll["natural_frequency_hz"] == pytest.approx(abs(expected) / (2 * math.pi), rel=1e-9)


def test_no_equilibrium_is_said(run, hanging):
    status, out, err = run("modes", hanging(", rpy_deg: [20, 0, 0]"))
    assert status == 1 and not out and "not an equilibrium" in err and "float.p (" in err and "hm.trim" in err
    status, _, err = run("modes", hanging(), "--free", "float.p")
    assert status == 2 and "--trim" in err


def test_a_vehicle_that_its_thrusters_hold_in_a_current(run, tmp_path):
    path = tmp_path / "held.yaml"
    path.write_text("""
hydromechs_scenario: 2
name: held
title: A vehicle in a current
models:
  bluerov2_heavy_alpha5: {plant: bluerov2_heavy_alpha5, position: [0, 0, 5]}
environment: {current: {velocity: [0.5, 0.1, 0]}}
run: {step: 0.01, record: 0.05, duration: 1}
""")
    status, out, err = run("modes", path, "--trim")
    assert status == 0 and not err and "thruster_8.thrust" in out
