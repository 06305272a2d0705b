"""Kinematic loops of a model as components of a plant; their forces are solved together with the forces of grasps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs import dynamics
from hydromechs.model import Coupling, Loop, Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Output, Values

from ._grasp import SIX, joined_wrenches


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopClosure(Component):
    """Component that keeps a kinematic loop of the model closed."""

    kind = "loop"
    cause = "loops"
    outputs = (
        Output("loop_force", "N, N m", "force of the holder on the held frame, in the holder's axes", SIX, "six"),
        Output("loop_error", "m, rad", "distance and angle error of the loop", ("distance", "angle"), "misfit"),
    )

    loop: Loop
    """Loop of the model."""

    @property
    def name(self) -> str:  # type: ignore[override]  # that of the loop
        """Name of the loop."""
        return self.loop.name

    def check_start(self, now: Now) -> None:
        _check_closed(self, self.loop, now)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        row, D = dynamics.joined_constraint(now.model, now.kin, self.loop)
        record = lambda force: {"loop_force": D.T @ force}  # noqa: E731
        wrenches = lambda force: joined_wrenches(now, self.loop, D.T @ force)  # noqa: E731
        closing = row._replace(record=record, wrenches=wrenches)
        return Action(constraints=[closing], record={"loop_error": np.array(row.apart)})

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        return _stabilised(self.loop)


@dataclass(frozen=True, slots=True, kw_only=True)
class CouplingClosure(Component):
    """Component that keeps a joint of the model coupled to another joint."""

    kind = "coupling"
    cause = "loops"
    outputs = (
        Output("coupling_force", "N m or N", "force in the following joint"),
        Output("coupling_error", "rad or m", "deviation of the joint coordinate from the coupled value"),
    )

    coupling: Coupling
    """Coupling of the model."""

    @property
    def name(self) -> str:  # type: ignore[override]  # that of the coupling
        """Name of the coupling."""
        return self.coupling.name

    def check_start(self, now: Now) -> None:
        _check_closed(self, self.coupling, now)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        row = dynamics.loop_constraint(now.model, now.kin, now.q, now.v, self.coupling)
        closing = row._replace(record=lambda force: {"coupling_force": force[0]})
        return Action(constraints=[closing], record={"coupling_error": row.error[0]})

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        return _stabilised(self.coupling)


def loop_closures(model: Model) -> list[Component]:
    """Return a component for each loop of a model."""
    return [CouplingClosure(coupling=x) if isinstance(x, Coupling) else LoopClosure(loop=x) for x in model.loops]


def _check_closed(component: Component, loop: Loop | Coupling, now: Now) -> None:
    """Raise `ValueError` if a loop is open in the initial state, or if the initial velocities open it."""
    rows = dynamics.loop_constraint(now.model, now.kin, now.q, now.v, loop)
    distance, angle = (float(x) for x in rows.apart)
    rate = float(np.abs(rows.J @ now.v).max())
    text = ""
    if max(distance, angle) > loop.tolerance:
        text = f"is open: the ends are {distance:.3g} m and {angle:.3g} rad apart, the limits are {loop.tolerance:g}"
    elif rate > loop.tolerance:
        text = f"opens: the ends move apart at {rate:.3g} per second, the limits are {loop.tolerance:g}"
    if text:
        raise ValueError(f"t = {float(now.t):g} s: {component.kind} {loop.name!r} {text}; use state = model.on_loops(state)")


def _stabilised(loop: Loop | Coupling) -> list[FastMode]:
    rate = loop.stabilisation
    return [FastMode(f"stabilisation of loop {loop.name!r}", rate, 2.0 * rate)] if rate else []
