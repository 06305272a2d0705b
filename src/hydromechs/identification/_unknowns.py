"""Unknowns of a plant: model parameters, held inputs and joint offsets, each with a few free coordinates.

Free coordinates are unbounded or within box bounds. Their values are physically consistent: masses are positive, inertias are
realisable, and added-mass matrices are positive semi-definite.
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
"""Step of complex-step differentiation; the derivatives are exact to rounding."""


class Unknown(abc.ABC):
    """Unknown: free coordinates θ and the plant inputs computed from θ."""

    name: str
    deviation: Any

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Paths of the model parameters that must be open in the plant."""
        return ()

    def on(self, plant: Plant) -> Unknown:
        """Return the unknown prepared for the plant; by default itself."""
        return self

    @abc.abstractmethod
    def places(self, plant: Plant) -> list[int]:
        """Return the indices of the values in the inputs of the plant."""

    @abc.abstractmethod
    def start(self, plant: Plant) -> np.ndarray:
        """Return θ at the current values of the plant, shape (k,)."""

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return the input values for real or complex θ, in the order of `places`, shape (n,); by default θ."""
        return theta

    def labels(self) -> list[str]:
        """Return the names of the free coordinates; by default the name of the unknown."""
        return [self.name]

    def deviations(self) -> np.ndarray:
        """Return prior standard deviations of the free coordinates, shape (k,); inf without prior information."""
        return np.broadcast_to(np.array(self.deviation, dtype=float), len(self.labels())).copy()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of the free coordinates, shape (k,) each."""
        none = np.full(len(self.labels()), math.inf)
        return -none, none

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        """Return changes of the free coordinates that count as large without a prior, shape (k,); 1 for logarithms."""
        return np.ones(len(theta))

    def shown(self, theta: np.ndarray) -> np.ndarray:
        """Return the values shown in tables for real or complex θ, shape (r,); by default the input values."""
        return self.values(theta)

    def reported(self) -> list[tuple[int, str]]:
        """Return indices and names of the shown values that have a row in tables; by default all free coordinates."""
        return list(enumerate(self.labels()))

    @property
    def adds(self) -> bool:
        """True if values are added to the inputs of a trial, False if they replace them."""
        return False

    def derivatives(self, theta: np.ndarray) -> np.ndarray:
        """Return the derivatives ∂values/∂θ, shape (n, k)."""
        return derived(self.values, theta)


def derived(function: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Return complex-step derivatives of a function of complex θ, shape (k,), as an array of shape (n, k)."""
    columns = []
    for k in range(len(theta)):
        moved = theta.astype(complex)
        moved[k] += 1j * STEP
        columns.append(np.imag(function(moved)) / STEP)
    return np.stack(columns, axis=1)


def _slots(plant: Plant, path: str) -> tuple[int, tuple[int, ...]]:
    """Return the first input index and the shape of a parameter or held input."""
    layout = plant.layout
    if path in layout.held:
        return len(layout.commands) + layout.held.index(path), ()
    if f"parameter.{path}" in layout.data:
        at, shape = layout.data[f"parameter.{path}"]
        return at.start, shape
    raise KeyError(f"{path!r} is not an open parameter or held input{nearest(path, (*plant.parameters, *layout.held))}")


def _all_places(plant: Plant, paths: Sequence[str]) -> list[int]:
    slots = [_slots(plant, path) for path in paths]
    return [k for first, shape in slots for k in range(first, first + math.prod(shape))]


def _now(plant: Plant, path: str) -> np.ndarray:
    if path in plant.layout.held:
        slot = plant.layout.input_slots[len(plant.layout.commands) + plant.layout.held.index(path)]
        return np.asarray(0.0 if callable(slot.start) else slot.start)
    return registry.value(plant, path)


class _Bounded(Unknown):
    """Unknown with one free coordinate within bounds."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower <= self.upper:
            raise ValueError(f"{self.labels()[0]}: lower bound {self.lower:g} exceeds upper bound {self.upper:g}; swap them")

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.lower]), np.array([self.upper])


@dataclass(frozen=True, kw_only=True)
class Number(_Bounded):
    """One model parameter or held input."""

    name: str
    """Path of the value, such as "vehicle.hydro.volume" or "tether.weight"."""
    index: tuple[int, ...] = ()
    """Index in an array, such as (4, 2) in a matrix; empty for a scalar."""
    deviation: Limit = math.inf
    """Prior standard deviation, in the unit of the value (relative for `Positive`). Defaults to no prior information."""
    lower: values.Number = -math.inf
    """Lower bound, in the unit of the value; optional."""
    upper: values.Number = math.inf
    """Upper bound, in the unit of the value; optional."""
    value: Finite | None = None
    """Prior value; defaults to the value in the model."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Path of the value; held inputs are recognised later."""
        return (self.name,)

    def places(self, plant: Plant) -> list[int]:
        first, shape = _slots(plant, self.name)
        if len(self.index) != len(shape):
            raise ValueError(f"{self.name!r} has shape {shape}, but index is {self.index}; select one entry with index")
        if not all(0 <= k < n for k, n in zip(self.index, shape, strict=True)):
            raise ValueError(f"index {list(self.index)} exceeds the shape {shape} of {self.name!r}; use indices from 0")
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
    """One positive value: θ is its logarithm, and `deviation` is relative, 0.5 for ±50 %."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.upper > 0.0:
            raise ValueError(f"{self.labels()[0]}: upper bound {self.upper:g} is not above 0; increase it or use Number")

    def start(self, plant: Plant) -> np.ndarray:
        value = self._before(plant)
        if not value > 0.0:
            raise ValueError(f"{self.labels()[0]} is {value:g}, not above 0; set a positive prior value or use Number")
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
    """One positive factor on several model parameters, for example on the drag of all links; θ is its logarithm."""

    name: str
    """Name of the factor."""
    names: tuple[str, ...]
    """Paths of the scaled parameters; arrays are scaled as a whole. Example: ("wrist.hydro.drag.0.quadratic",)."""
    deviation: Limit = math.inf
    """Relative prior standard deviation, 0.5 for ±50 %. Defaults to no prior information."""
    value: values.Positive = 1.0
    """Prior value of the factor."""
    numbers: Annotated[tuple[float, ...], Hidden()] = ()
    """Unscaled parameter values; default to the values in the model."""

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
    """Steady horizontal current. The environment of the plant must have a current of any speed.

    It replaces the steady part of the current, which is 0 for a table of currents over time. Gusts and the table remain.
    """

    deviation: values.Positive = 0.02
    """Prior standard deviation of each component [m/s]."""
    own: Annotated[tuple[float, float], Hidden()] = (0.0, 0.0)
    """Current in the plant, x and y [m/s]."""

    name = "current"

    @property
    def adds(self) -> bool:
        """True; the difference from the current in the plant is added."""
        return True

    def on(self, plant: Plant) -> CurrentOf:
        x, y = self.start(plant)
        return replace(self, own=(float(x), float(y)))

    def places(self, plant: Plant) -> list[int]:
        """Return the input indices of x and y of the flow and, if present, of the current that carries waves."""
        if not plant.current_places:
            raise KeyError("current: the environment of the plant has no current; add Current(velocity=(0.0, 0.0, 0.0))")
        return [at.start + k for at in plant.current_places for k in (0, 1)]

    def start(self, plant: Plant) -> np.ndarray:
        current = plant.environment.current
        return np.zeros(2) if current is None else np.array(current.velocity[:2], dtype=float)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Return θ minus the current of the plant, for the flow and for the waves, shape (4,)."""
        return np.concatenate([theta - np.array(self.own)] * 2)

    def shown(self, theta: np.ndarray) -> np.ndarray:
        return theta

    def labels(self) -> list[str]:
        return ["current[x]", "current[y]"]


@dataclass(frozen=True, kw_only=True)
class SurfaceHeight(_Bounded):
    """Height of the free surface above the world origin, for height measurements with an unknown zero. Requires a surface.

    Only trials in which a body reaches the surface contain information about the height. Without such trials, the estimate is
    `value`.
    """

    value: Finite = 0.0
    """Prior height above the world origin [m]."""
    deviation: Limit = math.inf
    """Prior standard deviation [m]. Defaults to no prior information."""
    lower: values.Number = -math.inf
    """Lower bound [m]; optional."""
    upper: values.Number = math.inf
    """Upper bound [m]; optional."""

    name = "surface_height"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower <= self.value <= self.upper:
            raise ValueError(
                f"{self.name}: value {self.value:g} m is outside [{self.lower:g}, {self.upper:g}] m; change the "
                "value or its bounds"
            )

    def places(self, plant: Plant) -> list[int]:
        place = plant.surface_place
        if place is None:
            raise KeyError("surface_height: the environment has no free surface; add Environment(surface=FreeSurface())")
        return [place]

    def start(self, plant: Plant) -> np.ndarray:
        return np.array([self.value])


@dataclass(frozen=True, kw_only=True)
class JointOffset(Unknown):
    """Zero offset of a joint encoder: a constant added to the recorded positions of a joint.

    The offset is also added to the joint's entry of `Trial.q`, which contains the encoder reading.
    """

    joint: str
    """Joint with recorded motion."""
    deviation: Annotated[Limit, Degrees()] = math.inf
    """Prior standard deviation [rad]. Defaults to no prior information."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Label of the unknown, such as "elbow.offset"."""
        return f"{self.joint}.offset"

    @property
    def adds(self) -> bool:
        return True

    def places(self, plant: Plant) -> list[int]:
        """Return the index of the position in the inputs of the recorded motion."""
        key = f"timed.{self.joint}.motion"
        if key not in plant.layout.data:
            raise KeyError(f"joint {self.joint!r} has no recorded motion; add motions.Recorded or remove the offset")
        return [plant.layout.data[key][0].start + 1]

    def start(self, plant: Plant) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True, kw_only=True)
class InertiaOf(Unknown):
    """Mass, centre of mass and inertia tensor of a body, parametrised by the log-Cholesky factors of its pseudo-inertia.

        J = ∫ (r, 1)(r, 1)ᵀ dm = U Uᵀ,   U upper triangular with exp θ on its diagonal

    Every θ is physically consistent: the mass is positive and the tensor is realisable (Rucker and Wensing 2022).
    """

    body: str
    """Name of the body."""
    deviation: values.Positive = 0.3
    """Prior standard deviation of θ [-]; 0.3 allows changes of mass and tensor by about 60 %."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Label of the unknown, such as "hull.inertia"."""
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
        """Return the prior deviations; the off-diagonal factors are lengths, for which 0.05 m is large."""
        return np.array([self.deviation] * 4 + [0.2 * self.deviation] * 6)


@dataclass(frozen=True, kw_only=True)
class AddedMass(Unknown):
    """Added mass of a body as L Lᵀ: symmetric and positive semi-definite for any L."""

    name: str
    """Path of the added-mass matrix, such as "vehicle.hydro.added_mass.0.matrix"."""
    deviation: float | tuple[float, ...] = 0.3
    """Prior standard deviation of the entries of L relative to its diagonal [-]: one for all, or one for each."""
    diagonal: Annotated[tuple[float, ...], Bound(above=0.0, size=6)] | None = None
    """Prior diagonal [kg, kg·m²]; defaults to the diagonal in the model."""
    coupled: bool = False
    """True to estimate off-diagonal entries as well."""
    averaged: bool = False
    """True for an isotropic added mass: the mean of the diagonal for translation and the mean for rotation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.deviation if isinstance(self.deviation, tuple) else (self.deviation,)
        if not all(x > 0.0 and math.isfinite(x) for x in given):
            raise FieldError(f"{self.name}.deviation", self.deviation, "must be finite and > 0")
        if self.coupled and self.averaged:
            raise ValueError(f"{self.name}: averaged and coupled are both true; set one of them to false")
        if isinstance(self.deviation, tuple) and len(self.deviation) != len(self.labels()):
            raise ValueError(f"{self.name}: deviation has {len(self.deviation)} values; set 1 or {len(self.labels())}")

    @property
    def parameters(self) -> tuple[str, ...]:
        return (self.name,)

    def places(self, plant: Plant) -> list[int]:
        first, shape = _slots(plant, self.name)
        if shape != (6, 6):
            raise ValueError(f"{self.name!r} has shape {shape}, not (6, 6); use the path of an added-mass matrix")
        return list(range(first, first + 36))

    def start(self, plant: Plant) -> np.ndarray:
        """Return logarithms of the diagonal of L, then the other entries of L divided by the diagonal entry of their row."""
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
    """Return the plant with the model parameters of the unknowns open."""
    wanted: dict[str, Any] = dict.fromkeys(plant.parameters)
    wanted |= {path: None for u in unknowns for path in u.parameters if path not in plant.layout.held}
    return replace(plant, parameters=tuple(wanted))
