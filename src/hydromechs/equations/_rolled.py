"""Rolled equations of large trees: programs of one body each, run for all bodies in a compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Address, Argument, Program, Rolled, Stage, Sweep
from hydromechs.hydro import WetSampling
from hydromechs.model import Model
from hydromechs.spatial import pose_matrix
from hydromechs.values import Array

from ._after import After
from ._body_steps import STAR, Flow, JointSteps, Record, after_program, force_program, full
from ._kinds import Kinds, acting_on, joint_of, kinds_of
from ._table import shape_of


class _Table:
    """Table of a loop over bodies, and the parameters that the programs of the loop read."""

    def __init__(self, model: Model) -> None:
        nb = model.nb
        self.columns: dict[str, np.ndarray] = {
            "parent": np.array([nb if p < 0 else p for p in model.parent]),
            "q": np.array([s.start for s in model.q_slices]),
            "v": np.array([s.start for s in model.v_slices]),
        }
        self.numbers: list[np.ndarray] = []
        self.size = 0

    def ragged(self, name: str, kinds: Kinds, sizes: Sequence[int]) -> int:
        """Return a column with the start of each body's row, and the total size, of an array with rows of different lengths."""
        lengths = np.array(sizes)[kinds.of]
        ends = np.cumsum(lengths)
        self.columns[name] = ends - lengths
        return int(ends[-1])

    def hoisted(self, name: str, kinds: Kinds, programs: Sequence[Program]) -> list[Program]:
        """Return the programs without the part that depends only on parameters; its results enter the parameter table."""
        out, begin = [], np.zeros(len(kinds.of), dtype=int)
        for k, (program, alike) in enumerate(zip(programs, kinds.alike, strict=True)):
            before, after = compiler.hoist(program, "numbers")
            rows, where = np.unique(compiler.evaluate_rows(before, alike.numbers), axis=0, return_inverse=True)
            of = kinds.of == k
            begin[of] = self.size + where.ravel()[kinds.place[of]] * rows.shape[1]
            self.numbers.append(rows.ravel())
            self.size += rows.size
            out.append(after)
        self.columns[name] = begin
        return out

    def stage(self, name: str, kinds: Kinds, column: str, programs: Sequence[Program], places: dict[str, Address]) -> Stage:
        """Return a stage of programs whose arguments, except parameters, have equal addresses for all kinds."""
        hoisted = self.hoisted(f"{name}.numbers", kinds, programs)
        here = places | {"numbers": Address(compiler.NUMBERS, f"{name}.numbers")}
        at = tuple(tuple(here[a.name] for a in (*p.inputs, *p.outputs)) for p in hoisted)
        if len(programs) == 1:
            return Stage(tuple(hoisted), at)
        self.columns[column] = kinds.of
        return Stage(tuple(hoisted), at, column)


class RolledTree:
    """Loops over the bodies of a model.

    `armature` is the inertia of geared rotors at each degree of freedom, shape (nv,), or None. `samplings` contains the points
    at which non-uniform water acts on each body; None if the water is uniform over each body.
    """

    def __init__(
        self, model: Model, armature: Array | None = None, samplings: Sequence[WetSampling | None] | None = None
    ) -> None:
        self.model = model
        self.armature = armature
        self.samplings = [None] * model.nb if samplings is None else samplings

    @cached_property
    def joints(self) -> Kinds:
        """Joints grouped by kind."""
        return kinds_of([joint_of(self.model, i, self.armature) for i in range(self.model.nb)])

    @cached_property
    def acting(self) -> Kinds:
        """Inertia and hydrodynamics of bodies grouped by kind."""
        return kinds_of([acting_on(self.model, i, sampling) for i, sampling in enumerate(self.samplings)])

    def forward_dynamics(self, extra: Sequence[Argument] = (), after: After | None = None) -> Rolled:
        """Return v̇ from (q, v, tau, ...), see `hm.forward_dynamics`, and the quantities `after` of all bodies."""
        loop = _Loop(self, extra, after)
        inward, outward = zip(*(s.articulated() for s in loop.steps), strict=True)
        loop.work["star"] = (self.model.nb + 1) * STAR
        loop.gains([p.outputs[0].size for p in inward])
        sweeps = (
            loop.world(),
            Sweep((loop.of_joints("motion", loop.motion), loop.of_bodies("force", loop.forces))),
            Sweep((loop.of_joints("inward", inward),), backward=True),
            Sweep((loop.of_joints("outward", outward), *loop.after())),
        )
        return loop.rolled("forward_dynamics", ("q", "v", "tau"), ("vdot",), sweeps)

    def inverse_dynamics(self, extra: Sequence[Argument] = ()) -> Rolled:
        """Return τ from (q, v, vdot, ...) with the optional arguments `extra`; see `hm.inverse_dynamics`."""
        return self._loading("inverse_dynamics", ("q", "v", "vdot"), _Loop(self, extra, None))

    def inertia_times(self, extra: Sequence[Argument] = ()) -> Rolled:
        """Return M(q) v̇ from (q, vdot): joint forces for v̇ at zero velocity in still water without gravity."""
        return self._loading("inertia_times", ("q", "vdot"), _Loop(self, extra, None, rest=True))

    def _loading(self, name: str, inputs: tuple[str, ...], loop: _Loop) -> Rolled:
        loop.work |= {"star": self.model.nb * STAR, "load": (self.model.nb + 1) * 6}
        outward = (*loop.accelerating(), loop.of_bodies("force", loop.forces), loop.of_all(_load_program(loop.rest)))
        inward = (loop.of_joints("load", [s.loading() for s in loop.steps]),)
        return loop.rolled(name, inputs, ("tau",), (loop.world(), Sweep(outward), Sweep(inward, backward=True)))

    def kinematics(self, extra: Sequence[Argument] = ()) -> Rolled:
        """Return poses and velocities from (q, v); see `hm.kinematics`."""
        loop = _Loop(self, extra, None, posed=True)
        outward = (
            loop.of_joints("motion", loop.motion),
            loop.of_all(_pose_program("pose", loop.record, ("X_WB",), lambda R, p: (pose_matrix(R, p),))),
        )
        return loop.rolled("kinematics", ("q", "v"), ("X_WB", "V_WB_B"), (loop.world(), Sweep(outward)))

    def poses(self) -> Rolled:
        """Return axes (nb, 3, 3), origins (nb, 3) and velocities (nb, 6) in the world from (q, v)."""
        loop = _Loop(self, (), None, posed=True)
        outward = (
            loop.of_joints("motion", loop.motion),
            loop.of_all(_pose_program("frame", loop.record, ("R_WB", "p_WB"), lambda R, p: (R, p))),
        )
        return loop.rolled("poses", ("q", "v"), ("R_WB", "p_WB", "V_WB_B"), (loop.world(), Sweep(outward)))

    def instant(self, extra: Sequence[Argument], after: After) -> Rolled:
        """Return a loop for the quantities `after` of all bodies from (q, v, vdot, ...) with the optional arguments `extra`."""
        loop = _Loop(self, extra, after)
        return loop.rolled("instant", ("q", "v", "vdot"), (), (loop.world(), Sweep((*loop.accelerating(), *loop.after()))))


class _Loop:
    """Common parts of the loops of all equations.

    `after` contains quantities to compute after the accelerations. `posed` is true if poses are required even though no force
    needs them. `rest` is true for a mechanism with zero velocity and without gravity.
    """

    def __init__(
        self, tree: RolledTree, extra: Sequence[Argument], after: After | None, *, posed: bool = False, rest: bool = False
    ) -> None:
        self.rest = rest
        self.tree, self.model, self.extra = tree, tree.model, tuple(extra)
        self.table = _Table(self.model)
        self.given = {a.name: a for a in extra}
        m, given = self.model, self.given
        points = given["gradient"].size // (9 * m.nb) if "gradient" in given else 0
        uniform = [_uniform(given, x) for x in ("fluid_velocity", "fluid_acceleration")]
        self.flow = Flow(m.wet, uniform[0], uniform[1], points)
        self.forces = [force_program(alike, m.world, self.flow, wrench="wrench" in given) for alike in tree.acting.alike]
        moving = "fluid_velocity" in given
        made = [] if after is None else [after_program(a, m.world, self.flow, after, moving=moving) for a in tree.acting.alike]
        self._after = None if after is None else (after, made)
        users = [*self.forces, *([] if self._after is None else self._after[1])]
        self.record = Record(self.flow.wet and _uses(users, "a_fg"), posed or _uses(users, "pose"))
        self.steps = [JointSteps(alike, self.record, self.flow.wet, rest=rest) for alike in tree.joints.alike]
        self.motion = [s.motion() for s in self.steps]
        self.work = {
            "motion": (m.nb + 1) * self.record.size,
            "acceleration": (m.nb + 1) * 6,
            "carry": self.table.ragged("carry", tree.joints, [p.outputs[1].size for p in self.motion]),
        }
        """Sizes of the working arrays, keyed by name."""

    def gains(self, sizes: Sequence[int]) -> None:
        """Allocate space for the results of the inward sweep; rows of the body's inertia are reused if large enough."""
        if max(sizes) > STAR:
            self.work["gain"] = self.table.ragged("gain", self.tree.joints, sizes)

    def of_joints(self, name: str, programs: Sequence[Program]) -> Stage:
        """Return a stage of programs by kind of joint."""
        return self.table.stage(name, self.tree.joints, "joint", programs, self.places)

    def accelerating(self) -> tuple[Stage, Stage]:
        """Return the stages that compute all motions for given joint accelerations."""
        motion = self.of_joints("motion", self.motion)  # first, because this order is the order of parameters in the table
        return motion, self.of_joints("acceleration", [s.accelerating() for s in self.steps])

    def of_bodies(self, name: str, programs: Sequence[Program]) -> Stage:
        """Return a stage of programs by kind of inertia and hydrodynamics."""
        return self.table.stage(name, self.tree.acting, "acting", programs, self.places)

    def of_all(self, program: Program) -> Stage:
        """Return a stage of one program for all bodies."""
        return Stage((program,), (tuple(self.places[a.name] for a in (*program.inputs, *program.outputs)),))

    def after(self) -> tuple[Stage, ...]:
        """Return the stage of the quantities `after`, or an empty tuple."""
        return () if self._after is None else (self.of_bodies("after", self._after[1]),)

    @property
    def places(self) -> dict[str, Address]:
        """Addresses of the steps' arguments, keyed by the argument names of the programs."""
        own, parent, record, given = compiler.ROW, "parent", self.record, self.given
        none = Address("motion", own, record.size)  # for arguments that no program uses
        out = {
            "q": Address("q", "q"),
            "v": none if self.rest else Address("v", "v"),
            "tau": Address("tau", "v"),
            "tau_found": Address("tau", "v"),
            "vdot": Address("vdot", "v"),
            "vdot_given": Address("vdot", "v"),
            "parent": Address("motion", parent, record.size),
            "own": Address("motion", own, record.size),
            "record": Address("motion", own, record.size),
            "V": Address("motion", own, record.size),
            "a_fg": Address("motion", own, record.size, 6) if record.water else none,
            "pose": Address("motion", own, record.size, record.at_pose) if record.pose else none,
            "v_f": self._fluid("fluid_velocity", none),
            "a_f": self._fluid("fluid_acceleration", none),
            "wrench_on": Address("wrench", own, 6) if "wrench" in given else none,
            "gradient": Address("gradient", own, 9 * self.flow.points) if "gradient" in given else none,
            "carry": Address("carry", "carry"),
            "gain": Address("gain", "gain") if "gain" in self.work else Address("star", own, STAR),
            "star": Address("star", own, STAR),
            "above": Address("star", parent, STAR),
            "a": Address("acceleration", own, 6),
            "a_parent": Address("acceleration", parent, 6),
            "load": Address("load", own, 6),
            "load_above": Address("load", parent, 6),
            "X_WB": Address("X_WB", own, 16),
            "R_WB": Address("R_WB", own, 9),
            "p_WB": Address("p_WB", own, 3),
            "V_WB_B": Address("V_WB_B", own, 6),
        }
        if self._after is not None:
            rows = self._after[0].rows
            out |= {name: Address(name, own, int(np.prod(shape))) for name, shape in rows.items()} | {
                "totals": Address("totals")
            }
        return out

    def _fluid(self, name: str, none: Address) -> Address:
        """Return the address of the motion of the water at a body: a row per body, or one shared row."""
        if name not in self.given:
            return none
        return Address(name) if _uniform(self.given, name) else Address(name, compiler.ROW, self.given[name].shape[1])

    def world(self) -> Sweep:
        """Return the sweep that writes properties of the world to the row after the last body."""
        m, record, flow = self.model, self.record, self.flow
        uniform = [x for x in ("fluid_velocity", "fluid_acceleration") if x in self.given and _uniform(self.given, x)]
        star = {"star": STAR} if self.work.get("star", 0) > m.nb * STAR else {}
        sizes = {"motion": record.size, "acceleration": 6, **star, **({"load": 6} if "load" in self.work else {})}

        def world(**fluid: Array) -> Any:
            v_f, a_f = (fluid.get(x, np.zeros(3)) for x in ("fluid_velocity", "fluid_acceleration"))
            V = np.concatenate([-v_f if flow.wet else np.zeros(3), np.zeros(3)])
            row = record.row(V, a_f - m.world.gravity_vector, np.eye(3), np.zeros(3))
            zeros = (np.zeros(n) for n in list(sizes.values())[2:])
            return row, np.zeros(6) if self.rest else dynamics.world_acceleration(m), *zeros

        program = compiler.trace(world, dict.fromkeys(uniform, (3,)), name="world", outputs=tuple(sizes))
        places = (*(Address(x) for x in uniform), *(Address(name, shift=m.nb * n) for name, n in sizes.items()))
        return Sweep((Stage((program,), (places,)),), once=True)

    def rolled(self, name: str, inputs: Sequence[str], outputs: Sequence[str], sweeps: tuple[Sweep, ...]) -> Rolled:
        """Return the complete loop."""
        m, table = self.model, self.table
        results = [Argument(x, shape_of(x, m)) for x in outputs]
        cleared: tuple[str, ...] = ()
        if self._after is not None:
            after = self._after[0]
            results += [Argument(x, (m.nb, *shape)) for x, shape in after.rows.items()]
            results.append(Argument("totals", (len(after.totals),)))
            cleared = ("totals",)
        given = tuple(Argument(x, shape_of(x, m)) for x in inputs)
        columns = tuple(table.columns)
        return Rolled(
            name,
            (*given, *self.extra),
            tuple(results),
            columns,
            np.stack([table.columns[c] for c in columns], axis=1),
            np.concatenate([np.zeros(0), *table.numbers]),
            self.work,
            sweeps,
            cleared,
        )


def _load_program(rest: bool = False) -> Program:
    """Return the program (inertia and force, a') → net force on a body; at rest, only the inertial force."""

    def load(star: Array, a: Array) -> Array:
        I, F = full(star)
        return I @ a if rest else I @ a - F

    return compiler.trace(load, {"star": (STAR,), "a": (6,)}, name="load", outputs=("load",))


def _pose_program(
    name: str, record: Record, outputs: tuple[str, ...], made_of: Callable[[Array, Array], tuple[Array, ...]]
) -> Program:
    """Return the program record → values computed from axes (3, 3) and origin (3,), and velocity (6,)."""

    def pose(**row: Array) -> Any:
        V, _, at = record.read(row["record"])
        assert at is not None
        return *made_of(*at), V

    return compiler.trace(pose, {"record": (record.size,)}, name=name, outputs=(*outputs, "V_WB_B"))


def _uniform(given: dict[str, Argument], name: str) -> bool:
    return name not in given or given[name].shape == (3,)


def _uses(programs: Sequence[Program], name: str) -> bool:
    for program in programs:
        k = [a.name for a in program.inputs].index(name)
        if any(op.kind == "input" and op.value[0] == k for op in program.operations):
            return True
    return False


def rolled_equation(model: Model, name: str, extra: Sequence[Argument] = ()) -> Rolled:
    """Return the loop of an equation in `ROLLED` over the bodies of a model; `extra` lists optional arguments with shapes."""
    return getattr(RolledTree(model), name)(extra)
