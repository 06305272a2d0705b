"""A joint type of a user's own: one class with its pose, its motion subspace, the derivative of that, and its chart."""

from __future__ import annotations

import abc
import copy
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hydromechs.errors import UnsupportedFeature
from hydromechs.spatial import Turn, ldl, motion_cross
from hydromechs.values import Array, NotNegative, Pair, Row, convert_fields

from ._joint import Joint
from ._moving import MovingStep

__all__ = ["OpenStep", "OwnJoint", "OwnStep", "opened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnJoint(Joint):
    """A joint of a user's own: derive a frozen dataclass from it, with numbers as fields and three methods.

    `q` (nq,) and `v` (nv,) are the joint's own coordinates and velocities, floats or symbols; the methods are NumPy operations
    on them, traced and compiled with the rest. In body axes at the body's origin the joint moves with V_J = S(q) v, linear
    first. When a model is built, pose, subspace, derivative and chart are compared at several configurations.

    Unless the chart is another, q is a row of numbers, as many as velocities, and v their rates.
    """

    limits: Pair | None = None
    """Lower and upper position of a joint with one coordinate, data for joint stops [rad or m]; none if left out."""
    damping: NotNegative = 0.0
    """Viscous friction, data for joint drives [N·m·s/rad or N·s/m]."""
    friction: NotNegative = 0.0
    """Coulomb friction, data for joint drives [N·m or N]."""
    position: Row = ()
    """Initial coordinates, a number where there is one [rad or m], shape (nq,); the neutral ones if left out."""
    velocity: Row = ()
    """Initial velocities, a number where there is one [rad/s or m/s], shape (nv,); zero if left out."""

    kind: ClassVar[str] = "own"
    """Name in messages: that of the class unless given."""
    neutral_q: ClassVar[tuple[float, ...]] = (0.0,)
    velocities: ClassVar[int | None] = None
    """Number of its velocities; that of its coordinates unless given."""
    quaternion: ClassVar[int | None] = None
    """Where a unit quaternion starts in its coordinates; None where there is none."""

    stands_in: ClassVar[bool] = False
    """Whether it only stands for a class that is named and has not been imported: nothing of its motion is judged."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(OwnJoint, cls).__init_subclass__(**options)
        if "kind" not in vars(cls):
            cls.kind = cls.__name__

    def __post_init__(self) -> None:
        for name in ("position", "velocity"):
            value = getattr(self, name)
            if np.ndim(value) == 0:
                object.__setattr__(self, name, (value,))
        convert_fields(self, "joint")

    @abc.abstractmethod
    def pose(self, q: Array) -> tuple[Array, Array]:
        """Axes R (3, 3) and origin p (3,) [m] of the body in the joint frame.

        Args:
            q: Its coordinates, shape (nq,).
        """

    @abc.abstractmethod
    def subspace(self, q: Array) -> Array:
        """S with V_J = S v, the motion of the body on the joint frame in body axes at the body's origin, shape (6, nv).

        Args:
            q: Its coordinates, shape (nq,).
        """

    @abc.abstractmethod
    def subspace_rate(self, q: Array, v: Array) -> Array:
        """dS/dt while it moves with v: Σ_k ∂S/∂q_k q̇_k, shape (6, nv).

        Args:
            q: Its coordinates, shape (nq,).
            v: Its velocities, shape (nv,).
        """

    def retract(self, q: Array, u: Array) -> Array:
        """The configuration q ⊕ u with the coordinates u in the chart around q, shape (nq,).

        Args:
            q: Configuration at the centre of the chart, where u = 0, shape (nq,).
            u: Coordinates, shape (nv,).
        """
        return q + u

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """u̇ of a configuration that moves with v; v itself at the centre of a chart, shape (nv,).

        Args:
            q: The configuration itself, not the centre, shape (nq,).
            u: Its coordinates, shape (nv,).
            v: Its velocities, shape (nv,).
        """
        return v

    def difference(self, q: Array, q_other: Array) -> Array:
        """u with q ⊕ u = q_other, shape (nv,).

        Args:
            q: Configuration at the centre of the chart, shape (nq,).
            q_other: The other configuration, shape (nq,).
        """
        return q_other - q

    @property
    def adds(self) -> bool:
        """Whether its chart is that of numbers: q ⊕ u = q + u."""
        own = type(self)
        return own.retract is OwnJoint.retract and own.chart_rate is OwnJoint.chart_rate

    def general_q(self, rng: np.random.Generator) -> Array:
        """A random configuration within its limits, or up to 1 away from the initial one, shape (nq,).

        Args:
            rng: Where numbers come from.
        """
        if self.limits is not None and self.nq == 1:
            return rng.uniform(*self.limits, 1)
        return _plain(self.retract(np.array(self.initial_q), rng.uniform(-1.0, 1.0, self.nv)))

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (nq,)."""
        return self.position or self.neutral_q

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (nv,)."""
        return self.velocity or (0.0,) * self.nv

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return len(self.neutral_q)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return len(self.neutral_q) if self.velocities is None else self.velocities

    def steps(self, iq: int, iv: int) -> tuple:
        """Transformations from the parent, see `hydromechs.joints`."""
        return (*self.placement.steps(2), OwnStep(self, iq, iv))


def _plain(given: Any) -> Array:
    """What a user's method gives, as an array; of floats where all are numbers."""
    out = np.asarray(given)
    if out.dtype == object and all(isinstance(x, int | float) for x in out.ravel()):
        return out.astype(float)
    return out


class _Own(MovingStep):
    """A step that a joint of a user's own describes."""

    __slots__ = ()
    joint: OwnJoint

    def _asked(self, name: str, *given: Array) -> Any:
        """What a method of the joint gives; raises `UnsupportedFeature` where it needs numbers and gets symbols."""
        try:
            return getattr(self.joint, name)(*given)
        except (TypeError, AttributeError) as e:
            if all(np.asarray(x).dtype != object for x in given):
                raise
            remedy = "use NumPy functions, as np.cos(q[0]), and hydromechs.spatial.where for branches"
            if isinstance(self, OpenStep):
                remedy += ", also on its fields, which are inputs of the rolled form; or compile with form='specialised'"
            raise UnsupportedFeature(
                f"the method {name} of joint type {self.joint.kind} cannot be traced: {e}; {remedy}"
            ) from e

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of its coordinates."""
        return self.joint.nq

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of its velocities."""
        return self.joint.nv

    @property
    def quaternion(self) -> int | None:  # type: ignore[override]
        """Where a unit quaternion starts in its coordinates."""
        return self.joint.quaternion

    @property
    def turning(self) -> tuple[int, ...]:  # type: ignore[override]
        """All coordinates, unless they just add."""
        return () if self.joint.adds else tuple(range(self.nq))

    def transformation(self, q: Array) -> Turn:
        """The pose of the body."""
        R, p = self._asked("pose", q)
        return Turn(_plain(R), _plain(p))

    def subspace(self, q: Array) -> Array:
        """As the joint says."""
        return _plain(self._asked("subspace", q))

    def subspace_rate(self, q: Array, v: Array) -> Array:
        """As the joint says."""
        return _plain(self._asked("subspace_rate", q, v))

    def subspace_changes(self, q: Array) -> Array:
        """dS/dt for one velocity at a time."""
        return np.stack([self.subspace_rate(q, unit) for unit in np.eye(self.nv)])

    def brackets(self, q: Array) -> Array | None:
        """From S c_ij = ∂_i S_j − ∂_j S_i + S_i × S_j, which holds as poses are a group; 0 for rates of coordinates."""
        n = self.nv
        if n == 1 or self.joint.adds:
            return None
        S = self.subspace(q)
        changes, normal = self.subspace_changes(q), ldl(S.T @ S)
        out: Array = np.zeros((n, n, n), dtype=object)
        for i in range(n):
            for j in range(i):
                out[:, i, j] = normal.solve(S.T @ (changes[i][:, j] - changes[j][:, i] + motion_cross(S[:, i], S[:, j])))
                out[:, j, i] = -out[:, i, j]
        return out if S.dtype == object else out.astype(float)

    def retract(self, q: Array, u: Array) -> Array:
        """As the joint says."""
        return _plain(self._asked("retract", q, u))

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """As the joint says."""
        return _plain(self._asked("chart_rate", q, u, v))

    def difference(self, q: Array, q_other: Array) -> Array:
        """As the joint says."""
        return _plain(self._asked("difference", q, q_other))


class _OwnFields(NamedTuple):
    joint: OwnJoint
    iq: int
    iv: int


class OwnStep(_OwnFields, _Own):
    """What a joint of a user's own does, with its numbers as they are."""

    __slots__ = ()


class _OpenFields(NamedTuple):
    kind: type
    names: tuple[str, ...]
    values: tuple[Any, ...]
    iq: int
    iv: int


class OpenStep(_OpenFields, _Own):
    """The same with its fields apart, so that numbers of several joints of a class can be told from what they share."""

    __slots__ = ()

    @property
    def joint(self) -> OwnJoint:  # type: ignore[override]
        """The joint with these fields, which may be symbols; nothing is checked."""
        out: OwnJoint = object.__new__(self.kind)
        for name, value in zip(self.names, self.values, strict=True):
            object.__setattr__(out, name, value)
        return out


DATA = ("placement", *(f.name for f in fields(OwnJoint) if f.name != "placement"))
"""Fields of every joint, on which its motion does not depend."""


def opened(step: OwnStep) -> OwnStep | OpenStep:
    """The step with its fields apart; as it is where the joint keeps more than its fields, which nothing can tell apart.

    Args:
        step: The step.
    """
    joint = step.joint
    names = tuple(f.name for f in fields(joint) if f.name not in DATA)
    kept = set(getattr(joint, "__dict__", {})) - {f.name for f in fields(joint)}
    if kept:
        return step
    return OpenStep(type(joint), names, tuple(copy.copy(getattr(joint, name)) for name in names), step.iq, step.iv)
