"""A mission as an object: models in water with all that acts on them, how long to simulate, and what must come true."""

from ._assemble import ModelStart, assemble
from ._code import CONTROLLERS, ComponentSpec, ControllerSpec
from ._scenario import Scenario, code_faults

__all__ = ["CONTROLLERS", "ComponentSpec", "ControllerSpec", "ModelStart", "Scenario", "assemble", "code_faults"]
