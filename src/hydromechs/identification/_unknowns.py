"""Unknowns of a plant: numbers of its model, held inputs, joint offsets; each with a few free coordinates.

Free coordinates are unbounded or within simple bounds. All their values are physical: a mass is above 0, an inertia belongs
to a possible body, an added mass is positive semi-definite.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from hydromechs import registry, values
from hydromechs.errors import FieldError
from hydromechs.registry import Degrees, Hidden
from hydromechs.simulation import Plant
from hydromechs.values import Bound, Finite, Limit, check_fields, nearest

STEP = 1e-30
"""Step of the complex differences by which values are differentiated: exact to rounding."""


class Unknown(abc.ABC):
    """Unknown: free coordinates θ, and the plant inputs that depend on them."""

    name: str
    deviation: Any

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Numbers of the model that the plant must have open."""
        return ()

    def on(self, plant: Plant) -> Unknown:
        """Return it prepared for the plant; itself unless overridden."""
        return self

    @abc.abstractmethod
    def places(self, plant: Plant) -> list[int]:
        """Return the indices of its values in the plant's inputs."""

    @abc.abstractmethod
    def start(self, plant: Plant) -> np.ndarray:
        """Return θ for the plant's current values, shape (k,)."""

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return the values that it sets, in the order of `places`, also for complex θ, shape (n,); by default θ."""
        return theta

    def labels(self) -> list[str]:
        """Return the names of the free coordinates; by default its own name."""
        return [self.name]

    def deviations(self) -> np.ndarray:
        """Prior standard deviations of the free coordinates, inf if unknown, shape (k,)."""
        return np.broadcast_to(np.array(self.deviation, dtype=float), len(self.labels())).copy()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return minimum and maximum free coordinates, shape (k,) each."""
        none = np.full(len(self.labels()), math.inf)
        return -none, none

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        """Return changes of the free coordinates that count as large without a prior; 1 for logarithms, shape (k,)."""
        return np.ones(len(theta))

    def shown(self, theta: np.ndarray) -> np.ndarray:
        """Return the values shown in tables, also for complex θ; by default its values, shape (r,)."""
        return self.values(theta)

    def reported(self) -> list[tuple[int, str]]:
        """Return the values with a row in tables, and their names; by default all free coordinates."""
        return list(enumerate(self.labels()))

    @property
    def adds(self) -> bool:
        """True if values are added to the inputs of a trial instead of replacing them."""
        return False

    def derivatives(self, theta: np.ndarray) -> np.ndarray:
        """∂values/∂θ, shape (n, k)."""
        return derived(self.values, theta)


def derived(function: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Return derivatives by complex differences, shape (n, k), of a function of complex θ, shape (k,)."""
    columns = []
    for k in range(len(theta)):
        moved = theta.astype(complex)
        moved[k] += 1j * STEP
        columns.append(np.imag(function(moved)) / STEP)
    return np.stack(columns, axis=1)


def _slots(plant: Plant, path: str) -> tuple[int, tuple[int, ...]]:
    """Return the index in the inputs at which a parameter or held input begins, and its shape."""
    layout = plant.layout
    if path in layout.held:
        return len(layout.commands) + layout.held.index(path), ()
    if f"parameter.{path}" in layout.data:
        at, shape = layout.data[f"parameter.{path}"]
        return at.start, shape
    raise KeyError(f"no open parameter or held input {path!r}{nearest(path, (*plant.parameters, *layout.held))}")


def _all_places(plant: Plant, paths: Sequence[str]) -> list[int]:
    slots = [_slots(plant, path) for path in paths]
    return [k for first, shape in slots for k in range(first, first + math.prod(shape))]


def _now(plant: Plant, path: str) -> np.ndarray:
    if path in plant.layout.held:
        slot = plant.layout.input_slots[len(plant.layout.commands) + plant.layout.held.index(path)]
        return np.asarray(0.0 if callable(slot.start) else slot.start)
    return registry.value(plant, path)


class _Bounded(Unknown):
    """One free coordinate within bounds."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower <= self.upper:
            raise ValueError(f"{self.labels()[0]}: lower bound {self.lower:g} exceeds upper bound {self.upper:g}; correct them")

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.lower]), np.array([self.upper])


@dataclass(frozen=True, kw_only=True)
class Number(_Bounded):
    """One number of the model, or a held input."""

    name: str
    """Its path, such as "vehicle.hydro.volume" or "tether.weight"."""
    index: tuple[int, ...] = ()
    """Index in an array, such as (4, 2) in a matrix; empty for a single number."""
    deviation: Limit = math.inf
    """Prior standard deviation, in its unit; relative for `Positive`, 0.5 for ±50 %. Unknown if omitted."""
    lower: values.Number = -math.inf
    """Minimum; optional."""
    upper: values.Number = math.inf
    """Maximum; optional."""
    value: Finite | None = None
    """Prior value; defaults to that of the model."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The number itself; held inputs are identified later."""
        return (self.name,)

    def places(self, plant: Plant) -> list[int]:
        first, shape = _slots(plant, self.name)
        if len(self.index) != len(shape):
            raise ValueError(f"{self.name!r} has the shape {shape}; select one number with index, which is {self.index}")
        if not all(0 <= k < n for k, n in zip(self.index, shape, strict=True)):
            raise ValueError(f"{self.name!r} has the shape {shape}; index {list(self.index)} must be within it, from 0")
        return [first + (int(np.ravel_multi_index(self.index, shape)) if shape else 0)]

    def start(self, plant: Plant) -> np.ndarray:
        return np.array([self._before(plant)])

    def _before(self, plant: Plant) -> float:
        return float(_now(plant, self.name)[self.index]) if self.value is None else float(self.value)

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        return np.where(theta == 0.0, 1.0, np.abs(theta))

    def labels(self) -> list[str]:
        return [self.name + "".join(f"[{k}]" for k in self.index)]


@dataclass(frozen=True, kw_only=True)
class Positive(Number):
    """One number above 0: θ is its logarithm, and `deviation` is relative, 0.5 for ±50 %."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.upper > 0.0:
            raise ValueError(f"{self.labels()[0]}: its upper bound is {self.upper:g}, must be above 0 for a positive number")

    def start(self, plant: Plant) -> np.ndarray:
        value = self._before(plant)
        if not value > 0.0:
            raise ValueError(f"{self.labels()[0]} is {value:g}, must be above 0 to be estimated as a positive number")
        return np.log([value])

    def values(self, theta: np.ndarray) -> np.ndarray:
        return np.exp(theta)

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        return np.ones(1)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low = math.log(self.lower) if self.lower > 0.0 else -math.inf
        return np.array([low]), np.array([math.log(self.upper)])


@dataclass(frozen=True, kw_only=True)
class Factor(Unknown):
    """One factor above 0 on several numbers of the model, for example on the drag of all links: θ is its logarithm."""

    name: str
    """Name of the factor."""
    names: tuple[str, ...]
    """Paths of the numbers, where arrays are scaled as a whole, such as ("wrist.hydro.drag.0.quadratic",)."""
    deviation: Limit = math.inf
    """Relative prior standard deviation, 0.5 for ±50 %. Unknown if omitted."""
    value: values.Positive = 1.0
    """Prior value."""
    numbers: Annotated[tuple[float, ...], Hidden()] = ()
    """Scaled numbers; default to those of the plant's model."""

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.names

    def on(self, plant: Plant) -> Factor:
        if self.numbers:
            return self
        return replace(self, numbers=tuple(float(x) for path in self.names for x in np.ravel(_now(plant, path))))

    def places(self, plant: Plant) -> list[int]:
        return _all_places(plant, self.names)

    def start(self, plant: Plant) -> np.ndarray:
        return np.log([self.value])

    def values(self, theta: np.ndarray) -> np.ndarray:
        return np.exp(theta[0]) * np.array(self.numbers)

    def shown(self, theta: np.ndarray) -> np.ndarray:
        return np.exp(theta)


@dataclass(frozen=True, kw_only=True)
class CurrentOf(Unknown):
    """A steady horizontal current; the plant's environment must have one, of any speed.

    It replaces the steady part, which is 0 for a table of currents over time; gusts and the table remain.
    """

    deviation: values.Positive = 0.02
    """Prior standard deviation of each component [m/s]."""
    own: Annotated[tuple[float, float], Hidden()] = (0.0, 0.0)
    """Current in the plant [m/s]."""

    name = "current"

    @property
    def adds(self) -> bool:
        """True: the difference from the plant's current is added."""
        return True

    def on(self, plant: Plant) -> CurrentOf:
        x, y = self.start(plant)
        return replace(self, own=(float(x), float(y)))

    def places(self, plant: Plant) -> list[int]:
        """Return the indices of x and y of the flow, and of the current that carries waves, if any."""
        if not plant.current_places:
            raise KeyError("the plant's environment has no current; add one with speed 0")
        return [at.start + k for at in plant.current_places for k in (0, 1)]

    def start(self, plant: Plant) -> np.ndarray:
        current = plant.environment.current
        return np.zeros(2) if current is None else np.array(current.velocity[:2], dtype=float)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return θ minus the plant's current, for the flow and for the waves."""
        return np.concatenate([theta - np.array(self.own)] * 2)

    def shown(self, theta: np.ndarray) -> np.ndarray:
        return theta

    def labels(self) -> list[str]:
        return ["current[x]", "current[y]"]


@dataclass(frozen=True, kw_only=True)
class SurfaceHeight(_Bounded):
    """Height of the free surface above the world's origin, the zero of measured heights; the plant must have a surface.

    Only trials in which a body reaches the surface contain information on it. Without such trials it keeps `value`.
    """

    value: Finite = 0.0
    """Prior height above the world's origin [m]."""
    deviation: Limit = math.inf
    """Prior standard deviation [m]. Unknown if omitted."""
    lower: values.Number = -math.inf
    """Minimum [m]; optional."""
    upper: values.Number = math.inf
    """Maximum [m]; optional."""

    name = "surface_height"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower <= self.value <= self.upper:
            raise ValueError(
                f"{self.name}: value {self.value:g} m must be within [{self.lower:g}, {self.upper:g}] m; change the "
                "value or its bounds"
            )

    def places(self, plant: Plant) -> list[int]:
        place = plant.surface_place
        if place is None:
            raise KeyError("surface_height is unknown, but there is no free surface; add Environment(surface=FreeSurface())")
        return [place]

    def start(self, plant: Plant) -> np.ndarray:
        return np.array([self.value])


@dataclass(frozen=True, kw_only=True)
class JointOffset(Unknown):
    """A constant that is added to the recorded positions of a joint: the zero of its encoder.

    It also applies to `Trial.q`, whose entry of the joint is the encoder's value.
    """

    joint: str
    """Joint whose motion is given by a recording."""
    deviation: Annotated[Limit, Degrees()] = math.inf
    """Prior standard deviation [rad]. Unknown if omitted."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Label: the joint and the kind of number."""
        return f"{self.joint}.offset"

    @property
    def adds(self) -> bool:
        return True

    def places(self, plant: Plant) -> list[int]:
        """The position among the numbers of the recorded motion."""
        key = f"timed.{self.joint}.motion"
        if key not in plant.layout.data:
            raise KeyError(f"joint {self.joint!r} has no recorded motion to which an offset can be added; add motions.Recorded")
        return [plant.layout.data[key][0].start + 1]

    def start(self, plant: Plant) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True, kw_only=True)
class InertiaOf(Unknown):
    """Mass, centre of mass and tensor of a body, by the log-Cholesky factors of its pseudo-inertia (Rucker and Wensing 2022).

        J = ∫ (r, 1)(r, 1)ᵀ dm = U Uᵀ,   U upper triangular with exp θ on its diagonal

    Every θ corresponds to a possible body: positive mass, and a tensor of some mass distribution.
    """

    body: str
    """Name of the body."""
    deviation: values.Positive = 0.3
    """Prior standard deviation of θ [-]; 0.3 allows changes of masses and tensors by about 60 %."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Label: the body and the kind of number."""
        return f"{self.body}.inertia"

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(f"{self.body}.inertia.{x}" for x in ("mass", "com", "tensor"))

    def places(self, plant: Plant) -> list[int]:
        return _all_places(plant, self.parameters)

    def start(self, plant: Plant) -> np.ndarray:
        mass, com, tensor = (registry.value(plant, path) for path in self.parameters)
        xx, yy, zz, xy, xz, yz = tensor
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        spread = 0.5 * np.trace(about) * np.eye(3) - about + mass * np.outer(com, com)
        J = np.block([[spread, mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
        flip = np.eye(4)[::-1]
        U = flip @ np.linalg.cholesky(flip @ J @ flip) @ flip
        upper = [U[i, j] for i in range(4) for j in range(i + 1, 4)]
        return np.array([*np.log(np.diag(U)), *(x / math.sqrt(float(mass)) for x in upper)])

    def values(self, theta: np.ndarray) -> np.ndarray:
        U = np.diag(np.exp(theta[:4])).astype(theta.dtype)
        scale = U[3, 3]
        entries = iter(theta[4:])
        for i in range(4):
            for j in range(i + 1, 4):
                U[i, j] = next(entries) * scale
        J = U @ U.T
        mass, com = J[3, 3], J[:3, 3] / J[3, 3]
        central = J[:3, :3] - mass * np.outer(com, com)
        about = np.trace(central) * np.eye(3) - central
        return np.array([mass, *com, about[0, 0], about[1, 1], about[2, 2], about[0, 1], about[0, 2], about[1, 2]])

    def reported(self) -> list[tuple[int, str]]:
        names = ["mass", *(f"com[{k}]" for k in range(3)), *(f"tensor[{k}]" for k in range(6))]
        return [(k, f"{self.name}.{name}") for k, name in enumerate(names)]

    def labels(self) -> list[str]:
        kinds = ["ln x", "ln y", "ln z", "ln 1", "xy", "xz", "x", "yz", "y", "z"]
        return [f"{self.name}[{kind}]" for kind in kinds]

    def deviations(self) -> np.ndarray:
        """Return the given deviations; the off-diagonal factors are lengths, for which 0.05 m is large."""
        return np.array([self.deviation] * 4 + [0.2 * self.deviation] * 6)


@dataclass(frozen=True, kw_only=True)
class AddedMass(Unknown):
    """The added mass of a body as L Lᵀ: symmetric and positive semi-definite for any L."""

    name: str
    """Path of its matrix, such as "vehicle.hydro.added_mass.0.matrix"."""
    deviation: float | tuple[float, ...] = 0.3
    """Prior standard deviation of the entries of L, relative to the diagonal of L: one for all, or one for each [-]."""
    diagonal: Annotated[tuple[float, ...], Bound(above=0.0, size=6)] | None = None
    """Prior diagonal [kg, kg·m²]; defaults to that of the model."""
    coupled: bool = False
    """True if off-diagonal entries are also unknown."""
    averaged: bool = False
    """True if it is the same in all directions, with the means of the diagonal: one number for translation and one for
    rotation.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.deviation if isinstance(self.deviation, tuple) else (self.deviation,)
        if not all(x > 0.0 and math.isfinite(x) for x in given):
            raise FieldError(f"{self.name}.deviation", self.deviation, "must be finite and > 0")
        if self.coupled and self.averaged:
            raise ValueError(f"{self.name}: an averaged added mass has no off-diagonal entries; omit coupled")
        if isinstance(self.deviation, tuple) and len(self.deviation) != len(self.labels()):
            raise ValueError(f"{self.name}: {len(self.deviation)} deviations; give one for all, or {len(self.labels())}")

    @property
    def parameters(self) -> tuple[str, ...]:
        return (self.name,)

    def places(self, plant: Plant) -> list[int]:
        first, shape = _slots(plant, self.name)
        if shape != (6, 6):
            raise ValueError(f"{self.name!r} has the shape {shape}, but an added mass has (6, 6)")
        return list(range(first, first + 36))

    def start(self, plant: Plant) -> np.ndarray:
        """Return logarithms of the diagonal of L, then its other entries over the root of the product of their diagonals."""
        before = registry.value(plant, self.name) if self.diagonal is None else np.diag(self.diagonal)
        if self.averaged:
            return 0.5 * np.log(np.diag(before).reshape(2, 3).mean(axis=1))
        L = np.linalg.cholesky(before + 1e-9 * np.eye(6))
        diagonal = np.diag(L)
        below = [L[i, j] / diagonal[i] for i, j in self._below()]
        return np.array([*np.log(diagonal), *below])

    def _below(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(6) for j in range(i)] if self.coupled else []

    def values(self, theta: np.ndarray) -> np.ndarray:
        L = np.diag(np.exp(np.repeat(theta, 3) if self.averaged else theta[:6])).astype(theta.dtype)
        for (i, j), x in zip(self._below(), theta[6:], strict=True):
            L[i, j] = x * L[i, i]
        return (L @ L.T).ravel()

    def reported(self) -> list[tuple[int, str]]:
        if self.averaged:
            return [(0, f"{self.name}[translation]"), (21, f"{self.name}[rotation]")]
        return [(6 * i + j, f"{self.name}[{i}][{j}]") for i, j in [*((k, k) for k in range(6)), *self._below()]]

    def labels(self) -> list[str]:
        if self.averaged:
            return [f"{self.name}[½ ln translation]", f"{self.name}[½ ln rotation]"]
        axes = "uvwpqr"
        below = [f"{self.name}[{axes[i]}{axes[j]}]" for i, j in self._below()]
        return [*(f"{self.name}[½ ln {a}]" for a in axes), *below]


def opened(plant: Plant, unknowns: Sequence[Unknown]) -> Plant:
    """Return the plant with the unknown numbers of its model open."""
    wanted: dict[str, Any] = dict.fromkeys(plant.parameters)
    wanted |= {path: None for u in unknowns for path in u.parameters if path not in plant.layout.held}
    return replace(plant, parameters=tuple(wanted))
