"""Interface of third-party physics engines: rigid bodies, joints and contacts without water."""

import abc
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from hydromechs._lazy import import_extra
from hydromechs.model import Model, joints
from hydromechs.values import Array

from ._scene import Scene


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress terminal output of C++ code."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(fd) for fd in (1, 2)]
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd in (1, 2):
            os.dup2(sink, fd)
        yield
    finally:
        for fd, old in zip((1, 2), saved, strict=True):
            os.dup2(old, fd)
            os.close(old)
        os.close(sink)


class Touch(NamedTuple):
    """Contact of the last step."""

    body: int
    """Index of the touched body."""
    other: int | None
    """Index of the touching body; None for terrain."""
    solid: str
    """Name of the touching body or terrain."""
    point: Array
    """Contact point on the body in world axes [m], shape (3,)."""
    force: Array
    """Force on the body in world axes [N], shape (3,); the opposite force acts on the other body."""
    normal: float
    """Normal component of the force [N]."""
    opposite: Array | None = None
    """Contact point on the other body [m], shape (3,); None if equal to `point`. If soft surfaces overlap, friction acts at the
    surface of each body, so that the points differ by the penetration depth.
    """


class Engine(abc.ABC):
    """Physics engine with one mechanism, which integrates M_RB v̇ + c_RB = τ + contacts by semi-implicit Euler steps."""

    name: ClassVar[str]
    """Name of the engine in files."""
    module: ClassVar[str] = ""
    """Python module that must be installed; empty if none."""
    joint_types: ClassVar[Mapping[type[joints.Joint], Any]]
    """Supported joint types, each with the engine's constructor."""
    takes_inertia: ClassVar[bool] = False
    """True if `apply` accepts a joint-space added inertia for the step."""
    takes_rotors: ClassVar[bool] = False
    """True if the joints of the engine support rotor inertia."""
    takes_stiffness: ClassVar[bool] = False
    """True if contacts use stiffness and damping of the material, False if they are rigid."""
    hint: ClassVar[str] = ""
    """Installation notes."""

    def library(self) -> ModuleType:
        """Return the Python module of the engine, or raise an error with install instructions."""
        with quiet():
            return import_extra(
                self.module, self.name, f"engine {self.name!r}", f"{self.hint}; or omit the engine to use the built-in one"
            )

    @abc.abstractmethod
    def faults(self, model: Model, scene: Scene) -> list[str]:
        """Return descriptions of unsupported features, empty if all features are supported."""

    @abc.abstractmethod
    def carries(self, model: Model, added: Array) -> Array:
        """Return the added mass that bodies of the engine can carry, about body origins in body axes, shape (nb, 6, 6)."""

    @abc.abstractmethod
    def load(self, model: Model, scene: Scene, carried: Array, armature: Array) -> None:
        """Build the mechanism and its possible contacts.

        `carried` is the added inertia of each body, as returned by `carries`, shape (nb, 6, 6). `armature` is the reflected
        rotor inertia of each degree of freedom, shape (nv,); it is zero unless `takes_rotors`.
        """

    @abc.abstractmethod
    def put(self, q: Array, v: Array) -> None:
        """Set configuration (nq,) and velocity (nv,), in HydroMechs coordinates."""

    @abc.abstractmethod
    def state(self) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,), in HydroMechs coordinates."""

    @abc.abstractmethod
    def apply(self, force: Array, inertia: Array | None = None) -> None:
        """Set the generalised force of the next step, dual to HydroMechs velocities, shape (nv,).

        `inertia` is a joint-space inertia M_A that adds the force −M_A v̇, shape (nv, nv); it requires `takes_inertia`.
        """

    @abc.abstractmethod
    def step(self, h: float) -> None:
        """Take a step of length h [s]."""

    @abc.abstractmethod
    def acceleration(self) -> Array:
        """Return v̇ of the last step including contacts, shape (nv,)."""

    def advance(self, h: float, force: Array, inertia: Array | None = None) -> Array:
        """Take a step of length h [s] with a force (see `apply`), and return the acceleration, shape (nv,)."""
        self.apply(force, inertia)
        self.step(h)
        return self.acceleration()

    @abc.abstractmethod
    def touches(self) -> list[Touch]:
        """Return the contacts of the last step."""

    @abc.abstractmethod
    def save(self) -> Any:
        """Return all data that determine the next step, for `restore`."""

    @abc.abstractmethod
    def restore(self, saved: Any) -> None:
        """Restore the data returned by `save`."""
