"""Consistency checks of pose, subspace, subspace derivative and chart of a joint, by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs.spatial import skew
from hydromechs.values import Array, is_finite, plain

if TYPE_CHECKING:
    from ._joint import Joint

STEP = 1e-5
"""Half step of the central differences: relative rounding errors are about 1e-11, truncation errors about 1e-10."""
AGREE = 1e-5
"""Relative tolerance, above the errors of the differences and below typical mistakes."""
RANDOM = 4
"""Number of random configurations."""


class _Disagreement(Exception):
    """Inconsistency of two results, with a message."""


@np.errstate(all="ignore")
def disagreements(joint: Joint) -> Iterator[str]:
    """Yield the first inconsistency of the methods of a joint with valid fields, if there is one."""
    kind = type(joint).__name__
    try:
        for at in (np.array(joint.initial_q), *joint.random_q(np.random.default_rng(0), RANDOM)):
            _Checked(joint, at).check()
    except _Disagreement as e:
        yield f"{kind}: {e}"
    except Exception as e:  # third-party code
        yield f"{kind} cannot be evaluated: {type(e).__name__}: {e}"


class _Checked:
    """Joint at one configuration."""

    def __init__(self, joint: Joint, q: Array) -> None:
        self.joint, self.q = joint, q
        self.where = f"at q = {plain(tuple(np.atleast_1d(q).tolist()))}"

    def check(self) -> None:
        """Raise `_Disagreement` for the first inconsistency."""
        joint, q, n = self.joint, self.q, self.joint.nv
        rng = np.random.default_rng(1)
        v, u = rng.normal(size=n), 0.1 * rng.uniform(-1.0, 1.0, n)
        self._shape("retract(q, u)", q, (joint.nq,))
        R, _ = self._pose(q)
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0.0:
            raise _Disagreement(f"R of pose(q) {self.where} is not a rotation; R Rᵀ must be 1 and det R must be 1")
        S = self._subspace(q)
        self._centre(u, v)
        for k, unit in enumerate(np.eye(n)):
            self._agree(
                f"column {k} of subspace(q)",
                S[:, k],
                "the velocity of pose(q), in body axes and linear first,",
                self._moved(unit),
            )
        ahead, behind = (self._subspace(self._retract(q, s * STEP * v)) for s in (1.0, -1.0))
        rate = self._shape("subspace_rate(q, v)", joint.subspace_rate(q, v), (6, n))
        self._agree(
            f"subspace_rate(q, v) for v = {plain(tuple(v.tolist()))}",
            rate,
            "the rate of subspace(q)",
            (ahead - behind) / (2 * STEP),
        )
        self._chart(u, v)
        size = np.linalg.norm(S, axis=0)
        if not size.all() or np.linalg.svd(S / size, compute_uv=False)[-1] < 1e-9:
            raise _Disagreement(f"the columns of subspace(q) {self.where} are linearly dependent; remove a column")

    def _centre(self, u: Array, v: Array) -> None:
        joint, q, n = self.joint, self.q, self.joint.nv
        self._agree("retract(q, 0)", self._retract(q, np.zeros(n)), "q", q)
        there = self._retract(q, u)
        self._agree("difference(q, retract(q, u))", self._shape("difference", joint.difference(q, there), (n,)), "u", u)
        self._agree("chart_rate(q, 0, v)", self._shape("chart_rate", joint.chart_rate(q, np.zeros(n), v), (n,)), "v", v)

    def _chart(self, u: Array, v: Array) -> None:
        joint, q, n = self.joint, self.q, self.joint.nv
        there = self._retract(q, u)
        rate = self._shape("chart_rate(q, u, v)", joint.chart_rate(there, u, v), (n,))
        ahead, behind = (self._pose(self._retract(q, u + s * STEP * rate)) for s in (1.0, -1.0))
        self._agree(
            "the motion in the chart with chart_rate(q, u, v)",
            _velocity(self._pose(there)[0], ahead, behind),
            "subspace(q) v",
            self._subspace(there) @ v,
        )

    def _moved(self, v: Array) -> Array:
        """Return the velocity of the pose while the joint moves with velocity v, shape (6,)."""
        ahead, behind = (self._pose(self._retract(self.q, s * STEP * v)) for s in (1.0, -1.0))
        return _velocity(self._pose(self.q)[0], ahead, behind)

    def _pose(self, q: Array) -> tuple[Array, Array]:
        given: Any = self.joint.pose(q)
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise _Disagreement(f"pose(q) returns a {type(given).__name__}; return axes R (3, 3) and origin p (3,)")
        return self._shape("R of pose(q)", given[0], (3, 3)), self._shape("p of pose(q)", given[1], (3,))

    def _subspace(self, q: Array) -> Array:
        return self._shape("subspace(q)", self.joint.subspace(q), (6, self.joint.nv))

    def _retract(self, q: Array, u: Array) -> Array:
        return self._shape("retract(q, u)", self.joint.retract(q, u), (self.joint.nq,))

    def _shape(self, what: str, given: Any, shape: tuple[int, ...]) -> Array:
        out = np.asarray(given)
        if out.shape != shape:
            raise _Disagreement(f"{what} has the shape {out.shape}; return the shape {shape}")
        out = out.astype(float)
        if not is_finite(tuple(out.ravel().tolist())):
            remedy = "set limits within which the joint can move, or another initial position"
            raise _Disagreement(f"{what} {self.where} is not finite; {remedy}")
        return out

    def _agree(self, what: str, given: Array, other_name: str, other: Array) -> None:
        scale = max(np.abs(given).max(initial=0.0), np.abs(other).max(initial=0.0), 1e-3)
        if np.abs(given - other).max(initial=0.0) > AGREE * scale:
            at = np.unravel_index(int(np.argmax(np.abs(given - other))), given.shape)
            place = ", ".join(str(int(i)) for i in at)
            raise _Disagreement(
                f"{what} disagrees with {other_name} {self.where}: entry [{place}] is {given[at]:.6g} and {other[at]:.6g}; "
                "correct one of them"
            )


def _velocity(R: Array, ahead: tuple[Array, Array], behind: tuple[Array, Array]) -> Array:
    """Return the velocity in body axes from two poses, `STEP` before and after the instant, shape (6,)."""
    turn, way = (R.T @ (a - b) / (2.0 * STEP) for a, b in zip(ahead, behind, strict=True))
    w = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    if np.abs(turn - skew(w)).max() > 1e-4 * max(1.0, np.abs(w).max()):
        raise _Disagreement("R of pose(q) is not a rotation near q; correct pose")
    return np.concatenate([way, w])
