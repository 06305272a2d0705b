"""A plant: a mechanism in its water with all that acts on it. It knows components by their interface only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hydromechs import dynamics
from hydromechs.equations import Form, identity_of, model_of, parameter_value, with_parameters
from hydromechs.errors import FieldError, ModelError
from hydromechs.hydro import (
    Environment,
    Uniform,
    UniformFlow,
    WaveComponents,
    WetSampling,
    has_hull,
    sampling,
    strip_wavenumber,
    wave_components,
)
from hydromechs.model import Model, State, body_faults, dry_faults, world_faults
from hydromechs.model.component import Action, Component, Now, StillWater
from hydromechs.values import Array, instances, nearest, whole

from ._actions import acting, check_action
from ._constraints import constraint_groups
from ._layout import Data, Layout, layout_of
from ._orientation import Orientations
from ._rolled_plant import RolledPlant, rolled_plant

Waves: TypeAlias = tuple[WaveComponents, Array]
"""Sine waves, and the velocity with which a steady current carries them [m/s], shape (3,)."""

COMPONENTS = "components; derive a class of your own from hydromechs.Component"
"""What components must be."""
DIMENSIONS = {"time", "body", "coordinate", "dof", "xyz", "wxyz", "six", "nu", "cause", "internal", "held"}
DIMENSIONS |= {"constraint_group", "channel"}
"""Dimensions of every recording."""
CAUSES = {"drag", "water", "surface"}
"""Causes of work that are not components."""
LABELS = {"drag", "added_mass", "buoyancy", "fluid_acceleration", "weight"}
"""Labels of forces that do not come from components."""
WAVE_ROWS = 7
"""Numbers of one wave: amplitude, frequency, wavenumber, direction (2), phase, scale."""
SURFACE_HEIGHT = "surface_height"
"""Name of the input that holds the height of the mean surface above the world's origin [m]."""


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
    form: Form | None = None
    """How it is compiled: "specialised" for straight-line code of all bodies, "rolled" for loops over them; by the number of
    bodies unless given."""

    def __post_init__(self) -> None:
        model_of(self.model)
        if not isinstance(self.environment, Environment):
            raise FieldError("environment", self.environment, "must be a hydromechs.Environment(...)")
        object.__setattr__(self, "components", instances(self.components, Component, "components", COMPONENTS))
        object.__setattr__(self, "seed", whole(self.seed, "seed"))
        named = (self.parameters,) if isinstance(self.parameters, str) else tuple(self.parameters)
        object.__setattr__(self, "parameters", named)
        for name in named:
            parameter_value(self.model, name)  # a KeyError that says what there is
        if "world.gravity" in named and self.environment.waves:
            raise ValueError(
                "parameter 'world.gravity' cannot stay open with waves: their lengths follow from it; set it in the model, or "
                "leave the waves out"
            )
        shaping = [name for name in named if self._shapes_wet_part(name)]
        if shaping and self.environment.surface is not None:
            raise ValueError(
                f"parameter {shaping[0]!r} cannot stay open with a free surface: the wet geometry depends on it; set "
                "it in the model, or remove the surface (a volume can stay open if the body has shapes)"
            )
        for c in self.components:
            if not isinstance(c.name, str) or not c.name:
                raise FieldError(f"name of component {type(c).__name__}", c.name, "must be a text that is not empty")
            if not c.acts:
                raise ValueError(
                    f"component {c.name!r} ({type(c).__name__}) does not act itself; give the list to Simulation or Scenario, "
                    "or take the components of the plant from components_of(model, parts)"
                )
            c.check(self.model)
        faults = [] if self.environment.surface is None else dry_faults(self.model)
        if faults:
            raise ModelError(self.model.name, faults)
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
        _ = self.first_actions
        _ = self.given_motion
        _ = self.rolled
        if named:
            from ._opened import opened_faults  # looks at whole plants

            for text in opened_faults(self).values():
                raise ValueError(text)

    def _shapes_wet_part(self, name: str) -> bool:
        """True if the geometry that a free surface cuts depends on a parameter; with shapes, a volume only scales it."""
        if name.endswith(".hydro.buoyancy_center"):
            return True
        if not name.endswith(".hydro.volume"):
            return False
        body = self.model.bodies[self.model.body_index(name.removesuffix(".hydro.volume"))]
        return not (parameter_value(self.model, name) > 0.0 and has_hull(body))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the description alone; what is compiled is made anew, or taken from the cache."""
        return _plant, (self.model, self.environment, self.components, self.seed, self.parameters, self.form)

    @cached_property
    def orientations(self) -> Orientations:
        """Quaternions of the bodies, as they are recorded."""
        return Orientations(self.model)

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """Programs that rollouts have made of it, by method, lanes and threads."""
        return {}

    @cached_property
    def rolled(self) -> RolledPlant | None:
        """Loops over the bodies, if it is compiled that way."""
        return rolled_plant(self)

    # -- what components do, seen once ----------------------------------------------------------------------------------------

    @cached_property
    def first_actions(self) -> tuple[Action, ...]:
        """What components do at the model's start, in still water with their inputs at rest: shows which forces there are."""
        model, state = self.model, self.model.initial()
        kin = dynamics.kinematics(model, state.q, state.v)
        now = Now(model, 0.0, state.q, state.v, kin, StillWater(None if self.environment.surface is None else 0.0))
        out = []
        for c in self.components:
            z = {s.name: s.value_at(now) for s in c.states(model)}
            u = {s.name: s.value_at(now) for s in c.inputs(model)}
            u |= dict(zip(c.timed, c.timed_values(0.0)[0], strict=True))
            action = acting(c, now, z, u)
            check_action(c, model, action, z)
            out.append(action)
        return tuple(out)

    def on_motions(self, state: State) -> State:
        """A state with the joints whose motion is given on it.

        Args:
            state: Where all others are.
        """
        q, v = state.q.copy(), state.v.copy()
        for c in self.components:
            for part, q_joint, v_joint in c.initial(self.model, float(state.t)):
                q[part.q], v[part.v] = q_joint, v_joint
        return replace(state, q=q, v=v)

    @property
    def start(self) -> State:
        """The model's start, joints whose motion is given on it."""
        return self.on_motions(self.model.initial())

    def check_start(self, now: Now) -> None:
        """Raise `ValueError` if a run cannot begin at an instant, as with a tether that is too short.

        Args:
            now: The instant, see `InitialInstant`.
        """
        for c in self.components:
            c.check_start(now)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of components that put wrenches on bodies, for the recording."""
        pairs = zip(self.components, self.first_actions, strict=True)
        return tuple(dict.fromkeys(c.label for c, a in pairs if a.forces))

    @cached_property
    def constraining(self) -> tuple[int, ...]:
        """Numbers of the components that have constraints."""
        return tuple(k for k, action in enumerate(self.first_actions) if action.constraints)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Constraints that are solved together, as numbers in the order of components."""
        return constraint_groups(self.model, [row for action in self.first_actions for row in action.constraints])

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The names of each group's components, as "left_hand + right_hand"."""
        owners = [self.components[k].name for k in self.constraining for _ in self.first_actions[k].constraints]
        return tuple(" + ".join(dict.fromkeys(owners[i] for i in group)) for group in self.groups)

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        return bool(self.constraining)

    @cached_property
    def armature(self) -> np.ndarray | None:
        """Reflected inertia of rotors that each degree of freedom feels [kg·m²], shape (nv,); None for none."""
        out = np.zeros(self.model.nv)
        for action in self.first_actions:
            for dofs, inertia in action.armature:
                out[dofs] += inertia
        return out if out.any() else None

    @cached_property
    def given_motion(self) -> tuple[int, ...]:
        """Bodies whose joint moves as a component says, by index."""
        owners: dict[int, str] = {}
        for c, action in zip(self.components, self.first_actions, strict=True):
            for moved in action.motions:
                for dof in range(self.model.nv)[moved.dofs]:
                    if dof in owners:
                        name = self.model.coordinate_names[1][dof]
                        raise ValueError(
                            f"components {owners[dof]!r} and {c.name!r} both give the motion of {name!r}; keep one"
                        )
                    owners[dof] = c.name
        out = []
        for i, at in enumerate(self.model.v_slices):
            dofs = range(self.model.nv)[at]
            if any(dof in owners for dof in dofs):
                lacking = [self.model.coordinate_names[1][dof] for dof in dofs if dof not in owners]
                if lacking:
                    raise ValueError(
                        f"joint of body {self.model.body_names[i]!r}: the motion of a part of it is given, but not that of "
                        f"{', '.join(lacking)}; give all of them, or split the joint by a body of no mass"
                    )
                out.append(i)
        return tuple(out)

    @cached_property
    def given_dofs(self) -> tuple[int, ...]:
        """Places in v of joints whose motion is given."""
        return tuple(dof for i in self.given_motion for dof in range(self.model.nv)[self.model.v_slices[i]])

    # -- layout ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """Where states and inputs are."""
        acting = (
            c.cause
            for c, a in zip(self.components, self.first_actions, strict=True)
            if a.forces or a.joint_forces or a.constraints or a.motions or a.power is not None
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
        if self.environment.surface is not None:
            out.append(Data(SURFACE_HEIGHT, ()))
        out += [Data(f"timed.{c.name}", (len(c.timed),)) for c in self.components if c.timed]
        return out + [Data(f"parameter.{name}", parameter_value(self.model, name).shape) for name in self.parameters]

    def data(
        self,
        flow: UniformFlow,
        t: float,
        parameters: Mapping[str, Array],
        waves: WaveComponents | None = None,
        replaced: Collection[str] = (),
    ) -> tuple[Array, float]:
        """The run's data from a time on, shape (n,), and until when they hold [s].

        Args:
            flow: Current and gusts over time.
            t: Time [s].
            parameters: Values of open parameters by name; the model's for those not named.
            waves: Those of another seed; its own unless given.
            replaced: Names of components whose numbers the caller puts others in place of, whenever they change.
        """
        parts, until = [], np.inf
        if self.streams:
            segment = flow.segment(t)
            parts.append([*segment.velocity, *segment.slope, segment.t_begin])
            until = segment.t_end
        if self.waves is not None:
            w, current = self.waves if waves is None else waves, self.environment.current
            parts.append([0.0, 0.0, 0.0] if current is None else list(current.velocity))
            rows = (w.amplitude, w.omega, w.wavenumber, w.direction[:, 0], w.direction[:, 1], w.phase, w.scale)
            parts.append(list(np.concatenate(rows)))
        if self.environment.surface is not None:
            parts.append([0.0])  # at the world's origin in simulations; identification moves it
        for c in self.components:
            if c.timed:
                values, end = c.timed_values(t)
                parts.append(list(values))
                until = until if c.name in replaced else min(until, end)
        parts.append(list(self.parameter_values(parameters)))
        return np.array([x for part in parts for x in part], dtype=float), until

    def parameter_values(self, given: Mapping[str, Any]) -> np.ndarray:
        """Values of all open parameters in order, one after another, shape (np,).

        Args:
            given: Values by name; the model's for those not named.
        """
        for name in given:
            if name not in self.parameters:
                hint = nearest(name, self.parameters)
                raise KeyError(f"no open parameter {name!r}{hint}; name it in parameters=[...] of the plant or simulation")
        out = []
        for name in self.parameters:
            own = parameter_value(self.model, name)
            value = np.asarray(given.get(name, own), dtype=float)
            if value.shape != own.shape:
                raise ValueError(f"parameter {name!r} must have shape {own.shape}, got {value.shape}")
            if not np.isfinite(value).all():
                raise ValueError(f"parameter {name!r} is {value}, must be finite")
            out.append(value.ravel())
        return np.concatenate([np.zeros(0), *out])

    def check_values(self, given: Mapping[str, Any]) -> None:
        """Raise `ValueError` where a model could not have the value of an open parameter, as a mass below 0.

        Args:
            given: Values by name.
        """
        for name, value in given.items():
            other = with_parameters(self.model, {name: np.asarray(value, dtype=float)})
            pairs = zip(self.model.bodies, other.bodies, strict=True)
            faults = [f for i, (own, body) in enumerate(pairs) if body is not own for f in body_faults(i, body)]
            if other.world is not self.model.world:
                faults = world_faults(other.world)
            if faults:
                raise ValueError(f"parameter {name!r} is {np.asarray(value).tolist()}: {faults[0].text}")

    def named_parameters(self, values: Array) -> dict[str, Any]:
        """Open parameters by name, from their values one after another, shape (np,)."""
        at = self.layout.size - len(values)  # they are the last of the inputs
        places = {name: self.layout.data[f"parameter.{name}"] for name in self.parameters}
        parts = {name: np.reshape(values[s.start - at : s.stop - at], shape) for name, (s, shape) in places.items()}
        return {name: x if x.ndim else float(x) for name, x in parts.items()}

    def with_values(self, values: Array) -> Model:
        """The mechanism with values of its open parameters, one after another, shape (np,)."""
        return with_parameters(self.model, self.named_parameters(values)) if self.parameters else self.model

    def opened(self, u: Array) -> Model:
        """The mechanism with its open parameters taken from the inputs."""
        if not self.parameters:
            return self.model
        return with_parameters(self.model, {name: self.layout.array(f"parameter.{name}", u) for name in self.parameters})

    @property
    def current_places(self) -> tuple[slice, ...]:
        """Where a steady current is among the inputs, three numbers each: in the flow, and in what carries the waves."""
        places = [self.layout.data[name][0].start for name in ("flow", "carried") if name in self.layout.data]
        return tuple(slice(at, at + 3) for at in places) if self.streams else ()

    @property
    def surface_place(self) -> int | None:
        """Index of the surface height among the inputs; None for water without a free surface."""
        return None if self.environment.surface is None else self.layout.data[SURFACE_HEIGHT][0].start

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
        strips = () if self.uniform else [s and (len(s.points), len(s.hull)) for s in self.samplings(self.model)]
        return f"{parts} {shape} {waves} {strips}{'' if self.rolled is None else ' rolled'}"

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

    def samplings(self, model: Model) -> tuple[WetSampling | None, ...]:
        """Return the points at which each body feels non-uniform water; None for a dry body.

        Args:
            model: The mechanism with its open parameters.
        """
        surface = self.environment.surface is not None
        k = strip_wavenumber(self.environment, float(self.model.world.gravity))
        pairs = zip(model.bodies, self.model.bodies, strict=True)
        return tuple(
            None if body.hydro is None else sampling(body, nominal, model.world.water_density, k, surface=surface)
            for body, nominal in pairs
        )

    @property
    def waves_move_surface(self) -> bool:
        """Whether there are a free surface and waves on it."""
        return self.environment.surface is not None and bool(self.environment.waves)

    @cached_property
    def wet(self) -> bool:
        """Whether the water touches any body."""
        return any(b.hydro is not None for b in self.model.bodies)


def _plant(
    model: Model, environment: Environment, components: tuple, seed: int, parameters: tuple[str, ...], form: Form | None
) -> Plant:
    return Plant(model=model, environment=environment, components=components, seed=seed, parameters=parameters, form=form)
