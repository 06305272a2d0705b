"""Pose of a frame on its parent as modified Denavit-Hartenberg parameters; `Origin` follows the URDF convention."""

from dataclasses import dataclass
from typing import Annotated

from hydromechs.geometry import constant_screw
from hydromechs.registry import Degrees
from hydromechs.values import Finite, convert_fields

Angle = Annotated[Finite, Degrees()]
"""An angle [rad]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdh:
    """Craig's modified Denavit-Hartenberg parameters, after branch parameters (McMillan, Orin and McGhee 1996, Fig. 4).

    Frame = Rz(branch_theta) Tz(branch_d) · Rx(alpha) Tx(a) · Rz(theta) Tz(d). A revolute joint adds its position to
    `theta`, a prismatic joint to `d`; both move about or along the z axis of the frame.
    """

    a: Finite = 0.0
    """Distance along x of the parent [m]."""
    alpha: Angle = 0.0
    """Angle about x of the parent [rad]."""
    d: Finite = 0.0
    """Distance along z [m]; a prismatic joint adds its position."""
    theta: Angle = 0.0
    """Angle about z [rad]; a revolute joint adds its position."""
    branch_d: Finite = 0.0
    """Distance along z of the parent before the other parameters [m]."""
    branch_theta: Angle = 0.0
    """Angle about z of the parent before the other parameters [rad]."""

    def __post_init__(self) -> None:
        convert_fields(self, "mdh")

    def steps(self, axis: int) -> tuple:
        """Return transformations from the parent; for any `axis`, the last one is the screw about z."""
        branch = () if self.branch_d == self.branch_theta == 0.0 else (constant_screw(2, self.branch_d, self.branch_theta),)
        return (*branch, constant_screw(0, self.a, self.alpha), constant_screw(2, self.d, self.theta))
