"""`hydromechs run`, `plot` and `scenarios`, as a user meets them: good runs, killed runs, diverging runs, bad folders."""

import json
import os
import signal
import time

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.library import load_scenario, scenario_names
from hydromechs.scenario import run_scenario

KEYS = {
    "title", "description", "model", "duration", "wall_time", "compile_time", "real_time_factor", "late_steps", "stopped",
    "diverged", "checks", "audit", "residual", "residual_relative", "residual_before", "setup", "messages", "warnings",
}  # fmt: skip
"""Keys of summary.json that programs may read."""


def test_a_run_leaves_recording_report_state_and_summary(run, scenario, tmp_path):
    out = tmp_path / "out"
    code, text, _ = run("run", scenario(), "--out", out)
    assert code == 0
    assert "real-time factor" in text and "it sinks" in text and str(out / "report.html") in text
    ds = hm.load_recording(out)
    assert ds.time.values[-1] == pytest.approx(2.0) and ds.attrs["finished"] == 1
    assert "A ball sinks" in (out / "report.html").read_text()
    assert (out / "report.html").read_text().count("data-group=") >= 3
    summary = json.loads((out / "summary.json").read_text())
    assert summary["checks"][0]["passed"] and summary["residual_relative"] < 1e-6
    assert set(summary) == KEYS and set(summary["checks"][0]) == {
        "name",
        "passed",
        "value",
        "limit",
        "text",
        "quantity",
        "unit",
    }
    assert "sinking" in ds.attrs["scenario"]


def test_a_run_in_another_engine_can_be_resumed_to_the_last_bit(run, scenario, tmp_path):
    pytest.importorskip("mujoco", reason="the engine MuJoCo is an extra: pip install 'hydromechs[mujoco]'")
    code, text, _ = run("run", scenario(), "--engine", "mujoco", "--out", tmp_path / "theirs", "--no-pictures")
    assert code == 0
    assert "largest eigenvalue of M_RB⁻¹ M_A" in text
    for name, *more in (("first", "--duration", "1"), ("second", "--duration", "1", "--resume", tmp_path / "first")):
        assert run("run", scenario(), "--engine", "mujoco", "--out", tmp_path / name, "--no-pictures", *more)[0] == 0
    whole, second = (hm.load_recording(tmp_path / name) for name in ("theirs", "second"))
    np.testing.assert_array_equal(second.q[-1], whole.q[-1])
    assert whole.attrs["integrator"] == "mujoco with exact added mass"
    code, _, err = run("run", scenario(), "--engine", "newton", "--out", tmp_path / "no")
    assert code == 1 and "no engine is named 'newton'; available: mujoco, dart, bullet;" in err


def test_a_failed_check_is_said_and_gives_status_1(run, scenario, tmp_path):
    code, text, _ = run("run", scenario(above=1e6), "--out", tmp_path / "out", "--no-pictures")
    assert code == 1 and "FAILED" in text
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_run_may_be_shorter_than_its_timed_events(run, scenario, tmp_path):
    """Given on the command line, from the start or resumed, it reports what does not happen; a file's own duration must fit."""
    path = scenario()
    text = path.read_text() + "events: {bell: {quantity: time, level: 1.0}, gong: {quantity: time, level: 1.5}}\n"
    path.write_text(text)
    code, said, _ = run("run", path, "--duration", 0.5, "--out", tmp_path / "a", "--no-pictures")
    assert code == 0
    assert "the run ends at 0.5 s, so the events 'bell' (1 s), 'gong' (1.5 s) will not occur" in said
    code, said, _ = run("run", path, "--duration", 0.7, "--resume", tmp_path / "a", "--out", tmp_path / "b", "--no-pictures")
    assert code == 0 and ": bell (time crosses 1)" in said
    assert "the run ends at 1.2 s, so the event 'gong' (1.5 s) will not occur" in said
    code, said, _ = run("run", path, "--duration", 1, "--resume", tmp_path / "b", "--out", tmp_path / "c", "--no-pictures")
    assert code == 0 and "gong" in said and "bell" not in said and "the run ends" not in said
    code, _, err = run("run", path, "--duration", 0.01, "--out", tmp_path / "d")
    assert code == 1 and "record is 0.05 s, must not exceed the duration of 0.01 s" in err
    path.write_text(text.replace("duration: 2.0", "duration: 0.5"))
    code, _, err = run("run", path, "--out", tmp_path / "e")
    assert code == 1 and "event 'bell': time never crosses 1 s" in err


def test_a_folder_with_other_things_in_it_is_left_alone(run, scenario, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "report.html").write_text("precious")
    code, _, err = run("run", scenario(), "--out", mine, "--no-pictures")
    assert code == 1 and "mine" in err and (mine / "report.html").read_text() == "precious"


def test_a_state_of_another_scenario_is_rejected(run, scenario, tmp_path):
    run("run", scenario(), "--out", tmp_path / "a", "--no-pictures")
    state = tmp_path / "a" / "state.json"
    state.write_text(state.read_text().replace("float.x", "hull.x"))
    code, _, err = run("run", scenario(), "--out", tmp_path / "b", "--no-pictures", "--resume", state)
    assert code == 1 and "different scenario" in err


def test_a_seed_changes_the_gusts(run, scenario, tmp_path):
    ends = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("run", scenario(), "--out", tmp_path / name, "--no-pictures", "--seed", seed)
        ends.append(hm.load_recording(tmp_path / name).q.values[-1])
    assert np.array_equal(ends[0], ends[1]) and not np.array_equal(ends[0], ends[2])


def test_a_killed_run_keeps_what_it_had(scenario, tmp_path, start):
    out = tmp_path / "out"
    process = start("run", scenario(duration=1e6), "--out", out, "--no-pictures")
    try:
        deadline = time.monotonic() + 60
        header = out / "recording.zarr" / "time" / ".zarray"
        while time.monotonic() < deadline:
            if header.exists() and header.read_text().strip() and json.loads(header.read_text())["shape"][0] > 2000:
                break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    ds = hm.load_recording(out)
    assert ds.time.size > 2000 and ds.attrs["finished"] == 0
    assert np.isfinite(ds.q.values).all() and np.allclose(np.diff(ds.time.values), 0.05)


def test_a_sensor_that_never_measures_is_reported_at_the_start(run, scenario, tmp_path):
    """Once, before anything is simulated; the result of `run_scenario` has it, too."""
    path = scenario(duration=0.1)
    path.write_text(path.read_text() + "sensors: {doppler: {type: dvl, frame: float, rate: 20}}\n")
    code, text, _ = run("run", path, "--out", tmp_path / "out", "--no-pictures")
    assert code == 0 and text.count("'doppler'") == 1 and text.index("'doppler'") < text.index("simulated"), text
    assert any("'doppler'" in w for w in run_scenario(load_scenario(path), tmp_path / "again").warnings)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write into read-only folders")
def test_a_read_only_folder_is_a_clear_error(run, scenario, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    code, _, err = run("run", scenario(), "--out", locked / "out")
    assert code == 1 and "locked" in err


def test_a_file_in_the_way_is_a_clear_error(run, scenario, tmp_path):
    (tmp_path / "taken").write_text("a file")
    code, _, err = run("run", scenario(), "--out", tmp_path / "taken" / "out")
    assert code == 1 and "taken" in err


STIFF = """
hydromechs_scenario: 2
name: stiff
models:
  buoy: {model: buoy.yaml, position: [0, 0, 9], velocity: [0, 0, 1, 0, 0, 0]}
materials:
  steel: {law: {type: linear, stiffness: 1000000000, damping: 1000000}}
terrain:
  floor: {type: plane, point: [0, 0, 10], normal: [0, 0, -1], material: steel}
run: {step: 0.01, record: 0.01, duration: 5}
"""


def test_contact_too_stiff_for_the_step_is_rejected(run, tmp_path, buoy):
    (tmp_path / "buoy.yaml").write_text(buoy + "    shapes: {hull: {type: sphere, radius: 0.3}}\n")
    path = tmp_path / "stiff.yaml"
    path.write_text(STIFF)
    for command in (("run", path, "--out", tmp_path / "out", "--no-pictures"), ("check", path)):
        code, _, err = run(*command)
        assert code == 1 and "'float on floor'" in err and "soften it" in err and err.count("too stiff") == 1


@pytest.mark.usefixtures("undrawn")
def test_a_diverging_run_reports_when_where_and_what_to_do(run, scenario, tmp_path, buoy):
    path = scenario(above=-1.0)
    drag = "{type: damping, linear: [1.0e+6, 1.0e+6, 1.0e+6, 1, 1, 1]}"  # h c/m = 0.01 · 1e6/150 = 67, far beyond 2.8
    before = "{type: shape, shape: {type: sphere, radius: 0.29}, coefficient: 0.5}"
    assert before in buoy
    (tmp_path / "buoy.yaml").write_text(buoy.replace(before, drag))
    code, text, _ = run("run", path, "--out", tmp_path / "out")
    assert code == 1
    assert "not finite" in text and "'float'" in text and "linearly_implicit" in text
    (result,) = json.loads((tmp_path / "out" / "summary.json").read_text())["checks"]
    assert not result["passed"] and "diverged" in result["text"] and "above -1" in result["limit"]
    state = json.loads((tmp_path / "out" / "last_finite_state.json").read_text())
    assert np.isfinite(state["q"]).all() and 0 < state["t"] < 2
    ds = hm.load_recording(tmp_path / "out")
    assert ds.attrs["finished"] == 0 and np.isfinite(ds.q.values).all()
    assert text.count("linearly_implicit") == 1 and "energy residual" not in text
    report = (tmp_path / "out" / "report.html").read_text().partition("<script")[0]
    assert "Run diverged" in report and report.count("linearly_implicit") == 1
    assert "Residual of the energy audit" not in report and "accounted for" not in report and "audit closes" not in report


def test_real_time_takes_its_time_and_counts_late_steps(run, scenario, tmp_path):
    begin = time.monotonic()
    code, _, _ = run("run", scenario(duration=1.0), "--out", tmp_path / "out", "--no-pictures", "--real-time")
    assert code == 0 and time.monotonic() - begin >= 1.0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["late_steps"] >= 0


def test_plot_draws_all_or_one(run, scenario, tmp_path):
    run("run", scenario(), "--out", tmp_path / "out", "--no-pictures")
    code, _, _ = run("plot", tmp_path / "out", "position", "--select", "xyz=x,z", "--out", tmp_path / "p.png")
    assert code == 0 and (tmp_path / "p.png").stat().st_size > 5000
    code, _, err = run("plot", tmp_path / "out", "velocity", "--out", tmp_path / "p.png")
    assert code == 1 and "p.png exists" in err
    assert run("plot", tmp_path / "out", "velocity", "--out", tmp_path / "p.png", "--force")[0] == 0
    code, _, err = run("plot", tmp_path / "out", "temperature", "--out", tmp_path / "t.png")
    assert code == 1 and "temperature" in err and "position" in err
    code, _, err = run("plot", tmp_path / "nothing")
    assert code == 1 and "nothing" in err


def test_scenarios_are_listed_and_unknown_ones_named(run):
    code, text, _ = run("scenarios")
    assert code == 0 and all(name in text for name in scenario_names())
    code, _, err = run("run", "no_such_scenario")
    assert code == 1 and "no_such_scenario" in err and "station_keeping" in err


@pytest.mark.parametrize("name", ["station_keeping", "sinking_chain", "wave_zone"])
def test_shipped_scenarios_run(name, tmp_path):
    """Verify that each goes through its first seconds; `hydromechs run NAME` makes all of its checks."""
    sim = load_scenario(name).simulation()
    run = sim.run(1.0)
    assert run.stopped is None and np.isfinite(run.recording.q.values).all()
    turned_over = float(np.abs(run.recording.work.values[-1]).sum()) + float(np.ptp(run.recording.potential_energy.values))
    assert np.abs(run.recording.energy_residual).max() < 1e-6 * max(turned_over, 1.0)


def test_four_arms_lift_the_load(tmp_path):
    """Verify all checks of the scenario: lifted by 0.8 m, grasps together to a micrometre, energy booked."""
    scenario = load_scenario("four_puma_lift")
    recording = scenario.simulation().run(scenario.duration).recording
    assert [check.judge(recording) for check in scenario.checks if not check.judge(recording).passed] == []


def test_two_arms_pass_through_the_singularity():
    """Verify all checks of the scenario, and that the accelerations of the load do not jump at the singularity."""
    scenario = load_scenario("dual_arm_through_singularity")
    recording = scenario.simulation().run(scenario.duration).recording
    assert [check.judge(recording) for check in scenario.checks if not check.judge(recording).passed] == []
    stretched = int(np.argmin(np.abs(recording.q.sel(coordinate="arm1.link5").values)))
    speed = recording.velocity.sel(body="load.load").values[stretched - 10 : stretched + 10]
    # from sample to sample (0.01 s) the velocity changes by a h with |a| < 1 m/s² on this path; a jump would be seen
    assert np.abs(np.diff(speed, axis=0)).max() < 0.01
