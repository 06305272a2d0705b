"""Frame of a cylinder between two points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

from ._rotation import cross


def axis_frame(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array, float, float]:
    """Axes, foot and ends of the line from `start` to `end` [m], shape (3,) each.

    Returns:
        R with the line's direction as its third column, exact where that is a coordinate axis, shape (3, 3); the foot of
        the perpendicular from the body origin on the line, shape (3,); the positions of start and end from that foot.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    e = (end - start) / np.linalg.norm(end - start)
    n1 = np.eye(3)[int(np.argmax(np.abs(e))) - 1]  # the coordinate axis before the nearest
    n1 = n1 - (n1 @ e) * e
    n1 = n1 / np.linalg.norm(n1)
    R = np.array([n1, cross(e, n1), e]).T
    foot = start - (start @ e) * e
    return R, foot, float(start @ e), float(end @ e)
