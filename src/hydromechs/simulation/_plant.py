"""A plant: a mechanism in its water with all that acts on it. It knows components by their interface only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hydromechs import dynamics
from hydromechs.equations import identity_of, parameter_value, with_parameters
from hydromechs.hydro import Environment, Uniform, UniformFlow, WaveComponents, wave_components
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now
from hydromechs.values import Array, Scalar, nearest

from ._layout import Data, Layout, layout_of

__all__ = ["Plant", "Waves"]

Waves: TypeAlias = tuple[WaveComponents, Array]
"""Sine waves, and the velocity with which a steady current carries them [m/s], shape (3,)."""

DIMENSIONS = {"time", "body", "coordinate", "dof", "xyz", "wxyz", "six", "nu", "cause", "internal", "held", "channel"}
"""Dimensions of every recording."""
CAUSES = {"drag", "water", "surface"}
"""Causes of work that are not components."""
LABELS = {"drag", "added_mass", "buoyancy", "weight"}
"""Labels of forces that do not come from components."""
WAVE_ROWS = 7
"""Numbers of one wave: amplitude, frequency, wavenumber, direction (2), phase, scale."""


class _StillWater:
    """Water at rest, for the first look at what components do."""

    def __init__(self, surface: bool) -> None:
        self._depth = 0.0 if surface else None

    def velocity_at(self, body: int, away: Array) -> Array:
        return np.zeros(3)

    def depth_at(self, body: int, away: Array) -> Scalar | None:
        return self._depth


@dataclass(frozen=True, kw_only=True)
class Plant:
    """What is simulated.

    Numbers of a run (seed, currents, waves, commands, open parameters) are inputs of its programs: changing them compiles
    nothing.
    """

    model: Model
    """The mechanism."""
    environment: Environment = field(default_factory=Environment)
    """The water."""
    components: tuple[Component, ...] = ()
    """What acts on the mechanism."""
    seed: int = 0
    """Of the waves' phases and the gusts."""
    parameters: tuple[str, ...] = ()
    """Names of numbers of the model that stay open, as "vehicle.inertia.mass"."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", tuple(self.components))
        named = (self.parameters,) if isinstance(self.parameters, str) else tuple(self.parameters)
        object.__setattr__(self, "parameters", named)
        for name in named:
            parameter_value(self.model, name)  # a KeyError that says what there is
        for c in self.components:
            if not isinstance(c, Component):
                raise TypeError(f"components has {c!r}, must be a Component; derive your class from hydromechs.Component")
            c.check(self.model)
        seen: set[str] = set()
        for c in self.components:
            if c.name in seen:
                raise ValueError(f"two components are called {c.name!r} ({c.kind}); names must differ")
            seen.add(c.name)
            for what, word, taken in (("kind", c.kind, DIMENSIONS), ("cause", c.cause, CAUSES), ("label", c.label, LABELS)):
                if word in taken:
                    raise ValueError(
                        f"component {c.name!r} ({type(c).__name__}): its {what} {word!r} is a name of the recording's own; "
                        f"give the class another, as {what} = {word + '_of_mine'!r}"
                    )
        _ = self._actions

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the description alone; what is compiled is made anew, or taken from the cache."""
        return _plant, (self.model, self.environment, self.components, self.seed, self.parameters)

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """Programs that rollouts have made of it, by method, lanes and threads."""
        return {}

    # -- what components do, seen once ----------------------------------------------------------------------------------------

    @cached_property
    def _actions(self) -> tuple[Action, ...]:
        """What components do at the model's start, in still water with their inputs at rest: shows which forces there are."""
        model, state = self.model, self.model.initial()
        kin = dynamics.kinematics(model, state.q, state.v)
        now = Now(model, 0.0, state.q, state.v, kin, _StillWater(self.environment.surface is not None))
        out = []
        for c in self.components:
            z = {s.name: s.start(state.q) if callable(s.start) else s.start for s in c.states(model)}
            u = {s.name: s.start(state.q) if callable(s.start) else s.start for s in c.inputs(model)}
            action = c.act(now, z, u)
            _check_action(c, action, z)
            out.append(action)
        return tuple(out)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of components that put wrenches on bodies, for the recording."""
        pairs = zip(self.components, self._actions, strict=True)
        return tuple(dict.fromkeys(c.label for c, a in pairs if a.forces))

    @cached_property
    def constraining(self) -> tuple[int, ...]:
        """Numbers of the components that have constraints."""
        return tuple(k for k, action in enumerate(self._actions) if action.constraints)

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        return bool(self.constraining)

    @cached_property
    def armature(self) -> np.ndarray | None:
        """Reflected inertia of rotors that each degree of freedom feels [kg·m²], shape (nv,); None for none."""
        out = np.zeros(self.model.nv)
        for action in self._actions:
            for dofs, inertia in action.armature:
                out[dofs] += inertia
        return out if out.any() else None

    # -- layout ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """Where states and inputs are."""
        acting = (
            c.cause
            for c, a in zip(self.components, self._actions, strict=True)
            if a.forces or a.joint_forces or a.constraints or a.power is not None
        )
        causes = list(dict.fromkeys(acting))
        causes += ["drag"] if self.wet else []
        causes += ["water"] if self.wet and self.flows else []
        causes += ["surface"] if self.wet and self.environment.surface is not None else []
        return layout_of(self.model, self.components, causes, self._data)

    @property
    def _data(self) -> list[Data]:
        out = []
        if self.streams:
            out.append(Data("flow", (7,)))
        if self.waves is not None:
            out += [Data("carried", (3,)), Data("waves", (WAVE_ROWS, len(self.waves.amplitude)))]
        return out + [Data(f"parameter.{name}", parameter_value(self.model, name).shape) for name in self.parameters]

    def data(self, flow: UniformFlow, t: float, parameters: Mapping[str, Array]) -> tuple[Array, float]:
        """The run's data from a time on, shape (n,), and until when they hold [s].

        Args:
            flow: Current and gusts over time.
            t: Time [s].
            parameters: Values of open parameters by name; the model's for those not named.
        """
        unknown = [name for name in parameters if name not in self.parameters]
        if unknown:
            hint = nearest(unknown[0], self.parameters)
            raise KeyError(f"no open parameter {unknown[0]!r}{hint}; name it in parameters=[...] of the plant or simulation")
        parts, until = [], np.inf
        if self.streams:
            segment = flow.segment(t)
            parts.append([*segment.velocity, *segment.slope, segment.t_begin])
            until = segment.t_end
        if self.waves is not None:
            w, current = self.waves, self.environment.current
            parts.append([0.0, 0.0, 0.0] if current is None else list(current.velocity))
            rows = (w.amplitude, w.omega, w.wavenumber, w.direction[:, 0], w.direction[:, 1], w.phase, w.scale)
            parts.append(list(np.concatenate(rows)))
        for name in self.parameters:
            parts.append(list(np.ravel(parameters.get(name, parameter_value(self.model, name)))))
        return np.array([x for part in parts for x in part], dtype=float), until

    def opened(self, u: Array) -> Model:
        """The mechanism with its open parameters taken from the inputs."""
        if not self.parameters:
            return self.model
        return with_parameters(self.model, {name: self.layout.array(f"parameter.{name}", u) for name in self.parameters})

    def waves_of(self, rows: Array | None, carried: Array | None) -> Waves:
        """The waves from their rows among the inputs, shape (7, n); none if None.

        Args:
            rows: Amplitude, frequency, wavenumber, direction (2), phase and scale of each wave.
            carried: Velocity with which a steady current carries them [m/s], shape (3,).
        """
        if rows is None or carried is None or self.waves is None:
            return wave_components(Environment(), self.model.world.gravity, 0), np.zeros(3)
        direction = np.stack([rows[3], rows[4]], axis=1)
        return WaveComponents(rows[0], rows[1], rows[2], direction, rows[5], rows[6], self.waves.water_depth), carried

    @cached_property
    def identity(self) -> str | None:
        """A text that fixes the plant's programs together with the package's source; None with code of a user's own.

        It leaves out the numbers that are inputs.
        """
        parts = [identity_of(thing) for thing in (self.model, self.environment.profile, self.components)]
        if any(part is None for part in parts):
            return None
        shape = (self.parameters, self.streams, self.flows, self.environment.surface is not None)
        waves = None if self.waves is None else (len(self.waves.amplitude), self.waves.water_depth)
        return f"{parts} {shape} {waves}"

    # -- water ----------------------------------------------------------------------------------------------------------------

    @cached_property
    def waves(self) -> WaveComponents | None:
        """The sine waves of the environment."""
        if not self.environment.waves:
            return None
        return wave_components(self.environment, self.model.world.gravity, self.seed)

    @property
    def streams(self) -> bool:
        """Whether there is a current or gusts."""
        return self.environment.current is not None or self.environment.gusts is not None

    @property
    def flows(self) -> bool:
        """Whether the undisturbed water moves at all."""
        return bool(self.environment.waves) or self.streams

    @property
    def uniform(self) -> bool:
        """Whether the water moves alike at all bodies."""
        return not self.environment.waves and isinstance(self.environment.profile, Uniform)

    @property
    def waves_move_surface(self) -> bool:
        """Whether there are a free surface and waves on it."""
        return self.environment.surface is not None and bool(self.environment.waves)

    @cached_property
    def wet(self) -> bool:
        """Whether the water touches any body."""
        return any(b.hydro is not None for b in self.model.bodies)

    # -- names ----------------------------------------------------------------------------------------------------------------

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the commands."""
        return self.layout.commands

    @property
    def internal_names(self) -> tuple[str, ...]:
        """Names of the internal states, and of the work that each cause has done [J]."""
        return self.layout.states

    @property
    def causes(self) -> tuple[str, ...]:
        """What can do work on the mechanism."""
        return self.layout.causes


def _plant(model: Model, environment: Environment, components: tuple, seed: int, parameters: tuple[str, ...]) -> Plant:
    return Plant(model=model, environment=environment, components=components, seed=seed, parameters=parameters)


def _check_action(component: Component, action: object, z: Mapping[str, float]) -> None:
    """What a component's `act` returned must fit what it says of itself."""
    who = f"component {component.name!r} ({type(component).__name__})"
    if not isinstance(action, Action):
        raise TypeError(f"{who}: act returned {action!r}, must be an Action")
    if set(action.rates) != set(z):
        raise ValueError(f"{who}: act gives rates of {sorted(action.rates)}, must give those of its states {sorted(z)}")
    declared = {o.name for o in component.outputs}
    recorded = {*action.record, *(name for c in action.constraints for name in c.record(np.zeros(len(c.bias))))}
    if recorded != declared:
        raise ValueError(f"{who}: act records {sorted(recorded)}, must record its outputs {sorted(declared)}")
    for wrench in action.forces:
        if np.shape(wrench.F_Bo_B) != (6,):
            raise ValueError(f"{who}: a wrench has shape {np.shape(wrench.F_Bo_B)}, must be (6,)")
    if action.energy is not None and action.power is None:
        raise ValueError(f"{who} stores energy: its Action must have power, Σ F·V + d(energy)/dt, for the energy audit")
