"""The papers' operation counts, line by line, with ours beside.

The papers' way to count: [multiplications with divisions and square roots, additions with subtractions], sines and cosines
omitted. Their numbers are those of McMillan, Orin and McGhee 1995 and of McMillan 1994. Lines of a table are operations on the
way to some quantities; what several lines need counts in the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hydromechs import dynamics
from hydromechs.compiler import trace
from hydromechs.dynamics import PseudoInertia, moved_back
from hydromechs.equations import operation_count
from hydromechs.library import load, serial_chain, star
from hydromechs.model import Model, joints
from hydromechs.spatial import Path, Screw

from ._arms_on_load import arms_on_load, rigid_balance, symmetric

FORMULAS: dict[str, Callable[..., tuple[int, int]]] = {
    "fixed_base": lambda N: (224 * N - 259, 205 * N - 248),
    "mobile_base": lambda N: (224 * N - 30, 205 * N - 37),
    "hydrodynamics": lambda N: (377 * N + 130, 333 * N + 93),
    "land_star": lambda m, N: (224 * m * N + 59 * m + 99, 205 * m * N + 63 * m + 68),
    "underwater_star": lambda m, N: (377 * m * N + 83 * m + 256, 333 * m * N + 77 * m + 202),
    "inverse_dynamics": lambda N: (94 * N - 105, 82 * N - 92),
    "inertia_matrix": lambda N: (10 * N**2 + 9 * N - 25, 6 * N**2 + 34 * N - 50),
}
"""[M, A] of the papers for m chains of N links."""


class Comparison(NamedTuple):
    """One count of the papers and ours for the same task."""

    section: str
    """Settings of one comparison."""
    what: str
    source: str
    """Source of the papers' number."""
    papers: tuple[int, int]
    """[M, A] of the papers."""
    ours: tuple[int, int] | None
    """Our [M, A]; None where we do not have the algorithm yet."""

    @property
    def ratio(self) -> tuple[float, float] | None:
        """Ours over the papers', for M and A."""
        return None if self.ours is None else (self.ours[0] / self.papers[0], self.ours[1] / self.papers[1])


def _count(model: Model, algorithm: str = "articulated_body") -> tuple[int, int]:
    return operation_count(model, algorithm).papers


def _difference(a: tuple[int, int], b: tuple[int, int], n: int = 1) -> tuple[int, int]:
    """(a − b) / n, rounded up."""
    return -((b[0] - a[0]) // n), -((b[1] - a[1]) // n)


def compare_with_papers() -> Iterator[Comparison]:
    """Every count of the papers with ours beside it."""
    yield from _chains()
    yield from _stars()
    yield from _closed_chains()
    yield from _appendix_b()
    yield from _appendix_a()
    yield from _real_arms()


def _chains(N: int = 6) -> Iterator[Comparison]:
    section = f"Articulated bodies, general chain of {N} revolute joints"
    cases = (
        ("fixed base, dry", FORMULAS["fixed_base"], "fixed", False),
        ("mobile base, dry", FORMULAS["mobile_base"], "free", False),
        ("mobile base, with hydrodynamics", FORMULAS["hydrodynamics"], "free", True),
    )
    ours = {what: tuple(_count(serial_chain(n, base=base, wet=wet)) for n in (N, N + 1)) for what, _, base, wet in cases}
    for what, formula, _, _ in cases:
        yield Comparison(section, what, "1995, Table II", formula(N), ours[what][0])
    yield Comparison(section, cases[0][0], "thesis, Table 30", (224 * N - 254, 205 * N - 241), ours[cases[0][0]][0])
    yield Comparison(section, cases[2][0], "thesis, Table 19", (377 * N + 132, 333 * N + 95), ours[cases[2][0]][0])
    arm = _count(serial_chain(N, base="free", wet=True), "decoupled_arm")
    yield Comparison(
        section, "the same, acceleration of the base given", "thesis, Table 19", (377 * N - 265, 333 * N - 265), arm
    )
    section = "Articulated bodies, per added link"
    for what, formula, _, _ in cases:
        added = _difference(ours[what][1], ours[what][0])
        yield Comparison(section, what, "1995, Table II", _difference(formula(N + 1), formula(N)), added)


def _stars() -> Iterator[Comparison]:
    section = "Articulated bodies, vehicle with m chains of N revolute joints"
    for where, formula, wet in (("on land", FORMULAS["land_star"], False), ("in water", FORMULAS["underwater_star"], True)):
        six = _count(star(6, 3, wet=wet))
        for m, n, ours in ((6, 3, six), (1, 6, _count(star(1, 6, wet=wet)))):
            yield Comparison(section, f"m = {m}, N = {n}, {where}", "thesis, Table 16", formula(m, n), ours)
        longer = _difference(_count(star(6, 4, wet=wet)), six, 6)
        added = _difference(formula(6, 4), formula(6, 3), 6)
        yield Comparison(section, f"per added link, {where}", "thesis, Table 16", added, longer)
    what = "m = 6, N = 3, on land, by composite bodies"
    yield Comparison(section, what, "thesis, Table 12", (4440, 3944), _count(star(6, 3, wet=False), "star"))


def _closed_chains(m: int = 4, N: int = 6) -> Iterator[Comparison]:
    section = "Closed chains: arms on fixed bases that hold one load rigidly, dry"
    model, load, holdings = arms_on_load(m, N)

    def closed(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return dynamics.closed_chain_dynamics(model, rigid_balance(model, q, v), tau, load, holdings).vdot

    ours = trace(closed, {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}).count().papers
    papers = (N**3 // 6 + 20 * N**2 + (131 * 6 + 5) * N // 6 + 225, N**3 // 6 + 15 * N**2 + (137 * 6 + 5) * N // 6 + 142)
    total = (m * papers[0] + 99, m * papers[1] + 62)
    yield Comparison(section, f"m = {m} arms of N = {N}", "thesis, Table 2", total, ours)
    I_r = np.array([4.0, 4.0, 4.0, 0.1, 0.2, 0.3])
    for method, table, count in (
        (dynamics.dual_arm, "thesis, Table 8", (512, 416)),
        (dynamics.dual_arm_without_detection, "thesis, Table 9", (374, 284)),
    ):

        def two_arms(A: Any, B: Any, x: Any, y: Any, f: Any, method: Callable[..., Any] = method) -> Any:
            return method(symmetric(A, range(6)), symmetric(B, range(6)), x, y, I_r, f)

        ours = trace(two_arms, {"A": (21,), "B": (21,), "x": (6,), "y": (6,), "f": (6,)}).count().papers
        what = "two arms, load only, method " + ("I" if method is dynamics.dual_arm else "II, also singular")
        yield Comparison(section, what, table, count, ours)


def _appendix_b(N: int = 6) -> Iterator[Comparison]:
    section = f"Fixed-base dry chain of {N} revolute joints"
    chain = serial_chain(N, base="fixed", wet=False)
    yield Comparison(
        section, "inverse dynamics", "thesis, Table 26", FORMULAS["inverse_dynamics"](N), _count(chain, "inverse_dynamics")
    )
    yield Comparison(section, "mass matrix", "thesis, Table 28", FORMULAS["inertia_matrix"](N), _count(chain, "composite_body"))


def _appendix_a() -> Iterator[Comparison]:
    """Transformations by one set of MDH parameters with a moving θ, traced."""
    section = "Transformations by MDH parameters, revolute joint"

    def count(function: Callable[..., Any], **shapes: tuple[int, ...]) -> tuple[int, int]:
        def traced(cs: np.ndarray, **arrays: np.ndarray) -> Any:
            alpha, a, d = 0.7, 0.3, 0.2
            return function((Screw(0, a, np.cos(alpha), np.sin(alpha)), Screw(2, d, cs[0], cs[1])), **arrays)

        return trace(traced, {"cs": (2,), **shapes}).count().papers

    def rotated(steps: Sequence[Screw], x: np.ndarray) -> np.ndarray:
        return Path([Screw(s.axis, 0.0, s.cos, s.sin) for s in steps]).inertia_back(symmetric(x, range(3, 6)))

    def congruence(steps: Sequence[Screw], x: np.ndarray, rows: Iterable[int]) -> np.ndarray:
        return Path(steps).inertia_back(symmetric(x, rows))

    cases = (
        ("3-vector", (8, 4), count(lambda steps, a: Path(steps).rotate(a), a=(3,))),
        ("6-vector", (20, 12), count(lambda steps, a: Path(steps).motion(a), a=(6,))),
        ("symmetric 3×3 matrix", (18, 17), count(rotated, x=(6,))),
        ("symmetric 6×6 matrix", (86, 89), count(lambda steps, x: congruence(steps, x, range(6)), x=(21,))),
        ("reflected articulated inertia", (70, 71), count(lambda steps, x: congruence(steps, x, range(5)), x=(15,))),
        ("rigid inertia", (32, 39), count(lambda steps, x: _rigid(steps, x), x=(9,))),
    )
    for what, papers, ours in cases:
        yield Comparison(section, what, "thesis, App. A", papers, ours)


def _rigid(steps: Sequence[Screw], x: np.ndarray) -> tuple[Any, ...]:
    """First and second moments in the parent's frame of a rigid body of known mass with moments x[:3] and x[3:]."""
    J = PseudoInertia(2.0, x[:3], symmetric(x[3:], range(3, 6))[3:, 3:])
    return moved_back(steps, J)[1:]


def _real_arms() -> Iterator[Comparison]:
    section = "Real mechanisms, beside the papers' general chain with as many joints"
    for name, formula, table in (
        ("puma560", FORMULAS["fixed_base"], "fixed base"),
        ("bluerov2_heavy_alpha5", FORMULAS["hydrodynamics"], "with hydrodynamics"),
        ("tiburon_titan2", FORMULAS["hydrodynamics"], "with hydrodynamics"),
        ("rexrov2_oberon7", FORMULAS["hydrodynamics"], "with hydrodynamics"),
    ):
        model = load(name)
        N = sum(body.joint.nv for body in model.bodies if not isinstance(body.joint, joints.Free))
        yield Comparison(section, f"{name}, N = {N}", f"1995, Table II, {table}", formula(N), _count(model))
