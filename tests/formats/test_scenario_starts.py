"""Initial positions of ball and composite joints in scenario files, and height fields that stand in files beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hydromechs import library
from hydromechs.errors import ScenarioError
from hydromechs.formats import dumps_scenario, loads_scenario

MODEL = """
hydromechs_model: 2
name: whip
bodies:
  hull: {joint: free, inertia: {mass: 10, tensor: [1, 1, 1, 0, 0, 0]}}
  stick:
    parent: hull
    joint: {type: ball, placement: {xyz: [0.5, 0, 0]}}
    inertia: {mass: 1, com: [0.2, 0, 0], tensor: [0.1, 0.1, 0.1, 0, 0, 0]}
  tip:
    parent: stick
    joint: {type: composite, parts: [{type: prismatic, axis: [1, 0, 0]}, ball]}
    inertia: {mass: 1, com: [0.1, 0, 0], tensor: [0.1, 0.1, 0.1, 0, 0, 0]}
"""
SCENARIO = """
hydromechs_scenario: 2
name: whip
run: {duration: 1}
models:
  whip:
    model: whip.yaml
    joints: {stick: {rpy_deg: [10, 20, 30]}, tip.1: 0.3, tip.2: {quaternion: [0.6, 0, 0.8, 0]}}
    joint_velocities: {stick: [0.1, 0.2, 0.3], tip.1: 0.4}
materials:
  sand: {law: {type: linear, stiffness: 10000}}
contact: {points: [hull_frame]}
"""


@pytest.fixture
def folder(tmp_path):
    frames = "joint: free, frames: {hull_frame: {xyz: [0, 0, 0]}}"
    (tmp_path / "whip.yaml").write_text(MODEL.replace("joint: free", frames))
    return tmp_path


def read(folder, text=SCENARIO, *changes):
    if "terrain:" not in text:
        text = text.replace("contact: {points: [hull_frame]}\n", "")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return loads_scenario(text, "whip", folder, library.load)


def faults(folder, *changes, text=SCENARIO):
    with pytest.raises(ScenarioError) as e:
        read(folder, text, *changes)
    return "\n".join(e.value.problems)


def test_orientation_of_ball_joints_and_parts_of_composite_ones(folder):
    s = read(folder)
    q, v, parts = s.start.q, s.start.v, s.model.joint_parts
    x, y, z, w = Rotation.from_euler("ZYX", [30, 20, 10], degrees=True).as_quat()
    np.testing.assert_allclose(q[parts["stick"].q], [w, x, y, z], atol=4e-16)
    assert q[parts["tip.1"].q].tolist() == [0.3]
    np.testing.assert_allclose(q[parts["tip.2"].q], [0.6, 0.0, 0.8, 0.0], atol=2e-16)
    assert v[parts["stick"].v].tolist() == [0.1, 0.2, 0.3]
    assert v[parts["tip.1"].v].tolist() == [0.4]


def test_such_a_start_comes_back_from_a_saved_file(folder):
    s = read(folder)
    again = loads_scenario(dumps_scenario(s, folder), "again", folder, library.load)
    assert again == s


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "stick: {rpy_deg: [10, 20, 30]}",
            "stick: 0.3",
            "joints.stick is 0.3, but 'stick' is a ball joint; give a unit quaternion",
        ),
        ("tip.1: 0.3", "tip.1: {rpy_deg: [0, 0, 1]}", "'tip.1' is a prismatic joint"),
        ("{quaternion: [0.6, 0, 0.8, 0]}", "{quaternion: [0.6, 0, 0.9, 0]}", "1.08"),
        ("{quaternion: [0.6, 0, 0.8, 0]}", "{quaternion: [1, 0, 0, 0], rpy_deg: [0, 0, 0]}", "set one of"),
        ("{quaternion: [0.6, 0, 0.8, 0]}", "{}", "no orientation; set one of"),
        ("{quaternion: [0.6, 0, 0.8, 0]}", "round", "joints.tip.2 is 'round'"),
        ("stick: [0.1, 0.2, 0.3]", "stick: 0.1", "give 3 numbers [rad/s]"),
        ("tip.1: 0.4", "tip.1: [0.4]", "tip.1"),
        ("tip.1: 0.4", "tip: 0.4", "no joint 'tip'"),
    ],
)
def test_what_does_not_fit_a_joint_is_named(folder, old, new, words):
    assert words in faults(folder, (old, new))


# -- height fields ------------------------------------------------------------------------------------------------------

FIELD = SCENARIO + "terrain: {hill: {type: height_field, material: sand, x: [0, 2], y: [0, 3], file: seabed.npy}}\n"
HEIGHTS = -10.0 + np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_heights_come_from_a_file_beside_the_scenario(folder, suffix):
    if suffix == ".npy":
        np.save(folder / "seabed.npy", HEIGHTS)
    else:
        np.savetxt(folder / "seabed.csv", HEIGHTS, delimiter=",")
    s = read(folder, FIELD, ("seabed.npy", f"seabed{suffix}"))
    hill = s.components[0]
    assert hill.shape.heights == tuple(map(tuple, HEIGHTS.tolist()))
    assert (hill.shape.x, hill.shape.y) == ((0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0))
    inline = "heights: [[-10, -9, -8, -7], [-6, -5, -4, -3], [-2, -1, 0, 1]]"
    changes = [("file: seabed.npy", inline), ("x: [0, 2], y: [0, 3]", "x: [0, 1, 2], y: [0, 1, 2, 3]")]
    assert read(folder, FIELD, *changes) == s
    assert loads_scenario(dumps_scenario(s, folder), "again", folder, library.load) == s


def test_points_bring_their_own_grid(folder):
    """x and y are not needed with them, and may not say something else."""
    rows = [f"{x} {y} {-10.0 + x + 0.1 * y}" for x in (0.0, 0.5, 1.0) for y in (2.0, 3.0)]
    (folder / "bay.xyz").write_text("\n".join(rows))
    bay = read(folder, FIELD, ("x: [0, 2], y: [0, 3], file: seabed.npy", "file: bay.xyz"))
    assert (bay.components[0].shape.x, bay.components[0].shape.y) == ((0.0, 0.5, 1.0), (2.0, 3.0))
    for same in ("x: [0, 1], y: [2, 3]", "x: [0, 0.5, 1]", "y: [2, 3]"):
        assert read(folder, FIELD, ("x: [0, 2], y: [0, 3], file: seabed.npy", f"{same}, file: bay.xyz")) == bay
    line = FIELD.count("\n")
    for other, words in (
        ("x: [0, 4], ", "x is [0.0, 4.0], but 'bay.xyz' has points from 0 to 1 m"),
        ("y: [2, 4], ", "y is [2.0, 4.0], but 'bay.xyz' has points from 2 to 3 m"),
        ("x: [0, 0.4, 1], ", "x is [0.0, 0.4, 1.0], but 'bay.xyz' has points from 0 to 1 m"),
    ):
        said = faults(folder, ("x: [0, 2], y: [0, 3], file: seabed.npy", f"{other}file: bay.xyz"), text=FIELD)
        assert f"line {line}: terrain.hill.{words}" in said
    np.save(folder / "seabed.npy", HEIGHTS)
    said = faults(folder, ("x: [0, 2], ", ""), text=FIELD)
    assert "'seabed.npy' does not specify the position of the grid" in said
    said = faults(folder, ("x: [0, 2], ", ""), ("file: seabed.npy", "generate: {type: slope, rise: 0, spacing: 1}"), text=FIELD)
    assert f"line {line}: terrain.hill: has no x" in said


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("type: slope, rise: .nan, spacing: 1", "terrain.hill.generate.rise is nan, must be finite"),
        ("type: slope, rise: 0, spacing: 0", "terrain.hill.generate.spacing is 0, must be finite and > 0"),
        ("type: steps, rise: 1, run: 1, start: .inf, spacing: 1", "terrain.hill.generate.start is inf, must be finite"),
        ("type: rubble_mound, seed: 1.5, spacing: 1", "terrain.hill.generate.seed is 1.5, must be an integer"),
        (
            "type: slope, rise: 0, seed: 1, spacing: 1",
            "slope has no argument 'seed'; available: level, rise, heading_deg",
        ),
    ],
)
def test_a_wrong_number_of_a_generator_is_named(folder, made, words):
    said = faults(folder, ("file: seabed.npy", f"generate: {{{made}}}"), text=FIELD)
    assert f"line {FIELD.count(chr(10))}: terrain.hill" in said
    assert words in said
    assert said.count("available: level") <= 1
    assert "it has level" not in said


def test_two_kinds_in_one_place_are_one_error(folder):
    np.save(folder / "seabed.npy", HEIGHTS)
    line = FIELD.count("\n")
    (said,) = faults(folder, ("type: height_field", "type: height_field, type: plane"), text=FIELD).splitlines()
    assert said == f"line {line}: terrain.hill.type: the key 'type' appears twice, first in line {line}; keep one"
    waves = FIELD + "environment: {waves: [{type: regular, height: 1, period: 6, type: jonswap}]}\n"
    (said,) = faults(folder, text=waves).splitlines()
    assert said.startswith(f"line {line + 1}: environment.waves.0.type: the key 'type' appears twice")


def test_heights_come_from_an_image_and_from_a_mesh(folder):
    pillow = pytest.importorskip("PIL.Image", reason="needs pip install pillow")
    grey = np.array([[0, 51, 102], [153, 204, 255]], dtype=np.uint8)  # two rows: the lower one is at the least y
    pillow.fromarray(grey).save(folder / "seabed.png")
    hill = read(folder, FIELD, ("seabed.npy", "seabed.png, low: -12, high: -7")).components[0]
    assert (hill.shape.x, hill.shape.y) == ((0.0, 1.0, 2.0), (0.0, 3.0))
    np.testing.assert_allclose(hill.shape.heights, [[-9.0, -12.0], [-8.0, -11.0], [-7.0, -10.0]], atol=1e-12)
    corners = [(-1, -1), (5, -1), (5, 5), (-1, 5)]
    lines = [f"v {x} {y} {-10 + 0.5 * x - 0.25 * y}" for x, y in corners]
    (folder / "seabed.obj").write_text("\n".join([*lines, "f 1 2 3", "f 1 3 4"]) + "\n")
    hill = read(folder, FIELD, ("seabed.npy", "seabed.obj, spacing: 0.5")).components[0]
    assert (len(hill.shape.x), len(hill.shape.y), hill.shape.x[-1], hill.shape.y[-1]) == (
        5,
        7,
        2.0,
        3.0,
    )  # where x and y say, not the whole mesh
    x, y = np.meshgrid(hill.shape.x, hill.shape.y, indexing="ij")
    np.testing.assert_allclose(hill.shape.heights, -10.0 + 0.5 * x - 0.25 * y, atol=1e-12)
    words = faults(folder, ("seabed.npy", "seabed.obj, spacing: 0.5"), ("x: [0, 2]", "x: [0, 9]"), text=FIELD)
    assert "'seabed.obj' has no surface at x = 5.5, y = 0" in words


def test_a_file_that_cannot_be_heights_is_named_with_the_remedy(folder):
    def said(heights, *changes):
        if heights is not None:
            np.save(folder / "seabed.npy", heights, allow_pickle=True)
        return faults(folder, *changes, text=FIELD)

    assert "seabed.npy' does not exist" in said(None)
    assert "relative to the scenario file" in said(None)
    assert "shape (12,); save two dimensions" in said(HEIGHTS.ravel())
    assert "not finite: row 1, column 2 is nan" in said(np.where(HEIGHTS == -4.0, math.nan, HEIGHTS))
    assert "cannot be read as numbers: " in said(HEIGHTS.astype(object))
    assert "save real numbers" in said(HEIGHTS.astype(str))
    assert "contains complex128; save real numbers" in said(HEIGHTS * 1j)
    assert "x is [0.0, 1.0, 2.0, 3.0], must contain the 3 grid lines of" in said(HEIGHTS, ("x: [0, 2]", "x: [0, 1, 2, 3]"))
    assert "keep one of them" in said(HEIGHTS, ("file:", "heights: [[0, 0], [0, 0]], file:"))
    assert "add one of `heights`, `file` or `generate`" in said(HEIGHTS, (", file: seabed.npy", ""))
    assert "must end in one of .npy, .csv, .png" in said(HEIGHTS, ("seabed.npy", "seabed.doc"))
    assert "is an image; set low and high" in said(HEIGHTS, ("seabed.npy", "seabed.tif"))
    assert "is not an image; remove low and high" in said(HEIGHTS, ("seabed.npy", "seabed.npy, low: -3"))
    assert "is a mesh; set the spacing" in said(HEIGHTS, ("seabed.npy", "seabed.stl"))
    assert "its own grid; remove spacing" in said(HEIGHTS, ("seabed.npy", "seabed.npy, spacing: 0.1"))
    assert "has low and spacing" in said(HEIGHTS, ("file: seabed.npy", "heights: [[0, 0], [0, 0]], low: 1, spacing: 2"))
    (folder / "seabed.npy").write_text("not an array")
    assert "cannot be read" in said(None)
    (folder / "seabed.npy").unlink()
    (folder / "seabed.npy").mkdir()
    assert "folder" in said(None)
    (folder / "seabed.npy").rmdir()
    large = np.lib.format.open_memmap(folder / "seabed.npy", mode="w+", dtype="int8", shape=(2000, 2000))
    del large
    assert "4000000 heights, must have at most 250000" in said(None)
    csv = folder / "seabed.csv"
    csv.write_text("1,2\n3,deep\n")
    assert "line 2: entry 2 is not a number" in said(None, ("seabed.npy", "seabed.csv"))
    csv.write_text("1,2\n3\n")
    assert "line 2 has 1 numbers; use 2 as in line 1" in said(None, ("seabed.npy", "seabed.csv"))
    csv.write_bytes(b"1,2\n3,\xff\n")
    assert "not UTF-8" in said(None, ("seabed.npy", "seabed.csv"))
