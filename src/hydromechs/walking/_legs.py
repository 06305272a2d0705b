"""Legs with three revolute joints: forward and inverse kinematics of all feet together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hydromechs.compiler import Program, call, iterate, trace
from hydromechs.dynamics import kinematics
from hydromechs.model import Model, joints
from hydromechs.spatial import clamp, cross, ldl, maximum, minimum, norm, where
from hydromechs.values import Array, Scalar

TOLERANCE = 1e-7
"""Position error of a foot at which the inverse kinematics stop [m]."""
PASSES = 25
"""Maximum number of Newton iterations."""
DAMPING = 1e-10
"""Levenberg-Marquardt damping added to the diagonal of JᵀJ [m²]."""


class Legs:
    """Legs of a robot: chains of three revolute joints between the body and the feet.

        p = P_1 + R(a_1, q_1) (P_2 + R(a_2, q_2) (... − P_2) − P_1)

    a and P are axes and points of the joints at zero, in body axes. A ball joint at the foot is allowed, as it does not
    move the foot point.

    Args:
        model: Model of the robot.
        feet: Names of frames or bodies whose origins are the feet.
        body: Name of the body that carries the legs.
    """

    def __init__(self, model: Model, feet: Sequence[str], body: str) -> None:
        root = model.body_index(body)
        q, v = model.neutral()
        kin = kinematics(model, q, v)
        R, p = np.asarray(kin.R_WB[root], dtype=float), np.asarray(kin.p_WB[root], dtype=float)
        self.feet = tuple(feet)
        """Names of the feet."""
        self.names: list[str] = []
        """Names of the joints, three per leg."""
        axes, points, ends, limits = [], [], [], []
        for foot in feet:
            chain, end = _chain(model, foot, root)
            for i in chain:
                joint = model.bodies[i].joint
                assert isinstance(joint, joints.Revolute)
                self.names.append(model.body_names[i])
                axis = np.asarray(kin.R_WB[i], dtype=float) @ (np.array(joint.axis) / np.linalg.norm(joint.axis))
                axes.append(R.T @ axis)
                points.append(R.T @ (np.asarray(kin.p_WB[i], dtype=float) - p))
                limits.append(joint.limits or (-np.inf, np.inf))
            place = model.locate(foot)
            at = np.asarray(kin.R_WB[place.body], dtype=float) @ place.p + kin.p_WB[place.body]
            ends.append(R.T @ (np.asarray(at, dtype=float) - p))
            if end is not None and np.linalg.norm(at - kin.p_WB[end]) > 1e-9:
                raise ValueError(f"foot {foot!r} is not at the ball joint {model.body_names[end]!r}; use a frame at this joint")
        n = len(self.feet)
        self.axes, self.points = np.reshape(axes, (n, 3, 3)), np.reshape(points, (n, 3, 3))
        self.ends, self.limits = np.reshape(ends, (n, 3)), np.reshape(limits, (n, 3, 2))
        self._cross = np.cross(self.axes[..., None, :], np.eye(3)).swapaxes(-1, -2)
        """Cross-product matrices of the axes, shape (n, 3, 3, 3)."""
        self._cross_twice = self._cross @ self._cross
        self.at = [model.joint_part(name).q.start for name in self.names]
        """Indices of the joints in q."""

    def positions(self, angles: Array, legs: Sequence[int] | slice = slice(None)) -> tuple[Array, Array]:
        """Return feet in body axes [m] (n, 3) and Jacobians (n, 3, 3) for joint angles [rad] (n, 3) of `legs`."""
        K, P = self._cross[legs], self.points[legs]
        s, v = np.sin(angles)[..., None, None], (1.0 - np.cos(angles))[..., None, None]
        R = np.eye(3) + s * K + v * self._cross_twice[legs]  # Rodrigues
        x = self.ends[legs]
        J = np.zeros((len(x), 3, 0))
        for k in (2, 1, 0):
            arm = R[:, k] @ (x - P[:, k])[..., None]
            J = np.concatenate([K[:, k] @ arm, R[:, k] @ J], axis=-1)
            x = P[:, k] + arm[..., 0]
        return x, J

    @property
    def numbers(self) -> Array:
        """Parameters of each leg for `leg_step`: axes, points, foot, limits, shape (n, 27)."""
        n = len(self.feet)
        parts = (self.axes, self.points, self.ends, self.limits)
        return np.concatenate([np.reshape(x, (n, -1)) for x in parts], axis=1)

    def angles(self, places: Array, start: Array, legs: Sequence[int] | slice = slice(None)) -> tuple[Array, Array]:
        """Return joint angles for target feet [rad], shape (n, 3), and the remaining errors [m], shape (n,); see `reach`.

        `places`: target foot positions in body axes [m], shape (n, 3); `start`: initial angles [rad], shape (n, 3); `legs`:
        indices of the legs, defaults to all.
        """
        return reach(self.numbers[legs], places, start)


def reach(legs: Array, places: Array, start: Array) -> tuple[Array, Array]:
    """Return joint angles [rad] (n, 3), from `start`, that put feet at `places` (n, 3), and remaining errors [m] (n,).

    The method is damped Newton iteration for legs with parameters `Legs.numbers` (n, 27), numbers or symbols. Angles are
    clamped to the limits.
    """
    n = len(places)
    angles, left, _ = iterate(_steps_program(n), PASSES, start, np.zeros(n), places, legs)
    return angles, left


@lru_cache(maxsize=64)
def _steps_program(n: int) -> Program:
    """Return the program of one Newton step of n legs, which ends when all feet have arrived or no leg moves."""

    def steps(q: Array, before: Array, places: Array, legs: Array) -> tuple[Array, Array, Scalar]:
        results = [call(_step_program(), *row) for row in zip(q, places, legs, strict=True)]
        new, left, most, moved = (np.array([r[k] if r[k].ndim else r[k][()] for r in results]) for k in range(4))
        done = where(_largest(most) < TOLERANCE, 1.0, where(_largest(moved) < TOLERANCE, 1.0, 0.0))
        return (
            np.array([where(done, a, b) for a, b in zip(q.flat, new.flat, strict=True)]).reshape(n, 3),
            left,
            np.asarray(done),
        )

    shapes = {"q": (n, 3), "before": (n,), "places": (n, 3), "legs": (n, 27)}
    return trace(steps, shapes, name="leg_steps", outputs=("after", "left", "done"))


@lru_cache(maxsize=1)
def _step_program() -> Program:
    outputs = ("after", "left", "most", "moved")
    return trace(leg_step, {"q": (3,), "place": (3,), "leg": (27,)}, name="leg_step", outputs=outputs)


def leg_step(q: Array, place: Array, leg: Array) -> tuple[Array, Scalar, Scalar, Scalar]:
    """Return the result of one damped Newton step: angles, foot error, largest error component, largest angle change."""
    axes, points = leg[:9].reshape(3, 3), leg[9:18].reshape(3, 3)
    limits = leg[21:].reshape(3, 2)
    sines, versines = np.sin(q), 1.0 - np.cos(q)

    def turned(k: int, x: Array) -> Array:
        """Return a vector rotated by joint k (Rodrigues formula)."""
        across = cross(axes[k], x)
        return x + sines[k] * across + versines[k] * cross(axes[k], across)

    columns: list[Array] = []
    x = leg[18:21]
    for k in (2, 1, 0):
        arm = turned(k, x - points[k])
        columns = [cross(axes[k], arm), *(turned(k, column) for column in columns)]
        x = points[k] + arm
    J, off = np.array(columns).T, place - x
    step = ldl(J.T @ J + DAMPING * np.eye(3)).solve(J.T @ off)
    scale = minimum(1.0, 0.4 / maximum(_largest(abs(step)), 1e-12))
    new = np.array([clamp(a + scale * b, *limit) for a, b, limit in zip(q, step, limits, strict=True)])
    return new, norm(off), _largest(abs(off)), _largest(abs(new - q))


def _largest(x: Array) -> Scalar:
    out = x[0]
    for y in x[1:]:
        out = maximum(out, y)
    return out


def _chain(model: Model, foot: str, root: int) -> tuple[list[int], int | None]:
    """Return the bodies of the three revolute joints between body and foot, and the body of a ball joint at the foot."""
    at = model.locate(foot).body
    out: list[int] = []
    ball: int | None = None
    while at >= 0 and at != root:
        joint = model.bodies[at].joint
        if isinstance(joint, joints.Free):
            at = -1
            break
        if isinstance(joint, joints.Ball) and not out and ball is None:
            ball = at
        elif isinstance(joint, joints.Revolute):
            out.append(at)
        elif not isinstance(joint, joints.Fixed):
            kind = type(joint).__name__.lower()
            raise ValueError(f"leg of foot {foot!r}: joint {model.body_names[at]!r} is {kind}; use three revolute joints")
        at = model.parent[at]
    body = model.body_names[root]
    if at < 0:
        raise ValueError(f"foot {foot!r} is not on body {body!r}; set body to the carrier of the legs")
    if len(out) != 3:
        raise ValueError(f"leg of foot {foot!r} has {len(out)} revolute joints between foot and {body!r}; use exactly three")
    return out[::-1], ball
