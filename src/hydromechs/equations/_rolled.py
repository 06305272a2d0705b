"""Equations of large trees, rolled: programs of one body each, run for all bodies in a loop of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from hydromechs import compiler, dynamics
from hydromechs.compiler import Argument, Place, Program, Rolled, Stage, Sweep
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Model
from hydromechs.values import Array

from ._body_steps import STAR, Flow, JointSteps, Record, force_program
from ._kinds import Kinds, acting_on, joint_of, kinds_of

__all__ = ["LARGE", "ROLLED", "Form", "form_of", "rolled_equation"]

Form: TypeAlias = Literal["specialised", "rolled"]
"""How equations are compiled."""
LARGE = 50
"""Bodies from which trees are rolled unless the caller says otherwise: LLVM takes seconds for the straight-line code of more."""


def form_of(model: Model, form: Form | None, parameters: Sequence[str]) -> Form:
    """How a model is compiled.

    Args:
        model: The mechanism.
        form: What the caller wants; None if that is left to its size.
        parameters: Names of numbers that stay open.
    """
    if form not in (None, "specialised", "rolled"):
        raise ValueError(f"form is {form!r}, must be 'specialised' or 'rolled', or left out")
    if form == "rolled" and parameters:
        raise UnsupportedFeature(
            f"{model.name}: open parameters ({', '.join(parameters)}) need form='specialised'; a rolled program has the numbers of "
            "its bodies in a table"
        )
    return form or ("rolled" if model.nb >= LARGE and not parameters else "specialised")


class _Table:
    """The table of a loop over bodies, and the numbers that its programs read.

    Args:
        model: The mechanism.
    """

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
        """A column with the beginning of each body's row in an array of rows of different lengths; the array's size."""
        lengths = np.array(sizes)[kinds.of]
        ends = np.cumsum(lengths)
        self.columns[name] = ends - lengths
        return int(ends[-1])

    def hoisted(self, name: str, kinds: Kinds, programs: Sequence[Program]) -> list[Program]:
        """The programs less what depends on numbers alone; the results of that part go into the table of numbers."""
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

    def stage(self, name: str, kinds: Kinds, column: str, programs: Sequence[Program], places: dict[str, Place]) -> Stage:
        """A stage of programs whose arguments are at the same places whatever the kind, but for their numbers."""
        hoisted = self.hoisted(f"{name}.numbers", kinds, programs)
        here = places | {"numbers": Place(compiler.NUMBERS, f"{name}.numbers")}
        at = tuple(tuple(here[a.name] for a in (*p.inputs, *p.outputs)) for p in hoisted)
        if len(programs) == 1:
            return Stage(tuple(hoisted), at)
        self.columns[column] = kinds.of
        return Stage(tuple(hoisted), at, column)


class RolledTree:
    """Loops over the bodies of a model.

    Args:
        model: The mechanism.
        armature: Inertia of geared rotors at each degree of freedom, shape (nv,), or None.
    """

    def __init__(self, model: Model, armature: Array | None = None) -> None:
        self.model = model
        self.armature = armature

    @cached_property
    def joints(self) -> Kinds:
        """Kinds of joints."""
        return kinds_of([joint_of(self.model, i, self.armature) for i in range(self.model.nb)])

    @cached_property
    def acting(self) -> Kinds:
        """Kinds of what acts on bodies."""
        return kinds_of([acting_on(self.model, i) for i in range(self.model.nb)])

    def forward_dynamics(self, extra: Sequence[Argument] = ()) -> Rolled:
        """v̇ of (q, v, tau, ...), see `hm.forward_dynamics`.

        Args:
            extra: Which of the optional arguments there are, with their shapes.
        """
        m, table = self.model, _Table(self.model)
        given = {a.name: a for a in extra}
        flow = _flow(m, given)
        forces = [force_program(alike, m.world, flow, wrench="wrench" in given) for alike in self.acting.alike]
        record = Record(flow.wet and _uses(forces, "a_fg"), _uses(forces, "pose"))
        steps = [JointSteps(alike, record, flow.wet) for alike in self.joints.alike]
        swept = [s.articulated() for s in steps]
        motion = [s.motion() for s in steps]
        inward, outward = [a for a, _ in swept], [b for _, b in swept]
        work = {
            "motion": (m.nb + 1) * record.size,
            "star": (m.nb + 1) * STAR,
            "acceleration": (m.nb + 1) * 6,
            "carry": table.ragged("carry", self.joints, [p.outputs[1].size for p in motion]),
            "gain": table.ragged("gain", self.joints, [p.outputs[0].size for p in inward]),
        }
        places = self._places(record, given)
        sweeps = (
            self._world(record, flow, given),
            Sweep(
                (
                    table.stage("motion", self.joints, "joint", motion, places | {"own": places["own_record"]}),
                    table.stage("force", self.acting, "acting", forces, places),
                )
            ),
            Sweep((table.stage("inward", self.joints, "joint", inward, places),), backward=True),
            Sweep((table.stage("outward", self.joints, "joint", outward, places),)),
        )
        inputs = tuple(Argument(x, (n,)) for x, n in (("q", m.nq), ("v", m.nv), ("tau", m.nv)))
        return self._rolled("forward_dynamics", (*inputs, *extra), (Argument("vdot", (m.nv,)),), table, work, sweeps)

    def _places(self, record: Record, given: dict[str, Argument]) -> dict[str, Place]:
        """Where the arguments of the steps are, by their names in the programs."""
        own, parent = compiler.ROW, "parent"
        none = Place("motion", own, record.size)  # of arguments that no program uses
        fluid = {
            name: Place(whole, own, 3) if whole in given and len(given[whole].shape) == 2 else none
            for name, whole in (("v_f", "fluid_velocity"), ("a_f", "fluid_acceleration"))
        }
        return {
            "q": Place("q", "q"),
            "v": Place("v", "v"),
            "tau": Place("tau", "v"),
            "vdot": Place("vdot", "v"),
            "parent": Place("motion", parent, record.size),
            "own_record": Place("motion", own, record.size),
            "V": Place("motion", own, record.size),
            "a_fg": Place("motion", own, record.size, 6) if record.water else none,
            "pose": Place("motion", own, record.size, record.at_pose) if record.pose else none,
            **fluid,
            "wrench_on": Place("wrench", own, 6) if "wrench" in given else none,
            "carry": Place("carry", "carry"),
            "gain": Place("gain", "gain"),
            "star": Place("star", own, STAR),
            "above": Place("star", parent, STAR),
            "a": Place("acceleration", own, 6),
            "a_parent": Place("acceleration", parent, 6),
        }

    def _world(self, record: Record, flow: Flow, given: dict[str, Argument]) -> Sweep:
        """What is known of the world, in the row after the last body's."""
        m = self.model
        uniform = [x for x in ("fluid_velocity", "fluid_acceleration") if x in given and given[x].shape == (3,)]

        def world(**fluid: Array) -> Any:
            v_f, a_f = (fluid.get(x, np.zeros(3)) for x in ("fluid_velocity", "fluid_acceleration"))
            V = np.concatenate([-v_f if flow.wet else np.zeros(3), np.zeros(3)])
            row = record.row(V, a_f - m.world.gravity_vector, np.eye(3), np.zeros(3))
            return row, np.zeros(STAR), dynamics.world_acceleration(m)

        program = compiler.trace(world, {x: (3,) for x in uniform}, name="world", outputs=("motion", "star", "acceleration"))
        sizes = {"motion": record.size, "star": STAR, "acceleration": 6}
        places = (*(Place(x) for x in uniform), *(Place(name, shift=m.nb * n) for name, n in sizes.items()))
        return Sweep((Stage((program,), (places,)),), once=True)

    def _rolled(
        self,
        name: str,
        inputs: tuple[Argument, ...],
        outputs: tuple[Argument, ...],
        table: _Table,
        work: dict[str, int],
        sweeps: tuple[Sweep, ...],
    ) -> Rolled:
        columns = tuple(table.columns)
        whole = np.stack([table.columns[c] for c in columns], axis=1)
        numbers = np.concatenate(table.numbers) if table.numbers else np.zeros(0)
        return Rolled(name, inputs, outputs, columns, whole, numbers, work, sweeps)


def _flow(model: Model, given: dict[str, Argument]) -> Flow:
    """How the water's motion is given by optional arguments."""
    uniform = [x not in given or given[x].shape == (3,) for x in ("fluid_velocity", "fluid_acceleration")]
    return Flow(model.wet, *uniform)


def _uses(programs: Sequence[Program], name: str) -> bool:
    """Whether any of the programs uses an argument."""
    for program in programs:
        k = [a.name for a in program.inputs].index(name)
        if any(op.kind == "input" and op.value[0] == k for op in program.operations):
            return True
    return False


ROLLED: dict[str, Callable[..., Rolled]] = {"forward_dynamics": RolledTree.forward_dynamics}
"""Equations that can be rolled."""


def rolled_equation(model: Model, name: str, extra: Sequence[Argument] = ()) -> Rolled:
    """The loop of an equation over the bodies of a model.

    Args:
        model: The mechanism.
        name: One of `ROLLED`.
        extra: Optional arguments, with their shapes.
    """
    return ROLLED[name](RolledTree(model), extra)
