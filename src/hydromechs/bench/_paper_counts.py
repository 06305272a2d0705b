"""Operation counts and claims of the papers, compared with our counts.

Counts are pairs [multiplications with divisions and square roots, additions with subtractions]; sines and cosines are omitted.
The papers are McMillan, Orin and McGhee 1995 and McMillan 1994.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import trace
from hydromechs.dynamics import PseudoInertia, moved_back
from hydromechs.equations import operation_count
from hydromechs.hydro import fluid_acceleration_force
from hydromechs.library import load, serial_chain
from hydromechs.model import Hydro, Model, joints, total_added_mass
from hydromechs.spatial import Path, Screw, ldl

from ._mechanisms import arms_on_load, principal_star, rigid_balance, symmetric
from ._paper_lines import PRISMATIC, REVOLUTE, TABLES, Pair, closed_chain_lines, dual_arm_lines
from ._printed_tables import polynomial


class Comparison(NamedTuple):
    """Operation count of the papers and our count for the same task."""

    section: str
    """Section: settings of a group of comparisons."""
    what: str
    source: str
    """Source of the count in the papers."""
    papers: tuple[int, int]
    """Count [M, A] of the papers."""
    ours: tuple[int, int]
    """Our count [M, A]."""
    before: tuple[int, int] | None = None
    """Count [M, A] of the earlier work with which the papers compare."""
    before_source: str = ""

    @property
    def ratio(self) -> tuple[float, float]:
        """Ratio of our count to the count of the papers, for M and A."""
        return self.ours[0] / self.papers[0], self.ours[1] / self.papers[1]


class Claim(NamedTuple):
    """Saving or increase stated by the papers, computed from their counts and from our counts."""

    what: str
    source: str
    stated: str
    papers: float
    """Value from the counts of the papers: a percentage of M + A, or a number of joints."""
    ours: float
    """Value from our counts, in the same unit."""


def formula(source: str, column: int = 0, **sizes: int) -> Pair:
    """Return the total [M, A] of a table of the papers."""
    (table,) = (t for t in TABLES if t.source == source)
    *_, (M, A) = table.printed(column).values()
    return int(polynomial(M, **sizes)), int(polynomial(A, **sizes))


def _count(model: Model, algorithm: str = "articulated_body") -> Pair:
    return operation_count(model, algorithm).papers


def _difference(a: Pair, b: Pair, n: int = 1) -> Pair:
    """Return (a − b)/n, rounded up."""
    return -((b[0] - a[0]) // n), -((b[1] - a[1]) // n)


def _sum(lines: Mapping[str, Pair]) -> Pair:
    return sum(M for M, _ in lines.values()), sum(A for _, A in lines.values())


def compare_with_papers() -> Iterator[Comparison]:
    """Yield every count of the papers with our count."""
    yield from _chains()
    yield from _stars()
    yield from _closed_chains()
    yield from _appendix_b()
    yield from _hydrodynamics()
    yield from _systems()
    yield from _appendix_a()
    yield from _real_arms()


BRANDL, BALAFOUTIS, LILLY = "Brandl et al. 1986", "Balafoutis et al. 1988, 1989", "Lilly and Orin"


def _chains(N: int = 6) -> Iterator[Comparison]:
    section = f"Articulated bodies, general chain of {N} revolute joints"
    cases = (
        ("fixed base, dry", "fixed", False),
        ("mobile base, dry", "free", False),
        ("mobile base, with hydrodynamics", "free", True),
    )
    ours = {what: tuple(_count(serial_chain(n, base=base, wet=wet)) for n in (N, N + 1)) for what, base, wet in cases}
    fixed, _, wet = (ours[what][0] for what, *_ in cases)
    brandl = 250 * N - 222, 220 * N - 198
    for k, (what, *_) in enumerate(cases):
        before = () if k else (brandl, BRANDL)
        yield Comparison(section, what, "1995, Table II", formula("1995, Table II", k, N=N), ours[what][0], *before)
    yield Comparison(section, cases[0][0], "thesis, Table 30", formula("thesis, Table 30", N=N), fixed, brandl, BRANDL)
    yield Comparison(section, cases[2][0], "thesis, Table 19", formula("thesis, Table 19", N=N), wet)
    arm = _count(serial_chain(N, base="free", wet=True), "decoupled_arm")
    what = "mobile base, base acceleration prescribed"
    yield Comparison(section, what, "thesis, Table 19", formula("thesis, Table 19", 1, N=N), arm)
    section = "Articulated bodies, per added link"
    for k, (what, *_) in enumerate(cases):
        theirs = _difference(formula("1995, Table II", k, N=N + 1), formula("1995, Table II", k, N=N))
        before = () if k else ((250, 220), BRANDL)
        yield Comparison(section, what, "1995, Table II", theirs, _difference(ours[what][1], ours[what][0]), *before)


def _stars() -> Iterator[Comparison]:
    section, source = "Articulated bodies, vehicle with m chains of N revolute joints", "thesis, Table 16"
    for k, (where, wet) in enumerate((("on land", False), ("in water", True))):
        six = _count(principal_star(6, 3, wet=wet))
        for m, n, ours in ((6, 3, six), (1, 6, _count(principal_star(1, 6, wet=wet)))):
            yield Comparison(section, f"m = {m}, N = {n}, {where}", source, formula(source, k, m=m, N=n), ours)
        longer = _difference(_count(principal_star(6, 4, wet=wet)), six, 6)
        added = _difference(formula(source, k, m=6, N=4), formula(source, k, m=6, N=3), 6)
        yield Comparison(section, f"per added link, {where}", source, added, longer)
    what, source = "m = 6, N = 3, on land, by composite bodies", "thesis, Table 12"
    yield Comparison(section, what, source, formula(source, m=6, N=3), _count(principal_star(6, 3, wet=False), "star"))


def _closed_chains(m: int = 4, N: int = 6) -> Iterator[Comparison]:
    section, source = "Closed chains: arms on fixed bases that hold one load rigidly, dry", "thesis, Table 2"
    theirs, arms = formula(source, m=m, N=N), f"m = {m} arms of N = {N}"
    yield Comparison(section, arms, source, theirs, closed_chain_count(m, N), lilly(m, N), LILLY)
    found = closed_chain_lines(m, N)["H, J"]
    H_J = (25 * N**2 + 11 * N - 36) // 2, 8 * N**2 + 30 * N - 38
    before = (25 * N**2 + 49 * N - 74) // 2, 8 * N**2 + 40 * N - 48
    yield Comparison(section, "mass matrix and Jacobian of an arm", source, H_J, (found[0] // m, found[1] // m), before, LILLY)
    for k, what in enumerate(("I", "II, also singular")):
        source = f"thesis, Table {8 + k}"
        yield Comparison(section, f"two arms, load only, method {what}", source, formula(source), _sum(dual_arm_lines(k)))


def lilly(m: int, N: int) -> Pair:
    """Return [M, A] of Lilly and Orin's recursion for m arms of N joints on a load, by the formula in the thesis."""
    return 656 * m * N - 171 * m + 128, 546 * m * N - 208 * m + 101


def closed_chain_count(m: int, N: int, *, recursive: bool = False) -> Pair:
    """Return our [M, A] for m arms of N joints on a load, by the mass matrix or by the recursion for long arms."""
    model, load, holdings = arms_on_load(m, N)
    method = dynamics.long_arm_dynamics if recursive else dynamics.closed_chain_dynamics

    def closed(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return method(model, rigid_balance(model, q, v), tau, load, holdings).vdot

    return trace(closed, {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}).count().papers


def long_arms(m: int = 2) -> Iterator[tuple[int, Pair, Pair, Pair, Pair]]:
    """Yield N and [M, A] for m arms on a load: Lilly and Orin, the thesis, our mass-matrix method, our recursion."""
    for N in (6, 14, 22, 26):
        ours, recursive = closed_chain_count(m, N), closed_chain_count(m, N, recursive=True)
        yield N, lilly(m, N), formula("thesis, Table 2", m=m, N=N), ours, recursive


def _appendix_b(N: int = 6) -> Iterator[Comparison]:
    section = f"Dry chain of {N} revolute joints"
    chain = serial_chain(N, base="fixed", wet=False)
    source, before = "thesis, Table 26", (93 * N - 69, 81 * N - 66)
    found = _count(chain, "inverse_dynamics")
    yield Comparison(section, "inverse dynamics, fixed base", source, formula(source, N=N), found, before, BALAFOUTIS)
    theirs = 94 * N - 114, 81 * N - 105
    yield Comparison(section, "bias, fixed base", "thesis, App. B", theirs, _bias_count(chain, {}))
    (table,) = (t for t in TABLES if t.source == "thesis, Table 12")
    rows = list(table.printed(0).values())[:10]
    theirs = int(sum(polynomial(M, N=N) for M, _ in rows)), int(sum(polynomial(A, N=N) for _, A in rows))
    found = _bias_count(principal_star(1, N, wet=False), {0: np.zeros(6)})
    yield Comparison(section, "bias, mobile base", "thesis, Table 12", theirs, found)
    source, found = "thesis, Table 28", _count(chain, "composite_body")
    for before, author in (((420, 339), BALAFOUTIS), ((555, 470), LILLY)):
        yield Comparison(section, "mass matrix, fixed base", source, formula(source, N=N), found, before, author)


def _bias_count(model: Model, known: Mapping[int, np.ndarray]) -> Pair:
    def bias(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return dynamics.rigid_inverse_dynamics(model, dynamics.kinematics(model, q, v), np.zeros(model.nv), None, known)

    return trace(bias, {"q": (model.nq,), "v": (model.nv,)}).count().papers


def _hydrodynamics() -> Iterator[Comparison]:
    """Yield counts of the individual terms of β^H of a general body; the last two share products in our program."""
    section, body = "Velocity-dependent forces of one body in water", serial_chain(1, base="free").bodies[0]
    (rigid, *_), density = serial_chain(1, base="free").rigid, 1025.0
    assert rigid is not None and isinstance(body.hydro, Hydro)
    M_A, element = total_added_mass(body.hydro.added_mass, density), body.hydro.drag[0]
    displaced = density * body.hydro.volume
    water = displaced, displaced * np.array(body.hydro.buoyancy_center)

    def drag(V: np.ndarray, a_fg: np.ndarray) -> np.ndarray:
        return element.wrench(V, density)

    def acceleration(V: np.ndarray, a_fg: np.ndarray) -> np.ndarray:
        return fluid_acceleration_force(M_A, water, a_fg)

    def velocity(V: np.ndarray, a_fg: np.ndarray) -> np.ndarray:
        return dynamics.velocity_force(rigid.matrix + M_A, V)

    def together(V: np.ndarray, a_fg: np.ndarray) -> np.ndarray:
        return drag(V, a_fg) + acceleration(V, a_fg) + velocity(V, a_fg)

    rows = (
        ("drag of a cylinder", (46, 24), drag),
        ("M_A a_f and buoyancy", (24 + 9, 18 + 6), acceleration),
        ("rigid and added inertia, in V", (27 + 54, 15 + 42), velocity),
        ("all", (160, 125), together),
    )
    for what, theirs, function in rows:
        yield Comparison(section, what, "thesis, ch. 6", theirs, trace(function, {"V": (6,), "a_fg": (3,)}).count().papers)


def _systems() -> Iterator[Comparison]:
    """Yield counts for a symmetric 6×6 matrix: factorisation, substitution, solution, inverse."""

    def count(function: Callable[..., Any]) -> Pair:
        return trace(lambda A, b: function(symmetric(A, range(6)), b), {"A": (21,), "b": (6,)}).count().papers

    def factors(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        factor = ldl(A)
        return np.array([*(x for row in factor.lower for x in row), *factor.inverse_diagonal])

    both = count(lambda A, b: ldl(A).solve(b))
    rows = (
        ("factors L, 1/D", (50, 35), count(factors)),
        ("substitution", (36, 30), _difference(both, count(factors))),
        ("solution", (86, 65), both),
        ("inverse", (141, 90), count(lambda A, b: dynamics.inverse(A))),
    )
    for what, theirs, ours in rows:
        yield Comparison("Symmetric positive definite 6×6 systems", what, "thesis, ch. 2", theirs, ours)


def _appendix_a() -> Iterator[Comparison]:
    """Yield counts of transformations by modified Denavit-Hartenberg parameters, or by one screw about z."""
    section = "Transformations by Denavit-Hartenberg parameters, or about z alone"

    def count(function: Callable[..., Any], moving: str, axes: str = "xz", **shapes: tuple[int, ...]) -> Pair:
        def traced(cs: np.ndarray, d: np.ndarray, **arrays: np.ndarray) -> Any:
            turn = (cs[0], cs[1]) if moving == "θ" else (np.cos(0.4), np.sin(0.4))
            x, z = Screw(0, 0.3, np.cos(0.7), np.sin(0.7)), Screw(2, d if moving == "d" else 0.2, *turn)
            return function((x, z) if axes == "xz" else (z,), **arrays)

        return trace(traced, {"cs": (2,), "d": (), **shapes}).count().papers

    def rotated(steps: Sequence[Screw], x: np.ndarray) -> np.ndarray:
        for step in reversed(steps):
            x = step.rotate_symmetric_back(symmetric(np.ravel(x), range(3))[:3, :3] if x.ndim == 1 else x)
        return x

    def general(steps: Sequence[Screw], N: np.ndarray) -> np.ndarray:
        for step in reversed(steps):
            N = step.rotate_general_back(N)
        return N

    def congruence(steps: Sequence[Screw], x: np.ndarray, rows: Iterable[int] = range(6)) -> np.ndarray:
        return Path(steps).inertia_back(symmetric(x, rows))

    def vector(steps: Sequence[Screw], a: np.ndarray) -> np.ndarray:
        return Path(steps).rotate(a) if a.size == 3 else Path(steps).motion(a)

    revolute, prismatic = partial(congruence, rows=REVOLUTE), partial(congruence, rows=PRISMATIC)
    cases = (
        ("3-vector", "θ", (8, 4), count(vector, "θ", a=(3,))),
        ("6-vector", "θ", (20, 12), count(vector, "θ", a=(6,))),
        ("3-vector, about z", "θ", (4, 2), count(vector, "θ", "z", a=(3,))),
        ("6-vector, about z", "θ", (10, 6), count(vector, "θ", "z", a=(6,))),
        ("symmetric 3×3 matrix", "θ", (18, 17), count(rotated, "θ", x=(6,))),
        ("symmetric 3×3 matrix, about z", "θ", (10, 10), count(rotated, "θ", "z", x=(6,))),
        ("general 3×3 matrix", "θ", (26, 24), count(general, "θ", N=(3, 3))),
        ("general 3×3 matrix, about z", "θ", (14, 12), count(general, "θ", "z", N=(3, 3))),
        ("symmetric 6×6 matrix", "θ", (86, 89), count(congruence, "θ", x=(21,))),
        ("symmetric 6×6 matrix", "nothing", (84, 86), count(congruence, "", x=(21,))),
        ("symmetric 6×6 matrix, about z", "nothing", (42, 43), count(congruence, "", "z", x=(21,))),
        ("reflected articulated inertia", "θ", (70, 71), count(revolute, "θ", x=(15,))),
        ("reflected articulated inertia", "d", (70, 71), count(prismatic, "d", x=(15,))),
        ("rigid inertia", "θ", (32, 39), count(_rigid, "θ", x=(9,))),
        ("rigid inertia", "d", (32, 36), count(_rigid, "d", x=(9,))),
        ("rigid inertia, about z", "nothing", (15, 18), count(_rigid, "", "z", x=(9,))),
    )
    for what, moving, papers, ours in cases:
        yield Comparison(section, f"{what}, {moving} moves", "thesis, App. A", papers, ours)


def _rigid(steps: Sequence[Screw], x: np.ndarray) -> tuple[Any, ...]:
    """Return first and second moments of a rigid body of known mass in the parent frame, from moments x[:3] and x[3:]."""
    J = PseudoInertia(2.0, x[:3], symmetric(x[3:], range(3, 6))[3:, 3:])
    return moved_back(steps, J)[1:]


def _real_arms() -> Iterator[Comparison]:
    section = "Real mechanisms, compared with the papers' general chain with the same number of joints"
    for k, name in ((0, "puma560"), (2, "bluerov2_heavy_alpha5"), (2, "tiburon_titan2"), (2, "rexrov2_oberon7")):
        model, source = load(name), "1995, Table II"
        N = sum(body.joint.nv for body in model.bodies if not isinstance(body.joint, joints.Free))
        where = "with hydrodynamics" if k else "fixed base"
        yield Comparison(section, f"{name}, N = {N}", f"{source}, {where}", formula(source, k, N=N), _count(model))


def claims(found: Sequence[Comparison], lengths: Sequence[tuple[int, Pair, Pair, Pair, Pair]]) -> Iterator[Claim]:
    """Yield savings and increases stated by the papers, from `compare_with_papers` and `long_arms`."""

    def counts(what: str, source: str) -> tuple[int, int, int]:
        c = next(c for c in found if c.what == what and c.source == source)
        return sum(c.papers), sum(c.ours), sum(c.before or ())

    def saving(less: int, more: int) -> float:
        return 100.0 * (1.0 - less / more)

    def pair(what: str, source: str, stated: str, a: tuple[int, int, int], b: tuple[int, int, int]) -> Claim:
        more = stated.startswith("+")
        values = [(-1 if more else 1) * saving(a[k], b[k]) for k in range(2)]
        return Claim(what, source, stated, *values)

    II, XVI = "1995, Table II", "thesis, Table 16"
    fixed, mobile, wet = (
        counts(what, II) for what in ("fixed base, dry", "mobile base, dry", "mobile base, with hydrodynamics")
    )
    arms = counts("m = 4 arms of N = 6", "thesis, Table 2")
    land, water = counts("m = 6, N = 3, on land", XVI), counts("m = 6, N = 3, in water", XVI)
    one_land, one = counts("m = 1, N = 6, on land", XVI), counts("m = 1, N = 6, in water", XVI)
    full = counts("mobile base, with hydrodynamics", "thesis, Table 19")
    given = counts("mobile base, base acceleration prescribed", "thesis, Table 19")
    I, II_ = (counts(f"two arms, load only, method {n}", f"thesis, Table {k}") for n, k in (("I", 8), ("II, also singular", 9)))
    composite = counts("m = 6, N = 3, on land, by composite bodies", "thesis, Table 12")
    yield pair("fixed base: saving over Brandl et al.", "1995", "15 %", fixed, (fixed[2],) * 3)
    yield pair("hydrodynamics: increase over a mobile base on land", "1995", "+75 %", wet, mobile)
    yield pair("hydrodynamics: increase over a fixed base on land", "1995", "+115 %", wet, fixed)
    yield pair("arms on a load: saving over Lilly and Orin", "thesis, ch. 2", "50 %", arms, (arms[2],) * 3)
    N, before, thesis, ours, _ = zip(*lengths, strict=True)
    crossings = (_crossover(before, counts_, N) for counts_ in (thesis, ours))
    yield Claim("arms on a load: equal counts at N joints", "thesis, ch. 2", "N = 21", *crossings)
    yield pair("two arms: saving of Method II over Method I", "thesis, ch. 4", "30 %", II_, I)
    yield pair("star of 6 × 3: saving of composite over articulated bodies", "thesis, ch. 5", "somewhat", composite, land)
    yield pair("star of 6 × 3: increase due to hydrodynamics", "thesis, ch. 7", "+65 %", water, land)
    yield pair("star of 1 × 6: increase due to hydrodynamics", "thesis, ch. 7", "+70 %", one, one_land)
    yield pair("one chain: saving over the star algorithm", "thesis, ch. 7", "8 %", full, one)
    yield pair("decoupled: saving over full dynamics", "thesis, ch. 7", "15 %", given, full)
    yield pair("decoupled: saving over the star algorithm", "thesis, ch. 7", "25 %", given, one)


def _crossover(theirs: Sequence[Pair], ours: Sequence[Pair], lengths: Sequence[int]) -> float:
    """Return the number of joints at which both methods require equal operation counts."""
    return float(np.interp(1.0, [sum(a) / sum(b) for a, b in zip(ours, theirs, strict=True)], lengths))
