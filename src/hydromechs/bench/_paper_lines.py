"""Tables of operation counts of the papers, compared line by line with our counts.

Each line of a table is a quantity. Our count is the number of operations that compute this quantity in the program of the final
result. Each operation is counted in the first line that needs it, so that our lines add up to the count of the program. Lines
that our program computes together are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import trace
from hydromechs.dynamics import PseudoInertia, moved_back
from hydromechs.equations import FLUID, balance, shape_of
from hydromechs.library import serial_chain
from hydromechs.model import Model
from hydromechs.spatial import Path, Screw, cross
from hydromechs.values import Array

from ._mechanisms import arms_on_load, principal_star, rigid_balance, symmetric
from ._printed_tables import polynomial, printed_tables

Pair: TypeAlias = tuple[int, int]
"""Operation count [M, A]."""
Quantities: TypeAlias = Sequence[tuple[str, Any]]
"""Line names, joined by "; " for merged lines, with our quantities in order of computation; the last is the result."""


class Column(NamedTuple):
    """Pair of columns [M, A] of a table, with our program."""

    name: str
    sizes: Mapping[str, int]
    """Values of m and N at which the formulas are evaluated."""
    ours: Callable[[], dict[str, Pair]]


class Table(NamedTuple):
    """Table as printed in a paper."""

    source: str
    columns: tuple[Column, ...]

    def printed(self, k: int) -> dict[str, tuple[str, str]]:
        """Return formulas of M and A of a pair of columns, by row, as polynomials of m and N; the last row is the total."""
        return {name: (cells[2 * k], cells[2 * k + 1]) for name, cells in printed_tables()[self.source].items()}


class CountLine(NamedTuple):
    """Line of a table, with our count."""

    table: str
    column: str
    name: str
    papers: Pair
    ours: Pair


def lines(tables: Sequence[Table] | None = None) -> Iterator[CountLine]:
    """Yield all lines of all tables."""
    for table in TABLES if tables is None else tables:
        for k, column in enumerate(table.columns):
            printed, ours = table.printed(k), column.ours()
            total = list(printed)[-1]
            merged = {name: key for key in ours for name in key.split("; ")}
            for name in printed:
                key = merged.get(name, name)
                if name != key.split("; ")[0]:
                    continue
                parts = [printed[part] for part in key.split("; ")]
                M, A = (int(sum(polynomial(p[i], **column.sizes) for p in parts)) for i in range(2))
                found = ours.get(key, (0, 0))
                if name == total:
                    found = (sum(x for x, _ in ours.values()), sum(x for _, x in ours.values()))
                if (M, A) != (0, 0) or found != (0, 0):
                    yield CountLine(table.source, column.name, key, (M, A), found)


def shares(function: Callable[..., Quantities], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Pair]:
    """Return the count [M, A] attributed to each quantity on the way to the last one."""
    names: list[str] = []

    def traced(**arrays: Array) -> tuple[Array, ...]:
        found = function(**arrays)
        names.extend(name for name, _ in found)
        return tuple(np.array([x for part in _flat(value) for x in part], dtype=object) for _, value in found)

    program, out = trace(traced, shapes), dict[str, Pair]()
    for name, count in zip(names, program.shares(), strict=True):
        M, A = out.get(name, (0, 0))
        out[name] = M + count.papers[0], A + count.papers[1]
    return out


def _flat(value: Any) -> Iterator[Any]:
    """Yield flat arrays from nested sequences of arrays and numbers."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)
    elif value is not None:
        yield np.ravel(np.asarray(value, dtype=object))


# -- articulated bodies --------------------------------------------------------------------------------------------------------


def articulated_body(model: Model, *, base_given: bool = False) -> dict[str, Pair]:
    """Return counts of Tables II, 16, 19 and 30; `base_given`: True for a prescribed acceleration of the base."""
    free = model.free_rows[0] == (0, 1, 2, 3, 4, 5)
    links = [i for i in range(model.nb) if not (free and i == 0)]
    members = links if base_given else list(range(model.nb))

    def run(q: Array, v: Array, tau: Array, vdot_base: Array | None = None, **fluid: Array) -> Quantities:
        b, motions = balance(model, q, v, fluid.get("fluid_velocity"), fluid.get("fluid_acceleration"))
        kin, out = b.kin, list[tuple[str, Any]]()
        # constant screw of a branch, from the base frame to the chain frame
        starts = {
            i: Path(kin.paths[i].steps[:1]) for i in links if free and model.parent[i] == 0 and len(kin.paths[i].steps) > 2
        }
        if free:
            out += [("v_0", kin.V[0] if motions else None), ("a_fg_0", motions and motions[0].a_fg)]
            out += [] if base_given else [("β_0", b.force[0])]
        for i in links:
            if i in starts:
                out.append(("V_k0", starts[i].motion(kin.V[0]) if motions else starts[i].rotate(kin.V[0][3:])))
                out.append(("a_fg_k0", motions and starts[i].rotate(motions[0].a_fg)))
            out += [("V_i", kin.V[i] if motions else kin.V[i][3:]), ("a_fg_i", motions and motions[i].a_fg)]
            out += [("ζ_i", (b.bias[i].swing, b.bias[i].own)), ("β_i", b.force[i])]
        inertia, force = {i: b.inertia[i] for i in members}, {i: b.force[i] for i in members}
        swept = dynamics.inward(model, kin, b.bias, tau, inertia, force, members=members)
        for i in reversed(links):
            joint = dynamics.joint_balance(
                swept.inertia[i], swept.force[i], kin.subspaces[i], tau[model.v_slices[i]], model.free_rows[i]
            )
            assert joint is not None and joint.gain is not None
            N = swept.inertia[i] - joint.gain @ joint.across.T
            for k in joint.rows or ():
                N[k, :] = N[:, k] = 0.0
            out += [("1/m*", (1.0 / (kin.subspaces[i].T @ joint.across))[0, 0]), ("n/m*", joint.gain), ("τ*", joint.tau_star)]
            parent = model.parent[i]
            if parent in members:
                out.append(("N_i", [N[j, k] for j in range(6) for k in range(j, 6)]))
                if i in starts:
                    moved = Path(kin.paths[i].steps[1:]).inertia_back(N)
                    out += [("XᵀNX", moved), ("rN", starts[i].inertia_back(moved))]
                else:
                    out.append(("XᵀNX", kin.paths[i].inertia_back(N)))
                out += [("I*", dynamics.passed_on(kin.paths[i], b.bias[i], swept.inertia[i], swept.force[i], joint)[0])]
                out += [("β*", dynamics.passed_on(kin.paths[i], b.bias[i], swept.inertia[i], swept.force[i], joint)[1])]
                if all(model.parent[k] != parent for k in links if k < i):
                    out += [("I*", swept.inertia[parent]), ("β*", swept.force[parent])]
        world = dynamics.world_acceleration(model)
        known = {-1: world}
        if vdot_base is not None:
            known = {0: dynamics.arriving(kin.paths[0], b.bias[0], world) + kin.subspaces[0] @ vdot_base}
        vdot, a = dynamics.outward(model, kin, b.bias, swept.gains, swept.parts, known, members=members)
        if free and not base_given:
            out += [("a'_0", a[0]), ("a_0", vdot[model.v_slices[0]])]
        for k, i in enumerate(links):
            at = model.v_slices[i] if not base_given else slice(k, k + 1)
            out += [("ā_i", dynamics.arriving(kin.paths[i], b.bias[i], a[model.parent[i]])), ("q̈_i", vdot[at]), ("a'_i", a[i])]
        return [*out, ("a'_i", vdot)]

    inputs = ("q", "v", "tau", *(("vdot_base",) if base_given else ()), *(FLUID if model.wet else ()))
    return shares(run, {name: shape_of(name, model) for name in inputs})


def joined(found: Mapping[str, Pair], groups: Sequence[str]) -> dict[str, Pair]:
    """Return counts in which the members of each group ("a; b") are merged."""
    out = dict(found)
    for group in groups:
        parts = [out.pop(name, (0, 0)) for name in group.split("; ")]
        out[group] = (sum(x for x, _ in parts), sum(x for _, x in parts))
    return out


def _chain(n: int, base: str, wet: bool, **options: bool) -> Callable[[], dict[str, Pair]]:
    groups = ["ζ_i; β*; ā_i", "N_i; I*", "q̈_i; a'_i"]
    groups += ["v_0; a_g; a_fg_0; a_0"] if wet else ["a_g; a_0"] if base == "free" else []

    def ours() -> dict[str, Pair]:
        found = joined(articulated_body(serial_chain(n, base=base, wet=wet), **options), ["I*; XᵀNX"])
        found["I*"] = found.pop("I*; XᵀNX")
        return joined(found, groups)

    return ours


def _star(m: int, n: int, wet: bool) -> Callable[[], dict[str, Pair]]:
    groups = ["ζ_k0; ζ_i; β*_i; β*; rβ*; a'_k0; ā_i", "I*; a'_0", "q̈_i; a'_i"]
    groups += ["v_0; a_g; a_fg_0; a_0"] if wet else ["a_g; a_0"]
    return lambda: joined(articulated_body(principal_star(m, n, wet=wet)), groups)


# -- composite bodies ----------------------------------------------------------------------------------------------------------


def rigid_lines(model: Model, *, bias: bool = False) -> dict[str, Pair]:
    """Return counts of Table 26; `bias`: True to omit joint accelerations, as for Tables 2 and 12."""

    def run(q: Array, v: Array, vdot: Array | None = None) -> Quantities:
        kin = dynamics.kinematics(model, q, v)
        links = dynamics.rigid_links(model, kin, np.zeros(model.nv) if vdot is None else vdot, None, {})
        return [
            ("ω_i", [V[3:] for V in kin.V]),
            ("ω̇_i", [alpha for _, alpha in links.a]),
            ("Ω_i", links.spin),
            ("a_i", [a for a, _ in links.a]),
            ("u_i; n'_i; f'_i", links.force),
            ("f_i", dynamics.generalized_force(model, kin._replace(paths=links.paths), links.force)),
        ]

    return shares(run, {name: shape_of(name, model) for name in ("q", "v", *(() if bias else ("vdot",)))})


def mass_matrix_lines(model: Model) -> dict[str, Pair]:
    """Return counts of Table 28."""

    def run(q: Array) -> Quantities:
        kin = dynamics.kinematics(model, q, np.zeros(model.nv))
        inertia = [None if r is None else r.matrix for r in model.rigid]
        K = dynamics.composite_inertias(model, kin, inertia)
        moments = [[J.first, J.second] for J in K if isinstance(J, PseudoInertia)]
        return [("K_i", moments), ("f_i", dynamics.mass_matrix(model, kin, inertia))]

    return shares(run, {"q": (model.nq,)})


def star_lines(model: Model) -> dict[str, Pair]:
    """Return counts of Table 12."""

    def run(q: Array, v: Array, tau: Array) -> Quantities:
        kin = dynamics.kinematics(model, q, v)
        inertia = [None if r is None else r.matrix for r in model.rigid]
        links = dynamics.rigid_links(model, kin, np.zeros(model.nv), None, {0: np.zeros(6)})
        starts = [Path(kin.paths[i].steps[:1]) for i in range(1, model.nb) if model.parent[i] == 0]
        K = dynamics.composite_inertias(model, kin, inertia)
        return [
            ("ω_k0", [path.rotate(kin.V[0][3:]) for path in starts]),
            ("ω_ki", [V[3:] for V in kin.V]),
            ("a_k0; a_ki", [links.a, links.spin]),
            ("f'_r; f'_ki", links.force),
            ("f_ki; Xᵀf_ki; rf'_k", dynamics.generalized_force(model, kin._replace(paths=links.paths), links.force)),
            ("K_ki; XᵀK_kiX; rK_k; K_r", [[J.first, J.second] for J in K if isinstance(J, PseudoInertia)]),
            ("Xᵀf_i; Xᵀf_j; Q_k", dynamics.mass_matrix(model, kin, inertia)),
            ("K*_r; f*_r; a_r; q̈_k", dynamics.rigid_star_dynamics(model, kin, tau)),
        ]

    return shares(run, {name: shape_of(name, model) for name in ("q", "v", "tau")})


# -- closed chains -------------------------------------------------------------------------------------------------------------


def closed_chain_lines(m: int, n: int) -> dict[str, Pair]:
    """Return counts of Table 2."""
    model, load, holdings = arms_on_load(m, n)

    def run(q: Array, v: Array, tau: Array) -> Quantities:
        b = rigid_balance(model, q, v)
        chains, *_ = dynamics.open_chains(model, b, tau, load, holdings)
        columns = dynamics.columns_outwards(model, b.kin)
        M = dynamics.mass_matrix_from_columns(model, b.kin, b.inertia, columns)
        Lambdas = [dynamics.inverse(c.mobility) for c in chains]
        pushed = [Lambda @ c.acceleration for Lambda, c in zip(Lambdas, chains, strict=True)]
        motion = dynamics.closed_chain_dynamics(model, b, tau, load, holdings)
        return [
            ("H, J", [[M[i, j] for i in c.dofs for j in c.dofs] for c in chains]),
            ("H, J", [dynamics.tip_jacobian(model, columns[h.body], h.path) for h in holdings]),
            ("H⁻¹Jᵀ", [[c.factor.lower, c.factor.inverse_diagonal, c.W] for c in chains]),
            ("Λ⁻¹", [c.mobility for c in chains]),
            ("Λ", Lambdas),
            ("open", [[c.pushed, c.acceleration] for c in chains]),
            ("XᵀΛX", [h.load_path.inertia_back(L) for h, L in zip(holdings, Lambdas, strict=True)]),
            ("XᵀΛẍ", [h.load_path.force_back(p) for h, p in zip(holdings, pushed, strict=True)]),
            ("a_r", motion.vdot[model.v_slices[load]]),
            ("f_k", motion.forces),
            ("q̈_k", motion.vdot),
        ]

    found = shares(run, {name: shape_of(name, model) for name in ("q", "v", "tau")})
    return joined(found, ["H⁻¹Jᵀ; Λ⁻¹; Λ; q̈_k"])


def dual_arm_lines(method: int) -> dict[str, Pair]:
    """Return counts of Table 8 (`method` 0, Method I) or Table 9 (`method` 1, Method II)."""
    I_r = np.array([4.0, 4.0, 4.0, 0.1, 0.2, 0.3])

    def first(A: Array, B: Array, x: Array, y: Array, f: Array) -> Quantities:
        L1, L2 = (dynamics.inverse(symmetric(M, range(6))) for M in (A, B))
        result = dynamics.dual_arm(symmetric(A, range(6)), symmetric(B, range(6)), x, y, I_r, f)
        return [
            ("Λ_k", [L1, L2]),
            ("Λ_k ẍ_k", [L1 @ x, L2 @ y]),
            ("Σ Λ_k ẍ_k", L1 @ x + L2 @ y + f),
            ("Σ Λ_k + I_r", [L1[i, j] + L2[i, j] + (I_r[i] if i == j else 0.0) for i in range(6) for j in range(i + 1)]),
            ("a_r", result[0]),
            ("ẍ_k - a_r", [x - result[0], y - result[0]]),
            ("f_k", result),
        ]

    def second(A: Array, B: Array, x: Array, y: Array, f: Array) -> Quantities:
        a, b, light = symmetric(A, range(6)), symmetric(B, range(6)), 1.0 / I_r
        pushed = light * f
        sums = [a[i, j] + (light[i] if i == j else 0.0) for i in range(6) for j in range(6)]
        inner = dynamics.inverse(np.reshape(sums, (6, 6)))
        half = light[:, None] * inner
        a_r, f_1, f_2 = dynamics.dual_arm_without_detection(a, b, x, y, I_r, f)
        return [
            ("Λ_k⁻¹ + I_r⁻¹", [sums, [b[i, i] + light[i] for i in range(6)]]),
            ("I_r⁻¹ f_r", pushed),
            ("ẍ_k - I_r⁻¹ f_r", [x - pushed, y - pushed]),
            ("inverse", inner),
            ("I_r⁻¹ inverse", half),
            ("I_r⁻¹ inverse I_r⁻¹", [half[i, j] * light[j] for i in range(6) for j in range(i, 6)]),
            ("I_r⁻¹ inverse (...)", half @ (x - pushed)),
            ("{...}; [...]; f_2", f_2),
            ("I_r⁻¹ f_2", light * f_2),
            ("(...) - I_r⁻¹ f_2", x - pushed - light * f_2),
            ("f_1", f_1),
            ("I_r⁻¹ f_1; a_r", a_r),
        ]

    return shares(second if method else first, {"A": (21,), "B": (21,), "x": (6,), "y": (6,), "f": (6,)})


# -- congruence transformations ------------------------------------------------------------------------------------------------

REVOLUTE, PRISMATIC = (0, 1, 2, 3, 4), (0, 1, 3, 4, 5)
"""Nonzero rows, linear first, of an inertia reflected across a revolute and a prismatic joint."""


def congruence_lines(axis: int, moving: str, rows: Sequence[int] = range(6)) -> dict[str, Pair]:
    """Return counts of Tables 21 to 23, for one screw with nonzero `rows`; `moving`: "angle", "distance" or "" if constant."""

    def run(x: Array, cs: Array, d: Array) -> Quantities:
        cos, sin = (cs[0], cs[1]) if moving == "angle" else (np.cos(0.7), np.sin(0.7))
        screw = Screw(axis, d if moving == "distance" else 0.3, cos, sin)
        I = symmetric(x, rows)
        A, B, D = (
            screw.rotate_symmetric_back(I[:3, :3]),
            screw.rotate_general_back(I[:3, 3:]),
            screw.rotate_symmetric_back(I[3:, 3:]),
        )
        whole = Path([screw]).inertia_back(I)
        shifted = [cross(row, screw.p) for row in A]
        turned = [("(A); (B); (C); (D)", (D, A, B)), ("(E)", shifted), ("(I)", whole[:3, 3:])]
        return [*turned, ("(F); (G); (H)", whole)]

    n = len(rows)
    return shares(run, {"x": (n * (n + 1) // 2,), "cs": (2,), "d": ()})


def inertia_lines(moving: str) -> dict[str, Pair]:
    """Return counts of Table 24: transformation of the mass moments of a rigid body by a screw about z and a screw about x."""

    def run(x: Array, cs: Array, d: Array) -> Quantities:
        angle = moving == "angle"
        z = Screw(2, 0.2 if angle else d, *((cs[0], cs[1]) if angle else (np.cos(0.4), np.sin(0.4))))
        along = Screw(0, 0.3, np.cos(0.7), np.sin(0.7))
        J = PseudoInertia(2.0, x[:3], symmetric(x[3:], range(3, 6))[3:, 3:])
        first = moved_back((z,), J)
        second = moved_back((along,), first)
        return [("h^z; K^z", (first.first, first.second)), ("h^x", second.first), ("K^x", (second.first, second.second))]

    return shares(run, {"x": (9,), "cs": (2,), "d": ()})


TABLES = (
    Table(
        "1995, Table II",
        (
            Column("fixed base", {"N": 6}, _chain(6, "fixed", False)),
            Column("mobile base", {"N": 6}, _chain(6, "free", False)),
            Column("with hydrodynamics", {"N": 6}, _chain(6, "free", True)),
        ),
    ),
    Table("thesis, Table 2", (Column("m = 4, N = 6", {"m": 4, "N": 6}, lambda: closed_chain_lines(4, 6)),)),
    Table("thesis, Table 8", (Column("Method I", {}, lambda: dual_arm_lines(0)),)),
    Table("thesis, Table 9", (Column("Method II", {}, lambda: dual_arm_lines(1)),)),
    Table(
        "thesis, Table 12",
        (Column("m = 6, N = 3", {"m": 6, "N": 3}, lambda: star_lines(principal_star(6, 3, wet=False))),),
    ),
    Table(
        "thesis, Table 16",
        (
            Column("m = 6, N = 3, on land", {"m": 6, "N": 3}, _star(6, 3, False)),
            Column("m = 6, N = 3, in water", {"m": 6, "N": 3}, _star(6, 3, True)),
        ),
    ),
    Table(
        "thesis, Table 19",
        (
            Column("full dynamics", {"N": 6}, _chain(6, "free", True)),
            Column("decoupled dynamics", {"N": 6}, _chain(6, "free", True, base_given=True)),
        ),
    ),
    Table(
        "thesis, Table 21",
        (
            Column("about z, θ moves", {}, lambda: congruence_lines(2, "angle")),
            Column("about x, constant", {}, lambda: congruence_lines(0, "")),
        ),
    ),
    Table(
        "thesis, Table 22",
        (
            Column("about z, revolute", {}, lambda: congruence_lines(2, "angle", REVOLUTE)),
            Column("about z, prismatic", {}, lambda: congruence_lines(2, "distance", PRISMATIC)),
        ),
    ),
    Table(
        "thesis, Table 23",
        (
            Column("about x, revolute", {}, lambda: congruence_lines(0, "", REVOLUTE)),
            Column("about x, prismatic", {}, lambda: congruence_lines(0, "", PRISMATIC)),
        ),
    ),
    Table(
        "thesis, Table 24",
        (
            Column("revolute", {}, lambda: inertia_lines("angle")),
            Column("prismatic", {}, lambda: inertia_lines("distance")),
        ),
    ),
    Table(
        "thesis, Table 26",
        (Column("N = 6", {"N": 6}, lambda: rigid_lines(serial_chain(6, base="fixed", wet=False))),),
    ),
    Table(
        "thesis, Table 28",
        (Column("N = 6", {"N": 6}, lambda: mass_matrix_lines(serial_chain(6, base="fixed", wet=False))),),
    ),
    Table("thesis, Table 30", (Column("N = 6", {"N": 6}, _chain(6, "fixed", False)),)),
)
"""Tables of operation counts, in the order of the papers."""
