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
LAYERS = {"looks", "terrain", "water surface", "path"}


class Shot(NamedTuple):
    """A moment of a mission."""

    times: tuple[float, ...]
    """Times that are drawn over each other [s]."""
    azimuth: float = -38.0
    """Direction that it is seen from [deg]."""
    layers: tuple[str, ...] = ()
    """Layers besides the usual ones."""


SHOTS = {
    "pick_and_release": Shot((17.0,)),
    "fast_manipulation": Shot((12.0,)),
    "turn_valve": Shot((25.0,), -100.0),
    "crash": Shot((0.0, 9.0, 30.0)),
    "station_keeping": Shot((30.0,), layers=("current", "force: thrust")),
    "bluerov2_square": Shot((0.0, 8.0, 16.0, 24.0, 32.0)),
    "wave_zone": Shot((40.0,)),
    "underwater_dual_arm": Shot((3.0,)),
    "four_puma_lift": Shot((2.0,)),
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
        scenario.model, recording, terrain=scenario.terrain, environment=scenario.environment, rate=5.0
    )
    moments = [int(np.abs(scene.times - t).argmin()) for t in shot.times]
    camera = hm.viewer.camera_for(
        *scene.bounds(*moments), azimuth=shot.azimuth, elevation=5.0 if scene.surfaces else 20.0, aspect=SIZE[0] / SIZE[1]
    )
    layers = (LAYERS | set(shot.layers)) & set(scene.layers)
    image = hm.viewer.raster(scene, moments, size=SIZE, camera=camera, layers=layers)
    path = Path(__file__).parents[1] / "gallery" / f"{name}.png"
    Image.fromarray(np.round(255.0 * image).astype(np.uint8)).save(path, optimize=True)
    return path


if __name__ == "__main__":
    for name in sys.argv[1:] or SHOTS:
        scenario = hm.load_scenario(name)
        print(draw(name, scenario, scenario.simulation().run(scenario.duration).recording, SHOTS[name]))
