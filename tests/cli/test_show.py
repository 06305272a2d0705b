"""`hydromechs view`, `replay` and `picture`."""

import re
import select
import signal
import time
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import pytest

from hydromechs import library
from hydromechs.cli._show import run_scene
from hydromechs.formats import drawing_attrs
from hydromechs.library import load_scenario
from hydromechs.scenario import run_scenario


@pytest.fixture
def folder(run, scenario, tmp_path):
    """The folder of a short run."""
    assert run("run", scenario(duration=0.5), "--out", tmp_path / "out", "--no-pictures")[0] == 0
    return tmp_path / "out"


def test_picture_of_a_model(run, tmp_path):
    code, text, _ = run("picture", "held_load", "--out", tmp_path / "load.png", "--azimuth", 30)
    assert code == 0 and "load.png" in text
    assert matplotlib.image.imread(tmp_path / "load.png").shape[:2] == (720, 960)
    code, _, error = run("picture", "held_load", "--at", 1.0)
    assert code == 1 and "--at 1 applies only to runs, but held_load is a model" in error


def test_a_run_in_pictures_and_in_one_file(run, folder, tmp_path):
    """The model that the scenario names by a relative path is found again."""
    code, *_ = run("picture", folder, "--at", 0.0, "--at", 0.5, "--out", tmp_path / "two.png")
    assert code == 0 and (tmp_path / "two.png").stat().st_size > 5000
    code, _, error = run("picture", folder, "--at", 0.0, "--at", 0.5, "--chromium", "--out", tmp_path / "none.png")
    assert code == 1 and "--chromium draws one time, but --at is given 2 times" in error
    code, _, error = run("picture", folder, "--layers", "bodies,currents", "--out", tmp_path / "none.png")
    assert code == 1 and "no layer 'currents'; available:" in error
    for t in (100, -1, "nan"):
        code, _, error = run("picture", folder, "--at", 0.2, "--at", t, "--out", tmp_path / "none.png")
        assert code == 1 and f"--at {t} s is outside" in error and "from 0 to 0.5 s" in error
    assert not (tmp_path / "none.png").exists()
    code, text, _ = run("replay", folder, "--html", tmp_path / "replay.html")
    assert code == 0 and "11 of 11 samples" in text
    assert (tmp_path / "replay.html").stat().st_size < 2e6


def test_a_run_as_a_video(run, folder, tmp_path):
    code, text, _ = run("replay", folder, "--video", tmp_path / "a.gif", "--fps", 10, "--size", "96x54", "--to", 0.3)
    assert code == 0 and "a.gif: 4 frames" in text and (tmp_path / "a.gif").stat().st_size > 500
    for options, words in (
        (("--size", "big"), "--size big is not of the form WIDTHxHEIGHT"),
        (("--camera", "boat"), "no body 'boat' to follow"),
        (("--from", 3), "choose increasing times from 0 to 0.5 s"),
    ):
        code, _, error = run("replay", folder, "--video", tmp_path / "b.gif", *options)
        assert code == 1 and words in error, error
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.usefixtures("undrawn")
def test_show_opens_the_report(run, scenario, tmp_path, monkeypatch):
    """Only on a machine with a display; a run without a report leaves no old one behind."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    out = tmp_path / "out"
    code, text, _ = run("run", scenario(duration=0.5), "--out", out, "--show")
    assert code == 0 and f"hydromechs replay {out}" in text and (out / "report.html").as_uri() in text and opened == []
    report = (out / "report.html").read_text()
    assert "Snapshots" in report and 'id="scene"' in report and (out / "report.html").stat().st_size < 2e6
    monkeypatch.setenv("DISPLAY", ":0")
    run("run", scenario(duration=0.5), "--out", out, "--show", "--force")
    assert opened == [(out / "report.html").as_uri()]
    run("run", scenario(duration=0.5), "--out", out, "--force", "--no-pictures", "--show")
    assert len(opened) == 1 and not (out / "report.html").exists()


def test_a_recording_that_does_not_say_its_model(run, folder, tmp_path):
    import hydromechs as hm

    ds = hm.load_recording(folder)
    ds.attrs = {name: value for name, value in ds.attrs.items() if not name.startswith(("scenario", "drawn"))}
    hm.save_recording(ds, tmp_path / "bare.nc")
    code, _, error = run("replay", tmp_path / "bare.nc", "--html", tmp_path / "a.html")
    assert code == 0 and "bodies are drawn as boxes; name the model with --model" in error
    code, *_ = run("replay", tmp_path / "bare.nc", "--model", tmp_path / "buoy.yaml", "--html", tmp_path / "a.html")
    assert code == 0 and (tmp_path / "a.html").exists()


@pytest.mark.parametrize("command", ["view", "replay"])
def test_a_page_ends_with_ctrl_c(start, folder, command):
    arguments = ("view", "held_load") if command == "view" else ("replay", folder)
    process = start(*arguments, "--port", 8960, "--no-browser")
    assert select.select([process.stdout], [], [], 60)[0]
    line = process.stdout.readline()
    assert re.match(r"open http://127\.0\.0\.1:89\d\d/[\w-]{22}/ \(Ctrl-C to stop\)", line), line
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert "closed" in process.stdout.read() and "Traceback" not in process.stderr.read()


def test_the_scene_of_a_run_whose_vehicle_is_the_librarys(tmp_path):
    """Verify for the scenario of `make demo`, which names a vehicle with its actuators."""
    scenario, file = replace(load_scenario("station_keeping"), duration=0.1), Path(library.scenario_path("station_keeping"))
    run_scenario(scenario, tmp_path / "run", text=file.read_text(), file=file, attrs=drawing_attrs(scenario))
    scene, ds = run_scene(tmp_path / "run")
    assert ds.sizes["time"] > 2 and scene is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("picture", "held_load", "--out", "c.jpg"), "--out c.jpg is not a PNG file; use the suffix .png"),
        (("view", "held_load", "--port", 99999), "port 99999 is outside 1 to 65535"),
        (("replay", "RUN", "--video", "a.gif", "--speed", "nan"), "--speed nan is not finite and > 0"),
        (("replay", "RUN", "--html", "."), "--html . is a folder; set the name of a file"),
        (("replay", "RUN", "--html", "mission.yaml"), "mission.yaml has the suffix '.yaml'; use the suffix .html"),
        (("replay", "RUN", "--html", "b.html", "--speed", 4, "--camera", "x"), "--speed, --camera"),
        (("compare", "RUN", "RUN", "--tolerance", -1), "--tolerance -1 must be a number of at least 0"),
        (
            ("plot", "RUN", "q", "--out", "q.xyz"),
            "--out q.xyz is not a plot file; use one of the suffixes .png, .svg, .pdf, .jpg",
        ),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_slips_are_named(run, folder, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, error = run(*(folder if word == "RUN" else word for word in words))
    assert code and said in error, error
    assert not (tmp_path / "c.jpg").exists()
