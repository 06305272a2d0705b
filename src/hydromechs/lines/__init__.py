"""Lines between a vehicle and a ship: tethers of lumped masses that are paid out, and a hanging line that only pulls."""

from ._cable import Cable
from ._catenary import CatenaryPull, catenary_pull, catenary_shape
from ._ends import FramePoint, RidingPoint, SwayingPoint, TopPoint
from ._hanging import HangingLine
from ._tether import Tether, Winch

__all__ = [
    "Cable",
    "CatenaryPull",
    "FramePoint",
    "HangingLine",
    "RidingPoint",
    "SwayingPoint",
    "Tether",
    "TopPoint",
    "Winch",
    "catenary_pull",
    "catenary_shape",
]
