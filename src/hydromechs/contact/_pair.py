"""One probe of a body against one solid: a contact, as a component of a plant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hydromechs.geometry import Placed
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Order, Output, Slot, Values, Wrench, mode_of

from ._forces import contact_wrench
from ._law import Material
from ._probe import PointProbe, Segment

DEFLECTION = ("sx", "sy", "sz")


@dataclass(frozen=True, kw_only=True)
class Pair(Component):
    """One probe against one solid: at most one contact."""

    kind = "contact"
    outputs = (
        Output("contact_force", "N", "normal force"),
        Output("contact_gap", "m", "distance, negative in contact"),
    )

    name: str
    """Name, such as "foot_1 on floor", unique among the pairs."""
    body: int
    """Index of the body A that carries the probe."""
    probe: PointProbe | Segment
    """Probe."""
    frame: str | None = None
    """Name of the frame whose origin is the probe; None for a shape's."""
    other: int | None = None
    """Index of the body B that carries the solid; None for terrain."""
    solid: Placed
    """Touched solid: `Terrain`, or a shape of body B."""
    material: Material
    """Material of the contact."""

    def order(self, model: Model) -> tuple[int, int]:
        return Order.CONTACT, 0

    def states(self, model: Model) -> list[Slot]:
        """Deflection of the anchored spring of friction [m]; none on a smooth surface."""
        return [] if self.material.friction is None else [Slot(x, unit="m") for x in DEFLECTION]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return forces on both bodies, with stored and dissipated energy; see `contact_wrench`."""
        a, b = self.body, self.other
        X_B, V_B = (None, None) if b is None else ((now.R_WB[b], now.p_WB[b]), now.V[b])
        s = np.array([z[x] for x in DEFLECTION]) if z else np.zeros(3)
        pair = self
        if self.frame is not None:  # its place may be an open parameter
            pair = replace(self, probe=PointProbe(position=now.model.frames[self.frame][1].origin.xyz))
        c = contact_wrench(pair, (now.R_WB[a], now.p_WB[a]), now.V[a], X_B, V_B, s, now.model.world.down)
        forces = [Wrench(a, c.wrench_A)]
        if b is not None and c.wrench_B is not None:
            forces.append(Wrench(b, c.wrench_B))
        return Action(
            forces=forces,
            rates=dict(zip(DEFLECTION, c.s_rate, strict=True)) if z else {},
            record={"contact_force": c.normal_force, "contact_gap": c.gap},
            energy=c.stored,
            power=-c.loss,
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """Return the fast modes of the normal law at a depth of one millimetre, and of friction."""
        moves = max(mobility.point(self.body, np.array(self.probe.center)), 1e-300)
        out = [mode_of(f"contact {self.name!r}", *self.material.law.stiffness_at(1e-3), moves, meets=True)]
        friction = self.material.friction
        if friction is not None:
            name = f"friction of contact {self.name!r}"
            out.append(mode_of(name, friction.stiffness, friction.damping, moves, internal=True))
            settling = friction.stiffness / friction.damping
            out.append(FastMode(f"slipping friction of contact {self.name!r}", 0.0, settling))
        return out
