"""The class `Plant`: a mechanism in water with components, which are used only through their interface."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hydromechs import dynamics, registry
from hydromechs.equations import OPEN, Form, check_equation_number, constraint_groups, identity_of, model_of
from hydromechs.errors import FieldError, ModelError, check_each, message_of, placed
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
from hydromechs.model import Model, State, dry_faults
from hydromechs.model.component import Action, Component, Now, StillWater
from hydromechs.registry import Item, Keys
from hydromechs.values import Array, Scalar, instances, nearest, whole

from ._actions import acting, check_action, check_edits, plant_items
from ._layout import Data, Layout, Orientations, layout_of
from ._rolled_plant import RolledPlant, rolled_plant

Waves: TypeAlias = tuple[WaveComponents, Array]
"""Sinusoidal waves, and the velocity at which a steady current carries them [m/s], shape (3,)."""

COMPONENTS = "components; derive a custom class from hydromechs.Component"
"""Description of the permitted components, for messages."""
DIMENSIONS = {"time", "body", "coordinate", "dof", "xyz", "wxyz", "six", "nu", "cause", "internal", "held"}
DIMENSIONS |= {"constraint_group", "channel"}
"""Dimensions that occur in every recording."""
CAUSES = {"drag", "water", "surface"}
"""Causes of work other than components."""
LABELS = {"drag", "added_mass", "buoyancy", "fluid_acceleration", "weight"}
"""Labels of forces that are not caused by components."""
WAVE_ROWS = 7
"""Number of values per wave: amplitude, frequency, wavenumber, direction (2), phase, scale."""
SURFACE_HEIGHT = "surface_height"
"""Name of the input with the height of the mean surface above the origin of the world [m]."""
STEADY = ("environment", "current", "velocity")
"""Path of the velocity of a steady current."""


@dataclass(frozen=True, kw_only=True)
class Plant:
    """Complete system to simulate.

    Run data (seed, currents, waves, commands, open parameters) are inputs of the compiled programs, so that changes of these
    data require no compilation.
    """

    model: Model
    """Model of the mechanism."""
    environment: Environment = field(default_factory=Environment)
    """Water around the mechanism."""
    components: tuple[Component, ...] = ()
    """Forces and actuators on the mechanism."""
    seed: int = 0
    """Seed of wave phases and gusts."""
    parameters: tuple[str, ...] = ()
    """Paths of open parameters of the model, components, terrain and environment, such as "vehicle.inertia.mass"."""
    form: Form | None = None
    """Form of the compiled code: "specialised" for straight-line code of all bodies, "rolled" for loops over bodies. The
    default depends on the number of bodies."""

    def __post_init__(self) -> None:
        model_of(self.model)
        if not isinstance(self.environment, Environment):
            raise FieldError("environment", self.environment, "must be a hydromechs.Environment(...)")
        object.__setattr__(self, "components", instances(self.components, Component, "components", COMPONENTS))
        object.__setattr__(self, "seed", whole(self.seed, "seed"))
        named = (self.parameters,) if isinstance(self.parameters, str) else tuple(self.parameters)
        object.__setattr__(self, "parameters", named)
        _ = self._open_values  # a KeyError that lists the known names
        if "world.gravity" in named and self.environment.waves:
            raise ValueError(
                "parameter 'world.gravity' cannot stay open with waves, whose lengths depend on it; set it in the model, or "
                "remove the waves"
            )
        shaping = [name for name in named if self._shapes_wet_part(name)]
        if shaping and self.environment.surface is not None:
            raise ValueError(
                f"parameter {shaping[0]!r} cannot stay open with a free surface, because it changes the wet "
                "geometry; set this value in the model, or remove the surface (a volume can stay open if the body has shapes)"
            )
        faults = [] if self.environment.surface is None else dry_faults(self.model)
        if faults:
            raise ModelError(self.model.name, faults)
        seen: set[str] = set()
        actions: list[Action] = []
        now = self._first_instant()

        def check(c: Component) -> None:
            self._check_part(c, seen)
            actions.append(self._first_action(c, now))

        check_each(self.components, check)
        for loop in (loop for loop in self.model.loops if loop.name not in seen):
            raise ValueError(
                f"loop {loop.name!r} of {self.model.name} is not closed in this plant; create the components "
                "with components_of(model, parts)"
            )
        self.__dict__["first_actions"] = tuple(actions)
        _ = self.given_motion
        _ = self.rolled
        if named:
            from ._opened import opened_faults  # circular import

            for text in opened_faults(self).values():
                raise ValueError(text)

    def _check_part(self, c: Component, seen: set[str]) -> None:
        """Raise an error if a component is incompatible with the model or with preceding components, whose names are `seen`."""
        if not isinstance(c.name, str) or not c.name:
            raise FieldError(f"name of component {type(c).__name__}", c.name, "must be text that is not empty")
        if not c.acts:
            raise ValueError(
                f"component {c.name!r} ({type(c).__name__}) exerts no force itself; pass the list to Simulation or Scenario, "
                "or create the components of the plant with components_of(model, parts)"
            )
        c.check(self.model)
        if c.name in seen:
            raise ValueError(f"two components are named {c.name!r} ({c.kind}); rename one of them")
        seen.add(c.name)
        for what, word, taken in (("kind", c.kind, DIMENSIONS), ("cause", c.cause, CAUSES), ("label", c.label, LABELS)):
            if word in taken:
                raise ValueError(
                    f"component {c.name!r} ({type(c).__name__}): the {what} {word!r} is reserved for recordings; "
                    f"change the {what} in the class, for example to {what} = {word + '_of_mine'!r}"
                )

    def _shapes_wet_part(self, name: str) -> bool:
        """True if the wet geometry at a free surface depends on a parameter; with shapes, a volume only scales the forces."""
        for keys in self._open_places[name]:
            if keys[:2] != ("model", "bodies") or keys[3:4] != ("hydro",):
                continue
            body = self.model.bodies[int(keys[2])]
            if keys[4] == "buoyancy_center" or (keys[4] == "volume" and not (body.hydro.volume > 0.0 and has_hull(body))):  # type: ignore[union-attr]
                return True
        return False

    # -- open numbers ---------------------------------------------------------------------------------------------------------

    def path_items(self) -> list[Item]:
        """Return the items at which parameter paths start: bodies, world, components, terrain, fields of the environment."""
        return plant_items(self.model, self.components, self.environment)

    @cached_property
    def _open_places(self) -> dict[str, tuple[Keys, ...]]:
        registry.edits_of(self, dict.fromkeys(self.parameters, 1.0))  # raises an error if paths overlap
        return {name: registry.located(self, name) for name in self.parameters}

    @cached_property
    def _open_values(self) -> dict[str, Array]:
        for name, places in self._open_places.items():
            for keys in places:
                if keys[0] == "model":
                    check_equation_number(name, keys[1:])
        return {name: registry.value(self, name) for name in self.parameters}

    @cached_property
    def _steady_axes(self) -> tuple[int, ...]:
        found = [keys[3:] for places in self._open_places.values() for keys in places if keys[:3] == STEADY]
        return (0, 1, 2) if () in found else tuple(int(keys[0]) for keys in found)

    @property
    def opens_profile(self) -> bool:
        """True if numbers of the depth profile of the current are open."""
        return any(keys[:3] == (*STEADY[:2], "profile") for places in self._open_places.values() for keys in places)

    @property
    def opens_components(self) -> bool:
        """True if any number of a component is an open parameter."""
        return any(map(self.is_of_component, self.parameters))

    def is_of_component(self, name: str) -> bool:
        """True if an open parameter refers to numbers of components."""
        return any(keys[0] == "components" for keys in self._open_places[name])

    def flow(self, seed: int | None = None) -> UniformFlow:
        """Return current and gusts over time, without components that are open parameters.

        Args:
            seed: Seed of the gusts. Defaults to the seed of the plant.
        """
        still: dict[Keys, float] = {(*STEADY[1:], k): 0.0 for k in self._steady_axes}
        return UniformFlow(registry.edited(self.environment, still), self.seed if seed is None else seed)

    @property
    def open_current(self) -> Array:
        """Open part of the steady current in world axes [m/s], shape (3,)."""
        current: Sequence[Scalar] = (0.0, 0.0, 0.0) if self.environment.current is None else self.environment.current.velocity
        return np.array([x if k in self._steady_axes else 0.0 for k, x in enumerate(current)])

    def carried(self, u: Array) -> Array:
        """Return the velocity at which a steady current carries waves [m/s], shape (3,). `u`: inputs, shape (nu,)."""
        own = self.layout.array("carried", u)
        return own + self.open_current if self._steady_axes else own

    def opened(self, u: Array) -> Plant:
        """Return a plant whose open parameters are numbers or symbols from the inputs; the layout does not change.

        Args:
            u: Inputs, shape (nu,).
        """
        return self._with({name: self.layout.array(f"parameter.{name}", u) for name in self.parameters})

    def with_values(self, values: Array) -> Plant:
        """Return a plant with new values of its open parameters, concatenated, shape (np,); the values are not checked."""
        return self._with(self.named_parameters(values))

    def _with(self, values: Mapping[str, Any]) -> Plant:
        if not values:
            return self
        edits = self._edits(values)
        new = object.__new__(Plant)
        new.__dict__.update(self.closed.__dict__, closed=self.closed)
        for part in ("model", "components", "environment"):
            own = {keys[1:]: x for keys, x in edits.items() if keys[0] == part}
            if own:
                new.__dict__[part] = registry.edited(getattr(self.closed, part), own, checked=False)
        return new

    def _edits(self, values: Mapping[str, Any]) -> dict[Keys, Any]:
        """Return new values, keyed by location; a path with "*" scales the values of the plant."""
        pairs = [(name, keys, x) for name, x in values.items() for keys in self._open_places[name]]
        return {
            keys: registry.scaled(registry.follow(self.closed, keys), x) if registry.is_factor(name) else x
            for name, keys, x in pairs
        }

    @cached_property
    def closed(self) -> Plant:
        """Plant with the original numbers, if this plant has symbols or other values."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the description without programs, which copies and unpickled plants compile again or read from the cache."""
        return _plant, (self.model, self.environment, self.components, self.seed, self.parameters, self.form)

    @cached_property
    def orientations(self) -> Orientations:
        """Converter to the recorded quaternions of the bodies."""
        return Orientations(self.model)

    @cached_property
    def compiled(self) -> dict[Any, Any]:
        """Compiled rollout programs, keyed by method, lanes and threads."""
        return {}

    @cached_property
    def rolled(self) -> RolledPlant | None:
        """Loops over the bodies; None for a plant compiled as straight-line code."""
        return rolled_plant(self)

    # -- actions of components, evaluated once --------------------------------------------------------------------------------

    @cached_property
    def first_actions(self) -> tuple[Action, ...]:
        """Actions of components at the initial state of the model, in still water with inputs at rest values."""
        now = self._first_instant()
        return tuple(self._first_action(c, now) for c in self.components)

    def _first_instant(self) -> Now:
        model, state = self.model, self.model.initial()
        water = StillWater(None if self.environment.surface is None else 0.0)
        return Now(model, 0.0, state.q, state.v, dynamics.kinematics(model, state.q, state.v), water)

    def _first_action(self, c: Component, now: Now) -> Action:
        z, u = ({s.name: s.value_at(now) for s in slots} for slots in (c.states(now.model), c.inputs(now.model)))
        u |= dict(zip(c.timed, c.timed_values(0.0)[0], strict=True))
        action = acting(c, now, z, u)
        check_action(c, now.model, action, z)
        return action

    def on_motions(self, state: State) -> State:
        """Return a state with joints on their prescribed motions and closed loops. `state`: positions of the other joints."""
        q, v = state.q.copy(), state.v.copy()
        for c in self.components:
            for part, q_joint, v_joint in c.initial(self.model, float(state.t)):
                q[part.q], v[part.v] = q_joint, v_joint
        return self.model.on_loops(replace(state, q=q, v=v), self.given_dofs)

    @property
    def start(self) -> State:
        """Initial state of the model with joints on their prescribed motions."""
        return self.on_motions(self.model.initial())

    def check_start(self, now: Now) -> None:
        """Raise an error if a run cannot start at an instant, for example with a tether that is too short.

        Args:
            now: Initial instant; see `InitialInstant`.
        """
        check_each(self.components, lambda c: c.check_start(now))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of components that exert wrenches on bodies, for the recording."""
        pairs = zip(self.components, self.first_actions, strict=True)
        return tuple(dict.fromkeys(c.label for c, a in pairs if a.forces))

    @cached_property
    def constraining(self) -> tuple[int, ...]:
        """Indices of the components that have constraints."""
        return tuple(k for k, action in enumerate(self.first_actions) if action.constraints)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of constraints that are solved together, as indices of constraints."""
        return constraint_groups(self.model, [row for action in self.first_actions for row in action.constraints])

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """Names of the constraint groups, such as "left_hand + right_hand"."""
        owners = [self.components[k].name for k in self.constraining for _ in self.first_actions[k].constraints]
        return tuple(" + ".join(dict.fromkeys(owners[i] for i in group)) for group in self.groups)

    @property
    def constrained(self) -> bool:
        """True if the plant has constraints."""
        return bool(self.constraining)

    @cached_property
    def armature(self) -> np.ndarray | None:
        """Reflected rotor inertia of each degree of freedom [kg·m²], shape (nv,); None without rotors."""
        out = np.zeros(self.model.nv)
        for action in self.first_actions:
            for dofs, inertia in action.armature:
                out[dofs] += inertia
        return out if out.any() else None

    @cached_property
    def given_motion(self) -> tuple[int, ...]:
        """Indices of bodies with prescribed joint motion."""
        owners: dict[int, int] = {}
        for k, action in enumerate(self.first_actions):
            for dof in (dof for moved in action.motions for dof in range(self.model.nv)[moved.dofs]):
                if dof in owners:
                    names = [self.components[i].name for i in (owners[dof], k)]
                    with placed("components", k):
                        raise ValueError(
                            f"components {names[0]!r} and {names[1]!r} both prescribe the motion of "
                            f"{self.model.coordinate_names[1][dof]!r}; keep one of them"
                        )
                owners[dof] = k
        out = []
        for i, at in enumerate(self.model.v_slices):
            dofs = range(self.model.nv)[at]
            if any(dof in owners for dof in dofs):
                lacking = [self.model.coordinate_names[1][dof] for dof in dofs if dof not in owners]
                if lacking:
                    with placed("components", next(owners[dof] for dof in dofs if dof in owners)):
                        raise ValueError(
                            f"joint of body {self.model.body_names[i]!r}: the prescribed motion lacks "
                            f"{', '.join(lacking)}; prescribe these coordinates too, or split the joint with a massless body"
                        )
                out.append(i)
        return tuple(out)

    @cached_property
    def given_dofs(self) -> tuple[int, ...]:
        """Indices in v of joints with prescribed motion."""
        return tuple(dof for i in self.given_motion for dof in range(self.model.nv)[self.model.v_slices[i]])

    # -- layout ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """Layout of the states and inputs."""
        return self.laid_out()

    def laid_out(self) -> Layout:
        """Return the layout with initial values from the current numbers of the components."""
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
        return out + [Data(f"parameter.{name}", x.shape) for name, x in self._open_values.items()]

    def data(
        self,
        flow: UniformFlow,
        t: float,
        parameters: Mapping[str, Array],
        waves: WaveComponents | None = None,
        replaced: Collection[str] = (),
    ) -> tuple[Array, float]:
        """Return the run data that are valid from time `t`, shape (n,), and the end of their validity [s].

        Args:
            flow: Current and gusts over time.
            t: Time [s].
            parameters: Values of open parameters, keyed by name; omitted parameters have their values in the model.
            waves: Waves of another seed. Defaults to the waves of the plant.
            replaced: Names of components whose numbers the caller replaces whenever they change.
        """
        parts, until = [], np.inf
        if self.streams:
            segment = flow.segment(t)
            parts.append([*segment.velocity, *segment.slope, segment.t_begin])
            until = segment.t_end
        if self.waves is not None:
            w, current = self.waves if waves is None else waves, self.environment.current
            velocity = (0.0, 0.0, 0.0) if current is None else current.velocity
            parts.append([0.0 if k in self._steady_axes else x for k, x in enumerate(velocity)])
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
        """Return the values of all open parameters in order, concatenated, shape (np,).

        Args:
            given: Values, keyed by name; omitted parameters have their values in the model.
        """
        for name in given:
            if name not in self.parameters:
                hint = nearest(name, self.parameters)
                raise KeyError(
                    f"unknown open parameter {name!r}{hint}; list the parameter in parameters=[...] of the plant or simulation"
                )
        out = []
        for name in self.parameters:
            own = self._open_values[name]
            value = np.asarray(given.get(name, own), dtype=float)
            if value.shape != own.shape:
                raise ValueError(f"parameter {name!r} must have shape {own.shape}, got {value.shape}")
            if not np.isfinite(value).all():
                raise ValueError(f"parameter {name!r} is {value}, must be finite")
            out.append(value.ravel())
        return np.concatenate([np.zeros(0), *out])

    def check_values(self, given: Mapping[str, Any]) -> None:
        """Raise `ValueError` if the value of an open parameter is invalid, for example a negative mass.

        Args:
            given: Values, keyed by name.
        """
        for name, value in given.items():
            try:
                check_edits(self, self._edits({name: np.asarray(value, dtype=float)}))
            except (ValueError, TypeError) as error:
                raise ValueError(f"parameter {name!r} is {np.asarray(value).tolist()}: {message_of(error)}") from error

    def named_parameters(self, values: Array) -> dict[str, Any]:
        """Return open parameters, keyed by name, from their concatenated values, shape (np,)."""
        at = self.layout.size - len(values)  # they are the last of the inputs
        places = {name: self.layout.data[f"parameter.{name}"] for name in self.parameters}
        parts = {name: np.reshape(values[s.start - at : s.stop - at], shape) for name, (s, shape) in places.items()}
        return {name: x if x.ndim else float(x) for name, x in parts.items()}

    @property
    def current_places(self) -> tuple[slice, ...]:
        """Slices of the inputs that contain a steady current, three entries each: the flow, and the velocity of the waves."""
        places = [self.layout.data[name][0].start for name in ("flow", "carried") if name in self.layout.data]
        return tuple(slice(at, at + 3) for at in places) if self.streams else ()

    @property
    def surface_place(self) -> int | None:
        """Index of the surface height in the inputs; None without a free surface."""
        return None if self.environment.surface is None else self.layout.data[SURFACE_HEIGHT][0].start

    def waves_of(self, rows: Array | None, carried: Array | None) -> Waves:
        """Return the waves from their rows in the inputs; no waves if `rows` is None.

        Args:
            rows: Amplitude, frequency, wavenumber, direction (2), phase and scale of each wave, shape (7, n).
            carried: Velocity at which a steady current carries the waves [m/s], shape (3,).
        """
        if rows is None or carried is None or self.waves is None:
            return wave_components(Environment(), self.model.world.gravity, 0), np.zeros(3)
        direction = np.stack([rows[3], rows[4]], axis=1)
        return WaveComponents(rows[0], rows[1], rows[2], direction, rows[5], rows[6], self.waves.water_depth), carried

    @cached_property
    def identity(self) -> str | None:
        """Text that identifies the programs of the plant, together with the source of the package; None with custom code.

        Numbers that are inputs are omitted.
        """
        masked = {
            name: OPEN for name in self.parameters if not registry.is_factor(name)
        }  # a factor leaves the numbers in the program
        bare = self._with(masked)
        parts = [identity_of(thing) for thing in (bare.model, bare.environment.profile, bare.components)]
        if any(part is None for part in parts):
            return None
        shape = (self.parameters, self.streams, self.flows, self.environment.surface is not None)
        waves = None if self.waves is None else (len(self.waves.amplitude), self.waves.water_depth)
        strips: Any = () if self.uniform else [s and (len(s.points), len(s.hull)) for s in self.samplings(self.model)]
        made = ""
        if masked:  # decisions that depend on masked numbers when programs are built
            layout, armature = self.layout, None if self.armature is None else self.armature.tolist()
            made = f" {layout.states} {layout.commands} {layout.held} {self.constraining} {self.groups} {armature}"
            if not self.uniform:
                strips = [None if s is None else s.fixed for s in self.samplings(self.model)]
        return f"{parts} {shape} {waves} {strips}{made}{'' if self.rolled is None else ' rolled'}"

    # -- water ----------------------------------------------------------------------------------------------------------------

    @cached_property
    def waves(self) -> WaveComponents | None:
        """Sinusoidal waves of the environment, or None."""
        if not self.environment.waves:
            return None
        return wave_components(self.environment, self.model.world.gravity, self.seed)

    @property
    def streams(self) -> bool:
        """True if the environment has a current or gusts."""
        return self.environment.current is not None or self.environment.gusts is not None

    @property
    def flows(self) -> bool:
        """True if the undisturbed water moves."""
        return bool(self.environment.waves) or self.streams

    @property
    def uniform(self) -> bool:
        """True if the velocity of the water is the same at all bodies."""
        return not self.environment.waves and isinstance(self.environment.profile, Uniform)

    def samplings(self, model: Model) -> tuple[WetSampling | None, ...]:
        """Return the points at which nonuniform water is evaluated on each body; None for a dry body.

        Args:
            model: Model with its open parameters.
        """
        surface = self.environment.surface is not None
        own = self.closed
        k = strip_wavenumber(own.environment, float(own.model.world.gravity))
        pairs = zip(model.bodies, own.model.bodies, strict=True)
        return tuple(
            None if body.hydro is None else sampling(body, nominal, model.world.water_density, k, surface=surface)
            for body, nominal in pairs
        )

    @property
    def waves_move_surface(self) -> bool:
        """True if the environment has a free surface and waves."""
        return self.environment.surface is not None and bool(self.environment.waves)

    @cached_property
    def wet(self) -> bool:
        """True if any body has hydrodynamics."""
        return any(b.hydro is not None for b in self.model.bodies)


def _plant(
    model: Model, environment: Environment, components: tuple, seed: int, parameters: tuple[str, ...], form: Form | None
) -> Plant:
    return Plant(model=model, environment=environment, components=components, seed=seed, parameters=parameters, form=form)
