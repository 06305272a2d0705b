"""Steps of an engine together with the remaining plant, which stores contact forces and the memory of the scheme."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hydromechs.compiler import Compiled
from hydromechs.contact import Pair, Terrain
from hydromechs.equations import Dynamics
from hydromechs.integrators import BoundSteps, FixedSteps, Paths, Stepper, Stretch
from hydromechs.model import Model
from hydromechs.model.component import Action, Component, Now, Slot, Values, Wrench
from hydromechs.simulation import ExternalTerms, Plant
from hydromechs.spatial import cross
from hydromechs.values import Array

from ._engine import Engine, Touch
from ._schemes import Instant, NotConverged, Scheme

SIX = ("X", "Y", "Z", "K", "M", "N")


@dataclass(frozen=True, kw_only=True)
class EngineMemory(Component):
    """Component that stores the last acceleration for an added-mass scheme, and messages about the engine."""

    name: str = "engine"
    said: tuple[str, ...] = field(default=(), compare=False)

    def states(self, model: Model) -> list[Slot]:
        return [Slot(f"acceleration.{name}", unit="m/s², rad/s²") for name in model.coordinate_names[1]]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return zero rates, as the engine step sets the states."""
        return Action(rates=dict.fromkeys(z, 0.0))

    @property
    def notes(self) -> Sequence[str]:
        return self.said


@dataclass(frozen=True, kw_only=True)
class EngineContact(Component):
    """Contacts solved by an engine; each contact is recorded for the nearest contact pair of the plant.

    The states are the contact forces of the last step, set by the engine step.
    """

    kind = "contact"
    outputs = Pair.outputs
    name: str = "engine_contact"
    pairs: tuple[Pair, ...]
    """Contact pairs of the built-in engine."""
    bodies: tuple[int, ...] = field(init=False)
    """Indices of bodies in contact pairs."""
    probes: dict[tuple[frozenset[int | None], str], tuple[list[int], Array]] = field(init=False, compare=False, repr=False)
    """Pair indices and probe positions [m], shape (n, 3), keyed by bodies in contact (None for terrain) and terrain name."""

    def __post_init__(self) -> None:
        touched = {i for pair in self.pairs for i in (pair.body, pair.other) if i is not None}
        object.__setattr__(self, "bodies", tuple(sorted(touched)))
        found: dict[tuple[frozenset[int | None], str], list[int]] = {}
        for k, pair in enumerate(self.pairs):
            name = pair.solid.name if isinstance(pair.solid, Terrain) else ""
            found.setdefault((frozenset((pair.body, pair.other)), name), []).append(k)
        places = {key: (at, np.array([self.pairs[k].probe.center for k in at])) for key, at in found.items()}
        object.__setattr__(self, "probes", places)

    def entries(self, model: Model) -> list[str]:
        return [pair.name for pair in self.pairs]

    def states(self, model: Model) -> list[Slot]:
        """Return the states: the normal force of each pair, and the wrench on each body."""
        wrenches = [Slot(f"{model.body_names[i]}.{x}", unit="N, N m") for i in self.bodies for x in SIX]
        return [*(Slot(pair.name, unit="N") for pair in self.pairs), *wrenches]

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the contact forces of the last step, with gaps of the built-in geometry."""
        names = now.model.body_names
        gaps = []
        for pair in self.pairs:
            still = {s.name: 0.0 for s in pair.states(now.model)}
            gaps.append(pair.act(now, still, {}).record["contact_gap"])
        return Action(
            forces=[Wrench(i, np.array([z[f"{names[i]}.{x}"] for x in SIX])) for i in self.bodies],
            rates=dict.fromkeys(z, 0.0),
            record={"contact_force": np.array([z[pair.name] for pair in self.pairs]), "contact_gap": np.array(gaps)},
        )

    def values(self, touches: Sequence[Touch], X_WB: Array) -> tuple[Array, Array]:
        """Return state values for contacts of an engine, shape (n,), and the wrench on each body of `bodies`, shape (n, 6).

        `X_WB` contains the poses of all bodies in the world, shape (nb, 4, 4).
        """
        R_WB, p_WB = X_WB[:, :3, :3], X_WB[:, :3, 3]
        normal, wrench = np.zeros(len(self.pairs)), np.zeros((len(self.bodies), 6))
        for touch in touches:
            opposite = touch.point if touch.opposite is None else touch.opposite
            for body, point, force in ((touch.body, touch.point, touch.force), (touch.other, opposite, -touch.force)):
                if body is not None:
                    f = R_WB[body].T @ force
                    arm = R_WB[body].T @ (point - p_WB[body])
                    wrench[self.bodies.index(body)] += np.concatenate([f, cross(arm, f)])
            key = frozenset((touch.body, touch.other)), touch.solid if touch.other is None else ""
            if key in self.probes:
                numbers, places = self.probes[key]
                carriers = [self.pairs[k].body for k in numbers]
                off = p_WB[carriers] + np.einsum("kij,kj->ki", R_WB[carriers], places) - touch.point
                normal[numbers[int(np.argmin(np.einsum("ki,ki->k", off, off)))]] += touch.normal
        return np.concatenate([normal, wrench.ravel()]), wrench


FAST = 1e6
"""Speed above which a run counts as diverged [m/s, rad/s]."""


class EngineRun:
    """One world in an engine, with the interface of compiled steps (`integrators.BoundSteps`).

    `carried` is the added inertia of each body in the engine, shape (nb, 6, 6); `rotors` and `known_rotors` are the rotor
    inertias unknown and known to the engine, shape (nv,).
    """

    def __init__(
        self,
        plant: Plant,
        engine: Engine,
        scheme: Scheme,
        program: Compiled,
        carried: Array,
        rotors: Array,
        known_rotors: Array,
    ) -> None:
        self.plant, self.engine, self.scheme, self.program = plant, engine, scheme, program
        self.carried = carried
        self.rotors, self.known_rotors = np.diag(rotors), np.diag(known_rotors)
        model, layout = plant.model, plant.layout
        self.state = [np.zeros((1, *shape)) for shape in ((), (model.nq,), (model.nv + layout.nz,))]
        self.inputs = [np.zeros((1, *shape)) for shape in ((), (), (layout.size,))]
        self.reason = ""
        """Reason for the early end of the last run; empty if it completed."""
        places: dict[type, list[int]] = {EngineMemory: [], EngineContact: []}
        for k, component in enumerate(plant.components):
            if type(component) in places:
                places[type(component)] = list(layout.z[k].values())
        nv = model.nv
        self._memory = nv + np.array(places[EngineMemory], dtype=int)
        self._forces = nv + np.array(places[EngineContact], dtype=int)
        self._work = [nv + k for k, name in enumerate(layout.states) if name == f"work.{EngineContact.cause}"]
        self._dynamics = Dynamics(model)
        self._contact = next((c for c in plant.components if isinstance(c, EngineContact)), None)

    def external_terms(self, t: float, q: Array, x: Array, inputs: Array) -> ExternalTerms:
        """Return the external forces at one instant."""
        return ExternalTerms(*self.program.single_results(np.array(t), q, x, inputs, self.carried))

    def run(self, steps: int) -> float:
        """Take steps, and return the number of completed steps; a non-finite step ends the run."""
        n, q, x = self.state
        h, offset, inputs = self.inputs[0][0], self.inputs[1][0], self.inputs[2][0]
        for done in range(steps):
            next_q, next_x = self._step(float(offset + n[0] * h), q[0], x[0], inputs, float(h))
            if self.reason:
                return float(done)
            n[0], q[0], x[0] = n[0] + 1.0, next_q, next_x
        return float(steps)

    def _step(self, t: float, q: Array, x: Array, inputs: Array, h: float) -> tuple[Array, Array]:
        nv, engine = self.plant.model.nv, self.engine
        self.reason = ""
        with np.errstate(all="ignore"):
            o = self.external_terms(t, q, x, inputs)
            now = Instant(o.force, o.added + self.rotors, o.rigid + self.known_rotors, o.carried, o.carried_bias)
            if not np.isfinite(o.force).all():
                self.reason = "forces at the start of the step are not finite"
                return q, x
            engine.put(q, x[:nv])
            try:
                a = self.scheme.step(engine, now, x[self._memory], h)
            except NotConverged as error:
                self.reason = str(error)
                return q, x
            next_q, next_v = engine.state()
            next_q = same_signs(self.plant.model, next_q, q)
            next_x = np.concatenate([next_v, x[nv:] + h * o.zdot])
        next_x[self._memory] = a
        if self._contact is not None:
            self._touch(self._contact, q, x, next_x, h)
        if not (np.isfinite(next_q).all() and np.isfinite(next_x).all() and np.abs(next_v).max(initial=0.0) < FAST):
            self.reason = f"engine {engine.name} diverged: the state is not finite, or a speed exceeds {FAST:g} m/s"
        return next_q, next_x

    def _touch(self, contact: EngineContact, q: Array, x: Array, next_x: Array, h: float) -> None:
        """Store contact forces and work of the step; the work of an impact is evaluated at the mean of both velocities."""
        nv, touches = self.plant.model.nv, self.engine.touches()
        next_x[self._forces], next_x[self._work] = 0.0, x[self._work]
        if touches:
            X_WB, V = self._dynamics.kinematics(q, 0.5 * (x[:nv] + next_x[:nv]))
            next_x[self._forces], wrench = contact.values(touches, X_WB)
            next_x[self._work] += h * float(np.sum(wrench * V[list(contact.bodies)]))


def same_signs(model: Model, q: Array, before: Array) -> Array:
    """Return a configuration (nq,) with the quaternion signs of the previous one, as engines return either sign."""
    out = np.array(q)
    for at, body in zip(model.q_slices, model.bodies, strict=True):
        if (k := getattr(body.joint, "quaternion", None)) is not None:
            turn = slice(at.start + k, at.start + k + 4)
            out[turn] *= -1.0 if out[turn] @ before[turn] < 0.0 else 1.0
    return out


class EngineSteps(FixedSteps):
    """Fixed steps by an engine on the grid of multiples of the step."""

    def __init__(self, stepper: Stepper, world: EngineRun) -> None:
        super().__init__(stepper)
        self.world = world

    @cached_property
    def _bound(self) -> BoundSteps:
        return self.world

    def _reason(self) -> str:
        return self.world.reason

    def compile(self) -> None:
        self.world.program.code(1)

    def march(self, stretch: Stretch) -> Paths:
        raise TypeError(f"engine {self.world.engine.name!r} supports only one world; use a built-in integrator for many worlds")
