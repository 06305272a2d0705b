"""Large plants as loops: derivative and recorded quantities, computed by calls on whole arrays.

Loops run over bodies (`RolledPlant`), over joints (chart, laws shared by many joints) and over entries of states. One
straight-line program evaluates all other components. The length of the code does not depend on the number of bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import NUMBERS, ROW, Address, Argument, Program, Rolled, Stage, Sweep
from hydromechs.integrators import chart_rate_loop, retract_loop
from hydromechs.model import Model
from hydromechs.model.component import InJoints, Now
from hydromechs.values import Array, Scalar

from ._evaluate import acted
from ._observe import component_outputs
from ._plant import Plant
from ._rolled_plant import WATER_FORCES, RolledPlant
from ._water import MotionAt, Water

_Acting: TypeAlias = tuple[Program, dict[str, list[int]]]
"""Program of components, and indices of its nonzero forces, keyed by force."""
POSES = ("R_WB", "p_WB", "V")
"""Arguments of the program of components that loops over the bodies compute."""


def _loops(component: InJoints, model: Model) -> bool:
    """True if a component is a loop over its joints, all of which are distinct and have the same size."""
    if any(getattr(type(component), name) is not getattr(InJoints, name) for name in ("act", "states", "inputs", "outputs")):
        return False
    names = component.joint_names(model)
    parts = [model.joint_parts[name] for name in names]
    sizes = {(part.q.stop - part.q.start, part.v.stop - part.v.start) for part in parts}
    return len(sizes) == 1 and len(set(names)) == len(names)


class LoopedPlant:
    """Combined loops of a plant. `water`: function that returns the program of the water at a point. `motion`: its call."""

    def __init__(self, plant: Plant, rolled: RolledPlant, water: Callable[[], Program], motion: MotionAt) -> None:
        self.plant, self.rolled, self.water, self.motion = plant, rolled, water, motion
        self._alike = [k for k, c in enumerate(plant.components) if isinstance(c, InJoints) and _loops(c, plant.model)]
        self._single = [k for k in range(len(plant.components)) if k not in self._alike]
        self._causes = [cause for cause in plant.layout.causes if cause not in rolled.work_causes]

    def derivative(self) -> Rolled:
        """Return the function (t, q, y, inputs) → ẏ of `derivative` as loops."""
        plant, nv = self.plant, self.plant.model.nv
        n = 2 * nv + plant.layout.nz
        retract, chart = retract_loop(plant.model), chart_rate_loop(plant.model)

        def ydot(t: Any, q: Any, y: Any, inputs: Any) -> Any:
            u, v, z = y[:nv], y[nv : 2 * nv], y[2 * nv :]
            (here,) = compiler.call(retract, q, u)
            found = self._moved(self._acting, t, here, v, z, inputs)
            (rate,) = compiler.call(chart, here, u, v)
            rates = [found["rates"]] if "rates" in found else []
            powers = [found[f"power.{cause}"] for cause in self._causes]
            powers += [found["work_rates"]] if self.rolled.work_causes else []
            return np.concatenate([rate, found["vdot"], *rates, *powers])

        given = self._arguments(t=(), q=(plant.model.nq,), y=(n,), inputs=(plant.layout.size,))
        return compiler.trace_whole(ydot, given, (Argument("ydot", (n,)),), name="plant_derivative")

    def observed(self, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> Rolled:
        """Return the function (t, q, x, inputs) → recorded quantities of `observed` as loops.

        `outputs`: results, named as in the recording.
        """
        plant, nv, nb = self.plant, self.plant.model.nv, self.plant.model.nb

        def function(t: Any, q: Any, x: Any, inputs: Any) -> tuple[Any, ...]:
            v, z = x[:nv], x[nv:]
            found = self._moved(self._recording, t, q, v, z, inputs)
            R, p, V = compiler.call(self.rolled.poses, q, v)
            given = [found[a.name] for a in self.rolled.extra if a.name != "wrench"]
            *forces, totals = compiler.call(self.rolled.instant, q, v, found["vdot"], *given)
            if not plant.uniform:
                found["fluid_velocity"] = forces.pop()
            rate = forces.pop()
            found |= {"R_WB": R, "position": p, "velocity": V, "acceleration": rate}
            found |= {f"force_{label}": F for label, F in zip(WATER_FORCES, forces, strict=True)}
            (found["depth"],) = compiler.call(self._depth, p)
            velocity = found.get("fluid_velocity", np.zeros((nb, 3)))
            found["fluid_velocity"] = compiler.call(self._everywhere, velocity)[0] if np.ndim(velocity) == 1 else velocity
            energies = [totals[k : k + 1].reshape(()) for k in range(3)]
            if plant.armature is not None:
                energies[0] = energies[0] + compiler.call(self._rotors, v)[0]
            found |= zip(("kinetic_energy_body", "kinetic_energy_fluid", "potential_energy"), energies, strict=True)
            return tuple(found[a.name] for a in outputs)

        return compiler.trace_whole(function, inputs, outputs, name="observe")

    # -- one instant -----------------------------------------------------------------------------------------------------------

    def _moved(self, acting: _Acting, t: Any, q: Any, v: Any, z: Any, inputs: Any) -> dict[str, Any]:
        """Return accelerations, powers, rates and effects of components, keyed by name."""
        plant, rolled, nv = self.plant, self.rolled, self.plant.model.nv
        program, entries = acting
        given = {"t": t, "q": q, "v": v, "z": z, "inputs": inputs}
        if any(self._uses(program, name) for name in POSES) or not plant.uniform:
            given |= zip(POSES, compiler.call(rolled.poses, q, v), strict=True)
        given = {a.name: given.get(a.name, np.zeros(a.shape)) for a in program.inputs}
        found: dict[str, Any] = dict(
            zip([a.name for a in program.outputs], compiler.call(program, *given.values()), strict=True)
        )
        sizes = {"tau": (nv,)} | {f"force_{label}": (plant.model.nb, 6) for label in plant.labels}
        for name, shape in sizes.items():
            found[name] = self._spread(found.get(f"{name}.entries"), entries[name], shape)
        for k in self._alike:
            tau, totals = compiler.call(self._laws[k], q, v)
            found["tau"] = found["tau"] + tau
            cause = f"power.{plant.components[k].cause}"
            if cause in found:
                found[cause] = found[cause] + totals[1:2]
            if "elastic_energy" in found:
                found["elastic_energy"] = found["elastic_energy"] + totals[0:1].reshape(())
        if plant.wet and plant.flows and not plant.uniform:
            found |= self._fluid(given["R_WB"], given["p_WB"], t, found, inputs)
        if plant.labels:
            wrench: Any = None
            for label in plant.labels:
                wrench = found[f"force_{label}"] if wrench is None else wrench + found[f"force_{label}"]
            found["wrench"] = wrench
        found["vdot"], *work_rates = compiler.call(rolled.rates, q, v, found["tau"], *(found[a.name] for a in rolled.extra))
        return found | ({"work_rates": work_rates[0]} if work_rates else {})

    @staticmethod
    def _spread(values: Any, places: list[int], shape: tuple[int, ...]) -> Any:
        if not places:
            return np.zeros(shape)
        (out,) = compiler.call(compiler.scattered(places, int(np.prod(shape))), values)
        return out.reshape(shape)

    def _fluid(self, R_WB: Any, p_WB: Any, t: Any, found: dict[str, Any], inputs: Any) -> dict[str, Any]:
        """Return the motion of the water at the points of all bodies in world axes, keyed by quantity."""
        nb, n, _ = self.rolled.points.shape
        (points,) = compiler.call(self._sampled, R_WB, p_WB)
        given = [points.reshape((nb * n, 3)), t, found["fluid_velocity"], found["fluid_acceleration"]]
        if self.plant.waves is not None:
            for name in ("waves", "carried"):
                at, shape = self.plant.layout.data[name]
                given.append(inputs[at].reshape(shape))
        results = compiler.call(self._water_loop, *given)
        names = ("fluid_velocity", "fluid_acceleration", "elevation", "gradient")
        rows = dict(zip(names, results, strict=False))
        return {name: x.reshape((nb, n * (9 if name == "gradient" else 3))) for name, x in rows.items() if name != "elevation"}

    @staticmethod
    def _arguments(**shapes: tuple[int, ...]) -> tuple[Argument, ...]:
        return tuple(Argument(name, shape) for name, shape in shapes.items())

    @staticmethod
    def _uses(program: Program, name: str) -> bool:
        names = [a.name for a in program.inputs]
        if name not in names:
            return False
        k = names.index(name)
        in_calls = {p for call in program.calls for row in call.arguments for p in row}
        used = {x for op in program.operations for x in (op.a, op.b)} | in_calls | {p for row in program.results for p in row}
        return any(op.kind == "input" and op.value[0] == k and i in used for i, op in enumerate(program.operations))

    # -- programs and loops ----------------------------------------------------------------------------------------------------

    @cached_property
    def _acting(self) -> _Acting:
        """Program of the nonzero forces, rates and powers of components, and the indices of these forces."""
        return self._components(recorded=())

    @cached_property
    def _recording(self) -> _Acting:
        return self._components(recorded=("all",))

    def _components(self, recorded: tuple[str, ...]) -> _Acting:
        plant, model, layout = self.plant, self.plant.model, self.plant.layout
        entries: dict[str, list[int]] = {}
        names: list[str] = []

        def function(t: Scalar, inputs: Array, **state: Array) -> tuple:
            q, v, z, R_WB, p_WB, V = (state.get(name, np.zeros(0)) for name in ("q", "v", "z", *POSES))
            kin = dynamics.Kinematics((), (), tuple(V), (), (), tuple(R_WB), tuple(p_WB))
            water = Water(plant, t, kin, inputs, self.motion)
            now = Now(model, t, q, v, kin, water, compiler.each)
            done = acted(plant, now, z, inputs, self._single)
            out: dict[str, Any] = {}
            forces = {"tau": done.joint} | {f"force_{label}": np.ravel(rows) for label, rows in done.pushed.items()}
            for name, values in forces.items():
                entries[name] = [i for i, x in enumerate(values) if not _is_zero(x)]
                if entries[name]:
                    out[f"{name}.entries"] = np.array([values[i] for i in entries[name]])
            if done.rates:
                out["rates"] = np.array(done.rates)
            out |= {f"power.{cause}": np.array([done.power[cause]]) for cause in self._causes}
            if plant.wet and plant.flows:
                out |= {"fluid_velocity": water.U, "fluid_acceleration": water.rate}
            if recorded:
                out["elastic_energy"] = np.asarray(done.elastic)
                out |= component_outputs(plant, self._single, [action.record for action in done.actions])
            names.extend(out)
            return tuple(out.values()) or (np.zeros(1),)

        nb = model.nb
        shapes: dict[str, tuple[int, ...]] = {"t": (), "inputs": (layout.size,)}
        if self._single:
            shapes |= {"q": (model.nq,), "v": (model.nv,), "z": (layout.nz,), "R_WB": (nb, 3, 3), "p_WB": (nb, 3), "V": (nb, 6)}
        program = compiler.trace(function, shapes, name="components")
        outputs = tuple(Argument(name, a.shape) for name, a in zip(names or ["nothing"], program.outputs, strict=True))
        return _renamed(program, outputs), entries

    @cached_property
    def _laws(self) -> dict[int, Rolled]:
        """Loops over the joints of components, keyed by index of the component: joint forces, energy and power."""
        return {k: self._law(self.plant.components[k]) for k in self._alike}

    def _law(self, component: Any) -> Rolled:
        model = self.plant.model
        parts = [model.joint_part(name) for name in component.joint_names(model)]
        nq, nv = (len(range(at)[where]) for at, where in ((model.nq, parts[0].q), (model.nv, parts[0].v)))
        numbers = np.asarray(component.numbers(model), dtype=float)

        def law(q: Array, v: Array, numbers: Array, sums: Array) -> tuple[Array, Array]:
            does = component.law(q, v, numbers)
            return np.asarray(does.tau), sums + np.array([does.energy, does.power])

        shapes = {"q": (nq,), "v": (nv,), "numbers": (numbers.shape[1],), "sums": (2,)}
        program = compiler.trace(law, shapes, name="law", outputs=("tau", "totals"))
        at = (
            Address("q", "q"),
            Address("v", "v"),
            Address(NUMBERS, "numbers"),
            Address("totals"),
            Address("tau", "v"),
            Address("totals"),
        )
        begin = numbers.shape[1] * np.arange(len(parts))
        table = np.column_stack([[p.q.start for p in parts], [p.v.start for p in parts], begin])
        return Rolled(
            "in_joints",
            self._arguments(q=(model.nq,), v=(model.nv,)),
            self._arguments(tau=(model.nv,), totals=(2,)),
            ("q", "v", "numbers"),
            table,
            numbers.ravel(),
            {},
            (Sweep((Stage((program,), (at,)),)),),
            ("tau", "totals"),
        )

    @cached_property
    def _sampled(self) -> Rolled:
        """Loop that computes the points of all bodies in world axes from poses of the bodies."""
        points = self.rolled.points
        nb, n, _ = points.shape

        def one(R_WB: Array, p_WB: Array, own: Array) -> Array:
            return np.concatenate([p_WB + R_WB @ x for x in own])

        program = compiler.trace(one, {"R_WB": (3, 3), "p_WB": (3,), "own": (n, 3)}, name="sampled", outputs=("points",))
        places = (Address("R_WB", ROW, 9), Address("p_WB", ROW, 3), Address(NUMBERS, ROW, 3 * n), Address("points", ROW, 3 * n))
        given, results = self._arguments(R_WB=(nb, 3, 3), p_WB=(nb, 3)), self._arguments(points=(nb, 3 * n))
        table = np.zeros((nb, 0), dtype=int)
        return Rolled("sampled", given, results, (), table, points.ravel(), {}, (Sweep((Stage((program,), (places,)),)),))

    @cached_property
    def _water_loop(self) -> Rolled:
        program = self.water()
        nb = int(np.prod(self.rolled.points.shape[:2]))
        inputs = tuple(Argument(a.name, (nb, 3) if a.name == "p" else a.shape) for a in program.inputs)
        outputs = tuple(Argument(a.name, (nb, *a.shape)) for a in program.outputs)
        places = [Address(a.name, ROW, 3) if a.name == "p" else Address(a.name) for a in program.inputs]
        places += [Address(a.name, ROW, a.size) for a in program.outputs]
        return _over_rows("water_at_bodies", nb, program, places, inputs, outputs)

    @cached_property
    def _depth(self) -> Rolled:
        down, nb = self.plant.model.world.down, self.plant.model.nb
        program = compiler.trace(lambda p: np.asarray(down @ p), {"p": (3,)}, name="depth", outputs=("depth",))
        places = [Address("p", ROW, 3), Address("depth", ROW)]
        return _over_rows("depths", nb, program, places, self._arguments(p=(nb, 3)), self._arguments(depth=(nb,)))

    @cached_property
    def _everywhere(self) -> Rolled:
        nb = self.plant.model.nb
        program = compiler.trace(lambda x: x, {"x": (3,)}, name="same", outputs=("y",))
        places = [Address("x"), Address("y", ROW, 3)]
        return _over_rows("everywhere", nb, program, places, self._arguments(x=(3,)), self._arguments(y=(nb, 3)))

    @cached_property
    def _rotors(self) -> Rolled:
        nv = self.plant.model.nv

        def one(v: Array, inertia: Array, before: Array) -> Array:
            return np.asarray(before + 0.5 * inertia * v * v)

        program = compiler.trace(one, dict.fromkeys(("v", "inertia", "before"), ()), name="rotor", outputs=("energy",))
        places = (Address("v", ROW), Address(NUMBERS, ROW), Address("energy"), Address("energy"))
        sweep = Sweep((Stage((program,), (places,)),))
        given, energy = self._arguments(v=(nv,)), self._arguments(energy=())
        table = np.zeros((nv, 0), dtype=int)
        return Rolled("rotors", given, energy, (), table, np.asarray(self.plant.armature), {}, (sweep,), ("energy",))


def _over_rows(
    name: str, n: int, program: Program, places: Sequence[Address], inputs: tuple[Argument, ...], outputs: tuple[Argument, ...]
) -> Rolled:
    sweep = Sweep((Stage((program,), (tuple(places),)),))
    return Rolled(name, inputs, outputs, (), np.zeros((n, 0), dtype=int), np.zeros(0), {}, (sweep,))


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int | np.floating) and x == 0.0


def _renamed(program: Program, outputs: tuple[Argument, ...]) -> Program:
    return Program(
        program.name, program.inputs, outputs, program.operations, program.results, program.casadi_function, program.calls
    )
