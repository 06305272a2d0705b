"""Lines between a vehicle and a ship: of lumped masses, hanging ones that only pull, and one of which a part is lifted."""

from ._cable import Cable
from ._catenary import CatenaryPull, catenary_pull, catenary_shape
from ._ends import FramePoint, RidingPoint, SwayingPoint, TopPoint
from ._hanging import HangingLine
from ._lifted import LiftedLine
from ._tether import Tether, Winch

__all__ = [
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
