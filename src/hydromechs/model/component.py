"""Components: the common interface of thrusters, drives, friction, stops, contacts, and custom classes.

A component is a frozen dataclass with a method `act`, written in NumPy operations so that it can be traced. It receives the
current instant (`Now`) and its own states and inputs by name, and returns an `Action`; omitted entries of an action are zero.
Plant, recording, energy audit and file format use only this interface of components.
"""

from __future__ import annotations

import abc
import enum
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from hydromechs.values import Array, Scalar, nearest

from ._model import JointPart, Model
from ._now import FrameNow, JointForce, JointNow, Now, StillWater, WaterNow, WaterPoint, Wrench

__all__ = [
    "Action",
    "Component",
    "Constraint",
    "FastMode",
    "FrameNow",
    "InJoints",
    "JointForce",
    "JointNow",
    "Law",
    "Mobility",
    "MovedJoint",
    "Now",
    "Order",
    "Output",
    "Slot",
    "StillWater",
    "Values",
    "WaterNow",
    "WaterPoint",
    "Wrench",
    "fastest_root",
    "mode_of",
]

Values: TypeAlias = Mapping[str, Scalar]
"""States or inputs of one component, by name."""


class Slot(NamedTuple):
    """A number that a component stores (a state) or receives (an input)."""

    name: str
    """Name within the component; empty for an input with the component's name."""
    start: float | Callable[[Now], float] = 0.0
    """Initial value, or a function of the initial instant that returns it."""
    unit: str = "1"
    """Unit, such as "N"."""
    setting: bool = False
    """True for an input that is set by name and is not a command (a switch, an external force, the rate of a target)."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """Minimum and maximum of an input; values outside are rejected, and commands of a controller are reported."""
    frozen_in_trim: bool = False
    """True if it is part of the configuration, which `trim` does not change, such as the length of a line on a winch."""

    def full_name(self, component: str) -> str:
        """Name in a plant: the component's name and its own."""
        return f"{component}.{self.name}" if self.name else component

    def value_at(self, now: Now) -> float:
        """Return its initial value, at the given instant."""
        return self.start(now) if callable(self.start) else self.start


class Output(NamedTuple):
    """A variable of the recording; each component that records it is one entry along the dimension `Component.kind`."""

    name: str
    """Name of the variable."""
    units: str
    """Unit, such as "N"; "1" for dimensionless numbers."""
    long_name: str
    """Description."""
    labels: tuple[str, ...] = ()
    """Names of the entries of one component's value; empty for a number."""
    dimension: str = ""
    """Name of their dimension."""
    dtype: str = "float64"
    """Type of the stored numbers."""


class Constraint(NamedTuple):
    """Rows J v̇ + bias = −2 α J v − α² error that hold while `active`; forces λ act along Jᵀ."""

    J: Array
    """Shape (c, nv)."""
    bias: Array
    """J̇ v, shape (c,)."""
    error: Array
    """Error [m, rad], shape (c,)."""
    active: Scalar
    """1 while the constraint is closed, else 0."""
    stabilisation: float
    """Decay rate α of errors [1/s]."""
    apart: tuple[Scalar, Scalar]
    """Distance [m] and angle [rad] of the error."""
    tolerance: float
    """Maximum distance and angle at which the constraint can close [m, rad]."""
    between: tuple[str, str]
    """Names of the joined frames."""
    dofs: tuple[int, ...] | None = None
    """Degrees of freedom with nonzero columns of J at some configuration; None for all. Constraints on separate trees are
    solved separately."""
    record: Callable[[Array], Mapping[str, Scalar | Array]] = lambda force: {}
    """Function of the forces λ, shape (c,), that returns outputs."""
    wrenches: Callable[[Array], Sequence[Wrench]] = lambda force: ()
    """Return the wrenches on bodies from the forces λ, shape (c,), as measured by a sensor in a holding arm."""

    def check_closure(self, t: float, component: Component) -> None:
        """Raise `ValueError` if the joined frames are too far apart to close; `component` owns the constraint."""
        distance, angle = (float(x) for x in self.apart)
        if max(distance, angle) > self.tolerance:
            raise ValueError(
                f"t = {t:g} s: {component.kind} {component.name!r}: {self.between[0]!r} and {self.between[1]!r} do not meet: "
                f"they are {distance:.3g} m and {angle:.3g} rad apart, allowed are {self.tolerance:g}; move them together "
                "first, or widen its tolerance"
            )


class MovedJoint(NamedTuple):
    """A joint with prescribed acceleration; the required force is computed."""

    dofs: slice
    """Its indices in v."""
    vdot: Array
    """Its acceleration [m/s², rad/s²], shape (n,)."""
    record: Callable[[Array], Mapping[str, Scalar | Array]] = lambda force: {}
    """Function of the joint force, without those of other components [N, N·m], shape (n,), that returns outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Effects of a component at one instant."""

    forces: Sequence[Wrench] = ()
    """Wrenches on bodies."""
    joint_forces: Sequence[JointForce] = ()
    """Forces in joints."""
    armature: Sequence[tuple[slice, float]] = ()
    """Additional constant inertia of degrees of freedom, such as that of geared rotors: index in v, inertia ≥ 0 [kg·m² or
    kg]."""
    constraints: Sequence[Constraint] = ()
    """Constraint rows, solved together with the dynamics."""
    motions: Sequence[MovedJoint] = ()
    """Joints with prescribed acceleration; all velocities of a body's joint, or none."""
    rates: Mapping[str, Scalar] = field(default_factory=dict)
    """Rates of the component's states, by name [unit/s]; all of them."""
    record: Mapping[str, Scalar | Array] = field(default_factory=dict)
    """Values of the component's outputs, by name."""
    energy: Scalar | None = None
    """Energy stored in the component [J]; None if it stores none."""
    power: Scalar | None = None
    """Power supplied to the mechanism, excluding the change of stored energy: Σ F·V + d(energy)/dt [W]; losses are negative.
    Required if energy is stored; otherwise it defaults to Σ F·V."""


class FastMode(NamedTuple):
    """A fast mode of a component: m ẍ + c ẋ + k x = 0, or a lag."""

    name: str
    """Description, such as "servo of joint 'elbow'"."""
    frequency: float
    """√(k/m) [rad/s]; 0 for a lag."""
    decay: float
    """c/m, or 1/T of a lag [1/s]."""
    meets: bool = False
    """True if the mode starts with an impact, as in contacts and stops."""
    internal: bool = False
    """True if the spring's deflection is an internal state, as for friction and the oil of a drive."""
    remedy: str = "soften it"
    """Advice for slowing the mode down, as text."""

    @property
    def fastest(self) -> float:
        """Maximum |λ| of λ² + decay λ + frequency² = 0 [1/s]."""
        return fastest_root(self.frequency, self.decay)


def fastest_root(frequency: float, decay: float) -> float:
    """Maximum |λ| of λ² + decay λ + frequency² = 0, decay [1/s], frequency [rad/s], [1/s]; huge numbers do not overflow."""
    if decay <= 2.0 * frequency:
        return frequency
    return 0.5 * decay * (1.0 + math.sqrt(1.0 - (2.0 * frequency / decay) ** 2))


def mode_of(name: str, k: float, c: float, mobility: float, *, meets: bool = False, internal: bool = False) -> FastMode:
    """Return the mode of a stiffness [N/m or N·m/rad] and a damping [N·s/m or N·m·s/rad] on an inertia, see `FastMode`.

    The mobility is the acceleration per force of that inertia [1/kg or 1/(kg·m²)].
    """
    return FastMode(name, math.sqrt(max(k, 0.0) * mobility), c * mobility, meets, internal)


class Mobility(Protocol):
    """Mobility of a mechanism at the points where components act, for floats."""

    def joint(self, dofs: slice) -> float:
        """Maximum acceleration per force in a joint [1/kg or 1/(kg·m²)]."""

    def together(self, k: Array) -> float:
        """Largest eigenvalue of M⁻¹ diag(k), with a stiffness or damping of each degree of freedom, shape (nv,)."""

    def point(self, body: int, p: Array) -> float:
        """Maximum acceleration per force at a point of a body, p in its axes [1/kg]."""

    def turn(self, body: int) -> float:
        """Maximum angular acceleration per torque on a body [1/(kg·m²)]."""


class Order(enum.IntEnum):
    """Order of components in a plant; components of the same rank follow the order of the model's joints, or of the list."""

    THRUSTER = 0
    DRIVE = 1
    MOTION = 2
    FRICTION = 3
    SPRING = 4
    STOPS = 5
    CONTACT = 6
    EXTERNAL = 7
    OTHER = 8

    def of_joint(self, model: Model, joint: str) -> tuple[int, int]:
        """Return the order of a component that acts in a joint."""
        return self, model.joint_parts[joint].v.start if joint in model.joint_parts else 0


def _names_of(model: Model, what: str) -> Sequence[str]:
    if what == "joint":
        return list(model.joint_parts)
    return [*(model.frames if "frame" in what else ()), *(model.body_names if "body" in what else ())]


def _kind_of(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Component(abc.ABC):
    """A force or actuator. Derive a frozen dataclass from it and define `act`."""

    __slots__ = ()
    name: str
    """Name in files and recordings, unique in a plant."""
    kind: ClassVar[str] = "component"
    """Dimension of its entry in the recording; defaults to the class name, for example spring_line for SpringLine."""
    cause: ClassVar[str] = "component"
    """Cause of its work in the energy audit; defaults to its kind."""
    label: ClassVar[str] = "component"
    """The sum of its wrenches on bodies is recorded as force_<label>; defaults to its kind."""
    outputs: ClassVar[tuple[Output, ...]] = ()
    """Recorded outputs."""
    refers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Fields that hold names of the model, with the kind of object: "frame", "body", "joint" or "frame or body"."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" not in cls.__dict__ and cls.kind == "component":
            cls.kind = _kind_of(cls.__name__)
        for name in ("cause", "label"):
            if name not in cls.__dict__ and getattr(cls, name) == "component":
                setattr(cls, name, cls.kind)

    def unknown_names(self, model: Model) -> list[tuple[str, str]]:
        """Return the fields with names that are missing from the model, each with a message."""
        out = []
        for key, what in self.refers.items():
            given, known = getattr(self, key), _names_of(model, what)
            for name in (given,) if isinstance(given, str) else given:
                if name not in known:
                    words = _kind_of(type(self).__name__).replace("_", " ")
                    hint = nearest(str(name), known)
                    out.append((key, f"{words} {self.name!r}: no {what} {name!r} in {model.name}{hint}"))
        return out

    def renamed(self, before: str) -> Component:
        """Return the component for a model whose names have a prefix such as "rov.", in a scenario of several models."""
        if not before or not self.refers:
            return self
        own = ("name",) if "name" in {f.name for f in fields(self)} else ()  # type: ignore[arg-type]  # a dataclass
        given = {key: getattr(self, key) for key in (*own, *self.refers)}
        values = {k: before + x if isinstance(x, str) else tuple(before + name for name in x) for k, x in given.items()}
        return replace(self, **values)  # type: ignore[type-var]  # a dataclass

    def states(self, model: Model) -> Sequence[Slot]:
        """Its internal states; none by default."""
        return ()

    def inputs(self, model: Model) -> Sequence[Slot]:
        """Its inputs: commands, switches; none by default."""
        return ()

    @property
    def timed(self) -> Sequence[str]:
        """Names of additional numbers that change at known times; none by default."""
        return ()

    def timed_values(self, t: float) -> tuple[Sequence[float], float]:
        """Return the numbers in `timed` from a time on, and the time until which they hold [s]."""
        return (), math.inf

    def initial(self, model: Model, t: float) -> Sequence[tuple[JointPart, Array, Array]]:
        """Return joints whose initial state it overrides, with their q and v; none by default."""
        return ()

    @property
    def acts(self) -> bool:
        """False for a part from which components are derived, such as terrain, and for one that disables a default."""
        return True

    @property
    def replaces(self) -> Sequence[str]:
        """Names of derived components that it replaces, such as "elbow.stops", in addition to its own name."""
        return ()

    @property
    def rotors(self) -> Mapping[str, float]:
        """Return the inertia of its rotors by joint [kg·m² or kg]; none by default."""
        return {}

    @property
    def external_body(self) -> str | None:
        """Body on which its held inputs act as a wrench, by name; None by default."""
        return None

    def as_force(self, given: bool) -> Component:
        """Return a copy whose command is its force, to find an equilibrium; by default the component itself.

        Limits apply to given commands, not to sought ones.
        """
        return self

    @property
    def opens_at(self) -> tuple[str, float] | None:
        """Return its recorded quantity, and the level above which its switch opens; None if only events open it."""
        return None

    def closing(self, model: Model, kin: Any) -> str | None:
        """Return the message of an event that closes the component; None for the message of an impact."""
        return None

    def order(self, model: Model) -> tuple[int, int]:
        """Return its position in a plant, which determines the order of commands, states and sums; see `Order`."""
        return Order.OTHER, 0

    def owns(self, model: Model, component: Component) -> bool:
        """True if a component of a plant is this one, or derived from it."""
        return component is self

    def check_beside(self, parts: Sequence[Component]) -> None:  # noqa: B027  nothing to check is the usual case
        """Raise `ValueError` if it conflicts with other parts, such as a prescribed motion with a drive."""

    @abc.abstractmethod
    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return its effects at one instant, in NumPy operations; `z`: states, `u`: inputs and `timed` numbers, by name."""

    @property
    def alike(self) -> Hashable:
        """Key shared by components that `act_together` handles at once; None for separate evaluation."""
        return None

    @classmethod
    def act_together(cls, components: Sequence[Component], now: Now, z: Sequence[Values], u: Sequence[Values]) -> list[Action]:
        """Return the same effects as `act` for components with the same key, with less code."""
        return [c.act(now, own, given) for c, own, given in zip(components, z, u, strict=True)]

    def entries(self, model: Model) -> Sequence[str]:
        """Its names along the dimension `kind` of the recording: its name, unless it records several values of a kind."""
        return (self.name,)

    def check(self, model: Model) -> None:  # noqa: B027  nothing to check is the usual case
        """Raise `ValueError` or `KeyError` if it does not fit a model; by default `act` must do so."""

    def check_start(self, now: Now) -> None:  # noqa: B027  as above
        """Raise `ValueError` if a run cannot start at an instant with its initial states."""

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return its fast modes, for advice on the step; none by default."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Return notes for a run, such as assumed values; none by default."""
        return ()


class Law(NamedTuple):
    """Force and energy in one of many joints."""

    tau: Array
    """Force in the joint, dual to its velocity [N·m, N], shape (nv,)."""
    energy: Scalar
    """Energy stored there [J]."""
    power: Scalar
    """As in `Action` [W]."""


class InJoints(Component):
    """A component with the same law in many joints. Simulations of large trees run its law in a loop.

    This requires joints with equally many coordinates, each named once, and a class without its own `act`, states, inputs or
    outputs. Otherwise the component is evaluated like any other.
    """

    __slots__ = ()

    @abc.abstractmethod
    def joint_names(self, model: Model) -> Sequence[str]:
        """Names of the joints."""

    @abc.abstractmethod
    def numbers(self, model: Model) -> Array:
        """Parameters in which the joints differ, shape (joints, n)."""

    @abc.abstractmethod
    def law(self, q: Array, v: Array, numbers: Array) -> Law:
        """Return force and energy in a joint from its parameters (n,), in NumPy operations."""

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the law in all joints."""
        names, forces = self.joint_names(now.model), []
        energy: Scalar = 0.0
        power: Scalar = 0.0
        for name, numbers in zip(names, self.numbers(now.model), strict=True):
            joint = now.joint(name)
            does = self.law(joint.q, joint.v, numbers)
            forces.append(joint.force(does.tau))
            energy, power = energy + does.energy, power + does.power
        return Action(joint_forces=tuple(forces), energy=energy, power=power)
