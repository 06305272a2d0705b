"""`hydromechs convert` and `info` of robot descriptions of other programs."""

import pytest

import hydromechs as hm
from hydromechs.errors import grouped

ROBOT = """<robot name="r">
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<gazebo/>
</robot>"""


def test_convert_writes_the_model_and_lists_the_notes(tmp_path, run):
    (tmp_path / "r.urdf").write_text(ROBOT)
    status, out, _ = run("convert", tmp_path / "r.urdf", tmp_path / "r.yaml", "--base", "fixed")
    assert status == 0
    assert "<gazebo>" in out
    assert "wrote" in out
    assert hm.load(tmp_path / "r.yaml").nv == 0
    assert "<gazebo>" in (tmp_path / "r.yaml").read_text()


def test_info_lists_the_notes(tmp_path, run):
    (tmp_path / "r.urdf").write_text(ROBOT)
    status, out, _ = run("info", tmp_path / "r.urdf")
    assert status == 0
    assert "assumed" in out


PENDULUM = """<mujoco model="pend"><worldbody><body name="rod">
<joint name="hinge" type="hinge" axis="0 1 0" armature="2" stiffness="50"/>
<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.1"/>
</body></worldbody><actuator><motor name="m" joint="hinge"/></actuator></mujoco>"""


def words(text):
    """A table of the terminal as plain words."""
    return " ".join(text.split())


@pytest.mark.parametrize("suffix", (".xml", ".yaml", ".sdf", ".urdf"))
def test_convert_lists_actuators_springs_and_armature_that_the_file_does_not_carry(tmp_path, run, suffix):
    (tmp_path / "pend.xml").write_text(PENDULUM)
    status, out, _ = run("convert", tmp_path / "pend.xml", tmp_path / f"new{suffix}")
    assert status == 0
    written = (tmp_path / f"new{suffix}").read_text()
    head = written.partition("-->")[0] if suffix != ".yaml" else "\n".join(s for s in written.splitlines() if s[:1] == "#")
    assert ("new_plant.yaml" in out) is (suffix == ".yaml")  # which has the drive
    for kind in ("JointSpring", "JointRotor", "Torque"):
        assert (kind in head) is (kind in out) is (suffix != ".yaml")
    assert "from pend.xml (MJCF)" in head
    again = hm.load(tmp_path / f"new{suffix}") if suffix == ".yaml" else hm.import_file(tmp_path / f"new{suffix}").model
    assert again.nv == 1


def test_convert_lists_hydrodynamics_that_the_writer_omits(tmp_path, run):
    """Of a library model and of a robot description that has them."""
    status, out, _ = run("convert", "bluerov2_heavy_alpha5", tmp_path / "rov.sdf")
    assert status == 0
    status, out, _ = run("convert", "bluerov2_heavy_alpha5", tmp_path / "rov.urdf")
    assert status == 0
    assert ": hydrodynamics" in words(out)
    status, out, _ = run("convert", tmp_path / "rov.sdf", tmp_path / "rov.xml")
    assert status == 0
    assert ": hydrodynamics" in words(out)
    assert "nothing was ignored" not in out


def test_convert_of_what_the_file_carries_lists_nothing(tmp_path, run):
    status, out, _ = run("convert", "bluerov2_heavy_alpha5", tmp_path / "rov.yaml")
    assert status == 0
    assert "ignored" not in out


def test_load_of_a_robot_warns_of_the_actuators_that_a_model_does_not_have(tmp_path):
    (tmp_path / "pend.xml").write_text(PENDULUM)
    with pytest.warns(UserWarning, match=r"actuators.* 1 JointSpring, 1 JointRotor, 1 Torque; .*components"):
        hm.load(tmp_path / "pend.xml")


@pytest.mark.parametrize("name", ("r.urdf", "link.urdf", "m.yaml"))
def test_convert_does_not_overwrite_its_source(tmp_path, run, name):
    (tmp_path / "r.urdf").write_text(ROBOT)
    (tmp_path / "link.urdf").symlink_to("r.urdf")
    hm.save(hm.load("puma560"), tmp_path / "m.yaml")
    before = (tmp_path / name).read_text()
    status, _, err = run("convert", tmp_path / ("m.yaml" if name == "m.yaml" else "r.urdf"), tmp_path / name)
    assert status == 1
    assert "is the source, which would be overwritten" in words(err)
    assert (tmp_path / name).read_text() == before


@pytest.mark.parametrize("taken", ("new.yaml", "new_plant.yaml", "new.urdf"))
def test_convert_replaces_files_with_force_only(tmp_path, run, taken):
    """Neither an edited model nor the file of actuators, whose name the user never wrote."""
    (tmp_path / "pend.xml").write_text(PENDULUM)
    (tmp_path / taken).write_text("mine")
    out = tmp_path / taken.replace("_plant", "")
    status, _, err = run("convert", tmp_path / "pend.xml", out)
    assert status == 1 and taken in words(err) and "--force" in words(err)
    assert (tmp_path / taken).read_text() == "mine"
    assert out.name == taken or not out.exists()  # nothing is written by halves
    status, _, _ = run("convert", tmp_path / "pend.xml", out, "--force")
    assert status == 0 and (tmp_path / taken).read_text() != "mine"


def test_convert_of_a_library_model_replaces_a_file_with_force_only(tmp_path, run):
    (tmp_path / "p.yaml").write_text("mine")
    status, _, err = run("convert", "puma560", tmp_path / "p.yaml")
    assert status == 1 and "--force" in words(err) and (tmp_path / "p.yaml").read_text() == "mine"
    status, _, _ = run("convert", "puma560", tmp_path / "p.yaml", "--force")
    assert status == 0 and hm.load(tmp_path / "p.yaml").nv == 6


def test_similar_notes_share_a_line():
    """They differ in numbers and quoted names only; others stay apart, in order."""
    texts = ["line 3: link 'a': mass 1e-3 kg; repaired", "no world", "line 12: link 'b': mass 0.5 kg; repaired"]
    assert grouped(texts) == [f"{texts[0]} (and 1 similar)", "no world"]
