"""Compiled programs of a plant: derivative for an integrator, water at a point, and recorded variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial

import numpy as np

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled
from hydromechs.integrators import Integrator, Stepper
from hydromechs.values import Array, Scalar

from ._actions import Each, each_on
from ._evaluate import derivative
from ._looped import LoopedPlant
from ._observe import observer
from ._plant import Plant
from ._stiffness import StepChecks, check_length
from ._water import PointMotion, fluid_at, point_motion


class PlantPrograms:
    """Compiled programs of a plant."""

    def __init__(self, plant: Plant, method: Integrator, *, lanes: int = 1, threads: int = 1) -> None:
        check_length(plant, method)
        self.plant, self.method, self.lanes, self.threads = plant, method, lanes, threads
        self.checks = StepChecks(plant, method)
        """Checks of the step length."""
        self._observing: dict[frozenset[str], Compiled] = {}

    @cached_property
    def _water(self) -> compiler.Program:
        plant, waves = self.plant, self.plant.waves
        shapes: dict[str, tuple[int, ...]] = {"p": (3,), "t": (), "U": (3,), "rate": (3,)}
        if waves is not None:
            shapes |= {"rows": plant.layout.data["waves"][1], "carried": (3,)}

        def water(p: Array, t: Scalar, U: Array, rate: Array, rows: Array | None = None, carried: Array | None = None) -> tuple:
            here = point_motion(plant, plant.waves_of(rows, carried), p, t, U, rate)
            return tuple(x for x in here if x is not None)

        return compiler.trace(water, shapes, name="water")

    def motion(self, plant: Plant, u: Array, points: Sequence[Array], t: Scalar, U: Array, rate: Array) -> list[PointMotion]:
        """Return the water at points, as in `fluid_at`; points are evaluated on lanes if one world is simulated."""
        if plant.opens_profile:  # its numbers are not inputs of the shared program
            return fluid_at(plant, u, points, t, U, rate)
        given = [np.asarray(t), np.asarray(U), np.asarray(rate)]
        if plant.waves is not None:
            given += [plant.layout.array("waves", u), plant.carried(u)]
        n = len(points)
        same = [np.broadcast_to(x, (n, *np.shape(x))) for x in given]
        results = compiler.call_on_lanes(self._water, np.stack(points), *same)
        return [PointMotion(*(x[k] for x in results)) for k in range(n)]

    @cached_property
    def looped(self) -> LoopedPlant | None:
        """Loops of the plant; None for a plant compiled as straight-line code."""
        rolled = self.plant.rolled
        return None if rolled is None else LoopedPlant(self.plant, rolled, lambda: self._water, self.motion)

    @cached_property
    def stepper(self) -> Stepper:
        """Stepper of the integrator with the derivative of the plant."""
        plant, nv, on_lanes = self.plant, self.plant.model.nv, each_on(self.lanes)

        def ydot(t: Scalar, q: Array, y: Array, inputs: Array, each: Each | None = on_lanes) -> Array:
            return derivative(plant, t, q, y[:nv], y[nv : 2 * nv], y[2 * nv :], inputs, self.motion, each)

        layout = plant.layout
        work_count = len(layout.causes)  # work is integrated for the balance only: its error does not count
        return Stepper(
            plant.model,
            ydot,
            layout.nz,
            (Argument("inputs", (layout.size,)),),
            self.method,
            name="plant",
            identity=None if plant.identity is None else f"{plant.identity} {self.lanes > 1}",
            lanes=self.lanes,
            threads=self.threads,
            counted=np.array([1.0] * (2 * nv + layout.nz - work_count) + [0.0] * work_count),
            differentiable=partial(ydot, each=None),
            loops=None if self.looped is None else self.looped.derivative,
        )

    @cached_property
    def observer(self) -> Compiled:
        """Program of all recorded variables, from (t, q, x, inputs)."""
        return observer(self.plant, self.motion, None if self.looped is None else self.looped.observed)

    def observing(self, names: Iterable[str]) -> Compiled:
        """Return a program of recorded variables or R_WB from (t, q, x, inputs), bitwise identical for any number of worlds."""
        wanted = frozenset(names)
        if wanted not in self._observing:
            loops = None if self.looped is None else self.looped.observed
            code = observer(self.plant, self.motion, loops, wanted, self.lanes, self.threads)
            code.single_lanes = code.lanes
            self._observing[wanted] = code
        return self._observing[wanted]
