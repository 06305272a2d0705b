"""Worlds on a GPU: the kernels' text run by gcc in place of a GPU, registers by nvcc, and a GPU itself where there is one."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import compiler
from hydromechs.cli._main import app
from hydromechs.compiler import CudaRoutine, RoutineCode, _cuda, _cuda_march, _cuda_routine
from hydromechs.compiler._cuda_march import MIN_BLOCKS, cuda_march_text
from hydromechs.compiler._schedule import fused_sums
from hydromechs.integrators import method_named
from hydromechs.library import scenario_names
from hydromechs.sweeps import MissionCampaign, run_campaign
from hydromechs.worlds._mechanism import model_stepper

from .test_routine import mission, start
from .test_worlds import GROUND, MASS, SENSORS, STEP, Turn, difference, make_plant

CC = shutil.which("gcc")
SMALL = Path(__file__).parent / "small_mission.yaml"
GUSTY = Path(__file__).parents[1] / "sweeps" / "gusty.yaml"
on_host = pytest.mark.skipif(CC is None, reason="no gcc on this machine")

SHIM = """
#include <math.h>
#include <string.h>
#include <stdint.h>
#include <stdbool.h>
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(a, b)
#define __syncthreads()
static struct { long long x; } blockIdx, blockDim, threadIdx;
static inline int __float2int_rn(float x) { return isnan(x) ? 0 : (int)rintf(x); }
static inline int __double2int_rn(double x) { return isnan(x) ? 0 : (int)rint(x); }
static inline float __int_as_float(int32_t i) { float x; memcpy(&x, &i, 4); return x; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __longlong_as_double(int64_t i) { double x; memcpy(&x, &i, 8); return x; }
"""


class HostKernel:
    """A kernel compiled by gcc; a launch runs thread after thread."""

    num_regs = local_size_bytes = max_threads_per_block = max_dynamic_shared_size_bytes = 0

    def __init__(self, text, name, folder):
        memory = re.search(r"extern __shared__ (\w+) memory", text)
        rest = f"{memory[1]} memory[100000];\n" if memory else ""
        rest += "void set_thread(long long b, long long n, long long t) { blockIdx.x = b; blockDim.x = n; threadIdx.x = t; }\n"
        source = folder / f"kernel{len(list(folder.glob('*.c')))}.c"
        source.write_text(SHIM + text.replace('extern "C" ', "") + rest)
        flags = ["-std=gnu11", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-O0", "-fPIC", "-shared"]
        result = subprocess.run([CC, *flags, source, "-o", source.with_suffix(".so"), "-lm"], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        self.library = ctypes.CDLL(str(source.with_suffix(".so")))
        self.function = getattr(self.library, name)

    def __call__(self, grid, block, arguments, shared_mem=0):
        given = [
            ctypes.c_void_p(x.ctypes.data)
            if isinstance(x, np.ndarray)
            else {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong}[type(x)](x)
            for x in arguments
        ]
        for b in range(grid[0]):
            for t in range(block[0]):
                self.library.set_thread(*map(ctypes.c_longlong, (b, block[0], t)))
                self.function(*given)


class HostCupy:
    """As much of CuPy as the back end uses, with NumPy's arrays."""

    def __init__(self, folder):
        self.folder = folder
        info = SimpleNamespace(memGetInfo=lambda: (2**30, 2**30), getDeviceCount=lambda: 2)
        self.cuda = SimpleNamespace(runtime=info, Device=lambda k=0: _Here())

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def asnumpy(array):
        return np.array(array)

    def RawModule(self, code, options, backend):
        return SimpleNamespace(get_function=lambda name: HostKernel(code, name, self.folder))


class _Here:
    attributes = {"MultiProcessorCount": 1}  # so that 200 worlds need two launches

    def use(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


@pytest.fixture
def host_gpu(tmp_path, monkeypatch):
    """CuPy on this machine's CPU."""
    cupy = HostCupy(tmp_path)
    for module in (_cuda, _cuda_march, _cuda_routine):
        monkeypatch.setattr(module, "import_cupy", lambda: cupy)
    monkeypatch.setattr(_cuda.CudaKernel, "_launch", _launch)
    return cupy


def _launch(self, worlds, inputs, outs):
    """`CudaKernel._launch` without devices."""
    arguments = [np.int64(worlds)]
    for x, a in zip((*inputs, *outs), (*self.program.inputs, *self.program.outputs), strict=True):
        strides = [s // self._dtype.itemsize for s in x.strides]
        arguments += [x, *map(np.int64, [0, *strides] if x.ndim == len(a.shape) else strides)]
    self._kernel((-(-worlds // self.block),), (self.block,), tuple(arguments))


def routine_on(code, worlds):
    """States and samples of a routine with ticks, a nested repetition and steps off the grid."""
    routine, state = mission(), start(worlds)
    records = {k: np.zeros((worlds, 20, routine.state[k])) for k in routine.sampled}
    count = code(routine).run(state, {"h": np.array([[0.01]])}, 20, records)
    assert (count == 20).all()
    return state, records


def assert_routine_as_on_cpu(worlds):
    ours, theirs = (routine_on(code, worlds) for code in (lambda r: RoutineCode(r, 1, 1), CudaRoutine))
    for a, b in zip(ours, theirs, strict=True):
        for key, x in a.items():  # 4 ulp for each of 40 steps
            np.testing.assert_allclose(b[key], x, rtol=1e-13, atol=1e-13, err_msg=key)


@on_host
def test_routine(host_gpu):
    """A routine as one kernel, for worlds that do not fill a tile: the numbers of the sequencer."""
    assert_routine_as_on_cpu(200)


@on_host
def test_missions_of_a_scenario(host_gpu):
    """Sensors, filter, control, events and samples of a whole mission in one kernel: the samples of the CPU."""
    scenario = hm.load_scenario(SMALL)
    made = [hm.Worlds(scenario, 2, seed=[1, 7], lanes=1, target=target) for target in ("cpu", "cuda")]
    for missions in made:
        missions.run(0.3)
    assert made[0].times.shape == made[1].times.shape
    for check in scenario.checks:
        a, b = (m.samples(check.quantity) for m in made)
        assert difference(a, b) < 1e-9, check.quantity


@on_host
def test_a_campaign_and_its_replay(host_gpu, tmp_path, monkeypatch):
    """Statistics of the CPU; the replay has the bits of the GPU there, and agrees with it where there is none."""
    plans = [MissionCampaign(scenario=hm.load_scenario(GUSTY), worlds=3, source=str(GUSTY))]
    plans.append(replace(plans[0], target="cuda"))
    folders = [tmp_path / plan.target for plan in plans]
    ours, theirs = (run_campaign(plan, folder, device=1).dataset for plan, folder in zip(plans, folders, strict=True))
    for name in ("value", "final", "min", "max", "rms"):
        np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(ours.passed, theirs.passed)
    assert (ours.digest != theirs.digest).any()
    with pytest.raises(ValueError, match="device is 2"):
        run_campaign(plans[1], tmp_path / "d", device=2)
    words = ["run", str(folders[1]), "--world", "2", "--no-pictures", "--out"]
    there = CliRunner().invoke(app, [*words, str(tmp_path / "there")])
    assert "bit-identical" in there.output, there.output
    monkeypatch.setattr(_cuda, "import_cupy", _no_gpu)
    elsewhere = CliRunner().invoke(app, [*words, str(tmp_path / "elsewhere")])
    assert "no driver" in elsewhere.output and "differs" in elsewhere.output and "warning:" not in elsewhere.output
    with pytest.raises(ModuleNotFoundError, match="no driver"):
        run_campaign(plans[1], tmp_path / "e")


def _no_gpu():
    raise ModuleNotFoundError("no driver")


@on_host
@pytest.mark.parametrize("local", [0, 4096])
def test_worlds_without_blocks(host_gpu, monkeypatch, local):
    """A plant with the state in registers, and in memory: 1e-12 of the CPU, records and a world that freezes."""
    monkeypatch.setattr(HostKernel, "local_size_bytes", local)
    made = [hm.Worlds(make_plant(), 300, step=STEP, target=target) for target in ("cpu", "cuda")]
    for worlds in made:
        worlds.v[:, 0] = 0.3 + 1e-3 * (np.arange(300) % 7)  # equal worlds close their grasps once
    paths = [worlds.rollout(None, 6, record=3) for worlds in made]
    for worlds in made:
        worlds.step({"external.hull.Z": np.where(np.arange(5) < 2, 0.0, 1e200 * (np.arange(300) == 70)[:, None])}, 5)
    for name in ("q", "v", "internal"):
        assert difference(*(getattr(path, name) for path in paths)) < 1e-12, name
        assert difference(*(getattr(worlds, name) for worlds in made)) < 1e-12, name
    np.testing.assert_array_equal(np.flatnonzero(made[1].frozen), [70])


@on_host
def test_worlds_of_a_plant(host_gpu):
    """Contact with a grid, stops, a grasp, waves, gusts and a law: 1e-12 of the CPU; resets, records and stopped worlds alike."""
    made = [
        hm.Worlds(make_plant(), 3, step=STEP, controller=Turn(), parameters={MASS: [11.0, 11.5, 12.0]}, target=target, seed=2)
        for target in ("cpu", "cuda")
    ]
    paths = [worlds.rollout(None, 20, record=5) for worlds in made]
    for name in ("t", "q", "v", "internal", "command", "memory", "good"):
        assert difference(*(getattr(path, name) for path in paths)) < 1e-12, name
    for worlds in made:
        worlds.reset([1])
        worlds.step({"external.hull.Z": np.where(np.arange(8) < 3, 0.0, [[0.0], [0.0], [1e200]])}, 8)
    for name in ("t", "q", "v", "internal", "command", "frozen"):
        assert difference(*(np.asarray(getattr(worlds, name), dtype=float) for worlds in made)) < 1e-12, name
    np.testing.assert_array_equal(made[1].frozen, [False, False, True])
    assert len(made[1].report()) == 1


def readings_of(target, n):
    """Measurements of sensors with different rates in worlds of other seeds, one of which is reset on the way."""
    worlds = hm.Worlds(make_plant(), n, step=STEP, sensors=SENSORS, ground=[GROUND], seed=7, target=target)
    path = worlds.rollout(None, 20)
    worlds.reset([1])
    worlds.step(steps=9)
    return {name: np.concatenate([x.reshape(n, -1), worlds.readings[name]], axis=1) for name, x in path.readings.items()}


def assert_same_readings(ours, theirs, tolerance):
    for name, want in ours.items():
        np.testing.assert_array_equal(np.isnan(theirs[name]), np.isnan(want))
        assert np.isfinite(want).any() and difference(np.nan_to_num(theirs[name]), np.nan_to_num(want)) < tolerance, name


@on_host
def test_readings_of_sensors(host_gpu):
    """True values from the GPU, errors of the same seeds: the readings of worlds on the CPU."""
    assert_same_readings(*(readings_of(target, 3) for target in ("cpu", "cuda")), 1e-12)


@on_host
@pytest.mark.parametrize(("method", "precision"), [("rk4", "float64"), ("semi_implicit_euler", "float32")])
def test_worlds_of_a_model(host_gpu, method, precision):
    """Held inputs and inputs for every step, for all worlds or each; RK4 calls the dynamics, float32 differs by its rounding."""
    model = hm.load("bluerov2_heavy_alpha5")
    rng = np.random.default_rng(1)
    v, tau = 0.1 * rng.normal(size=(5, model.nv)), rng.normal(size=(5, 10, model.nv))
    ends = []
    for target in ("cpu", "cuda"):
        worlds = hm.Worlds(
            model,
            5,
            method=method,
            inputs=["fluid_velocity", "wrench"],
            target=target,
            precision=precision if target == "cuda" else "float64",
        )
        worlds.v[:] = v
        wrench = np.ones((model.nb, 6))
        path = worlds.rollout({"tau": tau, "fluid_velocity": (0.3, 0.1, 0.0), "wrench": wrench}, 10, record=5)
        worlds.step({"tau": tau[:1, :4]}, 4)
        ends.append(np.concatenate([path.q.reshape(5, -1), worlds.q, worlds.v], axis=1))
    assert difference(ends[1], ends[0]) < (1e-12 if precision == "float64" else 2e-4)


@on_host
def test_a_thousand_steps_on_the_host(host_gpu):
    """The text of the kernel in float64, 1,000 steps of a vehicle with an arm that drifts in a current: 1e-9 of the CPU."""
    model, ends = hm.load("bluerov2_heavy_alpha5"), []
    for target in ("cpu", "cuda"):
        worlds = hm.Worlds(model, 3, method="semi_implicit_euler", inputs=["fluid_velocity"], target=target)
        worlds.v[:] = 0.02 * np.random.default_rng(1).normal(size=(3, model.nv))
        worlds.step({"fluid_velocity": (0.3, 0.1, 0.0)}, 1000)
        ends.append(np.concatenate([worlds.q, worlds.v], axis=1))
    assert np.abs(ends[0][:, 0]).min() > 1e-3 and difference(ends[1], ends[0]) < 1e-9
    worlds = hm.Worlds(model, 1, method="rk4", target="cuda")
    worlds.step(np.full(model.nv, 0.01), 20)
    got = np.concatenate([worlds.q, worlds.v], axis=1)
    assert difference(got, by_casadi(worlds, np.full((1, model.nv), 0.01), 20)) < 1e-12


def test_fused_sums_are_the_sums():
    """Sums in another order give the same numbers to rounding, with no operation more, and chains where products come last."""
    program = compiler.trace(
        lambda x: np.array([x[0] * x[1] + x[2] * x[3] + (x[4] * x[5] - (x[0] - x[3] * x[2]))]), {"x": (6,)}
    )
    fused, x = fused_sums(program), np.random.default_rng(0).normal(size=6)
    np.testing.assert_allclose(fused(x)[0], program(x)[0], rtol=1e-14)
    assert fused.count().additions <= program.count().additions
    sums = [op for op in fused.operations if op.kind in ("add", "sub")]
    assert all("mul" in {fused.operations[k].kind for k in (op.a, op.b)} for op in sums)
    big = model_stepper(
        hm.compile(hm.load("bluerov2_heavy_alpha5")), method_named("semi_implicit_euler"), ("tau",)
    ).march.traced
    given = [np.full(a.shape, 0.3) + 0.1 * np.arange(a.size).reshape(a.shape) for a in big.inputs]
    for ours, theirs in zip(fused_sums(big)(*given), big(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
def test_nvcc_finds_no_spills_in_float32(tmp_path):
    """The whole semi-implicit step of a vehicle with an arm of 6 joints in water stays in registers, 6 blocks at a time."""
    program = model_stepper(hm.compile(hm.load("tiburon_titan2")), method_named("semi_implicit_euler"), ("tau",)).march.traced
    (tmp_path / "kernel.cu").write_text(cuda_march_text(program, 3, "float32", min_blocks=MIN_BLOCKS["float32"][0]))
    command = ["nvcc", "-arch=sm_90", "-Xptxas", "-v", "-c", "kernel.cu", "-o", "kernel.o"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in result.stderr


def test_too_many_worlds_for_the_gpu(host_gpu):
    with pytest.raises(MemoryError, match="worlds need .* GiB, but 1 GiB of the GPU are free; use at most"):
        hm.Worlds(hm.load("bluerov2_heavy_alpha5"), 2**24, target="cuda")


# -- on a GPU -----------------------------------------------------------------------------------------------------------------


def has_gpu():
    try:
        compiler.import_cupy()
    except ModuleNotFoundError:
        return False
    return True


on_gpu = pytest.mark.skipif(not has_gpu(), reason="no CuPy or no GPU")


def by_casadi(worlds, tau, steps):
    """The same steps by CasADi's virtual machine, world by world: configurations and velocities, shape (worlds, n)."""
    program, out = worlds.source.stepper.march.traced, []
    for k in range(len(worlds)):
        state = [0.0, worlds.start_q[k], worlds.start_v[k]]
        for _ in range(steps):
            state = program(*state, worlds.step_size, 0.0, tau[k])
        out.append(np.concatenate(state[1:]))
    return np.array(out)


@on_gpu
@pytest.mark.parametrize(("method", "n"), [("semi_implicit_euler", 4), ("rk4", 1)])
def test_a_thousand_steps_on_the_gpu(method, n):
    """Vehicle with an arm of 6 joints in water: 1,000 steps in float64 within 1e-9 of CasADi's."""
    model, rng = hm.load("tiburon_titan2"), np.random.default_rng(4)
    tau = 20.0 * rng.normal(size=(n, model.nv))
    start = hm.State(q=model.initial().q, v=0.05 * rng.normal(size=(n, model.nv)))
    worlds = hm.Worlds(model, n, method=method, target="cuda", start=start)
    worlds.step(tau, 1000)
    got = np.concatenate([worlds.target.get(x) for x in (worlds.q, worlds.v)], axis=1)
    assert not worlds.frozen.any() and difference(got, by_casadi(worlds, tau, 1000)) < 1e-9


@on_gpu
def test_readings_of_sensors_on_the_gpu():
    pytest.importorskip("llvmlite", reason="needs the CPU to compare with")
    assert_same_readings(*(readings_of(target, 70) for target in ("cpu", "cuda")), 1e-9)


@on_gpu
@pytest.mark.optimised
@pytest.mark.parametrize("name", scenario_names())
def test_missions_of_the_library_on_the_gpu(name):
    """1,000 steps, and past a first event before 6 s: states and signals within 1e-7 of the CPU's with the same seeds."""
    pytest.importorskip("llvmlite", reason="needs the CPU to compare with")
    scenario = hm.load_scenario(name)
    times = [e.level for e in scenario.events if e.quantity == "time" and e.level < 6.0]
    method = "rk4" if method_named(scenario.integrator).adaptive else scenario.integrator
    scenario = replace(scenario, checks=(), integrator=method)
    made = [hm.Worlds(scenario, 3, seed=5, target=target) for target in ("cpu", "cuda")]
    for missions in made:
        missions.run(min(scenario.duration, max(1000 * scenario.step, min(times, default=0.0) + 0.5)))
    ours, theirs = (m.target.state for m in made)
    assert not made[0].failed and not made[1].failed
    told, said = ([(m.world, m.text.partition(" (")[0]) for m in missions.messages] for missions in made)
    assert told == said
    for key in ("n", "part", "y", "signals"):
        np.testing.assert_array_equal(np.isnan(theirs[key]), np.isnan(ours[key]))
        assert difference(np.nan_to_num(theirs[key]), np.nan_to_num(ours[key])) < 1e-7, key


@on_gpu
def test_a_plant_on_the_gpu():
    """The plant of `test_worlds_of_a_plant`, on the GPU."""
    pytest.importorskip("llvmlite", reason="needs the CPU to compare with")
    made = [hm.Worlds(make_plant(), 70, step=STEP, controller=Turn(), target=target, seed=2) for target in ("cpu", "cuda")]
    paths = [worlds.rollout(None, 100, record=50) for worlds in made]
    for name in ("q", "v", "internal", "command", "memory"):
        ours, theirs = (worlds.target.get(getattr(path, name)) for worlds, path in zip(made, paths, strict=True))
        assert difference(theirs, ours) < 1e-9, name
    import cupy

    assert isinstance(made[1].q, cupy.ndarray) and cupy.from_dlpack(made[1].v).data.ptr == made[1].v.data.ptr
