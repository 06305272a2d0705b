"""Xacro files: expanded by the package xacro, without running what a hostile file asks for."""

import builtins
import math

import pytest

import hydromechs as hm
from hydromechs.formats import _xacro, import_file
from hydromechs.formats._xacro import _literal

LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
ROBOT = f"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts)/urdf/links.xacro"/>
  <xacro:arg name="joints" default="2"/>
  <xacro:property name="sizes" value="${{xacro.load_yaml('sizes.yaml')}}"/>
  <xacro:property name="tilt" value="${{-pi/2 if sizes['up'] else radians(30)}}"/>
  {LINK.format(name="base", mass="${sizes['mass'] * 2**2 + 1}")}
  <xacro:rows prefix="link" n="$(arg joints)"/>
</robot>"""
MACROS = f"""<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="rows" params="prefix n">
  <xacro:if value="${{n > 0}}">
    {LINK.format(name="${prefix}_${n}", mass="0.5")}
    <joint name="j${{n}}" type="continuous"><parent link="base"/><child link="${{prefix}}_${{n}}"/>
      <origin xyz="0 0 ${{0.1 * n}}" rpy="${{tilt}} 0 0"/></joint>
    <xacro:rows prefix="${{prefix}}" n="${{n - 1}}"/>
  </xacro:if></xacro:macro></robot>"""


@pytest.fixture
def robot(tmp_path):
    """Write a robot of two packages; its path."""
    pytest.importorskip("xacro", reason="xacro is an extra: pip install 'hydromechs[xacro]'")
    for folder in ("parts/urdf", "arm/urdf"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder.split("/")[0] / "package.xml").write_text("<package/>")
    (tmp_path / "parts/urdf/links.xacro").write_text(MACROS)
    (tmp_path / "arm/urdf/sizes.yaml").write_text("mass: 3.0\nup: true\n")
    path = tmp_path / "arm/urdf/arm.urdf.xacro"
    path.write_text(ROBOT)
    return path


def test_macros_includes_arguments_and_yaml_are_expanded(robot):
    model = import_file(robot).model
    assert model.body_names == ("base", "link_2", "link_1")
    assert model.bodies[0].inertia.mass == 13.0
    assert model.bodies[1].joint.placement.xyz == pytest.approx((0, 0, 0.2))
    assert model.bodies[1].joint.placement.rpy == pytest.approx((-math.pi / 2, 0, 0))
    assert import_file(robot, arguments={"joints": "5"}).model.nb == 6
    renamed = robot.with_name("arm.urdf")
    renamed.write_text(ROBOT)
    assert import_file(renamed).model == model
    with pytest.warns(UserWarning):
        assert hm.load(robot, arguments={"joints": "1"}).nb == 2


def test_an_argument_that_the_file_does_not_have_is_an_error(robot):
    with pytest.raises(hm.ModelError, match="no argument 'joint' .*'joints'"):
        import_file(robot, arguments={"joint": "5"})
    robot.with_name("plain.urdf").write_text(f"<robot name='r'>{LINK.format(name='base', mass=1)}</robot>")
    with pytest.raises(hm.ModelError, match="joints: .*not a xacro file"):
        import_file(robot.with_name("plain.urdf"), arguments={"joints": "5"})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("parts)", "gone)", "package 'gone'.*--package gone=FOLDER"),
        ("$(find parts)/urdf/links.xacro", "none.xacro", "none.xacro"),
        ("$(arg joints)", "$(arg legs)", "argument 'legs'.*--arg legs=VALUE"),
        ("sizes['mass']", "length", "'length' is not defined"),
        ("</robot>", "", "cannot expand"),
    ],
)
def test_what_is_missing_is_said(robot, old, new, words):
    robot.write_text(ROBOT.replace(old, new))
    with pytest.raises(hm.ModelError, match=f"(?s)arm.urdf.xacro.*{words}"):
        import_file(robot)


@pytest.mark.parametrize(
    "expression",
    [
        "(lambda: ().__class__.__base__.__subclasses__())()",
        "[x for x in (1,)][0].__class__",
        "open('OUT', 'w')",
        "python.type(1)",
        "math.__loader__",
        "'{0.__class__}'.format(1)",
        "9**9**9",
        "'a' * 10**9",
        "math.factorial(10**7)",
        "xacro.load_yaml('SECRET')",
        "(((10**100)**100)**100)**20",
        "len(tuple([0])*50000000)",
        "len(('x'*10000).join(['a']*10000))",
    ],
)
@pytest.mark.parametrize("form", ["${%s}", "$(eval %s)"])
def test_hostile_expressions_run_nothing(robot, tmp_path_factory, expression, form):
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
    secret.write_text("mass: 1")
    out = robot.with_name("written")
    text = form % expression.replace("SECRET", str(secret)).replace("OUT", str(out))
    robot.write_text(ROBOT.replace("${sizes['mass'] * 2**2 + 1}", text.replace("<", "&lt;")))
    with pytest.raises(hm.ModelError, match="arm.urdf.xacro") as error:
        import_file(robot)
    assert "secret" not in str(error.value) or "outside" in str(error.value)
    assert not out.exists()


def test_the_environment_and_files_elsewhere_are_not_read(robot, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("MASS", "77")
    robot.write_text(ROBOT.replace("${sizes['mass'] * 2**2 + 1}", "$(env MASS)"))
    with pytest.raises(hm.ModelError, match="env MASS") as error:
        import_file(robot)
    assert "77" not in str(error.value)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "links.xacro"
    elsewhere.write_text(MACROS)
    robot.write_text(ROBOT.replace("$(find parts)/urdf/links.xacro", str(elsewhere)))
    with pytest.raises(hm.ModelError, match="outside"):
        import_file(robot)
    assert import_file(robot, folders=[str(elsewhere.parent)]).model.nb == 3


def test_macros_without_end_are_stopped(robot):
    twice = MACROS.replace("</xacro:if>", '<xacro:rows prefix="x${n}" n="${n}"/></xacro:if>')
    robot.parent.parent.parent.joinpath("parts/urdf/links.xacro").write_text(twice)
    with pytest.raises(hm.ModelError, match="cannot expand"):
        import_file(robot)


ROOT = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
BOMBS = {
    "elements": "<xacro:macro name='m'>" + "<a/>" * 500 + "</xacro:macro>" + "<g><xacro:m/></g>" * 500,
    "comments": "<xacro:macro name='m'><!--" + "x" * 100_000 + "--></xacro:macro>" + "<xacro:m/>" * 500,
    "copies that are never evaluated": "<xacro:macro name='m'><xacro:m/>" + "<a/>" * 2000 + "</xacro:macro><xacro:m/>",
    "texts": "<xacro:property name='x' value='" + "y" * 100_000 + "'/>" + "<a b='${x}'/>" * 500,
    "properties": "".join(f"<xacro:property name='p{i + 1}' value='${{p{i}}}${{p{i}}}' lazy_eval='true'/>" for i in range(40)) + "<a b='${p40}'/>",
    "blocks": "<xacro:macro name='m' params='*b'><xacro:insert_block name='b'/><xacro:m><g><xacro:insert_block name='b'/><xacro:insert_block name='b'/></g></xacro:m></xacro:macro><xacro:m><g/></xacro:m>",
    "merged": "<a b=\"${load_yaml('merged.yaml')}\"/>",
    "sums of tuples": "<xacro:property name='t0' value='${tuple([1]*9000)}'/>"
    + "".join(f"<xacro:property name='t{i + 1}' value='${{t{i} + t{i}}}'/>" for i in range(8))
    + "<a b='${t8 == 0}'/>",
    "lists of lists": "<xacro:property name='t' value='${[[1]*9000]*200}'/><a b='${t == 0}'/>",
    "lists of texts": "<xacro:property name='t' value=\"${['x'*9000]*200}\"/><a b='${t == 0}'/>",
    "parts of a text": "<a b=\"${('x '*4900 + 'x '*4900 + 'x '*4900).split() == 0}\"/>",
}  # fmt: skip
"""Small files that stand for millions of elements or characters."""


@pytest.mark.parametrize("name", BOMBS)
def test_expansions_without_end_are_stopped(robot, name):
    """Nothing that a few kilobytes stand for fills the memory."""
    rows = ["a0: &a0 {k: 1}", *(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 7))]
    robot.with_name("merged.yaml").write_text("\n".join(rows))
    robot.write_text(f"{ROOT}<xacro:property name='p0' value='x'/>{BOMBS[name]}</robot>")
    with pytest.raises(hm.ModelError, match="more than"):
        import_file(robot)


@pytest.mark.parametrize("kind", ["elements", "included", "yaml"])
def test_large_files_are_not_expanded(robot, kind, monkeypatch):
    """Documents of xacro take much memory, and its YAML parser much time."""
    text = ROBOT
    if kind == "elements":
        text = ROBOT.replace("</robot>", "<a/>" * 2_200_000 + "</robot>")
    elif kind == "included":
        monkeypatch.setattr(_xacro, "MAX_BYTES", 2**17)
        robot.with_name("part.xml").write_text("<robot>" + "<a/>" * 1000 + "</robot>")
        text = ROBOT.replace("</robot>", "<xacro:include filename='part.xml'/>" * 2000 + "</robot>")
    else:
        robot.with_name("big.yaml").write_text("[" + "x," * 600_000 + "]")
        text = ROBOT.replace("${sizes['mass'] * 2**2 + 1}", "${len(load_yaml('big.yaml'))}")
    robot.write_text(text)
    with pytest.raises(hm.ModelError, match="more than"):
        import_file(robot)


def test_arguments_that_almost_are_numbers_are_texts(robot):
    """A pattern that tries every split of the digits would take hours."""
    value = "1" * 200_000 + "x"
    text = ROBOT.replace("${sizes['mass'] * 2**2 + 1}", "${len(xacro.arg('digits'))}")
    robot.write_text(text.replace("<link", f"<xacro:arg name='digits' default='{value}'/><link", 1))
    assert import_file(robot).model.nb == 3
    assert _literal(value) == value


@pytest.mark.parametrize("name", ["NAME", "../../NAME", "PATH"])
def test_folders_above_are_no_packages_unless_they_are_marked(robot, name):
    """A file in a home folder must not name that folder; the same for `package://`."""
    above = robot.parent.parent.parent
    (above / "secret.yaml").write_text("mass: 1")
    found = {"NAME": above.name, "../../NAME": f"../../{above.name}", "PATH": str(above)}[name]
    own = "${load_yaml('$(find " + found + ")/secret.yaml')['mass']}"
    robot.write_text(ROBOT.replace("${sizes['mass'] * 2**2 + 1}", own))
    with pytest.raises(hm.ModelError, match="package .* not found"):
        import_file(robot)


def test_without_the_package_the_message_says_exactly_that(robot, monkeypatch):
    found = builtins.__import__

    def without(name, *rest):
        if name == "xacro":
            raise ModuleNotFoundError("No module named 'xacro'", name="xacro")
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        hm.ModelError, match=r"xacro.* is not installed.*hydromechs\[xacro\].*xacro arm.urdf.xacro > robot.urdf"
    ):
        import_file(robot)


def test_a_package_is_found_by_the_name_that_its_package_xml_states(robot, tmp_path):
    """A checkout has the name of its repository; packages of one repository often have a folder in common."""
    model = import_file(robot).model
    (tmp_path / "parts").rename(tmp_path / "Robot_Parts")
    with pytest.raises(hm.ModelError, match="package 'parts' was not found"):
        import_file(robot)
    (tmp_path / "Robot_Parts/package.xml").write_text("<package format='3'>\n  <name>parts</name></package>")
    assert import_file(robot).model == model
    (tmp_path / "group").mkdir()
    (tmp_path / "Robot_Parts").rename(tmp_path / "group/parts")
    assert import_file(robot).model == model
    own = robot.read_text().replace("$(find parts)/urdf", "$(find arm_description)/urdf")
    robot.write_text(own)
    (tmp_path / "group/parts/urdf/links.xacro").rename(robot.with_name("links.xacro"))
    (tmp_path / "arm/package.xml").write_text("<package><name> arm_description </name></package>")
    assert import_file(robot).model == model
