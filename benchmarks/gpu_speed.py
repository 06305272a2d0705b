"""Times of forward dynamics in water on a GPU: float32 and float64, batch sizes, layouts, share of the machine's peak."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs.bench._machine import machine, random_states, report
from hydromechs.bench._worlds import event_times, gpu_device
from hydromechs.compiler import CudaKernel, trace
from hydromechs.model import Model

from .goals import target, with_targets

__all__ = ["measure_gpu"]

LAUNCHES = 20
"""Launches that are timed together, as one CUDA graph: what is measured is the GPU, not Python's overhead."""

LAYOUTS = ("row-major", "world-fastest")
"""Arrays of shape (B, n): in C order, and in Fortran order."""


def measure_gpu(model: Model, *, quick: bool = False) -> dict[str, Any]:
    """All measurements of `python -m benchmarks gpu`; if quick, with small batches and few repeats, to see that it runs."""
    # else the compile times may be those of files found on disk
    os.environ["CUPY_CACHE_IN_MEMORY"] = os.environ["CUDA_CACHE_DISABLE"] = "1"
    CudaKernel(trace(lambda x: x + 1.0, {"x": (1,)}, name="nothing"), "float32")  # loads CuPy and starts CUDA
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    program = trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau), shapes, name="forward_dynamics", outputs=("vdot",))
    start = machine()
    kernels = {}
    for precision in ("float32", "float64"):
        begin = time.perf_counter()
        kernel = CudaKernel(program, precision)
        kernels[precision] = kernel, time.perf_counter() - begin

    import cupy

    device = gpu_device(cupy)
    count = program.count()
    operations = sum(count.papers) + count.sines_cosines
    numbers = sum(a.size for a in (*program.inputs, *program.outputs))
    runs, codes = [], []
    for precision, (kernel, seconds) in kernels.items():
        attributes = kernel.attributes()
        codes.append(
            {
                "precision": precision,
                "compile_s": seconds,
                "registers": attributes.registers,
                "local_bytes": attributes.local_bytes,
                "relative_difference_to_casadi": _difference(cupy, kernel, model),
            }
        )
        for exponent in (12,) if quick else (18, 20, 22):
            for layout in LAYOUTS:
                milliseconds = _time(cupy, kernel, model, 2**exponent, layout, 2 if quick else 10)
                rate = 2**exponent / (1e-3 * min(milliseconds))
                bandwidth = rate * numbers * np.dtype(precision).itemsize
                peak, memory = device[f"peak_{precision}"], device["memory_bytes_per_s"]
                runs.append(
                    {
                        "precision": precision,
                        "batch": 2**exponent,
                        "layout": layout,
                        "minimum_ms": min(milliseconds),
                        "median_ms": statistics.median(milliseconds),
                        "per_second": rate,
                        "fraction_of_peak": None if peak is None else rate * operations / peak,
                        "bytes_per_s": bandwidth,
                        "fraction_of_bandwidth": None if not memory else bandwidth / memory,
                    }
                )
    found = report(
        start,
        quick=quick,
        command="python -m benchmarks gpu",
        device=device,
        model={"name": model.name, "degrees_of_freedom": model.nv, "operations": operations, "numbers": numbers},
        kernels=codes,
        runs=runs,
    )
    return with_targets(found, _targets(codes, runs))


def _arrays(cupy: Any, kernel: CudaKernel, model: Model, n: int, layout: str) -> list[Any]:
    """Random states on the GPU, shape (n, size) each, in a layout."""
    order = "F" if layout == "world-fastest" else "C"
    distinct = min(n, 4096)
    states = random_states(model, distinct)
    on_gpu = [cupy.asarray(x, dtype=kernel.precision) for x in states]
    return [cupy.asarray(cupy.tile(x, (n // distinct, 1)), order=order) for x in on_gpu]


def _time(cupy: Any, kernel: CudaKernel, model: Model, n: int, layout: str, repeats: int) -> list[float]:
    """Milliseconds of one launch on resident arrays, by CUDA events around a graph of launches."""
    arrays = _arrays(cupy, kernel, model, n, layout)
    out = cupy.empty((n, model.nv), dtype=kernel.precision, order="F" if layout == "world-fastest" else "C")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        kernel(*arrays, out=out)
        stream.synchronize()
        stream.begin_capture()
        for _ in range(LAUNCHES):
            kernel(*arrays, out=out)
        graph = stream.end_capture()
        graph.launch(stream)  # warms up
        stream.synchronize()
        return [ms / LAUNCHES for ms in event_times(cupy, lambda: graph.launch(stream), repeats)]


def _difference(cupy: Any, kernel: CudaKernel, model: Model, n: int = 256) -> float:
    """Largest difference of the GPU from CasADi's float64 over the state's largest acceleration, of n states, both layouts."""
    expected = np.stack([kernel.program(*state)[0] for state in zip(*random_states(model, n), strict=True)])
    found = np.stack([cupy.asnumpy(kernel(*_arrays(cupy, kernel, model, n, layout))).astype(float) for layout in LAYOUTS])
    return float((np.abs(found - expected) / np.abs(expected).max(axis=1, keepdims=True)).max())


def _targets(codes: list[dict[str, Any]], runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The goals of the project for an H200, and whether they were met."""
    out = []
    for precision, needed in (("float32", 5e9), ("float64", 1e9)):
        best = max(r["per_second"] for r in runs if r["precision"] == precision)
        out.append(target(f"{precision}: evaluations per second", f"≥ {needed:g}", best))
    single = next(c for c in codes if c["precision"] == "float32")
    out.append(target("float32: local memory per thread (spills) [bytes]", "= 0", single["local_bytes"]))
    return out + [target(f"{code['precision']}: compile time [s]", "< 5", code["compile_s"]) for code in codes]
