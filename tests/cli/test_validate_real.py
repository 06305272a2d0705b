"""The command validate on two real trials, from tables and from messages: the same numbers to the last digit."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

REAL = Path(__file__).parents[1] / "verification" / "hinsdale"
STUDY = Path(__file__).parents[2] / "examples" / "hinsdale_2023.yaml"
LOGS = {"imu": "imu", "joints": "joint_states", "mocap": "mocap"}
END = 4.9
"""Time up to which logs are used, 2.5 s after the arms start [s]."""


def rows_of(trial, log):
    """Head and numbers of a table up to the end."""
    with gzip.open(REAL / f"{trial}_{log}.csv.gz", "rt") as text:
        head, *rows = csv.reader(text)
    return head, [row for row in rows if float(row[0]) <= END]


def study_of(folder, name, logs):
    """The study with few unknowns and steps, for a short test: all else is the library's model, with the tether of its study."""
    study = yaml.safe_load(STUDY.read_text(encoding="utf-8"))
    study["unknowns"] = [u for u in study["unknowns"] if "com" in u.get("name", "")]
    study["line"] |= {"weight": 0.1298, "place": [-0.5037, 0.06197, 0.0]}
    study |= {"step": 0.1, "window": 2.0, "logs": logs, "data": str(folder)}
    del study["variants"]
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The start of both trials as tables, and their study."""
    folder = tmp_path_factory.mktemp("tables")
    for trial in ("traj015-0", "traj026-1"):
        (folder / f"metadata_{trial[4:]}.yml").write_text((REAL / f"metadata_{trial[4:]}.yml").read_text())
        for log in LOGS.values():
            head, rows = rows_of(trial, log)
            with (folder / f"{trial}_{log}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([head, *rows])
    logs = {name: {"file": f"{{trial}}_{log}.csv", "time": "time_secs"} for name, log in LOGS.items()}
    return study_of(folder, "tables", logs)


@pytest.fixture(scope="module")
def messages(tables):
    """The same as one MCAP file for each trial, with topics for the logs, and their study."""
    writers = pytest.importorskip("mcap.writer", reason="needs pip install 'hydromechs[mcap]'")
    for trial in ("traj015-0", "traj026-1"):
        writer = writers.Writer(str(tables.parent / f"{trial}.mcap"))
        writer.start()
        schema = writer.register_schema("row", "jsonschema", b"{}")
        for log in LOGS.values():
            channel = writer.register_channel(f"/{log}", "json", schema)
            head, rows = rows_of(trial, log)
            for row in rows:
                message = dict(zip(head, map(float, row), strict=True))
                late = round(1e9 * (message["time_secs"] + 0.1))
                writer.add_message(channel, late, json.dumps(message).encode(), late)
        writer.finish()
    logs = {}
    for name, log in LOGS.items():
        columns = {c: c for c in rows_of("traj015-0", log)[0] if c != "time_secs"}
        logs[name] = {"file": "{trial}.mcap", "topic": f"/{log}", "time": "time_secs", "columns": columns}
    return study_of(tables.parent, "messages", logs)


def test_two_real_trials_predict_each_other_from_tables_and_from_messages(run, tables, messages):
    """Each motion from a fit to the other: tenths of a degree, better than statics."""
    code, out, said = run("validate", tables, "--workers", "1", "--json")
    assert code == 0 and "2 trials of 2 motions" in said and "without traj026:" in said
    report = json.loads(out)
    assert [t["trial"] for t in report["trials"]] == ["traj015-0", "traj026-1"] and not report["not_converged"]
    means = {c["channel"]: c for c in report["channels"]}
    for angle in ("imu.roll", "imu.pitch"):
        assert means[angle]["mean"] < min(0.3, means[angle]["static"]), means[angle]
    code, out, _ = run("validate", messages, "--workers", "1", "--json")
    same = json.loads(out)
    assert code == 0 and same["found"] == report["found"] and same["channels"] == report["channels"]
    for a, b in zip(same["trials"], report["trials"], strict=True):
        assert a == b
    assert np.isfinite([row["deviation"] for row in same["found"]]).all()
