"""Measured quantities: channels of instruments on bodies, as functions of the state, with their own unknowns."""

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
"""Measurable quantities: angles [rad], position in the world [m], velocity in the instrument's axes [m/s, rad/s]."""
OWN = 4
"""Parameters of an instrument: its rotation about z on its body [rad], and its position there [m]."""

RAW = 14
"""Quantities from which the channels of an instrument are computed."""


@dataclass(frozen=True, kw_only=True)
class MeasuredChannel:
    """One measured quantity."""

    quantity: str
    """One of `CHANNELS`."""
    deviation: float
    """Standard deviation of its errors, in its unit."""
    offset: float = 0.0
    """Standard deviation of a constant error in each trial; 0 for none."""
    correlation: float = 0.0
    """Correlation time of its errors [s]: model errors vary slowly, so that more samples within it add no information."""
    outlier: float = math.inf
    """Errors above this many deviations count linearly instead of squared (Huber 1964)."""

    def __post_init__(self) -> None:
        if self.quantity not in CHANNELS:
            raise ValueError(f"quantity is {self.quantity!r}, must be one of {', '.join(CHANNELS)}")
        if not self.deviation > 0.0:
            raise ValueError(f"deviation of {self.quantity} is {self.deviation!r}, must be above 0")


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """Instrument on a body that measures attitude, position and motion."""

    name: str
    """Name, such as "imu"."""
    body: str
    """Name of the body that it is fixed to."""
    channels: tuple[MeasuredChannel, ...]
    """Measured quantities."""
    turn: float = 0.0
    """Standard deviation of its rotation about z on the body [rad]; 0 if it is known."""
    place: float = 0.0
    """Standard deviation of its position from the body's origin, along each axis [m]; 0 if it is known."""
    delay: float = 0.0
    """Standard deviation of the delay of its samples [s]; 0 if it is known."""


class Measured(NamedTuple):
    """Channels of all instruments at many states, and their derivatives."""

    values: np.ndarray
    """Shape (n, channels)."""
    by_state: np.ndarray
    """∂/∂(chart, x), shape (n, channels, nv + nx)."""
    by_own: np.ndarray
    """∂/∂ the instruments' parameters, shape (n, channels, OWN instruments)."""


class Outputs:
    """The channels of instruments, compiled with their derivatives; `nx` counts velocities and internal states."""

    def __init__(self, model: Model, instruments: Sequence[Instrument], nx: int) -> None:
        self.model, self.instruments, self.nx = model, tuple(instruments), nx
        self.channels = [(i, c) for i, instrument in enumerate(self.instruments) for c in instrument.channels]
        self.names = [f"{self.instruments[i].name}.{c.quantity}" for i, c in self.channels]

    def raw(self, q: Array, y: Array, own: Array) -> Array:
        """Return five entries of each instrument's axes, its position and velocity, of floats or symbols, (RAW instruments,).

        `q` is the centre of the chart, `y` has chart coordinates and x, shape (nv + nx,), `own` is of shape (OWN instruments,).
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
        """Return channels and derivatives of n states, with parameters `own` of the instruments, shape (OWN instruments,)."""
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
