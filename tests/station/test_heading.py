"""The heading that a page shows counts as files, compasses and recordings count it, with z up as with z down."""

import numpy as np
import pytest

from hydromechs.cli._pilot import catalog
from hydromechs.station import Changes, Inputs, Operator, configured
from hydromechs.station._session import pilot_of, piloted
from hydromechs.station._telemetry import Display

MODEL = """
hydromechs_model: 2
name: float
world: {axes: ENU}
bodies:
  hull:
    joint: free
    inertia: {mass: 50, tensor: [2, 3, 4, 0, 0, 0]}
    hydro: {volume: 0.0488, buoyancy_center: [0, 0, 0.03], added_mass: {type: diagonal, diagonal: [20, 40, 60, 1, 2, 3]}, drag: [{type: damping, linear: [20, 20, 20, 5, 5, 5]}]}
    frames:
      port: {xyz: [-0.3, 0.2, 0]}
      starboard: {xyz: [-0.3, -0.2, 0]}
      bow: {xyz: [0.3, 0, 0], rpy: [0, -1.5708, 0]}
"""
SCENARIO = """
hydromechs_scenario: 2
name: upward
models:
  float: {model: float.yaml, position: [0, 0, -5], rpy_deg: [10, -20, 30]}
thrusters:
  all: {frames: [port, starboard, bow], curve: {type: newtons, forward: 60, reverse: 60}}
sensors:
  compass: {type: compass, frame: hull, rate: 50}
run: {step: 0.005, record: 0.02, duration: 1}
"""


class Asked(Inputs):
    """The same at all times."""

    def __init__(self, asked):
        self.asked = asked

    def at(self, tick):
        return self.asked


def test_it_is_that_of_the_file_the_compass_and_the_recording(tmp_path):
    """From *Initial heading* on. With z up a turn to the right makes it smaller; the nose is up and it leans to starboard."""
    (tmp_path / "float.yaml").write_text(MODEL)
    (tmp_path / "upward.yaml").write_text(SCENARIO)
    known = catalog(str(tmp_path / "upward.yaml"))
    asked = Asked(Operator(mode="speed", axes=(0, 0, 0, 0, 0, 1.0)))
    sim = piloted(configured(known, "upward", Changes(heading_deg=250.0)).scenario, asked)
    display = Display(sim, pilot_of(sim), ())
    hud = display.snapshot(0, 0).hud
    assert [hud["heading"], hud["pitch"], hud["roll"]] == pytest.approx([250.0, 20.0, 10.0])
    run = sim.run(0.5).recording
    hud = display.snapshot(1, 0).hud
    w, x, y, z = run["orientation"].values[-1, 0]
    yaw = np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))) % 360.0
    measured = np.degrees(run["signal"].sel(channel="compass.heading").values[-1]) % 360.0
    assert hud["heading"] == pytest.approx(yaw, abs=1e-9) and measured == pytest.approx(yaw, abs=1.0)  # of the last call
    assert hud["heading"] < 249.0
