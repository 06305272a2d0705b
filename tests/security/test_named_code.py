"""Code that files name: run with --code or code=True, and by nothing else."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import sweeps
from hydromechs.cli import _show
from hydromechs.cli._main import app
from hydromechs.formats import load_file, load_scenario_file
from hydromechs.identification import validation
from hydromechs.recording import RunFolder

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("name", ["info", "count", "export", "convert", "view", "picture"])
def test_the_error_names_the_code_its_line_and_the_option(name, hostile, no_pages):
    result = CliRunner().invoke(app, [name, "./joint.yaml", *(["x.yaml"] if name == "convert" else [])])
    assert isinstance(result.exception, hm.CodeNotAllowed)
    words = str(result.exception)
    assert "--code" in words and "code=True" in words and "Rail" in words and "joint.yaml, line 12" in words


@pytest.mark.parametrize("name", ["info", "count"])
def test_with_code_it_runs(name, hostile, ran):
    """The files are such that their code runs if it is allowed to: the tests above can fail."""
    CliRunner().invoke(app, [name, "./joint.yaml", "--code"])
    assert ran.exists()


READERS = {
    "joint": hm.load,
    "part": hm.load,
    "controller": lambda file, **code: hm.load_scenario(file, **code).control(),
    "component": hm.load_plant,
    "of_model": hm.load_plant,
    "of_plant": hm.load_plant,
    "sweep": lambda file, **code: sweeps.load_sweep(file, **code).scenario.plant,
    "sweep_of_model": sweeps.load_sweep,
}


@pytest.mark.parametrize("hostile", ["evil.py", "evil_module"], indirect=True)
@pytest.mark.parametrize("kind", READERS)
def test_functions_run_code_only_if_it_is_allowed(kind, hostile, ran):
    with pytest.raises(hm.CodeNotAllowed, match=r"evil.*yaml, line \d"):
        READERS[kind](hostile[kind])
    assert not ran.exists()
    READERS[kind](hostile[kind], code=True)
    assert ran.exists()


def test_a_validation_runs_the_code_of_its_model_only_if_it_is_allowed(hostile, ran, tmp_path):
    study = validation.load_validation_study(hostile["validation"])
    with pytest.raises(hm.CodeNotAllowed, match=r"joint.yaml, line"):
        validation.read_campaign(study, tmp_path)
    assert not ran.exists()
    with pytest.raises(ValueError):
        validation.read_campaign(validation.load_validation_study(hostile["validation"], code=True), tmp_path)
    assert ran.exists()


def test_readers_of_formats_run_nothing_without_permission(hostile, ran):
    """The public readers of `formats`."""
    with pytest.raises(hm.CodeNotAllowed):
        load_scenario_file(hostile["component"])
    with pytest.raises(hm.CodeNotAllowed):
        load_file(hostile["joint"])
    assert not ran.exists()


@pytest.mark.parametrize(
    "reference",
    [
        "hydromechs.cli:main",
        "hydromechs.cli._pilot:Path",
        "hydromechs.recording:save_recording",
        "hydromechs.registry:module_kept",
        "hydromechs.py:Hold",
        "os:system",
    ],
)
@pytest.mark.parametrize("key", ["blocks: {b: {type: REFERENCE, period: 0.1}}", "components: {c: {type: REFERENCE}}"])
def test_a_file_cannot_call_other_functions_of_the_package(tmp_path, monkeypatch, reference, key):
    monkeypatch.chdir(tmp_path)
    Path("hydromechs.py").write_text("open('ran', 'w').close()")
    text = f"hydromechs_scenario: 2\nname: s\nrun: {{duration: 1}}\nmodels: {{m: {{model: sinking_chain}}}}\n{key}\n"
    Path("s.yaml").write_text(text.replace("REFERENCE", f"'{reference}'"))
    with pytest.raises((hm.CodeNotAllowed, hm.ScenarioError), match=r"must be|has no class|does not run by default"):
        hm.load_scenario("./s.yaml").simulation()
    assert not Path("ran").exists()


def test_classes_of_the_package_need_no_permission(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
        "components: {push: {type: 'hydromechs.actuation:ExternalWrench', body: link_1}}\n"
    )
    assert hm.load_scenario(file).components == (hm.actuation.ExternalWrench(body="link_1"),)


# -- recordings ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("recorded")
    model, scenario = folder / "ball.yaml", folder / "sinks.yaml"
    model.write_text(
        "hydromechs_model: 2\nname: ball\nbodies:\n  ball: {joint: free, "
        "inertia: {mass: 5, tensor: [1, 1, 1, 0, 0, 0]}, shapes: {hull: {type: sphere, radius: 0.1}}}\n"
    )
    scenario.write_text(
        "hydromechs_scenario: 2\nname: sinks\nrun: {duration: 0.2}\nmodels: {m: {model: ./ball.yaml}}\n"
        "terrain: {bed: {type: plane, material: sand, point: [0, 0, 9], normal: [0, 0, -1]}}\n"
    )
    result = CliRunner().invoke(app, ["run", str(scenario), "--out", str(folder / "run"), "--no-pictures"])
    assert result.exit_code == 0, result.output
    return folder / "run"


def told(recorded, tmp_path, **attrs):
    """A copy of the run whose recording has other attributes; those that are None are left out."""
    ds = hm.load_recording(recorded)
    ds.attrs = {key: value for key, value in (ds.attrs | attrs).items() if value is not None}
    hm.save_recording(ds, tmp_path / "told.zarr")
    return tmp_path / "told.zarr"


@pytest.mark.parametrize("stored", ["scenario alone", "drawn model"])
def test_a_recording_is_drawn_without_running_code_that_it_names(recorded, tmp_path, hostile, ran, stored):
    joint = Path("joint.yaml").read_text().replace("name: hull", "name: ball").replace("parent: hull", "parent: ball")
    Path("joint.yaml").write_text(joint)
    scenario = {"scenario": hostile["of_model"].read_text(), "scenario_file": str(tmp_path / "of_model.yaml")}
    drawn = {"drawn_model": joint} if stored == "drawn model" else {"drawn_model": None, "drawn_surroundings": None}
    source = told(recorded, tmp_path, **scenario, **drawn)
    for command in (["picture", str(source), "--out", "a.png"], ["replay", str(source), "--html", "a.html"]):
        result = CliRunner().invoke(app, command)
        assert not ran.exists()
        assert result.exit_code == 0 and Path(command[-1]).stat().st_size > 1000, result.output


def test_a_recording_is_drawn_from_what_it_stores(recorded, tmp_path):
    """Without the files of the run: bodies, seabed, surroundings are those of the run."""
    before, _ = _show.run_scene(recorded)
    moved = shutil.copytree(recorded, tmp_path / "run")
    hidden = recorded.parent / "ball.yaml"
    hidden.rename(hidden.with_suffix(".gone"))
    try:
        after, _ = _show.run_scene(moved)
    finally:
        hidden.with_suffix(".gone").rename(hidden)
    assert [s.name for s in after.solids] == [s.name for s in before.solids] and "terrain bed" in [s.name for s in after.solids]


def test_a_recording_whose_models_are_missing_is_drawn_as_boxes(recorded, tmp_path, capsys):
    text = "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: ./gone.yaml}}\n"
    source = told(recorded, tmp_path, scenario=text, scenario_file=str(tmp_path / "s.yaml"), drawn_model=None)
    scene, _ = _show.run_scene(source)
    assert [frame.name for frame in scene.frames] == ["ball"] and len(scene.solids) == 1
    assert "--model" in capsys.readouterr().err


def test_a_piloted_run_is_not_simulated_again_with_code_from_its_recording(recorded, tmp_path, hostile, ran):
    text = hostile["component"].read_text() + "blocks: {pilot: {type: 'hydromechs.station:Pilot', period: 0.05}}\n"
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    source = told(recorded, tmp_path, scenario=text, scenario_file=str(tmp_path / "s.yaml"))
    source.rename(folder.recording)
    folder.inputs.write_text('{"hydromechs_inputs": 1, "period": 0.05}\n{"end": 0.1}\n')
    result = CliRunner().invoke(app, ["pilot", "--again", str(folder.path)])
    assert isinstance(result.exception, hm.CodeNotAllowed) and not ran.exists(), result.exception
    CliRunner().invoke(app, ["pilot", "--again", str(folder.path), "--code"])
    assert ran.exists()
