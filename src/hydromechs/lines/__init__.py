"""Lines between a vehicle and a ship: lumped-mass tethers, hanging lines without inertia, and partly lifted lines."""

from collections.abc import Mapping

from hydromechs.model.component import Component

from ._catenary import CatenaryPull, catenary_pull, catenary_shape
from ._ends import FramePoint, RidingPoint, SwayingPoint, TopPoint
from ._hanging import HangingLine, LiftedLine
from ._mechanics import Cable
from ._tether import Tether, Winch

__all__ = [
    "TOPS",
    "TYPES",
    "Cable",
    "CatenaryPull",
    "FramePoint",
    "HangingLine",
    "LiftedLine",
    "RidingPoint",
    "SwayingPoint",
    "Tether",
    "TopPoint",
    "Winch",
    "catenary_pull",
    "catenary_shape",
]

TYPES: Mapping[str, type[Component]] = {"tether": Tether, "hanging_line": HangingLine, "lifted_line": LiftedLine}
"""Component classes, keyed by name in files."""
TOPS: Mapping[str, type[TopPoint]] = {"frame": FramePoint, "swaying": SwayingPoint, "riding": RidingPoint}
"""Classes of upper ends of lines, keyed by name in files."""
