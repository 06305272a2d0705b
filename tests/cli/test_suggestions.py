"""Slips on the command line: an argument of another kind, a name that is nearly right, an option that does not exist."""

import os

import pytest

from hydromechs.cli._kinds import kinds_of
from hydromechs.recording import RecordingWriter, Variable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the recording of a run in runs/dive, a model, a scenario and two studies; the working folder."""
    schema = [Variable(name="depth", dims=("time", "body"), units="m", long_name="depth")]
    writer = RecordingWriter(tmp_path / "runs" / "dive" / "recording.zarr", schema, {"body": ["hull"]}, {})
    writer.append({"time": [0.0, 1.0], "depth": [[1.0], [2.0]]})
    writer.close()
    (tmp_path / "robot.yaml").write_text("# a model\nhydromechs_model: 2\nname: x\n")
    (tmp_path / "dive.yaml").write_text("hydromechs_scenario: 2\nname: x\n")
    (tmp_path / "many.yaml").write_text("hydromechs_sweep: 2\n")
    (tmp_path / "pool.yaml").write_text("hydromechs_validation: 2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("info", "bluerov2"), ("did you mean", "bluerov2_heavy_alpha5")),
        (("info", "runs/dive"), ("run", "hydromechs replay runs/dive")),
        (("run", "tiburon_titan2"), ("is a model", "hydromechs pilot tiburon_titan2", "hydromechs view tiburon_titan2")),
        (("run", "puma560"), ("is a model", "hydromechs view puma560")),
        (("run", "robot.yaml"), ("is a model", "hydromechs view robot.yaml")),
        (("run", "many.yaml"), ("sweep", "hydromechs sweep many.yaml")),
        (("run", "runs/dive"), ("run", "hydromechs replay runs/dive", "--resume runs/dive")),
        (("view", "runs/dive"), ("run", "hydromechs replay runs/dive")),
        (("view", "station_keeping"), ("scenario", "hydromechs run station_keeping")),
        (("count", "dive.yaml"), ("scenario", "hydromechs run dive.yaml")),
        (("export", "dive.yaml"), ("scenario", "hydromechs run dive.yaml")),
        (("convert", "dive.yaml", "x.urdf"), ("scenario", "hydromechs run dive.yaml")),
        (("view", "dive.yaml"), ("scenario", "hydromechs run dive.yaml")),
        (("picture", "pool.yaml"), ("study", "hydromechs validate pool.yaml")),
        (("replay", "station_keeping"), ("scenario", "hydromechs run station_keeping")),
        (("replay", "dive"), ("did you mean 'runs/dive'",)),
        (("sweep", "station_keeping"), ("scenario", "hydromechs run station_keeping")),
        (("plot", "tiburon_titan2", "depth"), ("is a model",)),
        (("plot", "runs/dive", "depht"), ("depht", "did you mean 'depth'")),
        (("plot", "runs/dive", "depth", "--select", "body=hul"), ("hul", "did you mean 'hull'")),
        (("plot", "runs/dive", "depth", "--select", "bodi=hull"), ("bodi", "did you mean 'body'")),
        (("compare", "runs/dive", "runs/diver"), ("runs/diver",)),
    ],
    ids=lambda x: "_".join(x[:2]).replace("/", "_") if isinstance(x, tuple) else None,
)
def test_the_message_names_what_to_do(run, folder, words, named):
    code, _, error = run(*words)
    assert code == 1 and all(text in error for text in named), error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "station_keeping", "--durations", "3"), "did you mean '--duration'"),
        (("picture", "held_load", "--azimut", "3"), "did you mean '--azimuth'"),
        (("view", "held_load", "--prot", "8080"), "did you mean '--port'"),
        (("bench", "dynamics", "--jsn"), "did you mean '--json'"),
        (("run", "station_keeping", "--radius", "3"), "--duration"),
        (("runn", "station_keeping"), "run"),
    ],
    ids=lambda x: "_".join(x[:3]) if isinstance(x, tuple) else None,
)
def test_an_unknown_option_or_command(run, words, named):
    """The closest one is suggested; where none is close, all are listed."""
    code, _, error = run(*words)
    assert code == 2 and named in error and (words[0] == "runn" or words[-1 if words[-1].startswith("--") else -2] in error), (
        error
    )


def test_dashes_do_not_make_options_similar(run):
    code, _, error = run("run", "station_keeping", "--treads", "4")
    assert code == 2 and "--treads" in error and "did you mean" not in error


def test_a_file_of_unknown_kind_is_reported_with_all_kinds(run, folder):
    (folder / "mine.yaml").write_text("name: mine\nmodels: {}\n")
    code, _, error = run("check", "mine.yaml")
    assert code == 1 and all(f"hydromechs_{kind}: 2" in error for kind in ("model", "scenario", "sweep", "validation"))


@pytest.mark.parametrize(
    "words",
    [
        ("new", "sinking_chain", "taken/x"),
        ("campaign", "sinking_chain", "--worlds", "1", "--duration", "0.1", "--out", "taken/x"),
        ("sweep", "sinking_chains", "--out", "taken/x"),
        ("picture", "sinking_chain", "--out", "taken/x.png"),
    ],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_written_is_named_with_the_reason(run, folder, words):
    (folder / "taken").write_text("a file")
    code, _, error = run(*words)
    assert code == 1 and "taken" in error and "check the path" in error and "Errno" not in error, error


def test_kinds(folder):
    assert kinds_of("sinking_chain") == {"model", "scenario"}  # the library has both
    assert kinds_of("tiburon_titan2") == {"model", "vehicle"} and kinds_of("sinking_chains") == {"sweep"}
    assert kinds_of("robot.yaml") == {"model"} and kinds_of("pool.yaml") == {"validation"}
    assert kinds_of("nothing") == kinds_of("nothing.yaml") == kinds_of(".") == set()
    os.mkfifo(folder / "pipe.yaml")
    assert kinds_of("pipe.yaml") == set()  # reading it would wait for ever
