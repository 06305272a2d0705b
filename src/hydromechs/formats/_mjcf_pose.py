"""Positions and orientations in MJCF, and settings in <compiler> and <option>."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hydromechs.spatial import axis_rotation, cos_sin, planar_rotation, quaternion_matrix

from ._mjcf_document import ORIENTATIONS, Document, Item
from ._pose import Pose


@dataclass(slots=True)
class Settings:
    """Settings from <compiler> and <option>."""

    degrees: bool = True
    """True if angles are in degrees."""
    eulerseq: str = "xyz"
    """Axes of Euler angles: lower-case letters are body-fixed axes, capitals are fixed axes."""
    inertiafromgeom: str = "auto"
    """Source of inertias: "true" for geoms, "false" for <inertial>, "auto" for geoms of bodies without <inertial>."""
    inertiagrouprange: tuple[float, float] = (0.0, 5.0)
    """Range of geom groups that have mass."""
    autolimits: bool = True
    """True if joints with a range are limited."""
    balanceinertia: bool = False
    """True if principal moments that violate the triangle inequality are replaced by their mean."""
    boundmass: float = 0.0
    """Minimum mass of a body [kg]."""
    boundinertia: float = 0.0
    """Minimum principal moment [kg·m²]."""
    settotalmass: float = -1.0
    """Total mass to which all masses are scaled [kg]; no scaling if not positive."""
    meshdir: str = ""
    strippath: bool = False
    """True if folders in mesh paths are ignored."""
    gravity: float = 9.81
    """Gravitational acceleration, downwards [m/s²]."""
    gravity_told: bool = False
    """True if the file specifies gravity."""
    down: bool = False
    """True if z points down, along gravity."""
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    """Rotation of the world that makes gravity point along −z, shape (3, 3)."""
    density: float = 0.0
    """Density of the fluid [kg/m³]; 0 without a fluid."""

    def angle(self, value: float) -> float:
        """Convert an angle of the file to radians."""
        return math.radians(value) if self.degrees else value


def read_settings(document: Document) -> Settings:
    """Return the settings in the <compiler> and <option> sections of a document; later values override earlier values."""
    out = Settings()
    for element in document.section("compiler"):
        item = document.item(element, plain=True)
        out.degrees = item.word("angle", ("degree", "radian"), "degree" if out.degrees else "radian") == "degree"
        if item.word("coordinate", ("local", "global"), "local") == "global":
            remedy = "load the file in MuJoCo 2.3.3 or older, and save it with local coordinates"
            item.fault("coordinate is 'global', which neither HydroMechs nor current versions of MuJoCo read", "global", remedy)
        out.eulerseq = item.text("eulerseq", out.eulerseq)
        if len(out.eulerseq) != 3 or out.eulerseq.strip("xyzXYZ"):
            item.fault(f"eulerseq is {out.eulerseq!r}, must be three of xyzXYZ", out.eulerseq)
            out.eulerseq = "xyz"
        out.inertiafromgeom = item.word("inertiafromgeom", ("true", "false", "auto"), out.inertiafromgeom)
        low, high = item.numbers("inertiagrouprange", 2, out.inertiagrouprange)
        out.inertiagrouprange = (low, high)
        for name in ("autolimits", "balanceinertia", "strippath"):
            setattr(out, name, item.flag(name, getattr(out, name)))
        for name in ("boundmass", "boundinertia", "settotalmass"):
            setattr(out, name, item.number(name, getattr(out, name)))
        out.meshdir = item.text("meshdir", item.text("assetdir", out.meshdir))
        unused = "texturedir", "fitaabb", "discardvisual", "convexhull", "usethread", "fusestatic", "exactmeshinertia"
        for name in unused:
            item.text(name)  # not part of the physics
    for element in document.section("option"):
        _read_option(document, document.item(element, plain=True), out)
    return out


def _read_option(document: Document, item: Item, out: Settings) -> None:
    row = item.row("gravity", 3, 3)
    if row is not None:
        out.gravity, out.gravity_told = math.hypot(*row), True
        up = -np.array(row) / out.gravity if out.gravity > 0.0 else np.array([0.0, 0.0, 1.0])
        out.down = bool(up[2] < -1.0 + 1e-15)
        out.turn = np.eye(3) if out.down else turned_to(up).T
        if abs(up[2]) != 1.0:
            done = "the world is rotated so that gravity points along −z"
            item.note("repaired", f"gravity={item.text('gravity')!r}", done, of="gravity")
    out.density = item.number("density", out.density)
    for flag in item.element.all("flag"):
        flags = document.item(flag, plain=True)
        if flags.word("gravity", ("enable", "disable"), "enable") == "disable":
            out.gravity, out.gravity_told = 0.0, True


def pose_of(item: Item, settings: Settings) -> Pose:
    """Return the pose of a body, geom, site, frame or inertia in its parent element."""
    p = np.array(item.numbers("pos", 3, (0.0, 0.0, 0.0)))
    given = [name for name in ORIENTATIONS if name in item]
    for name in ORIENTATIONS:
        item.text(name)  # also those that a default class overrides
    if len(given) > 1:
        item.findings.fault(item.place(given[0]), f"{item.label} has {' and '.join(given)}", given, "keep one of them")
    return Pose(p, _rotation(item, given[0], settings) if given else np.eye(3))


def _rotation(item: Item, name: str, settings: Settings) -> np.ndarray:
    n = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[name]
    row = item.numbers(name, n, ())
    if not row:
        return np.eye(3)
    v = np.array(row)
    if name == "euler":
        return euler_rotation(row, settings)
    lengths = [float(np.linalg.norm(part)) for part in _directions(name, v)]
    if min(lengths) < 1e-12 or not all(map(math.isfinite, lengths)):
        item.fault(f"{name} {row} is zero and has no direction", row, "give another", of=name)
        return np.eye(3)
    if name == "quat":
        return quaternion_matrix(v / lengths[0])
    if name == "axisangle":
        return axis_rotation(v[:3] / lengths[0], settings.angle(row[3]))
    if name == "zaxis":
        return turned_to(v / lengths[0])
    x = v[:3] / lengths[0]
    y = v[3:] - (x @ v[3:]) * x
    if np.linalg.norm(y) < 1e-12 * lengths[1]:
        item.fault(f"xyaxes {row} are parallel", row, "give two directions", of=name)
        return np.eye(3)
    y /= np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def euler_rotation(angles: Iterable[float], settings: Settings) -> np.ndarray:
    """Return the rotation of three Euler angles in a file, about the axes in `eulerseq`, shape (3, 3)."""
    R = np.eye(3)
    for letter, angle in zip(settings.eulerseq, angles, strict=True):
        turn = planar_rotation("xyz".index(letter.lower()), *cos_sin(settings.angle(angle)))
        R = R @ turn if letter.islower() else turn @ R
    return R


def _directions(name: str, v: np.ndarray) -> Iterator[np.ndarray]:
    if name == "xyaxes":
        yield from (v[:3], v[3:])
    else:
        yield v if name in ("quat", "zaxis") else v[:3]


def turned_to(z: np.ndarray) -> np.ndarray:
    """Return the smallest rotation from the z axis to a unit vector, shape (3, 3); about x for a half turn."""
    axis = np.array([-z[1], z[0], 0.0])
    s = float(np.linalg.norm(axis))
    if s < 1e-10:
        axis, s = np.array([1.0, 0.0, 0.0]), 0.0
    else:
        axis /= s
    return axis_rotation(axis, math.atan2(s, z[2]))
