"""Frame of a cylinder between two points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.values import Array

__all__ = ["axis_frame"]


def axis_frame(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array, float, float]:
    """Axes, foot and ends of the line from `start` to `end` [m], shape (3,) each.

    Returns:
        R with the line's direction as its third column, exact where that is a coordinate axis, shape (3, 3); the foot of
        the perpendicular from the body origin on the line, shape (3,); the positions of start and end from that foot.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    e = (end - start) / np.linalg.norm(end - start)
    n1 = np.roll(np.eye(3), 1, axis=0)[int(np.argmax(np.abs(e)))]  # the next coordinate axis
    n1 = n1 - (n1 @ e) * e
    n1 = n1 / np.linalg.norm(n1)
    R = np.column_stack([n1, np.cross(e, n1), e])
    foot = start - (start @ e) * e
    return R, foot, float(start @ e), float(end @ e)
