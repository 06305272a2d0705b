"""Videos of a scene, drawn without a display: GIF, or MP4 if an encoder is installed."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from hydromechs.files import replacing
from hydromechs.values import Array

from ._raster import Camera, camera_for, raster, scene_camera
from ._scene import HIDDEN, Scene

VIDEOS = (".mp4", ".gif")
"""File suffixes of the video formats."""
FASTEST = {".mp4": 240.0, ".gif": 50.0}
"""Maximum frame rate [1/s]; browsers slow down GIFs with frames shorter than 0.02 s."""
MAX_FRAMES = {".mp4": 100_000, ".gif": 3000}
"""Maximum number of frames of a video; all frames of a GIF are in memory at the same time."""
PALETTE = 6
"""Number of GIF frames from which the palette is chosen."""

Draw = Callable[[int], Array]
"""Function that draws the frame at a time index: red, green and blue from 0 to 255, shape (height, width, 3)."""
Progress = Callable[[int, int], None]
"""Callback that receives the number of frames drawn and the total."""
View = Callable[[int], Camera]
"""Function that returns the camera at a time index."""


def video_moments(scene: Scene, *, speed: float, rate: float, begin: float | None = None, end: float | None = None) -> Array:
    """Return the index of the nearest scene time for each frame of a video, shape (frames,).

    Args:
        scene: Scene of a recording.
        speed: Ratio of simulated time to video time, above 0.
        rate: Frame rate [1/s], above 0.
        begin: First simulated time to show [s]. Defaults to the first time of the scene.
        end: Last simulated time to show [s]. Defaults to the last time of the scene.
    """
    for name, value in (("speed", speed), ("frames per second", rate)):
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} of a video is {value:g}, must be finite and > 0")
    first, last = float(scene.times[0]), float(scene.times[-1])
    begin, end = first if begin is None else begin, last if end is None else end
    slack = speed / rate  # users type times with few digits
    if not first - slack <= begin < end <= last + slack:
        raise ValueError(
            f"video times {begin:g} to {end:g} s are outside the run; choose increasing times from {first:g} to {last:g} s"
        )
    wanted = np.arange(begin, end + 1e-9, speed / rate)
    after = np.clip(np.searchsorted(scene.times, wanted), 1, max(len(scene.times) - 1, 1))
    after = np.minimum(after, len(scene.times) - 1)
    nearer = wanted - scene.times[after - 1] <= scene.times[after] - wanted
    return np.where(nearer, after - 1, after)


def chosen_layers(scene: Scene, names: Sequence[str]) -> list[str]:
    """Return the layers to draw: the named layers, or all layers that are not hidden.

    Args:
        scene: Scene to draw.
        names: Names of layers; empty for the default layers.
    """
    unknown = [name for name in names if name not in scene.layers]
    if unknown:
        raise ValueError(f"the scene has no layer {unknown[0]!r}; available: {', '.join(scene.layers)}")
    return list(names) or [layer for layer in scene.layers if layer not in HIDDEN]


def follow(scene: Scene, body: str, *, azimuth: float = -38.0, aspect: float = 16.0 / 9.0) -> View:
    """Return a camera that follows a body.

    Args:
        scene: Scene of a recording.
        body: Name of the body.
        azimuth: Azimuth of the camera about the vertical, from the x axis [deg].
        aspect: Ratio of width to height of the picture.
    """
    paths = {frame.name: frame.position @ scene.upright.T for frame in scene.frames if not frame.parent}
    if body not in paths:
        raise ValueError(f"the scene has no body {body!r} to follow; available: {', '.join(paths)}")
    low, high = scene.bounds(0, frames=(body,))
    center = paths[body][0]
    reach = 1.15 * np.maximum(np.abs(low - center), np.abs(high - center))
    first = camera_for(center - reach, center + reach, azimuth=azimuth, aspect=aspect)

    def camera(k: int) -> Camera:
        shift = paths[body][k] - center
        return Camera(first.position + shift, first.target + shift)

    return camera


def write_video(
    scene: Scene,
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    rate: float = 25.0,
    size: tuple[int, int] = (640, 360),
    begin: float | None = None,
    end: float | None = None,
    view: View | None = None,
    azimuth: float = -38.0,
    layers: Collection[str] | None = None,
    progress: Progress = lambda done, frames: None,
) -> Path:
    """Write a scene as a video; needs neither a display nor a browser.

    Args:
        scene: Scene of a recording.
        path: File to write: .gif, or .mp4 if imageio-ffmpeg is installed.
        speed: Ratio of simulated time to video time.
        rate: Frame rate [1/s]; a GIF stores times in hundredths of a second.
        size: Width and height [pixel], even numbers for .mp4.
        begin: First simulated time to show [s]. Defaults to the first time of the scene.
        end: Last simulated time to show [s]. Defaults to the last time of the scene.
        view: Camera of each frame, such as from `follow`. Defaults to a fixed camera that sees all bodies.
        azimuth: Azimuth of the fixed camera about the vertical, from the x axis [deg].
        layers: Layers to show. Defaults to all layers that are not hidden.
        progress: Callback that receives the number of frames drawn and the total.
    """
    path = Path(path)
    width, height = size
    kind = path.suffix.lower()
    if kind not in VIDEOS:
        raise ValueError(f"{path} is not a video file; use the suffix {' or '.join(VIDEOS)}")
    if rate > FASTEST[kind]:
        fix = "write an .mp4, or use a lower rate" if kind == ".gif" else "use a lower rate"
        raise ValueError(f"{rate:g} frames per second exceed the limit of {FASTEST[kind]:g} for {kind} files; {fix}")
    if not (16 <= width <= 3840 and 16 <= height <= 2160) or (kind == ".mp4" and (width % 2 or height % 2)):
        raise ValueError(f"video size {width}x{height} is invalid; use 16x16 to 3840x2160 pixels, even numbers for .mp4")
    moments = video_moments(scene, speed=speed, rate=rate, begin=begin, end=end)
    if len(moments) > MAX_FRAMES[kind]:
        what = f"{'a GIF' if kind == '.gif' else 'a video'} of {len(moments)} frames"
        raise ValueError(
            f"{what} exceeds the limit of {MAX_FRAMES[kind]}; shorten the time range, raise the speed or lower the rate"
        )
    if view is None:
        some = np.unique(moments[np.linspace(0, len(moments) - 1, 12).astype(int)])
        still = scene_camera(scene, some.tolist(), azimuth=azimuth, aspect=width / height)
        view = lambda k: still  # noqa: E731

    def draw(k: int) -> Array:
        return np.round(255.0 * raster(scene, [k], size=size, camera=view(k), layers=layers)).astype(np.uint8)

    write = _gif if kind == ".gif" else _mp4
    with replacing(path) as partial:
        write(partial, draw, moments.tolist(), rate, progress)
    return path


def _frames(draw: Draw, moments: Sequence[int], progress: Progress) -> Iterator[Array]:
    """Yield the frames at some time indices; repeated frames are drawn once."""
    before, frame = -1, np.zeros(0, dtype=np.uint8)
    for done, k in enumerate(moments, start=1):
        frame = draw(k) if k != before else frame
        before = k
        yield frame
        progress(done, len(moments))


def _gif(path: Path, draw: Draw, moments: Sequence[int], rate: float, progress: Progress) -> None:
    """Write a GIF whose frames share one palette, chosen from a few frames, so that static parts take no space."""
    from PIL import Image

    some = [draw(k) for k in moments[:: max(1, len(moments) // PALETTE)]]
    palette = Image.fromarray(np.concatenate(some)).quantize(255, method=Image.Quantize.MEDIANCUT)
    images = [
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in _frames(draw, moments, progress)
    ]
    ends = np.round(100.0 / rate * np.arange(len(moments) + 1)).astype(int)  # in integer hundredths of a second
    delays = (10 * np.diff(ends)).tolist()
    images[0].save(path, save_all=True, append_images=images[1:], duration=delays, loop=0, optimize=False)


def _mp4(path: Path, draw: Draw, moments: Sequence[int], rate: float, progress: Progress) -> None:
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path}: MP4 videos require an encoder; install it with pip install 'hydromechs[video]', or write a .gif"
        ) from None
    height, width, _ = draw(moments[0]).shape
    # pixel format that every player supports; quality from 0 to 10
    encoder = imageio_ffmpeg.write_frames(str(path), (width, height), fps=rate, quality=7, macro_block_size=2)
    encoder.send(None)
    try:
        for frame in _frames(draw, moments, progress):
            encoder.send(frame.tobytes())
    finally:
        encoder.close()
