"""Spatial parallelism (McMillan 1994, 3.2): equal branches on one body, evaluated in parallel on the lanes of one core.

The legs of a walker, or the arms of a vehicle, have the same joints but different parameters. One program evaluates all
branches. Parameters that differ between branches are inputs, one set per lane; shared parameters are constants of the code. One
evaluation consists of three steps:

    inward     all branches on lanes: kinematics, forces of the water, articulated inertia and force at the base;
    base       once: the sum over branches, and the acceleration of the base and of its other children;
    outward    all branches on lanes: accelerations of the joints.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import compiler, dynamics, hydro
from hydromechs.dynamics import Bias, Kinematics, inward, outward, world_acceleration
from hydromechs.errors import UnsupportedFeature
from hydromechs.model import Hydro, Model, MovingStep
from hydromechs.spatial import Path, Turn
from hydromechs.values import Array

from . import _arguments as arguments
from ._balance import forces_on_bodies
from ._kinds import PAIRS, acting_on, same, unpaired

TABLES = ("steps", "parent", "rigid", "free_rows", "v_slices", "nb", "nv", "nq")
"""Properties of a model that the recursions use."""


class OnLanes(NamedTuple):
    """A program and the parameters of each branch."""

    program: compiler.Program
    """Program whose last argument is the array of parameters."""
    numbers: Array
    """Parameters of each branch, shape (branches, n)."""

    def __call__(self, *arrays: Array) -> list[Array]:
        return compiler.call_on_lanes(self.program, *arrays, self.numbers)


class BranchesOnLanes:
    """Forward dynamics of a body that carries at least two branches with equal joints, evaluated on lanes.

        star = BranchesOnLanes(model)
        vdot = star.forward_dynamics(q, v, tau)        # floats, or symbols in a traced function

    The parameters of the branches may differ.
    """

    def __init__(self, model: Model) -> None:
        self.model = model = arguments.model_of(model)
        joint = model.bodies[0].joint
        if (joint.nq, joint.nv) != (7, 6):
            raise UnsupportedFeature(f"the base of {model.name} has no free joint; use form='specialised' or form='rolled'")
        self.groups = _branches(model)
        """Indices of the bodies of each branch on lanes."""
        on_lanes = {i for group in self.groups for i in group}
        self.trunk = [i for i in range(model.nb) if i not in on_lanes]
        """Indices of all other bodies, the base first."""
        self.base = Model(name="base", bodies=tuple(model.bodies[i] for i in self.trunk), world=model.world)
        """Model of the base with its other children."""
        self.branches = tuple(
            Model(name="branch", bodies=(model.bodies[0], *(model.bodies[i] for i in group)), world=model.world)
            for group in self.groups
        )
        """Models of the base with one branch each."""
        self._steps, self._offsets = _alike([branch.steps for branch in self.branches], self.branches[0].nq)
        own = [body.name for body in model.bodies if not isinstance(body.hydro, Hydro | None)]
        if own:
            raise UnsupportedFeature(
                f"body {own[0]!r} has custom hydrodynamics, which branches on lanes do not support; use form='specialised'"
            )

    def check(self) -> None:
        """Raise `UnsupportedFeature` if branches differ in more than parameters."""
        _ = self._differing
        for bodies in zip(*self.groups, strict=True):
            things = [acting_on(self.model, i).water for i in bodies]
            same([None if water is None else _elements(water) for water in things], lambda values: 0.0)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        fluid_velocity: ArrayLike = (0.0, 0.0, 0.0),
        fluid_acceleration: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Return v̇, shape (nv,); the arguments are those of `hm.forward_dynamics`."""
        q, v, tau, u_f, a_f = (np.asarray(a) for a in (q, v, tau, fluid_velocity, fluid_acceleration))
        base, gravity, n = self.base, self.model.world.gravity_vector, len(self.groups)
        own_q = [k for i in self.trunk for k in _range(self.model.q_slices[i])]
        own_v = [k for i in self.trunk for k in _range(self.model.v_slices[i])]
        kin = dynamics.kinematics(base, q[own_q], v[own_v], u_f if self.model.wet else np.zeros(3))
        a_fg = dynamics.world_vector(base, kin, a_f - gravity)
        bias, inertia, force = self._forces(base, kin, a_fg)

        at_q = np.array([[k for i in g for k in _range(self.model.q_slices[i])] for g in self.groups])
        at_v = np.array([[k for i in g for k in _range(self.model.v_slices[i])] for g in self.groups])
        q_own = q[at_q] + self._offsets[:, 7:]
        seen, beta, carry = self._inward(q_own, v[at_v], tau[at_v], _all(kin.V[0], n), _all(a_fg[0], n))
        I, F = inertia[0], force[0]
        for k in range(n):
            I = I + unpaired(seen[k])
            F = F + beta[k]
        known = dict(enumerate(inertia)) | {0: I}, dict(enumerate(force)) | {0: F}
        got = inward(base, kin, bias, tau[own_v], *known, members=range(base.nb))
        vdot_0, a = outward(base, kin, bias, got.gains, got.parts, {-1: world_acceleration(base)}, members=range(base.nb))
        (vdot,) = self._outward(q_own, _all(a[0], n), carry)
        out = np.concatenate([vdot_0, np.ravel(vdot)])
        order = np.argsort(np.concatenate([own_v, at_v.ravel()]))
        return out[order]

    # -- one branch for all -------------------------------------------------------------------------------------------------

    @cached_property
    def _differing(self) -> list[tuple[float, ...]]:
        """Parameters of joints and inertias that differ between branches, one value per branch."""
        found: dict[tuple, float] = {}
        self._merged(lambda values: found.setdefault(values, values[0]), 0)
        return list(found)

    def _merged(self, number: Callable[[tuple[float, ...]], Any], k: int) -> SimpleNamespace:
        """Return the template branch with the hydrodynamics of branch k."""
        each = zip(self.branches, self._steps, strict=True)
        values = same([(steps, *(getattr(b, name) for name in TABLES[1:])) for b, steps in each], number)
        bodies = [
            SimpleNamespace(name="branch", hydro=h) for h in (None, *(body.hydro for body in self.branches[k].bodies[1:]))
        ]
        one = self.branches[k]
        shared = {"owner": one.owner, "sections": one.sections}
        return SimpleNamespace(**dict(zip(TABLES, values, strict=True)), **shared, bodies=bodies, world=self.model.world)

    def _branch(self, numbers: Array, k: int) -> Any:
        return self._merged(dict(zip(self._differing, numbers, strict=True)).__getitem__, k)

    def _kinematics(self, branch: Any, q: Array, v: Array, V_0: Array) -> Kinematics:
        """Return the kinematics of a branch relative to its base, which is at the origin and moves with V_0."""
        return dynamics.kinematics(branch, np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], q]), np.concatenate([V_0, v]))

    def _forces(
        self, part: Any, kin: Kinematics, a_fg: Sequence[Array]
    ) -> tuple[Sequence[Bias], list[Array | None], list[Array]]:
        """Return bias, inertias and forces of the base or of a branch; all bodies count as wet if the model is wet."""
        motions = hydro.body_motions(part, kin, kin.V, a_fg) if self.model.wet else None
        return forces_on_bodies(part, kin, motions, uniform=True)

    @cached_property
    def _inward(self) -> OnLanes:
        """Program for the inertia (21,) and force (6,) of one branch at the base, and the values for the outward sweep."""
        template: list[Any] = []
        first: list[Any] = []
        self._template = template

        def one(k: int, q: Array, v: Array, tau: Array, V_0: Array, a_fg_0: Array, numbers: Array) -> Any:
            branch = self._branch(numbers, k)
            kin = self._kinematics(branch, q, v, V_0)
            a_fg = dynamics.world_vector(branch, kin, a_fg_0)
            bias, inertia, force = self._forces(branch, kin, a_fg)
            known = (
                dict(enumerate(inertia)) | {0: None},
                dict(enumerate(force)) | {0: np.zeros(6)},
            )  # only the contribution of the children
            got = inward(branch, kin, bias, np.concatenate([np.zeros(6), tau]), *known, members=range(1, branch.nb))
            carry: list[Any] = []
            # hydrodynamic parameters may differ between branches, so that the template must not contain their constants
            template[:] = [_packed(part, carry, constants=not self.model.wet) for part in (got.gains, got.parts, bias)]
            if k and template != first:
                raise UnsupportedFeature(
                    f"{self.model.name}: forces on its branches differ in more than parameters; use form='specialised'"
                )
            first[:] = template
            return np.array([got.inertia[0][i, j] for i, j in PAIRS]), got.force[0], np.array(carry)

        return self._traced(one, {"v": None, "tau": None, "V_0": (6,), "a_fg_0": (3,)}, "inward", ("inertia", "force", "carry"))

    @cached_property
    def _outward(self) -> OnLanes:
        """Program for v̇ of one branch from the acceleration of the base."""
        carried = self._inward.program.outputs[2].shape

        def one(k: int, q: Array, a_0: Array, carry: Array, numbers: Array) -> Any:
            branch = self._branch(numbers, k)
            kin = self._kinematics(branch, q, np.zeros(branch.nv - 6), np.zeros(6))
            gains, parts, bias = (_unpacked(part, carry) for part in self._template)
            members = range(1, branch.nb)
            return outward(branch, kin, [Bias(*b) for b in bias], gains, parts, {0: a_0}, members=members)[0]

        return self._traced(one, {"a_0": (6,), "carry": carried}, "outward", ("vdot",))

    def _traced(self, function: Callable[..., Any], shapes: dict, name: str, outputs: tuple[str, ...]) -> OnLanes:
        one, m = self.branches[0], len(self.branches)
        shapes = {"q": (one.nq - 7,), **{k: s or (one.nv - 6,) for k, s in shapes.items()}, "numbers": (len(self._differing),)}
        programs = [compiler.trace(partial(function, k), shapes, name=name, outputs=outputs) for k in range(m)]
        merged = compiler.merge(programs, "numbers")
        if merged is None:
            raise UnsupportedFeature(
                f"{self.model.name}: hydrodynamics of its branches differs in more than parameters; use form='specialised'"
            )
        program, table = merged
        before, after = compiler.hoist(program, "numbers")
        known = np.array(self._differing).reshape(len(self._differing), m).T
        return OnLanes(after, np.array([before(np.concatenate(row))[0] for row in zip(known, table, strict=True)]))


def _branches(model: Model) -> list[list[int]]:
    """Return the bodies of each branch, in order: the largest set of branches of body 0 with equal structure."""
    if model.parent.count(-1) != 1:
        raise UnsupportedFeature(
            f"{model.name} has several roots; use form='specialised', because branches on lanes need a single base"
        )
    groups: dict[int, list[int]] = {}
    branch_of = {0: 0}
    for i, parent in list(enumerate(model.parent))[1:]:
        branch_of[i] = i if parent == 0 else branch_of[parent]
        groups.setdefault(branch_of[i], []).append(i)
    shapes: dict[tuple[int, ...], list[list[int]]] = {}
    for first, group in groups.items():
        if model.bodies[first].joint.nv == 0:
            continue  # fixed to the base
        place = {0: -1, **{i: k for k, i in enumerate(group)}}
        shapes.setdefault(tuple(place[model.parent[i]] for i in group), []).append(group)
    most = max(shapes.values(), key=lambda found: (len(found), len(found[0])), default=[])
    if len(most) < 2:
        sizes = ", ".join(str(len(g)) for g in groups.values()) or "no"
        raise UnsupportedFeature(
            f"{model.name} has branches of {sizes} bodies; lanes need at least two branches of equal structure"
        )
    return most


def _alike(branches: list[tuple], nq: int) -> tuple[list[tuple], np.ndarray]:
    """Return the joint steps of all branches in a common form, and the offsets of their q, shape (branches, nq).

    The constant angle of a hinge becomes an offset of q. Constant steps that differ in kind between branches become one `Turn`.
    """
    offsets = np.zeros((len(branches), nq))
    out: list[list] = [[] for _ in branches]
    for joints in zip(*branches, strict=True):
        kinds = {tuple(type(step) for step in steps) for steps in joints}
        for k, steps in enumerate(joints):
            moving = next((i for i, step in enumerate(steps) if isinstance(step, MovingStep)), len(steps))
            if len(kinds) > 1:
                R, p = Path(steps[:moving]).pose()
                steps = (Turn(np.array(R), np.array(p)), *steps[moving:])
            for i, step in enumerate(steps):
                if isinstance(step, MovingStep):
                    step, offset = step.without_offset()
                    offsets[k, step.iq] = offset
                    steps = (*steps[:i], step, *steps[i + 1 :])
            out[k].append(steps)
    return [tuple(steps) for steps in out], offsets


def _packed(thing: Any, carry: list, constants: bool) -> Any:
    """Return the structure of nested arrays, with indices into `carry` in place of state-dependent values.

    Zeros remain in the structure, and so do other constants if all branches share them (`constants`).
    """
    if isinstance(thing, dict):
        return {k: _packed(part, carry, constants) for k, part in thing.items()}
    if isinstance(thing, tuple | list):
        return tuple(_packed(part, carry, constants) for part in thing)
    if isinstance(thing, np.ndarray):
        return thing.shape, [_packed(x, carry, constants) for x in thing.ravel()]
    if thing is None:
        return None
    known = float(thing) if not isinstance(thing, compiler.Symbol) or thing.constant is not None else None
    if known is not None and (constants or known == 0.0):
        return known
    carry.append(thing)
    return len(carry) - 1


def _unpacked(shape: Any, carry: Array) -> Any:
    """Return the nested arrays with the structure from `_packed`."""
    if isinstance(shape, dict):
        return {k: _unpacked(part, carry) for k, part in shape.items()}
    if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], list):
        return np.array([carry[x] if isinstance(x, int) else x for x in shape[1]]).reshape(shape[0])
    return tuple(_unpacked(part, carry) for part in shape) if isinstance(shape, tuple) else shape


def _elements(water: Any) -> Any:
    """Return the properties that all branches must share: kinds of hydrodynamic elements, and which parameters are zero."""
    if isinstance(water, np.ndarray):
        return tuple(bool(x) for x in water.ravel().tolist())
    if isinstance(water, tuple):
        return (type(water).__name__, *(_elements(part) for part in water))
    return bool(water) if isinstance(water, float | int | np.floating) else str(water)


def _range(s: slice) -> range:
    return range(s.start, s.stop)


def _all(a: Array, n: int) -> Array:
    return np.broadcast_to(a, (n, *np.shape(a)))
