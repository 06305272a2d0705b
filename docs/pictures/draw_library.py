"""What do the library's models look like? Draws all of them, and eight in one picture; needs neither a display nor a browser.

python docs/pictures/draw_library.py            writes docs/pictures/library.jpg and docs/gallery/models/NAME.jpg
"""

from pathlib import Path

import matplotlib.image
import numpy as np

import hydromechs as hm

NAMES = (
    *("bluerov2_heavy_alpha5", "tiburon_titan2", "rexrov2_oberon7", "dual_arm_rov"),
    *("puma560", "workclass_arm3", "tubular_frame", "valve_panel"),
)
SIZE = (400, 300)
GALLERY = Path(__file__).parents[1] / "gallery" / "models"


def tile(name: str) -> np.ndarray:
    """Picture of a model, shape (height, width, 3)."""
    scene = hm.viewer.model_scene(hm.load(name))
    azimuth = -142.0 if name == "valve_panel" else -38.0  # its front looks along -x
    return hm.viewer.raster(scene, size=SIZE, camera=hm.viewer.camera_for(*scene.bounds(0), azimuth=azimuth))


def write(path: Path, image: np.ndarray) -> None:
    """Write a picture and say where.

    Args:
        path: The file.
        image: The picture, shape (height, width, 3).
    """
    matplotlib.image.imsave(path, image, pil_kwargs={"quality": 85})
    print(path)


def main() -> None:
    """Draw the models and write the pictures."""
    tiles = {name: tile(name) for name in hm.library.names()}
    for name, image in tiles.items():
        write(GALLERY / f"{name}.jpg", image)
    rows = [np.concatenate([tiles[name] for name in names], axis=1) for names in (NAMES[:4], NAMES[4:])]
    write(Path(__file__).with_name("library.jpg"), np.concatenate(rows))


if __name__ == "__main__":
    main()
