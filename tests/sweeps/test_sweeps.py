"""Sweeps: the same store by every engine, whatever is killed in between; errors before anything is computed."""

import json
import os
import runpy
import signal
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library, sweeps
from hydromechs.actuation import Thruster, linear_curve
from hydromechs.errors import SweepError
from hydromechs.formats._yaml import parse
from hydromechs.hydro import Current, Gusts, RegularWave
from hydromechs.registry import Reader, Writer, module_kept, value
from hydromechs.simulation import PythonBlock
from hydromechs.sweeps import (
    Choices,
    Dask,
    Grid,
    LatinHypercube,
    Local,
    LogRange,
    MonteCarlo,
    Normal,
    Range,
    Result,
    Serial,
    Sobol,
)
from hydromechs.sweeps._file import FAMILIES, SweepFile
from hydromechs.sweeps._runner import Runner, Task

HERE = Path(__file__).parent
differences = runpy.run_path(str(HERE / "disturbed.py"))["differences"]


@pytest.fixture(scope="session")
def drops():
    return replace(sweeps.load_sweep(HERE / "drops.yaml"), block=2)  # so that kills find it under way


@pytest.fixture(scope="session")
def calm(drops, tmp_path_factory):
    """The store of an undisturbed sweep in this process."""
    folder = tmp_path_factory.mktemp("calm") / "drops"
    result = sweeps.run_sweep(drops, folder, executor=Serial())
    assert (result.new, result.failed) == (200, 0)
    return folder


def small(sweep, runs):
    return replace(sweep, sampling=MonteCarlo(runs))


# -- what is kept -------------------------------------------------------------------------------------------------------------


def test_the_store_is_one_dataset_with_the_parameters_as_coordinates(drops, calm):
    dataset = sweeps.load_results(calm)
    assert dict(dataset.sizes) == {"run": 200}
    assert set(dataset.coords) == {"run", "seed", "speed", "depth", "mass", "density"}
    assert (dataset.status == 1).all() and not dataset.reason.values.any()
    np.testing.assert_array_equal(dataset.speed, [row[0] for row in drops.table])
    assert np.isfinite(dataset.x).all() and len(np.unique(dataset.x)) == 200
    import xarray

    assert xarray.open_zarr(calm / "results.zarr", consolidated=False, chunks=None).sizes["run"] == 200  # by others, too


@pytest.mark.parametrize("run", [0, 17, 199])
def test_a_run_is_that_of_a_simulation_of_its_own(drops, calm, run):
    """But for rounding: on lanes sums are in another order, and 20 steps of rk4 add some 1e2 roundings."""
    stored = sweeps.load_results(calm).isel(run=run)
    speed, depth, mass, density = drops.table[run]
    model = hm.load(HERE / "hull.yaml")
    q = np.array([0.0, 0.0, depth, 1.0, 0.0, 0.0, 0.0])
    opened = {"hull.inertia.mass": mass, "world.water_density": density}
    sim = hm.Simulation(
        model, parameters=opened, step=0.01, record=0.1, state=hm.State(q=q, v=np.array([speed, 0, 0, 0, 0, 0]))
    )
    recording = sim.run(0.2).recording
    assert float(stored.x) == pytest.approx(float(recording.position.sel(body="hull", xyz="x")[-1]), rel=1e-13, abs=1e-13)
    assert float(stored.fastest) == pytest.approx(
        float(np.abs(recording.velocity.sel(body="hull", nu="w")).max()), rel=1e-13, abs=1e-13
    )


@pytest.fixture(scope="session")
def gusty():
    """Current, gusts, waves that the current carries, a thruster, a floor, energy: numbers of a run that programs take."""
    floor = hm.contact.Terrain(
        name="floor",
        material=hm.contact.Material(law=hm.contact.LinearContact(stiffness=2e4)),
        shape=hm.geometry.Plane.through((0, 0, 5.2), (0, 0, -1)),
    )
    model = hm.load(HERE / "hull.yaml")
    hull = replace(model.bodies[0], frames=(hm.Frame("keel", hm.Origin((-0.2, 0.1, 0.15))),))
    scenario = hm.Scenario(
        name="gusty",
        models=(hm.scenario.ModelStart(model=replace(model, bodies=(hull,)), velocity=(0, 0, 0, 0, 0, 0)),),
        environment=hm.Environment(
            current=Current(velocity=(0.2, 0, 0)),
            gusts=Gusts(sigma=(0.1, 0.1, 0.05), time_constant=1.0, interval=0.02),
            waves=(RegularWave(height=0.3, period=3.0),),
        ),
        components=[
            floor,
            hm.contact.PointContact(frame="keel"),
            Thruster(name="port", frame="keel", curve=linear_curve(40, 30), time_constant=0.1),
        ],
        commands={"port": 0.1},
        step=0.01,
        record=0.05,
        duration=0.3,
        checks=(hm.recording.Check(name="energy", quantity="energy_residual", statistic="max_abs", below=1.0),),
    )
    paths = {
        "current": ("environment.current.velocity.y", -0.5, 0.5),
        "command": ("commands.port", -0.5, 0.5),
        "mass": ("hull.inertia.mass", 29.0, 31.0),
        "speed": ("hull.velocity.2", 0.0, 3.0),
    }
    kept = ["position.hull.x", "work.drag", "force_drag.hull.Y", "orientation.hull.w", "contact_force.*", "v.hull.w", "time"]
    return sweeps.ParameterSweep(
        name="gusty",
        scenario=scenario,
        parameters=tuple(Range(name=k, path=path, low=low, high=high) for k, (path, low, high) in paths.items()),
        sampling=MonteCarlo(5),
        results=tuple(Result(name=f"r{k}", quantity=name, statistic="mean") for k, name in enumerate(kept)),
    )


def row_of_simulation(sweep, run):
    sim = sweep.variant(sweep.table[run], sweep.run_seed(run)).simulation()
    recording = sim.run(sweep.scenario.duration).recording
    checks = [check.judge(recording).value for check in sweep.scenario.checks]
    return np.array([*(result.of(recording) for result in sweep.results), *checks])


def test_runs_on_lanes_are_simulations_and_do_not_depend_on_each_other(gusty):
    """Gusts of their own seeds, currents, commands, masses, contact and energies; a block, or a run alone."""
    assert gusty.on_lanes and gusty.block_size == 32
    runner = Runner(gusty)
    task = Task(tuple(range(5)), tuple(gusty.table), tuple(gusty.run_seed(i) for i in range(5)))
    rows = runner(task)
    assert runner(Task((3,), task.values[3:4], task.seeds[3:4])) == [rows[3]]  # to the last bit
    found = np.array([[*row.results, *row.values] for row in rows])
    assert (np.abs(found[:, 4]) > 1.0).any() and len(np.unique(found[:, 0])) == 5
    want = np.array([row_of_simulation(gusty, run) for run in range(5)])
    scale = np.maximum(1.0, np.abs(want))
    assert (np.abs(found - want) / scale).max() < 1e-12


def test_what_a_run_alone_would_be_rejected_for_fails_it_on_lanes(gusty):
    """A step that its contact is too stiff for, a command outside its range, a run that diverges: each fails alone."""
    stiff = replace(gusty.scenario.parts(hm.contact.Terrain)[0].material, law=hm.contact.LinearContact(stiffness=5e5))
    floor = replace(gusty.scenario.parts(hm.contact.Terrain)[0], material=stiff)
    sweep = replace(gusty, scenario=gusty.scenario.with_parts(floor))
    rows = Runner(sweep)(Task((0, 1, 2), ((0.0, 0.1, 1.0, 0.0), (0.0, 0.1, 60.0, 0.0), (0.0, 3.0, 60.0, 0.0)), (1, 2, 3)))
    assert [row.status for row in rows] == [2, 1, 2]
    assert "too stiff for a step of 0.01 s" in rows[0].reason and "outside its range" in rows[2].reason
    with pytest.raises(ValueError, match="too stiff for a step of 0.01 s"):
        sweep.variant((0.0, 0.1, 1.0, 0.0), 1).simulation().run(0.1)
    fast = Task((0, 1), ((0.0, 0.1, 30.0, 1e200), (0.0, 0.1, 30.0, 0.0)), (1, 2))
    lost, good = Runner(gusty)(fast)
    assert (lost.status, good.status) == (2, 1) and "diverged: t = 0" in lost.reason and lost.end_time < 0.3


def test_studies_that_do_not_continue_lanes(drops, gusty):
    """Events, controllers, and numbers that are compiled: their runs are simulations, one after the other."""
    event = hm.simulation.Event(name="deep", quantity="depth.hull", level=9.0, stop=True)
    assert not replace(drops, scenario=replace(drops.scenario, events=(event,))).on_lanes
    force = Range(name="force", path="port.curve.forces.0", low=-32.0, high=-31.0)
    assert not replace(gusty, parameters=(force,)).on_lanes
    assert not replace(gusty, scenario=replace(gusty.scenario, integrator="dormand_prince")).on_lanes
    assert replace(drops, block=3).block_size == 3


def test_numbers_that_cannot_stay_open_build_the_model_again(gusty):
    """Forces of a thruster's curve, gravity in waves: runs are of models that have them."""
    paths = {"force": "port.curve.forces.0", "gravity": "world.gravity", "mass": "hull.inertia.mass"}
    low = {"force": -32.0, "gravity": 9.5, "mass": 29.0}
    changed = tuple(Range(name=k, path=path, low=low[k], high=low[k] + 0.3) for k, path in paths.items())
    sweep = replace(gusty, parameters=changed)
    assert sweep.opened == (paths["mass"],) and not sweep.on_lanes
    assert set(sweep.compiling) == {"force", "gravity"}
    variant = sweep.variant((-31.9, 9.7, 29.0), 0)
    plant = variant.simulation().plant
    assert (value(plant, "port.curve.forces.0"), plant.model.world.gravity) == (-31.9, 9.7)
    assert variant.parameters == {"hull.inertia.mass": 29.0}


def test_values_of_a_grid_have_dimensions_of_their_own(drops, tmp_path):
    speeds = Range(name="speed", path="hull.velocity.0", low=-1.0, high=1.0, steps=3)
    masses = Choices(name="mass", path="hull.inertia.mass", values=(29, 31))
    sweep = replace(drops, sampling=Grid(), parameters=(speeds, masses))
    assert sweep.table == [(-1.0, 29.0), (-1.0, 31.0), (0.0, 29.0), (0.0, 31.0), (1.0, 29.0), (1.0, 31.0)]
    dataset = sweeps.run_sweep(sweep, tmp_path / "grid", executor=Serial()).dataset
    grid = sweeps.on_grid(dataset)
    assert grid.x.dims == ("speed", "mass") and float(grid.x.sel(speed=1.0, mass=31.0)) == float(dataset.x[5])
    with pytest.raises(ValueError, match="not a grid"):
        sweeps.on_grid(dataset.isel(run=slice(5)))


def test_failed_runs_are_kept_with_their_reason_and_the_others_continue(drops, tmp_path):
    """A normal distribution that reaches negative masses; and results that are not there stay NaN."""
    mass = Normal(name="mass", path="hull.inertia.mass", mean=30.0, sigma=40.0)
    result = sweeps.run_sweep(replace(drops, sampling=MonteCarlo(20), parameters=(mass,)), tmp_path / "a", executor=Serial())
    dataset = result.dataset
    failed = dataset.status.values == 2
    np.testing.assert_array_equal(failed, dataset.mass.values <= 0.0)
    assert 0 < result.failed == failed.sum() < 20
    assert all("mass" in reason and "kg" in reason for reason in dataset.reason.values[failed])
    assert np.isnan(dataset.x.values[failed]).all() and np.isfinite(dataset.x.values[~failed]).all()


# -- engines and kills ----------------------------------------------------------------------------------------------------------


def test_a_worker_and_the_client_are_killed_and_nothing_is_lost(drops, calm, tmp_path):
    """On a Dask cluster a worker is killed after a quarter, the client gives up after half; processes continue from there."""
    pytest.importorskip("distributed", reason="needs pip install 'hydromechs[dask]'")
    import psutil

    class Gone(BaseException):
        """The end of the client."""

    killed = []

    def disturb(progress):
        if progress.done >= 50 and not killed:
            children = psutil.Process().children(recursive=True)
            killed.append(next(p.pid for p in children if any("spawn_main" in piece for piece in p.cmdline())))
            os.kill(killed[0], signal.SIGKILL)
        if progress.done >= 100:
            raise Gone

    with pytest.raises(Gone):
        sweeps.run_sweep(drops, tmp_path / "drops", executor=Dask(workers=1), progress=disturb)
    died = []

    def once_more(progress):
        if progress.done >= 150 and not died:
            me, children = psutil.Process(), psutil.Process().children(recursive=True)
            died.append(next(p.pid for p in children if p.parent() != me and any("forkserver" in c for c in p.cmdline())))
            os.kill(died[0], signal.SIGKILL)

    result = sweeps.run_sweep(drops, tmp_path / "drops", executor=Local(1), progress=once_more)
    assert killed and died and 90 <= result.new <= 100
    assert differences(calm / "results.zarr", tmp_path / "drops" / "results.zarr") == []


def test_without_a_gpu_the_study_reports_it_and_runs_on_the_cpu(drops, calm, tmp_path, monkeypatch):
    def nowhere():
        raise ModuleNotFoundError("no CuPy")

    monkeypatch.setattr("hydromechs.compiler._cuda.import_cupy", nowhere)
    dataset = sweeps.run_sweep(replace(small(drops, 4), target="cuda"), tmp_path / "a", executor=Serial()).dataset
    assert not dataset.on_gpu.any() and (dataset.status == 1).all()
    plain = sweeps.run_sweep(small(drops, 4), tmp_path / "b", executor=Serial()).dataset
    np.testing.assert_array_equal(dataset.x, plain.x)
    assert "on_gpu" not in plain
    event = hm.Event(name="deep", quantity="depth.hull", level=9.0, stop=True)
    with pytest.raises(SweepError, match="target is cuda, but the runs of this sweep are separate simulations"):
        replace(drops, scenario=replace(drops.scenario, events=(event,)), target="cuda")


DEADLY = """
import os

def controller(state):
    if abs(state.q[2] - 7.0) < 1e-9:
        os._exit(3)
    return {}
"""


def test_a_run_that_kills_its_worker_fails_alone(drops, tmp_path):
    (tmp_path / "deadly.py").write_text(DEADLY)
    spec = PythonBlock(controller=module_kept(str(tmp_path / "deadly.py")).controller, period=0.1)
    depth = Choices(name="depth", path="hull.position.z", values=(6, 7, 8))
    sweep = replace(drops, scenario=drops.scenario.controlled_by(spec), parameters=(depth,), sampling=Grid(), block=3)
    dataset = sweeps.run_sweep(sweep, tmp_path / "a", executor=Local(1)).dataset
    assert dataset.status.values.tolist() == [1, 2, 1]
    assert "worker died" in str(dataset.reason.values[1])


def test_a_complete_sweep_runs_nothing_again(drops, calm):
    before = {p: p.stat().st_mtime_ns for p in calm.rglob("*") if p.is_file()}
    assert sweeps.run_sweep(drops, calm, executor=Serial()).new == 0
    assert {p: p.stat().st_mtime_ns for p in calm.rglob("*") if p.is_file()} == before


# -- sampling -------------------------------------------------------------------------------------------------------------------


def test_samples():
    kinds = {Range: dict(low=0.0, high=1.0), LogRange: dict(low=1.0, high=100.0), Normal: dict(mean=2.0, sigma=0.5)}
    *spreads, normal = (kind(name="x", path="step", **numbers) for kind, numbers in kinds.items())
    hypercube = np.array(LatinHypercube(10).table(spreads, 4))
    assert sorted(np.floor(10 * hypercube[:, 0])) == list(range(10))
    assert sorted(np.floor(5 * np.log10(hypercube[:, 1]))) == list(range(10))
    sobol = np.array(Sobol(16).table(spreads, 4))
    assert sorted(np.floor(16 * sobol[:, 0])) == list(range(16))
    assert MonteCarlo(5).table(spreads, 4) == MonteCarlo(9).table(spreads, 4)[:5] != MonteCarlo(5).table(spreads, 5)
    deviates = [row[0] for row in LatinHypercube(200).table([normal], 0)]
    assert abs(np.mean(deviates) - 2.0) < 0.01 and abs(np.std(deviates) - 0.5) < 0.02  # a point in each slice
    assert Sobol(5).table([], 0) == [()] * 5


def test_seeds_of_runs_depend_on_the_study_and_the_number_alone(drops):
    more = small(drops, 300)
    assert [drops.run_seed(i) for i in range(5)] == [more.run_seed(i) for i in range(5)]
    assert len({more.run_seed(i) for i in range(300)}) == 300
    assert replace(drops, seed=4).run_seed(0) != drops.run_seed(0)
    assert {replace(drops, run_seeds="same").run_seed(i) for i in range(3)} == {drops.scenario.seed}


# -- paths ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def square():
    """A vehicle with an arm on a path; in still water, so that its controller looks for nothing that turns it over."""
    return replace(hm.load_scenario("bluerov2_square"), environment=hm.Environment())


def sweep_of(scenario, **paths):
    parameters = [
        Range(name=k, path=path, low=values[0], high=values[1])
        if len(values) == 2
        else Choices(name=k, path=path, values=values[0])
        for k, (path, *values) in paths.items()
    ]
    results = (Result(name="x", quantity="position.vehicle.x"),)
    return sweeps.ParameterSweep(
        name="s", scenario=scenario, parameters=tuple(parameters), sampling=MonteCarlo(2), results=results
    )


def test_parameters_of_model_scenario_and_controller(square):
    sweep = sweep_of(
        square,
        mass=("vehicle.inertia.mass", 11.0, 12.0),
        com=("vehicle.inertia.com.z", 0.0, 0.01),
        lag=("thruster_1.time_constant", 0.05, 0.1),
        damping=("controller.damping", 0.8, 1.2),
        start=(f"{square.models[0].model.name}.joints.elbow", 0.1, 0.2),
        sampled=("record", (0.1,)),
    )
    variant = sweep.variant((11.5, 0.005, 0.07, 0.9, 0.15, 0.1), 5)
    opened = {"vehicle.inertia.mass": 11.5, "vehicle.inertia.com.z": 0.005, "thruster_1.time_constant": 0.07}
    assert variant.parameters == opened
    assert variant.scenario.controllers[0].controller.arguments["damping"] == 0.9
    assert dict(variant.scenario.models[0].joints)["elbow"] == 0.15
    assert (variant.scenario.seed, variant.scenario.record) == (5, 0.1)
    assert sweep.compiling == ()  # all are data of a run


def test_seed_current_start_and_open_parameters_compile_nothing_again():
    scenario = hm.load_scenario("station_keeping")
    sweep = sweep_of(
        scenario,
        current=("environment.current.velocity.x", -0.5, 0.5),
        gusts=("environment.gusts.sigma.0", 0.01, 0.1),
        number=("seed", (1, 2)),
        depth=(f"{scenario.models[0].model.name}.position.z", 10, 20),
        density=("world.water_density", 1000, 1030),
        frequency=("controller.frequency", 0.5, 1.0),
        lag=("thruster_1.time_constant", 0.1, 0.2),
        force=("thruster_1.curve.forces.0", -50.0, -40.0),
    )
    assert sweep.compiling == ("force",)
    plants = [sweep.variant((x, 0.05, 2, 15.0, 1010.0, 0.7, 0.15, -45.0), None).simulation().plant for x in (0.1, 0.2)]
    assert plants[0].identity == plants[1].identity and plants[0].parameters == (
        "world.water_density",
        "thruster_1.time_constant",
    )


# -- what bad input gets ---------------------------------------------------------------------------------------------------------

SPEED, DENSITY = "hull.velocity.0, low: -1, high: 1", "water_density, low: 998"
BAD = {  # old text, new text; line, path and value of the problem, and words of its text
    "no body": ("hull.velocity.0", "hul.inertia.mass", 7, "parameters.speed.path", ["'hull'?"]),
    "no field": ("hull.velocity.0", "hull.inertia.mas", 7, "parameters.speed.path", ["hull.inertia", "'mass'?"]),
    "no section": ("hull.velocity.0", "enviroment.current", 7, "parameters.speed.path", ["'environment'?"]),
    "not set": ("hull.velocity.0", "environment.current.velocity.x", 7, "parameters.speed.path", ["environment.current"]),
    "no number": ("hull.velocity.0", "hull.velocity", 7, "parameters.speed.path", ["(6,)"]),
    "no path": ("path: hull.velocity.0", "path: []", 7, "parameters.speed", ["path"]),
    "order": ("low: -1, high: 1}", "low: 1, high: -1}", 7, "parameters.speed.high", ["low", "swap"]),
    "missing": (", high: 1}", "}", 7, "parameters.speed.high", ["missing", "greater than the lower"]),
    "not positive": (SPEED, f"{SPEED}, type: log_range", 7, "parameters.speed.low", ["> 0"]),
    "key": ("low: -1", "lo: -1", 7, "parameters.speed.lo", ["'low'?"]),
    "type": ("type: normal", "type: norml", 9, "parameters.mass.type", ["'normal'?", "choices"]),
    "steps": ("high: 1}", "high: 1, steps: 1}", 7, "parameters.speed.steps", ["at least 2"]),
    "value": (DENSITY, DENSITY.replace("998", "-998"), 10, "parameters.density", ["-998.0", "water_density"]),
    "sigma": ("sigma: 1", "sigma: -1", 9, "parameters.mass.sigma", ["> 0", "changes"]),
    "not finite": ("mean: 30", "mean: .nan", 9, "parameters.mass.mean", ["finite"]),
    "mean": ("mean: 30", "mean: -30", 9, "parameters.mass", ["-30.0", "mass"]),
    "sampling": ("latin_hypercube", "latin_square", 11, "sampling.type", ["sobol"]),
    "runs": ("runs: 200", "runs: 0", 11, "sampling.runs", ["at least 1"]),
    "no runs": (", runs: 200", "", 11, "sampling.runs", ["missing"]),
    "quantity": ("position.hull.x", "position.hul.x", 14, "results.x.quantity", ["hul.x"]),
    "statistic": ("statistic: max}", "statistic: maxi}", 15, "results.sunk.statistic", ["'max'", "max_abs"]),
    "change": ("duration: 0.2", "durations: 0.2", 5, "changes.durations", ["duration"]),
    "name": ("  sunk:", "  depth:", 15, "results.depth", ["rename"]),
    "file": ("./hull.yaml", "./hall.yaml", 4, "model", ["hall.yaml"]),
    "both": ("model: ./hull.yaml", "model: ./hull.yaml\nscenario: crash", 5, "scenario", ["both"]),
    "block": ("seed: 3", "seed: 3\nblock: 0", 13, "block", ["at least 1"]),
    "seed": ("seed: 3", "seed: -3", 12, "seed", ["at least 0"]),
    "version": ("hydromechs_sweep: 2", "hydromechs_sweep: 1", 2, "hydromechs_sweep", ["version 1", "docs/sweeps.md"]),
    "future": ("hydromechs_sweep: 2", "hydromechs_sweep: 3", 2, "hydromechs_sweep", ["must be 2"]),
    "kind": ("hydromechs_sweep: 2", "hydromechs_scenario: 1", 2, "hydromechs_scenario", ["hydromechs run"]),
}


def problems_of(folder, *changes):
    text = (HERE / "drops.yaml").read_text()
    (folder / "hull.yaml").write_text((HERE / "hull.yaml").read_text())
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "drops.yaml").write_text(text)
    with pytest.raises(SweepError) as error:
        sweeps.load_sweep(folder / "drops.yaml")
    return error.value.faults


@pytest.mark.parametrize(("old", "new", "line", "where", "words"), BAD.values(), ids=BAD)
def test_a_problem_of_a_file_has_its_line_and_its_place(tmp_path, old, new, line, where, words):
    (problem,) = problems_of(tmp_path, (old, new))
    assert (problem.line, problem.where) == (line, where)
    for word in words:
        assert word in problem.text


def test_all_problems_of_a_file_come_at_once(tmp_path):
    """Also those that the scenario shows, with values of parameters that can be read."""
    names = ["key", "sigma", "value", "runs", "quantity", "statistic", "change"]
    problems = problems_of(tmp_path, *(BAD[name][:2] for name in names))
    assert [problem.where for problem in problems] == [BAD[n][3] for n in ("change", *names[:-1])]


def test_changes_that_cannot_be_made_are_named(tmp_path):
    """Each with its reason, without problems of parameters that only follow from it."""
    bad = [("step: 0.01", "step: -1"), ("[0, 0, 0, 0, 0, 0]", "[0]"), ("statistic: max}", "statistic: maxi}")]
    problems = problems_of(tmp_path, *bad)
    assert [problem.where for problem in problems] == ["changes.step", "changes.hull.velocity", "results.sunk.statistic"]
    (problem,) = problems_of(tmp_path, ("step: 0.01", "hull.inertia.com: [0, 0, 0], hull.inertia.com.z: 0.1"))
    assert problem.where == "changes" and "the same number" in problem.text


def test_a_grid_needs_values(tmp_path):
    problems = problems_of(tmp_path, ("{type: latin_hypercube, runs: 200}", "grid"), ("high: 1}", "high: 1, steps: 3}"))
    assert [(p.line, p.where) for p in problems] == [
        (8, "parameters.depth"),
        (9, "parameters.mass"),
        (10, "parameters.density"),
    ]
    assert "steps" in problems[0].text and "normal" in problems[1].text


def test_schema_and_round_trip():
    """The JSON Schema accepts what the reader reads."""
    schema = sweeps.sweep_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for file in (HERE / "drops.yaml", *Path(library.__file__).parent.glob("sweeps/*.yaml")):
        data = parse(file.read_text(encoding="utf-8")).data
        jsonschema.Draft202012Validator(schema).validate(data)
        made = Reader(FAMILIES).file(SweepFile, data, "hydromechs_sweep", 2)
        written = {"hydromechs_sweep": 2, **Writer(FAMILIES).fields(made)}
        assert Reader(FAMILIES).file(SweepFile, written, "hydromechs_sweep", 2) == made
        assert written["parameters"] == data["parameters"] and written["sampling"] == data["sampling"]


def test_unknown_studies_and_executors(tmp_path, monkeypatch):
    from hydromechs.cli._sweep import named_executor

    with pytest.raises(SweepError, match="did you mean 'sinking_chains'"):
        sweeps.load_sweep("sinking_chain")
    with pytest.raises(ValueError, match="unknown executor 'desk' \\(did you mean 'dask'\\?\\)"):
        named_executor("desk", None, "")
    with pytest.raises(ValueError, match="--address requires --executor dask"):
        named_executor("local", None, "tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="workers is 0"):
        Local(0)
    with pytest.raises(ValueError, match="both workers and address are given"):
        Dask("tcp://127.0.0.1:1", 2)


def test_an_address_that_nobody_answers(drops, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="needs pip install 'hydromechs[dask]'")
    monkeypatch.setattr("hydromechs.sweeps._dask.PATIENCE", 0.3)
    for address in ("tcp://127.0.0.1:1", "nowhere"):
        with pytest.raises(ValueError, match="cannot reach a Dask scheduler"):
            sweeps.run_sweep(small(drops, 2), tmp_path / "a", executor=Dask(address))
    assert not list(tmp_path.rglob("status/0"))


def test_without_dask_the_error_reports_what_to_install(drops, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hydromechs\[dask\]'"):
        sweeps.run_sweep(small(drops, 2), tmp_path / "a", executor=Dask())


def test_the_folder_of_another_study_stays_as_it_is(drops, calm, tmp_path):
    with pytest.raises(ValueError, match="with a different scenario, parameters, sampling, seed"):
        sweeps.run_sweep(replace(drops, seed=9), calm, executor=Serial())
    with pytest.raises(ValueError, match="contains the sweep 'drops', not 'other'"):
        sweeps.run_sweep(replace(drops, name="other"), calm, executor=Serial())
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"contains other files \(note.txt\)"):
        sweeps.run_sweep(drops, tmp_path, executor=Serial())
    first = small(drops, 3)
    sweeps.run_sweep(first, tmp_path / "a", executor=Serial())
    attrs = tmp_path / "a" / "results.zarr" / ".zattrs"
    attrs.write_text(json.dumps({**json.loads(attrs.read_text()), "source": "another"}))
    with pytest.raises(ValueError, match="equations may differ"):
        sweeps.run_sweep(first, tmp_path / "a", executor=Serial())
    assert sweeps.run_sweep(small(drops, 4), tmp_path / "a", executor=Serial(), replace=True).new == 4
    with pytest.raises(ValueError, match="not the folder of a sweep"):
        sweeps.load_results(tmp_path)


@pytest.mark.parametrize(("version", "words"), [(1, ["0.5", "again"]), (9, ["install"])])
def test_a_store_of_another_version_reports_it(drops, tmp_path, version, words):
    """Such results are neither read nor resumed; they can be replaced."""
    sweeps.run_sweep(small(drops, 2), tmp_path, executor=Serial())
    attrs = tmp_path / "results.zarr" / ".zattrs"
    attrs.write_text(json.dumps({"hydromechs_sweep": version, "study": "drops", "parameters": []}))
    for use in (sweeps.load_results, lambda folder: sweeps.run_sweep(small(drops, 2), folder, executor=Serial())):
        with pytest.raises(ValueError, match=f"results.zarr.* version {version}.* reads version 2") as error:
            use(tmp_path)
        assert use is not sweeps.load_results or all(word in str(error.value) for word in words)
    assert sweeps.run_sweep(small(drops, 2), tmp_path, executor=Serial(), replace=True).new == 2


def test_command(tmp_path, capsys, monkeypatch):
    from hydromechs.cli import main

    text = (HERE / "drops.yaml").read_text().replace("./hull.yaml", str(HERE / "hull.yaml")).replace("runs: 200", "runs: 6")
    (tmp_path / "drops.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hydromechs", "sweep", "./drops.yaml", "--executor", "serial"])
    for said in ("6 runs in", "6 of them from an earlier"):
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        assert said in capsys.readouterr().out
    assert sweeps.load_results("sweeps/drops").sizes["run"] == 6


def test_studies_of_the_library_are_good():
    for name in hm.library.sweep_names():
        assert sweeps.load_sweep(name).runs >= 2


@pytest.mark.parametrize("lanes", [True, False], ids=["lanes", "simulations"])
def test_runs_that_capsize_are_counted(tmp_path, lanes):
    """The second of two runs turns over; its checks pass. Runs on lanes have no recording for the other warnings."""
    from typer.testing import CliRunner

    from hydromechs.cli._main import app

    event = "" if lanes else "events: {late: {quantity: time, level: 0.5, stop: false}}"
    (tmp_path / "v.yaml").write_text(f"""
hydromechs_scenario: 2
name: v
models:
  v: {{plant: bluerov2_heavy_alpha5, position: [0, 0, 5], velocity: [0, 0, 0, 0, 0, 0]}}
{event}
run: {{integrator: rk4, step: 0.005, record: 0.02, duration: 1}}
checks:
  depth: {{quantity: depth.vehicle, statistic: max, below: 100}}
""")
    (tmp_path / "s.yaml").write_text("""
hydromechs_sweep: 2
name: s
scenario: ./v.yaml
parameters:
  rate: {path: models.v.velocity.3, low: 0, high: 90, steps: 2}
""")
    sweep = sweeps.load_sweep(str(tmp_path / "s.yaml"))
    assert sweep.on_lanes == lanes
    words = ["sweep", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "o"), "--executor", "serial"]
    out = CliRunner().invoke(app, words).output
    assert "2 of 2 runs passed" in out and "warning capsized in 1 of 2 runs (first: run 1)" in out
    assert sweeps.load_results(tmp_path / "o").warnings.values.tolist() == ["", "capsized" if lanes else "capsized inflow"]
    with pytest.raises(hm.errors.SweepError, match="warnings"):
        replace(sweep, parameters=(replace(sweep.parameters[0], name="warnings"),))
    intended = replace(sweep, scenario=replace(sweep.scenario, expected_warnings=("capsized",)))
    sweeps.run_sweep(intended, tmp_path / "e", executor=Serial())
    assert sweeps.load_results(tmp_path / "e").warnings.values.tolist() == ["", "" if lanes else "inflow"]


def test_success_rates_of_missions_are_printed(tmp_path):
    """Of all runs, of each check with its worst runs, and by value of a parameter; seeds are no such parameter."""
    from typer.testing import CliRunner

    from hydromechs.cli._main import app

    text = f"""
hydromechs_sweep: 2
name: gusts
scenario: {HERE / "gusty.yaml"}
parameters:
  strength: {{path: environment.gusts.sigma.1, low: 0.001, high: 0.1, steps: 2}}
  draw: {{path: seed, low: 0, high: 19, steps: 20}}
"""
    (tmp_path / "gusts.yaml").write_text(text)
    words = ["sweep", str(tmp_path / "gusts.yaml"), "--out", str(tmp_path / "o"), "--executor", "serial"]
    out, dataset = CliRunner().invoke(app, words).output, sweeps.load_results(tmp_path / "o")
    passed = dataset.passed.values.all(axis=1)
    assert 0 < passed.sum() < 40 and f"{passed.sum()} of 40 runs passed" in out
    abeam = abs(dataset.check_value.sel(check="gust abeam").values)
    assert f"worst runs {abeam.argmax()} (" in out
    for strength in (0.001, 0.1):
        rate = sweeps.Rate(int(passed[dataset.strength.values == strength].sum()), 20)
        assert f"{strength:g} {100 * rate.share:.1f} % ({100 * rate.interval[0]:.1f} to" in " ".join(out.split())
    assert "draw" not in out
