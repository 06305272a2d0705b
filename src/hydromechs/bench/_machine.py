"""Shared parts of the benchmarks: description of the machine, package versions, random states."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs.model import Model

PACKAGES = (
    "hydromechs",
    "numpy",
    "casadi",
    "llvmlite",
    "pin",
    "mujoco",
    "mujoco-mjx",
    "jax",
    "dartpy",
    "pybullet",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "cupy",
)


def machine() -> dict[str, Any]:
    """Return a description of the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        cpu = names[0] if names else cpu
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": load,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of installed packages."""
    out = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    if "hydromechs" not in out:  # run from the source tree
        out["hydromechs"] = hm.__version__
    return out


def report(start: dict[str, Any], *, quick: bool, **found: Any) -> dict[str, Any]:
    """Return a report with the description of the machine at the start and the load at the end."""
    return {"quick": quick, "machine": {**start, "load_after": machine()["load"]}, "versions": versions(), **found}


def dry_model(model: Model) -> Model:
    """Return the same mechanism without water."""
    bodies = tuple(replace(body, hydro=None) for body in model.bodies)
    return Model(name=f"{model.name}_dry", world=model.world, bodies=bodies)


def timed(call: Callable[[], object], rounds: int) -> list[float]:
    """Return wall times of calls [s]."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def relative_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference divided by the largest value of `b`."""
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


def random_states(model: Model, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and τ of n random states within joint limits, shapes (n, nq), (n, nv) and (n, nv)."""
    rng = np.random.default_rng(seed)
    columns = [part.random_q(rng, n) for body in model.bodies for part in body.joint.parts]
    q = np.ascontiguousarray(np.concatenate(columns, axis=1)) if columns else np.zeros((n, 0))
    return q, rng.normal(size=(n, model.nv)), 10.0 * rng.normal(size=(n, model.nv))
