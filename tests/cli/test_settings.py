"""The option --set PATH=VALUE of run, sweep, check and pilot; info --parameters."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from hydromechs.cli import _settings
from hydromechs.cli._pilot import catalog
from hydromechs.recording import load_recording

DROPS = Path(__file__).parents[1] / "sweeps" / "drops.yaml"


def test_settings_are_used_recorded_and_kept_by_a_resumed_run(run, scenario, tmp_path):
    out, file = tmp_path / "out", scenario()
    code, text, _ = run("run", file, "--out", out, "--no-pictures", "--set", "float.inertia.mass=9", "--set", "record=0.1")
    assert code in (0, 1) and "float.inertia.mass = 9" in text
    first = load_recording(out / "recording.zarr")
    assert json.loads(first.attrs["settings"]) == {"float.inertia.mass": 9, "record": 0.1}
    assert float(first.time[1]) == pytest.approx(0.1)
    code, text, _ = run(
        "run", file, "--resume", out, "--out", tmp_path / "on", "--no-pictures", "--duration", 0.2, "--set", "record=0.05"
    )
    second = load_recording(tmp_path / "on" / "recording.zarr")
    assert json.loads(second.attrs["settings"]) == {"float.inertia.mass": 9, "record": 0.05}
    assert "the parameters of the plant differ" not in text
    for ds in (first, second):
        assert np.linalg.norm(ds.force_weight.sel(body="float")[0][:3]) == pytest.approx(9 * 9.81)


@pytest.mark.parametrize("text", ["null", "[1]", "x", '{"float.inertia.mass": ', "[" * 100_000])
def test_damaged_settings_of_an_earlier_run(tmp_path, monkeypatch, text):
    ds = xarray.Dataset(attrs={"settings": text})
    monkeypatch.setattr(_settings, "load_recording", lambda path: ds)
    (tmp_path / "recording.zarr").mkdir()
    with pytest.raises(_settings.SettingError, match="settings"):
        _settings.settings_of_run(str(tmp_path))


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(
    "setting, said",
    [
        ("flot.inertia.mass=9", ["flot.inertia.mass=9", "float.inertia.mass"]),
        ("float.inertia.mass=-9", ["float.inertia.mass", "-9", "mass"]),
        ("float.inertia.mass", ["PATH=VALUE"]),
        ("float.inertia=3", ["float.inertia", "3"]),
    ],
)
def test_wrong_settings_are_errors_with_path_value_and_nearest(run, scenario, tmp_path, command, setting, said):
    code, _, err = run(command, scenario(), "--set", setting)
    assert code == 1 and all(word in err for word in said), err


def test_check_and_info_know_paths(run, scenario):
    file = scenario()
    code, text, _ = run("check", file, "--set", "float.inertia.mass=9")
    assert code == 0 and "no errors" in text
    code, text, _ = run("info", file, "--parameters")
    assert code == 0 and "float.inertia.mass = " in text and " kg" in text


def test_sweep_with_settings(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hull.yaml").write_text((DROPS.parent / "hull.yaml").read_text())
    (tmp_path / "drops.yaml").write_text(DROPS.read_text().replace("runs: 200", "runs: 4"))
    code, text, _ = run("sweep", "./drops.yaml", "--executor", "serial", "--set", "duration=0.1")
    assert code == 0 and "4 runs" in text
    code, _, err = run("sweep", "./drops.yaml", "--executor", "serial", "--set", "durations=0.1")
    assert code == 1 and "durations=0.1" in err and "duration" in err


def test_a_piloted_scenario_is_read_with_settings(scenario):
    """That of the command only; and its recordings store them."""
    file = str(scenario())
    text = Path(file).read_text()
    known = catalog(file, settings={"float.inertia.mass": 9.0}, of=file)
    assert known.read(text, file).models[0].model.bodies[0].inertia.mass == 9.0
    assert json.loads(known.drawing(known.read(text, file))["settings"]) == {"float.inertia.mass": 9.0}
    other = catalog(file, settings={"float.inertia.mass": 9.0}, of="elsewhere.yaml")
    assert other.read(text, file).models[0].model.bodies[0].inertia.mass != 9.0
    assert "settings" not in other.drawing(other.read(text, file))


def test_a_value_nested_too_deeply_is_a_text():
    assert _settings.parsed_settings(["a.b=" + "[" * 100_000]) == {"a.b": "[" * 100_000}
