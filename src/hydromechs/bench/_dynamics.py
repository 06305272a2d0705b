"""Timing of forward dynamics on this machine: HydroMechs in water, other codes dry, and compile times.

All rows of a table are measured in each round, so that a temporary slowdown of the machine affects all of them. The results are
minimum and median over the rounds, and ratios of the minima. Several processes measure, because the memory layout of code,
stack and arrays differs between processes and influences the times.
"""

import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hydromechs as hm
from hydromechs import compiler, equations
from hydromechs.hybrid import MujocoTree, placement_pose
from hydromechs.model import Model, joints

from ._machine import dry_model, machine, random_states, relative_difference, report
from .peers import MujocoPeer, PinocchioPeer

PROCESSES = 4
"""Number of processes that measure all rows, one after another."""

# -- timing ---------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """Computation to be timed."""

    key: str
    """Key of the row in the report."""
    what: str
    water: bool
    """True if the computation includes the water."""
    run: Callable[[], object]
    """Function that performs `evaluations` evaluations."""
    evaluations: int
    """Number of evaluations per run; the batch size for batches."""
    threads: int = 1


def measure(rows: Sequence[Row], rounds: int, clock: Callable[[], float] = time.perf_counter) -> dict[str, dict[str, Any]]:
    """Return the minimum and median time per evaluation of each row [ns], over rounds that measure all rows in turn.

    `clock` returns a time [s]; use processor time for long single-threaded runs on a shared machine.
    """
    times: dict[str, list[float]] = {row.key: [] for row in rows}
    for row in rows:  # compile, touch the memory, start threads
        row.run()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for row in rows:
                begin = clock()
                row.run()
                times[row.key].append((clock() - begin) / row.evaluations)
    finally:
        if collecting:
            gc.enable()
    return {
        row.key: {
            "what": row.what,
            "water": row.water,
            "threads": row.threads,
            "batch": row.evaluations,
            "minimum_ns": 1e9 * min(times[row.key]),
            "median_ns": 1e9 * statistics.median(times[row.key]),
        }
        for row in rows
    }


# -- ours -----------------------------------------------------------------------------------------------------------------


def batch_row(
    key: str,
    what: str,
    model: Model,
    states: tuple[np.ndarray, ...],
    lanes: int,
    threads: int = 1,
    fluid: bool = False,
    form: equations.Form | None = None,
) -> Row:
    """Return a row for forward dynamics of a batch, with preallocated results and a compiled loop over worlds."""
    dyn = hm.Dynamics(model, lanes=lanes, threads=threads, form=form)
    q, v, tau, out = states
    n = len(q)
    water = {"fluid_velocity": (0.3, 0.2, -0.1), "fluid_acceleration": (0.1, -0.2, 0.1)} if fluid else {}
    return Row(key, what, model.wet, lambda: dyn.forward_dynamics(q, v, tau, out=out, **water), n, threads)


def with_room(model: Model, n: int) -> tuple[np.ndarray, ...]:
    """Return random states q, v, tau of a mechanism, and an array for results."""
    return *random_states(model, n), np.empty((n, model.nv))


def _call_rows(model: Model, n: int) -> list[Row]:
    """Return rows for forward dynamics called from Python, one state per call."""
    dyn = hm.Dynamics(model)
    states = _separate(*random_states(model, n))
    call = dyn.forward_dynamics
    return [
        Row("ours_call", "ours, one call from Python", model.wet, lambda: _each(call, states), n),
        Row("ours_call_fresh", "ours, one call from Python, new arrays", model.wet, lambda: _each_fresh(call, states), n),
    ]


def _separate(*arrays: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    return [tuple(x.copy() for x in state) for state in zip(*arrays, strict=True)]


def _each(call: Callable[..., object], states: list[tuple[np.ndarray, ...]]) -> None:
    for q, v, tau in states:
        call(q, v, tau)


def _each_fresh(call: Callable[..., object], states: list[tuple[np.ndarray, ...]]) -> None:
    for q, v, tau in states:
        call(q.copy(), v.copy(), tau.copy())


# -- others ---------------------------------------------------------------------------------------------------------------


def _pinocchio_rows(dry: Model, n: int, calls: int, threads: int) -> tuple[list[Row], float]:
    """Return rows for Pinocchio's `aba` called from Python and from a C++ loop, and the difference from our result."""
    peer = PinocchioPeer(dry)
    pin, model, data = peer.pin, peer.model, peer.data
    q, v, tau = random_states(dry, max(n, calls))
    ours = hm.Dynamics(dry).forward_dynamics(q[0], v[0], tau[0])
    difference = relative_difference(peer.forward_dynamics(q[0], v[0], tau[0]), ours)
    q, v, tau = (_scattered(x, at) for x, at in ((q, peer.q_of), (v, peer.v_of), (tau, peer.v_of)))
    states = _separate(q[:calls], v[:calls], tau[:calls])

    def aba(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return pin.aba(model, data, q, v, tau)

    def each() -> None:
        f = pin.aba
        for q, v, tau in states:
            f(model, data, q, v, tau)

    rows = [
        Row("pinocchio_call", "Pinocchio aba, one call from Python", False, each, calls),
        Row(
            "pinocchio_call_fresh",
            "Pinocchio aba, one call from Python, new arrays",
            False,
            lambda: _each_fresh(aba, states),
            calls,
        ),
    ]
    if hasattr(pin, "abaInParallel"):
        pool = pin.ModelPool(model, threads)
        columns = [np.asfortranarray(x[:n].T) for x in (q, v, tau)]
        out = np.zeros((dry.nv, n), order="F")
        for count in dict.fromkeys((1, threads)):
            rows.append(
                Row(
                    "pinocchio_loop" if count == 1 else "pinocchio_threads",
                    f"Pinocchio aba in its own C++ loop{_threads(count)}",
                    False,
                    partial(pin.abaInParallel, count, pool, *columns, out),
                    n,
                    count,
                )
            )
    return rows, difference


class _FastTree(MujocoTree):
    """MuJoCo model with the native free joint where it is equivalent."""

    def add(self, handle: Any, part: joints.Joint, R: np.ndarray, p: np.ndarray, name: str) -> None:
        on_world = handle.parent is None or handle.parent.name == "world"
        if isinstance(part, joints.Free) and on_world and np.array_equal(placement_pose(part), np.eye(4)):
            handle.add_joint(name=f"{name}/0", type=self.mujoco.mjtJoint.mjJNT_FREE)
            self.names.append((f"{name}/0", 7, 6))
        else:
            super().add(handle, part, R, p, name)


class FastMujoco(MujocoPeer):
    """MuJoCo peer without the stages that have no effect here."""

    tree_of = _FastTree
    OFF = "CONSTRAINT WARMSTART SENSOR ACTUATION SPRING DAMPER EULERDAMP ISLAND CLAMPCTRL AUTORESET MIDPHASE REFSAFE"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        flags = self.mujoco.mjtDisableBit
        for name in self.OFF.split():
            if hasattr(flags, f"mjDSBL_{name}"):
                self.model.opt.disableflags |= int(getattr(flags, f"mjDSBL_{name}"))


def _mujoco_rows(dry: Model, n: int, calls: int, threads: int) -> tuple[list[Row], float]:
    """Return rows for `mj_forward` of MuJoCo (from Python, compiled loop, batches), and the difference from our result."""
    peer = FastMujoco(dry)
    mujoco, model, data = peer.mujoco, peer.model, peer.data
    q, v, tau = random_states(dry, n)
    ours = hm.Dynamics(dry).forward_dynamics(q[0], v[0], tau[0])
    difference = relative_difference(peer.forward_dynamics(q[0], v[0], tau[0]), ours)  # leaves the state in `data`

    def each() -> None:
        f = mujoco.mj_forward
        for _ in range(calls):
            f(model, data)

    rows = [Row("mujoco_call", "MuJoCo mj_forward, one call from Python, state already set", False, each, calls)]
    loop = _mujoco_loop(peer)
    if loop is not None:
        what = "MuJoCo mj_forward in a compiled loop, state already set"
        rows.append(Row("mujoco_loop", what, False, lambda: loop(n), n))
    try:
        from mujoco.batch import Batch
    except ImportError:  # before MuJoCo 4
        return rows, difference
    fields = {"qpos": q, "qvel": v, "qfrc_applied": tau}
    for count in dict.fromkeys((1, threads)):
        batch = Batch(model, n, count)
        for name, values in fields.items():
            batch.bind(name)[:] = _scattered(values, peer.q_of if name == "qpos" else peer.v_of)
        batch.bind("qacc")
        key = "mujoco_batch" if count == 1 else "mujoco_threads"
        what = f"MuJoCo mj_forward in its own Batch{_threads(count)}"
        rows.append(Row(key, what, False, batch.forward, n, count))
    return rows, difference


def _mujoco_loop(peer: MujocoPeer) -> Callable[[int], None] | None:
    """Return a compiled loop that calls `mj_forward` n times on the peer's data; None if the library symbol is not found."""
    import llvmlite.binding as llvm

    folder = Path(str(peer.mujoco.__file__)).parent
    libraries = sorted(p for p in folder.iterdir() if p.name.startswith(("libmujoco", "mujoco.dll")))
    if not libraries or not hasattr(peer.model, "_address"):
        return None
    function = ctypes.cast(ctypes.CDLL(str(libraries[0])).mj_forward, ctypes.c_void_p).value
    addresses = peer.model._address, peer.data._address  # noqa: SLF001 (MuJoCo's way to give them)
    text = f"""
    define void @loop(i64 %n) {{
    entry:
      %f = inttoptr i64 {function} to ptr
      %m = inttoptr i64 {addresses[0]} to ptr
      %d = inttoptr i64 {addresses[1]} to ptr
      br label %body
    body:
      %i = phi i64 [0, %entry], [%next, %body]
      call void %f(ptr %m, ptr %d)
      %next = add i64 %i, 1
      %more = icmp slt i64 %next, %n
      br i1 %more, label %body, label %done
    done:
      ret void
    }}"""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    compiled = ctypes.CFUNCTYPE(None, ctypes.c_int64)(engine.get_function_address("loop"))

    def loop(n: int) -> None:
        _ = engine  # owns the code
        compiled(n)

    return loop


def _scattered(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return our coordinates in the order of a third-party code, shape (n, size)."""
    out = np.empty_like(values)
    out[:, indices] = values
    return out


def _threads(count: int) -> str:
    return "" if count == 1 else f", {count} threads"


# -- compile times --------------------------------------------------------------------------------------------------------

_COMPILE = """
import json, sys, time
begin = time.perf_counter()
import hydromechs as hm
model = hm.load(sys.argv[1], code="code" in sys.argv[2:])
loaded = time.perf_counter()
hm.Dynamics
imported = time.perf_counter()
dyn = hm.compile(model)
q, v = model.neutral()
dyn.forward_dynamics(q, v, v)
single = time.perf_counter()
dyn.forward_dynamics(q[None].repeat(2, 0), v[None].repeat(2, 0), v)
batch = time.perf_counter()
print(json.dumps({"load_model_s": loaded - begin, "import_compiler_s": imported - loaded,
                  "single_s": single - imported, "batch_s": batch - single}))
"""


def _compile_times(arguments: list[str], repeats: int) -> dict[str, dict[str, float]]:
    """Return the time to the first result of forward dynamics in a new process [s], with an empty and with a filled cache."""
    runs: dict[str, list[dict]] = {"cold": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="hydromechs-bench-") as folder:
            environment = {**os.environ, "HYDROMECHS_CACHE": folder}
            for kind in ("cold", "cached"):
                done = subprocess.run(
                    [sys.executable, "-c", _COMPILE, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
                )
                runs[kind].append(json.loads(done.stdout))
    return {kind: {key: min(run[key] for run in found) for key in found[0]} for kind, found in runs.items()}


# -- the whole report -----------------------------------------------------------------------------------------------------


_TIMES = """
import json, sys
import hydromechs as hm
from hydromechs.bench._dynamics import times_here
print(json.dumps(times_here(hm.load(sys.argv[1], code="code" in sys.argv[2:]))))
"""


def measure_dynamics(model: Model, source: str, *, quick: bool = False, code: bool = False) -> dict[str, Any]:
    """Return all measurements of `hydromechs bench dynamics` for a model, which measuring processes load from `source`.

    `quick` selects few repetitions in this process, as a test; `code` permits Python code named in the model file.
    """
    arguments = [source, *(["code"] if code else [])]
    start, lanes = machine(), compiler.native_lanes()
    runs = [times_here(model, quick=True)] if quick else [_times_there(arguments) for _ in range(PROCESSES)]
    times = _least([run["times"] for run in runs])
    base = times["ours_one_lane"]["minimum_ns"]
    for row in times.values():
        row["ratio"] = row["minimum_ns"] / base
    compiling = _compile_times(arguments, 1 if quick else 3)
    about = {
        "name": model.name,
        "bodies": model.nb,
        "degrees_of_freedom": model.nv,
        "operations": hm.equations.operation_count(model, "articulated_body").papers,
        "operations_dry": hm.equations.operation_count(dry_model(model), "articulated_body").papers,
    }
    return report(
        start | {"native_lanes": lanes},
        quick=quick,
        command="hydromechs bench dynamics",
        model=about,
        processes=len(runs),
        rounds=len(runs) * runs[0]["rounds"],
        times=times,
        compile=compiling,
        missing=runs[0]["missing"],
        relative_difference_to_ours_dry=runs[0]["differences"],
    )


def times_here(model: Model, *, quick: bool = False) -> dict[str, Any]:
    """Return the times of all rows, measured in this process."""
    rounds, n, n_threads, n_peer, calls = (2, 64, 512, 64, 16) if quick else (20, 16384, 262144, 2048, 512)
    threads, lanes = min(2, os.cpu_count() or 1), compiler.native_lanes()
    dry = dry_model(model)
    few, many, same_dry = with_room(model, n), with_room(model, n_threads), with_room(dry, n)
    rows = [
        batch_row("ours_one_lane", "ours, one lane, compiled loop", model, few, 1),
        batch_row("ours_one_lane_moving", "ours, one lane, moving and accelerating water", model, few, 1, fluid=True),
        batch_row("ours_4_lanes", "ours, 4 lanes", model, few, 4),
        batch_row("ours_8_lanes", "ours, 8 lanes", model, few, 8),
        batch_row("ours_one_thread", f"ours, {lanes} lanes, larger batch", model, many, lanes),
        batch_row("ours_threads", f"ours, {lanes} lanes, larger batch{_threads(threads)}", model, many, lanes, threads),
        *_call_rows(model, calls),
        batch_row("ours_dry_one_lane", "ours dry, one lane, compiled loop", dry, same_dry, 1),
        batch_row("ours_dry_lanes", f"ours dry, {lanes} lanes", dry, same_dry, lanes),
    ]
    missing, differences = [], {}
    for name, make in (("Pinocchio", _pinocchio_rows), ("MuJoCo", _mujoco_rows)):
        try:
            found, differences[name] = make(dry, n_peer, calls, threads)
        except ModuleNotFoundError:
            missing.append(name)
            continue
        rows += found
    return {"rounds": rounds, "times": measure(rows, rounds), "missing": missing, "differences": differences}


def _times_there(arguments: list[str]) -> dict[str, Any]:
    """Return the result of `times_here` in a new process."""
    done = subprocess.run([sys.executable, "-c", _TIMES, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _least(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return rows combined over processes: the smallest minimum and the median of the medians."""
    out = {}
    for key, row in runs[0].items():
        least = min(run[key]["minimum_ns"] for run in runs)
        out[key] = row | {"minimum_ns": least, "median_ns": statistics.median(run[key]["median_ns"] for run in runs)}
    return out
