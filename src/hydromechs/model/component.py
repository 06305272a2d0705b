"""Components: the common interface of thrusters, drives, friction, stops, contacts and custom classes.

A component is a frozen dataclass with a method `act`, written in NumPy operations so that it can be traced. It receives the
current instant (`Now`) and its own states and inputs by name, and returns an `Action`; omitted entries of an `Action` are
zero. Plant, recording, energy audit and file format use components only through this interface.
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
"""States or inputs of one component, keyed by name."""


class Slot(NamedTuple):
    """Scalar state or scalar input of one component."""

    name: str
    """Name within the component; empty for an input with the same name as the component."""
    start: float | Callable[[Now], float] = 0.0
    """Initial value, or a function of the initial instant that returns the value."""
    unit: str = "1"
    """Unit, such as "N"."""
    setting: bool = False
    """True for an input, such as a switch, an external force or the rate of a target, that is set by name and is not a
    command."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """Minimum and maximum of an input; values outside the limits are rejected, and commands of a controller are reported."""
    frozen_in_trim: bool = False
    """True for a state or input, such as the length of a winch line, that is part of the configuration and that `trim`
    therefore does not change."""

    def full_name(self, component: str) -> str:
        """Return the full name in a plant, from the name of the component and the name of the slot."""
        return f"{component}.{self.name}" if self.name else component

    def value_at(self, now: Now) -> float:
        """Return the initial value at the given instant."""
        return self.start(now) if callable(self.start) else self.start


class Output(NamedTuple):
    """Variable of the recording; each component that records the variable is one entry along the dimension `Component.kind`."""

    name: str
    """Name of the variable."""
    units: str
    """Unit, such as "N"; "1" for dimensionless numbers."""
    long_name: str
    """Description of the variable."""
    labels: tuple[str, ...] = ()
    """Names of the entries of a vector value of one component; empty for a scalar."""
    dimension: str = ""
    """Name of the dimension of `labels`."""
    dtype: str = "float64"
    """NumPy data type of the stored numbers."""


class Constraint(NamedTuple):
    """Constraint rows J v̇ + bias = −2 α J v − α² error, imposed while `active`; forces λ act along Jᵀ."""

    J: Array
    """Constraint Jacobian, shape (c, nv)."""
    bias: Array
    """Velocity-product term J̇ v, shape (c,)."""
    error: Array
    """Constraint error [m, rad], shape (c,)."""
    active: Scalar
    """1 while the constraint is closed, 0 while it is open [-]."""
    stabilisation: float
    """Decay rate α of the constraint error [1/s]."""
    apart: tuple[Scalar, Scalar]
    """Distance [m] and angle [rad] of the error."""
    tolerance: float
    """Maximum distance and angle between the frames for closing the constraint [m, rad]."""
    between: tuple[str, str]
    """Names of the joined frames."""
    dofs: tuple[int, ...] | None = None
    """Degrees of freedom with nonzero columns of J at some configuration; None for all degrees of freedom. Constraints on
    separate trees are solved separately."""
    record: Callable[[Array], Mapping[str, Scalar | Array]] = lambda force: {}
    """Function that maps the constraint forces λ, shape (c,), to outputs."""
    wrenches: Callable[[Array], Sequence[Wrench]] = lambda force: ()
    """Function that maps the constraint forces λ, shape (c,), to wrenches on bodies, as measured by a sensor in the holding
    arm."""

    def check_closure(self, t: float, component: Component) -> None:
        """Raise `ValueError` if the joined frames are too far apart to close; `component` owns the constraint."""
        distance, angle = (float(x) for x in self.apart)
        if max(distance, angle) > self.tolerance:
            raise ValueError(
                f"t = {t:g} s: {component.kind} {component.name!r}: {self.between[0]!r} and {self.between[1]!r} do not meet: "
                f"the frames are {distance:.3g} m and {angle:.3g} rad apart, with limits of {self.tolerance:g}; move the "
                "frames together first, or increase the tolerance"
            )


class MovedJoint(NamedTuple):
    """Joint with prescribed acceleration; the required force is computed."""

    dofs: slice
    """Indices of the joint in v."""
    vdot: Array
    """Prescribed acceleration [m/s², rad/s²], shape (n,)."""
    record: Callable[[Array], Mapping[str, Scalar | Array]] = lambda force: {}
    """Function that maps the joint force, without forces of other components [N, N·m], shape (n,), to outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Effects of a component at one instant."""

    forces: Sequence[Wrench] = ()
    """Wrenches on bodies."""
    joint_forces: Sequence[JointForce] = ()
    """Forces in joints."""
    armature: Sequence[tuple[slice, float]] = ()
    """Additional constant inertia of degrees of freedom, such as the inertia of geared rotors: slice of v, inertia ≥ 0
    [kg·m² or kg]."""
    constraints: Sequence[Constraint] = ()
    """Constraint rows, solved together with the dynamics."""
    motions: Sequence[MovedJoint] = ()
    """Joints with prescribed acceleration; a body's joint has prescribed acceleration in all velocities or in none."""
    rates: Mapping[str, Scalar] = field(default_factory=dict)
    """Rates of all states of the component, keyed by name [unit/s]."""
    record: Mapping[str, Scalar | Array] = field(default_factory=dict)
    """Values of the outputs of the component, keyed by name."""
    energy: Scalar | None = None
    """Energy stored in the component [J]; None for a component without energy storage."""
    power: Scalar | None = None
    """Power supplied to the mechanism, excluding the change of stored energy: Σ F·V + d(energy)/dt [W]; losses are negative.
    Required if the component stores energy; defaults to Σ F·V otherwise."""


class FastMode(NamedTuple):
    """Fast mode of a component: m ẍ + c ẋ + k x = 0, or a first-order lag."""

    name: str
    """Description, such as "servo of joint 'elbow'"."""
    frequency: float
    """Undamped natural frequency √(k/m) [rad/s]; 0 for a lag."""
    decay: float
    """Decay rate c/m, or 1/T of a lag [1/s]."""
    meets: bool = False
    """True if the mode starts with an impact, as for contacts and stops."""
    internal: bool = False
    """True if the deflection of the spring is an internal state, as for friction and the oil of a drive."""
    remedy: str = "soften it"
    """Advice on slowing down the mode, as an imperative."""

    @property
    def fastest(self) -> float:
        """Maximum |λ| of the roots of λ² + decay λ + frequency² = 0 [1/s]."""
        return fastest_root(self.frequency, self.decay)


def fastest_root(frequency: float, decay: float) -> float:
    """Return the maximum |λ| of the roots of λ² + decay λ + frequency² = 0 [1/s]; huge numbers do not overflow."""
    if decay <= 2.0 * frequency:
        return frequency
    return 0.5 * decay * (1.0 + math.sqrt(1.0 - (2.0 * frequency / decay) ** 2))


def mode_of(name: str, k: float, c: float, mobility: float, *, meets: bool = False, internal: bool = False) -> FastMode:
    """Return the `FastMode` of a stiffness k [N/m or N·m/rad] and a damping c [N·s/m or N·m·s/rad] on an inertia.

    The mobility is the inverse of the inertia [1/kg or 1/(kg·m²)].
    """
    return FastMode(name, math.sqrt(max(k, 0.0) * mobility), c * mobility, meets, internal)


class Mobility(Protocol):
    """Mobility of a mechanism at the points of action of components, as floats."""

    def joint(self, dofs: slice) -> float:
        """Return the maximum acceleration per force in a joint [1/kg or 1/(kg·m²)]."""

    def together(self, k: Array) -> float:
        """Return the largest eigenvalue of M⁻¹ diag(k) for a stiffness or damping k of each degree of freedom, shape (nv,)."""

    def point(self, body: int, p: Array) -> float:
        """Return the maximum acceleration per force at a point p of a body, in body axes [1/kg]."""

    def turn(self, body: int) -> float:
        """Return the maximum angular acceleration per torque on a body [1/(kg·m²)]."""


class Order(enum.IntEnum):
    """Order of components in a plant. Within a rank, they follow the order of their joints, or of the list of components."""

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
        """Return the rank of a component in a joint, and the first index of the joint in v."""
        return self, model.joint_parts[joint].v.start if joint in model.joint_parts else 0


def _names_of(model: Model, what: str) -> Sequence[str]:
    if what == "joint":
        return list(model.joint_parts)
    return [*(model.frames if "frame" in what else ()), *(model.body_names if "body" in what else ())]


def _kind_of(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Component(abc.ABC):
    """A force or actuator. Derive a frozen dataclass from this class and define `act`."""

    __slots__ = ()
    name: str
    """Name in files and recordings, unique in a plant."""
    kind: ClassVar[str] = "component"
    """Dimension of the component in the recording; defaults to the class name, for example spring_line for SpringLine."""
    cause: ClassVar[str] = "component"
    """Cause to which the energy audit assigns the work of the component; defaults to the kind."""
    label: ClassVar[str] = "component"
    """Suffix of the recorded variable force_<label>, the sum of the wrenches on bodies; defaults to the kind."""
    outputs: ClassVar[tuple[Output, ...]] = ()
    """Outputs that the component records."""
    refers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Fields that contain names of objects in the model, with the kind of object: "frame", "body", "joint" or "frame or
    body"."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" not in cls.__dict__ and cls.kind == "component":
            cls.kind = _kind_of(cls.__name__)
        for name in ("cause", "label"):
            if name not in cls.__dict__ and getattr(cls, name) == "component":
                setattr(cls, name, cls.kind)

    def unknown_names(self, model: Model) -> list[tuple[str, str]]:
        """Return the fields that contain unknown names, each with a message."""
        out = []
        for key, what in self.refers.items():
            given, known = getattr(self, key), _names_of(model, what)
            for name in (given,) if isinstance(given, str) else given:
                if name not in known:
                    words = _kind_of(type(self).__name__).replace("_", " ")
                    hint = nearest(str(name), known)
                    out.append((key, f"{words} {self.name!r}: {model.name} has no {what} {name!r}{hint}"))
        return out

    def renamed(self, before: str) -> Component:
        """Return a copy for a scenario with several models, in which names have a prefix such as "rov."."""
        if not before or not self.refers:
            return self
        own = ("name",) if "name" in {f.name for f in fields(self)} else ()  # type: ignore[arg-type]  # a dataclass
        given = {key: getattr(self, key) for key in (*own, *self.refers)}
        values = {k: before + x if isinstance(x, str) else tuple(before + name for name in x) for k, x in given.items()}
        return replace(self, **values)  # type: ignore[type-var]  # a dataclass

    def states(self, model: Model) -> Sequence[Slot]:
        """Return the internal states of the component; none by default."""
        return ()

    def inputs(self, model: Model) -> Sequence[Slot]:
        """Return the inputs of the component, such as commands and switches; none by default."""
        return ()

    @property
    def timed(self) -> Sequence[str]:
        """Names of additional numbers that change at specified times; none by default."""
        return ()

    def timed_values(self, t: float) -> tuple[Sequence[float], float]:
        """Return the numbers in `timed` at a time, and the time at which the numbers change next [s]."""
        return (), math.inf

    def initial(self, model: Model, t: float) -> Sequence[tuple[JointPart, Array, Array]]:
        """Return joints whose initial state the component overrides, with their q and v; none by default."""
        return ()

    @property
    def acts(self) -> bool:
        """False for an object that disables a default, or from which components are derived, for example terrain."""
        return True

    @property
    def replaces(self) -> Sequence[str]:
        """Names of derived components that this component replaces, such as "elbow.stops", in addition to its own name."""
        return ()

    @property
    def rotors(self) -> Mapping[str, float]:
        """Inertia of the rotors by joint [kg·m² or kg]; none by default."""
        return {}

    @property
    def external_body(self) -> str | None:
        """Name of the body to which the component applies a wrench that callers and events set; None by default."""
        return None

    def as_force(self, given: bool) -> Component:
        """Return a copy whose command is its force, for the computation of an equilibrium; by default the component itself.

        Limits apply to given commands, not to the unknown commands of an equilibrium.
        """
        return self

    @property
    def opens_at(self) -> tuple[str, float] | None:
        """Recorded quantity, and the level above which it opens the switch; None if only events open the switch."""
        return None

    def closing(self, model: Model, kin: Any) -> Sequence[str] | None:
        """Return the messages of an event that closes the component, one per world; None for the message of an impact.

        `kin`: kinematics; its `p_WB` and `R_WB` have the shapes (worlds, 3) and (worlds, 3, 3) for each body.
        """
        return None

    def order(self, model: Model) -> tuple[int, int]:
        """Return the position in a plant, which determines the order of commands, states and sums; see `Order`."""
        return Order.OTHER, 0

    def owns(self, model: Model, component: Component) -> bool:
        """True if a component of a plant is this component, or was derived from it."""
        return component is self

    def check_beside(self, parts: Sequence[Component]) -> None:  # noqa: B027  nothing to check is the usual case
        """Raise `ValueError` if the component conflicts with other components, for example a prescribed motion with a drive."""

    @abc.abstractmethod
    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the effects at one instant, in NumPy operations; `z`: states, `u`: inputs and `timed` numbers, by name."""

    @property
    def alike(self) -> Hashable:
        """Key shared by components that `act_together` evaluates together; None for separate evaluation."""
        return None

    @classmethod
    def act_together(cls, components: Sequence[Component], now: Now, z: Sequence[Values], u: Sequence[Values]) -> list[Action]:
        """Return the effects that `act` returns for each of several components with equal keys, with less code."""
        return [c.act(now, own, given) for c, own, given in zip(components, z, u, strict=True)]

    def entries(self, model: Model) -> Sequence[str]:
        """Return the names along the dimension `kind` of the recording; by default the name of the component."""
        return (self.name,)

    def check(self, model: Model) -> None:  # noqa: B027  nothing to check is the usual case
        """Raise `ValueError` or `KeyError` if the component does not match a model; by default, `act` raises them."""

    def check_start(self, now: Now) -> None:  # noqa: B027  as above
        """Raise `ValueError` if a run cannot start at an instant with the initial states of the component."""

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return the fast modes of the component, for advice on the step size; none by default."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Notes for a run, such as assumed values; none by default."""
        return ()


class Law(NamedTuple):
    """Force, energy and power of a component in one of several joints."""

    tau: Array
    """Force dual to the joint velocity [N·m, N], shape (nv,)."""
    energy: Scalar
    """Energy stored in the joint [J]."""
    power: Scalar
    """Power supplied to the mechanism, see `Action.power` [W]."""


class InJoints(Component):
    """A component with the same law in many joints. Simulations of large trees evaluate the law in a loop.

    The loop requires joints with equal numbers of coordinates, each named once, and a class that does not override `act`,
    states, inputs or outputs. Otherwise the component is evaluated like any other component.
    """

    __slots__ = ()

    @abc.abstractmethod
    def joint_names(self, model: Model) -> Sequence[str]:
        """Return the names of the joints."""

    @abc.abstractmethod
    def numbers(self, model: Model) -> Array:
        """Return the parameters that differ between the joints, shape (joints, n)."""

    @abc.abstractmethod
    def law(self, q: Array, v: Array, numbers: Array) -> Law:
        """Return force, energy and power in a joint from the parameters of the joint (n,), in NumPy operations."""

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the forces in all joints, and the sums of energy and power."""
        names, forces = self.joint_names(now.model), []
        energy: Scalar = 0.0
        power: Scalar = 0.0
        for name, numbers in zip(names, self.numbers(now.model), strict=True):
            joint = now.joint(name)
            does = self.law(joint.q, joint.v, numbers)
            forces.append(joint.force(does.tau))
            energy, power = energy + does.energy, power + does.power
        return Action(joint_forces=tuple(forces), energy=energy, power=power)
