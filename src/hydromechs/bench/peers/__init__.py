"""The same mechanism in other codes, to compare with: Pinocchio, MuJoCo and DART (extra `dev`)."""

from ._dart import DartPeer
from ._import import import_peer
from ._mujoco import MujocoPeer
from ._pinocchio import PinocchioPeer

__all__ = ["DartPeer", "MujocoPeer", "PinocchioPeer", "import_peer"]
