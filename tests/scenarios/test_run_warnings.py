"""Warnings about a run: every kind is found, with item, time, value and limit, and reaches terminal, summary and report."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from rich.console import Console

import hydromechs as hm
from hydromechs import geometry, lines
from hydromechs.actuation import ideal_curve
from hydromechs.contact import LinearContact, Material, Terrain
from hydromechs.errors import ScenarioError
from hydromechs.hydro import Current, FreeSurface, PowerLaw, RegularWave
from hydromechs.model import drag, joints
from hydromechs.recording import WARNING_KINDS, RunWarning, Summary
from hydromechs.scenario import ModelStart, Scenario, run_scenario
from hydromechs.simulation import run_warnings
from hydromechs.spatial import matrix_from_rpy, quaternion_exp, quaternion_from_matrix, quaternion_product

MUD = Material(law=LinearContact(stiffness=2000.0, damping=200.0))
CABLE = lines.Cable(diameter=0.01, mass=0.2, axial_stiffness=2e4, axial_damping=20.0)


def model() -> hm.Model:
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=20.0, com=(0, 0, 0.02), tensor=(1, 1, 1, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.02, drag=(drag.ShapeDrag(shape=geometry.Sphere(radius=0.15), coefficient=0.47),)),
        frames=(hm.Frame("push", hm.Origin((0, 0.1, 0))), hm.Frame("eye", hm.Origin((0, 0, -0.1)))),
        shapes=(geometry.Sphere(radius=0.15),),
    )
    arm = hm.Body(
        name="arm",
        parent="hull",
        joint=joints.Revolute(axis=(0, 1, 0), limits=(-0.5, 0.5)),
        inertia=hm.Inertia(mass=1.0, com=(0.2, 0, 0), tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.001),
    )
    return hm.Model(name="rov", bodies=[hull, arm])


@pytest.fixture(scope="module")
def rig():
    """A run of a fraction of a second that has everything which a warning can be about, and none."""
    grid = tuple(np.linspace(-20.0, 20.0, 5).tolist())
    floor = Terrain(name="floor", material=MUD, shape=geometry.HeightField(x=grid, y=grid, heights=((-40.0,) * 5,) * 5))
    environment = hm.Environment(
        current=Current(velocity=(0.1, 0, 0), profile=PowerLaw(depth=50.0, exponent=0.1)),
        waves=(RegularWave(height=0.5, period=8.0),),
        water_depth=50.0,
    )
    simulation = hm.Simulation(
        model(),
        state=hm.State(q=np.array([0, 0, 20.0, 1, 0, 0, 0, 0]), v=np.zeros(7)),
        environment=environment,
        components=[
            floor,
            hm.Thruster(name="push", frame="push", curve=ideal_curve(50.0, 50.0), zero_thrust_speed=3.0),
            hm.drives.Servo(joint="arm", stiffness=20.0, damping=2.0, limit=5.0),
            lines.Tether(
                name="tether", frame="eye", top=lines.SwayingPoint(position=(5, 0, 0)), cable=CABLE, length=25.0, segments=2
            ),
            lines.HangingLine(name="guy", frame="eye", top=lines.SwayingPoint(position=(-5, 0, 0)), cable=CABLE, length=25.0),
        ],
        step=0.002,
        record=0.1,
    )
    return simulation.plant, simulation.run(0.5).recording


def doctored(recording, name, index, values):
    """The recording with other samples of one entry from 0.2 s on."""
    out = recording.copy(deep=True)
    samples = out[name].values.copy()
    samples[(slice(2, None), *index)] = values
    return out.assign({name: (out[name].dims, samples)})


def test_a_good_run_has_no_warnings(rig):
    assert run_warnings(*rig) == ()


@pytest.mark.parametrize(
    ("kind", "item", "name", "index", "values", "value", "limit"),
    [
        ("capsized", "hull", "orientation", (0,), quaternion_exp(np.radians([100.0, 0, 0])), 100.0, 90.0),
        ("joint_stop", "arm", "q", (7,), 0.6, 0.6, 0.5),
        ("joint_stop", "arm", "q", (7,), -0.6, -0.6, -0.5),
        ("line_slack", "tether", "line_tension", (3,), 0.0, 0.0, None),
        ("line_slack", "guy", "hanging_tension", (0, 1), [20.0, 0.0, 20.0, 20.0], 0.0, None),
        ("line_taut", "tether", "line_position", (3,), [30.0, 0.0, 20.0], None, 25.0),
        ("deep_contact", "hull on floor", "contact_gap", (0,), -0.2, 0.2, 0.15),
        ("above_surface", "hull", "depth", (0,), -0.3, -0.3, 0.0),
        ("below_bed", "arm", "depth", (1,), 51.0, 51.0, 50.0),
        ("off_terrain", "hull", "position", (0,), [0.0, 23.0, 20.0], 3.0, 0.0),
        ("reynolds", "hull", "velocity", (0,), [1.0, 0, 0, 0, 0, 0], None, 2e5),
        ("inflow", "push", "velocity", (0, 5), -40.0, None, 3.0),
    ],
)
def test_every_condition_is_found(rig, kind, item, name, index, values, value, limit):
    plant, recording = rig
    (found,) = run_warnings(plant, doctored(recording, name, index, values))
    assert (found.kind, found.item, found.time, found.expected) == (kind, item, pytest.approx(0.2, abs=0.11), False)
    assert value is None or found.value == pytest.approx(value, rel=1e-9)
    assert limit is None or found.limit == pytest.approx(limit, rel=1e-9)
    assert item in found.text


@dataclass(frozen=True, kw_only=True)
class Jet(hm.Component):
    """Custom actuator."""

    name: str = "jet"

    def inputs(self, model):
        return [hm.Slot("command")]

    def act(self, now, z, u):
        return hm.Action()


def test_a_vehicle_that_custom_components_drive_capsizes_too(rig):
    plant, recording = rig
    over = doctored(recording, "orientation", (0,), quaternion_exp(np.radians([100.0, 0, 0])))
    (found,) = run_warnings(replace(plant, components=(Jet(),)), over)
    assert (found.kind, found.item) == ("capsized", "hull")
    assert not run_warnings(replace(plant, components=()), over)


def test_a_line_that_never_carries_is_slack(rig):
    plant, recording = rig
    zero = recording.assign(hanging_tension=0.0 * recording.hanging_tension)
    (found,) = run_warnings(plant, zero)
    assert (found.kind, found.item, found.time) == ("line_slack", "guy", 0.0)


def test_samples_that_are_not_finite_are_ignored(rig):
    plant, recording = rig
    broken = doctored(doctored(recording, "depth", (0,), np.nan), "orientation", (0,), np.nan)
    assert run_warnings(plant, doctored(broken, "q", (7,), np.nan)) == ()


def test_short_waves_scatter(rig):
    plant, recording = rig
    short = replace(plant, environment=replace(plant.environment, waves=(RegularWave(height=0.05, period=0.9),)))
    (found,) = run_warnings(short, recording)
    assert (found.kind, found.item, found.value) == ("short_waves", "hull", pytest.approx(0.3))
    assert found.limit == pytest.approx(9.81 * 0.9**2 / (2 * np.pi) / 5)


def test_flow_from_outside_a_hydrodynamic_map():
    """A vehicle that goes astern with a map for motion ahead; not while it hardly moves."""
    table = [[(-0.3, -b, -a, 0, 0, 0) for b in (-0.5, 0.0, 0.5)] for a in (-0.5, 0.0, 0.5)]
    element = drag.CoefficientMap(
        alpha=(-0.5, 0, 0.5), beta=(-0.5, 0, 0.5), coefficients=table, area=0.01, origin=hm.Origin(rpy=(0, 0.3, 0))
    )
    body = replace(model().bodies[0], hydro=hm.Hydro(volume=0.02, drag=element))
    for speed, kinds in ((-1.0, ["outside_map"]), (1.0, [])):
        start = hm.State(q=np.array([0, 0, 20.0, 1, 0, 0, 0]), v=np.array([speed, 0, 0, 0, 0, 0]))
        simulation = hm.Simulation(hm.Model(name="rov", bodies=[body]), state=start, step=0.01, record=0.1)
        found = run_warnings(simulation.plant, simulation.run(0.5).recording)
        assert [w.kind for w in found] == kinds
        assert all(w.value == pytest.approx(-np.degrees(np.pi - 0.3), abs=1.0) and "α" in w.text for w in found)


def test_a_free_surface_may_be_crossed(rig):
    plant, recording = rig
    above = doctored(recording, "depth", (0,), -0.3)
    assert run_warnings(replace(plant, environment=replace(plant.environment, surface=FreeSurface())), above) == ()


@pytest.mark.parametrize(
    ("samples", "value", "unit"),
    [(range(5, 30), 2.5, "s"), (range(0, 100, 4), 25.0, "%"), (range(5, 20), None, ""), (range(0, 100, 8), None, "")],
)
def test_saturation_for_long_or_often(rig, samples, value, unit):
    """Without a break for more than 2 s, or for more than 20 % of the run."""
    plant, recording = rig
    longer = recording.isel(time=np.zeros(101, dtype=int)).assign_coords(time=0.1 * np.arange(101))
    saturated = np.zeros(longer["saturated"].shape)
    saturated[list(samples), 0] = 1.0
    found = run_warnings(plant, longer.assign(saturated=(longer["saturated"].dims, saturated)))
    if value is None:
        assert found == ()
    else:
        assert [(w.kind, w.item, w.unit) for w in found] == [("saturated", "push", unit)]
        assert found[0].value == pytest.approx(value, rel=1e-9)


def test_a_loose_object_and_a_start_on_the_head_do_not_capsize(rig):
    plant, recording = rig
    over = doctored(recording, "orientation", (0,), [0.0, 1.0, 0.0, 0.0])
    passive = replace(plant, components=tuple(c for c in plant.components if not c.inputs(plant.model)))
    assert run_warnings(passive, over) == ()
    assert run_warnings(plant, over.isel(time=slice(2, None))) == ()


@pytest.mark.parametrize("axes", [(0.0, 0.0, 0.0), (np.pi, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), (1.4, 0.3, 0.0)])
def test_capsizing_does_not_depend_on_the_axes_of_the_body(rig, axes):
    """The same motion, written in other body axes, capsizes at the same time."""
    plant, recording = rig
    turn = quaternion_from_matrix(np.array(matrix_from_rpy(axes), dtype=float))
    angle = np.radians(np.linspace(0.0, 120.0, recording.sizes["time"]))
    rolled = np.array([quaternion_product(quaternion_exp((a, 0.0, 0.0)), turn) for a in angle], dtype=float)
    changed = recording.copy(deep=True)
    changed["orientation"].values[:, 0] = rolled
    found = [w for w in run_warnings(plant, changed) if w.kind == "capsized"]
    assert [w.item for w in found] == ["hull"] and found[0].value == pytest.approx(120.0)
    assert found[0].time == recording["time"].values[np.argmax(np.degrees(angle) > 90.0)]


# -- from a run to its reports ----------------------------------------------------------------------------------------------


def rolling(**fields) -> Scenario:
    """A vehicle that is top-heavy and turns over."""
    start = model()
    heavy = replace(start.bodies[0], inertia=replace(start.bodies[0].inertia, com=(0, 0, -0.1)))
    return Scenario(
        name="rolling",
        models=[ModelStart(model=replace(start, bodies=(heavy, start.bodies[1])), position=(0, 0, 10))],
        components=[hm.drives.Servo(joint="arm", stiffness=200.0, damping=20.0)],
        step=0.005,
        record=0.1,
        duration=6.0,
        **fields,
    )


def test_a_run_reports_that_it_capsized(tmp_path):
    from hydromechs.cli._run import print_summary
    from hydromechs.viewer import write_report

    result = run_scenario(rolling(), tmp_path / "run")
    assert result.passed  # it has no checks
    (warning,) = (w for w in result.summary.unexpected if w.kind == "capsized")
    tilt = hm.recording.samples_of(result.recording, "tilt_deg.hull")
    time = result.recording["time"].values
    assert (warning.item, warning.limit, warning.unit) == ("hull", 90.0, "deg")
    assert warning.value == pytest.approx(tilt.max(), rel=1e-12) and tilt.max() > 90.0
    assert warning.time == time[tilt > 90.0][0] > 0.0
    saved = json.loads(result.folder.summary.read_text(encoding="utf-8"))
    assert [w for w in saved["warnings"] if w["kind"] == "capsized"] == [warning._asdict()]
    console = Console(record=True, width=400)
    print_summary(result.summary, console)
    assert f"WARNING  {warning.text}" in " ".join(console.export_text().split()).replace("WARNING ", "WARNING  ")
    page = write_report(result.recording, result.summary, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "capsized" in page.lower() and "Run finished; no checks are defined, but" in page


def test_a_resumed_run_reports_that_it_lies_on_its_back(tmp_path):
    """The tilt counts from the start of the mission, not from the state of the resume."""
    run_scenario(rolling(), tmp_path / "run")
    resumed = run_scenario(rolling(), tmp_path / "more", resume=tmp_path / "run", duration=0.2)
    assert [w.item for w in resumed.summary.unexpected if w.kind == "capsized"] == ["hull"]


def test_the_tethered_rov_of_the_library_stays_upright(tmp_path):
    """Its mission once capsized at 79 s with all checks passed."""
    result = run_scenario(hm.load_scenario("tethered_rov"), tmp_path / "run")
    assert result.passed and {c.name for c in result.summary.checks} >= {"stays upright", "holds its heading"}
    assert not result.summary.unexpected
    assert hm.recording.samples_of(result.recording, "tilt_deg.vehicle").max() < 15.0


def test_expected_warnings_are_marked():
    run = rolling(expected_warnings=["capsized"])
    sim = run.simulation()
    found = run_warnings(sim.plant, sim.run(6.0).recording, run.expected_warnings)
    assert {w.kind: w.expected for w in found}["capsized"]
    assert all(not w.expected for w in found if w.kind != "capsized")
    with pytest.raises(ScenarioError, match="expected_warnings: unknown kind 'capsised'.*capsized"):
        rolling(expected_warnings=["capsised"])


def test_the_report_escapes_names():
    from hydromechs.viewer._report import _warnings

    hostile = RunWarning("capsized", "<script>alert(1)</script>", 1.0, 2.0, 1.0, "<b>", "<img src=x onerror=alert(1)>")
    assert "<script>" not in _warnings([hostile]) and "<img" not in _warnings([hostile]) and "<b>&" not in _warnings([hostile])


def test_a_summary_names_its_warnings():
    warning = RunWarning("capsized", "hull", 1.0, 100.0, 90.0, "deg", "it capsized")
    assert "1 warning" in repr(Summary(warnings=(warning,)))
    assert "warning" not in repr(Summary(warnings=(warning._replace(expected=True),)))
    assert set(WARNING_KINDS) == {
        *("capsized", "saturated", "joint_stop", "line_slack", "line_taut", "deep_contact"),
        *("above_surface", "below_bed", "off_terrain", "short_waves", "reynolds", "outside_map", "inflow"),
    }
