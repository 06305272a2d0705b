"""Folders of runs: locks, numbers, what is replaced; states to resume from."""

import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.library import load_scenario
from hydromechs.recording import FolderInUse, RunFolder
from hydromechs.scenario import run_scenario


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def test_runs_without_out_are_kept_side_by_side(run, scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        code, _, _ = run("run", scenario(), "--no-pictures")
        assert code == 0
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == ["sinking", "sinking-2", "sinking-3"]
    code, text, _ = run("run", scenario(), "--no-pictures", "--force")
    assert code == 0 and "runs/sinking/recording.zarr" in text
    assert len(list((tmp_path / "runs").iterdir())) == 3


@pytest.mark.usefixtures("undrawn")
def test_an_earlier_run_is_replaced_only_with_force(run, scenario, tmp_path):
    out = tmp_path / "out"
    run("run", scenario(), "--out", out)
    before = (out / "summary.json").read_text()
    code, _, err = run("run", scenario(), "--out", out)
    assert code == 1 and "--force" in err and (out / "summary.json").read_text() == before
    (out / "plots").mkdir()
    (out / "plots" / "mine.txt").write_text("precious")
    (out / "notes.md").write_text("precious")
    code, _, _ = run("run", scenario(), "--out", out, "--force", "--no-pictures")
    assert code == 0 and (out / "summary.json").read_text() != before
    # nothing of the old run stays beside the new one, and nothing of the user's goes
    assert sorted(p.name for p in out.iterdir()) == ["notes.md", "plots", "recording.zarr", "state.json", "summary.json"]
    assert [p.name for p in (out / "plots").iterdir()] == ["mine.txt"]


def test_a_second_process_does_not_touch_the_folder_of_the_first(run, start, scenario, tmp_path):
    out = tmp_path / "out"
    first = start("run", scenario(duration=1e6), "--out", out, "--no-pictures")
    wait_for(lambda: (out / "recording.zarr" / ".zattrs").exists() or first.poll() is not None)
    for force in ((), ("--force",)):
        code, _, err = run("run", scenario(), "--out", out, "--no-pictures", *force)
        assert code == 1 and f"process {first.pid}" in err
    assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert (out / "run.lock").exists()  # what a killed run leaves does not lock
    code, _, _ = run("run", scenario(), "--out", out, "--no-pictures", "--force")
    assert code == 0 and not (out / "run.lock").exists()


def test_a_folder_is_claimed_once_and_not_left_behind_empty(tmp_path):
    with RunFolder(tmp_path / "a").claimed() as folder:
        with pytest.raises(FolderInUse, match=str(os.getpid())), RunFolder(tmp_path / "a").claimed():
            pass
        with RunFolder.numbered(tmp_path / "a") as other:
            assert other.path == tmp_path / "a-2"
        assert folder.path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_named_with_a_remedy(run, scenario, tmp_path):
    (tmp_path / "file").touch()
    code, _, error = run("run", scenario(), "--out", tmp_path / "file" / "out")
    assert code == 1 and str(tmp_path / "file" / "out") in error and "--out" in error


def test_without_locks_the_file_is_closed_before_it_is_removed(tmp_path, monkeypatch):
    """Verify the order that Windows needs, which has no fcntl and keeps files that are open."""
    monkeypatch.setattr("hydromechs.recording._folder.fcntl", None)
    opened, closed, close = [], [], os.close
    monkeypatch.setattr("hydromechs.recording._folder.os.close", lambda handle: (closed.append(handle), close(handle)))
    unlink = Path.unlink

    def remove(path, **options):
        opened.append(not closed)
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", remove)
    folder = RunFolder(tmp_path / "a")
    with folder.claimed(), pytest.raises(FolderInUse, match="in use by another run"), folder.claimed():
        pass
    assert opened == [False]
    assert not folder.path.exists()


def test_a_scenario_that_does_not_compile_leaves_the_earlier_run(run, scenario, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run("run", scenario(), "--out", out, "--no-pictures")
    before = (out / "summary.json").read_text()
    monkeypatch.setattr(hm.Simulation, "compile", lambda self: (_ for _ in ()).throw(ValueError("no compiler")))
    code, _, err = run("run", scenario(), "--out", out, "--force", "--no-pictures")
    assert code == 1 and "no compiler" in err and (out / "summary.json").read_text() == before


FAILING = """
import hydromechs as hm

class Fails(hm.Controller):
    def __init__(self, *, period):
        self.period = period

    def __call__(self, state):
        raise {error}("not today")
"""


@pytest.mark.parametrize("error", ["RuntimeError", "KeyboardInterrupt"])
def test_a_run_that_fails_before_its_first_sample_leaves_nothing(run, scenario, tmp_path, error):
    path, out = scenario(duration=0.1), tmp_path / "out"
    (tmp_path / "fails.py").write_text(FAILING.format(error=error))
    failing = tmp_path / "failing.yaml"
    failing.write_text(path.read_text() + "blocks: {fails: {type: 'fails.py:Fails', period: 0.05}}\n")
    code, _, err = run("run", failing, "--code", "--out", out, "--no-pictures")
    assert code != 0 and ("not today" in err or error == "KeyboardInterrupt") and not out.exists()
    assert run("run", path, "--out", out, "--no-pictures")[0] == 0
    assert run("run", failing, "--code", "--out", out, "--no-pictures", "--force")[0] != 0 and not out.exists()


# resuming


def test_a_run_resumes_from_the_state_of_another_to_the_last_bit(run, scenario, tmp_path):
    whole, first, second = (tmp_path / name for name in ("whole", "first", "second"))
    run("run", scenario(duration=4.0), "--out", whole, "--no-pictures")
    run("run", scenario(duration=2.0), "--out", first, "--no-pictures")
    code, _, _ = run("run", scenario(duration=2.0), "--out", second, "--no-pictures", "--resume", first / "state.json")
    assert code == 0 and (whole / "state.json").read_text() == (second / "state.json").read_text()
    code, text, err = run("compare", whole, second, "--tolerance", 0)
    assert (code, err) == (0, "") and "variables are bit-identical" in text
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (whole, first, second)]
    whole_work, *works = (summary["audit"] for summary in summaries)
    for cause, work in whole_work.items():  # a summary counts from the first sample of its own recording
        assert sum(each[cause] for each in works) == pytest.approx(work, abs=1e-9), cause


@pytest.mark.parametrize(
    "what, words",
    [("nothing", "does not exist"), ("empty", "not the folder of a run"), ("text.json", "text.json is no")],
)
def test_what_cannot_be_resumed_from_is_said_plainly(run, scenario, tmp_path, what, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text("[1, 2]")
    code, _, err = run("run", scenario(), "--out", tmp_path / "out", "--no-pictures", "--resume", tmp_path / what)
    assert code == 1 and str(tmp_path / what) in err and words in err and "Errno" not in err
    assert not (tmp_path / "out").exists()


def test_a_resumed_run_keeps_the_seed_of_the_first(run, scenario, tmp_path):
    """That of `--seed`, where it had one; another is rejected by name, and what else is another is said."""
    whole, first, second, third = (tmp_path / name for name in ("whole", "first", "second", "third"))
    run("run", scenario(duration=2.0), "--out", whole, "--no-pictures", "--seed", 9)
    run("run", scenario(duration=1.0), "--out", first, "--no-pictures", "--seed", 9)
    code, text, _ = run("run", scenario(duration=1.0), "--out", second, "--no-pictures", "--resume", first)
    assert code == 0 and (whole / "state.json").read_text() == (second / "state.json").read_text()
    assert "continuing from t = 1 s for 1 s, with seed 9 of the earlier run (the scenario has seed 3)" in text
    code, _, err = run("run", scenario(), "--out", third, "--no-pictures", "--resume", first, "--seed", 4)
    assert code == 1 and "seed 9, but this run has seed 4" in err and "omit --seed" in err and not third.exists()
    code, _, err = run("run", scenario(), "--out", third, "--no-pictures", "--resume", first, "--engine", "mujoco")
    assert code == 1 and "engine" in err and "--engine hydromechs" in err and not third.exists()
    path = scenario(duration=1.0)
    path.write_text(path.read_text().replace("step: 0.01", "step: 0.005"))
    code, text, _ = run("run", path, "--out", third, "--no-pictures", "--resume", first)
    assert code == 0 and "warning: step is now 0.005 s" in text and "0.01 s" in text and "parameters of the plant" not in text
    path, model = scenario(duration=1.0), tmp_path / "buoy.yaml"
    model.write_text(model.read_text().replace("mass: ", "mass: 1", 1))
    code, text, _ = run("run", path, "--out", tmp_path / "fourth", "--no-pictures", "--resume", first)
    assert code == 0 and "warning: the parameters of the plant" in text


def test_a_state_without_its_run_resumes_as_the_scenario_says(scenario, tmp_path):
    """A file of `save_state`, or of an earlier version."""
    made = load_scenario(scenario(duration=1.0))
    hm.save_state(run_scenario(made, tmp_path / "first").state, tmp_path / "state.json")
    assert run_scenario(made, tmp_path / "second", resume=tmp_path / "state.json").state.t == pytest.approx(2.0)


KILLED = """
import sys
from hydromechs.library import load_scenario
from hydromechs.scenario import run_scenario
run_scenario(load_scenario(sys.argv[1]), sys.argv[2], checkpoint=0.2)
"""


def test_a_killed_run_resumes_from_its_checkpoint_to_the_last_bit(start, scenario, tmp_path):
    """Verify that the checkpoint of a run with gusts and an event that acts is a state of the run without interruption."""
    path = scenario(duration=1e6)
    event = "events: {deep: {quantity: time, level: 0.73, wrench: {float: [0, 0, 5, 0, 0, 0]}}}\nexternal: [float]\n"
    path.write_text(path.read_text() + event)
    process = start(path, tmp_path / "killed", code=KILLED)
    state = tmp_path / "killed" / "state.json"
    wait_for(lambda: (state.exists() and json.loads(state.read_text())["t"] > 0.73) or process.poll() is not None)
    process.kill()
    _, error = process.communicate()
    assert state.exists(), error
    t = json.loads(state.read_text())["t"]
    path.write_text(path.read_text().replace("duration: 1000000.0", f"duration: {t + 1.0}"))
    whole = run_scenario(load_scenario(path), tmp_path / "whole")
    path.write_text(path.read_text().replace(f"duration: {t + 1.0}", "duration: 1.0"))
    rest = run_scenario(load_scenario(path), tmp_path / "rest", resume=tmp_path / "killed")
    assert whole.state.t == pytest.approx(rest.state.t, abs=1e-9)
    assert np.array_equal(whole.state.q, rest.state.q) and np.array_equal(whole.state.v, rest.state.v)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl_c", "sigterm"])
def test_an_interrupted_run_saves_its_state_and_reports_how_to_continue(start, scenario, tmp_path, number):
    out = tmp_path / "out"
    process = start("run", scenario(duration=1e6), "--out", out, "--no-pictures")
    header = out / "recording.zarr" / "time" / ".zarray"
    wait_for(lambda: header.exists() and '"shape": [0' not in header.read_text())
    process.send_signal(number)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    remaining = float(re.search(rf"--resume {out} --duration (\S+)", text)[1])
    t = json.loads((out / "state.json").read_text())["t"]
    assert t + remaining == pytest.approx(1e6, abs=1e-6)
    ds = hm.load_recording(out)
    assert t == ds.time.values[-1] and ds.attrs["finished"] == 0  # nothing is lost, nothing is recorded twice
    assert not (out / "run.lock").exists()


def test_run_scenario_prints_nothing_and_returns_what_it_made(scenario, tmp_path, capsys):
    phases = []
    result = run_scenario(
        load_scenario(scenario()),
        tmp_path / "out",
        progress=lambda p, t: phases.append(p),
    )
    assert capsys.readouterr() == ("", "")
    assert result.passed and phases[0] == "compiling" and set(phases) <= {"compiling", "simulating"}
    assert result.recording.time.values[-1] == pytest.approx(2.0) and result.state.t == pytest.approx(2.0)
    assert "out" in repr(result) and "1 of 1 checks passed" in repr(result)
    assert json.loads(result.folder.summary.read_text()) == json.loads(json.dumps(result.summary.to_dict()))


@pytest.mark.usefixtures("undrawn")
def test_the_energy_residual_of_a_resumed_run_reports_which_part_it_is_of(run, scenario, tmp_path):
    """A check of `energy_residual` counts from the first start, the summary from where the run was resumed; it names both."""
    path = scenario(duration=1.0)
    path.write_text(
        path.read_text().replace("checks:\n", "checks:\n  audit: {quantity: energy_residual, statistic: last, below: 1}\n")
    )
    code, text, _ = run("run", path, "--out", tmp_path / "first", "--no-pictures")
    assert code == 0 and "since the resume" not in text
    code, text, _ = run("run", path, "--resume", tmp_path / "first", "--out", tmp_path / "second")
    assert code == 0
    summary, ds = json.loads((tmp_path / "second" / "summary.json").read_text()), hm.load_recording(tmp_path / "second")
    left = ds.energy_residual.values
    assert summary["residual_before"] == left[0] != 0.0 and summary["residual"] == np.abs(left - left[0]).max()
    line = next(line for line in text.splitlines() if "energy residual" in line)
    assert f"{summary['residual']:.3g} J since the resume" in line and f"{left[0]:.3g} J before" in line
    assert "before it" in (tmp_path / "second" / "report.html").read_text()
    assert json.loads((tmp_path / "first" / "summary.json").read_text())["residual_before"] is None
