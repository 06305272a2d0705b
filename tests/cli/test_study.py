"""The study of decoupled dynamics: its vehicles, its errors, its command."""

import json

import numpy as np
import pytest
from benchmarks import block_study, hybrid_study
from benchmarks import decoupled as _study
from benchmarks import file_study as _file_study
from benchmarks.block_study import MethodRunner

import hydromechs as hm


@pytest.fixture(scope="module")
def report():
    """A few runs."""
    return _study.measure_decoupled(_study.QUICK_DECOUPLED)


@pytest.mark.parametrize("ratio", [1.0, 10.0, 100.0])
def test_scaled_vehicles_float_level_and_have_the_mass_asked_for(ratio):
    model = _study.scaled_vehicle(ratio, with_arm=True)
    vehicle, *arm = (b.inertia.mass for b in model.bodies)
    assert vehicle / sum(arm) == pytest.approx(ratio)
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], _study.START])
    weight = 9.81 * (vehicle + sum(arm))
    # rounding of sums of the size of the weight
    np.testing.assert_allclose(hm.equations.restoring_force(model, q)[:6], 0.0, atol=1e-12 * weight)
    alone = hm.Model(bodies=_study.scaled_vehicle(ratio, with_arm=False).bodies[:1])
    np.testing.assert_allclose(hm.equations.restoring_force(alone, q[:7]), 0.0, atol=1e-12 * weight)


def test_ratio_of_the_library_model_gives_its_vehicle():
    ours, theirs = _study.scaled_vehicle(47.5, with_arm=True).bodies[0], hm.load("tiburon_titan2").bodies[0]
    assert ours.inertia.mass == pytest.approx(theirs.inertia.mass)
    np.testing.assert_allclose(ours.hydro.added_mass[0].matrix, theirs.hydro.added_mass[0].matrix, rtol=1e-12)


def test_errors_fall_with_mass_and_with_station_keeping(report):
    for part in ("arm", "vehicle"):
        for name in ("tool", "attitude"):
            errors = np.array(report[part][name])
            assert np.all(errors > 0)
            assert np.all(errors[:, 1] < 0.6 * errors[:, 0])  # 9.5 times the mass
    assert np.all(np.array(report["vehicle"]["tool"])[1] < 0.6 * np.array(report["vehicle"]["tool"])[0])
    np.testing.assert_allclose(report["arm"]["tool"][0], report["vehicle"]["tool"][0], rtol=1e-12)  # the same runs


def test_step_is_small_enough(report):
    """RK4 with twice the steps: no change in the third figure."""
    finer = _study.measure_decoupled(_study.QUICK_DECOUPLED._replace(ratios=(47.5,), steps=600))
    coarse = np.array(report["arm"]["tool"])[:, 1:]
    np.testing.assert_allclose(coarse, finer["arm"]["tool"], rtol=1e-3)


def test_picture_is_drawn(report, tmp_path):
    assert _study.plot_decoupled(report, tmp_path / "decoupled.png").stat().st_size > 10_000


def test_command(study, report, tmp_path, monkeypatch):
    monkeypatch.setattr(_study, "measure_decoupled", lambda cases: report)
    status, out, err = study("decoupled", "--quick", "--out", str(tmp_path / "x.png"))
    assert (status, err) == (0, "")
    assert "Vehicle floats freely: tool [mm]" in out and "47.5" in out
    assert (tmp_path / "x.png").exists()
    status, out, _ = study("decoupled", "--quick", "--json")
    assert json.loads(out)["ratios"] == [5.0, 47.5]


def made_up(monkeypatch):
    """Made-up errors and times in place of half a minute of measuring."""
    steps = np.array([50.0, 200.0, 800.0, 3200.0])
    rows = np.stack([steps, 1e3 * steps**-4.0, 1e-5 * steps], axis=1)
    names = ("Dormand-Prince 5", "Runge-Kutta 4", "B1PC5", "B2PC5, points on lanes", "B1PC5, arms on lanes")
    monkeypatch.setattr(block_study, "measure_blocks", lambda *a, **k: dict.fromkeys(names, rows))
    monkeypatch.setattr(block_study, "lane_ratio", lambda *a: 1.2)


def test_block_methods_are_printed_and_drawn(study, tmp_path, monkeypatch):
    made_up(monkeypatch)
    status, out, err = study("blocks", "--quick", "--picture", tmp_path / "blocks.png")
    assert (status, err) == (0, "")
    assert "The best serial method" in out and "1.20 times" in out
    assert (tmp_path / "blocks.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["rk4", "dormand_prince", "b1pc5", "b2pc5"])
def test_the_block_study_can_run_each_kind_of_method(name):
    """Verify that a few short steps of each end where those of one kind do."""
    model = hm.library.serial_chain(1, base="fixed", wet=False)
    ends = [MethodRunner(model, hm.integrators.method_named(m)).run(1e-3, 12) for m in (name, "rk4")]
    for got, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)  # fourth order: h^4 = 1e-12


@pytest.fixture(scope="module")
def hybrid_report():
    """The ball alone, in the first engine that is installed."""
    pytest.importorskip("mujoco", reason="the engine MuJoCo is an extra: pip install 'hydromechs[mujoco]'")
    few = hybrid_study.QUICK_HYBRID._replace(models=(), engines=("mujoco",))
    return hybrid_study.measure_hybrid(few)


def test_the_hybrid_study_finds_what_the_paper_says(hybrid_report):
    """Razzanelli et al. 2019, Lemma 2 and eq. 51, and the limits that follow from the eigenvalues."""
    assert all(row["relative"] < 1e-10 for row in hybrid_report["lemma_2"])
    for row in (*hybrid_report["eq_51"], *hybrid_report["limits"]):
        assert row["measured"] == pytest.approx(row["predicted"], rel=0.05)
    for row in hybrid_report["growth"]:
        np.testing.assert_allclose(row["measured"], row["predicted"], atol=1e-6)
    runs = {row["scheme"]: row for row in hybrid_report["long"]}
    assert runs["exact"]["finished"] and runs["iterated"]["finished"]
    assert runs["causal"]["until"] == pytest.approx(runs["causal"]["predicted"], abs=0.015)


def test_the_hybrid_study_is_printed_and_drawn(hybrid_report, study, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.hybrid_study.measure_hybrid", lambda cases: hybrid_report)
    status, out, err = study("hybrid", "--quick", "--out", tmp_path / "hybrid.png")
    assert (status, err) == (0, "")
    assert "Lemma 1" in out and "causal" in out
    assert (tmp_path / "hybrid.png").stat().st_size > 10_000


def test_changed_files_are_tried_in_processes_of_their_own(study, tmp_path):
    status, out, err = study("files", "--count", "4", "--seed", "3", "--processes", "1", "--out", tmp_path / "failed")
    assert (status, err) == (0, "")
    assert "4 changed files" in out and "refused when read" in out
    assert not (tmp_path / "failed").exists()


def test_a_file_that_fails_is_kept(monkeypatch, tmp_path):
    """With its traceback, and the study does not pass."""
    fault = _file_study.Outcome(7, "TypeError when built", "Traceback ...\nTypeError: what")
    monkeypatch.setattr(_file_study, "_outcomes", lambda *args: iter([fault, _file_study.Outcome(8, "simulated")]))
    result = _file_study.study_files(2, 1, tmp_path / "failed")
    assert not result.passed
    (file,) = result.failures
    assert file.read_bytes() == _file_study.mutant(1, 7)
    assert file.with_suffix(".txt").read_text().endswith("TypeError: what")


def test_the_navigation_study_is_printed_and_drawn(study, tmp_path):
    status, out, _ = study("navigation", "--quick", "--seeds", 2, "--out", tmp_path / "found")
    assert status == 0 and "accelerometer bias" in out and "2 s without DVL" in out and "95 % bounds" in out
    assert (tmp_path / "found" / "navigation.png").stat().st_size > 10_000
    report = json.loads((tmp_path / "found" / "navigation.json").read_text())
    assert report["seeds"] == 2 and [case["case"] for case in report["cases"]] == ["all sensors", "2 s without DVL"]
