"""Admittance: a compliant tool that moves with the force measured at its wrist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hydromechs.model import Model
from hydromechs.simulation import Measured
from hydromechs.spatial import where
from hydromechs.values import Array, Scalar, nearest, number, positive

KEYS = ("sensor", "stiffness", "damping", "start", "touched")
"""Keys of its section in a scenario file."""
ZEROING = 0.5
"""Time over which the force at rest is averaged [s]."""


class Given(NamedTuple):
    """Displacement of a compliant tool."""

    offset: Array
    """δ, in world axes [m], shape (3,)."""
    rate: Array
    """Its mean rate until the next call, in world axes [m/s], shape (3,)."""


class Admittance:
    """Moves the reference of a tool by the force on it, as if it hung on a spring and a damper.

        D δ̇ = f − K (δ − δ_0),    f = −R_WS (f_S − f_0)

    (admittance control; Hogan 1985). f_S is the measurement of a force-torque sensor outboard of the wrist: the force of the
    arm on its body; f is the force of the surroundings on the tool. At rest δ − δ_0 = f/K. The law is solved exactly for a
    force that is constant over a period.

    Before `start` it is rigid and estimates f_0, the weight of the hand in water, by a mean over half a second. From
    then until `touched` it has no spring: a hand that holds something is drawn to its position, which is δ_0. So a path
    starts at the touched object, and δ_0 contains the navigation error.

    Args:
        sensor: Name of a force-torque sensor on the tool's body.
        stiffness: K [N/m].
        damping: D [N·s/m]; D/(K + k) should be well above the lag of the servos, k being the stiffness of the touched object.
        start: Time from which it is compliant [s].
        touched: Time from which there is a spring [s]; defaults to `start`.
        period: Time between two calls [s].
    """

    SIZE = 9
    """Length of its memory: δ, δ_0, f_0 in world axes."""

    def __init__(
        self, *, sensor: str, stiffness: float, damping: float, period: float, start: float = 0.0, touched: float | None = None
    ) -> None:
        self.sensor, self.period = sensor, period
        self.stiffness, self.damping = positive(stiffness, "stiffness"), positive(damping, "damping")
        self.start = number(start, "start")
        self.touched = self.start if touched is None else number(touched, "touched")
        if self.touched < self.start:
            raise ValueError(f"touched is {self.touched:g} s, must not be before start, {self.start:g} s")

    @classmethod
    def of(cls, given: Mapping[str, Any], period: float) -> Admittance:
        """Return it from a mapping with sensor, stiffness, damping, and optionally start and touched."""
        if not isinstance(given, Mapping) or set(given) - set(KEYS) or not {*KEYS[:3]} <= set(given):
            raise ValueError(f"admittance is {given!r}, must have {', '.join(KEYS[:3])}, may have {', '.join(KEYS[3:])}")
        try:
            return cls(**given, period=period)
        except ValueError as error:
            raise ValueError(f"admittance: {error}") from None

    def on(self, model: Model, tool: str, measured: Mapping[str, Measured]) -> None:
        """Look up the sensor of a tool's frame among the sensors in front of the controller."""
        found = measured.get(self.sensor)
        if found is None:
            more = nearest(self.sensor, measured) if measured else "; there are no sensors"
            raise ValueError(f"admittance of {tool!r}: no sensor {self.sensor!r}{more}")
        if len(found.values) != 6 or not found.frame:
            raise ValueError(f"admittance of {tool!r}: sensor {self.sensor!r} measures no force and torque; use a force_torque")
        there, here = model.locate(tool), model.locate(found.frame)
        if there.body != here.body:
            raise ValueError(
                f"admittance of {tool!r}: sensor {self.sensor!r} is on body {model.body_names[here.body]!r}, must be on "
                f"the body of the tool, {model.body_names[there.body]!r}"
            )
        self._R_TS = there.R.T @ here.R

    def __call__(self, memory: Array, t: Scalar, R_WT: Array, force: Array) -> tuple[Given, Array]:
        """Displacement of the compliant tool at a time, and its memory (9,) then, for its axes R_WT (3, 3) in the world.

        `force` is the last measurement of the sensor in its axes [N], shape (3,); NaN if there is none yet.
        """
        offset, middle, weight = memory[:3], memory[3:6], memory[6:]
        T, K, D = self.period, self.stiffness, self.damping
        f_S = R_WT @ (self._R_TS @ force)
        known, slack = abs(f_S[0]) < np.inf, 1e-6 * T
        learns, touches = t < self.start - slack, t < self.touched - slack
        share = where(sum(abs(x) for x in weight) == 0.0, 1.0, T / ZEROING)
        learned = weight + share * (f_S - weight)
        f = weight - f_S
        drawn, rest = offset + f * T / D, middle + f / K
        sprung = rest + (offset - rest) * np.exp(-K * T / D)

        def chosen(silent: Array, learning: Array, touching: Array, springing: Array) -> Array:
            rows = zip(silent, learning, touching, springing, strict=True)
            return np.array([where(known, where(learns, b, where(touches, c, d)), a) for a, b, c, d in rows])

        there = chosen(offset, offset, drawn, sprung)
        remembered = [there, chosen(middle, middle, drawn, middle), chosen(weight, learned, weight, weight)]
        return Given(offset, (there - offset) / T), np.concatenate(remembered)
