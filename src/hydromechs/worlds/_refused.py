"""What worlds cannot be made of, by name and with the remedy, before anything is computed."""

from __future__ import annotations

from hydromechs.compiler import NATIVE, Backend
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import METHODS, FixedStep
from hydromechs.scenario import Scenario
from hydromechs.sensors import JointEncoders
from hydromechs.simulation import FunctionController, TracedBlock

from ._source import Source


def check_target(source: Source, backend: Backend) -> None:
    """Reject a mechanism or plant that a back end cannot run, by name."""
    if not isinstance(source.method, FixedStep) and not backend.takes_divided_steps:
        known = ", ".join(name for name, method in METHODS.items() if issubclass(method, FixedStep))
        raise UnsupportedFeature(
            f"integrator {source.method.name!r} divides its steps or looks back, which target {backend.target!r} cannot; use "
            f"one of {known}, or target='{NATIVE.target}'"
        )
    if source.stepper.loops is not None and not backend.takes_loops:
        raise UnsupportedFeature(
            f"{source.model.name} with {source.model.nb} bodies is compiled as loops over its bodies (form 'rolled'), which "
            f"target {backend.target!r} cannot run; give form='specialised', or target='{NATIVE.target}'"
        )


def law_of(scenario: Scenario) -> TracedBlock | None:
    """The control law of a scenario as worlds run it; refuses by name what only a simulation of one world can do."""
    law, parts = None, []
    for given in scenario.controllers:
        made = given.make()
        law = made if isinstance(made, TracedBlock) and len(scenario.controllers) == 1 else None
        if law is None:
            name = repr(made) if isinstance(made, FunctionController) else type(made).__name__
            parts.append(f"its controller {name!r} is one of several, or Python code")
    if scenario.navigation is not None:
        parts.append("it has a navigation filter")
    encoders = [s.name for s in scenario.sensors if isinstance(s, JointEncoders)]
    if law is not None and encoders:
        parts.append(
            f"its controller {type(law).__name__!r} sees joints through {encoders[0]!r}, a law in worlds sees the truth"
        )
    if scenario.events:
        parts.append(f"it has the events {', '.join(repr(e.name) for e in scenario.events)}")
    if scenario.engine is not None:
        parts.append(f"its engine {scenario.engine.engine!r} holds one world")
    if parts:
        raise UnsupportedFeature(
            f"scenario {scenario.name!r} cannot run as worlds that a caller steps: {'; '.join(parts)}; remove these, "
            "hm.Worlds(dataclasses.replace(scenario, blocks=(), events=(), "
            "engine=None), n), and give commands by step, or one controller in NumPy operations, an hm.TracedBlock"
        )
    return law
