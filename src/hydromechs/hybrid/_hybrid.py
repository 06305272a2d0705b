"""Plants on third-party engines: checks, replaced components, and the stepping method."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.contact import Pair
from hydromechs.errors import UnsupportedFeature
from hydromechs.integrators import Integrator, SemiImplicitEuler, Stepper
from hydromechs.model import State, joints
from hydromechs.registry import reference_to
from hydromechs.simulation import Plant, PlantPrograms, Simulation, external_program

from ._bullet import BulletEngine
from ._dart import DartEngine
from ._engine import Engine
from ._mujoco import MuJoCoEngine
from ._scene import scene_of
from ._schemes import Causal, Exact, Filtered, Iterated, Scheme, Stability, UnstableScheme, added_masses, ratios, stability
from ._steps import EngineContact, EngineMemory, EngineRun, EngineSteps

ENGINES: Mapping[str, type[Engine]] = {e.name: e for e in (MuJoCoEngine, DartEngine, BulletEngine)}
"""Engine classes, keyed by name."""
SCHEMES: Mapping[str, type[Scheme]] = {s.name: s for s in (Exact, Iterated, Causal, Filtered)}
"""Added-mass schemes, keyed by name."""


@dataclass(frozen=True, kw_only=True)
class Hybrid:
    """Third-party engine with a treatment of added mass.

    The engine handles rigid bodies, joints and contacts. Before each engine step, compiled functions of HydroMechs compute all
    other forces (water, weight, thrusters, drives, friction, stops, grasps, custom components), which are applied to the
    engine.

        sim = Hybrid(engine="mujoco").simulation(plant, step=0.002)
    """

    engine: str | Engine
    """Engine name (mujoco, dart or bullet), or an instance of a class derived from `Engine`."""
    scheme: Scheme = field(default_factory=Exact)
    """Added-mass scheme."""
    accept_unstable: bool = False
    """True to run a scheme even if it is unstable for the mechanism."""

    def __post_init__(self) -> None:
        if isinstance(self.engine, type):
            raise ValueError(f"engine is the class {self.engine.__name__}; pass an instance, {self.engine.__name__}()")
        if not isinstance(self.engine, Engine) and self.engine not in ENGINES:
            own = "for the built-in engine, omit the engine or use --engine hydromechs"
            raise ValueError(f"no engine is named {self.engine!r}; available: {', '.join(ENGINES)}; {own}")
        if not isinstance(self.scheme, Scheme):
            raise ValueError(f"scheme is {self.scheme!r}; pass Exact(), Iterated(), Causal() or Filtered()")

    @property
    def name(self) -> str:
        """Name of the engine."""
        return self.engine.name if isinstance(self.engine, Engine) else self.engine

    @property
    def _kind(self) -> type[Engine]:
        return type(self.engine) if isinstance(self.engine, Engine) else ENGINES[self.engine]

    def new_engine(self) -> Engine:
        """Return a new engine for one simulation."""
        return copy.deepcopy(self.engine) if isinstance(self.engine, Engine) else ENGINES[self.engine]()

    def on(self, plant: Plant, start: State | None = None) -> tuple[Plant, EngineMethod]:
        """Return the plant adapted to the engine and the stepping method; pass both to a `Simulation`.

        Contacts of the engine replace the built-in compliant contacts. Stability is evaluated at `start`, which defaults to the
        initial state of the model. Raises `ModuleNotFoundError` if the engine is not installed, `UnsupportedFeature` with a
        list of all unsupported features, and `UnstableScheme` unless instability is accepted.
        """
        if self._kind.module:
            self.new_engine().library()
        unable = self._unable(plant)
        if unable:
            raise UnsupportedFeature("\n  - ".join([f"engine {self.name!r} cannot represent {plant.model.name}:", *unable]))
        verdict = self.stability(plant, start)
        if not verdict.stable and not self.accept_unstable:
            raise UnstableScheme(self._refusal(verdict))
        pairs = _pairs(plant)
        others = tuple(c for c in plant.components if not isinstance(c, Pair))
        said = (f"engine {self.name}, {verdict.words}",)
        own = (EngineMemory(said=said), *((EngineContact(pairs=pairs),) if pairs else ()))
        prepared = replace(plant, components=(*others, *own))
        return prepared, EngineMethod(self, prepared, pairs)

    def faults(self, plant: Plant, start: State | None = None) -> list[str]:
        """Return the reasons why `on` would reject a plant, even if the engine is not installed."""
        out = [f"engine {self.name!r}: {text}" for text in self._unable(plant)]
        verdict = self.stability(plant, start)
        return out if verdict.stable or self.accept_unstable else [*out, self._refusal(verdict)]

    def _unable(self, plant: Plant) -> list[str]:
        unknown, table = [], self._kind.joint_types
        for part in plant.model.joint_parts.values():
            kind = "" if type(part.joint) in joints.TYPES.values() else _joint_type(part.joint)
            text = joints.missing(table, part.joint, f"engine {self.name!r}", "run without an engine", kind)
            unknown += [f"joint {part.name!r}: {text}"] if text else []
        if plant.given_motion:
            names = ", ".join(repr(plant.model.body_names[i]) for i in plant.given_motion)
            unknown.append(f"joints {names} have prescribed motion, which engines do not support; run without an engine")
        return (unknown or self.new_engine().faults(plant.model, scene_of(plant.model, _pairs(plant)))) + [
            f"open parameter {name!r} is a constant of rigid bodies in an engine; open only parameters of hydro and world"
            for name in plant.parameters
            if ".hydro." not in name and not name.startswith("world.")
        ]

    def _refusal(self, verdict: Stability) -> str:
        return f"engine {self.name!r}, {verdict.words}; or set accept_unstable to true to run it anyway"

    def stability(self, plant: Plant, start: State | None = None) -> Stability:
        """Return the error amplification of the scheme at the start, with the whole mechanism under water."""
        q = np.asarray((plant.model.initial() if start is None else start).q)
        rotors, known = _rotors(self._kind, plant)
        return stability(self.scheme, ratios(plant.model, q, added_masses(plant.model), rotors, known))

    def simulation(self, plant: Plant, *, state: State | None = None, **options: Any) -> Simulation:
        """Return a simulation of the plant on the engine; the options are those of `Simulation`."""
        prepared, method = self.on(plant, state)
        return Simulation(prepared, integrator=method, state=state, **options)


def _pairs(plant: Plant) -> tuple[Pair, ...]:
    return tuple(c for c in plant.components if isinstance(c, Pair))


def _rotors(engine: type[Engine], plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotor inertia that the engine lacks, and the rotor inertia that it includes, shape (nv,) each."""
    armature = np.zeros(plant.model.nv) if plant.armature is None else plant.armature
    nothing = np.zeros(plant.model.nv)
    return (nothing, armature) if engine.takes_rotors else (armature, nothing)


class EngineMethod(Integrator):
    """Fixed-step method of an engine, of order 1 like its semi-implicit Euler steps."""

    __slots__ = ("_pairs", "_plant", "hybrid")
    restarts_at_stops = False
    many_worlds = False
    other = ""
    order = 1
    stages = 1

    def __init__(self, hybrid: Hybrid, plant: Plant, pairs: tuple[Pair, ...]) -> None:
        self.hybrid, self._plant, self._pairs = hybrid, plant, pairs

    @property
    def name(self) -> str:
        return f"{self.hybrid.name} with {self.hybrid.scheme.words}"

    def longest_step(self, frequency: float, decay: float) -> float:
        return SemiImplicitEuler().longest_step(frequency, decay)

    def longest_internal_step(self, frequency: float, decay: float) -> float:
        return SemiImplicitEuler().longest_internal_step(frequency, decay)

    def remedy(self, step: float) -> str:
        """Return the advice to reduce the step, or the stability result if the scheme is unstable for all steps."""
        verdict = self.hybrid.stability(self._plant)
        return f"reduce the step below {step:g} s" if verdict.stable else verdict.words

    def propagator(self, stepper: Stepper) -> EngineSteps:
        plant, scheme, engine = self._plant, self.hybrid.scheme, self.hybrid.new_engine()
        added = added_masses(plant.model)
        carried = scheme.carried(engine, plant.model, added)
        rotors, known = _rotors(type(engine), plant)
        engine.load(plant.model, scene_of(plant.model, self._pairs), carried, known)
        inside = {EngineContact.label} if self._pairs else set()
        program = external_program(PlantPrograms(plant, self), inside)
        return EngineSteps(stepper, EngineRun(plant, engine, scheme, program, carried, rotors, known))

    def __repr__(self) -> str:
        return f"EngineMethod({self.hybrid!r})"


def _joint_type(joint: joints.Joint) -> str:
    """Return the type of a custom joint as in a model file, without folder, such as "rail.py:Circle", or its class name."""
    try:
        source, _, name = reference_to(type(joint), None).rpartition(":")
    except UnsupportedFeature:
        return type(joint).__name__
    return f"{Path(source).name if source.endswith('.py') else source}:{name}"
