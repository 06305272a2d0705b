"""`hydromechs convert` and `info` of robot descriptions of other programs."""

import hydromechs as hm

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
    assert "guessed" in out
