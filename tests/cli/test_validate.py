"""The command validate, from logs to the report."""

import json
from pathlib import Path

import yaml

TESTS = Path(__file__).parents[1]
STUDY = TESTS.parent / "examples" / "hinsdale_2023.yaml"
DATA = TESTS / "verification" / "hinsdale"


def test_two_trials_predict_each_other(run, tmp_path):
    """Two real trials of two motions and few unknowns: numbers, pictures and page are there, and statics beside them."""
    study = yaml.safe_load(STUDY.read_text(encoding="utf-8"))
    study["unknowns"] = [u for u in study["unknowns"] if "number" in u and "com" in u["number"]]
    study["step"] = 0.1
    few = tmp_path / "few.yaml"
    few.write_text(yaml.safe_dump(study), encoding="utf-8")
    code, out, _ = run("validate", str(few), "--data", str(DATA), "--out", str(tmp_path / "out"), "--workers", "1", "--json")
    assert code == 0
    report = json.loads(out)
    assert [t["trial"] for t in report["trials"]] == ["traj015-0", "traj026-1"] and not report["not_converged"]
    roll = report["channels"][0]
    assert roll["channel"] == "imu.roll" and 0.0 < roll["mean"] < 0.5
    assert roll["static"] > roll["mean"]  # offsets leave statics of one trial little to be fitted to
    names = {f["name"] for f in report["found"]}
    assert names == {"vehicle.inertia.com[0]", "vehicle.inertia.com[1]", "vehicle.inertia.com[2]", "imu.turn"}
    written = {f.name for f in (tmp_path / "out").iterdir()}
    assert written == {"report.html", "results.json", "predictions.csv", "attitude.png", "errors.png", "position.png"}


def test_a_folder_without_trials_is_refused(run, tmp_path):
    code, _, error = run("validate", str(STUDY), "--data", str(tmp_path))
    assert code == 1 and "has no trials: no file traj*_imu.csv.gz" in error
    code, _, error = run("validate", str(STUDY), "--data", str(tmp_path / "none"))
    assert code == 1 and "there is no folder" in error
