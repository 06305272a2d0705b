"""Linear system of the motion of a plant near an operating point: drives, friction, contacts, water, internal states."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from hydromechs import compiler, dynamics, equations
from hydromechs.errors import FieldError
from hydromechs.integrators import Point
from hydromechs.model import Model, State
from hydromechs.values import Array, Scalar, nearest

from ._closing import active_rows
from ._evaluate import evaluate
from ._plant import Plant
from ._simulation import Simulation

APART = 6e-6
"""Relative step of central differences, the third root of the rounding error."""
NEAR = 1e-7
"""Distance on both sides of a state within which a corner counts [SI]."""
CORNER = 1e-3
"""Difference of the slopes there, over the largest slope of all, that counts as a corner."""
DEPENDENT = 1e-9
"""Singular value, relative to the largest, below which a row of a constraint depends on the others."""


KEPT = ("command", "held", "parameters")
"""Fields of the simulation's state that complete a given state."""


class Linearization(NamedTuple):
    """d/dt x = A x + B w of deviations x = (δ, δv, δz) and w from an operating point, at which x changes by `rates`.

    δ displaces the configuration on its manifold, q ⊕ δ = integrate(q, δ, 1), so that a quaternion has three coordinates.
    """

    A: np.ndarray
    """System matrix, shape (n, n)."""
    B: np.ndarray
    """Effect of the commands, shape (n, na)."""
    states: tuple[str, ...]
    """Names of x: "delta.NAME" and "rate.NAME" of each degree of freedom, then the internal states; length n."""
    commands: tuple[str, ...]
    """Names of the commands; length na."""
    rates: np.ndarray
    """v̇ and ż at the operating point, 0 at an equilibrium [m/s², rad/s², ...], shape (n − nv,)."""
    corners: tuple[str, ...]
    """States and commands with different slopes on their two sides, for example where friction starts to slip, contacts touch,
    or at a point of a thruster's table: no single linear system exists."""
    basis: np.ndarray
    """Directions of x that closed constraints and prescribed motions allow, orthonormal, shape (n, m); m = n without these."""
    model: Model
    """The mechanism."""
    state: State
    """The operating point."""

    def place(self, name: str) -> int:
        """Return the index in x of a state, one of `states`."""
        if name not in self.states:
            raise KeyError(f"no state {name!r}{nearest(name, self.states)}")
        return self.states.index(name)

    def __repr__(self) -> str:
        n, m = self.B.shape
        largest = np.abs(self.rates).max(initial=0.0)
        return f"<Linearization of {self.model.name}: {n} states, {m} commands, largest rate {largest:.3g}>"


def linearize(what: Simulation | Plant | Model, *, state: State | None = None) -> Linearization:
    """Return A and B of the whole plant about a state, with its commands held.

        d/dt (δ, δv, δz) = A (δ, δv, δz) + B δu,        A = [[K, 1, 0], [∂v̇/∂(δ, v, z)], [∂ż/∂(δ, v, z)]]

    with internal states z of drives, friction, contacts and lines, K δ = −v × δ of a moving frame, and derivatives from the
    compiled equations; parts without closed-form derivatives (closed grasps, tables of heights) use central
    differences. The water is that of the state's time. Controllers are not included: their commands are held.
    Equilibrium is not assumed; `hm.trim` finds one.

    Args:
        what: A simulation, with its current state, commands and parameters; or a plant, or a model with its own friction and
            stops.
        state: The state, with its commands; defaults to that of the simulation, or the model's initial one. Missing
            commands, held inputs and parameters are those of the simulation.

    Raises:
        FieldError: `what` is none of these.
    """
    sim = simulation_at(what, state)
    return _Slopes(sim.plant).at(sim.state, sim.inputs)


def simulation_at(what: Simulation | Plant | Model, state: State | None) -> Simulation:
    """Return a simulation at a state, with the arguments of `linearize`."""
    if not isinstance(what, Simulation | Plant | Model):
        raise FieldError("what", what, "must be a Simulation, a Plant or a Model; for a scenario, use hm.Simulation(scenario)")
    if not isinstance(what, Simulation):
        return Simulation(what, state=state)
    if state is None:
        return what
    now = what.state
    kept = {name: getattr(now, name) for name in KEPT if not np.size(getattr(state, name))}
    return Simulation(what.plant, state=replace(state, **kept))


class _Slopes:
    """Rates of a plant's velocities and internal states, and their derivatives."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.nz = plant.layout.nz - len(plant.layout.causes)
        self.na = len(plant.layout.commands)
        model, nz, na = plant.model, self.nz, self.na
        work = np.zeros(len(plant.layout.causes))

        def rates(t: Scalar, q: Array, delta: Array, v: Array, z: Array, u: Array, rest: Array) -> Array:
            here = dynamics.integrate(model, q, delta, 1.0)
            e = evaluate(plant, t, here, v, np.concatenate([z, work]), np.concatenate([u, rest]))
            return np.concatenate([e.vdot, e.zdot[:nz]])

        shapes = {"t": (), "q": (model.nq,), "delta": (model.nv,), "v": (model.nv,), "z": (nz,), "u": (na,)}
        shapes |= {"rest": (plant.layout.size - na,)}
        self.program = compiler.trace(rates, shapes, name="linearize", outputs=("rates",))

    def at(self, state: State, inputs: np.ndarray) -> Linearization:
        """Return the linear system at a state, with the inputs of the plant there, shape (nu,)."""
        model, layout, nv = self.plant.model, self.plant.layout, self.plant.model.nv
        given = [np.array(state.t), state.q, np.zeros(nv), state.v, state.internal[: self.nz]]
        given += [inputs[: self.na], inputs[self.na :]]
        tables = all(isinstance(callee, compiler.Table) for callee, _ in self.program.calls)  # with constant entries
        slopes = self._exact(given) if tables else self._differences(given)
        coupling = np.array(equations.velocity_coupling(model, state.q, state.v), dtype=float)
        top = np.hstack([coupling, np.eye(nv), np.zeros((nv, self.nz))])
        return Linearization(
            A=np.vstack([top, np.hstack(slopes[:3])]),
            B=np.vstack([np.zeros((nv, self.na)), slopes[3]]),
            states=self.states,
            commands=layout.commands,
            rates=self._rates(given)[0],
            corners=self._corners(given, slopes),
            basis=self._basis(state, inputs),
            model=model,
            state=state,
        )

    @property
    def states(self) -> tuple[str, ...]:
        """Names of δ, v and z."""
        names = self.plant.model.coordinate_names[1]
        kinds = [f"{kind}.{name}" for kind in ("delta", "rate") for name in names]
        return (*kinds, *self.plant.layout.states[: self.nz])

    @cached_property
    def _rates(self) -> compiler.Compiled:
        return self._compiled(self.program)

    def _compiled(self, program: compiler.Program) -> compiler.Compiled:
        return compiler.Compiled(compiler.Recipe.of(program, rarely_called=True), 1, 1, program)

    def _exact(self, given: list[np.ndarray]) -> list[np.ndarray]:
        """Return derivatives with respect to δ, v, z and u by differentiation of the program, shape (nv + nz, ...) each."""
        return self._compiled(compiler.jacobian_program(self.program, ("delta", "v", "z", "u")))(given)

    def _differences(self, given: list[np.ndarray]) -> list[np.ndarray]:
        """The same by central differences, extrapolated from two lengths: those of |v| v at rest grow with the length."""
        out = []
        for k in range(2, 6):
            columns = []
            for i in range(given[k].size):
                h = APART * max(1.0, abs(given[k][i]))
                far, near = (0.5 * sum(self._sides(given, k, i, x)) for x in (h, 0.5 * h))
                columns.append(2.0 * near - far)
            out.append(np.array(columns).reshape(-1, self.program.outputs[0].size).T)
        return out

    def _sides(self, given: list[np.ndarray], k: int, i: int, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes of the rates on both sides of entry i of argument k, over a step h, shape (nv + nz,) each."""
        ends = []
        for side in (h, 0.0, -h):
            moved = [np.array(x, dtype=float) for x in given]
            moved[k][i] += side
            ends.append(self._rates(moved)[0])
        return (ends[0] - ends[1]) / h, (ends[1] - ends[2]) / h

    def _corners(self, given: list[np.ndarray], slopes: list[np.ndarray]) -> tuple[str, ...]:
        """Return states and commands with different slopes on their two sides."""
        places = [(k, i) for k in range(2, 6) for i in range(given[k].size)]
        of_states, of_commands = (max(np.abs(x).max(initial=0.0) for x in blocks) for blocks in (slopes[:3], slopes[3:]))
        out = []
        for name, (k, i) in zip((*self.states, *self.plant.layout.commands), places, strict=True):
            after, before = self._sides(given, k, i, NEAR if k < 5 else NEAR * max(1.0, abs(given[k][i])))
            own = max(np.abs(after).max(initial=0.0), CORNER * of_commands)  # entries have different units
            if np.abs(after - before).max(initial=0.0) > CORNER * (of_states if k < 5 else own):
                out.append(name)
        return tuple(out)

    def _basis(self, state: State, inputs: np.ndarray) -> np.ndarray:
        """Return directions of (δ, δv, δz) that constraints and prescribed motions allow: J δ = 0, J δv = 0, shape (n, m)."""
        nv = self.plant.model.nv
        J = active_rows(self.plant, Point(state.t, state.q, np.concatenate([state.v, state.internal])), inputs)
        J = np.vstack([J, np.eye(nv)[list(self.plant.given_dofs)]])
        N = scipy.linalg.null_space(J, rcond=DEPENDENT) if len(J) else np.eye(nv)
        return scipy.linalg.block_diag(N, N, np.eye(self.nz))
