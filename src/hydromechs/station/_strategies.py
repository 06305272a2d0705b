"""What an operator could do now, and where it leads: strategies of the pilot, simulated ahead in coarse steps."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hydromechs.integrators import is_multiple
from hydromechs.model import State
from hydromechs.simulation import PythonBlock, Simulation

from ._configuration import Configured
from ._delayed import DueInputs
from ._ghost import unheard
from ._lookahead import LookAhead, SetPoint
from ._operator import Operator
from ._pilot import Pilot

AHEAD = 10.0
"""How far ahead [s]."""
PERIOD = 0.2
"""Time between two commands of the pilot that looks ahead, and between two points of a path [s]."""
STEP = 0.01
"""Longest step of its simulation [s]."""


class Outlook(NamedTuple):
    """Where strategies lead a vehicle."""

    names: tuple[str, ...]
    """Names of the n strategies."""
    t: np.ndarray
    """Times [s], shape (rows,)."""
    points: np.ndarray
    """Places of the vehicle [m], shape (n, rows, 3)."""
    until: np.ndarray
    """Time up to which each could be simulated [s], shape (n,)."""
    took: float
    """Time that it took [s]."""


class Strategies:
    """Where three strategies lead: to go on as now, to stop and hold, full astern.

    Simulated with all of the scenario, but with the true state in place of sensors, commands every 0.2 s, and steps up to
    10 ms, if they are not too long for a stiff part.
    """

    def __init__(self, configured: Configured) -> None:
        self.configured = configured
        """The scenario that is flown."""
        self._inputs = DueInputs(Operator())  # what is delivered last stays
        step = configured.scenario.step
        longest = next((n for n in range(math.floor(STEP / step + 1e-9), 1, -1) if is_multiple(PERIOD, n * step, n * step)), 1)
        try:
            self._build(longest * step)
        except ValueError:
            if longest == 1:
                raise
            self._build(step)

    def _build(self, step: float) -> None:
        (block,) = self.configured.scenario.controllers
        assert isinstance(block.controller, Pilot)
        blocks = (PythonBlock(controller=block.controller.reading(self._inputs, PERIOD)),)
        blunt = replace(self.configured.scenario, blocks=blocks, events=(), checks=())
        simulation = replace(blunt, step=step, record=PERIOD, duration=AHEAD).simulation()
        pilot = simulation.controller
        assert isinstance(pilot, Pilot)
        self._pilot = pilot
        self._look = LookAhead(simulation, deliver=self._deliver, told=unheard)
        self(simulation.state, pilot.memory, Operator())  # compiles

    def _deliver(self, simulation: Simulation, content: Operator) -> None:
        self._inputs.asked = content

    def __call__(self, state: State, memory: np.ndarray, asked: Operator) -> Outlook:
        """Where the strategies lead from a state, with the pilot's memory and the operator's inputs there.

        The time of the state is rounded to a command of the pilot.
        """
        begin = time.perf_counter()
        ways = {
            "go on": replace(asked, gripper="keep"),
            "stop and hold": Operator(arm=asked.arm, arm_mode=asked.arm_mode),
            "full astern": Operator(mode="manual", axes=(-1.0, 0, 0, 0, 0, 0), arm=asked.arm, arm_mode=asked.arm_mode),
        }
        start = replace(state, t=round(state.t / PERIOD) * PERIOD, memory=memory, signal=np.zeros(0))
        paths = self._look(start, {name: SetPoint(way) for name, way in ways.items()}, AHEAD, every=PERIOD)
        points = paths.p_WB[:, :, self._pilot.vehicle.body]
        return Outlook(paths.names, paths.t, points, paths.until, time.perf_counter() - begin)
