"""Code that files name: run with --code or code=True, and by nothing else."""

import contextlib
import importlib
import inspect
import json
import pickle
import pkgutil
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import browser, files, formats, geometry, learning, recording, scenario, station, sweeps
from hydromechs.cli import _pilot, _show
from hydromechs.cli._main import app
from hydromechs.formats import load_file, load_scenario_file
from hydromechs.identification import validation
from hydromechs.model.flexible import ModalLink
from hydromechs.recording import RunFolder

from .conftest import SCENARIO, hostile_files


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
    "controller": lambda file, **code: hm.load_scenario(file, **code).simulation(),
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


@pytest.mark.parametrize(
    "section",
    [
        "components: {x: {type: 'hydromechs.actuation.drives:Drive', joint: link_3}}",
        "components: {x: {type: 'hydromechs.contact._touching:Touching'}}",
        "blocks: {x: {type: 'hydromechs.simulation._controller:FunctionController', function: x}}",
    ],
)
def test_classes_of_the_package_that_a_file_cannot_make(section):
    text = "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
    with pytest.raises(hm.ScenarioError, match=r"\.x"):
        hm.formats.loads_scenario(f"{text}{section}\n", library=hm.load)


def test_classes_of_the_package_need_no_permission(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: sinking_chain}}\n"
        "components: {external.link_1: {type: 'hydromechs.actuation:ExternalWrench', body: link_1}}\n"
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
        "inertia: {mass: 5, tensor: [1, 1, 1, 0, 0, 0]}, shapes: {hull: {type: sphere, radius: 0.1}, "
        "dome: {type: mesh, file: dome.stl, color: [1, 0, 0], roles: [appearance]}}}\n"
    )
    trimesh.creation.icosphere(subdivisions=1).export(folder / "dome.stl")
    scenario.write_text(
        "hydromechs_scenario: 2\nname: sinks\nrun: {duration: 0.2}\nmodels: {m: {model: ./ball.yaml}}\n"
        "terrain: {bed: {type: plane, material: sand, point: [0, 0, 9], normal: [0, 0, -1]}}\n"
    )
    result = CliRunner().invoke(app, ["run", str(scenario), "--out", str(folder / "run"), "--no-pictures"])
    assert result.exit_code == 0, result.output
    return folder / "run"


def told(recorded, tmp_path, **attrs):
    """A copy of the run whose recording has other attributes; those that are None are omitted."""
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


HEIGHTS = "terrain: {{x: {{type: heights, file: {0}, x: [0, 9], y: [0, 9], material: sand}}}}\n"
POLICY = "blocks: {{x: {{type: policy, file: {0}, period: 0.1, observation: [depth], actions: [x]}}}}\n"


@pytest.mark.filterwarnings("ignore::hydromechs.viewer.DrawingWarning")
@pytest.mark.parametrize(
    ("name", "key", "old", "new"),
    [
        ("secret.stl", "drawn_model", "{old}", "{0}"),
        ("secret.yaml", "drawn_surroundings", "model: recorded", "model: {0}"),
        ("secret.csv", "drawn_surroundings", "terrain:", HEIGHTS + "old:"),
        ("secret.npz", "drawn_surroundings", "run:", POLICY + "run:"),
        ("dome.stl", "drawn_model", "{old}", "{0}"),
    ],
)
def test_drawing_reads_no_file_that_a_recording_names(recorded, tmp_path, monkeypatch, name, key, old, new):
    """Except a mesh of the run, wherever it is: a page drawn from a recording must not contain other files of the user."""
    mesh, secret = recorded.parent / "dome.stl", tmp_path / name
    trimesh.creation.icosahedron().export(secret, file_type="stl")
    if name == mesh.name:
        shutil.copy(mesh, secret)
    stored = hm.load_recording(recorded).attrs[key]
    assert old.format(old=mesh) in stored
    source = told(recorded, tmp_path, **{key: stored.replace(old.format(old=mesh), new.format(secret))})
    read, before = [], files.read_bytes
    monkeypatch.setattr(files, "read_bytes", lambda path, *limit: (before(path, *limit), read.append(str(path)))[0])
    scene, _ = _show.run_scene(source)
    triangles = {len(solid.triangles.faces) for solid in scene.solids}
    assert (str(secret) in read, 80 in triangles, 20 in triangles) == (name == mesh.name, name == mesh.name, False)


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


# -- every public reader ------------------------------------------------------------------------------------------------


class Pickled:
    """Writes the marker when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def campaign_of(folder):
    """A campaign of a world, whose source and text name code; its scenario has none."""
    plain = formats.loads_scenario(SCENARIO, folder=folder)
    hostile = folder / "component.yaml"
    return sweeps.MissionCampaign(scenario=plain, worlds=1, source=str(hostile), text=hostile.read_text())


def pickled_campaign(folder, ran):
    """Write the folder of the campaign, with a pickled object in its chunk."""
    sweeps.run_campaign(campaign_of(folder), folder / "campaign", threads=1)
    (chunk,) = (folder / "campaign").glob("worlds-*.npz")
    with np.load(chunk) as stored:
        np.savez(chunk, **{**stored, "message": np.array([Pickled(ran)], dtype=object)})


@pytest.fixture(scope="module")
def folder(recorded, tmp_path_factory):
    """A folder with files and folders of every kind that is read, each with code where it can name or hold some."""
    folder = tmp_path_factory.mktemp("artefacts")
    ran, hostile = folder / "ran", hostile_files(folder, folder / "ran")
    texts = {key: (folder / file).read_text() for key, file in hostile.items()}
    scenario = {"scenario": texts["component"], "scenario_file": str(folder / "component.yaml")}
    store = told(recorded, folder, **scenario, drawn_model=texts["joint"])
    run = RunFolder(shutil.copytree(recorded, folder / "run"))
    shutil.rmtree(run.recording)
    shutil.copytree(store, run.recording)
    run.inputs.write_text('{"hydromechs_inputs": 1, "period": 0.05}\n{"end": 0.1}\n')
    state = json.loads(run.state.read_text()) | {"scenario": texts["component"], "code": "evil.py:Ballast"}
    (folder / "state.json").write_text(json.dumps(state))
    attrs = shutil.copytree(store, folder / "results.zarr") / ".zattrs"
    attrs.write_text(json.dumps(json.loads(attrs.read_text()) | {"hydromechs_sweep": 2, "study": "st", "parameters": []}))
    pickled_campaign(folder, ran)
    np.save(folder / "grid.npy", np.array([Pickled(ran)], dtype=object), allow_pickle=True)
    np.savez(folder / "grid.npz", x=np.array([Pickled(ran)], dtype=object))
    for name in ("mesh.stl", "table.csv", "log.mcap", "log.bag", "points.xyz"):
        (folder / name).write_bytes(pickle.dumps(Pickled(ran)))
    plugin = '<plugin filename="evil.py" name="evil:Ballast"/>'
    mesh = '<link name="a"><visual><geometry><mesh filename="evil.py"/></geometry></visual></link>'
    python = f"${{open('{ran}', 'w')}}"
    robots = {
        "robot.xacro": f'<robot name="{python}" xmlns:xacro="http://ros.org/wiki/xacro">{mesh}</robot>',
        "robot.urdf": f'<robot name="r">{mesh}</robot>',
        "robot.sdf": f'<sdf version="1.7"><model name="m">{plugin}<link name="a"/></model></sdf>',
        "robot.xml": f'<mujoco><extension>{plugin}</extension><worldbody><body name="a"/></worldbody></mujoco>',
        "robot.dm": 'Articulation { Name "evil.py:Rail" }',
    }
    for name, text in robots.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def artefacts(folder, monkeypatch):
    """The files and folders, in the current folder."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    return [path for path in sorted(folder.iterdir()) if path.name not in ("again", "converted.yaml", "swept")]


ENDS = ((0.0, 1.0), (0.0, 1.0))


def study_of(path):
    return validation.load_validation_study(path)


PUBLIC = {
    "hydromechs.add_water": lambda p: hm.add_water(hm.load("puma560"), folder=p.parent, meshes={"hull": p}),
    "hydromechs.import_file": hm.import_file,
    "hydromechs.load": hm.load,
    "hydromechs.load_plant": hm.load_plant,
    "hydromechs.load_recording": hm.load_recording,
    "hydromechs.load_scenario": hm.load_scenario,
    "hydromechs.load_state": hm.load_state,
    "hydromechs.actuation.motions.recorded_file": lambda p: hm.motions.recorded_file(str(p), "t", "q"),
    "hydromechs.control.Policy": lambda p: hm.control.Policy(file=str(p), period=0.1, observation=("depth",), actions=("x",)),
    "hydromechs.browser.fly_again": browser.fly_again,
    "hydromechs.files.digest": files.digest,
    "hydromechs.files.open_file": lambda p: files.open_file(p).close(),
    "hydromechs.files.read_bytes": files.read_bytes,
    "hydromechs.files.read_json": files.read_json,
    "hydromechs.files.read_text": files.read_text,
    "hydromechs.files.require_file": files.require_file,
    "hydromechs.formats.convert_file": lambda p: formats.convert_file(p, p.parent / "converted.yaml"),
    "hydromechs.formats.is_robot_file": formats.is_robot_file,
    "hydromechs.formats.is_scenario_file": formats.is_scenario_file,
    "hydromechs.formats.load_file": formats.load_file,
    "hydromechs.formats.load_scenario_file": formats.load_scenario_file,
    "hydromechs.formats.loads": lambda p: formats.loads(p.read_text(), folder=p.parent),
    "hydromechs.formats.loads_robot": lambda p: formats.loads_robot(p.read_text(), p.suffix, folder=p.parent),
    "hydromechs.formats.loads_scenario": lambda p: formats.loads_scenario(p.read_text(), folder=p.parent),
    "hydromechs.formats.read_document": lambda p: formats.read_document(p, "model", hm.ModelError),
    "hydromechs.formats.scenario_text": formats.scenario_text,
    "hydromechs.geometry.Mesh": lambda p: geometry.Mesh(file=str(p)).surface,
    "hydromechs.geometry.height_field": lambda p: geometry.height_field(x=(0.0, 1.0), y=(0.0, 1.0), file=str(p)),
    "hydromechs.geometry.read_heights": lambda p: geometry.read_heights(p, ENDS),
    "hydromechs.geometry.read_mesh": geometry.read_mesh,
    "hydromechs.geometry.read_triangles": geometry.read_triangles,
    "hydromechs.identification.validation.compare_variants": lambda p: validation.compare_variants(study_of(p), p.parent),
    "hydromechs.identification.validation.load_validation_study": study_of,
    "hydromechs.identification.validation.read_campaign": lambda p: validation.read_campaign(study_of(p), p.parent),
    "hydromechs.identification.validation.read_log": validation.read_log,
    "hydromechs.identification.validation.validate": lambda p: validation.validate(study_of(p), p.parent, workers=1),
    "hydromechs.learning.Arena": lambda p: learning.Arena(learning.StationKeeping(), p, 1, period=0.1, duration=1.0),
    "hydromechs.learning.WorldEnv": lambda p: learning.WorldEnv(learning.StationKeeping(), p),
    "hydromechs.learning.WorldsVectorEnv": lambda p: learning.WorldsVectorEnv(learning.StationKeeping(), 1, p),
    "hydromechs.learning.mission": learning.mission,
    "hydromechs.model.flexible.ModalLink": lambda p: ModalLink(file=str(p), frequencies=(1.0,)).table(),
    "hydromechs.recording.check_store": recording.check_store,
    "hydromechs.scenario.SavedState.read": scenario.SavedState.read,
    "hydromechs.scenario.run_scenario": lambda p: scenario.run_scenario(hm.load_scenario(p), p.parent / "again", resume=p),
    "hydromechs.station.RecordedInputs": station.RecordedInputs,
    "hydromechs.station.fly_again": lambda p: station.fly_again(_pilot.catalog(), p, p.parent / "again"),
    "hydromechs.sweeps.CampaignResults": lambda p: sweeps.CampaignResults(p, None).about,
    "hydromechs.sweeps.load_campaign": sweeps.load_campaign,
    "hydromechs.sweeps.load_results": sweeps.load_results,
    "hydromechs.sweeps.load_sweep": sweeps.load_sweep,
    "hydromechs.sweeps.run_campaign": lambda p: sweeps.run_campaign(campaign_of(p.parent), p, threads=1),
    "hydromechs.sweeps.run_sweep": lambda p: sweeps.run_sweep(sweeps.load_sweep(p), p.parent / "swept"),
}
"""Every public function that reads a file or folder, of a path."""
OTHERS = {
    "hydromechs.bench": {"plot_lift"},
    "hydromechs.browser": {"write_page"},
    "hydromechs.compiler": {"Backend.check_command"},
    "hydromechs.equations": {"export_source"},
    "hydromechs.files": {"open_lock", "remove", "replacing", "write_bytes", "write_json", "write_text"},
    "hydromechs.formats": {"Note", "check_target", "dumps", "dumps_scenario", "reject_options", "with_relative_meshes"},
    "hydromechs.identification.validation": {"write_validation"},
    "hydromechs.library": {"scenario_file", "sweep_file"},
    "hydromechs.projects": {"create_project"},
    "hydromechs.recording": {"RecordingWriter", "RunFolder", "RunFolder.numbered", "lock_folder", "unlock_folder"},
    "hydromechs.registry": {"Reader", "Writer", "reference_to"},
    "hydromechs.scenario": {"Checkpoints", "SavedState", "recording_attrs"},
    "hydromechs.station": {"Configured", "InputLog", "Session", "Station"},
    "hydromechs.sweeps": {"SweepResult"},
    "hydromechs": {"Simulation.begin", "Simulation.run", "save", "save_recording", "save_scenario", "save_state"},
}
"""Public functions that take a path and read nothing there; all of `hydromechs.viewer` writes."""


def public_functions():
    """Yield the name of every public function, constructor and method that takes a path, where it is first exported."""
    seen = set()
    modules = [m.name for m in pkgutil.walk_packages(hm.__path__, "hydromechs.") if "._" not in m.name and "__" not in m.name]
    for module in map(importlib.import_module, ["hydromechs", *modules]):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            found = {name: thing} if inspect.isfunction(thing) else {}
            if inspect.isclass(thing):
                found = {f"{name}.{k}": getattr(thing, k) for k in vars(thing) if not k.startswith("_")} | {
                    name: thing.__init__
                }
            for full, function in found.items():
                hints = getattr(function, "__annotations__", {}).items()
                # files that the compiler's functions take are those that they write
                takes = any(
                    re.search(r"PathLike|\bPath\b|\bSource\b", str(x)) or (key == "file" and "compiler" not in module.__name__)
                    for key, x in hints
                    if key != "return"
                )
                if takes and function not in seen and "dynamics" not in module.__name__:  # a Path of joints there
                    seen.add(function)
                    yield f"{module.__name__}.{full}"


def test_the_table_has_every_public_reader():
    others = {f"{module}.{name}" for module, names in OTHERS.items() for name in names}
    found = {name for name in public_functions() if not name.startswith("hydromechs.viewer.")}
    assert sorted(found ^ (set(PUBLIC) | others)) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_public_readers_run_no_code(name, artefacts):
    for path in artefacts:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PUBLIC[name](path)
        assert not Path("ran").exists(), path


def test_the_artefacts_are_hostile(artefacts, monkeypatch):
    """They run their code where it is allowed to, or by a reader that is not careful."""
    ran = Path("ran")
    for careless in (
        lambda: hm.load("./joint.yaml", code=True),
        lambda: np.load("grid.npy", allow_pickle=True),
        lambda: pickle.loads(Path("mesh.stl").read_bytes()),
    ):
        for module in [m for m in sys.modules if m.startswith("hydromechs_code_")]:
            monkeypatch.delitem(sys.modules, module)  # other tests have classes of theirs
        careless()
        assert ran.exists()
        ran.unlink()
