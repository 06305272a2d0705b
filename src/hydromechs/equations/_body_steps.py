"""Programs for the recursion steps of one body of a kind; large trees run these programs body by body.

The programs are traced from the same functions as the specialised programs. A row of numbers, `carry`, passes state-dependent
values from one step to later steps. Values that depend only on parameters of the body are computed in advance.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import casadi
import numpy as np

from hydromechs import compiler, dynamics, hydro
from hydromechs.compiler import Program, Symbol, symbols
from hydromechs.dynamics import Bias
from hydromechs.hydro import WetMotion
from hydromechs.model import Hydro, World, added_mass
from hydromechs.spatial import Path, cross
from hydromechs.values import Array, Scalar

from ._after import After, BodyNow
from ._balance import dry_force, force_in_water
from ._kinds import PAIRS, ActingOn, Alike, JointOf, Water, unpaired

STAR = 27
"""Length of a row that stores an inertia and a force."""


def halved(I: Array, F: Array) -> Array:
    """Return a symmetric inertia and a force as a row, shape (27,)."""
    return np.concatenate([np.array([I[i, j] for i, j in PAIRS]), F])


def full(row: Array) -> tuple[Array, Array]:
    """Return the inertia (6, 6) and force (6,) stored in a row."""
    return unpaired(row[:21]), row[21:]


class Flow(NamedTuple):
    """Representation of the motion of the water."""

    wet: bool
    """True if the mechanism is in water."""
    velocity: bool = True
    """True if the velocity of the water is equal at all bodies."""
    acceleration: bool = True
    """True if the acceleration of the water is equal at all bodies."""
    points: int = 0
    """Number of points per body at which the motion of the water is given; 0 if it is uniform over each body."""


class Record(NamedTuple):
    """Layout of a row with the motion of a body, as required by its children and the forces on the body."""

    water: bool
    """True if the row includes the acceleration of the water minus gravity."""
    pose: bool
    """True if the row includes axes and origin of the body in the world."""

    @property
    def size(self) -> int:
        """Length of the row."""
        return 6 + 3 * self.water + 12 * self.pose

    def row(self, V: Array, a_fg: Array, R: Array, p: Array) -> Array:
        """Return the row, shape (size,)."""
        parts = [V, *([a_fg] if self.water else []), *([np.ravel(R), p] if self.pose else [])]
        return np.concatenate(parts)

    def read(self, row: Array) -> tuple[Array, Array, tuple[Array, Array] | None]:
        """Return V (6,), a_f − g (3,), and axes (3, 3) with origin (3,) or None."""
        a_fg = row[6:9] if self.water else np.zeros(3)
        return row[:6], a_fg, (row[-12:-3].reshape(3, 3), row[-3:]) if self.pose else None

    @property
    def at_pose(self) -> int:
        """Index of axes and origin in the row."""
        return 6 + 3 * self.water


class _Carry:
    """Values passed from one program to later programs; all programs have the body's parameters as inputs."""

    def __init__(self, numbers: Array) -> None:
        self.known = {str(x.sx) for x in numbers}
        self.values: list[Symbol] = []
        """Outputs of the earlier program."""
        self.symbols: list[Symbol] = []
        """Corresponding inputs of the later programs."""
        self.seen: dict[int, Symbol] = {}

    def hold(self, thing: Any) -> Any:
        """Return nested tuples and arrays with new symbols in place of state-dependent values."""
        if isinstance(thing, np.ndarray):
            return np.array([self.hold(x) for x in thing.ravel()], dtype=object).reshape(thing.shape)
        if isinstance(thing, tuple):
            parts = [self.hold(part) for part in thing]
            return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
        if not isinstance(thing, Symbol) or thing.constant is not None:
            return float(thing) if isinstance(thing, Symbol) else thing
        if all(str(x) in self.known for x in casadi.symvar(thing.sx)):
            return thing
        key = thing.sx.element_hash()
        if key not in self.seen:
            self.seen[key] = symbols(f"carried{len(self.values)}", ())[()]
            self.values.append(thing)
            self.symbols.append(self.seen[key])
        return self.seen[key]

    def row(self, things: list[Symbol]) -> Array:
        """Return values or symbols as an array."""
        out = np.empty(len(things), dtype=object)
        out[:] = things
        return out


class JointSteps:
    """Recursion steps across the joint of bodies of one kind, based on the record of the parent's motion.

    Accelerations are derivatives of velocity components if `wet`, else true accelerations, as in the papers.
    """

    def __init__(self, alike: Alike, record: Record, wet: bool, *, rest: bool = False) -> None:
        self.numbers = symbols("numbers", (alike.numbers.shape[1],))
        joint: JointOf = alike.opened(self.numbers)
        self.joint, self.record = joint, record
        self.q, self.v = symbols("q", (joint.nq,)), symbols("v", (joint.nv,))
        self.parent = symbols("parent", (record.size,))
        V, a_fg, pose = record.read(self.parent)
        v, V = (np.zeros(joint.nv), np.zeros(6)) if rest else (self.v, V)
        self.body = dynamics.body_kinematics(joint.steps, self.q, v, V, pose)
        self.own = record.row(self.body.V, self.body.path.rotate(a_fg), self.body.R_WB, self.body.p_WB)
        self.carry = _Carry(self.numbers)
        steps, self.phi, bias = self.carry.hold(
            (self.body.path.steps, self.body.subspace, tuple(self.body.c if wet else self.body.zeta))
        )
        self.path, self.bias = Path(steps), Bias(*bias)

    @property
    def _given(self) -> dict[str, Array]:
        return {"numbers": self.numbers, "q": self.q, "v": self.v, "parent": self.parent}

    @property
    def _carried(self) -> Array:
        return self.carry.row(self.carry.symbols)

    def motion(self) -> Program:
        """Return the program (parameters, q, v, record of the parent) → (record of the body, carry)."""
        carried = self.carry.row(self.carry.values)
        return compiler.program_between("motion", self._given, {"own": self.own, "carry": carried})

    def articulated(self) -> tuple[Program, Program]:
        """Return the programs of the inward and the outward sweep of forward dynamics.

        inward: (parameters, carry, τ, I* and β* of the body, I* and β* of the parent) → (gain and part, I* and β* of the
        parent);
        outward: (parameters, carry, gain and part, a' of the parent) → (a' of the body, v̇).
        """
        star, above = symbols("star", (STAR,)), symbols("above", (STAR,))
        tau, a_parent = symbols("tau", (self.joint.nv,)), symbols("a_parent", (6,))
        I, beta = full(star)
        joint = dynamics.joint_balance(I, beta, self.phi, tau, self.joint.rows, self.joint.armature)
        seen, push = dynamics.passed_on(self.path, self.bias, I, beta, joint)
        later = _Carry(self.numbers)
        for x in self._carried:  # inputs of both sweeps
            later.known.add(str(x.sx))
        solved = None if joint is None else later.hold((joint.gain, joint.part))
        common = {"numbers": self.numbers, "carry": self._carried}
        inward = compiler.program_between(
            "inward",
            {**common, "tau": tau, "star": star, "above": above},
            {"gain": later.row(later.values), "above": above + halved(seen, push)},
        )
        a, vdot = dynamics.accelerated(self.path, self.phi, self.bias, solved, a_parent)
        outward = compiler.program_between(
            "outward",
            {**common, "gain": later.row(later.symbols), "a_parent": a_parent},
            {"a": np.asarray(a), "vdot": np.asarray(vdot)},
        )
        return inward, outward

    def accelerating(self) -> Program:
        """Return the program (parameters, carry, v̇, a' of the parent) → a' of the body, for prescribed v̇."""
        vdot, a_parent = symbols("vdot_given", (self.joint.nv,)), symbols("a_parent", (6,))
        a = dynamics.arriving(self.path, self.bias, a_parent)
        if self.joint.nv:
            a = a + self.phi @ vdot
        given = {"numbers": self.numbers, "carry": self._carried, "vdot_given": vdot, "a_parent": a_parent}
        return compiler.program_between("acceleration", given, {"a": a})

    def loading(self) -> Program:
        """Return the program (parameters, carry, forces on body and parent) → (joint force, force on the parent)."""
        load, above = symbols("load", (6,)), symbols("load_above", (6,))
        given = {"numbers": self.numbers, "carry": self._carried, "load": load, "load_above": above}
        results = {"tau_found": self.phi.T @ load, "load_above": above + self.path.force_back(load)}
        return compiler.program_between("load", given, results)


def after_program(alike: Alike, world: World, flow: Flow, after: After, *, moving: bool) -> Program:
    """Return the program that computes the quantities in `after` for one body.

    Inputs are the parameters, V, a_f − g, axes and origin, a', velocity, acceleration and gradient of the water, and totals.
    Results are rows and totals. `moving` is true if the velocity of the water is an input.
    """

    def compute(**x: Array) -> tuple[Array, ...]:
        acting: ActingOn = alike.opened(x["numbers"])
        motion, V = _motion(x, acting, world, flow)
        w, gravity = V[3:], motion.R_WB.T @ world.gravity_vector
        turning = np.zeros(3) if flow.wet else cross(w, V[:3])  # dry mechanisms use true accelerations
        if flow.wet and flow.velocity and moving:  # velocities are relative to the water
            along = motion.R_WB.T @ x["v_f"]
            V, turning = V + np.concatenate([along, np.zeros(3)]), cross(w, along)
        rate = x["a"] + np.concatenate([gravity - turning, np.zeros(3)])
        now = BodyNow(acting, _body(acting), motion, V, x["a"], rate)
        found = after.function(now)
        rows = [np.asarray(found[name]).reshape(shape) for name, shape in after.rows.items()]
        return *rows, x["totals"] + np.array([found[name] for name in after.totals])

    shapes = _water_shapes(alike, flow) | {"a": (6,), "totals": (len(after.totals),)}
    return compiler.trace(compute, shapes, name="after", outputs=(*after.rows, "totals"))


def _water_shapes(alike: Alike, flow: Flow) -> dict[str, tuple[int, ...]]:
    n = max(1, flow.points)
    water: dict[str, tuple[int, ...]] = {"v_f": (3 * n,), "a_f": (3 * n,)}
    water |= {"gradient": (9 * n,)} if flow.points else {}
    return {"numbers": (alike.numbers.shape[1],), "V": (6,), "a_fg": (3,), "pose": (12,), **water}


def _motion(x: dict[str, Array], acting: ActingOn, world: World, flow: Flow) -> tuple[WetMotion, Array]:
    """Return the motion of a body in the water, and its velocity V relative to the observer of the record."""
    V, a_fg, pose, v_f, a_f = (x[name] for name in ("V", "a_fg", "pose", "v_f", "a_f"))
    R, p = pose[:9].reshape(3, 3), pose[9:]
    if flow.points:
        if acting.sampling is None:
            return WetMotion(V, R.T @ -world.gravity_vector, R, p, world.down @ p, world.water_density), V
        rows = zip(v_f.reshape(-1, 3), a_f.reshape(-1, 3), x["gradient"].reshape(-1, 3, 3), strict=True)
        flows = [hydro.Flow(R.T @ v, R.T @ (a - world.gravity_vector), R.T @ G @ R) for v, a, G in rows]
        return hydro.motion_in(acting.sampling, V, flows[: len(acting.sampling.points)], R, p, world), V
    velocity = V if flow.velocity else V - np.concatenate([R.T @ v_f, np.zeros(3)])
    a_water = a_fg if flow.acceleration else R.T @ (a_f - world.gravity_vector)
    return WetMotion(velocity, a_water, R, p, world.down @ p, world.water_density), V


def force_program(alike: Alike, world: World, flow: Flow, *, wrench: bool) -> Program:
    """Return the program (parameters, V, a_f − g, axes and origin, motion of the water, wrench) → inertia and force."""

    def force(**x: Array) -> Array:
        acting: ActingOn = alike.opened(x["numbers"])
        if flow.wet:
            motion, V = _motion(x, acting, world, flow)
            I, F = force_in_water(_body(acting), acting.rigid, motion, V, uniform=flow.velocity)
        else:
            I, F = dry_force(acting.rigid, x["V"])
        return halved(np.zeros((6, 6)) if I is None else I, F + x["wrench_on"] if wrench else F)

    return compiler.trace(force, _water_shapes(alike, flow) | {"wrench_on": (6,)}, name="force", outputs=("star",))


class OpenDrag(NamedTuple):
    """Drag element whose coefficients are inputs of the program."""

    numbers: Any
    """Coefficients of the element, including the water density; see `DragElement.numbers`."""

    def wrench(self, V_r: Array, density: Scalar) -> Array:
        """Return the wrench; see `DragElement.wrench`."""
        out: Array = self.numbers.wrench(V_r)
        return out


def _body(acting: ActingOn) -> Any:
    """Return a body whose hydrodynamic coefficients are inputs of the program."""
    water = acting.water
    if not isinstance(water, Water):
        return SimpleNamespace(name="body", hydro=water)
    matrix = added_mass.Matrix(((0.0,) * 6,) * 6)
    object.__setattr__(matrix, "matrix", water.added_mass)
    out = Hydro()
    for name, value in (
        ("volume", water.volume),
        ("buoyancy_center", water.center),
        ("added_mass", (matrix,)),
        ("drag", tuple(OpenDrag(numbers) for numbers in water.drag)),
    ):
        object.__setattr__(out, name, value)
    return SimpleNamespace(name="body", hydro=out)
