"""Draw moments of the frame walkers and of the modules on ball joints: `python docs/pictures/draw_walkers.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import hydromechs as hm
from hydromechs.values import Array

SIZE = (480, 270)
MOMENTS = {  # times [s], direction that they are seen from [deg]
    "dante_step": ((8.0, 16.5, 26.0), -75.0),
    "k2t_walk": ((4.3, 8.7, 20.0), -60.0),
    "waav_step": ((5.5, 9.5, 13.5), -80.0),
}


def moments(name: str) -> Array:
    """Moments of a scenario side by side, colours 0 to 255, shape (height, width, 3).

    Args:
        name: Name of the scenario.
    """
    times, azimuth = MOMENTS[name]
    scenario = hm.load_scenario(name)
    recording = scenario.simulation().run(max(times) + 0.5).recording
    scene = hm.viewer.recording_scene(
        scenario.model, recording, terrain=scenario.parts(hm.contact.Terrain), environment=scenario.environment, rate=10.0
    )
    at = [int(np.abs(scene.times - t).argmin()) for t in times]
    camera = hm.viewer.camera_for(*scene.bounds(*at), azimuth=azimuth, elevation=12.0, aspect=SIZE[0] / SIZE[1])
    images = [hm.viewer.raster(scene, [k], size=SIZE, camera=camera, layers={"bodies", "terrain"}) for k in at]
    return np.round(255.0 * np.concatenate(images, axis=1)).astype(np.uint8)


if __name__ == "__main__":
    path = Path(__file__).parent / "frame_walkers.jpg"
    Image.fromarray(np.concatenate([moments(name) for name in MOMENTS], axis=0)).save(path, quality=85)
    print(path)
