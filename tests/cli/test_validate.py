"""The command validate, from logs to the report, with a small vehicle whose recordings are made here."""

import json
import operator
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from hydromechs.identification import validation
from hydromechs.identification.validation._validate import _fold, in_processes

STUDY = Path(__file__).parents[2] / "examples" / "hinsdale_2023.yaml"

MODEL = """
hydromechs_model: 2
name: float_with_arm
bodies:
  hull:
    joint: free
    inertia: {mass: 10.0, com: [0, 0, 0.02], tensor: [0.3, 0.3, 0.3, 0, 0, 0]}
    hydro: {volume: 0.0108, buoyancy_center: [0, 0, -0.03], drag: [{type: damping, linear: [5, 5, 5, 1, 1, 1]}]}
  arm:
    parent: hull
    joint: {type: revolute, axis: [0, 0, 1], placement: {xyz: [0, 0, 0.1]}}
    inertia: {mass: 1.0, com: [0.1, 0, 0], tensor: [0.01, 0.01, 0.01, 0, 0, 0]}
    hydro: {volume: 0.0002, drag: [{type: damping, quadratic: [0, 1, 1, 0, 0, 0]}]}
"""
SMALL = """
hydromechs_validation: 2
name: small
model: %s
trials: {names: "t*", find: imu, begins: {file: "begins_{number}.yml", key: start}}
logs:
  imu: {file: "{trial}_imu.csv", time: t}
  joints: {file: "{trial}_joints.csv", time: t}
joints: {arm: {log: joints, column: arm}}
instruments:
  imu:
    log: imu
    body: hull
    channels: {roll: {deviation_deg: 0.1, offset_deg: 0.1}, pitch: {deviation_deg: 0.1, offset_deg: 0.1}, z: {deviation: 0.005}}
unknowns:
  - {type: number, name: hull.inertia.com, index: [0], value: 0.0, deviation: 0.01}
  - {type: number, name: hull.inertia.com, index: [1], value: 0.0, deviation: 0.01}
start: {position: 0.05, attitude: 0.05, velocity: 0.03, rates: 0.05}
window: 1.0
step: 0.1
judged: [imu.roll, imu.pitch, imu.z]
baseline: [imu.roll, imu.pitch]
variants:
  the place of the weight is held:
    unknowns:
      - {type: number, name: hull.inertia.com, index: [0], value: 0.0, deviation: 0.00001}
      - {type: number, name: hull.inertia.com, index: [1], value: 0.0, deviation: 0.00001}
"""
TRUTH = np.array([0.004, -0.003])
"""Height with which the recordings are made; the study assumes 0 [m]."""


def write_logs(folder, name, t, arm, **imu):
    """Logs of one trial."""
    for log, columns in {"imu": imu, "joints": {"arm": arm}}.items():
        np.savetxt(
            folder / f"{name}_{log}.csv",
            np.stack([t, *columns.values()], axis=1),
            delimiter=",",
            header=f"t,{','.join(columns)}",
            comments="",
        )
    (folder / f"begins_{name[1:]}.yml").write_text("start: 1.0")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The study's file and its data: two motions of the arm, recorded with noise."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "model.yaml").write_text(MODEL, encoding="utf-8")
    (folder / "study.yaml").write_text(SMALL % (folder / "model.yaml"), encoding="utf-8")
    data, rng = folder / "data", np.random.default_rng(0)
    data.mkdir()
    t = np.arange(0.0, 5.05, 0.1)
    arms = {f"t{k}-0": sign * 0.8 * np.clip((t - 1.0) / 2.0, 0.0, 1.0) ** 2 for k, sign in ((1, 1.0), (2, -1.3))}
    for name, arm in arms.items():
        write_logs(data, name, t, arm, roll=0.0 * t, pitch=0.0 * t, z=0.0 * t)
    campaign = validation.read_campaign(validation.load_validation_study(folder / "study.yaml"), data)
    problem = campaign.problem_of(campaign.trials)
    values, _ = problem.simulate(TRUTH, np.zeros((2, len(problem.own_deviation))))
    for j, (name, arm) in enumerate(arms.items()):
        noisy = values[: len(t), j] + rng.normal(size=(len(t), 3)) * [1e-3, 1e-3, 3e-3]
        write_logs(data, name, t, arm, **dict(zip(("roll", "pitch", "z"), noisy.T, strict=True)))
    return folder / "study.yaml", data


def test_two_trials_predict_each_other(run, tmp_path, small):
    """Numbers, pictures and page are there; statics, which do not know that the vehicle swings, are worse."""
    study, data = small
    code, out, said = run("validate", study, "--data", data, "--out", tmp_path / "out", "--workers", "1", "--json")
    assert code == 0 and "2 trials of 2 motions" in said and "without t1:" in said
    report = json.loads(out)
    assert [t["trial"] for t in report["trials"]] == ["t1-0", "t2-0"] and not report["not_converged"]
    for angle in report["channels"][:2]:
        assert 0.03 < angle["mean"] < 0.15 and angle["static"] > 1.5 * angle["mean"], angle
    for row, true in zip(report["found"], TRUTH, strict=True):
        assert abs(row["value"] - true) < 3.0 * row["deviation"] < 0.002
    written = {f.name for f in (tmp_path / "out").iterdir()}
    assert written == {"report.html", "results.json", "predictions.csv", "attitude.png", "errors.png", "position.png"}


def test_records_without_a_motion_are_in_every_fit_and_never_predicted(small, tmp_path):
    """The last seconds of them; a record that is predicted, too, is rejected by name, and a folder without any is noted."""
    study, data = small[0], shutil.copytree(small[1], tmp_path / "data")
    for log in ("imu", "joints"):
        shutil.copy(data / f"t1-0_{log}.csv", data / f"rest_{log}.csv")  # no file reports when a motion begins

    def read(names, last=3.0):
        entries = yaml.safe_load(study.read_text(encoding="utf-8"))
        entries["trials"]["fit_only"] = {"names": names, "last": last}
        (tmp_path / "study.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
        return validation.read_campaign(validation.load_validation_study(tmp_path / "study.yaml"), data)

    campaign = read("rest*")
    (rest,) = campaign.fit_only
    assert (rest.trial.start, rest.begins, rest.trial.end) == (2.0, 3.0, 5.0) and campaign.groups == ["t1", "t2"]
    assert (read("rest*", last=99.0).fit_only[0].trial.start, len(campaign.trials)) == (0.0, 2)
    fitted, predicted = _fold(campaign, "t1", lambda iteration: None)
    assert fitted.converged and [p.trial for p in predicted] == ["t1-0"]
    without, _ = _fold(replace(campaign, fit_only=()), "t1", lambda iteration: None)
    assert fitted.found[0].value != without.found[0].value and fitted.found[0].deviation < without.found[0].deviation
    with pytest.raises(ValueError, match=r"t2-0 matches both trials.names, 't\*', and trials.fit_only.names, 't2\*'"):
        read("t2*")
    missing = read("none*")
    assert not missing.fit_only and any("trials.fit_only" in note and "none*_imu.csv" in note for note in missing.notes)


def test_variants_cost_what_they_omit(run, small, tmp_path):
    """A model that may not move its weight predicts worse, by the degrees that are reported; fits that are done are kept."""
    study, data = small
    code, out, _ = run("validate", study, "--data", data, "--workers", "1", "--variants", "--json")
    assert code == 0
    base, held = json.loads(out)["variants"]
    assert base["more"]["imu.pitch"] == 0.0 and held["name"] == "the place of the weight is held"
    assert held["more"]["imu.pitch"] == pytest.approx(held["mean"]["imu.pitch"] - base["mean"]["imu.pitch"])
    assert held["more"]["imu.pitch"] > 0.01 and set(held["trials"]) == {"t1-0", "t2-0"}
    code, _, _ = run("validate", study, "--data", data, "--workers", "1", "--variants", "--out", tmp_path)
    kept = sorted((tmp_path / "fits").iterdir())
    assert code == 0 and len(kept) == 4 and json.loads((tmp_path / "variants.json").read_text())["variants"][1] == held
    kept[0].unlink()  # as of a run that was stopped
    before = [f.stat().st_mtime_ns for f in kept[1:]]
    code, _, _ = run("validate", study, "--data", data, "--workers", "1", "--variants", "--out", tmp_path)
    assert code == 0 and kept[0].exists() and [f.stat().st_mtime_ns for f in kept[1:]] == before
    code, _, error = run("validate", study, "--data", data, "--variants", "--folds", "3")
    assert code == 1 and "folds is 3, outside [2, 2]" in error


def test_each_iteration_is_reported(small):
    """While a fit runs, with its name, its number and a cost that falls."""
    study, data = small
    told = []
    _fold(validation.read_campaign(validation.load_validation_study(study), data), "", told.append)
    assert [i.number for i in told] == list(range(1, len(told) + 1)) and len(told) > 1
    assert (np.diff([i.cost for i in told]) < 0.0).all() and {i.fit for i in told} == {"all trials"}


def test_other_processes_tell_while_they_work():
    """Progress of jobs arrives from their processes before all results are complete."""
    told = []
    jobs = [operator.methodcaller("__call__", (f"fit {k}", 1, 2.0)) for k in range(3)]
    done = list(in_processes(operator.call, jobs, 2, told.append))
    assert len(done) == 3 and sorted(told) == [(f"fit {k}", 1, 2.0) for k in range(3)]


def test_a_folder_without_trials_is_rejected(run, tmp_path):
    code, _, error = run("validate", str(STUDY), "--data", str(tmp_path))
    assert code == 1 and "has no trials" in error and "traj*_imu.csv.gz" in error
    code, _, error = run("validate", str(STUDY), "--data", str(tmp_path / "none"))
    assert code == 1 and str(tmp_path / "none") in error and "--data" in error


def test_a_study_that_is_not_there_is_an_error_in_words(run):
    code, _, error = run("validate", "nope.yaml")
    assert code == 1 and error.startswith("error: validation file 'nope.yaml' does not exist")


def test_a_study_with_an_unknown_variant_is_rejected(tmp_path, small):
    study = yaml.safe_load(small[0].read_text(encoding="utf-8"))
    study["variants"]["bad"] = {"unknowns": [{"type": "number", "name": "hull.inertia.mass", "value": 1.0, "deviation": 1.0}]}
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    with pytest.raises(ValueError, match="variant 'bad' of small: .*'hull.inertia.mass'"):
        validation.load_validation_study(tmp_path / "bad.yaml")


def spoiled(small, folder, log, change):
    """A copy of the data in which one log of the first trial is other."""
    shutil.copytree(small[1], folder)
    file = folder / f"t1-0_{log}.csv"
    head, rows = file.read_text().split("\n")[0], np.loadtxt(file, delimiter=",", skiprows=1)
    np.savetxt(file, change(rows), delimiter=",", header=head, comments="")
    return folder


@pytest.mark.parametrize(
    ("log", "change", "said"),
    [
        (
            "imu",
            lambda x: np.add(x, [100, 0, 0, 0]),
            "the motion starts at 1.00 s, which is outside the common time of the logs: t1-0_imu.csv from",
        ),
        (
            "imu",
            lambda x: x * [1000, 1, 1, 1],
            r"100 s between samples exceeds 5 s; if the times are in ms, set units",
        ),
        (
            "imu",
            lambda x: np.stack([np.interp(np.linspace(0, 50, 2001), np.arange(51), c) for c in x.T]).T * [200, 1, 1, 1],
            r"duration 1000 s, but t1-0_joints.csv lasts 5 s; if the times are not in s, set units: {time: ms}",
        ),
        (
            "imu",
            lambda x: x * [30, 1, 1, 1],
            r"only 2 samples between start and end of the trial, 0.00 to 5.00 s; if the times",
        ),
        ("imu", lambda x: x * [1, 57.3, 57.3, 1], r"roll is 4.3\d* rad; set units: {roll: deg}"),
        ("joints", lambda x: x[x[:, 0] < 0.95], "outside the common time.*joints.csv from 0.00 to 0.90 s; correct the clock"),
    ],
)
def test_clocks_and_units_that_cannot_be_are_rejected_by_the_command(run, small, tmp_path, log, change, said):
    code, _, error = run("validate", small[0], "--data", spoiled(small, tmp_path / "data", log, change))
    assert code == 1 and re.search(said, error.replace("\n", " ")), error


def test_paths_and_files_are_those_of_the_study(small, tmp_path, monkeypatch):
    """The model beside the study is meant, wherever the command runs; a file that is missing is named."""
    (tmp_path / "here").mkdir()
    (tmp_path / "study.yaml").write_text(SMALL % "./model.yaml", encoding="utf-8")
    (tmp_path / "model.yaml").write_text(MODEL, encoding="utf-8")
    (tmp_path / "here" / "model.yaml").write_text(MODEL.replace("mass: 10.0", "mass: 99.0"), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    study = validation.load_validation_study("../study.yaml")
    assert validation.read_campaign(study, small[1]).plant.model.bodies[0].inertia.mass == 10.0
    data = shutil.copytree(small[1], tmp_path / "data")
    (data / "begins_1-0.yml").unlink()
    with pytest.raises(ValueError, match=r"t1-0: file .*begins_1-0.yml.* trials.begins.file"):
        validation.read_campaign(study, data)
    (data / "t2-0_imu.csv").write_text("t,roll,pitch,z\n")
    with pytest.raises(ValueError, match=r"t2-0_imu.csv: the file contains 4 column names but no samples"):
        validation.read_log(data / "t2-0_imu.csv", "t")


def test_what_is_suspect_in_logs_is_in_the_notes(small, tmp_path):
    """A spike of a joint is omitted where the study reports it; a log that ends early ends the trial, and that is reported."""
    study = validation.load_validation_study(small[0])

    def spiked(rows):
        rows[20, 1] += 2.0
        return rows[rows[:, 0] < 4.05]

    data = spoiled(small, tmp_path / "data", "joints", spiked)
    notes = "\n".join(validation.read_campaign(study, data).trials[0].notes)
    assert "t1-0_joints.csv: ends at 4.00 s and limits the trial; other logs continue to 5.00 s" in notes
    assert "1 samples of arm" in notes and "at 2.00 s; if they" in notes and "for joint arm, set outliers" in notes
    joints = {"arm": replace(study.joints["arm"], outliers=0.5)}
    first = validation.read_campaign(replace(study, joints=joints), data).trials[0]
    assert "t1-0_joints.csv: 1 of 41 samples are outliers and are ignored" in first.notes
    assert abs(first.trial.motions["arm"].now(2.0).position) < 1.0
