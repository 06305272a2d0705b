"""The interface of all joints, built-in and custom."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hydromechs.geometry import Origin
from hydromechs.spatial import Path
from hydromechs.values import Array, NotNegative, Pair, Row, convert_fields, is_finite, plain

from .._placement import Mdh
from ._consistency import disagreements
from ._general import GeneralStep
from ._moving import MovingStep, motion_subspace, transformation

UNIT_TOLERANCE = 1e-6
"""Maximum deviation of the norm of a quaternion from 1; smaller deviations count as rounding errors and are removed."""

Problem = tuple[tuple[str | int, ...], str]
"""Path relative to the joint, and message."""


class Coordinates(NamedTuple):
    """Group of adjacent coordinates or velocities of a joint."""

    names: tuple[str, ...]
    """Suffixes of the names after the joint name; an empty suffix gives the joint name itself."""
    meaning: str
    """Description of the quantity."""
    unit: str = ""
    """Unit; empty for dimensionless numbers."""

    @property
    def text(self) -> str:
        """Meaning and unit of the quantity."""
        return f"{self.meaning} [{self.unit}]" if self.unit else self.meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint(abc.ABC):
    """A joint between a body and its parent: derive a frozen dataclass with numbers as fields and three methods.

    `q` (nq,) and `v` (nv,) are the coordinates and velocities of the joint, floats or symbols. The methods are NumPy
    operations on these arrays, which are traced and compiled. The joint velocity V_J = S(q) v is in body axes at the body
    origin, linear first. When a model is built, pose, subspace, derivative and chart are compared at several
    configurations.

    The default chart adds coordinates: numbers of coordinates and velocities are equal, and v contains the rates of q.
    """

    placement: Origin | Mdh = field(default_factory=Origin)
    """Joint frame on the parent body, at zero joint motion."""

    kind: ClassVar[str]
    """Name of the joint type in files and messages; defaults to the class name."""
    neutral_q: ClassVar[tuple[float, ...]] = (0.0,)
    """Neutral configuration, shape (nq,)."""
    velocities: ClassVar[int | None] = None
    """Number of velocities; defaults to the number of coordinates."""
    quaternion: ClassVar[int | None] = None
    """Index of the first entry of a unit quaternion in the coordinates; None without a quaternion."""
    unit: ClassVar[str] = "rad"
    """Unit of the coordinates, "rad" or "m"; for a free or ball joint, the unit of the rotation."""
    data: ClassVar[tuple[str, ...]] = ("placement",)
    """Fields that do not affect the joint motion."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(Joint, cls).__init_subclass__(**options)
        if "kind" not in vars(cls):
            cls.kind = cls.__name__

    @abc.abstractmethod
    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return axes R (3, 3) and origin p (3,) [m] of the body in the joint frame."""

    @abc.abstractmethod
    def subspace(self, q: Array) -> Array:
        """Return the motion subspace S, shape (6, nv): the joint velocity in body axes at the body origin is V_J = S v."""

    @abc.abstractmethod
    def subspace_rate(self, q: Array, v: Array) -> Array:
        """Return dS/dt while the joint moves with v, Σ_k ∂S/∂q_k q̇_k, shape (6, nv)."""

    def retract(self, q: Array, u: Array) -> Array:
        """Return the configuration q ⊕ u with the coordinates u (nv,) in the chart around q, shape (nq,)."""
        return q + u

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        """Return u̇ at the configuration q with chart coordinates u and velocity v; v for u = 0; shape (nv,)."""
        return v

    def difference(self, q: Array, q_other: Array) -> Array:
        """Return the chart coordinates u of q_other around q, so that q ⊕ u = q_other, shape (nv,)."""
        return q_other - q

    @property
    def shared(self) -> str:
        """Name under which bodies of one parent share the coordinates of this joint; empty if coordinates are not shared."""
        return ""

    @property
    def adds(self) -> bool:
        """True if the chart adds coordinates, q ⊕ u = q + u."""
        own = type(self)
        return own.retract is Joint.retract and own.chart_rate is Joint.chart_rate

    @property
    def limits(self) -> tuple[float, float] | None:
        """Lower and upper position of a joint with one coordinate, used by joint stops [rad or m]; None if unlimited."""
        return None

    @property
    def damping(self) -> float:
        """Viscous friction coefficient, used by joint friction in simulations [N·m·s/rad or N·s/m]."""
        return 0.0

    @property
    def friction(self) -> float:
        """Coulomb friction, used by joint friction in simulations [N·m or N]."""
        return 0.0

    @property
    def initial_q(self) -> tuple[float, ...]:
        """Initial configuration, shape (nq,)."""
        return self.neutral_q

    @property
    def initial_v(self) -> tuple[float, ...]:
        """Initial velocity, shape (nv,)."""
        return (0.0,) * self.nv

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return len(self.neutral_q)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return len(self.neutral_q) if self.velocities is None else self.velocities

    @property
    def parts(self) -> tuple[Joint, ...]:
        """Single part, the joint itself; composite joints have several parts."""
        return (self,)

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        """Names, meaning and unit of the coordinates."""
        return (Coordinates(_numbered("q", self.nq), self.kind, self.unit),)

    @property
    def rates(self) -> tuple[Coordinates, ...]:
        """Names, meaning and unit of the velocities."""
        return (Coordinates(_numbered("v", self.nv), "rate", f"{self.unit}/s"),)

    def steps(self, iq: int, iv: int) -> tuple:
        """Return the constant and moving transformations (`MovingStep`) from the parent frame to the body frame.

        Coordinates of the joint start at index iq of the mechanism's q, velocities at index iv of v.
        """
        return (*self.placement.steps(2), GeneralStep(self, iq, iv))

    def random_q(self, rng: np.random.Generator, n: int) -> Array:
        """Return random configurations within limits, or up to 1 from the initial configuration in its chart, shape (n, nq)."""
        if self.limits is not None and self.nq == 1:
            return rng.uniform(*self.limits, (n, 1))
        start = np.array(self.initial_q)
        rows = [np.asarray(self.retract(start, rng.uniform(-1.0, 1.0, self.nv)), dtype=float) for _ in range(n)]
        return np.array(rows).reshape(n, self.nq)

    def problems(self, where: str) -> Iterator[Problem]:
        """Yield other errors of the joint data: path relative to the joint, and message with the path `where`."""
        if not is_dataclass(self) or "__dataclass_fields__" not in vars(type(self)):
            yield (), f"{where}: {type(self).__name__} must be a dataclass; add @dataclass(frozen=True)"
            return
        many = f"{self.kind} has {self.nq} coordinates and {self.nv} velocities"
        if self.nq < 1 or not 1 <= self.nv <= 6:
            yield (), f"{where}: {many}; use 1 to 6 velocities"
        elif self.adds and self.nq != self.nv:
            yield (), f"{where}: {many}; define the chart methods retract, chart_rate and difference"
        if self.limits is not None and not self.nq == self.nv == 1:
            yield (
                ("limits",),
                f"joint limits are {plain(self.limits)}, but the joint has {self.nq} coordinates; remove the limits",
            )
        else:
            yield from limit_problems(self)
        if self.quaternion is not None:
            length = float(np.linalg.norm(self.initial_q[self.quaternion : self.quaternion + 4]))
            if not abs(length - 1.0) <= UNIT_TOLERANCE:
                yield ("position",), f"the quaternion in the position has norm {length:.9g}, must be a unit quaternion"

    def disagreements(self) -> Iterator[str]:
        """Yield inconsistencies of pose, subspace, derivative and chart, given valid data."""
        return disagreements(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomJoint(Joint):
    """A joint with limits, friction and an initial state, for any number of coordinates; see `Joint` for the methods."""

    limits: Pair | None = None
    """Lower and upper position of a joint with one coordinate, used by joint stops in simulations [rad or m]; optional."""
    damping: NotNegative = 0.0
    """Viscous friction coefficient, used by joint friction in simulations [N·m·s/rad or N·s/m]."""
    friction: NotNegative = 0.0
    """Coulomb friction, used by joint friction in simulations [N·m or N]."""
    position: Row = ()
    """Initial coordinates [rad or m], shape (nq,), or one number for one coordinate; defaults to the neutral configuration."""
    velocity: Row = ()
    """Initial velocities [rad/s or m/s], shape (nv,), or one number for one velocity; defaults to zero."""

    data = ("placement", "limits", "damping", "friction", "position", "velocity")

    def __post_init__(self) -> None:
        for name in ("position", "velocity"):
            value = getattr(self, name)
            if np.ndim(value) == 0:
                object.__setattr__(self, name, (value,))
        convert_fields(self, "joint")

    @property
    def initial_q(self) -> tuple[float, ...]:
        return self.position or self.neutral_q

    @property
    def initial_v(self) -> tuple[float, ...]:
        return self.velocity or (0.0,) * self.nv

    def problems(self, where: str) -> Iterator[Problem]:
        """Yield errors, including errors of the initial state; see `Joint.problems`."""
        for name, n in (("position", self.nq), ("velocity", self.nv)):
            row = getattr(self, name)
            if not isinstance(row, tuple):
                call = "call CustomJoint.__post_init__(self) in its __post_init__"
                yield (name,), f"{where}.{name} is {row!r}, must be a tuple; {call}"
                return
            if row and len(row) != n:
                yield (name,), f"{where}.{name} has {len(row)} numbers; use {n}"
        yield from Joint.problems(self, where)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedJoint(Joint):
    """A joint that defines its own steps, which gives shorter programs than the general step."""

    def __post_init__(self) -> None:
        convert_fields(self, "joint")

    @abc.abstractmethod
    def steps(self, iq: int, iv: int) -> tuple:
        """Return the transformations from the parent; see `Joint.steps`."""

    def _steps(self) -> tuple:
        return replace(self, placement=Origin()).steps(0, 0)

    @property
    def _moving(self) -> MovingStep | None:
        return next((s for s in self._steps() if isinstance(s, MovingStep)), None)

    def pose(self, q: Array) -> tuple[Array, Array]:
        R, p = Path(tuple(transformation(s, q) for s in self._steps())).pose()
        return R, p

    def subspace(self, q: Array) -> Array:
        steps = self._steps()
        return motion_subspace(steps, [transformation(s, q) for s in steps], q)

    def subspace_rate(self, q: Array, v: Array) -> Array:
        return np.zeros((6, self.nv))

    def retract(self, q: Array, u: Array) -> Array:
        return q if (step := self._moving) is None else step.retract(q, u)

    def chart_rate(self, q: Array, u: Array, v: Array) -> Array:
        return v if (step := self._moving) is None else step.chart_rate(q, u, v)

    def difference(self, q: Array, q_other: Array) -> Array:
        return q_other - q if (step := self._moving) is None else step.difference(q, q_other)

    def problems(self, where: str) -> Iterator[Problem]:
        yield from limit_problems(self)

    def disagreements(self) -> Iterator[str]:
        return iter(())


def limit_problems(joint: Joint) -> Iterator[Problem]:
    """Yield problems of the limits of a joint with one coordinate, and of its initial position."""
    limits = joint.limits
    if limits is None or not is_finite((limits, joint.initial_q)):
        return
    (low, high), (position, *_) = limits, joint.initial_q
    if not low < high:
        yield ("limits",), f"joint limits {plain(limits)} {joint.unit} must be in increasing order"
    elif not low <= position <= high:
        yield ("position",), f"initial joint position {plain(position)} {joint.unit} is outside the limits {plain(limits)}"


def unit_problems(orientation: tuple[float, ...]) -> Iterator[Problem]:
    """Yield problems of the joint field `orientation`, a quaternion (w, x, y, z), shape (4,)."""
    length = float(np.linalg.norm(orientation))
    if is_finite(orientation) and not abs(length - 1.0) <= UNIT_TOLERANCE:
        text = f"orientation {plain(orientation)} has norm {length:.9g}, must be a unit quaternion (w, x, y, z)"
        yield ("orientation",), text


def _numbered(letter: str, n: int) -> tuple[str, ...]:
    """Return suffixes for n coordinates or velocities: an empty suffix for one, "q1", "q2", ... for several."""
    return ("",) if n == 1 else tuple(f"{letter}{k + 1}" for k in range(n))
