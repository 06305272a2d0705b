"""Flexible links by assumed modes: beams with section data, and links with modes from a file.

A flexible link is a row of thin rigid sections whose poses on the body are functions of a few modal amplitudes. The poses
are exact to second order in the deflection, including shortening. The equations of motion are therefore exact to
first order, with all inertial couplings. The sections are bodies of the model, with mass, added mass, drag and buoyancy.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from hydromechs import files
from hydromechs.errors import FieldError
from hydromechs.geometry import Origin
from hydromechs.registry import Hidden
from hydromechs.values import Array, Bound, NotNegative, Positive, Row, check_fields

from ._beam_modes import BeamShape, bending_shapes, twist_shapes

__all__ = ["Beam", "FlexibleLink", "ModalLink", "WetSection"]

AlongBeam = NotNegative | Annotated[tuple[float, ...], Bound(least=0.0, size=0)]
"""One number, or numbers at equal distances from the root to the tip with linear interpolation."""
ModeCounts = Annotated[tuple[int, int, int], Bound(least=0, most=8, size=3, whole=True)]
"""Numbers of modes in bending along y, bending along z, and twist."""
MAX_MODES, MAX_NODES = 24, 500
"""Maximum number of modes and nodes of a mode file; each node is a body."""
Sections = Annotated[int, Bound(least=2, most=64, whole=True)]
"""Number of sections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WetSection:
    """Circular cross-section of a link in water."""

    radius: Positive
    """Outer radius [m]."""
    added_mass: NotNegative = 1.0
    """Ratio of the added mass across the link to the mass of water in the outer circle [-]."""
    drag: NotNegative = 1.1
    """Drag coefficient across the link, based on diameter times length [-]."""
    area: NotNegative | None = None
    """Area that displaces water [m²]; defaults to the outer circle; smaller for a flooded tube."""

    def __post_init__(self) -> None:
        check_fields(self, "strip")

    @property
    def displaced(self) -> float:
        """Volume per length [m²]."""
        return math.pi * self.radius**2 if self.area is None else self.area

    def added(self, density: float) -> float:
        """Return the added mass per length across the link [kg/m]."""
        return self.added_mass * density * math.pi * self.radius**2


class LinkModes(NamedTuple):
    """Modes of a link, and sections from the root to the tip; the last section is the tip, without mass or length."""

    names: tuple[str, ...]
    """Names of the modes."""
    units: tuple[str, ...]
    """Units of the modal amplitudes."""
    stiffness: Array
    """Modal stiffness [N/m or N·m/rad], shape (n,)."""
    damping: Array
    """Modal damping [N·s/m or N·m·s/rad], shape (n,)."""
    sections: tuple[Section, ...]
    """Sections from the root to the tip."""


class Section(NamedTuple):
    """Thin section of an undeformed link, in the axes of the link."""

    p: Array
    """Position [m], shape (3,)."""
    mass: float
    """Mass [kg]."""
    tensor: tuple[float, float, float]
    """Moments of inertia about x, y, z [kg·m²]."""
    length: float
    """Length along the link [m]."""
    translation: Array
    """Displacement per modal amplitude [m], shape (n, 3)."""
    rotation: Array
    """Rotation per modal amplitude [rad], shape (n, 3)."""
    shortening: Array
    """Second-order shortening, see `joints.ModalJoint`, shape (3, n, n)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexibleLink(abc.ABC):
    """Common fields of all flexible links."""

    origin: Origin = field(default_factory=Origin)
    """Pose of the root of the link on the body [m, rad]."""
    damping_ratio: NotNegative = 0.01
    """Damping ratio of each mode of the isolated link [-]."""
    water: WetSection | None = None
    """Cross-section in water; the link is dry if omitted."""
    position: Row = ()
    """Initial amplitudes, in the order of the modes [m or rad]; zero if omitted."""

    @abc.abstractmethod
    def modes(self, density: float) -> LinkModes:
        """Return modes and sections in water of a density [kg/m³]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam(FlexibleLink):
    """A slender straight beam along x of `origin`: Euler-Bernoulli bending along y and z, and twist.

    Mode shapes are those of the beam clamped at the root, with added mass if `water` is set. An amplitude of 1 has a maximum
    deflection of 1 m, or a maximum twist of 1 rad. A property along the beam is one number, or several at equal distances.
    """

    length: Positive
    """Length [m]."""
    mass: AlongBeam
    """Mass per length [kg/m]."""
    bending_y: AlongBeam = (0.0,)
    """Bending stiffness E·I for deflections along y [N·m²]."""
    bending_z: AlongBeam = (0.0,)
    """Bending stiffness E·I for deflections along z [N·m²]."""
    torsion: AlongBeam = (0.0,)
    """Torsional stiffness G·J [N·m²]."""
    twist_inertia: AlongBeam = (0.0,)
    """Moment of inertia about the axis, per length [kg·m]."""
    counts: ModeCounts = (2, 2, 0)
    """Numbers of modes in bending along y, bending along z, and twist [-]; each may be 0."""
    tip_mass: NotNegative = 0.0
    """Tip load assumed in the mode shapes [kg]. It adds no mass to the model; the mass is that of the body carried by the
    tip."""
    section_count: Sections = 8
    """Number of sections, at Gauss points [-]."""

    def __post_init__(self) -> None:
        for name in ("mass", "bending_y", "bending_z", "torsion", "twist_inertia"):
            if np.ndim(given := getattr(self, name)) == 0:
                object.__setattr__(self, name, (given,))
        check_fields(self, "beam")
        object.__setattr__(self, "counts", tuple(map(int, self.counts)))
        object.__setattr__(self, "section_count", int(self.section_count))
        needs = zip(self.counts, (("bending_y",), ("bending_z",), ("torsion", "twist_inertia")), strict=True)
        for name in ("mass", *(x for n, names in needs if n for x in names)):
            if not min(np.atleast_1d(getattr(self, name)), default=0.0) > 0.0:
                remedy = "" if name == "mass" else "; set this value, or set the number of these modes in counts to 0"
                raise FieldError(f"beam.{name}", getattr(self, name), f"must be > 0{remedy}")
        if not any(self.counts):
            raise FieldError("beam.counts", self.counts, "must have at least one mode; increase a count, or use a rigid body")

    def along(self, name: str, s: Array) -> Array:
        """Return a property at s = x/length, interpolated."""
        given = np.atleast_1d(np.array(getattr(self, name), dtype=float))
        return np.interp(s, np.linspace(0.0, 1.0, len(given)), given) if len(given) > 1 else np.full(np.shape(s), given[0])

    def modes(self, density: float) -> LinkModes:
        """Return mode shapes and sections at Gauss points, which integrate products of shapes exactly."""
        check_amplitudes(self, sum(self.counts))
        added = 0.0 if self.water is None else self.water.added(density)
        mass = lambda s: self.along("mass", s) + added  # noqa: E731
        shapes: list[tuple[str, str, BeamShape]] = []
        for n, axis in zip(self.counts, ("y", "z", "twist"), strict=True):
            if not n:
                continue
            if axis == "twist":
                found = twist_shapes(n, self.length, partial(self.along, "twist_inertia"), partial(self.along, "torsion"))
            else:
                found = bending_shapes(n, self.length, mass, partial(self.along, f"bending_{axis}"), self.tip_mass)
            shapes += [(f"{axis}{k + 1}", axis, shape) for k, shape in enumerate(found)]
        nodes, weights = np.polynomial.legendre.leggauss(self.section_count)
        sections = [self._section(shapes, 0.5 * (x + 1.0), 0.5 * w) for x, w in zip(nodes, weights, strict=True)]
        k, m = (np.array([getattr(shape, x) for _, _, shape in shapes]) for x in ("stiffness", "mass"))
        units = tuple("rad" if axis == "twist" else "m" for _, axis, _ in shapes)
        names = tuple(name for name, _, _ in shapes)
        return LinkModes(
            names, units, k, 2.0 * self.damping_ratio * np.sqrt(k * m), (*sections, self._section(shapes, 1.0, 0.0))
        )

    def _section(self, shapes: list[tuple[str, str, BeamShape]], s: float, weight: float) -> Section:
        n, length = len(shapes), weight * self.length
        T, turn, G = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((3, n, n))
        for i, (_, axis, shape) in enumerate(shapes):
            if axis == "twist":
                turn[i, 0] = shape.at(s)
            else:
                T[i, "xyz".index(axis)] = shape.at(s)
                turn[i, 2 if axis == "y" else 1] = shape.slope(s) / self.length * (1.0 if axis == "y" else -1.0)
                for j, (_, other, neighbour) in enumerate(shapes):
                    if other == axis:
                        G[0, i, j] = shape.shortening(neighbour, s) / self.length
        about = float(self.along("twist_inertia", np.array(s))) * length
        mass = float(self.along("mass", np.array(s))) * length
        return Section(np.array([s * self.length, 0.0, 0.0]), mass, (about, 0.0, 0.0), length, T, turn, G)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalLink(FlexibleLink):
    """A link with modes from a file, for example modes of a finite-element model.

    The file has a row for each node from the root to the tip: x, y, z and mass, then for each mode the displacement x, y, z
    and the rotation x, y, z for an amplitude of 1. Commas or blanks separate the numbers; lines that begin with # are
    comments.
    """

    file: str
    """Path of the mode file, relative to the model file."""
    frequencies: Annotated[tuple[float, ...], Bound(above=0.0, size=0)]
    """Natural frequencies of the modes of the clamped link [rad/s]."""
    folder: Annotated[str, Hidden()] = field(default="", compare=False)
    """Base folder of the path; for a loaded model, the folder of the model file."""

    def __post_init__(self) -> None:
        check_fields(self, "modes")
        if not 1 <= len(self.frequencies) <= MAX_MODES:
            raise FieldError(
                "modes.frequencies", self.frequencies, f"must be one frequency per mode, for 1 to {MAX_MODES} modes"
            )

    @property
    def path(self) -> Path:
        """Path of the mode file."""
        return Path(self.folder) / self.file

    def table(self) -> Array:
        """Return the rows of the mode file, shape (nodes, 4 + 6 n); raise `ValueError` for a wrong number or length of rows."""
        lines = files.read_text(self.path).splitlines()
        texts = [(k, line.replace(",", " ").split()) for k, line in enumerate(lines, 1) if line.split("#")[0].strip()]
        width, n, rows = 4 + 6 * len(self.frequencies), len(self.frequencies), []
        if len(texts) > MAX_NODES:
            raise ValueError(f"mode file {self.file!r} has {len(texts)} nodes; use at most {MAX_NODES}")
        for k, row in texts:
            if len(row) != width:
                raise ValueError(
                    f"mode file {self.file!r}, line {k}: {len(row)} numbers, must be {width} for {n} frequencies "
                    "(x, y, z, mass, and six for each mode); change the file or frequencies"
                )
            try:
                rows.append([float(x) for x in row])
            except ValueError:
                # the line is not quoted, because the path may refer to a private file
                raise ValueError(f"mode file {self.file!r}, line {k}: a value is not a number; correct it") from None
        out = np.array(rows)
        if len(rows) < 2 or not np.isfinite(out).all() or (out[:, 3] < 0.0).any() or not out[:, 3].any():
            raise ValueError(
                f"mode file {self.file!r}: {len(rows)} nodes; use at least two nodes, with finite numbers and masses ≥ 0"
            )
        return out

    def modes(self, density: float) -> LinkModes:
        """Return the modes, with each node as a section."""
        table, n = self.table(), len(self.frequencies)
        check_amplitudes(self, n)
        at, masses = table[:, :3], table[:, 3]
        shapes = table[:, 4:].reshape(len(table), n, 6)
        steps = np.linalg.norm(np.diff(at, axis=0), axis=1)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps))
            raise ValueError(f"mode file {self.file!r}: nodes {k + 1} and {k + 2} coincide; remove one of them")
        lengths = np.concatenate([[0.5 * steps[0]], 0.5 * (steps[1:] + steps[:-1]), [0.5 * steps[-1]]])
        if self.water is not None:  # mass of the wet section, so that damping uses the wet modal mass
            masses = masses + self.water.added(density) * lengths
        modal = np.einsum("k,kni,kni->n", masses, shapes[:, :, :3], shapes[:, :, :3])
        G, sections = np.zeros((3, n, n)), []
        for k, shape in enumerate(shapes):
            if k:
                e = (at[k] - at[k - 1]) / steps[k - 1]
                change = shape[:, :3] - shapes[k - 1][:, :3]
                across = change - np.outer(change @ e, e)
                G = G + np.multiply.outer(e, across @ across.T / steps[k - 1])
            sections.append(Section(at[k], table[k, 3], (0.0, 0.0, 0.0), lengths[k], shape[:, :3], shape[:, 3:], G))
        tip = sections[-1]._replace(mass=0.0, length=0.0)
        names = tuple(f"mode{k + 1}" for k in range(n))
        w = np.array(self.frequencies)
        return LinkModes(names, ("m",) * n, w**2 * modal, 2.0 * self.damping_ratio * w * modal, (*sections, tip))


def check_amplitudes(link: FlexibleLink, n: int) -> None:
    """Raise `FieldError` unless a link with n modes has n initial amplitudes, or none."""
    if link.position and len(link.position) != n:
        raise FieldError("flexible.position", link.position, f"must be {n} numbers, one for each mode")
