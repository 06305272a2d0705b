"""External wrenches on bodies, set by callers and events."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Order, Slot, Values, Wrench

SIX = ("X", "Y", "Z", "K", "M", "N")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalWrench(Component):
    """External wrench on a body, in body axes about the body origin, set by callers and events."""

    kind = "external"
    refers = MappingProxyType({"body": "body"})

    body: str
    """Name of the body."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Name of the component: "external." and the name of the body."""
        return f"external.{self.body}"

    @property
    def external_body(self) -> str:
        return self.body

    def order(self, model: Model) -> tuple[int, int]:
        return Order.EXTERNAL, 0

    def check(self, model: Model) -> None:
        model.body_index(self.body)

    def inputs(self, model: Model) -> list[Slot]:
        """Force [N] and moment [N·m]."""
        return [Slot(x, unit="N" if x in "XYZ" else "N m", setting=True) for x in SIX]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        return Action(forces=[Wrench(now.model.body_index(self.body), np.array([u[x] for x in SIX]))])
