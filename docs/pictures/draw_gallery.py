"""Fly the library's missions and draw a moment of each into docs/gallery: `python docs/pictures/draw_gallery.py [NAME ...]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray
from PIL import Image

import hydromechs as hm
from hydromechs.scenario import Scenario

SIZE = (640, 400)
LAYERS = {"bodies", "terrain", "water surface", "path"}


class Shot(NamedTuple):
    """A moment of a mission."""

    times: tuple[float, ...]
    """Times that are drawn over each other [s]."""
    azimuth: float = -38.0
    """Direction that it is seen from [deg]."""
    elevation: float | None = None
    """Angle from which it is looked down on [deg]; by default low where there is a water surface."""
    layers: tuple[str, ...] = ()
    """Layers besides the usual ones."""
    hidden: tuple[str, ...] = ()
    """Usual layers that would be in the way."""


SHOTS = {
    "pick_and_release": Shot((17.0,)),
    "fast_manipulation": Shot((12.0,)),
    "turn_valve": Shot((25.0,), -100.0),
    "crash": Shot((0.0, 9.0, 30.0)),
    "station_keeping": Shot((30.0,), layers=("current", "force: thrust")),
    "bluerov2_square": Shot((0.0, 8.0, 16.0, 24.0, 32.0)),
    "wave_zone": Shot((40.0,)),
    "underwater_dual_arm": Shot((3.0,)),
    "redundant_arms": Shot((0.0, 30.0), -30.0, 40.0, hidden=("water surface",)),
    "four_puma_lift": Shot((2.0,)),
    "hold_in_gusts": Shot((30.0,), -130.0, layers=("current", "force: thrust")),
    "slow_manipulation": Shot((12.0,), -120.0),
    "dual_arm_through_singularity": Shot((0.0, 1.0)),
    "tethered_rov": Shot((30.0,)),
    "free_decay": Shot((0.0, 3.0, 10.0)),
    "sinking_chain": Shot((0.0, 3.0, 8.0)),
    "snake_swim": Shot((4.0, 10.0), elevation=45.0, hidden=("water surface",)),
    "aquarobot_rubble": Shot((15.0,)),
    "hexapod_walk": Shot((5.0,)),
    "dante_step": Shot((20.0,)),
    "k2t_walk": Shot((20.0,)),
    "waav_step": Shot((20.0,)),
}


def draw(name: str, scenario: Scenario, recording: xarray.Dataset, shot: Shot) -> Path:
    """Draw a moment of a mission.

    Args:
        name: Name of the mission.
        scenario: The mission.
        recording: What happened.
        shot: The moment.
    """
    scene = hm.viewer.recording_scene(
        scenario.model, recording, terrain=scenario.parts(hm.contact.Terrain), environment=scenario.environment, rate=5.0
    )
    moments = [int(np.abs(scene.times - t).argmin()) for t in shot.times]
    usual = 5.0 if scene.surfaces else 20.0
    elevation = usual if shot.elevation is None else shot.elevation
    camera = hm.viewer.camera_for(*scene.bounds(*moments), azimuth=shot.azimuth, elevation=elevation, aspect=SIZE[0] / SIZE[1])
    layers = (LAYERS - set(shot.hidden) | set(shot.layers)) & set(scene.layers)
    image = hm.viewer.raster(scene, moments, size=SIZE, camera=camera, layers=layers)
    path = Path(__file__).parents[1] / "gallery" / f"{name}.png"
    Image.fromarray(np.round(255.0 * image).astype(np.uint8)).save(path, optimize=True)
    return path


if __name__ == "__main__":
    for name in sys.argv[1:] or SHOTS:
        scenario = hm.load_scenario(name)
        print(draw(name, scenario, scenario.simulation().run(scenario.duration).recording, SHOTS[name]))
