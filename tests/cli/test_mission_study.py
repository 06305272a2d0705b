"""Missions in several engines: the study and the benchmark in their short forms."""

import json
import re

import numpy as np
import pytest
import xarray
from benchmarks.mission_flights import MISSIONS
from benchmarks.mission_study import angles

import hydromechs as hm

pytest.importorskip("mujoco", reason="the engine MuJoCo is an extra: pip install 'hydromechs[mujoco]'")
SHORT = ("--missions", "crash", "--engines", "mujoco", "--duration", "0.4")


def test_the_missions_are_flown_compared_and_drawn(study, tmp_path):
    status, out, _ = study("missions", *SHORT, "--seeds", "1", "--out", tmp_path)
    assert status == 1  # the crash is not reached
    assert "crash in mujoco: it stops turning: ended before" in out
    saved = json.loads((tmp_path / "missions.json").read_text())
    ours, theirs = saved["flights"]
    assert (ours["engine"], theirs["engine"]) == ("hydromechs", "mujoco") and not saved["passed"]
    assert ours["force_rms"] == ours["pitch_rms"] == ours["heading_off"] == 0.0
    assert 0.0 < theirs["pitch_rms"] < 1e-3 and 0.0 < theirs["force_rms"] < 1.0  # first order in the step
    assert {row["mission"]: row["seeds"] for row in saved["seeds"]} == {"crash": 1}
    assert saved["seeds"][0]["navigation_worst"] != ours["navigation_rms"]  # another seed
    assert saved["pictures"] == ["mission_crash.png", "mission_crash_top.png"]
    assert all((tmp_path / name).stat().st_size > 10_000 for name in saved["pictures"])


def test_the_missions_are_timed_in_each_engine(study):
    status, out, _ = study("speed", "--missions", "crash", "--engines", "mujoco", "--duration", "0.1")
    assert status == 0 and "≥ 20" in out and "not judged in a quick run" in out
    factors = {
        name: [float(x) for x in re.findall(rf"{name} +([\d.]+) +([\d.]+)", out)[0]] for name in ("hydromechs", "mujoco")
    }
    assert all(x > 0.0 for pair in factors.values() for x in pair)


def test_a_wrong_mission_or_engine_lists_what_there_is(study):
    status, _, err = study("missions", "--missions", "crush")
    assert status == 1 and "no mission 'crush'" in err and "crash" in err
    status, _, err = study("speed", "--missions", "crash", "--engines", "havok")
    assert status == 1 and "no engine is named 'havok'; available: mujoco, dart, bullet" in err
    assert set(MISSIONS) <= set(hm.library.scenario_names())


def test_angles_of_a_body_continue_past_half_a_turn():
    pitch, turn = np.radians(-30.0), np.radians(np.linspace(0.0, 250.0, 26))
    q = np.stack(
        [
            np.cos(turn / 2) * np.cos(pitch / 2),
            -np.sin(turn / 2) * np.sin(pitch / 2),
            np.cos(turn / 2) * np.sin(pitch / 2),
            np.sin(turn / 2) * np.cos(pitch / 2),
        ],
        axis=1,
    )
    found = angles(xarray.Dataset({"orientation": (("time", "body", "quaternion"), q[:, None])}, {"body": ["b"]}), "b")
    np.testing.assert_allclose(found[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[1], -30.0, atol=1e-12)
    np.testing.assert_allclose(found[2], np.linspace(0.0, 250.0, 26), atol=1e-12)
