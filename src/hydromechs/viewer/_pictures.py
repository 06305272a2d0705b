"""Pictures of models and runs as files, drawn without a display by a rasteriser or a headless browser."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from hydromechs.files import replacing, write_bytes
from hydromechs.model import Model
from hydromechs.values import Array

from ._client import PageContent, page_html, stage
from ._raster import raster, scene_camera
from ._scene import Scene, model_scene

FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""Browser options for rendering without a window or GPU."""
WAITS = (4000, 16000)
"""Times on the page clock of successive attempts to capture a page, until it has been drawn completely [ms]."""


def snapshot(
    model: Model,
    q: Array | None = None,
    path: str | os.PathLike[str] = "model.png",
    *,
    size: tuple[int, int] = (960, 720),
    azimuth: float = -38.0,
) -> Path:
    """Draw a model as a PNG file; needs neither a display nor a browser.

    Args:
        model: Model to draw.
        q: Configuration, shape (nq,). Defaults to the initial configuration.
        path: File to write.
        size: Width and height [pixel].
        azimuth: Azimuth of the camera about the vertical, from the x axis [deg].
    """
    return write_picture(model_scene(model, q), path, size=size, azimuth=azimuth)


def write_picture(
    scene: Scene,
    path: str | os.PathLike[str],
    moments: Sequence[int] = (0,),
    *,
    size: tuple[int, int] = (960, 720),
    azimuth: float = -38.0,
    layers: Collection[str] | None = None,
) -> Path:
    """Draw a scene as a PNG file, with its bodies at one or several times.

    Args:
        scene: Scene to draw.
        path: File to write.
        moments: Indices of times; arrows and surfaces are drawn at the last of these times.
        size: Width and height [pixel].
        azimuth: Azimuth of the camera about the vertical, from the x axis [deg].
        layers: Layers to show. Defaults to all layers that are not hidden.
    """
    import matplotlib.image

    path = Path(path)
    camera = scene_camera(scene, moments, azimuth=azimuth, aspect=size[0] / size[1])
    with replacing(path) as partial:
        matplotlib.image.imsave(partial, raster(scene, moments, size=size, camera=camera, layers=layers), format="png")
    return path


# -- with a browser ---------------------------------------------------------------------------------------------------------


def chromium() -> str | None:
    """Return the path of Chromium or Chrome on this machine, or None if neither is installed."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


def browser_picture(
    scene: Scene, path: str | os.PathLike[str], *, size: tuple[int, int] = (960, 720), layers: Collection[str] | None = None
) -> Path:
    """Render a scene at its first time as a PNG file with headless Chromium, as pages show it.

    Args:
        scene: Scene to draw.
        path: File to write.
        size: Width and height [pixel].
        layers: Layers to show. Defaults to all layers that are not hidden.
    """
    import matplotlib.image

    program = chromium()
    if program is None:
        raise FileNotFoundError(
            "Chromium is not installed; install it, or use hydromechs.viewer.snapshot, which needs no browser"
        )
    path = Path(path).absolute()
    content = PageContent(scene=scene.at(0), layers=layers)
    text = page_html(scene.title, stage(content), content=content, kind="picture")
    with tempfile.TemporaryDirectory() as folder:
        file, drawn = Path(folder, "scene.html"), Path(folder, "scene.png")
        file.write_text(text, encoding="utf-8")
        command = [program, *FLAGS, f"--user-data-dir={folder}/profile", "--hide-scrollbars", f"--screenshot={drawn}"]
        command += [f"--window-size={size[0]},{size[1]}", file.as_uri()]
        for wait in WAITS:
            more = f"--virtual-time-budget={wait}"
            done = subprocess.run([*command, more], capture_output=True, text=True, timeout=240, check=False)
            if not drawn.exists():
                raise OSError(f"{program} did not write a picture: {done.stderr.strip()[-300:]}")
            if matplotlib.image.imread(drawn)[0, :, :3].any():  # the picture is black until the page has loaded its background
                write_bytes(path, drawn.read_bytes())
                return path
    raise OSError(f"{program} did not load the page completely within {WAITS[-1] / 1000:g} s; try again")
