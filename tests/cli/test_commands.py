"""The commands as a user meets them: what they print, where, and with which status."""

import sys
from pathlib import Path

import pytest
import yaml

import hydromechs as hm

NASTY = "length [m], [/bold] and :x: stay, [red]this[/red] too"

GOOD = f"""\
hydromechs_model: 2
name: "rov[m]"
description: "{NASTY}"
sources:
  "hull[kg]": "{NASTY}"
bodies:
  "hull[/m]":
    joint: free
    inertia: {{mass: 10, com: [0, 0, 0], tensor: [1, 1, 1, 0, 0, 0]}}
    frames: {{":x:": {{}}}}
"""


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


@pytest.fixture
def bad(tmp_path):
    file = tmp_path / "[b]bad.yaml"
    file.write_text(GOOD.replace("mass: 10", "mass: -10"))
    return file


def test_info_of_a_library_model(run):
    status, out, err = run("info", "bluerov2_heavy_alpha5")
    assert (status, err) == (0, "")
    assert out.startswith("bluerov2_heavy_alpha5  ")
    for name in hm.load("bluerov2_heavy_alpha5").body_names:
        assert name in out
    assert "centre of buoyancy" in out


def test_info_of_a_scenario_shows_units_and_ranges_of_commands(run):
    status, out, err = run("info", "bluerov2_square")
    assert (status, err) == (0, "")
    row = next(line.split() for line in out.splitlines() if line.split()[:1] == ["thruster_1"])
    assert row == ["thruster_1", "us", "1100", "1500", "1900"]


def test_info_of_a_dry_model_with_its_sources(run):
    status, out, err = run("info", "puma560", "--sources")
    assert (status, err) == (0, "")
    assert "centre of buoyancy" not in out and "nan" not in out
    for what, source in hm.load("puma560").sources:
        assert what in out and source in out


def test_info_prints_the_users_text_as_it_stands(run, good):
    status, out, err = run("info", good, "--sources")
    assert (status, err) == (0, "")
    assert out.startswith(f"rov[m]  {NASTY}\n")
    assert out.count(NASTY) == 2
    assert "hull[/m]" in out and "hull[kg]" in out
    assert ["frames", ":x:"] in [line.split() for line in out.splitlines()]


def test_info_of_a_scenario_is_that_of_each_model_at_its_start(run, scenario, tmp_path):
    scenario()
    both = tmp_path / "two.yaml"
    low = "low: {model: buoy.yaml, position: [1, 2, 30], rpy_deg: [0, 90, 0]}"
    both.write_text(f"hydromechs_scenario: 2\nname: two\nmodels: {{high: {{model: buoy.yaml}}, {low}}}\nrun: {{duration: 1}}\n")
    status, out, err = run("info", both)
    assert (status, err) == (0, "")
    rows = [line.strip().split(maxsplit=3) for line in out.splitlines()]
    assert [row[3] for row in rows if row[:3] == ["centre", "of", "mass"]] == ["(0, 0, 0.1) m", "(1.1, 2, 30) m"]
    assert [row for row in rows if row[:2] == ["mass", "100"]] == [["mass", "100", "kg"]] * 2
    assert [row[0] for row in rows if row in (["high"], ["low"])] == ["high", "low"]
    assert "at the start of the scenario" in out


def test_info_shows_commands_at_rest_where_a_scenario_starts(run, tmp_path):
    text = "hydromechs_scenario: 2\nname: bent\nmodels: {m: {plant: tiburon_titan2, joints: {shoulder: 0.25}}}\nrun: {duration: 1}\n"
    (tmp_path / "bent.yaml").write_text(text)
    _, out, _ = run("info", tmp_path / "bent.yaml")
    assert ["shoulder", "rad", "–", "0.25", "–"] in [line.split() for line in out.splitlines()]
    assert "model or scenario" in run("info", "--help")[1]


def test_models_lists_the_library(run):
    status, out, err = run("models")
    assert (status, err) == (0, "")
    for name in hm.library.names():
        assert name in out


def test_check(run, good, bad):
    """A good file is good; a bad one ends with status 1 and the line of its error, whatever its name is."""
    assert run("check", good, "puma560") == (0, f"{good}: no errors\npuma560: no errors\n", "")
    status, out, err = run("check", bad, good)
    assert (status, out) == (1, f"{good}: no errors\n")
    assert err.startswith(f"{bad}: 1 problem(s)\n")
    assert "line 9" in err and "'hull[/m]'" in err and "-10" in err


DROPS = Path(__file__).parents[1] / "sweeps" / "drops.yaml"
POOL = Path(__file__).parents[2] / "examples" / "hinsdale_2023.yaml"


def test_check_of_a_model_builds_its_simulation(run, tmp_path):
    """No line is at error where inertias of several joints cannot be computed together."""
    file = tmp_path / "far.yaml"
    link = "joint: {type: revolute, friction: 2}, inertia: {mass: 5, tensor: [1, 1, 1, 0, 0, 0]}"
    far = link.replace("friction: 2", "placement: {xyz: [1.0e+200, 0, 0]}")
    file.write_text(f"hydromechs_model: 2\nname: m\nbodies:\n  a: {{{link}}}\n  b: {{parent: a, {far}}}\n")
    status, out, err = run("check", file)
    assert (status, out) == (1, "") and err.startswith(f"{file}: ") and "inertias" in err


def test_check_knows_sweeps_and_validation_studies(run):
    code, out, err = run("check", DROPS, POOL)
    assert (code, err) == (0, "") and "200 runs" in out and f"{POOL}: no errors" in out


def test_check_lists_all_errors_of_a_sweep(run, tmp_path):
    """A path that leads nowhere, a value that the scenario rejects, a quantity that is not recorded, samples without a number."""
    (tmp_path / "hull.yaml").write_text((DROPS.parent / "hull.yaml").read_text())
    text = DROPS.read_text().replace("hull.velocity.0", "hull.velocitie.0").replace("depth.hull", "depth.hul")
    text = (
        text.replace("{type: normal, ", "{type: choices, ")
        .replace("mean: 30, sigma: 1", "values: [30, -1]")
        .replace(", runs: 200", "")
    )
    (tmp_path / "bad.yaml").write_text(text)
    code, _, err = run("check", tmp_path / "bad.yaml")
    assert code == 1 and "4 problem(s)" in err, err
    for item, value in (("speed", "velocitie"), ("mass", "-1"), ("sunk", "'hul'"), ("runs", "missing")):
        assert any(item in line and value in line for line in err.splitlines()), (item, err)


def test_check_lists_all_errors_of_a_validation_study(run, tmp_path):
    data = yaml.safe_load(POOL.read_text())
    data["judged"] = ["no.such"]
    data["unknowns"] = [{"type": "nothing"}, {"type": "number", "name": "x", "nonsense": 3}]
    data["trials"]["find"] = "nolog"
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(data))
    code, _, err = run("check", tmp_path / "bad.yaml")
    assert code == 1 and all(text in err for text in ("'no.such'", "'nothing'", "nonsense", "'nolog'")), err


@pytest.mark.parametrize("command", ["info", "check"])
def test_sources_that_are_no_model(run, tmp_path, command):
    """An unknown name lists the known ones; a folder and a missing file are called so."""
    status, _, err = run(command, "rov[m]:x:")
    assert status == 1 and "'rov[m]:x:'" in err
    assert all(name in err for name in hm.library.names())
    status, _, err = run(command, tmp_path)
    assert status == 1 and str(tmp_path) in err and "folder" in err
    status, _, err = run(command, tmp_path / "[m].yaml")
    assert status == 1 and f"model file '{tmp_path}/[m].yaml' does not exist" in err


def test_version(run):
    assert run("--version") == (0, f"hydromechs {hm.__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_names_the_commands(run, arguments):
    _, out, err = run(*arguments)
    assert all(name in out + err for name in ("info", "models", "check", "crosscheck"))


def test_help_keeps_its_brackets(run):
    status, out, _ = run("crosscheck", "--help")
    assert status == 0 and "pip install 'hydromechs[dev]'" in " ".join(out.split())


@pytest.mark.parametrize("missing", ["dartpy", "pinocchio", "mujoco"])
def test_crosscheck_reports_what_to_install(run, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    status, out, err = run("crosscheck", "--trees", 1)
    assert (status, out) == (1, "")
    assert err == "error: crosscheck requires DART, Pinocchio and MuJoCo; pip install 'hydromechs[dev]'\n"


def test_crosscheck_passes(run):
    status, out, err = run("crosscheck", "--trees", 2)
    assert (status, err) == (0, "")
    assert all(code in out for code in ("DART", "Pinocchio", "MuJoCo")) and "NO" not in out


def test_backends_compares_machine_code(study, monkeypatch, tmp_path):
    """One small tree through lanes, threads and C; the whole comparison is the command itself."""
    from benchmarks import backends as _backends

    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    monkeypatch.setattr(_backends.library, "names", lambda: ())
    status, out, _ = study("backends", "--trees", "1", "--seed", "5")
    assert status == 0
    for backend in ("1 lane", "4 lanes", "8 lanes, 2 threads"):
        assert backend in out
    assert "NO" not in out


def test_info_with_water_lists_guesses_and_warns(run, tmp_path):
    """A dry box: as it is; then with guesses, and what is wrong with how it floats."""
    inertia = hm.Inertia(mass=17.0, com=(0.02, 0.0, 0.05), tensor=(1, 1, 1, 0, 0, 0))
    hull = hm.Body(name="hull", inertia=inertia, shapes=(hm.geometry.Box(size=(0.5, 0.3, 0.1)),))
    hm.save(hm.Model(name="box", bodies=[hull]), tmp_path / "dry.yaml")
    words = " ".join(run("info", tmp_path / "dry.yaml")[1].split())
    assert (
        words.count("warning") == 1
        and "warning: dry: no hydrodynamics on hull; estimate hydrodynamics from shapes with hm.add_water" in words
    )
    status, out, err = run("info", tmp_path / "dry.yaml", "--water")
    assert status == 0, err
    words = " ".join(out.split())
    assert "centre of buoyancy" in words and "±" in words
    assert "heavy: the vehicle sinks with 15.9 N, 10% of its weight" in words
    assert "out of trim by 21.8°" in words
    hm.save(hm.load(tmp_path / "dry.yaml"), tmp_path / "dry.sdf")  # the same as a robot description
    words = " ".join(run("info", tmp_path / "dry.sdf", "--water")[1].split())
    assert "volume" in words and "±" in words and "heavy: the vehicle sinks with" in words
