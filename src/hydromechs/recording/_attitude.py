"""Attitude of a body as angles: quantities "roll", "pitch", "heading" and "tilt", in radians or, with "_deg", in degrees.

They are computed from the recorded orientation and can be used as quantities of checks, events, plots, tables and sweeps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.values import Array, Scalar

if TYPE_CHECKING:
    import xarray

ANGLES = {
    "roll": "angle about the body's x axis",
    "pitch": "angle of the body's x axis to the horizontal",
    "heading": "angle about the world's z axis",
    "tilt": "angle from the body's z axis to the world's",
}
"""Descriptions of the angles: rotations about z (heading), then y (pitch), then x (roll), and the tilt."""
ATTITUDE: dict[str, tuple[str, ...]] = {f"{name}{unit}": ("body",) for name in ANGLES for unit in ("", "_deg")}
"""Dimensions, without time, of the quantities computed from "orientation"."""
FULL_TURN = 2.0 * math.pi


def attitude(name: str, quaternion: Array) -> Array:
    """Return one angle of each orientation: roll and heading in (−π, π], pitch in [−π/2, π/2], tilt in [0, π]; shape (...).

    R_WB = R_z(heading) R_y(pitch) R_x(roll), and cos(tilt) = (R_WB)_zz. Roll and heading are not defined at a pitch of ±90°;
    the tilt is, and is accurate to rounding at every angle.

    Args:
        name: One of `ATTITUDE`; in degrees with "_deg", otherwise in radians.
        quaternion: Unit quaternions (w, x, y, z), body to world, shape (..., 4).
    """
    w, x, y, z = np.moveaxis(np.asarray(quaternion, dtype=float), -1, 0)
    angle = name.removesuffix("_deg")
    if angle == "roll":
        out = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    elif angle == "pitch":
        out = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    elif angle == "heading":
        out = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    else:
        out = 2.0 * np.arctan2(np.hypot(x, y), np.hypot(w, z))
    return np.degrees(out) if name.endswith("_deg") else out


def attitude_of(recording: xarray.Dataset, name: str) -> xarray.DataArray:
    """Return one angle of all bodies over time, dimensions (time, body), as if it had been recorded."""
    q = recording["orientation"]
    unit, words = "deg" if name.endswith("_deg") else "rad", ANGLES[name.removesuffix("_deg")]
    return q.isel(wxyz=0, drop=True).copy(data=attitude(name, q.values)).rename(name).assign_attrs(units=unit, long_name=words)


def period_of(quantity: str) -> float | None:
    """Return a full turn in the unit of a quantity that wraps around, such as "heading_deg.vehicle"; None for all others."""
    head = quantity.partition(".")[0]
    if head not in ATTITUDE or head.startswith(("pitch", "tilt")):
        return None
    return 360.0 if head.endswith("_deg") else FULL_TURN


def angle_difference(difference: Scalar | Array, period: float | None) -> Any:
    """Wrap differences of a quantity, any shape, to [−period/2, period/2); unchanged if it does not wrap (see `period_of`)."""
    return difference if period is None else (difference + 0.5 * period) % period - 0.5 * period
