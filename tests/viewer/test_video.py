"""Replays as videos: which moments, where from, what is in the file."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

import hydromechs as hm
from hydromechs import viewer


@pytest.fixture(scope="module")
def scene():
    """A pipe that glides along x for one second, ten samples a second."""
    still = viewer.model_scene(hm.load("hand_pipe"))
    times = np.linspace(0.0, 1.0, 11)
    (frame,) = still.frames
    moving = dataclasses.replace(
        frame, position=frame.position + times[:, None] * [0.5, 0.0, 0.0], wxyz=np.repeat(frame.wxyz, 11, axis=0)
    )
    return dataclasses.replace(still, times=times, frames=(moving,))


def test_frames_are_those_nearest_in_time(scene):
    """Twice as fast takes half of the frames; slower than the samples shows some of them again."""
    moments = lambda **options: viewer.video_moments(scene, **{"speed": 1.0, "rate": 10.0, **options}).tolist()  # noqa: E731
    assert moments() == list(range(11))
    assert moments(speed=2.0) == [0, 2, 4, 6, 8, 10]
    assert moments(rate=20.0, begin=0.2, end=0.4) == [2, 2, 3, 3, 4]
    for options, words in (
        ({"speed": 0.0}, "speed of a video is 0, must be finite and > 0"),
        ({"rate": np.nan}, "frames per second of a video is nan, must be finite and > 0"),
        ({"begin": 0.5, "end": 7.0}, "video times 0.5 to 7 s are outside the run; choose increasing times from 0 to 1 s"),
        ({"begin": 0.5, "end": 0.2}, "video times 0.5 to 0.2 s"),
    ):
        with pytest.raises(ValueError, match=words):
            moments(**options)


def test_a_gif_has_frames_that_move(scene, tmp_path):
    told = []
    path = viewer.write_video(
        scene, tmp_path / "a" / "glide.gif", rate=10.0, size=(96, 54), progress=lambda done, frames: told.append((done, frames))
    )
    assert told[-1] == (11, 11)
    with Image.open(path) as film:
        assert film.n_frames == 11 and film.size == (96, 54) and film.info["duration"] == 100
        centres = []
        for k in (0, 10):
            film.seek(k)
            image = np.asarray(film.convert("RGB"), dtype=float)
            bare = np.median(image, axis=1, keepdims=True)  # rows of the background have one colour each
            centres.append(np.average(np.arange(96), weights=np.abs(image - bare).sum(axis=(0, 2))))
    assert abs(centres[1] - centres[0]) > 15.0


def test_a_gif_plays_at_its_speed(scene, tmp_path):
    """Delays are whole hundredths of a second; what is left over goes to the next frame."""
    for rate in (15.0, 30.0, 50.0):
        path = viewer.write_video(scene, tmp_path / f"{rate:g}.gif", rate=rate, size=(32, 18))
        with Image.open(path) as film:
            shown = []
            for k in range(film.n_frames):
                film.seek(k)
                shown.append(film.info["duration"])
        frames = len(viewer.video_moments(scene, speed=1.0, rate=rate))
        assert sum(shown) == pytest.approx(1000.0 * frames / rate, abs=5.0)  # equal frames may be put together
        assert min(shown) >= 20
    for name, options, words in (
        ("a.gif", {"rate": 60.0}, "60 frames per second exceed the limit of 50 for .gif files; write an .mp4"),
        ("a.mp4", {"rate": 600.0}, "600 frames per second exceed the limit of 240"),
        ("a.gif", {"speed": 1e-5}, "a GIF of 2500001 frames exceeds the limit of 3000"),
        (
            "a.mp4",
            {"speed": 1e-5},
            "a video of 2500001 frames exceeds the limit of 100000",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            viewer.write_video(scene, tmp_path / name, **options)


def test_a_camera_that_follows_sees_the_body_stand_still(scene):
    view = viewer.follow(scene, "pipe")
    images = [viewer.raster(scene, [k], size=(96, 54), camera=view(k)) for k in (0, 10)]
    assert np.abs(images[0] - images[1]).max() < 0.02
    with pytest.raises(ValueError, match="no body 'boat' to follow; available: pipe"):
        viewer.follow(scene, "boat")


def test_what_a_video_cannot_be(scene, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hydromechs\[video\]', or write a .gif"):
        viewer.write_video(scene, tmp_path / "a.mp4")
    with pytest.raises(ValueError, match="a.avi is not a video file; use the suffix .mp4 or .gif"):
        viewer.write_video(scene, tmp_path / "a.avi")
    with pytest.raises(ValueError, match="size 97x54 is invalid; .* even numbers for .mp4"):
        viewer.write_video(scene, tmp_path / "a.mp4", size=(97, 54))
    with pytest.raises(ValueError, match="no layer 'path'; available: bodies"):
        viewer.chosen_layers(scene, ["bodies", "path"])


def test_an_mp4_has_the_frames(scene, tmp_path):
    encoder = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    path = viewer.write_video(scene, tmp_path / "glide.mp4", rate=10.0, size=(96, 54))
    frames, seconds = encoder.count_frames_and_secs(str(path))
    assert frames == 11 and seconds == pytest.approx(1.1, abs=0.11)
