"""Force and moment from tables over angle of attack and sideslip angle, measured in tunnels or computed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.errors import Fault
from hydromechs.geometry import Origin
from hydromechs.registry import Degrees
from hydromechs.spatial import clamp, shift_motion, shift_wrench
from hydromechs.values import Array, Bound, Positive, Scalar, convert_fields

from ._damping import DragElement, unfit

Angles = Annotated[tuple[float, ...], Bound(least=-4.0, most=4.0, size=0, rising=True), Degrees()]
"""Angles in increasing order [rad]."""
Six = tuple[float, float, float, float, float, float]
NOISE = 0.01
"""Maximum driving coefficient along the motion, divided by the largest coefficient; allows for scatter of measurements."""
TINY = 1e-150
"""Smoothing speed, far below all relevant speeds but with a representable square [m/s]."""
MAX_ENTRIES = 2000
"""Maximum number of pairs of angles in a map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientMap(DragElement):
    """Hydrodynamic map: six coefficients over angle of attack α and sideslip β, with linear interpolation.

    (F, M) = ½ ρ A U² (C_X, C_Y, C_Z, l C_K, l C_M, l C_N), with tan α = w/u and sin β = v/U of the velocity (u, v, w)
    through the water at `origin`, in its axes. Beyond the table, the nearest angle applies and runs warn, because these
    coefficients can drive the body. The map does not include damping of rotation: add `damping`.
    """

    alpha: Angles
    """Angles of attack, increasing [rad]."""
    beta: Angles
    """Angles of sideslip, increasing [rad]."""
    coefficients: tuple[tuple[Six, ...], ...]
    """C_X, C_Y, C_Z, C_K, C_M, C_N [-]: one row per angle of attack, with six numbers per angle of sideslip, shape (na,
    nb, 6)."""
    area: Positive
    """Reference area A [m²]."""
    length: Positive = 1.0
    """Reference length l [m]."""
    origin: Origin = field(default_factory=Origin)
    """Point and axes to which the coefficients refer; defaults to the body frame."""

    def __post_init__(self) -> None:
        convert_fields(self, "drag")
        shape = (len(self.alpha), len(self.beta), 6)
        try:
            table = np.array(self.coefficients, dtype=float)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.shape != shape:
            raise ValueError(
                f"drag.coefficients must have the shape {shape}: a row for each of {shape[0]} angles of attack, with six "
                f"numbers for each of {shape[1]} angles of sideslip; the shape is {table.shape}"
            )
        object.__setattr__(self, "coefficients", tuple(tuple(map(tuple, row)) for row in table.tolist()))

    @property
    def center(self) -> Array:
        """Reference point of the coefficients [m], shape (3,)."""
        return np.array(self.origin.xyz)

    def numbers(self, density: Scalar) -> Any:
        scale = 0.5 * density * self.area * np.array([1.0, 1.0, 1.0, self.length, self.length, self.length])
        table = np.array(self.coefficients)
        return Map(self.origin.R, self.center, self.alpha, self.beta, table, scale)

    def problems(self, label: str) -> Iterator[Fault]:
        if len(self.alpha) * len(self.beta) > MAX_ENTRIES:
            pairs = len(self.alpha) * len(self.beta)
            yield Fault(("alpha",), f"{label} has {pairs} pairs of angles; use at most {MAX_ENTRIES}")
        table = np.array(self.coefficients)
        if not np.isfinite(table).all():
            yield Fault(("coefficients",), f"{label}.coefficients contain a number that is not finite; correct it")
            return
        a, b = np.meshgrid(self.alpha, self.beta, indexing="ij")
        ahead = np.stack([np.cos(a) * np.cos(b), np.sin(b), np.sin(a) * np.cos(b)], axis=-1)
        power = np.einsum("abk,abk->ab", table[..., :3], ahead)
        i, j = np.unravel_index(np.argmax(power), power.shape)
        if power[i, j] > NOISE * np.abs(table[..., :3]).max():
            where = f"alpha = {self.alpha[i]:g}, beta = {self.beta[j]:g}"
            remedy = "drag has negative coefficients along positive axes; correct the signs"
            yield unfit(label, "coefficients", tuple(table[i, j].tolist()), f"which drive the body at {where}", remedy)


class Map(NamedTuple):
    """Coefficients C(α, β) = Σ_ij h_i(α) h_j(β) C_ij with hat functions h, which are 1 at one angle and 0 at all others."""

    R: Array
    """Axes of the coefficients, shape (3, 3)."""
    point: Array
    """Reference point of the coefficients [m], shape (3,)."""
    alpha: tuple[float, ...]
    """Angles of attack [rad]."""
    beta: tuple[float, ...]
    """Angles of sideslip [rad]."""
    table: Array
    """Coefficients [-], shape (na, nb, 6)."""
    scale: Array
    """Scale ½ ρ A (1, 1, 1, l, l, l) [kg/m, kg], shape (6,)."""

    def wrench(self, V_r: Array) -> Array:
        """Return the wrench about the body origin in body axes [N, N·m], shape (6,)."""
        u, v, w = self.R.T @ shift_motion(V_r, self.point)[:3]
        # at rest and across, angles are undefined: TINY keeps their derivatives finite, which U² then cancels
        along = np.sqrt(u * u + w * w + TINY * TINY)
        ahead = _hats(np.arctan2(w, u + TINY), self.alpha)
        aside = _hats(np.arctan2(v, along), self.beta)
        square = u * u + v * v + w * w
        C = np.zeros(6)
        for h_i, row in zip(ahead, self.table, strict=True):
            part = np.zeros(6)
            for h_j, entry in zip(aside, row, strict=True):
                part = part + h_j * entry
            C = C + h_i * part
        F = square * self.scale * C
        return shift_wrench(np.concatenate([self.R @ F[:3], self.R @ F[3:]]), self.point)


def _hats(x: Scalar, nodes: tuple[float, ...]) -> list[Scalar]:
    """Return the weight of each node for linear interpolation at x; outside the table, the nearest node has weight 1."""
    steps = [clamp((x - a) / (b - a), 0.0, 1.0) for a, b in pairwise(nodes)]
    rising, falling = [1.0, *steps], [*(1.0 - s for s in steps), 1.0]
    return [up * down for up, down in zip(rising, falling, strict=True)]
