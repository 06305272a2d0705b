"""Machine code against the float reference: one lane, lanes, threads, rolled and C, for every equation of many models."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hydromechs as hm
from hydromechs import library
from hydromechs.equations import FLOW, FUNCTIONS, export_source, shape_of
from hydromechs.model import Model

__all__ = ["Agreement", "BackendComparison", "compare_all_backends", "compare_backends"]

WORLDS = 9  # no multiple of 4 or 8
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared")
ROLLED = ("forward_dynamics", "inverse_dynamics", "kinematics", "mass_matrix")
"""Equations that loops over bodies compute."""
TOLERANCE = 1e-12
"""Largest relative difference that passes; accelerations may differ by rounding times the condition of M."""


class Agreement(NamedTuple):
    """Difference of one back end from the floats on one equation of one model."""

    backend: str
    """The back end."""
    equation: str
    """The equation."""
    relative: float
    """Largest difference over the largest value, or over 1 if that is smaller."""
    allowed: float
    """Largest difference that passes."""


def compare_backends(model: Model, rng: np.random.Generator) -> Iterator[Agreement]:
    """Every equation on 1, 4 and 8 lanes, on threads, rolled and in C, at random states near the initial one."""
    traced, rolled = hm.compile(model, lanes=1, form="specialised"), hm.compile(model, lanes=8, form="rolled")
    q0 = model.initial().q
    q = np.stack([hm.integrate(model, q0, rng.normal(size=model.nv), 0.5) for _ in range(WORLDS)])
    condition = max(float(np.linalg.cond(hm.mass_matrix(model, x))) for x in q) if model.nv else 1.0
    with tempfile.TemporaryDirectory() as folder:
        shared = _compile_c(model, Path(folder))
        for name, recipe in FUNCTIONS.items():
            shapes = {x: shape_of(x, model) for x in recipe.inputs}
            inputs = {x: q if x == "q" else rng.normal(size=(WORLDS, *shape)) for x, shape in shapes.items()}
            rows = [recipe.function(model, **{x: a[k] for x, a in inputs.items()}) for k in range(WORLDS)]
            rows = [r if isinstance(r, tuple) else (r,) for r in rows]
            reference = [np.stack([np.asarray(r[j]) for r in rows]) for j in range(len(rows[0]))]
            allowed = max(TOLERANCE, 20 * np.finfo(float).eps * condition) if "vdot" in recipe.outputs else TOLERANCE
            method = name.removesuffix("_in_flow")
            options = {x: inputs[x] for x in inputs if x in FLOW}
            arrays = [a for x, a in inputs.items() if x not in FLOW]
            for lanes, threads in ((1, 1), (4, 1), (8, 1), (8, 2)):
                backend = f"{lanes} lane{'s' * (lanes > 1)}" + f", {threads} threads" * (threads > 1)
                dyn = traced if lanes == 1 else traced.on(lanes=lanes, threads=threads)
                for made in dyn._made.values():  # noqa: SLF001 (no public way to set the share)
                    made.share = 1  # share even a few worlds between the threads
                result = getattr(dyn, method)(*arrays, **options)
                result = result if isinstance(result, tuple) else (result,)
                yield Agreement(backend, name, _relative(result, reference), allowed)
            if method in ROLLED:
                result = getattr(rolled, method)(*arrays, **options)
                yield Agreement(
                    "rolled", name, _relative(result if isinstance(result, tuple) else (result,), reference), allowed
                )
            if shared is not None:
                result = [np.empty_like(y) for y in reference]
                function = getattr(shared[0], f"{shared[1]}_{name}")
                for k in range(WORLDS):
                    row = [np.ascontiguousarray(a[k]) for a in inputs.values()]
                    out = [np.empty(y.shape[1:]) for y in reference]
                    function(*(ctypes.c_void_p(a.ctypes.data) for a in (*row, *out)))
                    for y, o in zip(result, out, strict=True):
                        y[k] = o
                yield Agreement("C", name, _relative(result, reference), allowed)


def _relative(results: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    return max(
        float(np.abs(x - y).max(initial=0) / max(1.0, np.abs(y).max(initial=0)))
        for x, y in zip(results, reference, strict=True)
    )


def _compile_c(model: Model, folder: Path) -> tuple[ctypes.CDLL, str] | None:
    """The exported C of all equations as a shared library, and the prefix of its functions; None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    _, source, _ = export_source(model, folder, tuple(FUNCTIONS))
    target = folder / "model.so"
    subprocess.run([compiler, *STRICT, str(source), "-lm", "-o", str(target)], check=True, capture_output=True)
    return ctypes.CDLL(str(target)), source.stem


class BackendComparison(NamedTuple):
    """Result of a comparison of the back ends on many models."""

    models: int
    """Number of library models."""
    trees: int
    """Number of random trees."""
    equations: int
    """Number of equations compared on each."""
    found: dict[str, list[Agreement]]
    """Agreements by back end; there is no "C" without a C compiler."""

    @property
    def passed(self) -> bool:
        """True if every difference is within its tolerance."""
        return all(a.relative <= a.allowed for agreements in self.found.values() for a in agreements)


def compare_all_backends(trees: int, seed: int, *, track: Callable[[list], Iterable] = iter) -> BackendComparison:
    """Compare machine code with floats on the models of the library and on random trees.

    Args:
        trees: How many random trees.
        seed: Seed of the trees.
        track: Goes through a list, for a progress bar.
    """
    found: dict[str, list[Agreement]] = {}
    generators = np.random.default_rng(seed).spawn(trees)
    models = [library.load(name) for name in library.names()]
    for k in track(list(range(len(models) + trees))):
        model = models[k] if k < len(models) else library.random_tree(generators[k - len(models)], max_bodies=4)
        for agreement in compare_backends(model, np.random.default_rng([seed, k])):
            found.setdefault(agreement.backend, []).append(agreement)
    return BackendComparison(len(models), trees, len(FUNCTIONS), found)
