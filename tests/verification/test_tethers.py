"""Tethers against closed forms: the catenary, strings, the energy and momentum of a line that is paid out, stiff lines."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import geometry, lines
from hydromechs.contact import DryFriction, LinearContact, Material, Terrain
from hydromechs.hydro import RegularWave, UniformFlow
from hydromechs.simulation import InitialInstant, Plant, evaluate, step_faults

CABLE = lines.Cable(diameter=0.02, mass=0.6, axial_stiffness=1e5, axial_damping=100.0)
WEIGHT = CABLE.weight(1025.0, 9.81)


def anchor(**world):
    """A body that stands still."""
    inertia = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    frames = [hm.Frame("shackle", hm.Origin((1.0, -2.0, 3.0)))]
    block = hm.Body(name="block", joint=hm.joints.Fixed(), inertia=inertia, frames=frames)
    return hm.Model(name="anchor", bodies=[block], world=hm.World(**world))


def vehicle():
    """A sphere with its shackle off its centre, a little heavy."""
    body = hm.Body(
        name="rov",
        inertia=hm.Inertia(mass=100.0, com=(0.02, 0, 0.05), tensor=(5.0, 6.0, 7.0, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=0.095,
            added_mass=hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.28)),
            drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.28), coefficient=0.5),
        ),
        frames=[hm.Frame("shackle", hm.Origin((0.1, 0.02, -0.3)))],
    )
    return hm.Model(name="rov", bodies=[body])


def tether(**options):
    top = lines.SwayingPoint(position=(21.0, -2.0, -37.0))
    return lines.Tether(**({"name": "line", "frame": "shackle", "top": top, "cable": CABLE, "length": 60.0} | options))


@pytest.mark.parametrize("slack", [1.4, 1.05, 1.001])
@pytest.mark.parametrize("apart", [(20.0, 40.0), (35.0, -10.0), (0.5, 30.0)])
def test_masses_hang_in_a_catenary(slack, apart):
    """The start shape is the catenary's to 0.5 % of the length, and its forces balance; error of n masses: of order 1/n²."""
    x, z = apart
    length = slack * math.hypot(x, z)
    model = anchor()
    line = tether(top=lines.SwayingPoint(position=(1.0 + 0.6 * x, -2.0 + 0.8 * x, 3.0 - z)), length=length, segments=40)
    plant = Plant(model=model, components=(line,))
    action = plant.first_actions[0]
    points = action.record["line_position"][1:-1] - np.array([1.0, -2.0, 3.0])
    pull = lines.catenary_pull(x, z, length, WEIGHT, CABLE.axial_stiffness)
    s = length * (np.arange(40) + 0.5) / 40
    far, high = lines.catenary_shape(pull, s, WEIGHT, CABLE.axial_stiffness)
    exact = np.stack([0.6 * far, 0.8 * far, -high], axis=1)
    near = length * (0.005 if x > length / 40 else 1 / 40)  # a fold within a piece is off by as much
    assert np.abs(points - exact).max() < near
    rates = np.array([v for name, v in action.rates.items() if name.startswith("v")])
    assert np.abs(rates).max() < 1e-6 * 9.81  # rounding of tensions of EA eps over the mass of a piece
    tension = action.record["line_tension"]
    for end, V in ((0, pull.V_A), (-1, pull.V_B)):
        assert tension[end] == pytest.approx(math.hypot(pull.H, V), rel=0.005, abs=WEIGHT * near)


def test_a_catenary_ends_where_it_should():
    """From slack to stretched by a tenth, up, down, nearly vertical: to rounding of the length."""
    for stiffness in (1e3, 1e5, 1e8):
        for x, z in ((0.01, 40.0), (20.0, 40.0), (55.0, -10.0), (30.0, 30.0), (59.0, 0.0), (40.0, -44.5)):
            pull = lines.catenary_pull(x, z, 60.0, WEIGHT, stiffness)
            far, high = lines.catenary_shape(pull, np.array([60.0]), WEIGHT, stiffness)
            # the tension's rounding times the compliance L/EA, and that of x/L
            assert abs(far[0] - x) < 1e-9 * 60.0 and abs(high[0] - z) < 1e-9 * 60.0


@pytest.fixture(scope="module")
def string():
    """A weightless line that 1,000 N stretch to 40 m, 16 masses, without drag; compiled once."""
    cable = replace(
        CABLE, mass=CABLE.displaced(1025.0), axial_stiffness=1e6, axial_damping=10.0, normal_drag=0.0, tangential_drag=0.0
    )
    line = tether(cable=cable, length=40.0 / 1.001, segments=16, top=lines.SwayingPoint(position=(1.0, 38.0, 3.0)))
    return hm.Simulation(anchor(), components=[line], step=1.25e-3, record=1e-2, state=plucked(1))


def plucked(mode):
    """The string at rest in the shape of a mode, a millimetre high."""
    s = (np.arange(16) + 0.5) / 16
    places = np.stack([np.full(16, 1.0), -2.0 + 40.0 * s, 3.0 + 1e-3 * np.sin(mode * np.pi * s)], axis=1)
    return hm.State(q=np.zeros(0), v=np.zeros(0), internal=np.concatenate([places.ravel(), np.zeros(48), np.zeros(1)]))


@pytest.mark.parametrize("mode", [1, 2])
def test_transverse_frequencies_are_those_of_a_string(string, mode):
    """f = k/(2L) √(T/(m + ρ A C_an)), to 2 %."""
    string.state = plucked(mode)
    cable = string.plant.components[0].cable
    exact = mode / 80.0 * math.sqrt(1000.0 / (cable.mass + cable.displaced(1025.0) * cable.normal_added_mass))
    recording = string.run(2.2 / exact).recording
    z, t = recording.line_position.values[:, 5, 2] - 3.0, recording.time.values
    up = np.flatnonzero((z[:-1] < 0.0) & (z[1:] >= 0.0))
    crossings = t[up] - z[up] * (t[1] - t[0]) / (z[up + 1] - z[up])
    assert 1.0 / np.diff(crossings).mean() == pytest.approx(exact, rel=0.02)


@pytest.fixture(scope="module")
def hung():
    """A vehicle on a line with everything: bending, a winch, ground, a point that sways. Compiled once."""
    mud = Material(
        law=LinearContact(stiffness=500.0, damping=50.0),
        friction=DryFriction(static=0.4, kinetic=0.3, stiffness=1e3, damping=10.0),
    )
    bed = Terrain(name="bed", material=mud, shape=geometry.Plane.through((0, 0, 41.5), (0, 0, -1)))
    line = tether(
        top=lines.SwayingPoint(position=(12.0, 1.0, -2.0), amplitude=(0.3, 0.0, 0.8), phase=(0.4, 0, 0), period=6.0, ramp=4.0),
        cable=replace(CABLE, bending_stiffness=2.0, tangential_added_mass=0.1),
        length=60.0,
        segments=8,
        winch=lines.Winch(shortest=30.0, longest=70.0, fastest=0.6),
        ground=(bed,),
    )
    start = hm.State(q=np.array([1.0, -1.0, 40.0, 1.0, 0, 0, 0]), v=np.zeros(6))
    return hm.Simulation(vehicle(), components=[line, bed], step=5e-3, state=start, record=0.05)


def test_energy_audit_closes_while_it_sways_lies_and_is_hauled_in(hung):
    """All energy less all work: within the error of rk4 across the kinks of slack and touch, small beside what flows."""
    sim = hung
    sim.reset()
    sim.command = {"line.rate": -0.5}
    recording = sim.run(30.0).recording
    power = recording.line_power
    flows = float(np.abs(power).sum("line_point").mean("time").sum()) * 30.0
    assert float(abs(recording.energy_residual).max()) < 2e-4 * flows
    length = recording.internal_state.sel(internal="line.length").values
    assert length[-1] == pytest.approx(60.0 - 0.5 * (30.0 - 0.5), abs=1e-3)  # the lag of 0.5 s
    assert float(power.sel(line_cause="ground").min()) < 0.0  # it lay on the ground
    assert float(power.sel(line_cause="damping").max()) <= 0.0
    # the winch, set up independently: it works against the tension, and brings in what the line had at its top
    top, drum = recording.line_tension.values[:, -1], recording.internal_state.sel(internal="line.winch_rate").values
    worked = -np.trapezoid(top * drum, recording.time.values)
    hauled = float(power.sel(line_cause="winch").sum("line_point").integrate("time"))
    assert hauled == pytest.approx(worked, rel=0.1)  # 8 masses, error of order 1/n²


def test_a_run_continues_from_its_state_to_the_last_bit(hung, tmp_path):
    start = hung.reset()
    whole = hung.run(0.4).state
    assert hung.reset() == start
    hm.save_state(hung.run(0.2).state, tmp_path / "state.json")
    hung.state = hm.load_state(tmp_path / "state.json")
    assert hung.run(0.2).state == whole


def test_a_winch_stops_at_its_limits(hung):
    sim = hung
    sim.reset()
    sim.command = {"line.rate": 0.6}
    recording = sim.run(30.0).recording
    length = recording.internal_state.sel(internal="line.length").values
    assert 69.9 < length[-1] <= 70.0


def test_compiled_is_as_in_floats(hung):
    """Recorded quantities of one instant, compiled and in plain NumPy: to rounding of tensions of EA eps."""
    hung.reset()
    state = hung.run(2.0).state
    floats = evaluate(hung.plant, state.t, state.q, state.v, state.internal, np.concatenate([state.command, state.held]))
    recorded = hung.run(0.05).recording
    assert recorded.time.values[0] == pytest.approx(state.t)
    for name in ("line_tension", "line_position", "line_power"):
        wanted = np.asarray(floats.outputs[-1][name], dtype=float)
        np.testing.assert_allclose(recorded[name].values[0], wanted, rtol=1e-9, atol=1e-8, err_msg=name)


def test_a_stiff_tether_of_500_m_is_stable_at_the_step_that_the_docs_name():
    """EA = 5e6 N, 20 masses: rk4 with 10 ms, which step_faults lets pass; 30 ms is rejected."""
    cable = lines.Cable(diameter=0.03, mass=1.2, axial_stiffness=5e6, axial_damping=2e3)
    top = lines.SwayingPoint(position=(100.0, 0.0, 0.0), amplitude=(0, 0, 2.0), period=8.0)
    line = tether(cable=cable, length=500.0, segments=20, top=top)
    start = hm.State(q=np.array([0.0, 0.0, 480.0, 1.0, 0, 0, 0]), v=np.zeros(6))
    sim = hm.Simulation(vehicle(), components=[line], step=0.01, state=start, record=0.1)
    rk4 = hm.integrators.method_named("rk4")
    assert step_faults(sim.plant, start.q, rk4, 0.01) == []
    assert "stretch of tether 'line'" in step_faults(sim.plant, start.q, rk4, 0.03)[0]
    recording = sim.run(60.0).recording
    tension = recording.line_tension.values
    assert np.isfinite(tension).all() and tension.max() < 1e5
    flows = float(np.abs(recording.line_power).sum("line_point").mean("time").sum()) * 60.0
    assert float(abs(recording.energy_residual).max()) < 1e-3 * flows


def test_a_hanging_line_pulls_as_the_catenary():
    """Forces at the vehicle and its tension, by the closed form; compiled as in floats."""
    line = lines.HangingLine(
        name="pull", frame="shackle", top=lines.SwayingPoint(position=(12.0, 9.0, 0.0)), cable=CABLE, length=60.0
    )
    start = hm.State(q=np.array([1.0, -1.0, 40.0, 1.0, 0, 0, 0]), v=np.zeros(6))
    sim = hm.Simulation(vehicle(), components=[line], step=0.01, state=start)
    recording = sim.run(0.1).recording
    r = np.array([12.0, 9.0, 0.0]) - np.array([1.1, -0.98, 39.7])
    pull = lines.catenary_pull(math.hypot(r[0], r[1]), -r[2], 60.0, WEIGHT, CABLE.axial_stiffness)
    e = r[:2] / math.hypot(r[0], r[1])
    force = recording.force_hanging_line.sel(body="rov").values[0, :3]
    np.testing.assert_allclose(force, [*(pull.H * e), -pull.V_A], rtol=1e-9)
    sim.command = {"pull.length": 50.0}
    shorter = lines.catenary_pull(math.hypot(r[0], r[1]), -r[2], 50.0, WEIGHT, CABLE.axial_stiffness)
    tension = sim.run(0.01).recording.hanging_tension.values[-1, 0]
    np.testing.assert_allclose(tension, [math.hypot(shorter.H, V) for V in shorter[1:]], rtol=0.01)  # it has moved by mm


def test_lengths_of_a_hanging_line_stay_in_their_range():
    """A command beyond the range acts as its limit does, and the step is judged at the shortest length."""
    line = lines.HangingLine(
        name="pull", frame="shackle", top=lines.SwayingPoint(position=(0.0, 0.0, 0.0)), cable=CABLE, length=60.0, shortest=45.0
    )
    start = hm.State(q=np.array([0.0, 0.0, 50.0, 1.0, 0, 0, 0]), v=np.zeros(6))
    ends = []
    for length in (45.0, 20.0, -1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a command out of range is said
            options = dict(controller=lambda s, length=length: {"pull.length": length}, period=0.02)
            sim = hm.Simulation(vehicle(), components=[line], step=0.01, state=start, **options)
            ends.append(sim.run(0.2).state.q)
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])
    with pytest.raises(ValueError, match="hanging line 'pull': shortest is 61.*must not exceed its length, 60 m"):
        replace(line, shortest=61.0)
    with pytest.raises(ValueError, match="tether 'line': ground is .*must be .*terrain"):
        replace(tether(), ground=("bed",))


def test_steps_are_judged_by_bodies_at_both_ends_of_a_hanging_line():
    """ω = √(EA/L (1/m_A + 1/m_B)) at the shortest length: the same whichever end is called the top."""
    inertia = hm.Inertia(mass=4.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    bodies = [
        hm.Body(name=n, joint=hm.joints.Free(position=(0, 0, z)), inertia=inertia) for n, z in (("deep", 9.0), ("buoy", 0.0))
    ]
    post = hm.Body(name="post", joint=hm.joints.Fixed(), inertia=inertia)
    model = hm.Model(name="two", bodies=[*bodies, post])
    rk4 = hm.integrators.method_named("rk4")
    for ends, mass in ((("deep", "buoy"), 2.0), (("post", "buoy"), 4.0), (("buoy", "post"), 4.0)):
        line = lines.HangingLine(
            name="pull", frame=ends[0], top=lines.FramePoint(name=ends[1]), cable=CABLE, length=10.0, shortest=4.0
        )
        plant = Plant(model=model, components=(line,))
        omega = math.sqrt(1e5 / 4.0 / mass)
        assert step_faults(plant, model.initial().q, rk4, 2.0 / omega) == []
        assert "hanging line 'pull'" in step_faults(plant, model.initial().q, rk4, 3.5 / omega)[0]


def test_a_hanging_line_in_water_whose_density_is_open():
    """It hangs downwards in light water, upwards in heavy; where it has no weight its pull stays finite."""
    line = lines.HangingLine(
        name="pull", frame="shackle", top=lines.SwayingPoint(position=(12.0, 9.0, 0.0)), cable=CABLE, length=60.0
    )
    q = np.array([1.0, -1.0, 40.0, 1.0, 0, 0, 0])
    neutral = 1025.0 * CABLE.mass / CABLE.displaced(1025.0)
    plant = Plant(model=vehicle(), components=(line,), parameters=("world.water_density",))
    densities = np.array([1000.0, 0.9999 * neutral, neutral, 2.0 * neutral])
    ends = hm.rollout(plant, np.tile(q, (4, 1)), np.zeros((4, 6)), {}, 1e-2, 1, parameters={"world.water_density": densities})
    assert np.isfinite(ends.v).all()
    sim = hm.Simulation(vehicle(), components=[line], parameters=["world.water_density"], state=hm.State(q=q, v=np.zeros(6)))
    for density, sign in ((1000.0, 1.0), (2.0 * neutral, -1.0)):
        sim.parameters = {"world.water_density": density}
        sim.reset(replace(sim.state, t=0.0, q=q, v=np.zeros(6)))
        force = sim.run(0.02).recording.force_hanging_line.sel(body="rov").values[0, :3]
        r = np.array([12.0, 9.0, 0.0]) - np.array([1.1, -0.98, 39.7])
        pull = lines.catenary_pull(math.hypot(r[0], r[1]), -sign * r[2], 60.0, abs(CABLE.weight(density, 9.81)), 1e5)
        np.testing.assert_allclose(force[2], -sign * pull.V_A, rtol=1e-9)


def test_a_tether_that_is_too_short_is_rejected():
    line = tether(length=30.0)
    with pytest.raises(ValueError, match=r"tether 'line' is 30 m long, but its ends are 42\.\d+ m apart at the start"):
        hm.Simulation(vehicle(), components=[line], step=0.01)
    with pytest.raises(ValueError, match="hanging line 'pull' is 30 m long"):
        hm.Simulation(
            vehicle(), components=[lines.HangingLine(name="pull", frame="shackle", top=line.top, cable=CABLE, length=30.0)]
        )


def test_lines_begin_between_their_ends_as_they_are_at_the_start():
    """At any time, with a point that sways or rides waves: the masses hang at rest; points turn there, so nothing damps."""
    sea = hm.Environment(waves=[RegularWave(height=3.0, period=8.0)])
    swaying = lines.SwayingPoint(position=(12.0, 1.0, -2.0), amplitude=(2.0, 0.0, -3.0), period=8.0, ramp=0.0)
    riding = lines.RidingPoint(position=(0.0, 0.0, -2.0), ramp=0.0)
    q, v, n = np.array([1.0, -1.0, 40.0, 1.0, 0, 0, 0]), np.zeros(6), 5
    for top, t in ((swaying, 0.0), (swaying, 2.0), (swaying, 806.0), (riding, 0.0), (riding, 4.0)):
        line = tether(top=top, length=50.0, segments=n)
        sim = hm.Simulation(vehicle(), components=[line], environment=sea, state=hm.State(q=q, v=v, t=t))
        state = sim.state
        data, _ = sim.plant.data(UniformFlow(sea, 0), t, {})
        upper = line.top.now(InitialInstant(sim.plant, t, q, v, {})).p
        action = evaluate(sim.plant, t, q, v, state.internal, data)
        np.testing.assert_allclose(action.outputs[0]["line_position"][-1], upper)
        still = replace(line, top=lines.SwayingPoint(position=tuple(upper)))
        hung = hm.Simulation(vehicle(), components=[still], state=hm.State(q=q, v=v)).state
        np.testing.assert_allclose(state.internal[: 6 * n], hung.internal[: 6 * n], atol=1e-9)


def test_a_line_that_is_too_short_at_its_start_is_rejected():
    """The point is 3 m higher at t = 2 s than at t = 0, in simulations and rollouts."""
    top = lines.SwayingPoint(position=(1.0, -1.0, 0.0), amplitude=(0.0, 0.0, -3.0), period=8.0, ramp=0.0)
    q, v = np.array([1.0, -1.0, 40.0, 1.0, 0, 0, 0]), np.zeros(6)
    for line in (
        tether(top=top, length=41.0),
        lines.HangingLine(name="line", frame="shackle", top=top, cable=CABLE, length=41.0),
    ):
        plant = Plant(model=vehicle(), components=(line,))
        hm.Simulation(plant, state=hm.State(q=q, v=v))
        with pytest.raises(ValueError, match=r"41 m long, but its ends are 42\.7\d* m apart at the start, t = 2 s"):
            hm.Simulation(plant, state=hm.State(q=q, v=v, t=2.0))
        with pytest.raises(ValueError, match=r"m apart at the start, t = 2 s"):
            hm.rollout(plant, q, v, {}, 1e-3, 1, t=2.0)


def test_what_does_not_fit_is_rejected():
    with pytest.raises(KeyError, match="no frame or body 'shakle'"):
        Plant(model=vehicle(), components=(tether(frame="shakle"),))
    with pytest.raises(ValueError, match="within the winch limits"):
        tether(winch=lines.Winch(shortest=70.0, longest=90.0))
    with pytest.raises(ValueError, match="below longest"):
        lines.Winch(shortest=9.0, longest=3.0)
    neutral = replace(CABLE, mass=CABLE.displaced(1025.0))
    with pytest.raises(ValueError, match="hanging line 'x' has a weight in water of 0 N/m"):
        Plant(
            model=vehicle(),
            components=(lines.HangingLine(name="x", frame="rov", top=tether().top, cable=neutral, length=90.0),),
        )


def test_a_lifted_line_is_its_weight_where_it_is_fastened():
    """A buoyant ball rises until what it lifts of the line weighs as much as its buoyancy exceeds its weight; energy balances."""
    ball = hm.Body(
        name="ball",
        joint=hm.joints.Free(),
        inertia=hm.Inertia(mass=2.0, tensor=(0.01, 0.01, 0.01, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.0021, drag=hm.drag.Damping(linear=(5.0, 5.0, 5.0, 0.2, 0.2, 0.2))),
    )
    model = hm.Model(name="ball", world=hm.World(axes="ENU", gravity=9.81, water_density=1000.0), bodies=[ball])
    line = lines.LiftedLine(name="tether", body="ball", weight=0.5, place=(0.0, 0.0, -0.1), height=0.2)
    run = hm.Simulation(model, components=[line], step=5e-3).run(120.0).recording
    surplus = (2.1 - 2.0) * 9.81
    assert float(run.position.sel(body="ball", xyz="z")[-1]) == pytest.approx(
        0.2 + 0.1 + surplus / 0.5, abs=1e-3
    )  # the place is 0.1 m lower
    assert float(run.lifted_weight[-1, 0]) == pytest.approx(surplus, abs=1e-3)
    assert np.abs(run.energy_residual.values).max() < 1e-9
