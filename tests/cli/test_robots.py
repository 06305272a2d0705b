"""Robot descriptions on the command line: what matters is said first, and the advice that is given can be followed."""

import subprocess
import sys

import pytest

LINK = '<link name="hull"><inertial><mass value="8"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>'
SHAPE = '<collision><geometry><mesh filename="package://parts/hull.obj"/></geometry></collision>'
MODEL = """<sdf version="1.9"><model name="rov"><link name="hull"><inertial><mass>20</mass></inertial>
  <collision name="c"><geometry><box><size>0.5 0.4 0.1</size></box></geometry></collision></link>
  <plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics"><link_name>hull</link_name>
    <xU>-2</xU><xUabsU>-6</xUabsU></plugin></model></sdf>"""
WORLD = '<sdf version="1.9"><world name="sea">{}<include><uri>model://rov</uri></include></world></sdf>'
ROCK = """<model name="rock"><static>true</static><link name="stone"><inertial><mass>1e5</mass></inertial>
  <visual name="v"><geometry><box><size>500 500 20</size></box></geometry></visual></link></model>"""


@pytest.fixture
def files(tmp_path):
    """A robot with a mesh in a package elsewhere, a vehicle of Gazebo, and worlds that include it."""
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{LINK.format(SHAPE)}</robot>')
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "hull.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "rov.sdf").write_text(MODEL)
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "sea.world").write_text(WORLD.format(""))
    (tmp_path / "worlds" / "rocks.world").write_text(WORLD.format(ROCK))
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*import_file:UserWarning")
@pytest.mark.parametrize(
    "command",
    [
        ("info", "FILE"),
        ("check", "FILE"),
        ("convert", "FILE", "OUT/new.yaml", "--force"),
        ("picture", "FILE", "--out", "OUT/new.png"),
        ("count", "FILE"),
        ("export", "FILE", "--out", "OUT/c"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_takes_the_options_that_it_advises(run, files, command):
    words = [w.replace("FILE", str(files / "robot.urdf")).replace("OUT", str(files)) for w in command]
    status, _, errors = run(*words)
    assert status == 1 and "--package parts=FOLDER" in errors and "--placeholders" in errors
    for options in (("--package", f"parts={files / 'far'}"), ("--placeholders",)):
        status, _, errors = run(*words, *options)
        assert status == 0, errors


def first_lines(text, word):
    """The lines of a text before the first that has a word."""
    return text.partition(word)[0]


def test_what_matters_comes_first(run, files):
    """A hull with drag that sinks; a robot without inertia."""
    status, text, _ = run("info", files / "rov.sdf")
    assert status == 0 and "no buoyancy" in first_lines(text, "parent") and "hull" in first_lines(text, "parent")
    status, text, _ = run("info", files / "rov.sdf", "--water")
    assert status == 0 and "no buoyancy" not in text
    empty = files / "empty.urdf"
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    empty.write_text(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    status, text, _ = run("info", empty)
    assert status == 0 and "nothing moves" in first_lines(text, "parent") and "<inertial>" in first_lines(text, "parent")
    _, _, errors = run("check", empty)
    assert "nothing moves" in errors
    _, text, _ = run("convert", empty, files / "empty.yaml")
    assert "nothing moves" in text


def test_a_world_reports_which_of_its_models_are_missing(run, files):
    status, _, errors = run("info", files / "worlds" / "sea.world")
    assert status == 1 and "'model://rov'" in errors and "missing" in errors and "--package rov=FOLDER" in errors
    status, text, _ = run("info", files / "worlds" / "rocks.world")
    assert status == 0 and "'model://rov'" in first_lines(text, "parent")
    (files / "models" / "rov").mkdir(parents=True)
    (files / "models" / "rov" / "model.sdf").write_text(MODEL)
    (files / "models" / "rov" / "model.config").write_text("<model/>")
    status, text, _ = run("info", files / "worlds" / "rocks.world")  # found beside the world, as Gazebo's packages lie
    assert status == 0 and "missing" not in text and "rov::hull" in text
    assert "20 kg" in text.replace("  ", " ")  # the rock has no part in the balance


MISSION = "hydromechs_scenario: 2\nname: s\nmodels: {{m: {{{}}}}}\n{}run: {{duration: 0.1}}\n"
BED = "terrain: {bed: {type: plane, material: sand, point: [0, 0, -9], normal: [0, 0, 1]}}\n"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("bed", ["", BED], ids=["midwater", "bed"])
@pytest.mark.parametrize("key", ["model", "plant"])
def test_check_warns_of_a_hull_without_buoyancy(run, files, key, bed):
    """Gazebo's usual split: drag in the file of the robot, buoyancy in that of the world."""
    (files / "s.yaml").write_text(MISSION.format(f"{key}: ./rov.sdf", bed))
    for file in ("rov.sdf", "s.yaml"):
        status, _, errors = run("check", files / file)
        assert status == 0 and "no buoyancy: body 'hull'" in errors and "196 N" in errors and "hm.add_water" in errors
    assert "import_file" in errors  # the notes of the import


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_run_and_check_warn_of_a_dry_robot_that_nothing_carries(run, files):
    """A dry machine on terrain may be meant, as the walkers of the library are."""
    (files / "dry.urdf").write_text(f'<robot name="r">{LINK.format("")}</robot>')
    (files / "s.yaml").write_text(MISSION.format("model: ./dry.urdf", ""))
    status, text, _ = run("run", files / "s.yaml", "--no-pictures", "--out", files / "out")
    assert status == 0 and "no buoyancy: body 'hull'" in " ".join(text.split())
    _, _, errors = run("check", files / "dry.urdf")
    assert "no buoyancy: body 'hull'" in errors
    _, _, errors = run("check", "hexapod_walk")
    assert "no buoyancy" not in errors


def test_warnings_have_no_lines_of_our_code(files):
    """In a process of its own, since pytest records warnings."""
    (files / "dry.urdf").write_text(f'<robot name="r">{LINK.format("")}</robot>')
    command = [sys.executable, "-m", "hydromechs.cli", "count", str(files / "dry.urdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "warning: " in done.stderr and "dry.urdf" in done.stderr
    assert ".py:" not in done.stderr and "load(" not in done.stderr
