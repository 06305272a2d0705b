"""Identification: estimation of unknown plant parameters from recordings, with uncertainties."""

from ._identify import Direction, Found, Identification, States, Whiteness, identify
from ._instruments import CHANNELS, Instrument, MeasuredChannel
from ._problem import Evaluated, Problem
from ._samples import ChannelSamples, Nodes, Trial
from ._sensitivity import SensitiveState, Sensitivities
from ._solve import Solution, solve
from ._unknowns import AddedMass, CurrentOf, Factor, InertiaOf, JointOffset, Number, Positive, SurfaceHeight, Unknown

__all__ = [
    "CHANNELS",
    "AddedMass",
    "ChannelSamples",
    "CurrentOf",
    "Direction",
    "Evaluated",
    "Factor",
    "Found",
    "Identification",
    "InertiaOf",
    "Instrument",
    "JointOffset",
    "MeasuredChannel",
    "Nodes",
    "Number",
    "Positive",
    "Problem",
    "SensitiveState",
    "Sensitivities",
    "Solution",
    "States",
    "SurfaceHeight",
    "Trial",
    "Unknown",
    "Whiteness",
    "identify",
    "solve",
]
