"""Files that include or name others: the total of one load is limited, whatever the format, and its errors are few."""

import time
import tracemalloc

import numpy as np
import pytest
import trimesh

import hydromechs as hm
from hydromechs import files
from hydromechs.formats import load_scenario_file
from hydromechs.geometry import read_mesh
from hydromechs.values import closest, nearest
from hydromechs.viewer import drawing_notes

HULL = """
hydromechs_model: 2
name: hull
bodies:
  hull: {joint: free, inertia: {mass: 10, tensor: [1, 1, 1, 0, 0, 0]}, hydro: {volume: 0.01}}
"""
SCENARIO = "hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\n"
PART = {
    "sdf": "<sdf version='1.9'><model name='p'><link name='a'/>{}</model></sdf>".format("<unknown name='x'/>" * 300),
    "mjcf": "<mujoco><asset>{}</asset></mujoco>".format("<texture name='x'/>" * 300),
}


def text_of(kind, count):
    """A file that includes others."""
    if kind == "sdf":
        parts = "".join(f"<include><uri>part{k}</uri><name>p{k}</name></include>" for k in range(count))
        return f"<sdf version='1.9'><world name='w'>{parts}</world></sdf>"
    parts = "".join(f"<include file='part{k}'/>" for k in range(count))
    return f"<mujoco>{parts}<worldbody><body><geom size='1'/></body></worldbody></mujoco>"


@pytest.fixture
def included(request, tmp_path):
    """Files that include `count` others with 300 elements each, of a format."""
    for k in range(20):
        (tmp_path / f"part{k}").write_text(PART[request.param])
    paths = {}
    for count in (1, 20):
        paths[count] = tmp_path / f"robot{count}.{'sdf' if request.param == 'sdf' else 'xml'}"
        paths[count].write_text(text_of(request.param, count))
    return paths


@pytest.mark.parametrize("included", PART, indirect=True)
@pytest.mark.parametrize(("what", "limit"), [("values", 10_000), ("bytes", 60_000), ("files", 10)])
def test_included_files_share_one_limit(included, monkeypatch, what, limit):
    """Each file is far below the limit, all of them together are above it."""
    monkeypatch.setitem(files.LIMITS, what, limit)
    hm.import_file(included[1])
    with pytest.raises(hm.ModelError, match=f"more than {limit} {what}"):
        hm.import_file(included[20])
    hm.import_file(included[1])  # a new load begins at zero


def test_forty_includes_of_a_file_of_two_megabytes(tmp_path):
    (tmp_path / "part").write_text(PART["sdf"].replace("<unknown name='x'/>", "<unknown name='x'/>" * 340))
    text = "".join(f"<include><uri>part</uri><name>p{k}</name></include>" for k in range(40))
    (tmp_path / "w.sdf").write_text(f"<sdf version='1.9'><world name='w'>{text}</world></sdf>")
    assert (tmp_path / "part").stat().st_size > 1.9e6
    before = time.process_time()
    tracemalloc.start()
    with pytest.raises(hm.ModelError, match="values"):
        hm.import_file(tmp_path / "w.sdf")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6 and time.process_time() - before < 30.0


def test_models_of_a_scenario_share_one_limit(tmp_path, monkeypatch):
    for k in range(20):
        (tmp_path / f"hull{k}.yaml").write_text(HULL)
    for count in (1, 20):
        models = ", ".join(f"m{k}: {{model: ./hull{k}.yaml, position: [0, 0, {9 * k}]}}" for k in range(count))
        (tmp_path / f"s{count}.yaml").write_text(f"{SCENARIO}models: {{{models}}}\n")
    monkeypatch.setitem(files.LIMITS, "values", 300)
    load_scenario_file(tmp_path / "s1.yaml")
    with pytest.raises(hm.ScenarioError, match="more than 300 values"):
        load_scenario_file(tmp_path / "s20.yaml")


@pytest.mark.parametrize("kind", ["itself", "a circle", "deep"])
def test_a_vehicle_is_not_its_own_vehicle(tmp_path, kind):
    """A file that names itself once would never end; one that names others twice would double at each level."""
    for k in range(12):
        to = {"itself": k, "a circle": (k + 1) % 3, "deep": k + 1}[kind]
        models = ", ".join(f"m{j}: {{plant: ./p{to}.yaml}}" for j in range(1 if kind == "itself" else 2))
        (tmp_path / f"p{k}.yaml").write_text(f"{SCENARIO}models: {{{models}}}\n")
    with pytest.raises(hm.ScenarioError, match="refers to the file itself"):
        load_scenario_file(tmp_path / "p0.yaml")


def test_meshes_of_a_drawing_share_one_limit(tmp_path, monkeypatch):
    """Each is a small file; what is beyond the limit is a grey box with a note, and the run continues."""
    for k in range(5):
        trimesh.creation.box().export(tmp_path / f"m{k}.glb")
    shapes = ", ".join(f"s{k}: {{type: mesh, file: m{k}.glb}}" for k in range(5))
    (tmp_path / "m.yaml").write_text(HULL.replace("hydro:", f"shapes: {{{shapes}}}, hydro:"))
    model = hm.load(tmp_path / "m.yaml")
    assert not drawing_notes(model)
    monkeypatch.setitem(files.LIMITS, "vertices", 150)
    notes = drawing_notes(model)
    assert 0 < len(notes) < 5 and all("more than 150 vertices" in note and "grey box" in note for note in notes)
    read_mesh(tmp_path / "m4.glb")


@pytest.mark.parametrize("count", [3, 3000])
def test_a_file_full_of_errors_is_rejected_soon(tmp_path, count):
    links = "".join(f"<link name='l{k}'><pose>x</pose></link>" for k in range(count))
    (tmp_path / "r.sdf").write_text(f"<sdf version='1.9'><model name='m'>{links}</model></sdf>")
    with pytest.raises(hm.ModelError, match="pose") as error:
        hm.import_file(tmp_path / "r.sdf")
    assert len(error.value.problems) == min(count, 200)


BIG = "0x" + 2000 * "f"


@pytest.mark.parametrize(("value", "limit"), [("round(1, -10**9)", "digits"), (f"lcm({BIG}, {BIG} - 1)", "bits")])
def test_functions_of_xacro_return_limited_integers(tmp_path, value, limit):
    pytest.importorskip("xacro", reason="needs pip install 'hydromechs[xacro]'")
    link = f'<link name="l${{{value}}}"/>'
    (tmp_path / "r.xacro").write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{link}</robot>')
    with pytest.raises(hm.ModelError, match=f"{limit} exceeds the limit"):
        hm.import_file(tmp_path / "r.xacro")


def test_frames_on_frames_are_followed_to_a_depth(tmp_path):
    frames = "".join(f"<frame name='f{k}' attached_to='{f'f{k - 1}' if k else 'a'}'/>" for k in range(3000))
    (tmp_path / "r.sdf").write_text(f"<sdf version='1.9'><model name='m'><link name='a'/>{frames}</model></sdf>")
    with pytest.raises(hm.ModelError, match="more than 100 frames"):
        hm.import_file(tmp_path / "r.sdf")


def test_the_nearest_name_is_found_soon():
    """The comparison of two long names, and of many names, takes quadratic time."""
    rng = np.random.default_rng(3)
    long = ["".join(rng.choice(list("ab"), 100_000)) for _ in range(3)]
    before = time.process_time()
    assert closest(long[0], long[1:]) == [] and closest("hul", ["hull", *long]) == ["hull"]
    for k in range(200):
        nearest(f"position{k}", [f"position{j}_" for j in range(100_000)])
    assert time.process_time() - before < 20.0


@pytest.mark.parametrize("shape", [hm.geometry.Box(size=(1.0, 1.0, 1.0)), hm.geometry.Cylinder(radius=0.1, length=400.0)])
def test_ripples_on_a_hull_ask_for_no_million_strips(shape):
    """A wave of 16 mm on a cube of 1 m has 16 million strips; the body, the wave and the fix are named before any is made."""
    inertia = hm.Inertia(mass=1000.0, tensor=(100, 100, 100, 0, 0, 0))
    body = hm.Body(name="hull", joint=hm.joints.Free(), inertia=inertia, hydro=hm.Hydro(volume=1.0), shapes=(shape,))
    waves = hm.Environment(waves=[hm.hydro.RegularWave(height=0.001, period=0.1)])
    with pytest.raises(ValueError, match=r"body 'hull': waves of 0.0156 m require \d+ strips.*longer waves"):
        hm.Simulation(hm.Model(name="ripples", bodies=[body]), environment=waves, step=0.01).run(0.01)
