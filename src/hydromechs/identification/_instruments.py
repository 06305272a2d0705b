"""Measured quantities: instrument channels as functions of the state, with unknown mounting and delay."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Compiled, Recipe
from hydromechs.model import Model
from hydromechs.spatial import cross
from hydromechs.values import Array

from ._sensitivity import on_lanes

CHANNELS = ("roll", "pitch", "yaw", "x", "y", "z", "u", "v", "w", "p", "q", "r")
"""Measurable quantities: angles [rad], position in the world [m], velocity in instrument axes [m/s, rad/s]."""
OWN = 4
"""Number of parameters of an instrument: rotation about z of the body [rad], then position on the body [m]."""

RAW = 14
"""Number of intermediate quantities from which the channels of one instrument are computed."""


@dataclass(frozen=True, kw_only=True)
class MeasuredChannel:
    """Channel of an instrument: a measured quantity and its error model."""

    quantity: str
    """Measured quantity, one of `CHANNELS`."""
    deviation: float
    """Standard deviation of the errors, in the unit of the quantity."""
    offset: float = 0.0
    """Standard deviation of a constant error in each trial, in the unit of the quantity; 0 if absent."""
    correlation: float = 0.0
    """Correlation time of the errors [s]. Model errors vary slowly; more samples within this time add no information."""
    outlier: float = math.inf
    """Number of deviations above which errors count linearly instead of squared (Huber 1964)."""

    def __post_init__(self) -> None:
        if self.quantity not in CHANNELS:
            raise ValueError(f"quantity is {self.quantity!r}; use one of {', '.join(CHANNELS)}")
        if not self.deviation > 0.0:
            raise ValueError(f"deviation of {self.quantity} is {self.deviation!r}, must be above 0; set a positive deviation")


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """Instrument on a body that measures attitude, position and motion."""

    name: str
    """Name of the instrument, such as "imu"."""
    body: str
    """Name of the body to which the instrument is fixed."""
    channels: tuple[MeasuredChannel, ...]
    """Measured quantities."""
    turn: float = 0.0
    """Standard deviation of the instrument's rotation about z of the body [rad]; 0 if exact."""
    place: float = 0.0
    """Standard deviation of the instrument's position on the body, along each axis [m]; 0 if exact."""
    delay: float = 0.0
    """Standard deviation of the sample delay [s]; 0 if exact."""


class Measured(NamedTuple):
    """Channels of all instruments at many states, and their derivatives."""

    values: np.ndarray
    """Values of the channels, shape (n, channels)."""
    by_state: np.ndarray
    """Derivatives with respect to chart coordinates and x, shape (n, channels, nv + nx)."""
    by_own: np.ndarray
    """Derivatives with respect to the parameters of the instruments, shape (n, channels, OWN instruments)."""


class Outputs:
    """Compiled channels of instruments with derivatives; `nx` is the number of velocities and internal states."""

    def __init__(self, model: Model, instruments: Sequence[Instrument], nx: int) -> None:
        self.model, self.instruments, self.nx = model, tuple(instruments), nx
        self.channels = [(i, c) for i, instrument in enumerate(self.instruments) for c in instrument.channels]
        self.names = [f"{self.instruments[i].name}.{c.quantity}" for i, c in self.channels]

    def raw(self, q: Array, y: Array, own: Array) -> Array:
        """Return five rotation-matrix entries, position and velocity of each instrument, shape (RAW instruments,).

        The inputs may be floats or symbols: chart centre `q`, chart coordinates and states `y`, shape (nv + nx,), and
        instrument parameters `own`, shape (OWN instruments,).
        """
        model, nv = self.model, self.model.nv
        kin = dynamics.kinematics(model, dynamics.retract(model, q, y[:nv]), y[nv : 2 * nv])
        found: list = []
        for i, instrument in enumerate(self.instruments):
            k = model.body_index(instrument.body)
            turn, place = own[OWN * i], own[OWN * i + 1 : OWN * i + 4]
            c, s = np.cos(turn), np.sin(turn)
            A = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            R, V = kin.R_WB[k] @ A, kin.V[k]
            found += [R[2, 0], R[2, 1], R[2, 2], R[1, 0], R[0, 0]]
            found += [*(kin.p_WB[k] + kin.R_WB[k] @ place), *(A.T @ (V[:3] + cross(V[3:], place))), *(A.T @ V[3:])]
        return np.array(found)

    @cached_property
    def _code(self) -> Compiled:
        n = self.model.nv + self.nx
        shapes = {"q": (self.model.nq,), "y": (n,), "own": (OWN * len(self.instruments),)}
        program = compiler.jacobian_program(compiler.trace(self.raw, shapes, name="measured"), ("y", "own"), with_value=True)
        return on_lanes(Recipe.of(program), program)

    def __call__(self, q: np.ndarray, x: np.ndarray, own: np.ndarray) -> Measured:
        """Return channels and derivatives at n states for instrument parameters `own`, shape (OWN instruments,)."""
        y = np.concatenate([np.zeros((len(q), self.model.nv)), x], axis=1)
        raw, *slopes = self._code([q, y, np.broadcast_to(own, (len(q), len(own))).copy()])
        values = np.zeros((len(q), len(self.channels)))
        chain = np.zeros((len(q), len(self.channels), raw.shape[1]))
        for c, (i, channel) in enumerate(self.channels):
            a, b, d, e, f = (raw[:, RAW * i + k] for k in range(5))
            match channel.quantity:
                case "roll":
                    parts = {1: d, 2: -b}
                    values[:, c], square = np.arctan2(b, d), b * b + d * d
                case "pitch":
                    across = np.hypot(b, d)
                    parts = {0: -across, 1: a * b / across, 2: a * d / across}
                    values[:, c], square = np.arctan2(-a, across), a * a + b * b + d * d
                case "yaw":
                    parts = {3: f, 4: -e}
                    values[:, c], square = np.arctan2(e, f), e * e + f * f
                case name:
                    k = 5 + CHANNELS.index(name) - 3
                    parts, square = {k: np.ones(len(q))}, np.ones(len(q))
                    values[:, c] = raw[:, RAW * i + k]
            for k, slope in parts.items():
                chain[:, c, RAW * i + k] = slope / square
        return Measured(values, chain @ slopes[0], chain @ slopes[1])
