"""Interface of third-party physics engines: rigid bodies, joints and contact, without water."""

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
    """Suppress output of C++ code to the terminal."""
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
    """Contact in the last step."""

    body: int
    """Index of the touched body."""
    other: int | None
    """Index of the touching body; None for terrain."""
    solid: str
    """Name of that body or terrain."""
    point: Array
    """Point of the body at which the force acts, in world axes [m], shape (3,)."""
    force: Array
    """Force on the body in world axes [N], shape (3,); the opposite force acts on the other body."""
    normal: float
    """Its part along the normal [N]."""
    opposite: Array | None = None
    """Point of the other body at which the opposite force acts [m], shape (3,); `point` if None. If soft surfaces overlap,
    friction acts at the surface of each body, so the two points differ by the penetration depth."""


class Engine(abc.ABC):
    """Physics engine with one mechanism. It integrates M_RB v̇ + c_RB = τ + contacts by semi-implicit Euler steps."""

    name: ClassVar[str]
    """Name in files."""
    module: ClassVar[str] = ""
    """Its Python module, which must be installed; empty if there is none."""
    joint_types: ClassVar[Mapping[type[joints.Joint], Any]]
    """Supported joint types, each with its constructor."""
    takes_inertia: ClassVar[bool] = False
    """True if `apply` accepts an added joint-space inertia for the step."""
    takes_rotors: ClassVar[bool] = False
    """True if its joints have rotors."""
    takes_stiffness: ClassVar[bool] = False
    """True if its contacts have the stiffness and damping of their material; else they are rigid."""
    hint: ClassVar[str] = ""
    """Notes on its installation."""

    def library(self) -> ModuleType:
        """Its module, or an error with install instructions."""
        with quiet():
            return import_extra(
                self.module, self.name, f"engine {self.name!r}", f"{self.hint}; or omit it to use the built-in engine"
            )

    @abc.abstractmethod
    def faults(self, model: Model, scene: Scene) -> list[str]:
        """Return descriptions of unsupported features; empty if there are none."""

    @abc.abstractmethod
    def carries(self, model: Model, added: Array) -> Array:
        """Return the part of added masses that its bodies can carry, about their origins in their axes, shape (nb, 6, 6)."""

    @abc.abstractmethod
    def load(self, model: Model, scene: Scene, carried: Array, armature: Array) -> None:
        """Build the mechanism and its possible contacts.

        `carried` is the inertia of each body in addition to the rigid body's, as returned by `carries`, shape (nb, 6, 6).
        `armature` is the inertia of rotors that each degree of freedom feels, zero unless the engine takes rotors, shape (nv,).
        """

    @abc.abstractmethod
    def put(self, q: Array, v: Array) -> None:
        """Set configuration (nq,) and velocity (nv,), in our coordinates."""

    @abc.abstractmethod
    def state(self) -> tuple[Array, Array]:
        """Configuration (nq,) and velocity (nv,), in our coordinates."""

    @abc.abstractmethod
    def apply(self, force: Array, inertia: Array | None = None) -> None:
        """Set the generalised force of the next step, dual to our velocities, shape (nv,).

        `inertia` is a joint-space inertia M_A that adds −M_A v̇, shape (nv, nv); only if the engine `takes_inertia`.
        """

    @abc.abstractmethod
    def step(self, h: float) -> None:
        """Take a step of h [s]."""

    @abc.abstractmethod
    def acceleration(self) -> Array:
        """Return v̇ of the last step, contacts included, shape (nv,)."""

    def advance(self, h: float, force: Array, inertia: Array | None = None) -> Array:
        """Take a step of h [s] with a force (see `apply`); return its acceleration, shape (nv,)."""
        self.apply(force, inertia)
        self.step(h)
        return self.acceleration()

    @abc.abstractmethod
    def touches(self) -> list[Touch]:
        """Contacts of the last step."""

    @abc.abstractmethod
    def save(self) -> Any:
        """Return the complete state that a step depends on, for `restore`."""

    @abc.abstractmethod
    def restore(self, saved: Any) -> None:
        """Restore the result of `save`."""
