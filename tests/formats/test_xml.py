"""Untrusted XML: line numbers, rejections, and paths that stay within the folder."""

import pytest

from hydromechs import ModelError
from hydromechs.formats._imported import ImportOptions
from hydromechs.formats._robot_files import Missing, RobotFiles
from hydromechs.formats._xml import DEEPEST, parse_xml


def test_elements_have_lines_and_texts():
    root = parse_xml('<?xml version="1.0"?>\n<robot name="a">\n  <link\n   name="b"> hi <x/></link>\n</robot>', "a.urdf")
    (link,) = root.all("link")
    assert (root.line, link.line, link.text, link.attributes) == (2, 3, "hi", {"name": "b"})
    assert [e.tag for e in root.walk()] == ["robot", "link", "x"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no element"),
        ("<robot>\n<b>\n</robot>", 3, "<b> of line 2 is"),
        ('<!DOCTYPE a [\n<!ENTITY x "y">]>\n<a>&x;</a>', 1, "document type"),
        ("<a>&x;</a>", 1, "undefined entity"),
        ("<a/><a/>", 1, "junk"),
        ("\x00", 1, "not XML"),
        ("<?xml version='1.0' encoding='nonsense'?><a/>", 1, "encoding"),
        ("<a>" * (DEEPEST + 1), 1, "levels"),
    ],
)
def test_unreadable_text_is_named_with_its_line(text, line, words):
    with pytest.raises(ModelError, match=words) as error:
        parse_xml(text.encode(), "a.urdf")
    assert error.value.source == "a.urdf"
    (fault,) = error.value.faults
    assert fault.line == line


@pytest.fixture
def tree(tmp_path):
    """robot/urdf/a.urdf names meshes in robot/meshes and outside."""
    for name in ("robot/urdf/a.obj", "robot/meshes/b.obj", "secret.obj", "elsewhere/c.obj"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_files_are_found_in_the_folder_and_in_packages_around_it(tree):
    files = RobotFiles(tree / "robot/urdf", ImportOptions())
    assert files.find("a.obj") == tree / "robot/urdf/a.obj"
    with pytest.raises(Missing, match="package.xml"):  # otherwise a file could read any folder above it
        files.find("package://robot/meshes/b.obj")
    (tree / "robot/package.xml").write_text("<package/>")
    assert files.find("package://robot/meshes/b.obj") == tree / "robot/meshes/b.obj"
    allowed = RobotFiles(tree / "robot/urdf", ImportOptions(packages={"x": str(tree / "elsewhere")}, folders=(str(tree),)))
    assert allowed.find("package://x/c.obj") == tree / "elsewhere/c.obj"
    assert allowed.find("../../secret.obj") == tree / "secret.obj"


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.obj",
        "package://robot/../secret.obj",
        "file:///etc/passwd",
        "/etc/passwd",
        "nothing.obj",
        "http://x/y.obj",
        "package://../x",
        "link.obj",
        "",
        "a\0b",
    ],
)
def test_files_outside_are_not_taken(tree, name):
    (tree / "robot/urdf/link.obj").symlink_to(tree / "secret.obj")
    with pytest.raises(Missing):
        RobotFiles(tree / "robot/urdf", ImportOptions()).find(name)
