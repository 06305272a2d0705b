"""Variants of a study's model, whose prediction errors are compared with those of the study."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hydromechs.geometry import Cylinder
from hydromechs.model import Body, Hydro, Inertia, Model, added_mass, added_mass_matrix, drag
from hydromechs.spatial import cross, skew
from hydromechs.values import Checked, Finite, NotNegative, Positive, nearest

from .. import Unknown

NEXT_TO_NOTHING = 1e-9
"""Mass [kg] and moment of inertia [kg·m²] of a body of which only weight and buoyancy remain."""


@dataclass(frozen=True, kw_only=True)
class Strip(Checked):
    """Cylinder along a body axis, for strip drag."""

    axis: Literal["x", "y", "z"]
    """Body axis of the cylinder."""
    start: Finite
    """Start coordinate on the axis [m]."""
    end: Finite
    """End coordinate on the axis [m]."""
    radius: Positive
    """Radius of the cylinder [m]."""
    coefficient: NotNegative
    """Drag coefficient of the side on its projected area [-]."""
    end_coefficient: NotNegative | None = None
    """Drag coefficient of the end faces on their area [-]; defaults to the coefficient of the side."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Changes to the model of a study, by body name, and to its unknowns."""

    strips: dict[str, Strip] = field(default_factory=dict)
    """Bodies whose drag is replaced by strip drag of a cylinder, keyed by body name."""
    no_drag: tuple[str, ...] = ()
    """Bodies without drag."""
    no_added_mass: tuple[str, ...] = ()
    """Bodies without added mass."""
    averaged_added_mass: tuple[str, ...] = ()
    """Bodies with isotropic added mass."""
    only_weight: tuple[str, ...] = ()
    """Bodies with weight and buoyancy only, without inertia, added mass or drag."""
    without: tuple[str, ...] = ()
    """Bodies to remove together with their joints and unknowns."""
    unknowns: tuple[Unknown, ...] = ()
    """Unknowns that replace the study's unknowns of equal type, name and index."""
    more: tuple[Unknown, ...] = ()
    """Unknowns added to those of the study."""

    @property
    def bodies(self) -> list[str]:
        """Names of all bodies that the variant changes."""
        lists = (self.strips, self.no_drag, self.no_added_mass, self.averaged_added_mass, self.only_weight, self.without)
        return [name for names in lists for name in names]


def varied(model: Model, variant: Variant) -> Model:
    """Return the model of the study with the changes of a variant."""
    for name in variant.bodies:
        if name not in model.body_names:
            raise ValueError(f"{model.name} has no body named {name!r}{nearest(name, model.body_names)}")
    return replace(model, bodies=tuple(_changed(b, variant, model) for b in model.bodies if b.name not in variant.without))


def _changed(body: Body, variant: Variant, model: Model) -> Body:
    if body.name not in variant.bodies:
        return body
    water, density = body.hydro if isinstance(body.hydro, Hydro) else Hydro(), model.world.water_density
    if body.name in variant.strips:
        strip = variant.strips[body.name]
        fields = asdict(strip)
        rod = Cylinder.along(*(fields.pop(key) for key in ("axis", "start", "end")), radius=fields.pop("radius"))
        water = replace(water, drag=(drag.ShapeDrag(shape=rod, **fields),))
    if body.name in variant.no_drag:
        water = replace(water, drag=())
    if body.name in variant.no_added_mass:
        water = replace(water, added_mass=())
    if body.name in variant.averaged_added_mass and water.added_mass:
        total = sum((np.array(added_mass_matrix(e, density), dtype=float) for e in water.added_mass), np.zeros((6, 6)))
        water = replace(water, added_mass=(added_mass.Matrix(tuple(map(tuple, averaged(total).tolist()))),))
    if body.name not in variant.only_weight:
        return replace(body, hydro=water)
    i = body.inertia
    felt = OnlyWeight(float(i.mass), tuple(map(float, i.com)), float(water.volume), tuple(map(float, water.buoyancy_center)))
    tensor = (NEXT_TO_NOTHING, NEXT_TO_NOTHING, NEXT_TO_NOTHING, 0.0, 0.0, 0.0)
    return replace(body, inertia=Inertia(mass=NEXT_TO_NOTHING, tensor=tensor), hydro=felt, shapes=())


@dataclass(frozen=True)
class OnlyWeight:
    """Weight and buoyancy of a body, applied to its carrier."""

    mass: float
    """Mass [kg]."""
    com: tuple[float, ...]
    """Centre of mass [m], shape (3,)."""
    volume: float
    """Displaced volume [m³]."""
    center: tuple[float, ...]
    """Centre of buoyancy [m], shape (3,)."""

    def added_mass(self, body: Body, motion: Any) -> np.ndarray:
        """Return zero added mass, shape (6, 6)."""
        return np.zeros((6, 6))

    def wrench(self, body: Body, motion: Any) -> np.ndarray:
        """Return weight and buoyancy about the body origin [N, N·m], shape (6,)."""
        weight, lift = -self.mass * motion.a_fg, motion.density * self.volume * motion.a_fg
        turning = cross(np.array(self.com), weight) + cross(np.array(self.center), lift)
        return np.concatenate([weight + lift, turning])


def averaged(matrix: np.ndarray) -> np.ndarray:
    """Return an isotropic added mass: the means of translation and of rotation about the centre of added mass.

    The centre is the point of minimum coupling between translation and rotation. Argument and result are about the body origin,
    linear first [kg, kg·m, kg·m²], shape (6, 6).
    """
    A, C, J = matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:]
    columns = np.stack([-(A @ np.array(skew(e))).ravel() for e in np.eye(3)], axis=1)  # C = −A [c]×, linear in c
    c = np.array(skew(np.linalg.lstsq(columns, C.ravel(), rcond=1e-9)[0]), dtype=float)
    m, j = np.trace(A) / 3.0, np.trace(J - c.T @ A @ c) / 3.0
    return np.block([[m * np.eye(3), -m * c], [m * c, max(j, 0.0) * np.eye(3) + m * c.T @ c]])
