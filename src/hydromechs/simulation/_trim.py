"""Trim: equilibria of a plant, and the commands that maintain them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from hydromechs import compiler, dynamics
from hydromechs.actuation import ForceCurve
from hydromechs.equations import configuration, mass_matrix
from hydromechs.errors import FieldError
from hydromechs.model import Model, State
from hydromechs.model.component import Component
from hydromechs.values import Array, nearest

from ._evaluate import evaluate
from ._initial_instant import InitialInstant
from ._plant import Plant
from ._ranges import CommandRanges, by_name
from ._start import check_is_state, check_start

TOLERANCE = 1e-8
"""Maximum acceleration at an equilibrium, and maximum relative rate of an internal state [m/s², rad/s², 1/s]."""
WEAK = 1e-5
"""Weight of the unknowns relative to the accelerations, which selects the solution with minimum effort [-]."""
ZERO = 1e-12
"""Fraction of the typical value below which an unknown command is set to 0 [-]."""
KEPT = 1e-9
"""Typical value of unknowns that should remain constant."""
BLIND = 1e-9
"""Fraction of the largest effect of any unknown, below which an unknown has no effect in a direction [-]."""
LATER = (0.0, 0.31, 1.7, 13.0)
"""Times after the start at which time-dependent motion is tested [s]."""


@dataclass(frozen=True, kw_only=True)
class Trim:
    """Result of `trim`."""

    converged: bool
    """True if all accelerations and rates of internal states vanish."""
    state: State
    """Equilibrium state with internal states, commands and open parameters, from which a simulation can start."""
    commands: dict[str, float]
    """Commands at the equilibrium [unit of the actuator], keyed by actuator."""
    residual: dict[str, float]
    """Residual accelerations [m/s², rad/s²], keyed by degree of freedom."""
    message: str
    """Residuals and actuators at a limit if the search did not converge; empty otherwise."""


def trim(
    plant: Plant | Model, *, state: State | None = None, commands: Mapping[str, float] | None = None, free: Iterable[str] = ()
) -> Trim:
    """Find an equilibrium: configuration and commands for which all accelerations vanish.

        v̇(q ⊕ δ, v, z, u) = 0,    ż(q ⊕ δ, v, z, u) = 0

    The unknowns are displacements δ of the degrees of freedom in `free`, internal states z, and commands u that are not given.
    They are found by least squares with compiled derivatives. If there are several solutions, the solution with minimum thrust
    is selected. Velocities are taken from `state`, so that steady motion is also an equilibrium. The water must be still or
    steady. Internal states and commands that are part of the configuration, such as the length of a line, keep their values
    from `state`.

    The unknown of a thruster is its thrust in moving water, in which the balance is linear; static thrust and command are
    computed from it. (In terms of commands there are false minima, because a propeller in opposing flow requires a minimum
    speed to produce thrust.)

    Args:
        plant: Plant with its actuators, or a model without actuators.
        state: Required configuration and velocity, initial guess of free coordinates, and values of open parameters. Defaults
            to the initial state of the model.
        commands: Given commands [unit of the actuator], keyed by actuator; all other commands are unknowns.
        free: Degrees of freedom along which the configuration may change, such as "vehicle.q" (pitch) or "elbow"; see
            `model.coordinate_names[1]`. Optional.

    Returns:
        Equilibrium, or the closest state within the limits of the actuators.

    Raises:
        ValueError: The water is not steady, a motion is prescribed, a given command is out of range, or no unknown acts in
            an unbalanced direction.
    """
    if not isinstance(plant, Plant | Model):
        raise FieldError("plant", plant, "must be a Plant or a Model; for a simulation, use sim.plant")
    plant = Plant(model=plant) if isinstance(plant, Model) else plant
    start = plant.model.initial() if state is None else _checked(plant, state)
    names = (free,) if isinstance(free, str) else tuple(dict.fromkeys(free))
    return _Problem(plant, start, by_name(commands or {}, "command"), names).solved()


def _checked(plant: Plant, state: State) -> State:
    check_is_state(state)
    layout, model = plant.layout, plant.model
    shapes = {"t": (), "q": (model.nq,), "v": (model.nv,)}
    sizes = {"internal": layout.nz, "command": len(layout.commands), "held": len(layout.held)}
    shapes |= {name: (n,) for name, n in sizes.items() if np.size(getattr(state, name))}
    values = {name: np.asarray(getattr(state, name), dtype=float) for name in shapes}
    check_start(values, shapes, 1.0)
    return replace(state, q=configuration(model, values["q"]), v=values["v"])


FIRST, LONG = 0.01, 1e6
"""Lengths of the first and the last step in which internal states settle [s]."""
SETTLING = 300
"""Maximum number of steps in which internal states settle."""
NEWTON = 8
"""Maximum number of Newton iterations per step."""
ROUNDS = 10
"""Maximum number of searches while thrust limits change with the solution."""
SHOWN = 3
"""Maximum number of internal states listed in a message."""
POLISH = 20
"""Maximum number of final Newton steps."""


class _Problem:
    """Equations of a trim, in which thrust in moving water replaces the curves, lags and losses of unknown thrusters."""

    def __init__(self, plant: Plant, state: State, given: dict[str, float], free: tuple[str, ...]) -> None:
        environment = plant.environment
        table = environment.current is not None and len(environment.current.times) > 1
        unsteady = {"waves": environment.waves, "gusts": environment.gusts, "currents that change": table}
        if plant.given_motion:
            raise ValueError(
                "trim requires joints without prescribed motions, but some joints have them; remove the prescribed motions"
            )
        for what, there in unsteady.items():
            if there:
                raise ValueError(
                    f"trim requires steady water, but the environment has {what}; remove {what} from the environment"
                )
        self._values = _values(plant, state)
        self.given_plant, self.start, self.given = plant.with_values(plant.parameter_values(self._values)), state, given
        # components and their paths change below, so set their open parameters to the values of the state first
        kept = tuple(name for name in plant.parameters if not plant.is_of_component(name))
        parts = tuple(c.as_force(c.name in given) for c in self.given_plant.components)
        self.plant = replace(plant, components=parts, parameters=kept)
        model, layout = self.plant.model, self.plant.layout
        self.names = model.coordinate_names[1]
        for name in free:
            if name not in self.names:
                raise KeyError(f"free: unknown degree of freedom {name!r}{nearest(name, self.names)}")
        for name in given:
            if name not in layout.commands:
                raise KeyError(f"commands: unknown actuator {name!r}{nearest(name, layout.commands)}")
        self.free = [self.names.index(name) for name in free]
        slots = dict(zip(layout.commands, layout.input_slots, strict=False))
        self.sought = [k for k, (name, slot) in enumerate(slots.items()) if name not in given and not slot.frozen_in_trim]
        self.nz = layout.nz - len(layout.causes)
        for text in CommandRanges(plant.layout).faults(given).values():
            raise ValueError(f"trim: {text}")
        data, _ = self.plant.data(self.plant.flow(), state.t, self._parameters)
        self.inputs = np.concatenate([self._initial_instant.inputs(), data])
        had = dict(zip(layout.commands, np.asarray(state.command, dtype=float).tolist(), strict=False))
        for name, value in ({n: x for n, x in had.items() if slots[n].frozen_in_trim} | given).items():
            thruster = self._thrusters.get(name)
            self.inputs[layout.commands.index(name)] = value if thruster is None else float(thruster.curve.steady(value))
        if np.size(state.held):
            self.inputs[len(layout.commands) : len(layout.commands) + len(state.held)] = state.held
        self._rates, self._slopes = self._compiled()
        self.x0 = np.concatenate([np.zeros(len(free)), self._internal(), self.inputs[self.sought]])
        self._check_steady()
        self.scale = self._typical()
        self.size = np.concatenate([np.ones(model.nv), self.scale[len(free) : len(free) + self.nz]])

    @property
    def _thrusters(self) -> dict[str, Any]:
        """Original components whose force is an unknown, keyed by name."""
        return {c.name: c for c in self.given_plant.components if c.as_force(given=True) is not c}

    @property
    def _parameters(self) -> dict[str, Any]:
        """Values of the parameters that are open in the trim, keyed by name."""
        return {name: self._values[name] for name in self.plant.parameters}

    @property
    def _initial_instant(self) -> InitialInstant:
        return InitialInstant(self.plant, self.start.t, self.start.q, self.start.v, self._parameters)

    def _internal(self) -> np.ndarray:
        """Return initial internal states, taken from the given state if it contains them, otherwise from a new run."""
        layout, given = self.plant.layout, np.asarray(self.start.internal, dtype=float)
        z = self._initial_instant.states()
        had = dict(zip(self.given_plant.layout.states, given.tolist(), strict=False))
        names = zip(layout.states, layout.state_slots, strict=False)
        return np.array([had.get(name, z[i]) if slot.frozen_in_trim else z[i] for i, (name, slot) in enumerate(names)])

    def _check_steady(self) -> None:
        """Raise `ValueError` for time-dependent motion, such as a line whose upper end is on a ship in waves."""
        at = self._at(self.x0)
        now, *later = (self._rates([self.start.t + dt, *at])[0] for dt in LATER)
        if all(np.array_equal(now, then, equal_nan=True) for then in later):
            return
        moves = [c.name for c in self.plant.components if self._moves(c)]
        raise ValueError(
            f"trim requires a steady system, but {', '.join(map(repr, moves)) or 'a component'} changes with time; "
            "remove this component from the plant, or set its amplitude or rate to 0"
        )

    def _moves(self, component: Component) -> bool:
        """True if the forces of a component change with time at constant states and inputs."""
        layout = self.plant.layout
        _, _, v, z, inputs = self._at(self.x0)
        k = self.plant.components.index(component)
        own = layout.of_component(k, np.concatenate([z, np.zeros(layout.nz - self.nz)]), inputs)

        def acts(t: float) -> np.ndarray:
            action = component.act(InitialInstant(self.plant, t, self.start.q, v, self._parameters), *own)
            forces = [*(w.F_Bo_B for w in action.forces), *(f.tau for f in action.joint_forces), *action.rates.values()]
            return np.hstack([np.ravel(x) for x in forces]) if forces else np.zeros(0)

        now, *later = (acts(self.start.t + dt) for dt in LATER)
        return not all(np.array_equal(now, then, equal_nan=True) for then in later)

    def _compiled(self) -> tuple[compiler.Compiled, compiler.Compiled]:
        plant, nz, model = self.plant, self.nz, self.plant.model
        work, thrusters = np.zeros(plant.layout.nz - nz), self._thrusters.values()

        def rates(t: Array, q: Array, delta: Array, v: Array, z: Array, inputs: Array) -> tuple[Array, Array]:
            e = evaluate(plant, t[()], dynamics.retract(model, q, delta), v, np.concatenate([z, work]), inputs)
            return np.concatenate([e.vdot, e.zdot[:nz]]), np.array([c.advance(e.now.frame(c.frame)) for c in thrusters])

        shapes: dict[str, tuple[int, ...]] = {
            "t": (),
            "q": (model.nq,),
            "delta": (model.nv,),
            "v": (model.nv,),
            "z": (nz,),
            "inputs": (plant.layout.size,),
        }
        program = compiler.trace(rates, shapes, name="trim", outputs=("rates", "advance"))
        slopes = compiler.jacobian_program(program, ("delta", "z", "inputs"))
        first, second = (compiler.Compiled(compiler.Recipe.of(p, rarely_called=True), 1, 1, p) for p in (program, slopes))
        return first, second

    def _at(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the program arguments after t from the unknowns: free displacements, internal states, unknown commands."""
        nf, delta, inputs = len(self.free), np.zeros(self.plant.model.nv), self.inputs.copy()
        delta[self.free] = x[:nf]
        inputs[self.sought] = x[nf + self.nz :]
        return [self.start.q, delta, self.start.v, x[nf : nf + self.nz], inputs]

    def rates(self, x: np.ndarray) -> np.ndarray:
        """Return accelerations and rates of internal states, shape (nv + nz,)."""
        return self._rates([self.start.t, *self._at(x)])[0]

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of `rates` with respect to the unknowns, shape (nv + nz, n)."""
        delta, z, inputs = self._slopes([self.start.t, *self._at(x)])
        return np.hstack([delta[:, self.free], z, inputs[:, self.sought]])

    def _advance(self, x: np.ndarray) -> dict[str, float]:
        """Return the speed of advance of each thruster in the direction of positive thrust [m/s], keyed by thruster."""
        return dict(zip(self._thrusters, self._rates([self.start.t, *self._at(x)])[1].tolist(), strict=True))

    def _limits(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of the unknowns for the thruster inflow at `x`, shape (n,) each."""
        at = len(self.free) + self.nz
        lower, upper = np.full(len(x), -np.inf), np.full(len(x), np.inf)
        for i, slot in enumerate(self.plant.layout.state_slots, len(self.free)):
            if slot.frozen_in_trim:
                lower[i] = upper[i] = self.x0[i]
        speeds = self._advance(x)
        for i, k in enumerate(self.sought, at):
            name = self.plant.layout.commands[k]
            if name in speeds:
                lower[i], upper[i] = self._thrusters[name].reach(speeds[name])
            else:
                lower[i], upper[i] = self.plant.layout.input_slots[k].limits
        return lower, upper

    def _typical(self) -> np.ndarray:
        """Return typical values of the unknowns, shape (n,); for internal states, the change that alters another rate by 1."""
        nf, nv, at = len(self.free), self.plant.model.nv, len(self.free) + self.nz
        scale = np.ones(at + len(self.sought))
        slopes = np.abs(self.slopes(self.x0)[:, nf:at])
        slopes[nv + np.arange(self.nz), np.arange(self.nz)] = 0.0
        acts = slopes.max(axis=0, initial=0.0)
        scale[nf:at] = 1.0 / np.where(acts > 0.0, np.minimum(acts, 1.0), 1.0)
        limits = {c.name: c.curve.limits for c in self._thrusters.values()}
        for i, k in enumerate(self.sought, at):
            size = max(map(abs, limits.get(self.plant.layout.commands[k], self.plant.layout.input_slots[k].limits)))
            scale[i] = size if np.isfinite(size) and size > 0.0 else 1.0
        return scale

    def solved(self) -> Trim:
        """Return the solution, if possible without static friction; raise `ValueError` if no solution exists."""
        x0, scale = self._settled(self.x0), self.scale
        stuck = self._stuck(x0)
        x = self._found(x0, np.where(stuck, KEPT, scale))
        if stuck.any() and self._off(x).any():
            x = self._found(x0, scale)
        rest = self._at_rest(x)
        x = self._with_thrusts(x, rest)
        left = self.rates(x)
        converged = not self._off(x).any()
        return self._result(x, rest, left, converged, "" if converged else self._words(x, x0, left))

    def _settled(self, x: np.ndarray) -> np.ndarray:
        """Return the unknowns with settled internal states, such as lines in a current, while all other unknowns are fixed.

        Implicit Euler steps are taken while Newton's method converges. They reach the shape to which a line settles, whereas a
        search for small rates can stop earlier. If the states do not settle, the result is `x`.
        """
        free = [i for i, slot in enumerate(self.plant.layout.state_slots) if not slot.frozen_in_trim]
        at, rows = np.array(free, dtype=int) + len(self.free), np.array(free, dtype=int) + self.plant.model.nv
        scale, now, h = self.scale[at], x.copy(), FIRST
        if not np.abs(self.rates(now)[rows]).max(initial=0.0) > TOLERANCE:
            return x
        for _ in range(SETTLING):
            then, solved = now.copy(), False
            for _ in range(NEWTON):
                left = (then[at] - now[at]) / scale - h * self.rates(then)[rows] / scale
                slopes = np.eye(len(at)) - h * self.slopes(then)[np.ix_(rows, at)] * scale / scale[:, None]
                if not (np.isfinite(left).all() and np.isfinite(slopes).all()):
                    break
                change = np.linalg.lstsq(slopes, left)[0]
                then[at] -= scale * change
                solved = bool((np.abs(change) <= 1e-9 * (1.0 + np.abs(then[at] / scale))).all())
                if solved:
                    break
            now, h = (then, 2.0 * h) if solved else (now, h / 4.0)
            if h > LONG:
                return now
        return x

    def _found(self, x0: np.ndarray, scale: np.ndarray) -> np.ndarray:
        x, limits = x0, self._limits(x0)
        for _ in range(ROUNDS):
            x = self._nearest(x0, *limits, scale)
            before, limits = limits, self._limits(x)
            same = all(np.array_equal(a, b) for a, b in zip(before, limits, strict=True))
            if same or (not self._off(x).any() and np.array_equal(x, np.clip(x, *limits))):
                break
        return x

    def _at_rest(self, x: np.ndarray) -> dict[str, float]:
        """Return the static thrusts of the unknown thrusters within their limits [N], keyed by thruster."""
        speeds, thrusts = self._advance(x), self._at(x)[-1]
        out = {}
        for k in self.sought:
            name = self.plant.layout.commands[k]
            if name in speeds:
                thruster = self._thrusters[name]
                out[name] = float(np.clip(thruster.at_rest(float(thrusts[k]), speeds[name]), *thruster.curve.limits))
        return out

    def _with_thrusts(self, x: np.ndarray, rest: dict[str, float]) -> np.ndarray:
        x, speeds, at = x.copy(), self._advance(x), len(self.free) + self.nz
        for i, k in enumerate(self.sought, at):
            name = self.plant.layout.commands[k]
            if name in rest:
                x[i] = self._thrusters[name].thrust(rest[name], speeds[name])
        return x

    def _stuck(self, x: np.ndarray) -> np.ndarray:
        """Return the mask of internal states that are indeterminate, such as the deflection of static friction, shape (n,)."""
        nf, nv, nz = len(self.free), self.plant.model.nv, self.nz
        out = np.zeros(len(x), dtype=bool)
        if nz:
            rows = np.abs(self.slopes(x)[nv:]).max(axis=1)
            out[nf : nf + nz] = (rows <= BLIND) & (np.abs(self.rates(x)[nv:]) <= TOLERANCE)
        return out

    def _off(self, x: np.ndarray) -> np.ndarray:
        nf, nv = len(self.free), self.plant.model.nv
        sizes = np.concatenate([np.ones(nv), np.maximum(np.abs(x[nf : nf + self.nz]), 1.0)])
        return ~(np.abs(self.rates(x)) <= TOLERANCE * sizes)

    def _nearest(self, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the unknowns with the smallest rates; among several solutions, the nearest to `x0` in units of `scale`."""
        x = x0 = np.clip(x0, lower, upper)
        if x.size:
            still, rows = np.diag(WEAK / scale), self.size
            x = scipy.optimize.least_squares(
                lambda x: np.concatenate([self.rates(x) / rows, still @ (x - x0)]),
                self._begun(x0, lower, upper),
                lambda x: np.vstack([self.slopes(x) / rows[:, None], still]),
                bounds=(lower, np.maximum(upper, lower + KEPT * scale)),
                x_scale=scale,
                xtol=1e-14,
                ftol=1e-14,
                gtol=1e-14,
            ).x
            x = self._polished(np.clip(x, lower, upper), lower, upper, scale)
            nearer = self._polished(self._nearer(x, x0, lower, upper, scale), lower, upper, scale)
            x = x if self._off(nearer).any() else nearer
        at = len(self.free) + self.nz
        x[at:] = np.where(np.abs(x[at:]) < ZERO * scale[at:], 0.0, x[at:])
        return x

    def _begun(self, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return the start of the search, away from points with zero derivatives, for example those of a propeller at rest."""
        nf, x = len(self.free), x0.copy()
        blind = (self.slopes(x0) == 0.0).all(axis=0)
        blind[:nf] = blind[nf + self.nz :] = False
        x[blind] += self.scale[blind]
        return np.clip(x, lower, upper)

    def _nearer(self, x: np.ndarray, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the solution of the equations linearised about `x` with the smallest change from `x0`."""
        A = self.slopes(x) * scale / self.size[:, None]
        b = A @ ((x - x0) / scale) - self.rates(x) / self.size
        change = _least_change(A, b, (lower - x0) / scale, (upper - x0) / scale)
        return np.clip(x0 + scale * change, lower, upper)

    def _polished(self, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the unknowns after minimum-norm Newton steps, which continue while the rates decrease."""
        left = self.rates(x) / self.size
        for _ in range(POLISH):
            change = _least_change(self.slopes(x) * scale / self.size[:, None], -left, (lower - x) / scale, (upper - x) / scale)
            further = np.clip(x + scale * change, lower, upper)
            then = self.rates(further) / self.size
            if not np.linalg.norm(then) < np.linalg.norm(left):
                break
            x, left = further, then
        return x

    def _words(self, x: np.ndarray, x0: np.ndarray, left: np.ndarray) -> str:
        """Return a message about unbalanced directions; raise `ValueError` if no unknown acts in one of them."""
        model, nv = self.plant.model, self.plant.model.nv
        q = np.array(dynamics.retract(model, self.start.q, self._at(x)[1]), dtype=float)
        M = np.array(mass_matrix(self.plant.opened(self.inputs).model, q), dtype=float)
        lower, upper = self._limits(x)
        force = M @ left[:nv]
        here = np.abs(M @ self.slopes(x)[:nv])
        effect = np.maximum(here, np.abs(M @ self.slopes(x0)[:nv]))  # at x0 commands are within limits and have an effect
        units = ["N" if self._linear(i) else "N·m" for i in range(nv)]
        shown = [f"{name} ({f:.3g} {unit})" for name, f, unit in zip(self.names, force, units, strict=True)]
        worst = [i for i in np.argsort(-np.abs(force)) if abs(force[i]) > 1e-3 * np.abs(force).max()]
        unmoved = [i for i in worst if effect[i].max(initial=0.0) <= BLIND * max(effect.max(initial=0.0), BLIND)]
        others = [self.names[i] for i in unmoved if i not in self.free]
        if unmoved:
            raise ValueError(
                f"trim: no unknown acts in {', '.join(shown[i] for i in unmoved)}; add an actuator in this direction"
                + (f", or free a coordinate, for example with free=[{others[0]!r}]" if others else "")
            )
        at = len(self.free) + self.nz
        sought = [self.plant.layout.commands[k] for k in self.sought]
        near = np.minimum(x - lower, upper - x) < 1e-6 * np.minimum(upper - lower, 1e9)
        some = effect.max(axis=0)  # excludes inputs that act only through an internal state, such as a valve's opening
        full = near | ((some > 0.0) & (here.max(axis=0) <= BLIND * some))  # or a drive at its torque limit
        names = [name for name, there in zip(sought, full[at:], strict=True) if there]
        limits = f"; at their limits: {', '.join(names)}" if names else ""
        off, slots = self._off(x), self.plant.layout.state_slots
        moving = sorted(np.flatnonzero(off[nv:]), key=lambda i: -abs(left[nv + i]))
        rates = [f"{self.plant.layout.states[i]} (by {left[nv + i]:.3g} {slots[i].unit}/s)" for i in moving[:SHOWN]]
        rates += [f"{len(moving) - SHOWN} more"] if len(moving) > SHOWN else []
        parts = [", ".join(shown[i] for i in worst)] if off[:nv].any() else []
        parts += [f"internal states keep changing: {', '.join(rates)}"] if rates else []
        return f"not in balance: {'; '.join(parts)}{limits}"

    def _linear(self, dof: int) -> bool:
        return self.names[dof].rpartition(".")[2] in ("u", "v", "w") or any(
            p.v.start <= dof < p.v.stop and p.joint.unit == "m" for p in self.plant.model.joint_parts.values()
        )

    def _result(self, x: np.ndarray, rest: dict[str, float], left: np.ndarray, converged: bool, message: str) -> Trim:
        plant, model = self.given_plant, self.plant.model
        _, delta, v, z, inputs = self._at(x)
        layout, thrusters = plant.layout, self._thrusters
        values = inputs[: len(layout.commands)]
        thrust = dict(zip(layout.commands, values.tolist(), strict=True)) | rest
        commands = {n: _command(thrusters[n].curve, x) if n in thrusters else x for n, x in thrust.items()} | self.given
        inner = dict(zip(self.plant.layout.states, z.tolist(), strict=False))
        names = layout.states[: len(layout.states) - len(layout.causes)]
        states = [inner.get(name, thrust.get(name.rpartition(".")[0], 0.0)) for name in names]
        state = State(
            t=self.start.t,
            q=np.array(dynamics.retract(model, self.start.q, delta), dtype=float),
            v=np.array(v, dtype=float),
            internal=np.array([*states, *[0.0] * len(layout.causes)]),
            command=np.array(list(commands.values())),
            held=inputs[len(values) : len(values) + len(layout.held)].copy(),
            parameters=plant.parameter_values(self._values),
        )
        residual = dict(zip(self.names, left[: model.nv].tolist(), strict=True))
        return Trim(converged=converged, state=state, commands=commands, residual=residual, message=message)


def _values(plant: Plant, state: State) -> dict[str, Any]:
    """Return values of the open parameters, keyed by name, from the state or, if it has none, from the plant."""
    values, own = np.asarray(state.parameters, dtype=float), plant.parameter_values({})
    if values.size and values.shape != own.shape:
        raise ValueError(f"state.parameters must have shape {own.shape}, got {values.shape}; use a state of this plant")
    return plant.named_parameters(values if values.size else own)


def _command(curve: ForceCurve, force: float) -> float:
    """Return the command for a force [N]; 0 if a zero command also produces the force."""
    none = curve.commands[0] <= 0.0 <= curve.commands[-1] and float(curve.steady(0.0)) == force
    return 0.0 if none else curve.inverse(force)


def _least_change(A: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the smallest d that minimises ‖A d − b‖ within limits, fixing the entry with the largest violation first."""
    d, free = np.zeros(A.shape[1]), np.ones(A.shape[1], dtype=bool)
    while free.any():
        d[free] = np.linalg.pinv(A[:, free], 1e-12) @ (b - A[:, ~free] @ d[~free])
        over = np.where(free, np.maximum(lower - d, d - upper), 0.0)
        worst = int(np.argmax(over))
        if over[worst] <= 0.0:
            break
        d[worst], free[worst] = np.clip(d[worst], lower[worst], upper[worst]), False
    return d
