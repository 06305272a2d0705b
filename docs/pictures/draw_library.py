"""What do the library's models look like? Draws eight of them; needs neither a display nor a browser.

python docs/pictures/draw_library.py            writes docs/pictures/library.jpg
"""

import sys
from pathlib import Path

import matplotlib.image
import numpy as np

import hydromechs as hm

NAMES = (
    *("bluerov2_heavy_alpha5", "tiburon_titan2", "rexrov2_oberon7", "dual_arm_rov"),
    *("puma560", "workclass_arm3", "tubular_frame", "valve_panel"),
)
SIZE = (400, 300)


def tile(name: str) -> np.ndarray:
    """Picture of a model, shape (height, width, 3)."""
    scene = hm.viewer.model_scene(hm.load(name))
    azimuth = -142.0 if name == "valve_panel" else -38.0  # its front looks along -x
    return hm.viewer.raster(scene, size=SIZE, camera=hm.viewer.camera_for(*scene.bounds(0), azimuth=azimuth))


def main() -> None:
    """Draw the models and write the picture."""
    tiles = [tile(name) for name in NAMES]
    image = np.concatenate([np.concatenate(tiles[:4], axis=1), np.concatenate(tiles[4:], axis=1)])
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("library.jpg")
    matplotlib.image.imsave(path, image, pil_kwargs={"quality": 85})
    print(path)


if __name__ == "__main__":
    main()
