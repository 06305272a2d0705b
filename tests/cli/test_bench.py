"""The benchmarks run and report what they should; what the times are is for people to read."""

import importlib
import json

import numpy as np
import pytest
from benchmarks.chain_speed import measure_chains
from benchmarks.goals import GOALS, with_targets

import hydromechs as hm
from hydromechs.bench import _dynamics as _bench
from hydromechs.library import random_tree

OURS = {
    "ours_one_lane",
    "ours_one_lane_moving",
    "ours_4_lanes",
    "ours_8_lanes",
    "ours_one_thread",
    "ours_threads",
    "ours_call",
    "ours_call_fresh",
    "ours_dry_one_lane",
    "ours_dry_lanes",
}


def test_quick_dynamics_as_json(run):
    pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install 'hydromechs[dev]'")
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'hydromechs[dev]'")
    status, out, err = run("bench", "dynamics", "--model", "bluerov2_heavy_alpha5", "--quick", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert {"machine", "versions", "model", "times", "compile", "missing", "rounds"} <= set(report)
    assert {"cpu", "cores", "system", "date", "load", "load_after", "native_lanes"} <= set(report["machine"])
    assert {"python", "hydromechs", "numpy", "casadi", "llvmlite", "pin", "mujoco"} <= set(report["versions"])
    peers = {"pinocchio_call", "pinocchio_call_fresh", "mujoco_call"}
    assert OURS | peers <= set(report["times"])
    for row in report["times"].values():
        assert {"what", "water", "threads", "batch", "minimum_ns", "median_ns", "ratio"} == set(row)
        assert 0 < row["minimum_ns"] <= row["median_ns"]
    assert report["times"]["ours_one_lane"]["ratio"] == 1.0
    report["chains"] = measure_chains(quick=True)
    assert [c["links"] for c in report["chains"]] == [2, 4]
    for kind in ("cold", "cached"):
        assert {"single_s", "batch_s", "import_compiler_s", "load_model_s"} == set(report["compile"][kind])
    assert report["missing"] == []
    # the peers have the same tree: rounding, multiplied by the condition of the mass matrix
    assert max(report["relative_difference_to_ours_dry"].values()) < 1e-9
    judged = with_targets(report, GOALS["dynamics"](report))["targets"]
    assert all({"what", "needed", "measured", "held"} == set(t) for t in judged)
    assert all(t["held"] is None for t in judged)  # a quick run judges nothing
    measured = with_targets({**report, "quick": False}, GOALS["dynamics"](report))["targets"]
    assert all(isinstance(t["held"], bool) for t in measured if t["measured"] is not None)


def test_dynamics_without_other_codes(run, study, monkeypatch):
    """Missing packages are reported, and their rows are omitted."""

    def absent(*arguments):
        raise ModuleNotFoundError("no such peer")

    monkeypatch.setattr(_bench, "PinocchioPeer", absent)
    monkeypatch.setattr(_bench, "FastMujoco", absent)
    seconds = dict.fromkeys(("single_s", "batch_s", "import_compiler_s", "load_model_s"), 0.1)
    monkeypatch.setattr(_bench, "_compile_times", lambda source, repeats: {"cold": seconds, "cached": seconds})
    status, out, err = run("bench", "dynamics", "--model", "puma560", "--quick")
    assert (status, err) == (0, "")
    assert "Pinocchio is not installed" in out
    assert "MuJoCo is not installed" in out
    status, out, err = study("goals", "dynamics", "--quick")
    assert (status, err) == (0, "")
    assert "one lane in water, faster than MuJoCo mj_forward dry" in out


def test_unknown_model(run):
    status, _, err = run("bench", "dynamics", "--model", "nosuch")
    assert status == 1
    assert "no library model" in err


def test_gpu_without_one(run, study):
    try:
        if importlib.import_module("cupy").cuda.is_available():
            pytest.skip("there is a GPU")
    except ImportError:
        pass
    for command, arguments in ((study, ("gpu",)), (run, ("bench", "worlds", "--target", "cuda"))):
        status, out, err = command(*arguments)
        assert (status, out) == (1, "")
        assert "hydromechs[cuda]" in err


def test_gpu_quick(study):
    cupy = pytest.importorskip("cupy", reason="needs a GPU and CuPy: pip install 'hydromechs[cuda]'")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU")
    status, out, err = study("gpu", "--quick", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert {(r["precision"], r["layout"]) for r in report["runs"]} == {
        (p, layout) for p in ("float32", "float64") for layout in ("row-major", "world-fastest")
    }
    single, double = report["kernels"]
    assert single["relative_difference_to_casadi"] < 0.1
    assert double["relative_difference_to_casadi"] < 1e-9


def test_random_states_are_valid():
    """Unit quaternions, joints within their limits, arrays of the right shapes, for all joint types."""
    for seed in range(5):
        model = random_tree(np.random.default_rng(seed))
        q, v, tau = _bench.random_states(model, 7)
        assert (q.shape, v.shape, tau.shape) == ((7, model.nq), (7, model.nv), (7, model.nv))
        q2 = np.stack([hm.integrate(model, x, np.zeros(model.nv), 1.0) for x in q])
        np.testing.assert_allclose(q2, q, atol=4e-16)  # integrating nothing keeps unit quaternions to a rounding
    model = hm.load("tiburon_titan2")
    q, _, _ = _bench.random_states(model, 100)
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        limits = getattr(body.joint, "limits", None)
        if limits is not None:
            assert (q[:, at] >= limits[0]).all()
            assert (q[:, at] <= limits[1]).all()


def test_simulation_bench_runs_and_reports(study):
    code, text, _ = study("goals", "simulation", "--quick")
    assert code == 0 and "station_keeping" in text and "real time" in text and "not judged in a quick run" in text


def test_worlds_bench_runs_and_reports(run, study):
    """Ours on one lane, lanes and threads, MuJoCo's rollout, memory and share of the peak."""
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'hydromechs[dev]'")
    code, text, _ = run("bench", "worlds", "--quick", "--model", "puma560")
    assert code == 0 and "one lane" in text and "MuJoCo's rollout" in text
    code, text, _ = study("goals", "worlds", "--quick")
    assert code == 0 and "over MuJoCo's rollout, dry" in text and "not judged in a quick run" in text


def test_contact_bench_runs_and_reports(run):
    """Boxes rest on each other in all engines."""
    code, text, _ = run("bench", "contact", "--quick", "--json")
    report = json.loads(text)
    assert code == 0 and [row["pairs"] for row in report["rows"]] == [1, 6]
    for row in report["rows"]:
        for engine in ("hydromechs", *({"mujoco", "dartpy"} - set(report["missing"]))):
            assert row[f"{engine}_us"] > 0.0 and -0.1 < row[f"{engine}_depth_mm"] < 2.0


def test_trees_bench_runs_and_reports(study):
    pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install 'hydromechs[dev]'")
    pytest.importorskip("mujoco", reason="needs MuJoCo: pip install 'hydromechs[dev]'")
    status, out, err = study("trees", "--quick", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert [c["links"] for c in report["chains"]] == [4, 8]
    for chain in report["chains"]:
        times = ("one_lane_ns", "lanes_ns", "dry_ns", "pinocchio_ns", "mujoco_ns", "compile_s")
        assert all(chain[key] > 0 for key in times)
    assert {t["form"] for t in report["forms"][0]["times"]} == {"specialised", "rolled", "branches"}
    assert all(row["time"].endswith(("ms", "]")) for row in report["papers"])
    # the same trees: rounding, multiplied by the condition of the mass matrix
    assert max(report["relative_difference_to_ours_dry"].values()) < 1e-9
    assert all(t["held"] is None for t in report["targets"])
