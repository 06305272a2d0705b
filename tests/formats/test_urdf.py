"""URDF: what is read, what is noted, what is rejected, and that it agrees with Pinocchio's own reading."""

import math
import re
import warnings

import numpy as np
import pytest
from benchmarks.robot_study import ROBOTS

import hydromechs as hm
from hydromechs.actuation.drives import Drive
from hydromechs.formats import ImportOptions, convert_file, dumps_robot, import_file, loads_robot

ARM = (ROBOTS / "arm.urdf").read_text(encoding="utf-8")


def kinds(imported):
    return {(n.kind, n.element, n.line) for n in imported.notes}


@pytest.fixture(scope="module")
def arm():
    return loads_robot(ARM, "arm.urdf")


def test_bodies_joints_shapes_and_looks_are_those_of_the_file(arm):
    model = arm.model
    assert model.body_names == ("base", "upper", "slider", "wheel", "sled", "fish", "tip")
    assert model.world.axes == "ENU"
    assert [b.joint.kind for b in model.bodies] == ["free", "revolute", "prismatic", "revolute", "composite", "free", "fixed"]
    upper = model.bodies[1].joint
    assert (upper.limits, upper.damping, upper.friction) == ((-1.0, 2.0), 0.5, 0.1)
    box = hm.geometry.Box(size=(0.6, 0.4, 0.2))
    drawn = hm.BodyShape(name="box", shape=box, color=(0, 0, 1), opacity=0.5, roles=("appearance",))
    assert model.bodies[0].shapes[1:] == (drawn,)
    assert isinstance(model.bodies[0].shapes[0].shape, hm.geometry.Cylinder)
    assert model.bodies[0].shapes[0].roles == ("contact", "wetting")
    R = hm.Origin(rpy=(0.3, -0.2, 0.9)).R
    I = np.array([[0.4, 0.02, -0.01], [0.02, 0.5, 0.03], [-0.01, 0.03, 0.6]])
    xx, yy, zz, xy, xz, yz = model.bodies[0].inertia.tensor
    np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], R @ I @ R.T, atol=1e-15)


def test_what_is_not_there_as_the_file_says_is_noted_with_its_line(arm):
    found = kinds(arm)
    line = {word: next(i for i, text in enumerate(ARM.splitlines(), 1) if word in text) for word in ("<mimic", "<gazebo")}
    assert ("assumed", "link 'base'", 4) in found  # how the root moves
    assert ("ignored", "joint 'slide'", line["<mimic"]) in found  # the same line has limits without 0
    assert ("assumed", "joint 'slide'", line["<mimic"]) in found
    assert ("ignored", "robot", line["<gazebo"]) in found
    assert not any("velocity limit" in str(n) for n in arm.notes)
    assert arm.model.bodies[2].joint.position == 0.1
    assert arm.joint_bodies["shoulder"] == "upper"


def test_effort_and_velocity_limits_become_drives(arm):
    found = {c.joint: (c.limit, c.speed) for c in arm.components if isinstance(c, Drive)}
    assert found == {"upper": (30.0, 1.5), "slider": (100.0, math.inf)}
    alone = ARM.replace('effort="30" ', "")
    assert alone != ARM
    assert any("velocity limit 1.5 rad/s; ignored: the joint has no drive" in str(n) for n in loads_robot(alone).notes)


def test_accelerations_agree_with_pinocchios_own_reading(tmp_path):
    pytest.importorskip("pinocchio", reason="needs pip install 'hydromechs[pinocchio]'")
    from benchmarks.import_study import IMPORT_TOLERANCE, measure_imports

    (tmp_path / "arm.urdf").write_text(ARM)
    fixed = ARM.replace('<link name="base">', '<link name="world"/><link name="base">').replace(
        "<gazebo",
        '<joint name="w" type="fixed"><parent link="world"/><child link="base"/><origin rpy="1 0.5 0"/></joint><gazebo',
    )
    (tmp_path / "fixed.urdf").write_text(fixed)
    rows = list(measure_imports([tmp_path / "arm.urdf", tmp_path / "fixed.urdf"]))
    assert [row.dof for row in rows] == [18, 12]
    assert all(row.relative is not None and row.relative <= IMPORT_TOLERANCE for row in rows), rows


def test_written_and_read_again_it_moves_alike(arm):
    again = loads_robot(dumps_robot(arm.model, ".urdf"), "again.urdf").model
    rng = np.random.default_rng(2)
    by_name = {name: i for i, name in enumerate(again.body_names)}
    q, v = arm.model.neutral()
    q[3:7] = rng.standard_normal(4)
    q[3:7] /= np.linalg.norm(q[3:7])
    v = rng.standard_normal(arm.model.nv)
    tau = rng.standard_normal(arm.model.nv)
    qa, va, taua = np.zeros(again.nq), np.zeros(again.nv), np.zeros(again.nv)
    places = []
    for i, name in enumerate(arm.model.body_names):  # a planar joint is a row of three bodies there
        names = [name] if name != "sled" else ["sled_1", "sled_2", "sled"]
        places.append((i, [by_name[n] for n in names]))
    for i, js in places:
        iq = np.concatenate([np.arange(again.nq)[again.q_slices[j]] for j in js]).astype(int)
        iv = np.concatenate([np.arange(again.nv)[again.v_slices[j]] for j in js]).astype(int)
        qa[iq], va[iv], taua[iv] = q[arm.model.q_slices[i]], v[arm.model.v_slices[i]], tau[arm.model.v_slices[i]]
    a, aa = hm.forward_dynamics(arm.model, q, v, tau), hm.forward_dynamics(again, qa, va, taua)
    for i, js in places:
        iv = np.concatenate([np.arange(again.nv)[again.v_slices[j]] for j in js]).astype(int)
        np.testing.assert_allclose(aa[iv], a[arm.model.v_slices[i]], rtol=0, atol=1e-11 * np.abs(a).max())


@pytest.mark.parametrize("name", ["sinking_chain", "tiburon_titan2"])
def test_library_models_become_urdfs_that_report_what_they_lack(tmp_path, name):
    model = hm.load(name)
    file = tmp_path / "out.urdf"
    hm.save(model, file)
    assert "hydrodynamics" in file.read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = hm.load(file)
    assert again.nv == model.nv
    assert sum(b.inertia.mass for b in again.bodies) == pytest.approx(sum(b.inertia.mass for b in model.bodies), rel=1e-15)
    q, _ = model.neutral()
    qa, _ = again.neutral()
    last = model.bodies[-1].name
    R = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) if model.world.axes == "NED" else np.eye(3)
    there, back = hm.frame_pose(model, q, last), hm.frame_pose(again, qa, last)
    np.testing.assert_allclose(back[:3, 3], R @ there[:3, 3], atol=1e-12)


def robot(*parts, joint=""):
    return f'<robot name="r">\n{"".join(parts)}{joint}</robot>'


def link(name, inertial='<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'):
    return f'<link name="{name}">{f"<inertial>{inertial}</inertial>" if inertial else ""}</link>\n'


def joint(name, parent, child, kind="fixed", more=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>\n'


MESH = '<visual><geometry><mesh filename="package://p/none.stl"/></geometry></visual>'
SOLID = MESH.replace("visual", "collision")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (robot(link("a"), link("b")), 3, r"2 roots: 'a' \(line 2\), 'b' \(line 3\); connect"),
        (robot(link("a"), link("a")), 3, "link 'a' appears twice, first in line 2; rename"),
        (robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")), 5, "the child of two joints, 'j'"),
        (robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), 5, "form a loop"),
        (robot(link("a"), joint("j", "a", "x")), 3, "the child link 'x' does not exist; links are a"),
        (robot(link("a"), link("b"), joint("j", "a", "b", "hinge")), 4, "type is 'hinge', must be one of"),
        (robot(link("a"), link("b"), joint("j", "a", "b", "revolute", '<axis xyz="0 0 0"/>')), 4, "axis"),
        (robot(link("a", '<mass value="-2"/>')), 2, "mass is -2 kg, must be at least 0"),
        (robot(link("a", '<mass value="two"/>')), 2, "mass is 'two', must be a finite number"),
        (robot(link("a", '<mass value="${m}"/>')), 2, "must be a finite number; .*xacro"),
        (robot(link("a", '<origin xyz="1 2"/><mass value="2"/>')), 2, "origin xyz .* '1 2', must be 3 finite numbers"),
        (robot(), 1, "no <link>"),
        ("<robot name='x'>\n<link name='a'>", 2, "not XML"),
        (
            robot(link("a", "").replace("></link>", f">{SOLID}</link>")),
            2,
            "'package://p/none.stl' does not exist; .* placeholders=True",
        ),
        ("<thing/>", 1, "robot description"),
    ],
)
def test_errors_have_line_and_remedy(text, line, words):
    with pytest.raises(hm.ModelError, match=words) as error:
        loads_robot(text, "r.urdf")
    assert line in {fault.line for fault in error.value.faults}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # a tensor that no mass has: the nearest one is taken
        (
            robot(link("a", '<mass value="1"/><inertia ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"/>')),
            r"line 2: link 'a': principal moments of inertia \[1, 1, 5\].*repaired: .*\[2.5, 2.5, 5\]",
        ),
        (robot(link("a"), link("b", ""), joint("j", "a", "b", "continuous")), "joint 'j': .*moves no mass.*held fixed"),
        (robot(link("a", '<mass value="1"/>')), "link 'a': mass 1 kg with principal moments .* sphere of water"),
        (robot(link("a", '<mass value="0"/><inertia ixx="1" iyy="1" izz="1"/>')), "link 'a': mass 0 with the tensor"),
        (
            robot(link("a"), link("b"), joint("j", "a", "b", "revolute", '<limit lower="2" upper="1"/>')),
            "the joint has no stops",
        ),
        (
            robot(link("a", '<mass value="3000"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/>')),
            "denser than any metal.*kg",
        ),
    ],
)
def test_usual_sins_are_repaired_and_noted(text, words):
    imported = loads_robot(text, "r.urdf")
    assert any(re.search(words, str(note)) for note in imported.notes), imported.notes
    q, v = imported.model.neutral()
    assert np.isfinite(hm.forward_dynamics(imported.model, q, v, np.zeros(imported.model.nv))).all()


@pytest.mark.parametrize(("kind", "value"), [("revolute", 0.0), ("revolute", 0.4), ("prismatic", 0.4)])
def test_a_joint_with_equal_limits_is_held_there(kind, value):
    """RexROV has cameras on revolute joints with lower = upper = 0, which no simulator lets turn."""
    text = robot(
        link("a"),
        link("b"),
        joint("j", "a", "b", kind, f'<origin xyz="0 0 1" rpy="0.3 0 0"/><limit lower="{value}" upper="{value}" effort="5"/>'),
    )
    imported = loads_robot(text, "r.urdf")
    free = loads_robot(text.replace(f'lower="{value}"', 'lower="-1"').replace(f'upper="{value}"', 'upper="1"'), "r.urdf")
    assert imported.model.nv == 6 and free.model.nv == 7 and not imported.components
    there = hm.frame_pose(free.model, np.array([0, 0, 0, 1, 0, 0, 0, value]), "b")
    np.testing.assert_allclose(hm.frame_pose(imported.model, np.array([0, 0, 0, 1, 0, 0, 0]), "b"), there, atol=1e-15)
    assert any(n.element == "joint 'j'" and "held fixed" in n.done and f"{value:g}" in n.value for n in imported.notes)


def test_a_missing_visual_becomes_a_box_with_a_note_and_a_missing_shape_is_omitted_on_request_only(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(robot(link("a").replace("</link>", f"{MESH}{SOLID}</link>")))
    with pytest.raises(hm.ModelError, match="none.stl.*--package p=FOLDER.*--placeholders") as error:
        import_file(file)
    assert len(error.value.problems) == 1  # the shape's
    imported = import_file(file, placeholders=True)
    (shape,) = imported.model.bodies[0].shapes
    assert isinstance(shape.shape, hm.geometry.Box) and shape.roles == ("appearance",)
    assert sum("none.stl" in str(note) for note in imported.notes) == 2
    file.write_text(robot(link("a").replace("</link>", f"{MESH}</link>")))
    imported = import_file(file)
    assert isinstance(imported.model.bodies[0].shapes[0].shape, hm.geometry.Box)
    assert any("none.stl" in str(note) for note in imported.notes)
    dry, report = hm.add_water(imported.model)  # the size of the box is not that of the link
    assert dry.bodies[0].hydro is None and report.dry == ("a",)
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/none.stl").touch()
    found = import_file(file, packages={"p": str(tmp_path / "meshes")}).model.bodies[0].shapes[0]
    assert found.shape.file == str(tmp_path / "meshes/none.stl")


def test_converted_file_has_the_notes_and_relative_meshes(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/none.stl").touch()
    text = robot(link("a").replace("</link>", f"{MESH}</link>")).replace("package://p/", "")
    (tmp_path / "in/r.urdf").write_text(text)
    imported = convert_file(tmp_path / "in/r.urdf", tmp_path / "r.yaml")
    written = (tmp_path / "r.yaml").read_text()
    assert all(note.done in written for note in imported.notes)
    assert "in/none.stl" in written
    again = hm.load(tmp_path / "r.yaml")
    assert again.bodies[0].inertia == imported.model.bodies[0].inertia


def test_load_warns_how_much_is_not_as_it_stands(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    with pytest.warns(UserWarning, match=r"arm.urdf: \d+ ignored, 3 assumed; .*import_file"):
        model = hm.load(tmp_path / "arm.urdf")
    assert model.nv == 18


def test_base_is_as_the_caller_says():
    assert loads_robot(ARM, "arm.urdf").model.nv == 18
    held = loads_robot(ARM, "arm.urdf", options=ImportOptions(base="fixed"))
    assert held.model.nv == 12
    assert not any(n.element == "link 'base'" for n in held.notes)


def test_planar_joint_moves_across_its_axis():
    text = robot(link("a"), link("b"), joint("j", "a", "b", "planar", '<axis xyz="1 0 0"/>'))
    model = loads_robot(text, "r.urdf").model
    q, _ = model.neutral()
    q[7:] = 0.3, 0.4, math.pi / 2
    T = hm.frame_pose(model, q, "b")
    R, p = T[:3, :3], T[:3, 3]
    np.testing.assert_allclose(p, [0, 0.3, 0.4], atol=1e-15)
    np.testing.assert_allclose(R @ [0, 1, 0], [0, 0, 1], atol=1e-15)


def test_packages_beside_the_folders_above_must_report_that_they_are_packages(tmp_path):
    """`package://etc/x` would name any folder of the machine; a link out of the folder is no way out either."""
    (tmp_path / "robots" / "urdf").mkdir(parents=True)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "none.stl").write_bytes(b"")
    file = tmp_path / "robots" / "urdf" / "r.urdf"
    file.write_text(robot(link("a").replace("</link>", f"{SOLID}</link>")))
    with pytest.raises(hm.ModelError, match=r"must contain a package\.xml"):
        import_file(file)
    (file.parent / "p").symlink_to(tmp_path / "p")
    with pytest.raises(hm.ModelError, match=r"must contain a package\.xml"):
        import_file(file)
    (tmp_path / "p" / "package.xml").write_text("<package/>")
    assert import_file(file).model.bodies[0].shapes[0].shape.file == str((tmp_path / "p" / "none.stl").resolve())


def test_what_stands_twice_is_listed():
    text = robot(link("a", '<mass value="2"/><mass value="3"/>'))
    imported = loads_robot(text, "r.urdf")
    assert imported.model.bodies[0].inertia.mass == 2.0
    assert any("a second <mass> value='3'; ignored" in str(n) for n in imported.notes)


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".xml"])
def test_details_that_no_format_carries_stand_in_the_first_comment(suffix):
    """Sources, roles of looks, rounding; of a URDF with a free root also where it starts."""
    look = hm.BodyShape(shape=hm.geometry.Box(size=(1, 1, 1), rounding=0.1), style="frame", roles=("appearance",))
    inertia = hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0))
    body = hm.Body(name="a", joint=hm.joints.Free(position=(0, 0, 2)), inertia=inertia, shapes=[look])
    model = hm.Model(name="m", bodies=[body], world=hm.World(axes="ENU"), sources={"a.inertia": "a guess"})
    head = dumps_robot(model, suffix).partition("-->")[0]
    for words in ("sources", "styles of the shapes (frame)", "rounding"):
        assert words in head
    assert suffix != ".urdf" or "starts at (0.0, 0.0, 2.0" in head


@pytest.mark.parametrize("parent", [lambda i: 0, lambda i: i - 1], ids=["star", "chain"])
def test_point_masses_are_repaired_together(parent, monkeypatch):
    """The model was built again after each repaired joint: minutes for 2,000 links."""
    built = []
    monkeypatch.setattr("hydromechs.formats._robot_parts.Model", lambda **given: built.append(1) or hm.Model(**given))
    points = "".join(
        f"""<link name="l{i}"><inertial><mass value="1"/></inertial></link><joint name="j{i}" type="continuous">
        <parent link="l{parent(i)}"/><child link="l{i}"/></joint>"""
        for i in range(1, 30)
    )
    inertia = '<inertia ixx="1" iyy="1" izz="1"/>'
    text = f'<robot name="r"><link name="l0"><inertial><mass value="1"/>{inertia}</inertial></link>{points}</robot>'
    notes = [str(note) for note in loads_robot(text).notes]
    assert len(built) == 2 and sum("sphere of water" in note for note in notes) == 29
