"""Linear systems of equations that a program solves by a call."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.spatial import pivoted_solve
from hydromechs.values import Array

from ._c_calls import CFunctions
from ._callee import Argument, Callee
from ._llvm_text import Module


@dataclass(frozen=True)
class Solve(Callee):
    """General system of linear equations A x = b."""

    n: int

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Matrix A, shape (n, n), and right-hand side b, shape (n,)."""
        return Argument("A", (self.n, self.n)), Argument("b", (self.n,))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Solution x, shape (n,)."""
        return (Argument("x", (self.n,)),)

    def __call__(self, A: ArrayLike, b: ArrayLike) -> tuple[Array]:
        """Return the solution, or NaN if the matrix is singular, as in machine code."""
        try:
            return (np.linalg.solve(np.reshape(A, (self.n, self.n)), np.ravel(b)),)
        except np.linalg.LinAlgError:
            return (np.full(self.n, np.nan),)

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_solve import solve_text

        return solve_text(name, self.n, module.lanes)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        n, real, f = self.n, functions.real, functions.suffix
        return [
            f"{real} M[{n}][{n + 1}];",
            f"for (int i = 0; i < {n}; ++i) {{",
            f"    for (int j = 0; j < {n}; ++j) M[i][j] = a0[i * {n} + j];",
            f"    M[i][{n}] = a1[i];",
            "}",
            f"for (int k = 0; k < {n}; ++k) {{",
            "    int p = k;",
            f"    for (int i = k + 1; i < {n}; ++i) if (fabs{f}(M[i][k]) > fabs{f}(M[p][k])) p = i;",
            f"    for (int j = k; j <= {n}; ++j) {{ const {real} y = M[k][j]; M[k][j] = M[p][j]; M[p][j] = y; }}",
            f"    for (int i = k + 1; i < {n}; ++i) {{",
            f"        const {real} factor = M[i][k] / M[k][k];",
            f"        for (int j = k + 1; j <= {n}; ++j) M[i][j] -= factor * M[k][j];",
            "    }",
            "}",
            f"for (int k = {n - 1}; k >= 0; --k) {{",
            f"    {real} rest = M[k][{n}];",
            f"    for (int j = k + 1; j < {n}; ++j) rest -= M[k][j] * r0[j];",
            "    r0[k] = rest / M[k][k];",
            "}",
        ]


@dataclass(frozen=True)
class SolveSemidefinite(Callee):
    """Symmetric positive semidefinite system A x = b with b in the range of A; see `hydromechs.spatial.pivoted_solve`."""

    n: int
    tolerance: float = 1e-12
    """Ratio of a pivot to the first pivot, below which a row counts as dependent on earlier rows [-]."""
    least: float = 0.0
    """Maximum pivot of a row that counts as zero."""

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Matrix A, shape (n, n), and right-hand side b, shape (n,)."""
        return Argument("A", (self.n, self.n)), Argument("b", (self.n,))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Solution x, shape (n,), rank, and ratio of the last pivot to the first."""
        return Argument("x", (self.n,)), Argument("rank", ()), Argument("pivot", ())

    def __call__(self, A: ArrayLike, b: ArrayLike) -> tuple[Array, ...]:
        """Return solution, rank, and ratio of the last pivot to the first."""
        x, rank, pivot = pivoted_solve(A, b, self.tolerance, self.least)
        return x, np.array(rank), np.array(pivot)

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_solve import semidefinite_text

        return semidefinite_text(name, self.n, module.lanes, self.tolerance, self.least)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        """Return the C statements of the elimination, with the largest remaining diagonal entry as the next pivot."""
        n, real = self.n, functions.real
        zero, tolerance, least = (functions.literal(x) for x in (0.0, self.tolerance, self.least))
        return [
            f"{real} M[{n}][{n + 1}], first = {zero}, last = {zero};",
            f"int order[{n}], rank = 0;",
            f"for (int i = 0; i < {n}; ++i) {{",
            f"    for (int j = 0; j < {n}; ++j) M[i][j] = a0[i * {n} + j];",
            f"    M[i][{n}] = a1[i];",
            "    order[i] = i;",
            "}",
            f"for (int k = 0; k < {n}; ++k) {{",
            "    int p = k;",
            f"    for (int i = k + 1; i < {n}; ++i) if (M[i][i] > M[p][p]) p = i;",
            f"    const {real} size = M[p][p];",
            "    if (k == 0) first = size;",
            f"    if (!(size > {tolerance} * first && size > {least})) break;",
            f"    for (int j = 0; j <= {n}; ++j) {{ const {real} y = M[k][j]; M[k][j] = M[p][j]; M[p][j] = y; }}",
            f"    for (int i = 0; i < {n}; ++i) {{ const {real} y = M[i][k]; M[i][k] = M[i][p]; M[i][p] = y; }}",
            "    { const int o = order[k]; order[k] = order[p]; order[p] = o; }",
            f"    for (int i = k + 1; i < {n}; ++i) {{",
            f"        const {real} factor = M[i][k] / M[k][k];",
            f"        for (int j = k; j <= {n}; ++j) M[i][j] -= factor * M[k][j];",
            "    }",
            "    rank = k + 1;",
            "    last = size;",
            "}",
            f"for (int i = 0; i < {n}; ++i) r0[i] = {zero};",
            "for (int k = rank - 1; k >= 0; --k) {",
            f"    {real} rest = M[k][{n}];",
            "    for (int j = k + 1; j < rank; ++j) rest -= M[k][j] * r0[order[j]];",
            "    r0[order[k]] = rest / M[k][k];",
            "}",
            f"r1[0] = ({real})rank;",
            "r2[0] = last / first;",
        ]
