"""Conversion of models for MuJoCo, Pinocchio and python-control; `hydromechs.equations` generates CasADi functions."""

from ._coordinates import CoordinateMap, FreeJoint
from ._mujoco import InMujoco, to_mujoco
from ._pinocchio import InPinocchio, to_pinocchio
from ._state_space import to_state_space

__all__ = ["CoordinateMap", "FreeJoint", "InMujoco", "InPinocchio", "to_mujoco", "to_pinocchio", "to_state_space"]
