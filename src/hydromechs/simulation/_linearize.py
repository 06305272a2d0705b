"""Linearization of a plant about an operating point, including drives, friction, contacts, water and internal states."""

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
"""Relative step of central differences, the cube root of the rounding error [-]."""
NEAR = 1e-7
"""Distance on either side of a state within which a kink of the rates is detected [SI]."""
CORNER = 1e-3
"""Minimum difference of the slopes at a kink, relative to the largest slope [-]."""
DEPENDENT = 1e-9
"""Singular value, relative to the largest singular value, below which constraint rows are linearly dependent [-]."""


KEPT = ("command", "held", "parameters")
"""Fields of `State` that the simulation supplies if they are missing from a state argument."""


class Linearization(NamedTuple):
    """Linear system d/dt x = A x + B w of deviations x = (δ, δv, δz) and w from an operating point with rates `rates`.

    δ displaces the configuration on its manifold, q ⊕ δ = integrate(q, δ, 1), so that a quaternion has three coordinates.
    """

    A: np.ndarray
    """System matrix, shape (n, n)."""
    B: np.ndarray
    """Input matrix of the commands, shape (n, na)."""
    states: tuple[str, ...]
    """Names of x, length n: "delta.NAME" and "rate.NAME" for each degree of freedom, then the internal states."""
    commands: tuple[str, ...]
    """Names of the commands, length na."""
    rates: np.ndarray
    """Rates v̇ and ż at the operating point [m/s², rad/s², ...], 0 at an equilibrium, shape (n − nv,)."""
    corners: tuple[str, ...]
    """States and commands whose slopes differ between both sides of the operating point, so that no unique linear system
    exists.

    Examples are the onset of slip or contact, and a point of a thruster table.
    """
    basis: np.ndarray
    """Orthonormal basis of the x that satisfy closed constraints and prescribed motions, shape (n, m); m = n without these."""
    model: Model
    """Model of the mechanism."""
    state: State
    """State at the operating point."""

    def place(self, name: str) -> int:
        """Return the index in x of a state named in `states`."""
        if name not in self.states:
            raise KeyError(f"unknown state {name!r}{nearest(name, self.states)}")
        return self.states.index(name)

    def __repr__(self) -> str:
        n, m = self.B.shape
        largest = np.abs(self.rates).max(initial=0.0)
        return f"<Linearization of {self.model.name}: {n} states, {m} commands, largest rate {largest:.3g}>"


def linearize(what: Simulation | Plant | Model, *, state: State | None = None) -> Linearization:
    """Return the linear system of a complete plant about a state, with constant commands.

        d/dt (δ, δv, δz) = A (δ, δv, δz) + B δu,        A = [[K, 1, 0], [∂v̇/∂(δ, v, z)], [∂ż/∂(δ, v, z)]]

    Here z are the internal states of drives, friction, contacts and lines, and K δ = −v × δ is the effect of a moving frame.
    Derivatives are computed from the compiled equations; parts without closed-form derivatives (closed grasps, height tables)
    use central differences. Water properties are evaluated at the time of the state. Controllers are not included; their
    commands are constant. The state need not be an equilibrium; `hm.trim` computes an equilibrium.

    Args:
        what: A simulation with its current state, commands and parameters; a plant; or a model with its friction and stops.
        state: Operating point with its commands. Defaults to the state of the simulation, or the initial state of the model.
            Missing commands, held inputs and parameters are taken from the simulation.

    Raises:
        FieldError: `what` has another type.
    """
    sim = simulation_at(what, state)
    return _Slopes(sim.plant).at(sim.state, sim.inputs)


def simulation_at(what: Simulation | Plant | Model, state: State | None) -> Simulation:
    """Return a simulation at a state; the arguments are those of `linearize`."""
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
    """Rates of the velocities and internal states of a plant, and their derivatives."""

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
        """Return the linear system at a state with the inputs of the plant, shape (nu,)."""
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
        """Return derivatives with respect to δ, v, z and u by algorithmic differentiation, shape (nv + nz, ...) each."""
        return self._compiled(compiler.jacobian_program(self.program, ("delta", "v", "z", "u")))(given)

    def _differences(self, given: list[np.ndarray]) -> list[np.ndarray]:
        """Return the derivatives of `_exact` by central differences with Richardson extrapolation from two steps.

        The extrapolation removes errors proportional to the step, such as those of |v| v at rest.
        """
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
        """Return one-sided slopes of the rates at entry i of argument k with the step h, shape (nv + nz,) each."""
        ends = []
        for side in (h, 0.0, -h):
            moved = [np.array(x, dtype=float) for x in given]
            moved[k][i] += side
            ends.append(self._rates(moved)[0])
        return (ends[0] - ends[1]) / h, (ends[1] - ends[2]) / h

    def _corners(self, given: list[np.ndarray], slopes: list[np.ndarray]) -> tuple[str, ...]:
        """Return the states and commands with different one-sided slopes."""
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
        """Return an orthonormal basis of (δ, δv, δz) with J δ = 0 and J δv = 0 for all constraints, shape (n, m)."""
        nv = self.plant.model.nv
        J = active_rows(self.plant, Point(state.t, state.q, np.concatenate([state.v, state.internal])), inputs)
        J = np.vstack([J, np.eye(nv)[list(self.plant.given_dofs)]])
        N = scipy.linalg.null_space(J, rcond=DEPENDENT) if len(J) else np.eye(nv)
        return scipy.linalg.block_diag(N, N, np.eye(self.nz))
